/*
 * RandomAccess, the GUPS benchmark: words all over one table are combined with random numbers by
 * exclusive or, whose order does not matter, so that the check can do it again in its own.
 */
#include "common.h"

#include <stdlib.h>

/* Each item makes this many updates, one after another. */
#define UPDATES 8

static const char kernels[] = OPENCL_SOURCE(
    /* random_bits() of the host */
    ulong bits_of(ulong key, ulong index) {
        ulong bits = key + (index + 1) * 0x9e3779b97f4a7c15UL;
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9UL;
        bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebUL;
        return bits ^ (bits >> 31);
    }

    __kernel void update(__global uint *table, ulong words, ulong key, ulong items) {
        const ulong item = get_global_id(0);
        if (item >= items)
            return;
        for (ulong i = item * UPDATES; i < (item + 1) * UPDATES; ++i) {
            const ulong bits = bits_of(key, i);
            atomic_xor(&table[(bits >> 32) % words], (uint)bits);
        }
    });

enum option_key { OPTION_UPDATES = 512 };

static const struct argp_option options[] = {
    {"updates", OPTION_UPDATES, "N", 0, "Updates an iteration (default: 2048)", 0},
    {0},
};

static uint64_t updates = 2048;

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    (void)state;
    if (key != OPTION_UPDATES)
        return ARGP_ERR_UNKNOWN;
    updates = parse_number("--updates", argument, UPDATES, UINT64_C(1) << 40);
    return 0;
}

static const struct argp extras = {options, parse_option, NULL, NULL, NULL, NULL, NULL};

static const struct program program = {
    .name = "ra",
    .kernels = kernels,
    .default_iterations = 10,
    .iteration_is = "--updates updates of words anywhere",
    .extras = &extras,
};

static void check_table(struct app *app, const cl_uint *got, size_t words, size_t items) {
    cl_uint *wanted = host_array(words, sizeof(cl_uint));
    for (size_t iteration = 0; iteration < app->iterations; ++iteration) {
        const uint64_t key = random_key(app->seed, iteration);
        for (size_t i = 0; i < items * UPDATES; ++i) {
            const uint64_t bits = random_bits(key, i);
            wanted[(bits >> 32) % words] ^= (cl_uint)bits;
        }
    }
    for (size_t i = 0; i < words; ++i)
        app_expect(app, i, got[i], wanted[i], 0);
    free(wanted);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel update = app_kernel(&app, "update");
    const size_t words = app.size / sizeof(cl_uint), bytes = words * sizeof(cl_uint);
    const size_t items = (size_t)updates / UPDATES;
    const cl_uint zero = 0;
    cl_mem table = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);

    app_start_clock(&app);
    app_fill(&app, table, bytes, &zero);
    for (size_t i = 0; i < app.iterations; ++i) {
        const cl_ulong key = random_key(app.seed, i);
        app_launch(&app, update, over(items), ARG(table), ARG(words), ARG(key), ARG(items));
        app_end_iteration(&app);
    }
    const cl_uint *got = app_download(&app, table, bytes);
    app_stop_clock(&app);

    if (app.check)
        check_table(&app, got, words, items);
    return app_close(&app);
}
