/* Modules and libraries: images of every kind, and what is in them. */
#include "cuda/driver.h"

#include <unistd.h>

static char *text; /* of driver.ptx */
static size_t text_size;

static int set_up(void **state) {
    FILE *file = fopen(DRIVER_PTX, "rb");
    begin(state);
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    text_size = (size_t)ftell(file);
    rewind(file);
    text = calloc(1, text_size + 1);
    assert_int_equal(fread(text, 1, text_size, file), text_size);
    fclose(file);
    return 0;
}

static int tear_down(void **state) {
    free(text);
    return end(state);
}

/* A function of the module runs. */
static void check_module(CUmodule of) {
    CUdeviceptr out = allocate(64);
    CUfunction function;
    unsigned n = 3, value = 9;
    void *params[] = {&out, &n, &value};
    OK(cuModuleGetFunction(&function, of, "fill"));
    OK(launch(function, 1, 32, NULL, params));
    OK(cuCtxSynchronize());
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(words_at(out)[i], i < 3 ? 9 : 0);
    OK(cuMemFree_v2(out));
}

/* ---- fat binaries ---- */

static void put(char *at, uint64_t value, size_t size) {
    memcpy(at, &value, size);
}

/* One with an entry for each capability, of which the last has the kernels: the wrapper is at its
 * end. The caller frees it. */
static char *make_fatbin(const unsigned *archs, size_t count, void **wrapper) {
    size_t entry = 64 + (text_size + 8) / 8 * 8, size = 16 + count * entry;
    char *image = calloc(1, size + 24);
    assert_non_null(image);
    put(image, 0xba55ed50, 4);
    put(image + 4, 1, 2);
    put(image + 6, 16, 2);
    put(image + 8, size - 16, 8);
    for (size_t i = 0; i < count; i++) {
        char *at = image + 16 + i * entry;
        put(at, archs[i] < 1000 ? 1 : 2, 2); /* PTX, or a cubin */
        put(at + 2, 0x0101, 2);
        put(at + 4, 64, 4);
        put(at + 8, entry - 64, 8);
        put(at + 24, 7, 4); /* version 7.0 */
        put(at + 28, archs[i] % 1000, 4);
        if (i == count - 1)
            memcpy(at + 64, text, text_size);
        else
            memcpy(at + 64, "not PTX at all", 15);
    }
    put(image + size, 0x466243b1, 4);
    put(image + size + 4, 1, 4);
    put(image + size + 8, (uintptr_t)image, 8);
    *wrapper = image + size;
    return image;
}

static void loads_fat_binaries(void **state) {
    static const unsigned archs[] = {90, 60, 1070, 70}, above[] = {1086, 90, 80};
    static const unsigned machine_code[] = {1086};
    void *wrapper;
    CUmodule made;
    (void)state;
    char *image = make_fatbin(archs, 4, &wrapper);
    OK(cuModuleLoadFatBinary(&made, wrapper));
    check_module(made);
    OK(cuModuleUnload(made));
    OK(cuModuleLoadData(&made, image));
    check_module(made);
    OK(cuModuleUnload(made));
    free(image);
    image = make_fatbin(above, 3, &wrapper); /* none that the device says it can run */
    OK(cuModuleLoadData(&made, wrapper));
    OK(cuModuleUnload(made));
    free(image);
    image = make_fatbin(machine_code, 1, &wrapper);
    GIVES(ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&made, wrapper));
    GIVES(ERROR_NO_BINARY_FOR_GPU, cuModuleLoadFatBinary(&made, image));
    image[6] = 77; /* a header of another size */
    GIVES(ERROR_INVALID_IMAGE, cuModuleLoadFatBinary(&made, image));
    free(image);
    REFUSED(cuModuleLoadFatBinary(NULL, &made));
    REFUSED(cuModuleLoadFatBinary(&made, NULL));
}

/* ---- modules ---- */

static void loads_text(void **state) {
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_OPTIMIZATION_LEVEL};
    char log[32] = "";
    void *values[] = {log, (void *)32, (void *)4};
    CUmodule made;
    (void)state;
    OK(cuModuleLoadData(&made, text));
    check_module(made);
    OK(cuModuleUnload(made));
    OK(cuModuleLoadDataEx(&made, text, 3, options, values));
    check_module(made);
    assert_null(values[1]); /* bytes of the log */
    OK(cuModuleUnload(made));
    check_module(module);
}

