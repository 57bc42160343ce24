/* Wrong arguments: what each function of the runtime makes of them. */
#include "cuda/runtime_program.h"

#include "cuda/arguments.h"

#define FF_CUDART(name, parameters) TESTED(name, parameters)
#define FF_CUDART_OR(value)
#define FF_CUDART_FORM(name, symbol, parameters)               FF_CUDART(name, parameters)
#define FF_CUDART_STREAM(name, flavour, parameters, arguments) FF_CUDART(name, parameters)
#define FF_CUDART_STREAM_FORM(name, symbol, flavour, parameters, arguments)                        \
    FF_CUDART(name, parameters)
static const struct tested functions[] = {
#include <farfault/runtime.def>
};
#define FUNCTIONS                      (sizeof functions / sizeof *functions)

#define EXCEPT(name, argument, result) {#name, #argument, cuda##result},
static const struct exception exceptions[] = {
#include "runtime_arguments.def"
};
#define EXCEPTIONS (sizeof exceptions / sizeof *exceptions)

static const char *result_name(int result) {
    return cudaGetErrorName((cudaError_t)result);
}

static void forget(void) {
    cudaGetLastError();
}

/* One object of each kind. */
static struct {
    cudaStream_t stream;
    cudaEvent_t event;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    cudaLibrary_t library;
    cudaKernel_t kernel;
    cudaMemPool_t pool;
    cudaArray_t array;
    cudaUserObject_t object;
    void *memory;
} made;

static void make_objects(void) {
    struct cudaChannelFormatDesc of = {.x = 32, .f = cudaChannelFormatKindFloat};
    cudaHostFn_t destroy;
    void *function = (void *)do_nothing;
    memcpy(&destroy, &function, sizeof destroy);
    GOOD(cudaStreamCreate(&made.stream));
    GOOD(cudaEventCreate(&made.event));
    GOOD(cudaGraphCreate(&made.graph, 0));
    GOOD(cudaGraphAddEmptyNode(&made.node, made.graph, NULL, 0));
    GOOD(cudaGraphInstantiate(&made.exec, made.graph, 0));
    GOOD(cudaLibraryLoadData(&made.library, text, NULL, NULL, 0, NULL, NULL, 0));
    GOOD(cudaLibraryGetKernel(&made.kernel, made.library, "add"));
    GOOD(cudaDeviceGetDefaultMemPool(&made.pool, 0));
    GOOD(cudaMallocArray(&made.array, &of, 4, 4, 0));
    GOOD(cudaUserObjectCreate(&made.object, &made, destroy, 1, cudaUserObjectNoDestructorSync));
    GOOD(cudaMalloc(&made.memory, 65536));
}

static void end_objects(void) {
    GOOD(cudaFree(made.memory));
    GOOD(cudaUserObjectRelease(made.object, 1));
    GOOD(cudaFreeArray(made.array));
    GOOD(cudaLibraryUnload(made.library));
    GOOD(cudaGraphExecDestroy(made.exec));
    GOOD(cudaGraphDestroy(made.graph));
    GOOD(cudaEventDestroy(made.event));
    GOOD(cudaStreamDestroy(made.stream));
}

static void each_wrong_argument_is_refused(void **state) {
    bool used[EXCEPTIONS] = {false};
    (void)state;
    make_objects();
#define WORD(handle) ((uintptr_t)(handle))
    const uintptr_t function = WORD((void *)do_nothing);
    const int value = cudaErrorInvalidValue, resource = cudaErrorInvalidResourceHandle;
    const struct kind kinds[] = {
        {"const void *kernel", WORD(&add), WORD(&missing), cudaErrorInvalidDeviceFunction},
        {"const void *host", WORD(&add), WORD(&missing), cudaErrorInvalidDeviceFunction},
        {"const void *symbol", WORD(&shift), WORD(&missing), cudaErrorInvalidSymbol},
        {"cudaHostFn_t", function, 0, value},
        {"cudaStreamCallback_t", function, 0, value},
        {"void *address", WORD(made.memory), 0, value},
        {"*", PLACE, 0, value},
        {"cudaStream_t ", WORD(made.stream), NOWHERE, resource},
        {"int device", 0, 99, cudaErrorInvalidDevice},
        {"int peer", 0, 99, cudaErrorInvalidDevice},
        {"int from", 0, 99, cudaErrorInvalidDevice},
        {"int to", 0, 99, cudaErrorInvalidDevice},
        {"cudaEvent_t ", WORD(made.event), 0, resource},
        {"cudaGraph_t ", WORD(made.graph), 0, value},
        {"cudaGraphNode_t ", WORD(made.node), 0, value},
        {"cudaGraphExec_t ", WORD(made.exec), 0, value},
        {"cudaLibrary_t ", WORD(made.library), 0, value},
        {"cudaKernel_t ", WORD(made.kernel), 0, value},
        {"cudaMemPool_t ", WORD(made.pool), 0, value},
        {"cudaArray_t ", WORD(made.array), 0, resource},
        {"cudaArray_const_t ", WORD(made.array), 0, resource},
        {"cudaUserObject_t ", WORD(made.object), 0, value},
        {" flags", 0, WRONG, value},
        {"cudaTextureObject_t", 0, WRONG, value},
        {"cudaSurfaceObject_t", 0, WRONG, value},
        {"enum cudaMemcpyKind ", cudaMemcpyDefault, WRONG, cudaErrorInvalidMemcpyDirection},
        {"enum ", 0, WRONG, value},
        {"size_t count", 4, 0, 0},
        {"size_t number", 4, 0, 0},
        {"size_t", 4, (uintptr_t)1 << 62, value},
        {"unsigned", 1, 0, 0},
        {"int ", 0, 0, 0}, /* structures by value are of no kind */
    };
    const struct arguments all = {.kinds = kinds,
                                  .kind_count = sizeof kinds / sizeof *kinds,
                                  .exceptions = exceptions,
                                  .exception_count = EXCEPTIONS,
                                  .prepare = forget,
                                  .result_name = result_name};
    check_arguments(&all, functions, FUNCTIONS, used);
    end_objects();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_wrong_argument_is_refused)};
    return cmocka_run_group_tests(tests, register_program, unregister_program);
}
