/* What is measured beside farfault's own statistics, and the report at exit.
 *
 * Seconds go from the first enqueued command to the last completion that the program observed, or a
 * kernel's, and mean the same with and without management. The report only reads: PoCL's threads
 * may still run when the process exits, so the context is left to the kernel to take apart. */
#include "opencl_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)

static uint64_t first_ns, last_ns; /* 0: not yet */
static uint64_t launches, live, peak;
static uint64_t fallbacks[FF__FALLBACK_COUNT];

static enum { NOTHING, TEXT, JSON } report;
static char report_path[PATH_MAX];

static char mark[PATH_MAX]; /* "": none, or taken away */

/* ---- clock ---- */

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void ff__clock_start(void) {
    uint64_t never = 0;
    if (__atomic_load_n(&first_ns, __ATOMIC_RELAXED) == 0)
        __atomic_compare_exchange_n(&first_ns, &never, now_ns(), false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
}

static void raise_to(uint64_t *value, uint64_t candidate) {
    uint64_t seen = __atomic_load_n(value, __ATOMIC_RELAXED);
    while (candidate > seen && !__atomic_compare_exchange_n(value, &seen, candidate, true,
                                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

void ff__clock_stop(void) {
    if (__atomic_load_n(&first_ns, __ATOMIC_RELAXED))
        raise_to(&last_ns, now_ns());
}

static double seconds(void) {
    uint64_t first = __atomic_load_n(&first_ns, __ATOMIC_RELAXED);
    uint64_t last = __atomic_load_n(&last_ns, __ATOMIC_RELAXED);
    return last > first ? (double)(last - first) * 1e-9 : 0;
}

/* ---- counters ---- */

void ff__count_launch(void) {
    __atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED);
}

void ff__footprint_add(size_t bytes) {
    raise_to(&peak, __atomic_add_fetch(&live, bytes, __ATOMIC_RELAXED));
}

void ff__footprint_remove(size_t bytes) {
    __atomic_fetch_sub(&live, bytes, __ATOMIC_RELAXED);
}

void ff__fall_back(enum ff__fallback which, const char *why) {
    if (__atomic_fetch_add(&fallbacks[which], 1, __ATOMIC_RELAXED) == 0 && why)
        ff__say("%s", why);
}

static const char *const fallback_names[FF__FALLBACK_COUNT] = {
#define FF_HOOK(name)
#define FF_UNMANAGED(type, name, parameters, arguments) [FF__FALLBACK_##name] = #name,
#include "opencl_hooks.def"
#define FALLBACK(id, name) [FF__FALLBACK_##id] = name,
    FF__FALLBACKS
#undef FALLBACK
};

static uint64_t fallback_count(size_t which) {
    return __atomic_load_n(&fallbacks[which], __ATOMIC_RELAXED);
}

/* ---- what is reported ---- */

struct summary {
    const char *mode, *system, *description;
    struct ff_stats stats; /* zeros where nothing was managed */
    double seconds, hit_rate, fault_seconds;
    uint64_t memory, footprint;
    uint32_t devices;
};

static void collect(struct summary *summary) {
    static const char *const modes[] = {
        [FF__MANAGED] = "managed", [FF__PASSIVE] = "passive", [FF__UNMANAGED] = "unmanaged"};
    struct ff_context *context = ff__context_if_open();
    const struct ff_config *config = ff__config();
    memset(summary, 0, sizeof *summary);
    if (context)
        ff_stats_read(context, &summary->stats);
    summary->stats.launches = __atomic_load_n(&launches, __ATOMIC_RELAXED);
    summary->mode = modes[ff__mode()];
    summary->system = context ? config->system : "none";
    summary->description = context ? ff_context_describe(context) : "plain OpenCL";
    summary->memory = context ? summary->stats.capacity / config->devices : 0;
    summary->devices = config->devices;
    summary->seconds = seconds();
    summary->footprint = __atomic_load_n(&peak, __ATOMIC_RELAXED);
    summary->hit_rate = ff_stats_hit_rate(&summary->stats);
    summary->fault_seconds = (double)summary->stats.fault_ns * 1e-9;
}

/* ---- as JSON ---- */

static void print_string(FILE *file, const char *name, const char *value) {
    fprintf(file, "  \"%s\": \"", name);
    for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < ' ')
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    }
    fputs("\",\n", file);
}

static void print_number(FILE *file, const char *name, uint64_t value) {
    fprintf(file, "  \"%s\": %" PRIu64 ",\n", name, value);
}

/* Not with printf: a program may have set a locale whose decimal point is a comma. */
static void print_real(FILE *file, const char *name, double value) {
    uint64_t billionths = (uint64_t)((value < 0 ? -value : value) * 1e9 + 0.5);
    fprintf(file, "  \"%s\": %s%" PRIu64 ".%09" PRIu64 ",\n", name, value < 0 ? "-" : "",
            billionths / 1000000000u, billionths % 1000000000u);
}

static void print_fallbacks(FILE *file) {
    const char *separator = "";
    fputs("  \"fallbacks\": {", file);
    for (size_t i = 0; i < FF__FALLBACK_COUNT; i++) {
        if (fallback_count(i) == 0)
            continue;
        fprintf(file, "%s\"%s\": %" PRIu64, separator, fallback_names[i], fallback_count(i));
        separator = ", ";
    }
    fputs("}\n", file);
}

static void print_json(FILE *file, const struct summary *summary) {
    const struct ff_stats *stats = &summary->stats;
    fputs("{\n", file);
    print_string(file, "mode", summary->mode);
    print_string(file, "system", summary->system);
    print_number(file, "memory", summary->memory);
    print_number(file, "devices", summary->devices);
    print_string(file, "description", summary->description);
    print_real(file, "seconds", summary->seconds);
    print_number(file, "footprint", summary->footprint);
    print_number(file, "faults", stats->faults);
    print_number(file, "batches", stats->batches);
    print_number(file, "bytes_in", stats->pages_in * PAGE);
    print_number(file, "bytes_out", stats->pages_out * PAGE);
    print_number(file, "bytes_dropped", stats->pages_dropped * PAGE);
    print_number(file, "populated_bytes", stats->populated * PAGE);
    print_number(file, "prefetched_bytes", stats->prefetched * PAGE);
    print_number(file, "refaults", stats->refaults);
    print_number(file, "evictions", stats->evictions);
    print_number(file, "launches", stats->launches);
    print_number(file, "demanded_bytes", stats->demanded * PAGE);
    print_real(file, "hit_rate", summary->hit_rate);
    print_number(file, "advice_dropped", stats->advice_dropped);
    print_real(file, "fault_seconds", summary->fault_seconds);
    print_number(file, "resident_peak", stats->resident_peak);
    print_fallbacks(file);
    fputs("}\n", file);
}

/* 0 if all of it is written and the file is closed. */
static int finish_file(FILE *file) {
    bool failed = ferror(file) != 0;
    errno = 0;
    failed = fclose(file) != 0 || failed;
    return !failed ? 0 : errno ? -errno : -EIO;
}

/* Written beside its place and renamed, so that a reader sees all of it or nothing. */
static int write_new_file(const struct summary *summary) {
    char path[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s.XXXXXX", report_path);
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        int status = -errno;
        if (fd >= 0) {
            close(fd);
            unlink(path);
        }
        return status;
    }
    print_json(file, summary);
    fchmod(fd, 0644);
    int status = finish_file(file);
    if (!status && rename(path, report_path) != 0)
        status = -errno;
    if (status)
        unlink(path);
    return status;
}

/* Devices, terminals and pipes are written to. A pipe that nobody reads is an error, no reason to
 * wait. */
static int write_in_place(const struct summary *summary) {
    int fd = open(report_path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        int status = -errno;
        if (fd >= 0)
            close(fd);
        return status;
    }
    print_json(file, summary);
    return finish_file(file);
}

static int write_json(const struct summary *summary) {
    struct stat there;
    bool special = stat(report_path, &there) == 0 && !S_ISREG(there.st_mode);
    return special ? write_in_place(summary) : write_new_file(summary);
}

/* ---- as text ---- */

/* "1.5 GiB", in one of a few buffers that take turns. */
static const char *size_text(uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    static char texts[8][24];
    static unsigned turn;
    char *text = texts[turn++ % 8];
    double value = (double)bytes;
    unsigned unit = 0;
    for (; value >= 1024 && unit < 4; unit++)
        value /= 1024;
    snprintf(text, sizeof texts[0], unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

static void print_managed(FILE *file, const struct summary *summary) {
    const struct ff_stats *stats = &summary->stats;
    fprintf(file, "farfault: %s on %" PRIu32 " x %s (%s)\n", summary->system, summary->devices,
            size_text(summary->memory), summary->description);
    fprintf(file, "  time       %.3f s in %" PRIu64 " launches, %.3f s of it serving faults\n",
            summary->seconds, stats->launches, summary->fault_seconds);
    fprintf(file, "  memory     %s of buffers, at most %s on the devices\n",
            size_text(summary->footprint), size_text(stats->resident_peak));
    fprintf(file, "  faults     %" PRIu64 " in %" PRIu64 " batches, %" PRIu64 " of them refaults\n",
            stats->faults, stats->batches, stats->refaults);
    fprintf(file, "  moved      %s in, %s out, %s dropped, %s populated, %s prefetched\n",
            size_text(stats->pages_in * PAGE), size_text(stats->pages_out * PAGE),
            size_text(stats->pages_dropped * PAGE), size_text(stats->populated * PAGE),
            size_text(stats->prefetched * PAGE));
    fprintf(file, "  evictions  %" PRIu64 "\n", stats->evictions);
    if (summary->hit_rate >= 0)
        fprintf(file, "  hit rate   %.1f %% of %s demanded\n", 100 * summary->hit_rate,
                size_text(stats->demanded * PAGE));
}

static void print_plain(FILE *file, const struct summary *summary) {
    fprintf(file, "farfault: %s\n", summary->mode);
    fprintf(file, "  time       %.3f s in %" PRIu64 " launches\n", summary->seconds,
            summary->stats.launches);
    fprintf(file, "  memory     %s of buffers\n", size_text(summary->footprint));
}

static void print_text(FILE *file, const struct summary *summary) {
    if (ff__context_if_open())
        print_managed(file, summary);
    else
        print_plain(file, summary);
    for (size_t i = 0; i < FF__FALLBACK_COUNT; i++)
        if (fallback_count(i))
            fprintf(file, "  not ours   %s, %" PRIu64 " times\n", fallback_names[i],
                    fallback_count(i));
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

void ff__summary_start(void) {
    const char *wanted = getenv("FARFAULT_SUMMARY");
    if (!wanted || !*wanted || strcmp(wanted, "text") == 0)
        report = TEXT;
    else if (strcmp(wanted, "none") != 0 && make_absolute(wanted))
        report = JSON;
    const char *named = getenv("FARFAULT_MARK");
    if (named && strlen(named) < sizeof mark)
        strcpy(mark, named);
}

void ff__summary_cancel(void) {
    report = NOTHING;
}

/* The file is how `farfault run` sees that this library was loaded and had something to do. */
void ff__mark_managed(void) {
    static bool marked;
    if (*mark && !__atomic_exchange_n(&marked, true, __ATOMIC_RELAXED))
        unlink(mark);
}

__attribute__((destructor)) static void report_at_exit(void) {
    struct summary summary;
    if (report == NOTHING || ff__in_child())
        return;
    collect(&summary);
    int status = 0;
    if (report == TEXT)
        print_text(stderr, &summary);
    else if ((status = write_json(&summary)) < 0)
        ff__say("cannot write the summary to %s: %s", report_path, strerror(-status));
}
