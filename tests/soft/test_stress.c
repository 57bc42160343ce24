/* Sixteen threads on two devices with three times their memory: plain reads and writes, system
 * calls of every kind on managed memory, and every hint, while ranges come and go and launches
 * change homes. Every byte is known, nothing is lost, and no more is resident than the budgets.
 * Then the same while the kernel's answers to the library fail at random.
 *
 * TEST_STRESS_SECONDS sets how long each configuration runs (default: 0.3; `make stress`: 60). */
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/random.h"
#include "soft/ring.h"
#include "soft/shim.h"

#define THREADS 16u
#define BUDGET  ((SANITIZED ? 8 : 16) * MB) /* of each of two devices */

/* Slots of 64 bytes, of which a thread has every 16th: every page has many writers. */
#define SLOT  64u
#define SLOTS (2 * BUDGET / SLOT)

/* Pages, by sixteens: every block has many owners, each of whom may do input and output. */
#define CHUNK_PAGES 16u
#define CHUNK       (CHUNK_PAGES * PAGE)
#define CHUNKS      (4 * BUDGET / CHUNK)
#define OWN_CHUNKS  (CHUNKS / THREADS)

struct shared {
    struct ff_context *context;
    const struct ff_config *config;
    struct slot *slots;
    unsigned char *chunks;
    bool stop;     /* atomic */
    bool is_alone; /* system calls must not be given what kernels alone use; atomic */
};

struct worker {
    struct shared *shared;
    unsigned number;
    pthread_t thread;
    struct ff__random random;
    uint32_t versions[SLOTS / THREADS];
    uint64_t tags[OWN_CHUNKS][CHUNK_PAGES]; /* what the worker's pages hold; 0: zeros */
    uint64_t operations, last_tag;
    int file, direct, pipe[2], socket[2];
    struct ring ring;
};

static uint32_t below(struct worker *worker, uint64_t bound) {
    return ff__random_below(&worker->random, (uint32_t)bound);
}

/* ---- slots ---- */

/* A record proves itself: any torn, lost or misplaced write shows. */
struct slot {
    uint64_t version, index, sum;
    uint64_t filler[5];
};

static uint64_t sum_of(uint64_t version, uint64_t index) {
    return version ? (version * UINT64_C(0x9E3779B97F4A7C15)) ^ (index << 20) ^ 0x5bd1e995 : 0;
}

static void check_slot(const struct worker *worker, size_t own) {
    size_t index = own * THREADS + worker->number;
    const struct slot *slot = &worker->shared->slots[index];
    uint64_t version = worker->versions[own];
    CHECK(slot->version == version && slot->sum == sum_of(version, index));
    CHECK(slot->index == (version ? index : 0));
}

static void use_slots(struct worker *worker) {
    size_t own = below(worker, SLOTS / THREADS), end = own + 1 + below(worker, 64);
    for (; own < end && own < SLOTS / THREADS; own++) {
        check_slot(worker, own);
        if (below(worker, 3) == 0)
            continue;
        size_t index = own * THREADS + worker->number;
        uint64_t version = ++worker->versions[own];
        worker->shared->slots[index] = (struct slot){version, index, sum_of(version, index), {0}};
    }
}

/* ---- pages ---- */

static unsigned char *chunk_of(const struct worker *worker, unsigned own) {
    return worker->shared->chunks + ((size_t)own * THREADS + worker->number) * CHUNK;
}

static void check_pages(const struct worker *worker, unsigned own, unsigned first, unsigned end) {
    for (unsigned page = first; page < end; page++) {
        const uint64_t *words = (void *)(chunk_of(worker, own) + page * PAGE);
        uint64_t tag = worker->tags[own][page], wrong = 0;
        for (size_t i = 0; i < PAGE / sizeof *words; i += 8)
            wrong += words[i] != (tag ? tag + i : 0);
        CHECK(wrong == 0);
    }
}

