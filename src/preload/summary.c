/* What is measured beside farfault's own statistics, kept in this process's account, and the report
 * at exit.
 *
 * Seconds go from the first enqueued command, or the first buffer that is created with data, to the
 * last completion that the program observed, or a kernel's, and mean the same with and without
 * management. The report only reads: PoCL's threads may still run when the process exits, so the
 * context is left to the kernel to take apart. Under `farfault run` the account outlives the
 * process: whatever kills it, its parent can still report. */
#include "preload/preload.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/new_file.h"
#include "base/thread.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BEAT_NS                                                                                    \
    50000000 /* how old the statistics in an account may be that another process reads */

/* What moved is read from every block of every buffer: this many times as long as that took, it is
 * not read again. */
#define MOVED_PAUSE 100

static struct ff__account own, *account = &own;
static const char *book; /* our parent's, which the account is in; NULL: it is in none */
static pthread_mutex_t publishing = PTHREAD_MUTEX_INITIALIZER;

static enum { NOTHING, TEXT, JSON } report;
static char report_path[PATH_MAX];

/* ---- clock ---- */

void ff__clock_start(void) {
    uint64_t never = 0;
    if (__atomic_load_n(&account->first_ns, __ATOMIC_RELAXED) == 0)
        __atomic_compare_exchange_n(&account->first_ns, &never, ff__clock_ns(), false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void raise_to(uint64_t *value, uint64_t candidate) {
    uint64_t seen = __atomic_load_n(value, __ATOMIC_RELAXED);
    while (candidate > seen && !__atomic_compare_exchange_n(value, &seen, candidate, true,
                                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* ---- what farfault counts ---- */

/* When what moved is read again. */
static uint64_t moved_due_ns;

static void publish_moved(struct ff_context *context) {
    uint64_t begun = ff__clock_ns();
    ff_moved_read(context, FF_MOVED_BY_KERNEL, &account->kernels);
    ff_moved_read(context, FF_MOVED_BY_ALLOCATION, &account->buffers);
    account->place_count = ff_places_read(context, account->places, FF__ACCOUNT_PLACES);
    uint64_t done = ff__clock_ns(), pause = MOVED_PAUSE * (done - begun);
    moved_due_ns = done + (pause > BEAT_NS ? pause : BEAT_NS);
}

/* Copies it into the account, and what is wrong, if that is looked for. The lock is held. */
static void publish_locked(struct ff_context *context, bool ends) {
    struct ff_error broken;
    ff_stats_read(context, &account->stats);
    account->seen_ns = ff__clock_ns();
    if (ends || account->seen_ns >= moved_due_ns)
        publish_moved(context);
    if (ff__config()->check && !account->broken[0] && ff_check(context, &broken))
        memcpy(account->broken, broken.message, sizeof account->broken);
}

/* A thread that is doing it already is enough. */
static void publish(void) {
    struct ff_context *context = ff__context_if_open();
    if (!context || pthread_mutex_trylock(&publishing))
        return;
    publish_locked(context, false);
    pthread_mutex_unlock(&publishing);
}

/* The last time: later callers find the lock taken. exit() may have been called by a signal handler
 * that interrupted publish(): then what it has left is all there is. */
static void publish_at_exit(void) {
    struct ff_context *context = ff__context_if_open();
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    if (!context || pthread_mutex_timedlock(&publishing, &until))
        return;
    publish_locked(context, true);
}

static void *beat(void *unused) {
    (void)unused;
    for (;;) {
        ff__clock_sleep(BEAT_NS);
        publish();
    }
    return NULL;
}

void ff__summary_opened(struct ff_context *context) {
    struct ff_stats stats;
    pthread_t thread;
    ff_stats_read(context, &stats);
    snprintf(account->description, sizeof account->description, "%s", ff_context_describe(context));
    account->memory = stats.capacity / ff__config()->devices;
    if (account->watched && ff__thread_start(&thread, beat, NULL, "ff-account") == 0)
        pthread_detach(thread);
}

void ff__clock_mark(void) {
    if (__atomic_load_n(&account->first_ns, __ATOMIC_RELAXED))
        raise_to(&account->last_ns, ff__clock_ns());
}

void ff__clock_stop(void) {
    ff__clock_mark();
    if (account->watched && __atomic_load_n(&account->first_ns, __ATOMIC_RELAXED))
        publish();
}

/* ---- counters ---- */

void ff__count_launch(void) {
    __atomic_fetch_add(&account->launches, 1, __ATOMIC_RELAXED);
}

void ff__count_known_launch(void) {
    __atomic_fetch_add(&account->known_launches, 1, __ATOMIC_RELAXED);
}

struct ff__account_extents *ff__summary_extents(const char *kernel) {
    uint32_t place = account->extents_count;
    struct ff__account_extents *extents = &account->extents[place];
    if (place == FF__ACCOUNT_EXTENTS)
        return extents;
    snprintf(extents->kernel, sizeof extents->kernel, "%s", kernel);
    __atomic_store_n(&account->extents_count, place + 1, __ATOMIC_RELEASE);
    return extents;
}

void ff__footprint_add(size_t bytes) {
    raise_to(&account->footprint, __atomic_add_fetch(&account->live, bytes, __ATOMIC_RELAXED));
}

void ff__footprint_remove(size_t bytes) {
    __atomic_fetch_sub(&account->live, bytes, __ATOMIC_RELAXED);
}

/* The name's place, or the next free one; past the end: there is none. */
static unsigned place_of(const char *name) {
    unsigned place = 0;
    while (place < FF__ACCOUNT_FALLBACKS && account->fallbacks[place] &&
           strcmp(account->fallback_names[place], name) != 0)
        place++;
    return place;
}

void ff__fall_back(const char *name, const char *why) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    bool is_first = false;
    if (ff__in_child())
        return;
    pthread_mutex_lock(&lock);
    unsigned place = place_of(name);
    if (place < FF__ACCOUNT_FALLBACKS) {
        is_first = account->fallbacks[place] == 0;
        snprintf(account->fallback_names[place], sizeof account->fallback_names[place], "%s", name);
        __atomic_fetch_add(&account->fallbacks[place], 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
    if (is_first && why)
        ff__say("%s", why);
}

void ff__mark_managed(void) {
    __atomic_store_n(&account->managed, 1, __ATOMIC_RELAXED);
}

void ff__summary_mode(enum ff__mode mode, const char *reason) {
    account->mode = mode;
    if (!account->reason[0])
        snprintf(account->reason, sizeof account->reason, "%s", reason);
}

/* ---- when ---- */

/* A relative path is meant from where the program starts, wherever it goes then. */
static bool make_absolute(const char *path) {
    char here[PATH_MAX];
    int used;
    if (*path == '/')
        used = snprintf(report_path, sizeof report_path, "%s", path);
    else if (getcwd(here, sizeof here))
        used = snprintf(report_path, sizeof report_path, "%s/%s", here, path);
    else
        return false;
    return used >= 0 && (size_t)used < sizeof report_path;
}

/* A forked child must not write into its parent's account. */
static void leave_account(void) {
    account = &own;
    book = NULL;
}

static void open_account(void) {
    const char *path = getenv("FARFAULT_ACCOUNTS");
    errno = 0;
    struct ff__account *opened = path && *path ? ff__account_open(path) : NULL;
    if (opened) {
        account = opened;
        book = strdup(path); /* the program may change its environment */
    } else if (errno == EACCES) {
        ff__say("another user, or in another user namespace: farfault run learns nothing of this "
                "process");
    }
    pthread_atfork(NULL, NULL, leave_account);
}

void ff__summary_start(void) {
    const char *wanted = getenv("FARFAULT_SUMMARY");
    open_account();
    if (!wanted || !*wanted || strcmp(wanted, "text") == 0)
        report = TEXT;
    else if (strcmp(wanted, "none") != 0 && make_absolute(wanted))
        report = JSON;
}

void ff__summary_configured(const struct ff_config *config) {
    snprintf(account->system, sizeof account->system, "%s", config->system);
    account->devices = config->devices;
}

void ff__summary_cancel(void) {
    account->cancelled = 1;
}

static struct ff__findings find_all(void) {
    struct ff_context *context = ff__context_if_open();
    struct ff__findings all = {.asked = context && ff__config()->explain};
    struct ff_found found;
    while (all.asked && ff_finding_read(context, all.count, &found) &&
           ff__grow(&all.items, all.count, sizeof found) == 0)
        all.items[all.count++] = found;
    return all;
}

/* Our parent says what broke, and that nothing was managed, for all of its processes at once. */
static void report_text(const struct ff__findings *findings) {
    bool idle = ff__mode() == FF__MANAGED && !account->managed && !account->reason[0];
    char excuse[512];
    if (!idle) {
        ff__account_print(account, findings, stderr);
    } else if (!book) {
        ff__account_excuse(account, excuse, sizeof excuse);
        ff__say("nothing was managed: this program %s", excuse);
    }
}

static int print_json(FILE *file, const void *findings) {
    ff__account_print_json(account, findings, file);
    return 0;
}

static void report_json(const struct ff__findings *findings) {
    int status = ff__file_write(report_path, print_json, findings);
    if (status)
        ff__say("cannot write the summary to %s: %s", report_path, strerror(-status));
}

__attribute__((destructor)) static void report_at_exit(void) {
    if (ff__in_child() || account->cancelled || account->reported_ns)
        return;
    if (report == NOTHING && !book && !account->managed)
        return; /* never came near OpenCL */
    publish_at_exit();
    struct ff__findings findings = find_all();
    if (report == NOTHING && book)
        ff__account_explain(account, book, &findings);
    account->reported_ns = ff__clock_ns();
    if (report == JSON)
        report_json(&findings);
    if (report == TEXT)
        report_text(&findings);
    free(findings.items);
    if (account->broken[0] && !book)
        ff__say("an invariant broke: %s", account->broken);
}
