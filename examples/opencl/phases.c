/*
 * A program that changes phase: it iterates over one array, then over another one, then over both.
 * Words are whole numbers that overflow, so that the check may ask for equality.
 */
#include "common.h"

#include <stdlib.h>

static const char kernels[] = OPENCL_SOURCE(
    __kernel void stir(__global uint *words, ulong count, uint step) {
        const ulong i = get_global_id(0);
        if (i < count)
            words[i] = 5 * words[i] + step;
    }

    __kernel void exchange(__global uint *a, __global uint *b, ulong count, uint step) {
        const ulong i = get_global_id(0);
        if (i >= count)
            return;
        const uint other = b[i];
        b[i] = 3 * a[i] + step;
        a[i] = a[i] ^ other;
    });

static const struct problem problem = {
    .default_iterations = 30,
    .iteration_is = "once over the arrays of its phase; each of the three phases has a third",
};

static const struct program program = {
    .problem = &problem,
    .kernels = kernels,
};

/* The first iteration of a phase of three. */
static size_t phase_begin(const struct app *app, size_t phase) {
    return phase * app->work.iterations / 3;
}

static cl_uint first_word(uint64_t key, size_t index) {
    return (cl_uint)random_bits(key, index);
}

static void check_words(struct app *app, const cl_uint *got_a, const cl_uint *got_b, size_t count,
                        uint64_t a_key, uint64_t b_key) {
    const size_t second = phase_begin(app, 1), third = phase_begin(app, 2);
    for (size_t i = 0; i < count; ++i) {
        cl_uint a = first_word(a_key, i), b = first_word(b_key, i);
        for (size_t step = 0; step < second; ++step)
            a = 5 * a + (cl_uint)step;
        for (size_t step = second; step < third; ++step)
            b = 5 * b + (cl_uint)step;
        for (size_t step = third; step < app->work.iterations; ++step) {
            const cl_uint other = b;
            b = 3 * a + (cl_uint)step;
            a = a ^ other;
        }
        work_expect(&app->work, i, got_a[i], a, 0);
        work_expect(&app->work, i, got_b[i], b, 0);
    }
}

static void upload(struct app *app, cl_mem buffer, size_t count, uint64_t key) {
    cl_uint *words = host_pages(count * sizeof(cl_uint));
    for (size_t i = 0; i < count; ++i)
        words[i] = first_word(key, i);
    app_write(app, buffer, count * sizeof(cl_uint), words);
    free(words);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel stir = app_kernel(&app, "stir");
    cl_kernel exchange = app_kernel(&app, "exchange");
    const size_t count = app.work.size / 2 / sizeof(cl_uint), bytes = count * sizeof(cl_uint);
    const uint64_t a_key = random_key(app.work.seed, 'a'), b_key = random_key(app.work.seed, 'b');
    cl_mem a = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem b = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);

    app_start_clock(&app);
    upload(&app, a, count, a_key);
    upload(&app, b, count, b_key);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        const cl_uint step = (cl_uint)i;
        if (i < phase_begin(&app, 1))
            app_launch(&app, stir, over(count), ARG(a), ARG(count), ARG(step));
        else if (i < phase_begin(&app, 2))
            app_launch(&app, stir, over(count), ARG(b), ARG(count), ARG(step));
        else
            app_launch(&app, exchange, over(count), ARG(a), ARG(b), ARG(count), ARG(step));
        app_end_iteration(&app);
    }
    const cl_uint *got_a = app_download(&app, a, bytes);
    const cl_uint *got_b = app_download(&app, b, bytes);
    app_stop_clock(&app);

    if (app.work.check)
        check_words(&app, got_a, got_b, count, a_key, b_key);
    return app_close(&app);
}
