/* System calls of the program's own on managed memory and on descriptors: it may drop, unmap,
 * replace and protect memory, and close what it does not know. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "runtime/child.h"
#include "soft/shim.h"

#define BUDGET (8 * MB)
#define SIZE   (4 * MB)

static unsigned char mark_of(size_t at) {
    return (unsigned char)(at / PAGE % 250 + 1);
}

static void put_marks(unsigned char *data, size_t from, size_t to) {
    for (size_t at = from; at < to; at += PAGE)
        data[at] = mark_of(at);
}

static bool has_marks(const unsigned char *data, size_t from, size_t to) {
    size_t wrong = 0;
    for (size_t at = from; at < to; at += PAGE)
        wrong += data[at] != mark_of(at);
    return wrong == 0;
}

static bool is_all(const unsigned char *data, size_t from, size_t to, unsigned char value) {
    size_t wrong = 0;
    for (size_t at = from; at < to; at += PAGE)
        wrong += data[at] != value;
    return wrong == 0;
}

/* Where the program does it. */
struct place {
    bool evicted;       /* first */
    size_t offset, end; /* of the range */
};

static const struct place places[] = {
    {false, 0, SIZE},
    {true, 0, SIZE},
    {false, MB + 3 * PAGE, 3 * MB - 5 * PAGE}, /* inside, across two blocks */
    {true, MB + 3 * PAGE, 3 * MB - 5 * PAGE},
};

#define PLACES (sizeof places / sizeof places[0])

struct memory {
    struct ff_context *context;
    unsigned char *data, *beside;
};

static struct memory prepare(const struct ff_config *config, const struct place *place) {
    struct memory memory = {.context = child_open(config)};
    memory.data = child_alloc(memory.context, SIZE);
    memory.beside = child_alloc(memory.context, SIZE);
    put_marks(memory.beside, 0, SIZE);
    put_marks(memory.data, 0, SIZE);
    if (place->evicted)
        child_evict(memory.context, memory.data, SIZE);
    return memory;
}

/* The other range has kept its content, and the context works and closes. */
static void finish_beside(const struct memory *memory) {
    CHECK(has_marks(memory->beside, 0, SIZE));
    unsigned char *more = child_alloc(memory->context, 2 * BUDGET);
    put_marks(more, 0, 2 * BUDGET);
    CHECK(has_marks(more, 0, 2 * BUDGET));
    CHECK(has_marks(memory->beside, 0, SIZE));
    child_close(memory->context);
}

/* And so have the neighbours of the place. */
static void finish(const struct memory *memory, const struct place *place) {
    CHECK(has_marks(memory->data, 0, place->offset));
    CHECK(has_marks(memory->data, place->end, SIZE));
    finish_beside(memory);
}

/* In long runs every place in every configuration. In others one half of the configurations has the
 * first and the last place, the other half the two between: either way memory that is evicted and
 * memory that is not, the whole range and its inside. */
static bool is_place_for(unsigned place, unsigned config) {
    bool is_between = place == 1 || place == 2;
    return long_run_repeats() || is_between == config % 2;
}

static void in_all_places(scenario_fn *run, const char *name, int wanted) {
    for (unsigned i = 0; i < PLACES; i++) {
        unsigned number = 0;
        FOR_EACH_VARIANT(config, BUDGET) {
            if (is_place_for(i, number++))
                expect_end(name, run, &config, &places[i], wanted);
        }
    }
}

#define IN_ALL_PLACES(run) in_all_places(run, #run, 0)

/* ---- madvise(MADV_DONTNEED) ---- */

static void drop(const struct ff_config *config, const void *argument) {
    const struct place *place = argument;
    struct memory memory = prepare(config, place);
    CHECK(madvise(memory.data + place->offset, place->end - place->offset, MADV_DONTNEED) == 0);
    bool zeros = is_all(memory.data, place->offset, place->end, 0);
    CHECK(zeros || !keeps_pinned_pages(config)); /* there, no thread hears of it */
    put_marks(memory.data, place->offset, place->end);
    child_evict(memory.context, memory.data, SIZE);
    CHECK(has_marks(memory.data, 0, SIZE));
    finish(&memory, place);
}

static void test_drop(void **state) {
    (void)state;
    IN_ALL_PLACES(drop);
}

/* ---- munmap ---- */

static void unmap_then_use(const struct ff_config *config, const void *argument) {
    const struct place *place = argument;
    struct memory memory = prepare(config, place);
    CHECK(munmap(memory.data + place->offset, place->end - place->offset) == 0);
    ff_mem_hint(memory.context, memory.data, SIZE, FF_HINT_EVICT, 0);
    ff_mem_prefetch(memory.context, memory.data, SIZE, 0);
    ff_mem_hint(memory.context, memory.data, SIZE, FF_HINT_DISCARD, 0);
    CHECK(has_marks(memory.beside, 0, SIZE));
    ff_mem_free(memory.context, memory.data);
    finish_beside(&memory);
}

