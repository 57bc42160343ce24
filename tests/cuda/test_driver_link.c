/* Linking texts of PTX. */
#include "cuda/driver.h"

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

static char library[] = HEAD ".visible .global .align 4 .u32 base = 40;\n"
                             ".visible .func (.param .b32 out) twice(.param .b32 in) {\n"
                             ".reg .b32 %r<3>; ld.param.b32 %r1, [in]; shl.b32 %r2, %r1, 1;\n"
                             "st.param.b32 [out], %r2; ret;\n}\n";
static char program[] = HEAD ".extern .global .align 4 .u32 base;\n"
                             ".extern .func (.param .b32 out) twice(.param .b32 in);\n"
                             ".visible .entry run(.param .u64 to) {\n"
                             ".reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
                             "ld.param.u64 %rd1, [to]; ld.global.u32 %r1, [base];\n"
                             "{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r1;\n"
                             "call.uni (q), twice, (p); ld.param.b32 %r2, [q]; }\n"
                             "add.u32 %r3, %r2, 2; st.global.u32 [%rd1], %r3; ret;\n}\n";

static CUlinkState start(void) {
    CUlinkState state;
    char log[8];
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    OK(cuLinkCreate_v2(2, options, values, &state));
    assert_null(values[1]); /* bytes in the log */
    return state;
}

static CUresult add(CUlinkState state, char *text) {
    return cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, text, strlen(text) + 1, "name", 0, NULL, NULL);
}

static CUmodule load(CUlinkState state) {
    CUmodule linked;
    void *image;
    size_t size;
    OK(cuLinkComplete(state, &image, &size));
    assert_int_equal(size, strlen(image) + 1);
    OK(cuModuleLoadData(&linked, image));
    OK(cuLinkDestroy(state));
    return linked;
}

static void texts_use_what_others_define(void **unused) {
    (void)unused;
    CUdeviceptr out = allocate(4);
    for (int order = 0; order < 2; order++) {
        CUlinkState state = start();
        CUfunction run;
        OK(add(state, order ? library : program));
        OK(add(state, order ? program : library));
        CUmodule linked = load(state);
        OK(cuModuleGetFunction(&run, linked, "run"));
        OK(launch(run, 1, 1, NULL, (void *[]){&out}));
        OK(cuCtxSynchronize());
        assert_int_equal(*words_at(out), 82);
        *words_at(out) = 0;
        OK(cuModuleUnload(linked));
    }
    OK(cuMemFree_v2(out));
}

static void files_are_linked(void **unused) {
    (void)unused;
    CUlinkState state = start();
    CUfunction function;
    OK(cuLinkAddFile_v2(state, CU_JIT_INPUT_PTX, DRIVER_PTX, 0, NULL, NULL));
    GIVES(ERROR_INVALID_PTX, /* all of it is there twice */
          cuLinkAddFile_v2(state, CU_JIT_INPUT_FATBINARY, DRIVER_PTX, 0, NULL, NULL));
    GIVES(ERROR_FILE_NOT_FOUND,
          cuLinkAddFile_v2(state, CU_JIT_INPUT_PTX, "/nonexistent", 0, NULL, NULL));
    CUmodule linked = load(state);
    OK(cuModuleGetFunction(&function, linked, "mix"));
    OK(cuModuleUnload(linked));
}

static void what_is_wrong_is_refused(void **unused) {
    char wrong[] = HEAD ".visible .entry run(", machine[64] = "\177ELF";
    CUlinkState state = start();
    void *image;
    (void)unused;
    REFUSED(cuLinkCreate_v2(0, NULL, NULL, NULL));
    REFUSED(cuLinkCreate_v2(1, NULL, NULL, &state));
    GIVES(ERROR_INVALID_PTX, add(state, wrong));
    REFUSED(cuLinkComplete(state, &image, NULL));
    OK(add(state, library));
    GIVES(ERROR_INVALID_PTX, add(state, library)); /* defined twice */
    GIVES(ERROR_INVALID_IMAGE,
          cuLinkAddData_v2(state, CU_JIT_INPUT_CUBIN, machine, sizeof machine, "", 0, NULL, NULL));
    REFUSED(cuLinkAddData_v2(state, CU_JIT_INPUT_NVVM, library, 1, "", 0, NULL, NULL));
    REFUSED(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, NULL, 1, "", 0, NULL, NULL));
    REFUSED(cuLinkAddFile_v2(state, CU_JIT_INPUT_PTX, NULL, 0, NULL, NULL));
    REFUSED(cuLinkComplete(state, NULL, NULL));
    OK(cuLinkDestroy(state));
    GIVES(ERROR_INVALID_HANDLE,
          cuLinkAddData_v2(NULL, CU_JIT_INPUT_PTX, library, 1, "", 0, NULL, NULL));
    GIVES(ERROR_INVALID_HANDLE, cuLinkAddFile_v2(NULL, CU_JIT_INPUT_PTX, "", 0, NULL, NULL));
    GIVES(ERROR_INVALID_HANDLE, cuLinkComplete(NULL, &image, NULL));
    GIVES(ERROR_INVALID_HANDLE, cuLinkDestroy(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_use_what_others_define),
                                       cmocka_unit_test(files_are_linked),
                                       cmocka_unit_test(what_is_wrong_is_refused)};
    return cmocka_run_group_tests(tests, begin, end);
}
