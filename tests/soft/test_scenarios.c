/* Scenarios of Linux's tests of memory that migrates between a processor and a device (hmm-tests),
 * on the software device: what is resident as seen from outside; managed and other memory in one
 * system call; atomic operations on one page while it migrates; fork, exec, exit and death while
 * pages are in flight; another context that comes and goes. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "runtime/child.h"

#define BUDGET (8 * MB)
#define DATA   (16 * MB)
#define PAGES  (DATA / PAGE)

/* ---- residency, seen from outside ---- */

static bool is_present(const unsigned char *page) {
    FILE *file = fopen("/proc/self/pagemap", "r");
    uint64_t entry = 0;
    CHECK(file && fseek(file, (long)((uintptr_t)page / PAGE * sizeof entry), SEEK_SET) == 0);
    CHECK(fread(&entry, sizeof entry, 1, file) == 1);
    fclose(file);
    return entry >> 63;
}

static void see_from_outside(const struct ff_config *config, const void *argument) {
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, 2 * MB);
    struct ff_stats stats;
    (void)argument;
    for (size_t page = 0; page < 512; page += 3)
        data[page * PAGE] = 1;
    for (size_t page = 0; page < 512; page++)
        CHECK(is_present(data + page * PAGE) == (page % 3 == 0));
    ff_stats_read(context, &stats);
    CHECK(managed_rss(context) == 171 * PAGE);
    CHECK(stats.resident >= 171 * PAGE);
    child_evict(context, data, 2 * MB);
    ff_stats_read(context, &stats);
    CHECK(managed_rss(context) == 0 && stats.resident == 0);
    child_close(context);
}

static void test_residency(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        if (runs(&config, "demand"))
            expect_ok(see_from_outside, &config, NULL);
    }
}

/* ---- threads that use more than the device has ---- */

#define USERS 4u

struct users {
    struct ff_context *context;
    unsigned char *data;
    bool stop; /* atomic */
    struct user {
        struct users *all;
        unsigned number;
        pthread_t thread;
    } of[USERS];
};

static unsigned char mark_of(size_t page) {
    return (unsigned char)(page % 251 + 1);
}

/* Every fourth page is the thread's own. */
static void *use(void *argument) {
    const struct user *user = argument;
    const struct users *users = user->all;
    for (size_t page = user->number; !__atomic_load_n(&users->stop, __ATOMIC_RELAXED);
         page = (page + 7 * USERS) % PAGES) {
        volatile unsigned char *at = users->data + page * PAGE;
        CHECK(*at == mark_of(page));
        *at = mark_of(page);
    }
    return NULL;
}

static void start_users(struct users *users, const struct ff_config *config) {
    users->context = child_open(config);
    users->data = child_alloc(users->context, DATA);
    users->stop = false;
    for (size_t page = 0; page < PAGES; page++)
        users->data[page * PAGE] = mark_of(page);
    for (unsigned i = 0; i < USERS; i++) {
        users->of[i] = (struct user){.all = users, .number = i};
        CHECK(pthread_create(&users->of[i].thread, NULL, use, &users->of[i]) == 0);
    }
}

static void end_users(struct users *users) {
    __atomic_store_n(&users->stop, true, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < USERS; i++)
        CHECK(pthread_join(users->of[i].thread, NULL) == 0);
    CHECK(ff_check(users->context, NULL) == 0);
    child_close(users->context);
}

/* ---- fork, exec, exit, death; another context ---- */

static void fork_in_flight(const struct ff_config *config, const void *argument) {
    struct users users;
    (void)argument;
    start_users(&users, config);
    for (int i = 0; i < 10; i++) {
        int status, own = i;
        pid_t child = fork();
        if (child == 0)
            _exit(own == i ? 7 : 1);
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    end_users(&users);
}

static void exit_in_flight(const struct ff_config *config, const void *argument) {
    struct users users;
    (void)argument;
    start_users(&users, config);
    exit(0);
}

static void exec_in_flight(const struct ff_config *config, const void *argument) {
    struct users users;
    (void)argument;
    start_users(&users, config);
    execl("/bin/true", "true", (char *)NULL);
    _exit(1);
}

static void die_in_flight(const struct ff_config *config, const void *argument) {
    struct users users;
    (void)argument;
    start_users(&users, config);
    kill(getpid(), SIGKILL);
}

static void open_and_close_another(const struct ff_config *config, const void *argument) {
    struct users users;
    struct ff_config other = *config;
    (void)argument;
    if (other.handler == FF_HANDLER_SIGBUS)
        other.handler = FF_HANDLER_SLEEP; /* only one context has the signal */
    start_users(&users, config);
    for (int i = 0; i < 5; i++) {
        struct ff_context *context = child_open(&other);
        unsigned char *data = child_alloc(context, DATA);
        memset(data, i + 1, DATA);
        CHECK(data[DATA - 1] == i + 1);
        child_close(context);
    }
    end_users(&users);
}

static void test_in_flight(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        if (!runs(&config, "nvidia-1") && !long_run_repeats())
            continue;
        expect_ok(fork_in_flight, &config, NULL);
        expect_ok(exit_in_flight, &config, NULL);
        expect_ok(exec_in_flight, &config, NULL);
        expect_signal(die_in_flight, &config, NULL, SIGKILL);
        expect_ok(open_and_close_another, &config, NULL);
    }
}

