/*
 * Two programs in one: a chain of cells that is relaxed from one buffer into the other, again and
 * again, and a table of which each launch updates words anywhere. Each has its own queue, on a
 * device of its own where there are two.
 */
#include "common.h"

#include <stdlib.h>

/* Each item makes this many updates, one after another. */
#define UPDATES          8
#define UPDATES_A_LAUNCH 256

static const char kernels[] = OPENCL_SOURCE(
    __kernel void relax(__global const uint *from, __global uint *to, ulong cells) {
        const ulong i = get_global_id(0);
        if (i >= cells)
            return;
        const uint before = i > 0 ? from[i - 1] : 0;
        const uint after = i + 1 < cells ? from[i + 1] : 0;
        to[i] = before + 3 * from[i] + after;
    }

    /* random_bits() of the host */
    ulong bits_of(ulong key, ulong index) {
        ulong bits = key + (index + 1) * 0x9e3779b97f4a7c15UL;
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9UL;
        bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebUL;
        return bits ^ (bits >> 31);
    }

    __kernel void update(__global uint *table, ulong words, ulong key) {
        const ulong item = get_global_id(0);
        if (item >= UPDATES_A_LAUNCH / UPDATES)
            return;
        for (ulong i = item * UPDATES; i < (item + 1) * UPDATES; ++i) {
            const ulong bits = bits_of(key, i);
            atomic_xor(&table[(bits >> 32) % words], (uint)bits);
        }
    });

static const struct problem problem = {
    .default_iterations = 20,
    .iteration_is = "one relaxation of the chain, and 256 updates of the table",
};

static const struct program program = {
    .problem = &problem,
    .kernels = kernels,
    .two_queues = true,
};

static void fill_chain(cl_uint *chain, size_t cells, uint64_t key) {
    for (size_t i = 0; i < cells; ++i)
        chain[i] = (cl_uint)random_bits(key, i);
}

static void check_chain(struct app *app, const cl_uint *got, size_t cells, uint64_t key) {
    cl_uint *chain = host_array(cells, sizeof(cl_uint));
    fill_chain(chain, cells, key);
    for (size_t iteration = 0; iteration < app->work.iterations; ++iteration) {
        cl_uint before = 0;
        for (size_t i = 0; i < cells; ++i) {
            const cl_uint here = chain[i], after = i + 1 < cells ? chain[i + 1] : 0;
            chain[i] = before + 3 * here + after;
            before = here;
        }
    }
    for (size_t i = 0; i < cells; ++i)
        work_expect(&app->work, i, got[i], chain[i], 0);
    free(chain);
}

static void check_table(struct app *app, const cl_uint *got, size_t words) {
    cl_uint *table = host_array(words, sizeof(cl_uint));
    for (size_t iteration = 0; iteration < app->work.iterations; ++iteration) {
        const uint64_t key = random_key(app->work.seed, iteration);
        for (size_t i = 0; i < UPDATES_A_LAUNCH; ++i) {
            const uint64_t bits = random_bits(key, i);
            table[(bits >> 32) % words] ^= (cl_uint)bits;
        }
    }
    for (size_t i = 0; i < words; ++i)
        work_expect(&app->work, i, got[i], table[i], 0);
    free(table);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel relax = app_kernel(&app, "relax");
    cl_kernel update = app_kernel(&app, "update");
    /* Two buffers of the chain and the table, all of one size. */
    const size_t words = app.work.size / 3 / sizeof(cl_uint), bytes = words * sizeof(cl_uint);
    const uint64_t chain_key = random_key(app.work.seed, 'c');
    const cl_uint zero = 0;
    cl_uint *chain = host_pages(bytes);
    fill_chain(chain, words, chain_key);
    cl_mem from = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem to = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem table = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);

    app_start_clock(&app);
    app_write(&app, from, bytes, chain);
    app_switch_queue(&app);
    app_fill(&app, table, bytes, &zero);
    app_switch_queue(&app);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        const cl_ulong key = random_key(app.work.seed, i);
        app_launch(&app, relax, over(words), ARG(from), ARG(to), ARG(words));
        app_switch_queue(&app);
        app_launch(&app, update, over(UPDATES_A_LAUNCH / UPDATES), ARG(table), ARG(words),
                   ARG(key));
        app_switch_queue(&app);
        cl_mem swap = from;
        from = to;
        to = swap;
        app_end_iteration(&app);
    }
    const cl_uint *got_chain = app_download(&app, from, bytes);
    app_switch_queue(&app);
    const cl_uint *got_table = app_download(&app, table, bytes);
    app_stop_clock(&app);

    if (app.work.check) {
        check_chain(&app, got_chain, words, chain_key);
        check_table(&app, got_table, words);
    }
    free(chain);
    return app_close(&app);
}
