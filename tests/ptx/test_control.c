/* Control flow: what CUDA permits and vector units do not like, and what vectors of registers
 * hold. control.ptx has the kernels. */
#include "ptx/bench.h"

#define THREADS 128u

typedef uint32_t expected_fn(uint32_t thread, uint32_t n);

static uint32_t early(uint32_t thread, uint32_t n) {
    return thread < n ? 45 : 0;
}

static uint32_t irreducible(uint32_t thread, uint32_t n) {
    uint32_t sum = 0, other = thread ^ 1;
    for (uint32_t k = 0; k < 5; k++) {
        if (k != 0 || n % 2 == 0)
            sum += other + k;
        sum += other + 100;
    }
    return sum;
}

static uint32_t entries(uint32_t thread, uint32_t n) {
    uint32_t sum = 0, k = 0;
    bool middle = thread % 2 == 1;
    do {
        if (!middle) {
            sum += 1000;
            for (uint32_t i = 0; i == 0 || i <= k; i++)
                sum += i;
        }
        middle = false;
        sum++;
    } while (++k < n);
    return sum;
}

static uint32_t split(uint32_t thread, uint32_t n) {
    (void)n;
    return thread < 64 ? thread + 64 + 1000 + 1 : thread - 64;
}

static uint32_t leaving(uint32_t thread, uint32_t n) {
    uint32_t sum = 0;
    for (uint32_t round = 0; round < thread % n; round++)
        for (uint32_t other = 0; other < THREADS; other++)
            sum += other % n > round ? 1 : 0;
    return sum;
}

static uint32_t producers(uint32_t thread, uint32_t n) {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < n && thread >= 64; k++)
        sum += k * 1000 + thread - 64;
    return sum;
}

static uint32_t chain(uint32_t thread, uint32_t n) {
    return n * (THREADS - 1 - thread);
}

static uint32_t patient(uint32_t thread, uint32_t n) {
    (void)n;
    return THREADS - 1 - thread;
}

static uint32_t asks(uint32_t thread, uint32_t n) {
    (void)thread, (void)n;
    return 1 << 5;
}

static uint32_t ordered(uint32_t thread, uint32_t n) {
    uint32_t sum = 0, k = 0, same = 1, grows = thread, at = thread;
    do {
        sum += grows + same;
        same = (same * 3 + 1) & 1023;
        grows += 2 + n;
    } while (++k < thread);
    do {
        sum += at;
        at += 48;
    } while (at < n);
    return sum;
}

static uint32_t reductions(uint32_t thread, uint32_t n) {
    (void)thread;
    return (n >= THREADS ? 1000u : 0) + (n > 0 ? 2000u : 0) + (n < THREADS ? THREADS - n : 0);
}

static uint32_t masks(uint32_t thread, uint32_t n) {
    uint32_t lane = thread % 32, first = thread - lane, value;
    if (lane >= n)
        value = first + 31;
    else
        value = lane < 31 ? (lane + 1 < n ? thread + 1 : 0) + 5000 : thread;
    return value + 100000;
}

static uint32_t apart(uint32_t thread, uint32_t n) {
    uint32_t sum = 0, k = 0, last;
    do {
        sum += k;
        last = 16 * k + 1;
    } while (++k <= thread % n);
    return sum + last + 10000 * k;
}

static uint32_t guarded(uint32_t thread, uint32_t n) {
    uint32_t sum = 0;
    if (thread % 2 == 0)
        return 0;
    for (uint32_t k = 0; k < n; k++)
        sum += (k & thread) != 0 ? 100u : 1u;
    return sum + 100000 * n;
}

static uint32_t numbers(uint32_t thread, uint32_t n) {
    (void)n;
    return thread < 32 ? thread + 32 + 500 : 7;
}

static uint32_t table(uint32_t thread, uint32_t n) {
    (void)n;
    static const uint32_t results[] = {10, 25, 5, 10};
    /* r3 is not set on the way to C from the table */
    return thread % 4 == 2 ? UINT32_MAX : results[thread % 4];
}

static uint32_t warp_sum(uint32_t warp) {
    return 32 * (32 * warp) + 31 * 32 / 2;
}

