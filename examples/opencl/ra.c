/*
 * RandomAccess, the GUPS benchmark: words all over one table are combined with random numbers by
 * exclusive or, whose order does not matter, so that the check can do it again in its own.
 */
#include "common.h"

#include "host/ra.h"

#include <stdlib.h>

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

static const struct program program = {
    .problem = &ra_problem,
    .kernels = kernels,
    .extras = &ra_extras,
};

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel update = app_kernel(&app, "update");
    const size_t words = app.work.size / sizeof(cl_uint), bytes = words * sizeof(cl_uint);
    const size_t items = (size_t)ra_updates / UPDATES;
    const cl_uint zero = 0;
    cl_mem table = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);

    app_start_clock(&app);
    app_fill(&app, table, bytes, &zero);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        const cl_ulong key = random_key(app.work.seed, i);
        app_launch(&app, update, over(items), ARG(table), ARG(words), ARG(key), ARG(items));
        app_end_iteration(&app);
    }
    const cl_uint *got = app_download(&app, table, bytes);
    app_stop_clock(&app);

    if (app.work.check)
        ra_check(&app.work, got);
    return app_close(&app);
}