static void refuses_images(void **state) {
    static const char *const texts[] = {"", "x", "hello, world",
                                        ".version 7.0\n.target sm_70\nbad"};
    char elf[80] = "\177ELF\2\1\1";
    CUmodule made = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *copy = strdup(texts[i]); /* whose end is known to sanitizers */
        CUresult result = cuModuleLoadData(&made, copy);
        assert_true(result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_INVALID_IMAGE);
        free(copy);
    }
    assert_true(cuModuleLoadData(&made, elf) != CUDA_SUCCESS);
    REFUSED(cuModuleLoadData(NULL, text));
    REFUSED(cuModuleLoadData(&made, NULL));
    REFUSED(cuModuleLoadDataEx(&made, NULL, 0, NULL, NULL));
    REFUSED(cuModuleLoad(NULL, DRIVER_PTX));
    REFUSED(cuModuleLoad(&made, NULL));
    GIVES(ERROR_FILE_NOT_FOUND, cuModuleLoad(&made, "/nowhere/at/all"));
    GIVES(ERROR_INVALID_SOURCE, cuModuleLoad(&made, "/"));
    assert_null(made);
    REFUSED(cuModuleUnload(NULL));
}

static void modules_have_functions(void **state) {
    CUfunction functions[32] = {NULL}, one;
    CUmodule of;
    const char *name;
    unsigned count;
    (void)state;
    OK(cuModuleGetFunctionCount(&count, module));
    assert_in_range(count, 10, 31);
    OK(cuModuleEnumerateFunctions(functions, 32, module));
    assert_non_null(functions[count - 1]);
    assert_null(functions[count]);
    OK(cuFuncGetName(&name, functions[0]));
    OK(cuModuleGetFunction(&one, module, name));
    assert_ptr_equal(one, functions[0]);
    OK(cuFuncGetModule(&of, one));
    assert_ptr_equal(of, module);
    functions[1] = NULL;
    OK(cuModuleEnumerateFunctions(functions, 1, module));
    assert_null(functions[1]);
    GIVES(ERROR_NOT_FOUND, cuModuleGetFunction(&one, module, "no_such"));
    GIVES(ERROR_NOT_FOUND, cuModuleGetFunction(&one, module, "counter"));
    REFUSED(cuModuleGetFunction(&one, NULL, "fill"));
    REFUSED(cuModuleGetFunction(NULL, module, "fill"));
    REFUSED(cuModuleGetFunction(&one, module, NULL));
    REFUSED(cuModuleGetFunction(&one, module, ""));
    REFUSED(cuModuleGetFunctionCount(NULL, module));
    REFUSED(cuModuleGetFunctionCount(&count, NULL));
    REFUSED(cuModuleEnumerateFunctions(NULL, 1, module));
    REFUSED(cuModuleEnumerateFunctions(functions, 1, NULL));
    REFUSED(cuFuncGetName(NULL, one));
    REFUSED(cuFuncGetName(&name, NULL));
    REFUSED(cuFuncGetModule(NULL, one));
    REFUSED(cuFuncGetModule(&of, NULL));
}

static void modules_have_variables(void **state) {
    CUdeviceptr counter, factors, out = allocate(64);
    size_t size;
    void *params[] = {&out};
    uint32_t factor = 100;
    (void)state;
    OK(cuModuleGetGlobal_v2(&counter, &size, module, "counter"));
    assert_int_equal(size, 16);
    OK(cuModuleGetGlobal_v2(&factors, NULL, module, "factors"));
    OK(cuModuleGetGlobal_v2(NULL, &size, module, "factors"));
    assert_int_equal(size, 8);
    OK(launch(function_of("globals"), 1, 4, NULL, params));
    OK(cuCtxSynchronize());
    assert_int_equal(words_at(out)[3], 4 * 7);
    OK(cuMemcpyHtoD_v2(factors + 4, &factor, 4));
    OK(cuMemsetD32_v2(counter, 6, 4));
    OK(launch(function_of("globals"), 1, 4, NULL, params));
    OK(cuCtxSynchronize());
    assert_int_equal(words_at(out)[3], 600);
    GIVES(ERROR_NOT_FOUND, cuModuleGetGlobal_v2(&counter, &size, module, "none"));
    REFUSED(cuModuleGetGlobal_v2(&counter, &size, module, NULL));
    REFUSED(cuModuleGetGlobal_v2(&counter, &size, NULL, "counter"));
    OK(cuMemFree_v2(out));
}