static void write_pages(struct worker *worker, unsigned own, unsigned first, unsigned end) {
    for (unsigned page = first; page < end; page++) {
        uint64_t *words = (void *)(chunk_of(worker, own) + page * PAGE);
        uint64_t tag = (uint64_t)(worker->number + 1) << 48 | (worker->last_tag += PAGE);
        for (size_t i = 0; i < PAGE / sizeof *words; i++)
            words[i] = tag + i;
        worker->tags[own][page] = tag;
    }
}

static void use_pages(struct worker *worker) {
    unsigned own = below(worker, OWN_CHUNKS), first = below(worker, CHUNK_PAGES);
    check_pages(worker, own, first, CHUNK_PAGES);
    write_pages(worker, own, first, CHUNK_PAGES);
}

/* ---- system calls: each copies a run of pages to another place of the worker's ---- */

typedef void carry_fn(struct worker *worker, unsigned char *to, unsigned char *from, size_t size);

/* From or to a file at 0, a pipe or a socket, all of it. */
static void send_all(int fd, const unsigned char *from, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t put = write(fd, from + done, size - done);
        CHECK(put > 0);
        done += (size_t)put;
    }
}

static void receive_all(int fd, unsigned char *to, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t got = read(fd, to + done, size - done);
        CHECK(got > 0);
        done += (size_t)got;
    }
}

static void through_file(int fd, unsigned char *to, const unsigned char *from, size_t size) {
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    send_all(fd, from, size);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    receive_all(fd, to, size);
}

static void by_buffered_file(struct worker *worker, unsigned char *to, unsigned char *from,
                             size_t size) {
    through_file(worker->file, to, from, size);
}

static void by_direct_file(struct worker *worker, unsigned char *to, unsigned char *from,
                           size_t size) {
    through_file(worker->direct, to, from, size);
}

/* A page at a time: a pipe has room for one, whoever shares the machine. */
static void by_pipe(struct worker *worker, unsigned char *to, unsigned char *from, size_t size) {
    for (size_t at = 0; at < size; at += PAGE) {
        send_all(worker->pipe[1], from + at, PAGE);
        receive_all(worker->pipe[0], to + at, PAGE);
    }
}

static void by_socket(struct worker *worker, unsigned char *to, unsigned char *from, size_t size) {
    for (size_t at = 0; at < size; at += PAGE) {
        send_all(worker->socket[1], from + at, PAGE);
        receive_all(worker->socket[0], to + at, PAGE);
    }
}

static void by_ring(struct worker *worker, unsigned char *to, unsigned char *from, size_t size) {
    ring_do(&worker->ring, IORING_OP_WRITE, worker->direct, from, size);
    ring_do(&worker->ring, IORING_OP_READ, worker->direct, to, size);
}

static void by_registered_ring(struct worker *worker, unsigned char *to, unsigned char *from,
                               size_t size) {
    ring_do(&worker->ring, IORING_OP_WRITE, worker->direct, from, size);
    ring_register(&worker->ring, to, size);
    ring_do(&worker->ring, IORING_OP_READ_FIXED, worker->direct, to, size);
    ring_unregister(&worker->ring);
}

static void by_memory_write(struct worker *worker, unsigned char *to, unsigned char *from,
                            size_t size) {
    CHECK(ff_mem_write(worker->shared->context, to, from, size) == 0);
}

static const struct {
    carry_fn *carry;
    bool enters, pins,
        rings; /* is a system call; holds pages while others may evict them; by io_uring */
} carriers[] = {
    {by_buffered_file, true, false, false},
    {by_direct_file, true, true, false},
    {by_pipe, true, false, false},
    {by_socket, true, false, false},
    {by_ring, true, true, true},
    {by_registered_ring, true, true, true},
    {by_memory_write, false, false, false},
};

