/* Kernels that fail, forks, and the end of a process: each case is a process of its own, because
 * its errors stay, and cmocka has handlers for the signals that they begin with. */
#include "cuda/driver.h"

#include <sys/wait.h>
#include <unistd.h>

#define NOWHERE ((CUdeviceptr)4096)

/* ---- the processes: what they print last is what the test looks for ---- */

static int failures;

static void expect(CUresult got, CUresult expected, int line) {
    const char *name = "?";
    if (got == expected)
        return;
    cuGetErrorName(got, &name);
    printf("line %d: %s\n", line, name);
    failures++;
}
#define EXPECT(expected, call) expect(call, CUDA_##expected, __LINE__)

static void start(void) {
    EXPECT(SUCCESS, cuInit(0));
    EXPECT(SUCCESS, cuDevicePrimaryCtxRetain(&context, 0));
    EXPECT(SUCCESS, cuCtxPushCurrent_v2(context));
    EXPECT(SUCCESS, cuModuleLoad(&module, DRIVER_PTX));
}

static CUfunction named(const char *name) {
    CUfunction function = NULL;
    EXPECT(SUCCESS, cuModuleGetFunction(&function, module, name));
    return function;
}

/* Whatever is called has the error, until the context is no more. */
static void check_stays(CUresult error, CUfunction empty) {
    CUdeviceptr memory;
    CUstream stream;
    CUevent event;
    CUmodule other;
    size_t size;
    void *host;
    char bytes[4] = "";
    expect(cuCtxSynchronize(), error, __LINE__);
    expect(cuStreamSynchronize(NULL), error, __LINE__);
    expect(cuStreamQuery(NULL), error, __LINE__);
    expect(cuMemAlloc_v2(&memory, 4), error, __LINE__);
    expect(cuMemAllocManaged(&memory, 4, CU_MEM_ATTACH_GLOBAL), error, __LINE__);
    expect(cuMemHostAlloc(&host, 4, 0), error, __LINE__);
    expect(cuMemGetInfo_v2(&size, &size), error, __LINE__);
    expect(cuMemcpyHtoD_v2((uintptr_t)bytes, bytes, 4), error, __LINE__);
    expect(cuStreamCreate(&stream, 0), error, __LINE__);
    expect(cuEventCreate(&event, 0), error, __LINE__);
    expect(cuModuleLoad(&other, DRIVER_PTX), error, __LINE__);
    expect(launch(empty, 1, 1, NULL, NULL), error, __LINE__);
    EXPECT(SUCCESS, cuDevicePrimaryCtxReset_v2(0));
    EXPECT(ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    EXPECT(SUCCESS, cuCtxPopCurrent_v2(NULL));
    EXPECT(SUCCESS, cuDevicePrimaryCtxRelease_v2(0));
    start();
    EXPECT(SUCCESS, launch(named("empty"), 1, 1, NULL, NULL));
    EXPECT(SUCCESS, cuCtxSynchronize());
}

static void run_failing(const char *name, void **params, CUresult error) {
    start();
    EXPECT(SUCCESS, launch(named(name), 1, 32, NULL, params));
    expect(cuCtxSynchronize(), error, __LINE__);
    expect(cuCtxSynchronize(), error, __LINE__);
}

static void stray(void) {
    void *params[] = {&(CUdeviceptr){NOWHERE}};
    run_failing("stray", params, CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void traps(void) {
    run_failing("traps", NULL, CUDA_ERROR_LAUNCH_FAILED);
}

static void asserts(void) {
    void *params[] = {&(unsigned){0}};
    run_failing("asserts", params, CUDA_ERROR_ASSERT);
}

static void stays(void) {
    void *params[] = {&(CUdeviceptr){NOWHERE}};
    start();
    CUfunction empty = named("empty");
    EXPECT(SUCCESS, launch(named("stray"), 1, 1, NULL, params));
    check_stays(CUDA_ERROR_ILLEGAL_ADDRESS, empty);
}

/* Another context of the process goes on. */
static void apart(void) {
    CUcontext other;
    stray();
    EXPECT(SUCCESS, cuCtxCreate_v2(&other, 0, 0));
    EXPECT(SUCCESS, cuCtxSynchronize());
    EXPECT(SUCCESS, cuCtxDestroy_v2(other));
    EXPECT(ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

static CUresult heard[2];
static int called;

static void call_back(CUstream stream, CUresult status, void *user) {
    (void)stream;
    __atomic_store_n((CUresult *)user, status, __ATOMIC_RELEASE);
}

static void count(void *user) {
    (void)user;
    called++;
}

static void told(void) {
    void *params[] = {&(CUdeviceptr){NOWHERE}};
    struct gate gate;
    start();
    close_gate(&gate, NULL); /* after an error nothing is taken any more */
    EXPECT(SUCCESS, launch(named("stray"), 1, 1, NULL, params));
    EXPECT(SUCCESS, cuStreamAddCallback(NULL, call_back, &heard[0], 0));
    EXPECT(SUCCESS, cuLaunchHostFunc(NULL, count, NULL));
    EXPECT(SUCCESS, cuStreamAddCallback(NULL, call_back, &heard[1], 0));
    open_gate(&gate);
    EXPECT(ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize()); /* does not wait once there is an error */
    while (__atomic_load_n(&heard[1], __ATOMIC_ACQUIRE) == CUDA_SUCCESS)
        usleep(100);
    expect(heard[0], CUDA_ERROR_ILLEGAL_ADDRESS, __LINE__);
    expect(heard[1], CUDA_ERROR_ILLEGAL_ADDRESS, __LINE__);
    expect(called == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, CUDA_SUCCESS, __LINE__);
}

static void check_child(void) {
    CUcontext other;
    CUevent event;
    CUdevice device;
    int number;
    EXPECT(ERROR_NOT_INITIALIZED, cuInit(0));
    EXPECT(ERROR_NOT_INITIALIZED, cuDeviceGetCount(&number));
    EXPECT(ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&other));
    EXPECT(ERROR_NOT_INITIALIZED, cuCtxGetDevice(&device));
    EXPECT(ERROR_NOT_INITIALIZED, cuCtxCreate_v2(&other, 0, 0));
    EXPECT(ERROR_NOT_INITIALIZED, cuCtxSynchronize());
    EXPECT(ERROR_NOT_INITIALIZED, cuStreamSynchronize(NULL));
    EXPECT(ERROR_NOT_INITIALIZED, cuEventCreate(&event, 0));
    EXPECT(ERROR_NOT_INITIALIZED, cuDevicePrimaryCtxRelease_v2(0));
    EXPECT(ERROR_NOT_INITIALIZED, cuMemFree_v2(NOWHERE));
}

static void forks(void) {
    struct gate *gate = calloc(1, sizeof *gate);
    int status = -1;
    start();
    close_gate(gate, NULL);
    pid_t child = fork();
    if (child == 0) {
        check_child();
        fflush(stdout);
        _exit(failures);
    }
    waitpid(child, &status, 0);
    expect(status == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, CUDA_SUCCESS, __LINE__);
    open_gate(gate);
    EXPECT(SUCCESS, cuCtxSynchronize());
    free(gate);
}

static void leaves(void) {
    static uint32_t never;
    void *params[] = {&(CUdeviceptr){(uintptr_t)&never}};
    start();
    EXPECT(SUCCESS, launch(named("spin"), 1, 1, NULL, params));
    usleep(20000);
}

static void unknown(void) {
    CUresult (*function)(void);
    void *found;
    start();
    EXPECT(SUCCESS, cuGetProcAddress_v2("cuMulticastCreate", &found, 12000, 0, NULL));
    memcpy(&function, &found, sizeof function);
    EXPECT(ERROR_NOT_SUPPORTED, function());
    EXPECT(ERROR_NOT_SUPPORTED, function());
}

static void maps(void) {
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    CUmemAccessDesc access = {.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = NOWHERE;
    unsigned long long flags;
    size_t size = 2 << 20;
    int descriptor = -1;
    start();
    EXPECT(ERROR_NOT_SUPPORTED,
           cuMemGetAllocationGranularity(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    EXPECT(ERROR_NOT_SUPPORTED, cuMemAddressReserve(&address, size, 0, 0, 0));
    EXPECT(ERROR_NOT_SUPPORTED, cuMemCreate(&handle, size, &properties, 0));
    EXPECT(ERROR_NOT_SUPPORTED, cuMemMap(address, size, 0, handle, 0));
    EXPECT(ERROR_NOT_SUPPORTED, cuMemSetAccess(address, size, &access, 1));
    EXPECT(ERROR_NOT_SUPPORTED, cuMemGetAccess(&flags, &access.location, address));
    EXPECT(ERROR_NOT_SUPPORTED, cuMemGetAllocationPropertiesFromHandle(&properties, handle));
    EXPECT(ERROR_NOT_SUPPORTED, cuMemRetainAllocationHandle(&handle, NULL));
    EXPECT(ERROR_NOT_SUPPORTED, cuMemExportToShareableHandle(&descriptor, handle, type, 0));
    EXPECT(ERROR_NOT_SUPPORTED, cuMemImportFromShareableHandle(&handle, &descriptor, type));
    EXPECT(ERROR_NOT_SUPPORTED, cuMemUnmap(address, size));
    EXPECT(ERROR_NOT_SUPPORTED, cuMemRelease(handle));
    EXPECT(ERROR_NOT_SUPPORTED, cuMemAddressFree(address, size));
}

static const struct {
    const char *name;
    void (*run)(void);
    const char *says; /* in a line of stderr; NULL: there is none */
} cases[] = {{"stray", stray, "kernel 'stray', block (0, 0, 0): an access to 0x1000"},
             {"traps", traps, "kernel 'traps', block (0, 0, 0): "},
             {"asserts", asserts, "a.cu:12: f: block (0, 0, 0): assertion 'n > 0' failed"},
             {"stays", stays, "kernel 'stray'"},
             {"apart", apart, "kernel 'stray'"},
             {"told", told, "kernel 'stray'"},
             {"forks", forks, NULL},
             {"leaves", leaves, NULL},
             {"unknown", unknown, NULL},
             {"maps", maps, NULL}};
#define CASES (sizeof cases / sizeof *cases)

/* ---- the tests ---- */

static const char *program;

/* What it prints, and its status. */
static int run(const char *before, const char *name, char *out, size_t size) {
    char command[1024];
    snprintf(command, sizeof command, "%s '%s' %s 2>&1", before, program, name);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t got = fread(out, 1, size - 1, pipe);
    out[got] = '\0';
    return pclose(pipe);
}

static unsigned count_lines(const char *text) {
    unsigned lines = 0;
    for (; (text = strstr(text, "farfault: ")) != NULL; text++)
        lines++;
    return lines;
}

static void each_process_ends_as_it_should(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        char out[8192];
        int status = run("", cases[i].name, out, sizeof out);
        if (status != 0 || count_lines(out) != (cases[i].says != NULL) ||
            (cases[i].says != NULL && strstr(out, cases[i].says) == NULL))
            fail_msg("%s: status %d: %s", cases[i].name, status, out);
    }
}

static void check_is_counted(const char *name, const char *what) {
    char out[8192];
    int status = run("FARFAULT_SUMMARY=text", name, out, sizeof out);
    if (status != 0 || strstr(out, what) == NULL)
        fail_msg("%s: status %d: %s", name, status, out);
}

static void what_is_refused_is_counted(void **state) {
    (void)state;
    check_is_counted("unknown", "unknown CUDA driver functions (2 calls)");
    check_is_counted("maps", "CUDA virtual memory management (13 calls)");
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_process_ends_as_it_should),
                                       cmocka_unit_test(what_is_refused_is_counted)};
    program = argv[0];
    for (size_t i = 0; argc > 1 && i < CASES; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return failures != 0;
        }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
