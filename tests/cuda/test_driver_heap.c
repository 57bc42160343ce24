/* malloc() and free() of device code. */
#include "cuda/driver.h"

/* take: a piece of `size` bytes for each thread, which writes its number there, in pieces[thread].
 * give: they are freed. */
static const char code[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b64 out) malloc(.param .b64 in);\n"
    ".extern .func free(.param .b64 in);\n"
    ".visible .entry take(.param .u64 pieces, .param .u64 size) {\n"
    ".reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<7>;\n"
    "ld.param.u64 %rd1, [size]; ld.param.u64 %rd2, [pieces];\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "mad.lo.u32 %r1, %r1, %r2, %r3; mul.wide.u32 %rd3, %r1, 8; add.u64 %rd2, %rd2, %rd3;\n"
    "{ .param .b64 p; .param .b64 q; st.param.b64 [p], %rd1;\n"
    "call.uni (q), malloc, (p); ld.param.b64 %rd4, [q]; }\n"
    "st.global.u64 [%rd2], %rd4; setp.eq.u64 %p, %rd4, 0; @%p bra OUT;\n"
    "st.u32 [%rd4], %r1;\n"
    "OUT: ret;\n}\n"
    ".visible .entry give(.param .u64 pieces) {\n"
    ".reg .b32 %r<4>; .reg .b64 %rd<5>;\n"
    "ld.param.u64 %rd2, [pieces];\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "mad.lo.u32 %r1, %r1, %r2, %r3; mul.wide.u32 %rd3, %r1, 8; add.u64 %rd2, %rd2, %rd3;\n"
    "ld.global.u64 %rd4, [%rd2];\n"
    "{ .param .b64 p; st.param.b64 [p], %rd4; call.uni free, (p); }\n"
    "ret;\n}\n";

#define BLOCKS  8
#define THREADS 32
#define COUNT   (BLOCKS * THREADS)
#define KIB     ((size_t)1 << 10)

static CUfunction take, give;
static CUdeviceptr pieces; /* of the host: CUdeviceptr[COUNT] */

static int set_up(void **state) {
    (void)state;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, code));
    take = function_of("take");
    give = function_of("give");
    OK(cuMemAllocHost_v2((void **)&pieces, COUNT * sizeof pieces));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    OK(cuCtxDestroy_v2(context));
    return 0;
}

static CUdeviceptr piece(int i) {
    return ((CUdeviceptr *)words_at(pieces))[i];
}

/* How many were there; none of them may have bytes in common with another. */
static int take_all(size_t size) {
    void *params[] = {&pieces, &size};
    int count = 0;
    OK(launch(take, BLOCKS, THREADS, NULL, params));
    OK(cuCtxSynchronize());
    for (int i = 0; i < COUNT; i++) {
        if (piece(i) == 0)
            continue;
        count++;
        assert_int_equal(piece(i) % 16, 0);
        assert_int_equal(*words_at(piece(i)), i);
        for (int k = 0; k < i; k++)
            assert_true(piece(k) == 0 || piece(k) + size <= piece(i) ||
                        piece(i) + size <= piece(k));
    }
    return count;
}

static void give_all(void) {
    OK(launch(give, BLOCKS, THREADS, NULL, (void *[]){&pieces}));
    OK(cuCtxSynchronize());
}

static void the_limit_is_the_heaps_size(void **state) {
    size_t limit;
    (void)state;
    OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 256 * KIB));
    assert_int_equal(take_all(900), 256);
    REFUSED(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 512 * KIB)); /* code has begun to use it */
    OK(cuCtxGetLimit(&limit, CU_LIMIT_MALLOC_HEAP_SIZE));
    assert_int_equal(limit, 256 * KIB);
    give_all();
    assert_int_equal(take_all(1024), 256); /* what was given back */
    CUdeviceptr first = piece(0);
    void *params[] = {&pieces, &(size_t){1}};
    OK(launch(take, 1, 1, NULL, params));
    OK(cuCtxSynchronize());
    assert_int_equal(piece(0), 0); /* it is full */
    *(CUdeviceptr *)words_at(pieces) = first;
    give_all();
}

/* Managed memory, of which the device has half as much. */
static void it_may_be_larger_than_the_device(void **state) {
    (void)state;
    OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 16 * KIB * KIB));
    assert_int_equal(take_all(64 * KIB), COUNT);
    give_all();
    assert_int_equal(take_all(SIZE_MAX), 0);
    assert_int_equal(take_all(17 * KIB * KIB), 0);
    give_all(); /* free(NULL) */
}

static void without_a_heap_there_is_no_memory(void **state) {
    (void)state;
    OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 0));
    assert_int_equal(take_all(16), 0);
    give_all();
}

static void freeing_twice_is_an_error(void **state) {
    (void)state;
    assert_int_equal(take_all(16), COUNT);
    give_all();
    OK(launch(give, BLOCKS, THREADS, NULL, (void *[]){&pieces}));
    GIVES(ERROR_LAUNCH_FAILED, cuCtxSynchronize());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_limit_is_the_heaps_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_may_be_larger_than_the_device, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_heap_there_is_no_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(freeing_twice_is_an_error, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