static void unmap_then_prefetch_and_close(const struct ff_config *config, const void *argument) {
    const struct place *place = argument;
    struct memory memory = prepare(config, place);
    CHECK(munmap(memory.data + place->offset, place->end - place->offset) == 0);
    ff_mem_prefetch(memory.context, memory.data, SIZE, 0);
    finish(&memory, place);
}

static void touch_unmapped(const struct ff_config *config, const void *argument) {
    const struct place *place = argument;
    struct memory memory = prepare(config, place);
    CHECK(munmap(memory.data + place->offset, place->end - place->offset) == 0);
    *(volatile unsigned char *)(memory.data + place->offset) = 1;
}

static void test_unmap(void **state) {
    (void)state;
    IN_ALL_PLACES(unmap_then_use);
    IN_ALL_PLACES(unmap_then_prefetch_and_close);
}

static void test_touch_unmapped(void **state) {
    (void)state;
    in_all_places(touch_unmapped, "touch_unmapped", SIGSEGV);
}

/* ---- mmap(MAP_FIXED) ---- */

/* What the program has put there is the program's, for as long as it lives. */
static void map_over(const struct ff_config *config, const void *argument) {
    const struct place *place = argument;
    struct memory memory = prepare(config, place);
    size_t size = place->end - place->offset;
    unsigned char *own = memory.data + place->offset;
    CHECK(mmap(own, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
          own);
    CHECK(is_all(own, 0, size, 0));
    memset(own, 0x5A, size);
    ff_mem_hint(memory.context, memory.data, SIZE, FF_HINT_EVICT, 0);
    CHECK(is_all(own, 0, size, 0x5A));
    ff_mem_prefetch(memory.context, memory.data, SIZE, 0);
    ff_mem_hint(memory.context, memory.data, SIZE, FF_HINT_DISCARD, 0);
    CHECK(is_all(own, 0, size, 0x5A));
    ff_mem_free(memory.context, memory.data);
    memset(child_alloc(memory.context, SIZE), 1, SIZE); /* the lowest addresses that are free */
    CHECK(is_all(own, 0, size, 0x5A));
    finish_beside(&memory);
    CHECK(is_all(own, 0, size, 0x5A));
}

static void test_map_over(void **state) {
    (void)state;
    IN_ALL_PLACES(map_over);
}

/* ---- a thread that is told late ---- */

/* The kernel lets the program go on as soon as its call has been read: before it has been dealt
 * with. */
static void test_told_late(void **state) {
    (void)state;
    struct ff_config config = child_config(BUDGET);
    shim_read_late(SHIM_CHANGES, 20000);
    for (unsigned i = 0; i < PLACES; i++) {
        expect_ok(drop, &config, &places[i]);
        expect_ok(unmap_then_use, &config, &places[i]);
        expect_ok(map_over, &config, &places[i]);
    }
    shim_read_late(SHIM_CHANGES, 0);
}

struct toucher {
    unsigned char *place;
    bool touched; /* atomic */
};

static void *touch_and_stay(void *argument) {
    struct toucher *toucher = argument;
    *(volatile unsigned char *)toucher->place = 1;
    __atomic_store_n(&toucher->touched, true, __ATOMIC_RELEASE);
    pause();
    return NULL;
}

static void wait_until(const bool *done) {
    while (!__atomic_load_n(done, __ATOMIC_ACQUIRE))
        usleep(100);
}

/* A fault that was read, but not served before something else brought the page, outlives its range.
 */
static void free_before_served(const struct ff_config *config, const void *argument) {
    struct ff_context *context = child_open(config);
    struct toucher toucher = {.place = child_alloc(context, 2 * MB)};
    pthread_t thread;
    (void)argument;
    CHECK(pthread_create(&thread, NULL, touch_and_stay, &toucher) == 0);
    usleep(20000);
    CHECK(!__atomic_load_n(&toucher.touched, __ATOMIC_ACQUIRE));
    CHECK(ff_mem_prefetch(context, toucher.place, 2 * MB, 0) == 0);
    wait_until(&toucher.touched);
    CHECK(ff_mem_free(context, toucher.place) == 0);
    usleep(200000); /* by then it has been served */
}

/* The program's mistake is still a segmentation fault. */
static void touch_beyond(const struct ff_config *config, const void *argument) {
    struct ff_context *context = child_open(config);
    (void)argument;
    *(volatile unsigned char *)(child_alloc(context, MB) + MB) = 1;
}

static void test_faults_outside(void **state) {
    (void)state;
    struct ff_config config = child_config(BUDGET);
    shim_read_late(SHIM_FAULTS, 100000);
    expect_ok(free_before_served, &config, NULL);
    shim_read_late(SHIM_FAULTS, 0);
    expect_signal(touch_beyond, &config, NULL, SIGSEGV);
    config.mechanism = FF_MECHANISM_COPY;
    expect_signal(touch_beyond, &config, NULL, SIGSEGV);
}

/* ---- mprotect ---- */

static void protect(const struct ff_config *config, const void *argument) {
    const struct place *place = argument;
    struct memory memory = prepare(config, place);
    unsigned char *own = memory.data + place->offset;
    size_t size = place->end - place->offset;
    CHECK(mprotect(own, size, PROT_NONE) == 0);
    child_evict(memory.context, memory.data, SIZE);
    CHECK(mprotect(own, size, PROT_READ | PROT_WRITE) == 0);
    CHECK(has_marks(memory.data, 0, SIZE));
    finish(&memory, place);
}

static void test_protect(void **state) {
    (void)state;
    IN_ALL_PLACES(protect);
}

/* ---- mlockall ---- */

/* What is mapped later is to be there at once: not what farfault maps. */
static void lock_the_future(const struct ff_config *config, const void *argument) {
    (void)argument;
    CHECK(mlockall(MCL_FUTURE) == 0);
    struct memory memory = prepare(config, &places[0]);
    CHECK(managed_rss(memory.context) <= BUDGET);
    finish_beside(&memory);
}

static void test_lock_the_future(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        expect_ok(lock_the_future, &config, NULL);
    }
}