static void modules_are_loaded_lazily(void **state) {
    CUmoduleLoadingMode mode;
    CUfunctionLoadingState loading;
    CUfunction functions[32];
    CUmodule made;
    (void)state;
    OK(cuModuleGetLoadingMode(&mode));
    assert_int_equal(mode, CU_MODULE_LAZY_LOADING);
    REFUSED(cuModuleGetLoadingMode(NULL));
    OK(cuModuleLoadData(&made, text));
    OK(cuModuleEnumerateFunctions(functions, 32, made));
    OK(cuFuncIsLoaded(&loading, functions[0]));
    assert_int_equal(loading, CU_FUNCTION_LOADING_STATE_UNLOADED);
    OK(cuFuncLoad(functions[0]));
    OK(cuFuncIsLoaded(&loading, functions[0]));
    assert_int_equal(loading, CU_FUNCTION_LOADING_STATE_LOADED);
    GIVES(ERROR_INVALID_HANDLE, cuFuncLoad(NULL));
    REFUSED(cuFuncIsLoaded(&loading, NULL));
    REFUSED(cuFuncIsLoaded(NULL, functions[0]));
    OK(cuModuleUnload(made));
}

/* What is running is waited for, in the module's own context. */
static void an_unload_waits_for_launches(void **state) {
    CUcontext other;
    CUmodule made;
    CUstream stream;
    struct gate gate;
    CUdeviceptr out = allocate(4);
    unsigned value = 5;
    void *params[] = {&out, &value};
    CUfunction function;
    (void)state;
    OK(cuModuleLoadData(&made, text));
    OK(cuModuleGetFunction(&function, made, "mix"));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    close_gate(&gate, stream);
    OK(launch(function, 1, 1, stream, params));
    OK(cuCtxCreate_v2(&other, 0, 0));
    open_gate(&gate);
    OK(cuModuleUnload(made));
    assert_int_equal(*words_at(out), 5);
    OK(cuCtxDestroy_v2(other));
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(out));
}

/* ---- libraries ---- */

static CUlibraryOption preserved = CU_LIBRARY_BINARY_IS_PRESERVED, unknown = 99;
static void *yes = (void *)1;

static void libraries_are_of_all_contexts(void **state) {
    CUlibrary library, of;
    CUkernel kernel, kernels[32];
    CUfunction function;
    CUmodule made;
    CUcontext other;
    CUdeviceptr address;
    size_t size, offset;
    unsigned count, n = 1, value = 77;
    const char *name;
    int threads;
    (void)state;
    OK(cuLibraryLoadData(&library, text, NULL, NULL, 0, &preserved, &yes, 1));
    OK(cuLibraryGetModule(&made, library));
    check_module(made);
    GIVES(ERROR_NOT_PERMITTED, cuModuleUnload(made));
    OK(cuLibraryGetKernel(&kernel, library, "fill"));
    OK(cuKernelGetName(&name, kernel));
    assert_string_equal(name, "fill");
    OK(cuKernelGetLibrary(&of, kernel));
    assert_ptr_equal(of, library);
    OK(cuLibraryGetKernelCount(&count, library));
    OK(cuLibraryEnumerateKernels(kernels, 32, library));
    OK(cuKernelGetName(&name, kernels[count - 1]));
    OK(cuLibraryGetGlobal(&address, &size, library, "counter"));
    assert_int_equal(size, 16);
    OK(cuLibraryGetManaged(&address, &size, library, "counter"));
    OK(cuKernelGetParamInfo(kernel, 1, &offset, &size));
    assert_int_equal(offset, 8);
    OK(cuKernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
    assert_int_equal(threads, 1024);
    OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000, kernel, 0));
    OK(cuCtxCreate_v2(&other, 0, 0));
    CUdeviceptr out = allocate(64);
    void *params[] = {&out, &n, &value};
    OK(cuKernelGetFunction(&function, kernel));
    OK(launch(function, 1, 32, NULL, params));
    OK(launch((CUfunction)kernel, 1, 32, NULL, params)); /* a handle is as good */
    OK(cuLibraryUnload(library));
    assert_int_equal(*words_at(out), 77);
    OK(cuCtxDestroy_v2(other));
}

