/* Blocks that have come page by page, and then come whole: as one huge page again, with what they
 * held, also if the program drops their content meanwhile. */
#include <pthread.h>
#include <sys/mman.h>

#include "policy/registry.h"
#include "runtime/child.h"

#define BUDGET (8 * MB)
#define BLOCKS 3u
#define SIZE   (BLOCKS * FF_BLOCK_SIZE)
#define ROUNDS 8u

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* How blocks come at present. */
static bool whole;

static void choose_on_fault(void *state, const struct ff_view *view,
                            const struct ff_fault_group *group, struct ff_fault_advice *advice) {
    (void)state, (void)view, (void)group;
    if (__atomic_load_n(&whole, __ATOMIC_RELAXED))
        memset(&advice->prefetch, 0xff, sizeof advice->prefetch);
}

static const struct ff_prefetch_policy chosen = {
    .base = {.name = "pieces-or-whole", .summary = "as the test says", .api = FF_POLICY_API},
    .on_fault = choose_on_fault,
};

static void come(volatile unsigned char *data, bool as_whole) {
    __atomic_store_n(&whole, as_whole, __ATOMIC_RELAXED);
    for (size_t i = 0; i < SIZE; i += PAGE)
        (void)data[i];
}

/* ---- huge pages ---- */

/* Bytes of [start, end) and of what is mapped alike around it that are in huge pages. */
static uint64_t huge_bytes(const unsigned char *data) {
    char line[256];
    unsigned long start, end, kilobytes, huge = 0;
    bool inside = false;
    FILE *file = fopen("/proc/self/smaps", "r");
    CHECK(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            inside = start <= (uintptr_t)data && (uintptr_t)data < end;
        else if (inside && sscanf(line, "AnonHugePages: %lu kB", &kilobytes) == 1)
            huge = kilobytes;
    }
    fclose(file);
    return huge * 1024;
}

/* MOVE needs no page table, and the kernel frees those that are empty (Linux 6.14): seen on a
 * mapping of its own. */
static bool frees_tables(void) {
    unsigned char *area =
        mmap(NULL, 2 * FF_BLOCK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    unsigned char *block =
        (void *)(((uintptr_t)area + FF_BLOCK_SIZE - 1) & ~(uintptr_t)(FF_BLOCK_SIZE - 1));
    madvise(block, FF_BLOCK_SIZE, MADV_NOHUGEPAGE);
    block[0] = 1;
    madvise(block, FF_BLOCK_SIZE, MADV_DONTNEED);
    madvise(block, FF_BLOCK_SIZE, MADV_HUGEPAGE);
    block[0] = 1; /* huge only where there is no table */
    bool is_huge = huge_bytes(block) == FF_BLOCK_SIZE;
    munmap(area, 2 * FF_BLOCK_SIZE);
    return is_huge;
}

/* Leaves a page table where the chunks of the device are. */
static void use_a_leaf(struct ff_context *context) {
    unsigned char *data = child_alloc(context, PAGE);
    data[0] = 1;
    child_evict(context, data, PAGE);
    CHECK(ff_mem_free(context, data) == 0);
}

static void check_content(const unsigned char *data, unsigned round) {
    for (size_t i = 0; i < SIZE; i += PAGE)
        for (unsigned past = 0; past <= round; past++)
            CHECK(data[i + past] == (unsigned char)(i / PAGE + past));
}

static void come_as_huge_pages(const struct ff_config *config, const void *argument) {
    bool expected = frees_tables() && moves(config) && !is_without("huge_pages") &&
                    config->granule == FF_BLOCK_SIZE;
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, SIZE);
    for (unsigned round = 0; round < ROUNDS; round++) {
        come(data, false);
        for (size_t i = 0; i < SIZE; i += PAGE)
            data[i + round] = (unsigned char)(i / PAGE + round);
        child_evict(context, data, SIZE);
        use_a_leaf(context);
        for (unsigned times = 0; times < 2; times++) {
            come(data, true);
            CHECK(!expected || huge_bytes(data) == SIZE);
            check_content(data, round);
            child_evict(context, data, SIZE);
        }
    }
    CHECK(ff_check(context, NULL) == 0);
    child_close(context);
}

/* ---- drops ---- */

static void *drop_blocks(void *data) {
    for (unsigned block = 0; block < BLOCKS; block++)
        CHECK(madvise((char *)data + block * FF_BLOCK_SIZE, FF_BLOCK_SIZE, MADV_DONTNEED) == 0);
    return NULL;
}

/* What the kernel tells of farfault's drops and of the program's is the same. */
static void drop_meanwhile(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, SIZE);
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        come(data, false);
        memset(data, 7, SIZE);
        child_evict(context, data, SIZE);
        CHECK(pthread_create(&thread, NULL, drop_blocks, data) == 0);
        come(data, true);
        CHECK(pthread_join(thread, NULL) == 0);
        for (size_t i = 0; i < SIZE; i += PAGE)
            CHECK(data[i] == 0);
        child_evict(context, data, SIZE);
    }
    CHECK(ff_check(context, NULL) == 0);
    child_close(context);
}

static void run_variants(scenario_fn *scenario, bool copies_too) {
    FOR_EACH_VARIANT(config, BUDGET) {
        if (!runs(&config, "demand") && !runs(&config, "nvidia-1"))
            continue;
        config.system = "demand:prefetch=pieces-or-whole";
        if (copies_too || moves(&config))
            expect_ok(scenario, &config, NULL);
    }
}

static void test_huge_pages(void **state) {
    (void)state;
    run_variants(come_as_huge_pages, true);
}

/* Without MOVE nobody tells of drops. */
static void test_drops(void **state) {
    (void)state;
    run_variants(drop_meanwhile, false);
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_huge_pages),
        cmocka_unit_test(test_drops),
    };
    if (ff__policy_register(FF__PREFETCH, &chosen.base, NULL))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