/* ---- exclusive access ---- */

#define ADDS 20000u

static void *add(void *argument) {
    uint64_t *counters = argument;
    for (unsigned i = 0; i < ADDS; i++)
        __atomic_fetch_add(&counters[i % 4], 1, __ATOMIC_RELAXED);
    return NULL;
}

/* From four threads, while the page's block is evicted and sent to one device and to another. */
static void add_while_it_migrates(const struct ff_config *config, const void *argument) {
    struct ff_context *context = child_open(config);
    uint64_t *counters = (void *)child_alloc(context, 2 * MB);
    pthread_t threads[4];
    (void)argument;
    for (unsigned i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, add, counters) == 0);
    for (unsigned i = 0; i < 60; i++) {
        child_evict(context, counters, 2 * MB);
        CHECK(ff_mem_prefetch(context, counters, 2 * MB, i % config->devices) == 0);
    }
    for (unsigned i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (unsigned i = 0; i < 4; i++)
        CHECK(counters[i] == ADDS);
    child_close(context);
}

static void test_atomics(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        config.devices = 2;
        expect_ok(add_while_it_migrates, &config, NULL);
    }
}

/* ---- one system call for memory of all kinds ---- */

#define PIECE (16 * PAGE)

/* Evicted managed memory, a file mapping, managed memory on the device, and memory of the program's
 * own. */
static void lay_out(struct iovec pieces[4], struct ff_context *context, int file) {
    pieces[0].iov_base = child_alloc(context, PIECE);
    pieces[1].iov_base = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    pieces[2].iov_base = child_alloc(context, PIECE);
    pieces[3].iov_base = malloc(PIECE);
    CHECK(pieces[1].iov_base != MAP_FAILED && pieces[3].iov_base);
    for (unsigned i = 0; i < 4; i++)
        pieces[i].iov_len = PIECE;
}

static int new_file(void) {
    char path[] = "./farfault-mixed-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && unlink(path) == 0 && ftruncate(fd, PIECE) == 0);
    return fd;
}

static void fill(const struct iovec pieces[4], int base) {
    for (int i = 0; i < 4; i++)
        memset(pieces[i].iov_base, base + i, PIECE);
}

static void check(const struct iovec pieces[4], int base) {
    for (int i = 0; i < 4; i++)
        for (size_t at = 0; at < PIECE; at++)
            CHECK(((unsigned char *)pieces[i].iov_base)[at] == base + i);
}

static void mix_memory(const struct ff_config *config, const void *argument) {
    struct ff_context *context = child_open(config);
    struct iovec from[4], to[4];
    int carried = new_file();
    const ssize_t all = 4 * PIECE;
    (void)argument;
    lay_out(from, context, new_file());
    lay_out(to, context, new_file());
    fill(from, 10);
    fill(to, 0);
    child_evict(context, from[0].iov_base, PIECE);
    child_evict(context, to[0].iov_base, PIECE);
    CHECK(pwritev(carried, from, 4, 0) == all && preadv(carried, to, 4, 0) == all);
    check(to, 10);
    fill(from, 20);
    child_evict(context, from[0].iov_base, PIECE);
    child_evict(context, to[0].iov_base, PIECE);
    CHECK(process_vm_readv(getpid(), to, 4, from, 4, 0) == all);
    check(to, 20);
    fill(from, 30);
    child_evict(context, from[0].iov_base, PIECE);
    CHECK(process_vm_writev(getpid(), from, 4, to, 4, 0) == all);
    check(to, 30);
    child_close(context);
}

static void test_mixed_memory(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        if (config.handler != FF_HANDLER_SIGBUS)
            expect_ok(mix_memory, &config, NULL);
    }
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_residency),
        cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_mixed_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