static void carry_pages(struct worker *worker) {
    unsigned which = below(worker, sizeof carriers / sizeof carriers[0]);
    const struct ff_config *config = worker->shared->config;
    if ((carriers[which].enters && __atomic_load_n(&worker->shared->is_alone, __ATOMIC_ACQUIRE)) ||
        (carriers[which].pins && !keeps_pinned_pages(config)) ||
        (carriers[which].rings && is_without("io_uring")))
        return;
    unsigned from = below(worker, OWN_CHUNKS), to = below(worker, OWN_CHUNKS);
    unsigned first = below(worker, CHUNK_PAGES), count = CHUNK_PAGES - first;
    if (from == to)
        return;
    check_pages(worker, from, first, CHUNK_PAGES);
    carriers[which].carry(worker, chunk_of(worker, to) + first * PAGE,
                          chunk_of(worker, from) + first * PAGE, count * PAGE);
    memcpy(&worker->tags[to][first], &worker->tags[from][first], count * sizeof(uint64_t));
    check_pages(worker, to, first, CHUNK_PAGES);
}

/* ---- hints ---- */

static void give_hint(const struct worker *worker, unsigned char *memory, size_t size,
                      enum ff_hint hint) {
    CHECK(ff_mem_hint(worker->shared->context, memory, size, hint, 0) == 0);
}

/* What has been declared dead must be written before it is read. */
static void give_hints(struct worker *worker) {
    unsigned own = below(worker, OWN_CHUNKS);
    unsigned char *chunk = chunk_of(worker, own);
    check_pages(worker, own, 0, CHUNK_PAGES);
    switch (below(worker, 5)) {
    case 0:
        give_hint(worker, chunk, CHUNK, FF_HINT_EVICT);
        break;
    case 1:
        give_hint(worker, chunk, CHUNK, FF_HINT_DISCARD);
        write_pages(worker, own, 0, CHUNK_PAGES);
        break;
    case 2:
        give_hint(worker, chunk, CHUNK, FF_HINT_OVERWRITE);
        write_pages(worker, own, 0, CHUNK_PAGES);
        break;
    case 3:
        give_hint(worker, chunk, CHUNK, FF_HINT_INACTIVE);
        use_slots(worker);
        give_hint(worker, chunk, CHUNK, FF_HINT_ACTIVE);
        write_pages(worker, own, 0, CHUNK_PAGES);
        break;
    default:
        CHECK(ff_mem_prefetch(worker->shared->context, chunk, CHUNK,
                              below(worker, worker->shared->config->devices)) == 0);
    }
    check_pages(worker, own, 0, CHUNK_PAGES);
}

/* ---- ranges and launches ---- */

/* A range that lives shortly, must start with zeros, and keeps what is written. */
static void use_short_range(struct worker *worker) {
    struct ff_context *context = worker->shared->context;
    size_t size = PAGE + below(worker, 3 * MB), wrong = 0;
    unsigned char *data =
        below(worker, 2) ? child_alloc(context, size) : child_alloc_for_kernels(context, size);
    unsigned char mark = (unsigned char)(1 + worker->number);
    for (size_t at = 0; at < size; at += PAGE)
        wrong += data[at] != 0;
    for (size_t at = 0; at < size; at += PAGE / 2)
        data[at] = mark;
    if (below(worker, 4) == 0)
        give_hint(worker, data, PAGE, FF_HINT_SYSTEM_CALLS);
    for (size_t at = 0; at < size; at += PAGE / 2)
        wrong += data[at] != mark;
    CHECK(wrong == 0 && ff_mem_free(context, data) == 0);
}

static void launch(struct worker *worker) {
    struct shared *shared = worker->shared;
    const void *operands[] = {shared->slots, shared->chunks};
    uint32_t device = below(worker, shared->config->devices);
    ff_launch_begin(shared->context, device, device, "kernel", &operands[below(worker, 2)], NULL,
                    1);
    use_slots(worker);
    ff_launch_end(shared->context, device, device);
}