/* ---- descriptors ---- */

#define FILES 64

struct own_file {
    int fd;
    char content[PAGE];
};

static struct own_file own_file(int number) {
    struct own_file file;
    char path[] = "./farfault-own-XXXXXX";
    file.fd = mkstemp(path);
    CHECK(file.fd >= 0 && unlink(path) == 0);
    memset(file.content, number + 1, sizeof file.content);
    CHECK(pwrite(file.fd, file.content, sizeof file.content, 0) == (ssize_t)sizeof file.content);
    return file;
}

static bool is_untouched(const struct own_file *file) {
    char content[2 * PAGE];
    return pread(file->fd, content, sizeof content, 0) == (ssize_t)sizeof file->content &&
           memcmp(content, file->content, sizeof file->content) == 0 &&
           lseek(file->fd, 0, SEEK_CUR) == 0;
}

/* Daemons close everything they do not know, and then use the numbers for files of their own. */
static void close_everything(const struct ff_config *config, const void *argument) {
    static struct own_file files[FILES];
    (void)argument;
    struct memory memory = prepare(config, &places[1]);
    CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0);
    CHECK(has_marks(memory.data, 0, SIZE));
    for (int i = 0; i < FILES; i++)
        files[i] = own_file(i);
    child_evict(memory.context, memory.data, SIZE);
    CHECK(has_marks(memory.data, 0, SIZE));
    unsigned char *brief = child_alloc(memory.context, SIZE);
    put_marks(brief, 0, SIZE);
    child_evict(memory.context, brief, SIZE);
    CHECK(ff_mem_free(memory.context, brief) == 0);
    finish_beside(&memory);
    for (int i = 0; i < FILES; i++)
        CHECK(is_untouched(&files[i]));
}

static void test_close_everything(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        expect_ok(close_everything, &config, NULL);
    }
}

static void test_close_everything_with_files(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        config.host_file = "./farfault-own-host";
        config.record = "./farfault-own-trace";
        expect_ok(close_everything, &config, NULL);
        assert_int_equal(unlink(config.record), 0);
    }
}

/* Nobody but the program holds its descriptors. */
static void close_a_pipe(const struct ff_config *config, const void *argument) {
    int before[2], after[2];
    char byte;
    (void)argument;
    CHECK(pipe(before) == 0);
    struct memory memory = prepare(config, &places[1]);
    CHECK(pipe(after) == 0);
    CHECK(has_marks(memory.data, 0, SIZE));
    close(before[1]);
    close(after[1]);
    CHECK(read(before[0], &byte, 1) == 0);
    CHECK(read(after[0], &byte, 1) == 0);
    finish_beside(&memory);
}

static void test_close_a_pipe(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        expect_ok(close_a_pipe, &config, NULL);
    }
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    unlink("./farfault-own-host"); /* of a run that was killed */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_unmap),
        cmocka_unit_test(test_touch_unmapped),
        cmocka_unit_test(test_map_over),
        cmocka_unit_test(test_told_late),
        cmocka_unit_test(test_faults_outside),
        cmocka_unit_test(test_protect),
        cmocka_unit_test(test_lock_the_future),
        cmocka_unit_test(test_close_everything),
        cmocka_unit_test(test_close_everything_with_files),
        cmocka_unit_test(test_close_a_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
