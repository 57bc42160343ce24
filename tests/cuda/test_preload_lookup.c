/* How programs and run times find the driver's functions, and that they get the preload's in place
 * of those that it hooks, and of no others. Each case is what has gone wrong in another preload. */
#include "cuda/driver.h"

#include <dlfcn.h>

#define MUCH ((size_t)16 << 20) /* on a device of 8 MiB */

typedef CUresult alloc_fn(CUdeviceptr *address, size_t size);
typedef CUresult alloc_async_fn(CUdeviceptr *address, size_t size, CUstream stream);
typedef CUresult get_fn(const char *name, void **function, int version, cuuint64_t flags);
typedef CUresult get_v2_fn(const char *name, void **function, int version, cuuint64_t flags,
                           CUdriverProcAddressQueryResult *status);

static void *driver, *other;

static int open_libraries(void **state) {
    begin(state);
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    other = dlopen(NAMESAKES, RTLD_NOW | RTLD_LOCAL);
    return driver == NULL || other == NULL;
}

static int close_libraries(void **state) {
    dlclose(other);
    dlclose(driver);
    return end(state);
}

/* Only the hook has more than the device. */
static void check_hooked(void *function) {
    alloc_fn *alloc;
    CUdeviceptr address;
    memcpy(&alloc, &function, sizeof alloc);
    assert_non_null(function);
    OK(alloc(&address, MUCH));
    OK(cuMemFree_v2(address));
}

static void by_any_handle(void **state) {
    void *self = dlopen(NULL, RTLD_NOW);
    (void)state;
    check_hooked(dlsym(driver, "cuMemAlloc_v2"));
    check_hooked(dlsym(self, "cuMemAlloc_v2"));
    check_hooked(dlsym(NULL, "cuMemAlloc_v2")); /* the value of RTLD_DEFAULT */
    check_hooked(dlsym(RTLD_NEXT, "cuMemAlloc_v2"));
    assert_null(dlsym(driver, "cuMemAlloc_v9"));
    assert_ptr_equal(dlsym(driver, "cuInit"), (void *)cuInit);
    dlclose(self);
}

/* A wrapper of a driver has functions of the same names, and looks for them in itself. */
static void namesakes_are_left_alone(void **state) {
    CUresult (*find_own)(void);
    alloc_fn *alloc;
    (void)state;
    *(void **)&alloc = dlsym(other, "cuMemAlloc_v2");
    assert_int_equal(alloc(NULL, 0), CUDA_ERROR_SYSTEM_NOT_READY);
    *(void **)&find_own = dlsym(other, "find_own");
    assert_int_equal(find_own(), CUDA_SUCCESS);
}

static void *get(const char *name, int version, cuuint64_t flags) {
    CUdriverProcAddressQueryResult status;
    void *function = NULL, *old = NULL;
    OK(cuGetProcAddress_v2(name, &function, version, flags, &status));
    OK(cuGetProcAddress(name, &old, version, flags));
    assert_ptr_equal(function, old);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    return function;
}

/* Run times ask it for itself first, and everything else of what they got. */
static void by_the_drivers_own_way(void **state) {
    void *found, *first = get("cuGetProcAddress", 11030, 0);
    get_fn *old;
    get_v2_fn *now;
    (void)state;
    assert_ptr_equal(first, (void *)cuGetProcAddress);
    memcpy(&old, &first, sizeof old);
    OK(old("cuMemAlloc", &found, 11030, 0));
    check_hooked(found);
    first = get("cuGetProcAddress", 12000, 0);
    assert_ptr_equal(first, (void *)cuGetProcAddress_v2);
    memcpy(&now, &first, sizeof now);
    OK(now("cuGetProcAddress", &first, 13000, 0, NULL));
    assert_ptr_equal(first, (void *)cuGetProcAddress_v2);
    OK(now("cuMemAlloc", &found, 13000, 0, NULL));
    check_hooked(found);
}

/* A name means another interface in another version of CUDA. */
static void in_the_form_of_the_version(void **state) {
    (void)state;
    check_hooked(get("cuMemAlloc", 3020, 0));
    assert_ptr_equal(get("cuCtxCreate", 4000, 0), (void *)cuCtxCreate_v2);
    assert_ptr_equal(get("cuCtxCreate", 11080, 0), (void *)cuCtxCreate_v3);
    assert_ptr_equal(get("cuCtxCreate", 13000, 0), (void *)cuCtxCreate_v4);
    assert_ptr_equal(get("cuMemAllocAsync", 11020, 0), (void *)cuMemAllocAsync);
    assert_ptr_equal(get("cuMemAllocAsync", 11020, 2), (void *)cuMemAllocAsync_ptsz);
    assert_ptr_equal(get("cuMemFreeAsync", 13000, 2), (void *)cuMemFreeAsync_ptsz);
}

static void what_is_not_there_stays_so(void **state) {
    void *function = state;
    GIVES(ERROR_NOT_FOUND, cuGetProcAddress_v2("cuMemAllocAsync", &function, 11010, 0, NULL));
    assert_null(function);
    REFUSED(cuGetProcAddress_v2(NULL, &function, 12000, 0, NULL));
    REFUSED(cuGetProcAddress_v2("cuMemAlloc", NULL, 12000, 0, NULL));
    REFUSED(cuGetProcAddress(NULL, &function, 12000, 0));
    REFUSED(cuGetProcAddress("cuMemAlloc", NULL, 12000, 0));
}

static void threads_streams_allocate_too(void **state) {
    void *found = get("cuMemAllocAsync", 12000, 2);
    alloc_async_fn *alloc;
    CUdeviceptr address;
    (void)state;
    memcpy(&alloc, &found, sizeof alloc);
    OK(alloc(&address, MUCH, NULL));
    OK(cuMemFreeAsync_ptsz(address, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_any_handle),
                                       cmocka_unit_test(namesakes_are_left_alone),
                                       cmocka_unit_test(by_the_drivers_own_way),
                                       cmocka_unit_test(in_the_form_of_the_version),
                                       cmocka_unit_test(what_is_not_there_stays_so),
                                       cmocka_unit_test(threads_streams_allocate_too)};
    return cmocka_run_group_tests(tests, open_libraries, close_libraries);
}