static void *work(void *argument) {
    struct worker *worker = argument;
    while (!__atomic_load_n(&worker->shared->stop, __ATOMIC_RELAXED)) {
        uint32_t choice = below(worker, 1000);
        if (choice < 600)
            use_slots(worker);
        else if (choice < 800)
            use_pages(worker);
        else if (choice < 920)
            carry_pages(worker);
        else if (choice < 990)
            give_hints(worker);
        else if (choice < 998)
            use_short_range(worker);
        else if (below(worker, 4) == 0)
            launch(worker);
        worker->operations++;
    }
    return NULL;
}

/* ---- a run ---- */

static double stress_seconds(void) {
    const char *text = getenv("TEST_STRESS_SECONDS");
    double seconds = text ? atof(text) : 0;
    return seconds > 0 ? seconds : 0.3;
}

static int open_file(int flags) {
    char path[] = "./farfault-stress-XXXXXX";
    int made = mkstemp(path), fd = open(path, O_RDWR | flags);
    CHECK(made >= 0 && fd >= 0 && unlink(path) == 0);
    close(made);
    return fd;
}

static void start_worker(struct worker *worker, struct shared *shared, unsigned number) {
    worker->shared = shared;
    worker->number = number;
    worker->random = ff__random_seeded(number + 1);
    worker->file = open_file(0);
    worker->direct = open_file(O_DIRECT);
    CHECK(pipe(worker->pipe) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, worker->socket) == 0);
    if (!is_without("io_uring"))
        ring_open(&worker->ring);
    CHECK(pthread_create(&worker->thread, NULL, work, worker) == 0);
}

static void watch_budget(const struct shared *shared) {
    uint64_t end = ff__clock_ns() + (uint64_t)(stress_seconds() * 1e9);
    do {
        struct ff_stats stats;
        usleep(20000);
        ff_stats_read(shared->context, &stats);
        CHECK(stats.resident <= stats.capacity + stats.overshoot);
        CHECK(stats.resident_peak <= stats.capacity + stats.overshoot_peak);
        CHECK(rss_is_within_budget(shared->context));
    } while (ff__clock_ns() < end);
}

/* In the middle of it all. */
static void open_to_system_calls(struct shared *shared) {
    CHECK(ff_mem_hint(shared->context, shared->slots, 1, FF_HINT_SYSTEM_CALLS, 0) == 0);
    CHECK(ff_mem_hint(shared->context, shared->chunks, 1, FF_HINT_SYSTEM_CALLS, 0) == 0);
    __atomic_store_n(&shared->is_alone, false, __ATOMIC_RELEASE);
    watch_budget(shared);
}

/* In the order of addresses. */
static void check_everything(const struct worker workers[THREADS]) {
    for (size_t own = 0; own < SLOTS / THREADS; own++)
        for (unsigned i = 0; i < THREADS; i++)
            check_slot(&workers[i], own);
    for (unsigned own = 0; own < OWN_CHUNKS; own++)
        for (unsigned i = 0; i < THREADS; i++)
            check_pages(&workers[i], own, 0, CHUNK_PAGES);
}

static uint64_t *all_faults; /* of all configurations; shared with the children */

static void stress(const struct ff_config *config, const void *argument) {
    static struct worker workers[THREADS];
    const unsigned *failing = argument;
    struct shared shared = {.context = child_open(config), .config = config};
    shared.slots = (void *)child_alloc_for_kernels(shared.context, SLOTS * SLOT);
    shared.chunks = child_alloc_for_kernels(shared.context, CHUNKS * CHUNK);
    shared.is_alone = config->handler == FF_HANDLER_SIGBUS || config->handler == FF_HANDLER_KERNELS;
    if (*failing)
        shim_random(config->seed, *failing);
    for (unsigned i = 0; i < THREADS; i++)
        start_worker(&workers[i], &shared, i);
    watch_budget(&shared);
    if (config->handler == FF_HANDLER_KERNELS)
        open_to_system_calls(&shared);
    __atomic_store_n(&shared.stop, true, __ATOMIC_RELAXED);
    uint64_t operations = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
        operations += workers[i].operations;
    }
    check_everything(workers);
    CHECK(ff_check(shared.context, NULL) == 0);
    struct ff_stats stats;
    ff_stats_read(shared.context, &stats);
    printf("%s: %llu operations, %llu faults, %llu evictions, %ld of %ld calls failed\n",
           config_text(config), (unsigned long long)operations, (unsigned long long)stats.faults,
           (unsigned long long)stats.evictions, shim_hits(), shim_calls());
    fflush(stdout);
    *all_faults += stats.faults;
    child_close(shared.context);
}