static uint32_t called(uint32_t thread, uint32_t n) {
    uint32_t sum = 0, warp = thread / 32;
    for (uint32_t k = 0; k < THREADS; k++)
        sum += k + n;
    /* then the warps' sums are -32, -32, 32, 32: those with -1 get what was before */
    uint32_t of_warps = warp_sum(warp) + 32 * n + (warp < 2 ? -32u : 32u);
    uint32_t last = thread < 96 ? warp_sum(warp) : n;
    return sum + 1000000 * (warp < 2 ? 1u : 2u) + 10000000 * (n + 1) + 3 * of_warps + 7 * last;
}

static uint32_t vectors(uint32_t thread, uint32_t n) {
    uint16_t first = (uint16_t)(thread + n), second = (uint16_t)(first * 259),
             third = (uint16_t)(second + 40000), fourth = (uint16_t)~first;
    const uint32_t loaded[] = {(uint8_t)first,
                               (uint8_t)second,
                               (uint8_t)third,
                               (uint8_t)fourth,
                               (uint32_t)(int8_t)fourth,
                               (uint32_t)(int8_t)second,
                               third,
                               fourth,
                               first};
    uint32_t sum = 0;
    for (size_t i = 0; i < sizeof loaded / sizeof *loaded; i++)
        sum = sum * 31 + loaded[i];
    return sum;
}

static const struct {
    const char *name;
    expected_fn *expected;
    uint32_t n[4];
} rows[] = {{"early", early, {1, 77, 128, 32}},
            {"irreducible", irreducible, {0, 1, 2, 3}},
            {"entries", entries, {1, 2, 7, 10}},
            {"split", split, {0, 0, 0, 0}},
            {"leaving", leaving, {1, 2, 7, 33}},
            {"producers", producers, {1, 2, 5, 9}},
            {"reductions", reductions, {0, 1, 127, 128}},
            {"apart", apart, {1, 2, 5, 40}},
            {"guarded", guarded, {1, 2, 8, 33}},
            {"table", table, {0, 0, 0, 0}},
            {"masks", masks, {16, 1, 31, 7}},
            {"chain", chain, {0, 1, 3, 8}},
            {"ordered", ordered, {0, 100, 128, 1000}},
            {"patient", patient, {0, 0, 0, 0}},
            {"asks", asks, {0, 0, 0, 0}},
            {"called", called, {0, 1, 5, 100}},
            {"numbers", numbers, {0, 0, 0, 0}},
            {"vectors", vectors, {0, 1, 100, 65500}}};

static void equals_the_reference(void **state) {
    struct bench *bench = *state;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (uint32_t i = 0; i < 8; i++) {
            struct shape shape = {.grid = {1, 1, 1},
                                  .block = {THREADS, 1, 1},
                                  .schedule = i < 4 ? FF__PTX_TURNS : FF__PTX_SERIAL};
            uint32_t n = rows[row].n[i % 4];
            struct ff_error error = {0};
            memset(bench->out, 0, bench->words * 4);
            if (run_kernel(bench, rows[row].name, &shape, n, &error) != 0)
                fail_msg("%s", error.message);
            for (uint32_t thread = 0; thread < THREADS; thread++) {
                uint32_t expected = rows[row].expected(thread, n);
                if (expected != UINT32_MAX && bench->out[thread] != expected)
                    fail_msg("%s(%u), schedule %d, thread %u: %u instead of %u", rows[row].name, n,
                             (int)shape.schedule, thread, bench->out[thread], expected);
            }
        }
}

static void threads_wait_for_a_lock(void **state) {
    struct bench *bench = *state;
    for (enum ff__ptx_schedule schedule = FF__PTX_TURNS; schedule <= FF__PTX_SERIAL; schedule++) {
        struct shape shape = {.grid = {6, 1, 1}, .block = {96, 1, 1}, .schedule = schedule};
        struct ff_error error = {0};
        bench->out[0] = bench->out[1] = 0;
        if (run_kernel(bench, "lock", &shape, 5, &error) != 0)
            fail_msg("%s", error.message);
        assert_int_equal(bench->out[0], 6 * 96 * 5);
    }
}

static void blocks_wait_for_each_other(void **state) {
    struct bench *bench = *state;
    struct shape shape = {.grid = {20, 1, 1}, .block = {THREADS, 1, 1}, .cooperative = true};
    struct ff_error error = {0};
    memset(bench->out, 0, bench->words * 4);
    if (run_kernel(bench, "together", &shape, 0, &error) != 0)
        fail_msg("%s", error.message);
    for (uint32_t i = 0; i < 20 * THREADS; i++)
        assert_int_equal(bench->out[1 + i], 20);
    shape.grid[0] = 1000000;
    assert_int_equal(run_kernel(bench, "together", &shape, 0, &error), -E2BIG);
    assert_non_null(strstr(error.message, "together"));
}

