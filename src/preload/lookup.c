#include "preload/lookup.h"

#include "preload/preload.h"

#include <dlfcn.h>
#include <string.h>

/* ---- the table of real functions ---- */

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static _Thread_local bool loading;

static void **place_of(const struct ff__hook *hook) {
    return (void **)(void *)((char *)ff__hooks.real + hook->offset);
}

/* The library comes after us in a program that links to it; for one that opens it at run time, and
 * perhaps not globally, we open it ourselves. */
static void load(void) {
    void *library = NULL;
    loading = true;
    for (size_t i = 0; i < ff__hooks.count; i++) {
        const char *name = ff__hooks.items[i].name;
        void *function = dlsym(RTLD_NEXT, name);
        if (!function && !library)
            library = dlopen(ff__hooks.library, RTLD_NOW | RTLD_LOCAL);
        if (!function && library)
            function = dlsym(library, name);
        *place_of(&ff__hooks.items[i]) = function;
    }
    loading = false;
}

void ff__hooks_load(void) {
    pthread_once(&loaded, load);
}

static const struct ff__hook *find_hook(const char *name) {
    for (size_t i = 0; i < ff__hooks.count; i++)
        if (strcmp(ff__hooks.items[i].name, name) == 0)
            return &ff__hooks.items[i];
    return NULL;
}

/* ---- programs that look functions up ---- */

void *ff__hook_in_place_of(const char *name, void *found) {
    const struct ff__hook *hook = found && name ? find_hook(name) : NULL;
    if (!hook || !hook->hook)
        return found;
    ff__hooks_load();
    return *place_of(hook) ? hook->hook : found;
}

/* A program may open the library itself and look its functions up with dlsym(). Ours answers with a
 * hook exactly where the C library's would have answered with the function that is hooked: OpenCL's
 * loader looks for functions of the same names in PoCL, and must find those.
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
    const struct ff__hook *hook = find_hook(name);
    if (loading || !hook || !hook->hook)
        return NULL;
    ff__hooks_load();
    void *found = *place_of(hook);
    return found && real(handle, name) == found ? hook->hook : NULL;
}

/* Of several preloads only the first one's dlsym() is called: it asks the next one by this. */
typedef void *hook_fn(void *handle, const char *name, dlsym_fn *real);
FF_HOOKED hook_fn farfault_dlsym_hook;

void *farfault_dlsym_hook(void *handle, const char *name, dlsym_fn *real) {
    void *hook = choose_hook(handle, name, real);
    hook_fn *next = hook ? NULL : (hook_fn *)real(RTLD_NEXT, "farfault_dlsym_hook");
    return next ? next(handle, name, real) : hook;
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
    bool named = handle != RTLD_NEXT && handle != RTLD_DEFAULT && name && name[0] == 'c';
    return named ? farfault_dlsym_hook(handle, name, real) : NULL;
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
