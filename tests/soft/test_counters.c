/* The form of Linux's uffd-stress: sixteen threads take a mutex that lies in a page, compare the
 * counter beside it, and all of the page, with what they know from outside, and count. Faults bring
 * single pages; meanwhile a thread evicts and prefetches blocks that are in use, at each tick of a
 * timer whose signal also interrupts threads that wait for a page.
 *
 * TEST_STRESS_FAULTS asks for so many faults with each mechanism, in sections of a million, each a
 * process of its own that checks every page at its end. TEST_STRESS_KEPT names a file that keeps
 * how far they came, so that a run that was stopped goes on. */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "base/random.h"
#include "runtime/child.h"

#define THREADS     16u
#define STREAMS     8u /* of two threads each, which meet in their pages */
#define BLOCK_PAGES 512u
#define SECTION     1000000u
#define TICK_US     2000

/* A tag tells the page and its count; the words behind it follow from it. */
struct page {
    pthread_mutex_t mutex;
    uint64_t words[(4096 - sizeof(pthread_mutex_t)) / sizeof(uint64_t)];
};
_Static_assert(sizeof(struct page) == 4096, "a page");
#define WORDS (sizeof((struct page *)NULL)->words / sizeof(uint64_t))

struct section {
    struct ff_context *context;
    struct page *pages;
    uint64_t *counts; /* outside: what each page's counter should be; guarded by the page's mutex */
    uint32_t blocks;
    bool futexes; /* may wait in the kernel, which reads the mutex: not where absent pages are
                     signals */
    bool stop;    /* atomic */
};

struct worker {
    struct section *section;
    pthread_t thread;
    uint32_t number, block; /* block: atomic, the mover looks at it */
};

/* ---- pages ---- */

static uint64_t tag_of(size_t page, uint64_t count) {
    return count ? count << 32 | page << 10 : 0;
}

/* The first word is the counter, as far as the rest is concerned only one of them. */
static void check_page(const struct section *section, size_t page) {
    const struct page *at = &section->pages[page];
    uint64_t tag = tag_of(page, section->counts[page]), wrong = 0, step = tag ? 1 : 0;
    for (size_t i = 0; i < WORDS; i++)
        wrong |= at->words[i] ^ (tag + step * i);
    CHECK(wrong == 0);
}

static void write_page(struct section *section, size_t page) {
    uint64_t tag = tag_of(page, ++section->counts[page]);
    for (size_t i = 0; i < WORDS; i++)
        section->pages[page].words[i] = tag + i;
}

/* ---- threads ---- */

static void lock_page(const struct section *section, size_t page) {
    pthread_mutex_t *mutex = &section->pages[page].mutex;
    if (section->futexes)
        CHECK(pthread_mutex_lock(mutex) == 0);
    else
        while (pthread_mutex_trylock(mutex) != 0)
            sched_yield();
}

/* Through one block after another, in each through all pages in an order of the thread's own. */
static void *count_pages(void *argument) {
    struct worker *worker = argument;
    struct section *section = worker->section;
    for (uint32_t i = 0; !__atomic_load_n(&section->stop, __ATOMIC_RELAXED); i++) {
        if (i > 0 && i % BLOCK_PAGES == 0)
            __atomic_store_n(&worker->block, (worker->block + 1) % section->blocks,
                             __ATOMIC_RELAXED);
        size_t page =
            (size_t)worker->block * BLOCK_PAGES + i * (2 * worker->number + 1) % BLOCK_PAGES;
        lock_page(section, page);
        check_page(section, page);
        write_page(section, page);
        CHECK(pthread_mutex_unlock(&section->pages[page].mutex) == 0);
    }
    return NULL;
}

static unsigned ticks; /* atomic */

static void tick(int number) {
    (void)number;
    __atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
}

static void set_timer(int microseconds) {
    const struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    const struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

/* Evicts a block that a thread is in, and prefetches one: while its pages are being faulted for, so
 * that each page is brought twice and comes once. */
static void disturb(struct section *section, const struct worker *workers,
                    struct ff__random *random) {
    uint32_t number = ff__random_below(random, THREADS);
    size_t block = __atomic_load_n(&workers[number].block, __ATOMIC_RELAXED);
    void *at = &section->pages[block * BLOCK_PAGES];
    if (ff__random_below(random, 2))
        child_evict(section->context, at, FF_BLOCK_SIZE);
    else
        CHECK(ff_mem_prefetch(section->context, at, FF_BLOCK_SIZE / 8, 0) == 0);
}

static uint64_t faults_of(struct ff_context *context) {
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    CHECK(stats.resident <= stats.capacity + stats.overshoot);
    return stats.faults;
}

/* ---- a section ---- */

/* Shared with the children. */
static struct { uint64_t faults, evictions; } * done;

struct bounds {
    uint64_t faults; /* it ends when so many have been served */
    uint64_t ns;     /* it has failed if that takes longer */
};

static void open_section(struct section *section, const struct ff_config *config) {
    section->context = child_open(config);
    section->futexes = config->handler != FF_HANDLER_SIGBUS;
    section->blocks = (uint32_t)(4 * config->memory / FF_BLOCK_SIZE);
    size_t pages = (size_t)section->blocks * BLOCK_PAGES;
    section->pages =
        (void *)child_alloc(section->context, pages * PAGE); /* zeros: mutexes that are free */
    section->counts = calloc(pages, sizeof *section->counts);
    CHECK(section->counts);
}

static void run_workers(struct section *section, const struct bounds *bounds, uint64_t seed) {
    static struct worker workers[THREADS];
    struct ff__random random = ff__random_seeded(seed);
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){section, 0, i, i % STREAMS * section->blocks / STREAMS};
        CHECK(pthread_create(&workers[i].thread, NULL, count_pages, &workers[i]) == 0);
    }
    set_timer(TICK_US);
    uint64_t end = ff__clock_ns() + bounds->ns;
    for (unsigned seen = 0; faults_of(section->context) < bounds->faults && ff__clock_ns() < end;) {
        unsigned now = __atomic_load_n(&ticks, __ATOMIC_RELAXED);
        for (; seen != now; seen++)
            disturb(section, workers, &random);
        usleep(TICK_US);
    }
    set_timer(0);
    __atomic_store_n(&section->stop, true, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < THREADS; i++)
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
}

