#include "tables.h"

#include "base/clock.h"
#include "base/random.h"
#include "policy/deepum/block_table.h"

#include <farfault/policy.h>

#include <stdlib.h>

#define KERNELS 256u
#define BLOCKS  256u /* of each kernel */
#define REPEATS (1u << 18)
#define MEMORY  (64u << 20)

struct tables_bench {
    struct ff__tables tables;
    void *memory;
    uint32_t *plain; /* [kernel][block] */
    uint32_t kernel[REPEATS], block[REPEATS];
    uint32_t sum; /* so that nothing is left out */
};

/* Kernels in turn, and stretches of neighbouring blocks of each: what faults look like. */
static void choose(struct tables_bench *bench) {
    struct ff__random random = ff__random_seeded(5);
    for (uint32_t i = 0, kernel = 0, block = 0; i < REPEATS; i++) {
        if (i % 64 == 0) {
            kernel = ff__random_below(&random, KERNELS);
            block = ff__random_below(&random, BLOCKS);
        }
        block = ff__random_below(&random, 8) ? block + 1 : ff__random_below(&random, BLOCKS);
        bench->kernel[i] = kernel;
        bench->block[i] = kernel * 16 + block % BLOCKS;
    }
}

static void update(struct tables_bench *bench) {
    uint32_t before = FF_NONE;
    for (uint32_t i = 0; i < REPEATS; i++) {
        struct ff__block_table *table = ff__table_find(&bench->tables, bench->kernel[i]);
        if (!table)
            table = ff__table_make(&bench->tables, bench->kernel[i]);
        if (!table)
            continue;
        before = i % 64 ? before : FF_NONE;
        bench->sum += ff__table_record(&bench->tables, table, before, bench->block[i]).row;
        before = bench->block[i];
    }
}

static void look_up(struct tables_bench *bench) {
    for (uint32_t i = 0; i < REPEATS; i++) {
        const struct ff__block_table *table = ff__table_find(&bench->tables, bench->kernel[i]);
        uint32_t row = table ? ff__row_find(&bench->tables, table, bench->block[i]) : FF_NONE;
        if (row == FF_NONE)
            continue;
        const struct ff__row *at = ff__row_at(&bench->tables, table, row);
        for (uint32_t s = 0; s < bench->tables.successors; s++)
            bench->sum += at->successor[s];
    }
}

static uint32_t *plain_at(struct tables_bench *bench, uint32_t i) {
    return &bench->plain[bench->kernel[i] * BLOCKS + bench->block[i] % BLOCKS];
}

static double plain_ns(struct tables_bench *bench) {
    uint64_t start = ff__clock_ns();
    for (uint32_t i = 0; i < REPEATS; i++)
        *plain_at(bench, i) += bench->block[i];
    return (double)(ff__clock_ns() - start) / REPEATS;
}

struct tables_bench *tables_bench_open(void) {
    static const struct ff__tables_shape shape = {2048, 2, 4, false};
    struct tables_bench *bench = calloc(1, sizeof *bench);
    if (!bench)
        return NULL;
    bench->memory = calloc(1, MEMORY);
    bench->plain = calloc(KERNELS * BLOCKS, sizeof *bench->plain);
    if (!bench->memory || !bench->plain ||
        ff__tables_start(&bench->tables, bench->memory, MEMORY, &shape)) {
        tables_bench_close(bench);
        return NULL;
    }
    choose(bench);
    update(bench);
    return bench;
}

void tables_bench_close(struct tables_bench *bench) {
    free(bench->memory);
    free(bench->plain);
    free(bench);
}

double tables_lookup_ns(struct tables_bench *bench, double *bound) {
    *bound = plain_ns(bench);
    uint64_t start = ff__clock_ns();
    look_up(bench);
    return (double)(ff__clock_ns() - start) / REPEATS;
}

double tables_update_ns(struct tables_bench *bench, double *bound) {
    *bound = plain_ns(bench);
    uint64_t start = ff__clock_ns();
    update(bench);
    return (double)(ff__clock_ns() - start) / REPEATS;
}