static void numbers_threads(void **state) {
    struct bench *bench = *state;
    static const struct shape shapes[] = {{.grid = {1, 1, 1}, .block = {128, 1, 1}},
                                          {.grid = {3, 2, 4}, .block = {5, 3, 2}},
                                          {.grid = {2, 1, 3}, .block = {1, 7, 9}},
                                          {.grid = {1, 5, 1}, .block = {33, 2, 1}},
                                          {.grid = {1, 1, 2}, .block = {2, 2, 64}}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const uint32_t *grid = shapes[i].grid, *block = shapes[i].block;
        struct ff_error error = {0};
        memset(bench->out, 0xff, bench->words * 4);
        if (run_kernel(bench, "places", &shapes[i], 0, &error) != 0)
            fail_msg("%s", error.message);
        uint32_t threads = block[0] * block[1] * block[2], at = 0;
        for (uint32_t b = 0; b < grid[0] * grid[1] * grid[2]; b++)
            for (uint32_t t = 0; t < threads; t++, at++)
                assert_int_equal(bench->out[at],
                                 (t / block[0] / block[1] * 100 + t / block[0] % block[1]) * 100 +
                                     t % block[0]);
        assert_int_equal(bench->out[at], UINT32_MAX);
    }
}

static void an_index_wraps(void **state) {
    struct bench *bench = *state;
    struct shape shape = {.grid = {1, 1, 1}, .block = {THREADS, 1, 1}};
    static const uint32_t starts[] = {0, 0xfffffff0u, 0xfffffe00u, 0x7fffff80u};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        struct ff_error error = {0};
        memset(bench->out, 0xff, bench->words * 4);
        if (run_kernel(bench, "wraps", &shape, starts[i], &error) != 0)
            fail_msg("%s", error.message);
        for (uint32_t t = 0; t < THREADS; t++)
            assert_int_equal(bench->out[(starts[i] + 4 * t) % 1024 / 4], t);
    }
}

static void says_where_threads_are_stuck(void **state) {
    struct bench *bench = *state;
    for (enum ff__ptx_schedule schedule = FF__PTX_TURNS; schedule <= FF__PTX_SERIAL; schedule++) {
        struct shape shape = {.grid = {2, 1, 1}, .block = {THREADS, 1, 1}, .schedule = schedule};
        struct ff_error error = {0};
        assert_int_equal(run_kernel(bench, "stuck", &shape, 0, &error), -EDEADLK);
        assert_non_null(strstr(error.message, "'stuck'"));
        assert_non_null(strstr(error.message, "64 threads wait for a barrier in line 2"));
        assert_int_equal(run_kernel(bench, "split", &shape, 0, &error), 0); /* it can go on */
    }
}

static void refuses_calls_without_copies(void **state) {
    struct bench *bench = *state;
    struct shape shape = {.grid = {1, 1, 1}, .block = {THREADS, 1, 1}};
    struct ff_error error = {0};
    assert_int_equal(run_kernel(bench, "recursive", &shape, 3, &error), -ENOTSUP);
    assert_non_null(strstr(error.message, "'again', which is refused: line "));
    assert_non_null(strstr(error.message, "in 'again', which calls itself"));
    assert_int_equal(run_kernel(bench, "by_address", &shape, 3, &error), -ENOTSUP);
    assert_non_null(strstr(error.message, "the address of 'warp_sum'"));
    assert_int_equal(run_kernel(bench, "by_table", &shape, 3, &error), -ENOTRECOVERABLE);
    assert_non_null(strstr(error.message, "a call of no function, or of one that is refused"));
}

static void says_who_has_trapped(void **state) {
    struct bench *bench = *state;
    struct shape shape = {.grid = {2, 1, 1}, .block = {THREADS, 1, 1}};
    struct ff_error error = {0};
    assert_int_equal(run_kernel(bench, "traps", &shape, 200, &error), 0);
    assert_int_equal(run_kernel(bench, "traps", &shape, 7, &error), -ENOTRECOVERABLE);
    assert_non_null(strstr(error.message, "'traps', block ("));
    assert_non_null(strstr(error.message, "trap"));
}