static void check_all(const struct section *section) {
    for (size_t page = 0; page < (size_t)section->blocks * BLOCK_PAGES; page++) {
        if (page % BLOCK_PAGES == 0)
            CHECK(ff_mem_prefetch(section->context, &section->pages[page], FF_BLOCK_SIZE, 0) == 0);
        check_page(section, page);
    }
}

static void count_in_section(const struct ff_config *config, const void *argument) {
    struct section section = {0};
    open_section(&section, config);
    run_workers(&section, argument, config->seed);
    struct ff_stats stats;
    ff_stats_read(section.context, &stats);
    check_all(&section);
    CHECK(ff_check(section.context, NULL) == 0);
    CHECK(stats.faults >= ((const struct bounds *)argument)->faults && stats.evictions > 0 &&
          stats.batches_full > 0);
    done->faults = stats.faults;
    done->evictions = stats.evictions;
    child_close(section.context);
}

static struct ff_config section_config(enum ff_mechanism mechanism, enum ff_handler handler,
                                       uint64_t memory) {
    struct ff_config config = child_config(memory);
    config.address_space = 1024 * MB;
    config.system = "demand"; /* a page for each fault */
    config.mechanism = mechanism;
    config.handler = handler;
    config.seed = 1;
    return config;
}

/* ---- short ---- */

static void test_counters(void **state) {
    static const struct bounds bounds = {SANITIZED ? 1000 : 5000, UINT64_C(60000000000)};
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        struct ff_config config = section_config(i % 2 ? FF_MECHANISM_COPY : FF_MECHANISM_AUTO,
                                                 (enum ff_handler)(i / 2), 8 * MB);
        if (SANITIZED && config.handler == FF_HANDLER_SLEEP)
            continue;
        expect_ok(count_in_section, &config, &bounds);
        printf("%s: %llu faults, %llu evictions\n", config_text(&config),
               (unsigned long long)done->faults, (unsigned long long)done->evictions);
    }
}

/* ---- long ---- */

static uint64_t wanted_faults(void) {
    const char *text = getenv("TEST_STRESS_FAULTS");
    return text ? strtoull(text, NULL, 10) : 0;
}

/* How many faults each mechanism has had, of all runs with this file. */
static void read_kept(uint64_t kept[2]) {
    const char *path = getenv("TEST_STRESS_KEPT");
    FILE *file = path ? fopen(path, "r") : NULL;
    unsigned long long move = 0, copy = 0;
    if (file && fscanf(file, "move %llu copy %llu", &move, &copy) != 2)
        fail_msg("%s is not a file of this test", path);
    if (file)
        fclose(file);
    kept[0] = move;
    kept[1] = copy;
}

static void write_kept(const uint64_t kept[2]) {
    const char *path = getenv("TEST_STRESS_KEPT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "move %llu copy %llu\n", (unsigned long long)kept[0],
            (unsigned long long)kept[1]);
    fclose(file);
}

static void show_progress(const struct ff_config *config, uint64_t have, uint64_t wanted,
                          uint64_t faults, uint64_t evictions, uint64_t ns) {
    double rate = (double)faults * 1e9 / (double)ns;
    double left = have < wanted ? (double)(wanted - have) / rate / 60 : 0;
    printf("%s: %.1f of %.1f million faults, %.0f a second, %llu evictions, %.0f minutes left\n",
           config_text(config), (double)have * 1e-6, (double)wanted * 1e-6, rate,
           (unsigned long long)evictions, left);
    fflush(stdout);
}

static void count_up_to(uint64_t kept[2], unsigned which, uint64_t wanted) {
    for (unsigned i = 0; kept[which] < wanted; i++) {
        struct bounds bounds = {SECTION, UINT64_C(600000000000)};
        if (wanted - kept[which] < SECTION)
            bounds.faults = wanted - kept[which];
        struct ff_config config =
            section_config(which ? FF_MECHANISM_COPY : FF_MECHANISM_AUTO,
                           i % 2 ? FF_HANDLER_SIGBUS : FF_HANDLER_ADAPTIVE, 64 * MB);
        config.check = false;
        config.seed = kept[which] + 1;
        uint64_t start = ff__clock_ns();
        expect_ok(count_in_section, &config, &bounds);
        kept[which] += done->faults;
        write_kept(kept);
        show_progress(&config, kept[which], wanted, done->faults, done->evictions,
                      ff__clock_ns() - start);
    }
}

static void test_many(void **state) {
    uint64_t kept[2], wanted = wanted_faults();
    (void)state;
    extra_seconds = 900;
    read_kept(kept);
    for (unsigned which = 0; which < 2; which++)
        count_up_to(kept, which, wanted);
}

int main(void) {
    struct ff_config config = child_config(8 * MB);
    ff_close(open_or_skip(&config));
    done = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (done == MAP_FAILED)
        return 1;
    const struct CMUnitTest short_form[] = {cmocka_unit_test(test_counters)};
    const struct CMUnitTest long_form[] = {cmocka_unit_test(test_many)};
    return wanted_faults() ? cmocka_run_group_tests(long_form, NULL, NULL)
                           : cmocka_run_group_tests(short_form, NULL, NULL);
}
