/* Wrong arguments, and calls too early: what each function of the driver makes of them. */
#include "cuda/driver.h"

#include "cuda/arguments.h"

#define FF_CUDA(name, version, since, parameters)                                                  \
    {#name #version, #parameters, (void *)name##version},
#define FF_CUDA_REFUSED(name, version, since, parameters) /* test_driver_failures.c */
#define FF_CUDA_STREAM(name, version, since, flavour, from, parameters, arguments)                 \
    FF_CUDA(name, version, since, parameters)
static const struct tested functions[] = {
#include <farfault/driver.def>
};
#undef FF_CUDA
#undef FF_CUDA_REFUSED
#undef FF_CUDA_STREAM
#define FUNCTIONS                      (sizeof functions / sizeof *functions)

#define EXCEPT(name, argument, result) {#name, #argument, CUDA_##result},
static const struct exception exceptions[] = {
#include "driver_arguments.def"
};
#define EXCEPTIONS (sizeof exceptions / sizeof *exceptions)

static const char *result_name(int result) {
    const char *name = "?";
    cuGetErrorName((CUresult)result, &name);
    return name;
}

/* ---- calls too early ---- */

static const uintptr_t nothing[MOST];

static bool is_one_of(const char *name, const char *const *list) {
    for (; *list != NULL; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

/* A function may look at its arguments first. */
static void nothing_works_before_the_start(void **state) {
    (void)state;
    for (size_t i = 0; i < FUNCTIONS; i++) {
        if (strcmp(functions[i].name, "cuInit") == 0)
            continue;
        int result = call_with(functions[i].function, nothing);
        if (result != CUDA_ERROR_NOT_INITIALIZED && result != CUDA_ERROR_INVALID_VALUE &&
            result != CUDA_ERROR_INVALID_HANDLE && result != CUDA_ERROR_INVALID_CONTEXT)
            fail_msg("%s: %s", functions[i].name, result_name(result));
    }
}

static void few_functions_need_no_context(void **state) {
    static const char *const free[] = {"cuInit",
                                       "cuDevicePrimaryCtxReset",
                                       "cuDevicePrimaryCtxReset_v2",
                                       "cuDevicePrimaryCtxSetFlags",
                                       "cuDevicePrimaryCtxSetFlags_v2",
                                       "cuCtxSetCurrent",
                                       "cuDeviceGraphMemTrim",
                                       NULL};
    (void)state;
    OK(cuInit(0));
    for (size_t i = 0; i < FUNCTIONS; i++) {
        int result = call_with(functions[i].function, nothing);
        if (result == CUDA_SUCCESS && !is_one_of(functions[i].name, free))
            fail_msg("%s works", functions[i].name);
    }
}

/* ---- wrong arguments ---- */

static void make_current(void) {
    OK(cuCtxSetCurrent(context));
}

/* One object of each kind. */
static struct {
    CUfunction function;
    CUstream stream;
    CUevent event;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUlibrary library;
    CUkernel kernel;
    CUdeviceptr memory;
    CUmemoryPool pool;
    CUlinkState link;
    CUarray array;
    CUuserObject object;
} made;

static void make_objects(void) {
    CUDA_ARRAY_DESCRIPTOR of = {
        .Width = 4, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUhostFn destroy;
    void *function = (void *)do_nothing;
    memcpy(&destroy, &function, sizeof destroy);
    made.function = function_of("empty");
    OK(cuStreamCreate(&made.stream, 0));
    OK(cuEventCreate(&made.event, 0));
    OK(cuGraphCreate(&made.graph, 0));
    OK(cuGraphAddEmptyNode(&made.node, made.graph, NULL, 0));
    OK(cuGraphInstantiateWithFlags(&made.exec, made.graph, 0));
    OK(cuLibraryLoadFromFile(&made.library, DRIVER_PTX, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&made.kernel, made.library, "empty"));
    made.memory = allocate(65536);
    OK(cuDeviceGetDefaultMemPool(&made.pool, 0));
    OK(cuLinkCreate_v2(0, NULL, NULL, &made.link));
    OK(cuArrayCreate_v2(&made.array, &of));
    OK(cuUserObjectCreate(&made.object, &made, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
}

static void end_objects(void) {
    OK(cuUserObjectRelease(made.object, 1));
    OK(cuArrayDestroy(made.array));
    OK(cuLinkDestroy(made.link));
    OK(cuMemFree_v2(made.memory));
    OK(cuLibraryUnload(made.library));
    OK(cuGraphExecDestroy(made.exec));
    OK(cuGraphDestroy(made.graph));
    OK(cuEventDestroy_v2(made.event));
    OK(cuStreamDestroy_v2(made.stream));
}

static void each_wrong_argument_is_refused(void **state) {
    bool used[EXCEPTIONS] = {false};
    assert_int_equal(begin(state), 0);
    make_objects();
#define WORD(handle) ((uintptr_t)(handle))
    const uintptr_t function = WORD((void *)do_nothing);
    const int value = CUDA_ERROR_INVALID_VALUE, handle = CUDA_ERROR_INVALID_HANDLE;
    const struct kind kinds[] = {
        {"CUoccupancyB2DSize", 0, 0, 0},
        {"CUipc", 0, 0, 0},
        {"CUhostFn", function, 0, value},
        {"CUstreamCallback ", function, 0, value},
        {"*", PLACE, 0, value},
        {"CUstream ", WORD(made.stream), NOWHERE, handle},
        {"CUdeviceptr ", made.memory, NOWHERE, value},
        {"CUdevice ", 0, 99, CUDA_ERROR_INVALID_DEVICE},
        {"CUcontext ", WORD(context), 0, value},
        {"CUmodule ", WORD(module), 0, value},
        {"CUfunction ", WORD(made.function), 0, value},
        {"CUevent ", WORD(made.event), 0, handle},
        {"CUgraph ", WORD(made.graph), 0, value},
        {"CUgraphNode ", WORD(made.node), 0, value},
        {"CUgraphExec ", WORD(made.exec), 0, value},
        {"CUlibrary ", WORD(made.library), 0, value},
        {"CUkernel ", WORD(made.kernel), 0, value},
        {"CUmemoryPool ", WORD(made.pool), 0, value},
        {"CUlinkState ", WORD(made.link), 0, handle},
        {"CUarray ", WORD(made.array), 0, handle},
        {"CUuserObject ", WORD(made.object), 0, value},
        {" flags", 0, WRONG, value},
        {"CUtexObject", 0, WRONG, value},
        {"CUsurfObject", 0, WRONG, value},
        {"size_t count", 4, 0, 0},
        {"size_t number", 4, 0, 0},
        {"size_t", 4, (uintptr_t)1 << 62, value},
        {"unsigned", 1, 0, 0},
        {"int ", 0, 0, 0},
        {"cuuint64_t", 0, 0, 0},
        {"CUmemLocation", 0, 0, 0},
        {"CUmemAllocation", 0, 0, 0},
        {"CU", 0, WRONG, value}, /* enumerations */
    };
    const struct arguments all = {.kinds = kinds,
                                  .kind_count = sizeof kinds / sizeof *kinds,
                                  .exceptions = exceptions,
                                  .exception_count = EXCEPTIONS,
                                  .left_out = "cuGraphInstantiate_v2",
                                  .prepare = make_current,
                                  .result_name = result_name};
    check_arguments(&all, functions, FUNCTIONS, used);
    end_objects();
    make_current();
    assert_int_equal(end(state), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_works_before_the_start),
                                       cmocka_unit_test(few_functions_need_no_context),
                                       cmocka_unit_test(each_wrong_argument_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