static void calls_through_a_table(void **state) {
    struct bench *bench = *state;
    struct shape shape = {.grid = {1, 1, 1}, .block = {THREADS, 1, 1}};
    struct ff_error error = {0};
    assert_int_equal(run_kernel(bench, "calls", &shape, THREADS, &error), 0);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(bench->out[i], i % 2 == 0 ? 1000 + i : 1000 - i);
    assert_int_equal(run_kernel(bench, "calls", &shape, 7, &error), -ENOTRECOVERABLE);
    assert_non_null(strstr(error.message, "a call of no function, or of one that is refused"));
}

static void refuses_sizes(void **state) {
    struct bench *bench = *state;
    static const struct shape shapes[] = {{.grid = {0, 1, 1}, .block = {1, 1, 1}},
                                          {.grid = {1, 1, 1}, .block = {1, 0, 1}},
                                          {.grid = {1, 1, 1}, .block = {1025, 1, 1}},
                                          {.grid = {1, 1, 1}, .block = {32, 32, 2}},
                                          {.grid = {1, 1, 1}, .block = {65536, 65536, 1}},
                                          {.grid = {1, 65536, 1}, .block = {1, 1, 1}}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct ff_error error = {0};
        assert_int_equal(run_kernel(bench, "split", &shapes[i], 0, &error), -EINVAL);
        assert_non_null(strstr(error.message, "'split'"));
    }
    struct ff_error error = {0};
    struct ff__ptx_kernel *kernel;
    assert_int_equal(ff__ptx_kernel(bench->program, "split", &kernel, &error), 0);
    struct ff__ptx_launch launch = {
        .grid = {1, 1, 1}, .block = {1, 1, 1}, .parameters = "", .parameter_size = 8};
    assert_int_equal(ff__ptx_launch(bench->context, bench->stream, kernel, &launch, &error),
                     -EINVAL);
    assert_non_null(strstr(error.message, "8 bytes of parameters instead of 12"));
    launch.shared = 1 << 20;
    assert_int_equal(ff__ptx_launch(bench->context, bench->stream, kernel, &launch, &error),
                     -EINVAL);
}

static int launch_both(struct bench *bench, const char *name, struct ff_error *error) {
    struct {
        uint32_t *out;
        uint32_t n;
    } parameters = {bench->out, 5};
    struct ff__ptx_kernel *kernel;
    assert_int_equal(ff__ptx_kernel(bench->program, name, &kernel, error), 0);
    struct ff__ptx_launch launch = {.grid = {1, 1, 1},
                                    .block = {THREADS, 1, 1},
                                    .parameters = &parameters,
                                    .parameter_size = sizeof parameters};
    return ff__ptx_launch_both(bench->context, bench->stream, kernel, &launch, error);
}

static void finds_a_race(void **state) {
    struct bench *bench = *state;
    struct ff_error error = {0};
    memset(bench->out, 0xff, bench->words * 4);
    assert_int_equal(launch_both(bench, "race", &error), 1);
    assert_non_null(strstr(error.message, "'race': 1 of 32768 bytes"));
    assert_non_null(strstr(error.message, "the first at 64"));
    assert_int_equal(bench->out[16], THREADS - 1); /* as in turns */
    memset(bench->out, 0xff, bench->words * 4);
    assert_int_equal(launch_both(bench, "guarded", &error), 0);
    assert_int_equal(bench->out[1], guarded(1, 5));
    assert_int_equal(launch_both(bench, "stuck", &error), -EDEADLK);
}

static int open_all(void **state) {
    static struct bench bench;
    bench = open_bench(CONTROL_PTX, 8192);
    *state = &bench;
    return 0;
}

static int close_all(void **state) {
    close_bench(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_the_reference),
                                       cmocka_unit_test(threads_wait_for_a_lock),
                                       cmocka_unit_test(blocks_wait_for_each_other),
                                       cmocka_unit_test(numbers_threads),
                                       cmocka_unit_test(an_index_wraps),
                                       cmocka_unit_test(says_where_threads_are_stuck),
                                       cmocka_unit_test(refuses_calls_without_copies),
                                       cmocka_unit_test(says_who_has_trapped),
                                       cmocka_unit_test(calls_through_a_table),
                                       cmocka_unit_test(refuses_sizes),
                                       cmocka_unit_test(finds_a_race)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
