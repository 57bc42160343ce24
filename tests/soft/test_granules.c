/* Blocks in 4 KiB, in 64 KiB and in 2 MiB on one device: they take each other's memory, nothing is
 * lost, and all areas of the device together hold no more than its memory. */
#include "backend/soft/device.h"
#include "base/random.h"
#include "engine/internal.h"
#include "runtime/child.h"

#define BUDGET (8 * MB)
#define BLOCKS 12u
#define PAGES  (BLOCKS * FF_BLOCK_PAGES)

/* Which blocks are split changes every time that their memory is allocated. */
static uint32_t next_granule;

static void mixed_on_fault(void *state, const struct ff_view *view,
                           const struct ff_fault_group *group, struct ff_fault_advice *advice) {
    (void)state, (void)view;
    static const uint32_t granules[] = {FF_BLOCK_PAGES, FF_LEAF_PAGES, 1, FF_LEAF_PAGES, 1};
    advice->granule = granules[next_granule++ % 5];
    if (group->block % 2 == 0 && next_granule % 2 == 0)
        memset(&advice->prefetch, 0xff, sizeof advice->prefetch);
}

static const struct ff_prefetch_policy mixed = {
    .base = {.name = "mixed-granules", .summary = "now this, now that", .api = FF_POLICY_API},
    .on_fault = mixed_on_fault,
};

/* Bytes of the area that have memory. */
static uint64_t present_bytes(const char *area, uint64_t size) {
    static uint64_t entries[FF_BLOCK_PAGES];
    uint64_t pages = 0;
    FILE *file = fopen("/proc/self/pagemap", "rbe");
    CHECK(file);
    for (uint64_t at = 0; area && at < size; at += FF_BLOCK_SIZE) {
        CHECK(fseek(file, (long)(((uintptr_t)area + at) / PAGE * sizeof *entries), SEEK_SET) == 0);
        CHECK(fread(entries, sizeof *entries, FF_BLOCK_PAGES, file) == FF_BLOCK_PAGES);
        for (unsigned i = 0; i < FF_BLOCK_PAGES; i++)
            pages += entries[i] >> 62 != 0;
    }
    fclose(file);
    return pages * PAGE;
}

/* What the device's blocks hold, and what waits in its own areas. Nothing is under way. */
static void check_memory(struct ff_context *context) {
    const struct ff__memory *memory = &((const struct ff__soft *)context->self)->memory;
    uint64_t managed = present_bytes(memory->managed, BLOCKS * FF_BLOCK_SIZE);
    uint64_t frames = present_bytes(memory->frames[1], BUDGET);
    CHECK(present_bytes(memory->aside, BLOCKS * FF_BLOCK_SIZE) == 0);
    CHECK(managed + frames <= BUDGET);
}

static void use_mixed(const struct ff_config *config, const void *argument) {
    static uint32_t written[PAGES];
    struct ff__random random = ff__random_seeded(5);
    uint32_t splits = 0, runs = 0, pages = 0;
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, PAGES * PAGE);
    for (uint32_t i = 0; i < 2500; i++) {
        uint32_t first = ff__random_below(&random, PAGES), end = first + 1;
        if (ff__random_below(&random, 10) == 0)
            end += ff__random_below(&random, 100);
        for (uint32_t page = first; page < end && page < PAGES; page++) {
            volatile uint32_t *word = (volatile void *)(data + page * PAGE + 8);
            CHECK(*word == written[page]);
            if (ff__random_below(&random, 2))
                *word = ++written[page];
        }
        uint32_t frame = ff__frame(context->space, 1, first / FF_BLOCK_PAGES);
        splits += frame == FF__SPLIT;
        pages += frame == FF__SPLIT_PAGES;
        runs += !ff__frame_is_split(frame);
        if (i % 250 == 0) {
            CHECK(ff_check(context, NULL) == 0);
            check_memory(context);
        }
    }
    CHECK(splits > 300 && runs > 300 && pages > 300);
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    CHECK(stats.resident_peak <= stats.capacity && stats.evictions > 100);
    child_close(context);
}

static void test_mixed(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        if (!runs(&config, "demand") && !runs(&config, "nvidia-1"))
            continue;
        config.system = "demand:prefetch=mixed-granules";
        expect_ok(use_mixed, &config, NULL);
    }
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixed),
    };
    if (ff__policy_register(FF__PREFETCH, &mixed.base, NULL))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
