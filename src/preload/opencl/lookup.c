/* Finding OpenCL's own functions, and being found in their place. */
#include "preload/opencl/internal.h"

#include <dlfcn.h>
#include <string.h>

/* ---- the table of real functions ---- */

static struct ff__real table;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static _Thread_local bool loading;

static const struct opencl_function {
    const char *name;
    size_t offset; /* in struct ff__real */
    void *hook;    /* NULL: not hooked */
} entries[] = {
#define FF_HOOK(name) {#name, offsetof(struct ff__real, name), (void *)name},
#define FF_REAL(name) {#name, offsetof(struct ff__real, name), NULL},
#include "preload/opencl/hooks.def"
};

#define ENTRY_COUNT (sizeof entries / sizeof entries[0])

static void **place_of(const struct opencl_function *entry) {
    return (void **)(void *)((char *)&table + entry->offset);
}

/* The loader comes after us in a program that links to it; for one that opens it at run time, and
 * perhaps not globally, we open it ourselves. */
static void load(void) {
    void *library = NULL;
    loading = true;
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        void *function = dlsym(RTLD_NEXT, entries[i].name);
        if (!function && !library)
            library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!function && library)
            function = dlsym(library, entries[i].name);
        *place_of(&entries[i]) = function;
    }
    loading = false;
}

const struct ff__real *ff__real(void) {
    pthread_once(&loaded, load);
    return &table;
}

static const struct opencl_function *find_entry(const char *name) {
    for (size_t i = 0; i < ENTRY_COUNT; i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

/* ---- programs that look functions up ---- */

/* What the program shall have in place of `found`, which OpenCL has under this name. */
static void *in_place_of(const char *name, void *found) {
    const struct opencl_function *entry = found && name ? find_entry(name) : NULL;
    if (!entry || !entry->hook)
        return found;
    ff__real();
    return *place_of(entry) ? entry->hook : found;
}

FF_HOOKED void *CL_API_CALL clGetExtensionFunctionAddress(const char *name) {
    return in_place_of(name, REAL(clGetExtensionFunctionAddress)(name));
}

FF_HOOKED void *CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
                                                                     const char *name) {
    return in_place_of(name, REAL(clGetExtensionFunctionAddressForPlatform)(platform, name));
}

/* A program may open libOpenCL itself and look its functions up with dlsym(). Ours answers with a
 * hook exactly where the C library's would have answered with the loader's function: the loader
 * looks for functions of the same names in PoCL, and must find those.
 *
 * Every other call must reach the C library with the return address of its caller, which is what
 * RTLD_NEXT goes by, so it is a jump, which C cannot promise. Elsewhere than on x86-64 there is no
 * such hook. */
#ifdef __x86_64__

typedef void *dlsym_fn(void *handle, const char *name);

__attribute__((used)) dlsym_fn *ff__dlsym_real;
__attribute__((used)) dlsym_fn ff__dlsym_choose;

/* The run times of sanitizers look their own functions up before instrumented code can run. */
#if defined __has_attribute && __has_attribute(disable_sanitizer_instrumentation)
#define UNSANITIZED __attribute__((disable_sanitizer_instrumentation))
#else
#define UNSANITIZED                                                                                \
    __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))
#endif

static void *choose_hook(void *handle, const char *name, dlsym_fn *real) {
    const struct opencl_function *entry = strncmp(name, "cl", 2) == 0 ? find_entry(name) : NULL;
    if (loading || !entry || !entry->hook)
        return NULL;
    ff__real();
    void *found = *place_of(entry);
    return found && real(handle, name) == found ? entry->hook : NULL;
}

/* The hook, or NULL to go on to ff__dlsym_real. */
UNSANITIZED void *ff__dlsym_choose(void *handle, const char *name) {
    dlsym_fn *real = __atomic_load_n(&ff__dlsym_real, __ATOMIC_ACQUIRE);
    if (!real) {
        real = (dlsym_fn *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
        if (!real) /* before that it was in libdl */
            real = (dlsym_fn *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
        __atomic_store_n(&ff__dlsym_real, real, __ATOMIC_RELEASE);
    }
    bool named = handle != RTLD_NEXT && handle != RTLD_DEFAULT && name;
    return named ? choose_hook(handle, name, real) : NULL;
}

__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        ".cfi_startproc\n"
        "    pushq %rdi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n" /* calls want the stack aligned to 16 bytes */
        ".cfi_adjust_cfa_offset 8\n"
        "    call ff__dlsym_choose\n"
        "    addq $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "    testq %rax, %rax\n"
        "    jnz 1f\n"
        "    jmpq *ff__dlsym_real(%rip)\n"
        "1:  ret\n"
        ".cfi_endproc\n"
        ".size dlsym, . - dlsym\n");

#endif
