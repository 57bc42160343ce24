/* Under the preload on a driver that lacks much of what is hooked: it finds what there is, and
 * nothing else. Without a driver's header: it finds everything by name, as programs do that run
 * everywhere. Prints what is wrong. */
#include <dlfcn.h>
#include <stdio.h>

typedef int init_fn(unsigned flags);
typedef int alloc_fn(unsigned long long *address, size_t size);
typedef int free_fn(unsigned long long address);
typedef int get_fn(const char *name, void **function, int version, unsigned long long flags);

static int failures;

static void check(int good, const char *what) {
    failures += !good;
    if (!good)
        printf("%s\n", what);
}

int main(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found = NULL;
    unsigned long long address = 0;
    init_fn *init;
    alloc_fn *alloc;
    free_fn *release;
    get_fn *get;
    check(driver != NULL, "no driver");
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&alloc = dlsym(driver, "cuMemAlloc_v2");
    *(void **)&release = dlsym(driver, "cuMemFree_v2");
    *(void **)&get = dlsym(driver, "cuGetProcAddress");
    check(init && alloc && release && get, "functions are missing");
    if (failures)
        return 1;
    check(init(0) == 0 && alloc(&address, 64) == 0 && address == 0x7000, "alloc");
    check(release(address) == 0 && release(1) == 1, "free");
    check(!dlsym(driver, "cuGetProcAddress_v2"), "a function that the driver has not");
    check(!dlsym(driver, "cuMemAllocAsync"), "another one");
    check(get("cuMemAlloc", &found, 11050, 0) == 0 && found == *(void **)&alloc, "get");
    check(get("cuMemAllocAsync", &found, 11050, 0) == 500 && !found, "get what is not there");
    return failures != 0;
}