static uint64_t default_spin_ns(void) {
    struct ff_config config;
    ff_config_init(&config);
    return config.spin_ns;
}

static struct ff_config stress_config(const char *system) {
    struct ff_config config = child_config(BUDGET);
    config.address_space = 512 * MB;
    config.spin_ns = default_spin_ns();
    config.devices = 2;
    config.check = true;
    config.system = system;
    return config;
}

static void stress_with(struct ff_config config, unsigned failing) {
    extra_seconds = (int)stress_seconds() + 1;
    expect_ok(stress, &config, &failing);
}

/* In `make test` every second configuration, under sanitizers every third; in long runs all. */
static unsigned stride(void) {
    return getenv("TEST_STRESS_SECONDS") ? 1 : SANITIZED ? 3 : 2;
}

static void test_move(void **state) {
    static const char *const systems[] = {"nvidia", "demand", "nvidia-1", "deepum-far", "deepum"};
    (void)state;
    for (unsigned i = 0; i < 5; i += stride())
        stress_with(stress_config(systems[i]), 0);
}

static void test_copy(void **state) {
    struct ff_config config = stress_config("nvidia");
    (void)state;
    config.mechanism = FF_MECHANISM_COPY;
    stress_with(config, 0);
}

static void test_leaves(void **state) {
    static const char *const systems[] = {"demand", "nvidia", "deepum-far", "demand:evict=lru-4k"};
    (void)state;
    for (unsigned i = 0; i < 8; i += stride()) {
        struct ff_config config = stress_config(systems[i % 4]);
        config.granule = FF_LEAF_SIZE;
        config.mechanism = i < 4 ? FF_MECHANISM_AUTO : FF_MECHANISM_COPY;
        stress_with(config, i % 4 == 1 ? 20 : 0);
    }
}

static void test_sigbus(void **state) {
    struct ff_config config = stress_config("nvidia");
    (void)state;
    config.handler = FF_HANDLER_SIGBUS;
    stress_with(config, 0);
}

static void test_kernels(void **state) {
    static const char *const systems[] = {"demand", "nvidia", "deepum-far", "auto"};
    (void)state;
    for (unsigned i = 0; i < 8; i += stride()) {
        struct ff_config config = stress_config(systems[i % 4]);
        config.handler = FF_HANDLER_KERNELS;
        config.granule = i % 4 == 0 ? FF_LEAF_SIZE : FF_BLOCK_SIZE;
        config.mechanism = i < 4 ? FF_MECHANISM_AUTO : FF_MECHANISM_COPY;
        stress_with(config, i % 4 == 3 ? 20 : 0);
    }
}

/* The seed is the configuration's, so that a run can be had again. */
static void test_failing_calls(void **state) {
    static const char *const systems[] = {"demand", "nvidia", "nvidia-1", "deepum-far"};
    (void)state;
    for (unsigned i = 0; i < 8; i += stride()) {
        struct ff_config config = stress_config(systems[i % 4]);
        config.seed = i + 1;
        if (i >= 4)
            config.mechanism = FF_MECHANISM_COPY;
        stress_with(config, 20);
    }
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    all_faults = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all_faults == MAP_FAILED)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_move),    cmocka_unit_test(test_copy),
        cmocka_unit_test(test_leaves),  cmocka_unit_test(test_sigbus),
        cmocka_unit_test(test_kernels), cmocka_unit_test(test_failing_calls),
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    printf("%llu faults in all\n", (unsigned long long)*all_faults);
    return failures;
}
