/* A program that does not link to OpenCL but opens it and looks its functions up. */
#include "client.h"

#include <dlfcn.h>

#define SIZE  (6 * MIB)
#define COUNT (SIZE / sizeof(cl_int))

#define FUNCTIONS                                                                                  \
    FUNCTION(clGetPlatformIDs)                                                                     \
    FUNCTION(clGetDeviceIDs)                                                                       \
    FUNCTION(clGetDeviceInfo)                                                                      \
    FUNCTION(clCreateContext)                                                                      \
    FUNCTION(clCreateCommandQueue)                                                                 \
    FUNCTION(clCreateBuffer)                                                                       \
    FUNCTION(clEnqueueFillBuffer)                                                                  \
    FUNCTION(clEnqueueReadBuffer)                                                                  \
    FUNCTION(clGetMemObjectInfo)                                                                   \
    FUNCTION(clReleaseMemObject)                                                                   \
    FUNCTION(clReleaseCommandQueue)                                                                \
    FUNCTION(clReleaseContext)                                                                     \
    FUNCTION(clGetExtensionFunctionAddress)                                                        \
    FUNCTION(clGetExtensionFunctionAddressForPlatform)

#define FUNCTION(name) static __typeof__(name) *p_##name;
FUNCTIONS
#undef FUNCTION

static void look_up(void *library) {
#define FUNCTION(name) CHECK((p_##name = (__typeof__(name) *)dlsym(library, #name)) != NULL);
    FUNCTIONS
#undef FUNCTION
}

static bool is_ours(void *function) {
    Dl_info info;
    return dladdr(function, &info) && strstr(info.dli_fname, "libfarfault-opencl.so");
}

static void use(void) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int status, value = 11;
    OK(p_clGetPlatformIDs(1, &platform, NULL));
    OK(p_clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    if (client_is_preloaded())
        OK(p_clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    cl_context context = p_clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    OK(status);
    cl_command_queue queue = p_clCreateCommandQueue(context, device, 0, &status);
    OK(status);
    cl_mem buffer = p_clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    OK(status);
    cl_int *numbers = malloc(SIZE);
    CHECK(numbers);
    OK(p_clEnqueueFillBuffer(queue, buffer, &value, sizeof value, 0, SIZE, 0, NULL, NULL));
    OK(p_clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, SIZE, numbers, 0, NULL, NULL));
    for (size_t i = 0; i < COUNT; i++)
        CHECK(numbers[i] == 11);
    CHECK(!p_clGetExtensionFunctionAddress("clNoSuchFunction"));
    CHECK(!p_clGetExtensionFunctionAddressForPlatform(platform, "clNoSuchFunction"));
    void *icd = p_clGetExtensionFunctionAddressForPlatform(platform, "clIcdGetPlatformIDsKHR");
    CHECK(!icd || !is_ours(icd));
    OK(p_clReleaseMemObject(buffer));
    OK(p_clReleaseCommandQueue(queue));
    OK(p_clReleaseContext(context));
    free(numbers);
}

/* dlsym() means what it always does. */
static void test_other_look_ups(void *library) {
    CHECK(dlsym(RTLD_NEXT, "getppid") == dlsym(RTLD_DEFAULT, "getppid"));
    CHECK(dlsym(RTLD_DEFAULT, "client_check") == NULL);
    dlerror();
    CHECK(dlsym(library, "clNoSuchFunction") == NULL);
    const char *error = dlerror();
    CHECK(error && strstr(error, "clNoSuchFunction"));
    CHECK(dlsym(library, "getppid") != NULL);
    void *self = dlopen(NULL, RTLD_NOW);
    CHECK(self && dlsym(self, "clCreateBuffer") == dlsym(RTLD_DEFAULT, "clCreateBuffer"));
    dlclose(self);
}

__attribute__((noreturn)) void client_fail(const char *file, int line, const char *what,
                                           cl_int status) {
    fprintf(stderr, "%s:%d: %s (status %d)\n", file, line, what, status);
    exit(EXIT_FAILURE);
}

bool client_is_preloaded(void) {
    return getenv("FARFAULT_REQUIRE") != NULL;
}

int main(void) {
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    look_up(library);
#ifdef __x86_64__ /* where the preload answers dlsym() */
    CHECK(is_ours((void *)p_clCreateBuffer) == client_is_preloaded());
    CHECK(!is_ours((void *)p_clReleaseContext));
#endif
    use();
    test_other_look_ups(library);
    dlclose(library);
    return 0;
}