static void libraries_are_refused(void **state) {
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CUmodule made;
    size_t size;
    unsigned count;
    int value;
    (void)state;
    OK(cuLibraryLoadFromFile(&library, DRIVER_PTX, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "fill"));
    GIVES(ERROR_NOT_FOUND, cuLibraryGetKernel(&kernel, library, "none"));
    REFUSED(cuLibraryGetKernel(NULL, library, "fill"));
    REFUSED(cuLibraryGetKernel(&kernel, library, NULL));
    GIVES(ERROR_INVALID_HANDLE, cuLibraryGetKernel(&kernel, NULL, "fill"));
    REFUSED(cuLibraryGetModule(NULL, library));
    REFUSED(cuLibraryGetModule(&made, NULL));
    GIVES(ERROR_NOT_FOUND, cuLibraryGetGlobal(NULL, &size, library, "none"));
    GIVES(ERROR_NOT_FOUND, cuLibraryGetManaged(NULL, &size, library, "none"));
    REFUSED(cuLibraryGetGlobal(NULL, &size, NULL, "counter"));
    REFUSED(cuLibraryGetManaged(NULL, &size, library, NULL));
    REFUSED(cuLibraryGetKernelCount(&count, NULL));
    REFUSED(cuLibraryGetKernelCount(NULL, library));
    REFUSED(cuLibraryEnumerateKernels(NULL, 1, library));
    REFUSED(cuLibraryEnumerateKernels(&kernel, 1, NULL));
    REFUSED(cuKernelGetFunction(NULL, kernel));
    GIVES(ERROR_INVALID_HANDLE, cuKernelGetFunction(&function, NULL));
    REFUSED(cuKernelGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0));
    GIVES(ERROR_INVALID_DEVICE,
          cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 4));
    REFUSED(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL, 0));
    REFUSED(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NUM_REGS, 1, kernel, 0));
    GIVES(ERROR_INVALID_DEVICE, cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NUM_REGS, 1, kernel, 9));
    REFUSED(cuKernelGetName(&(const char *){NULL}, NULL));
    REFUSED(cuKernelGetName(NULL, kernel));
    REFUSED(cuKernelGetParamInfo(kernel, 0, NULL, &size));
    REFUSED(cuKernelGetParamInfo(kernel, 99, &size, NULL));
    REFUSED(cuKernelGetLibrary(NULL, kernel));
    REFUSED(cuKernelGetLibrary(&library, NULL));
    OK(cuLibraryUnload(library));
    REFUSED(cuLibraryUnload(NULL));
    REFUSED(cuLibraryLoadData(NULL, text, NULL, NULL, 0, NULL, NULL, 0));
    REFUSED(cuLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0));
    REFUSED(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 1));
    REFUSED(cuLibraryLoadData(&library, text, NULL, NULL, 0, &unknown, &yes, 1));
    REFUSED(cuLibraryLoadFromFile(&library, DRIVER_PTX, NULL, NULL, 0, &preserved, &yes, 1));
    GIVES(ERROR_INVALID_PTX, cuLibraryLoadData(&library, ".version 7.0\n.target sm_70\nbad", NULL,
                                               NULL, 0, NULL, NULL, 0));
    REFUSED(cuLibraryLoadFromFile(NULL, DRIVER_PTX, NULL, NULL, 0, NULL, NULL, 0));
    REFUSED(cuLibraryLoadFromFile(&library, NULL, NULL, NULL, 0, NULL, NULL, 0));
    GIVES(ERROR_FILE_NOT_FOUND,
          cuLibraryLoadFromFile(&library, "/nowhere", NULL, NULL, 0, NULL, NULL, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(loads_fat_binaries),
                                       cmocka_unit_test(loads_text),
                                       cmocka_unit_test(refuses_images),
                                       cmocka_unit_test(modules_have_functions),
                                       cmocka_unit_test(modules_have_variables),
                                       cmocka_unit_test(modules_are_loaded_lazily),
                                       cmocka_unit_test(an_unload_waits_for_launches),
                                       cmocka_unit_test(libraries_are_of_all_contexts),
                                       cmocka_unit_test(libraries_are_refused)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
