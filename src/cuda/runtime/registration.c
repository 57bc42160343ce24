/* What compilers call before main(): a program's images of device code, with the host functions and
 * variables that stand for kernels and variables of the device. An image is loaded into a context
 * when something of it is used there first. */
#include "cuda/runtime/registration.h"

#include "base/grow.h"
#include "base/map.h"
#include "cuda/runtime/internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What stands in an executable, by the compilers' convention. */
struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *const *linked; /* of version 2: images that were linked, up to NULL */
};

struct image {
    const void *data;
    CUmodule modules[FF__RT_CONTEXTS];
};

struct symbol {
    struct image *image; /* NULL: it is no longer registered */
    const void *host;
    const char *name;
    bool is_variable;
    void **managed; /* the host's pointer to a managed variable; NULL: another kind */
    size_t size;    /* of a variable that is loaded */
    union {
        CUfunction function;
        CUdeviceptr address;
    } in[FF__RT_CONTEXTS]; /* 0: not asked for yet */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ff__map numbers; /* of symbols, by host address */
static struct symbol *symbols;
static uint32_t symbol_count;
static CUcontext contexts[FF__RT_CONTEXTS];

/* ---- registering ---- */

void **__cudaRegisterFatBinary(void *fat_binary) {
    const struct wrapper *wrapper = fat_binary;
    struct image *image = calloc(1, sizeof *image);
    if (image)
        image->data = wrapper->version == 2 && wrapper->linked && wrapper->linked[0]
                          ? wrapper->linked[0]
                          : wrapper->data;
    return (void **)image;
}

void __cudaRegisterFatBinaryEnd(void **handle) {
    (void)handle;
}

static void add(const struct symbol *symbol) {
    pthread_mutex_lock(&lock);
    if (symbol->image && !ff__grow(&symbols, symbol_count, sizeof *symbols) &&
        !ff__map_put(&numbers, (uintptr_t)symbol->host, symbol_count))
        symbols[symbol_count++] = *symbol;
    pthread_mutex_unlock(&lock);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                            int *warp_size) {
    (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid;
    (void)warp_size;
    add(&(struct symbol){.image = (struct image *)handle, .host = host, .name = name});
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern,
                       size_t size, int is_constant, int is_global) {
    (void)device, (void)is_extern, (void)size, (void)is_constant, (void)is_global;
    add(&(struct symbol){
        .image = (struct image *)handle, .host = host, .name = name, .is_variable = true});
}

/* Here the host's variable is a pointer, which is what programs name where they mean it. */
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                              int is_extern, size_t size, int is_constant, int is_global) {
    (void)device, (void)is_extern, (void)size, (void)is_constant, (void)is_global;
    add(&(struct symbol){.image = (struct image *)handle,
                         .host = host,
                         .name = name,
                         .is_variable = true,
                         .managed = host});
}

/* ---- contexts ---- */

/* The number of the current context; FF__RT_CONTEXTS: there are too many. */
static unsigned number_of_current(void) {
    CUcontext current = NULL;
    unsigned i = 0;
    cuCtxGetCurrent(&current);
    while (i < FF__RT_CONTEXTS && contexts[i] && contexts[i] != current)
        i++;
    if (i < FF__RT_CONTEXTS)
        contexts[i] = current;
    return i;
}

/* ---- loading ---- */

static cudaError_t find_variable(struct symbol *symbol, unsigned context) {
    CUdeviceptr *address = &symbol->in[context].address;
    if (cuModuleGetGlobal(address, &symbol->size, symbol->image->modules[context], symbol->name))
        return cudaErrorInvalidSymbol;
    if (symbol->managed)
        *symbol->managed = (void *)(uintptr_t)*address;
    return cudaSuccess;
}

static cudaError_t find_kernel(struct symbol *symbol, unsigned context) {
    CUresult result = cuModuleGetFunction(&symbol->in[context].function,
                                          symbol->image->modules[context], symbol->name);
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : (cudaError_t)result;
}

/* The host may read managed variables from then on. */
static void find_managed(const struct image *image, unsigned context) {
    for (uint32_t i = 0; i < symbol_count; i++)
        if (symbols[i].image == image && symbols[i].managed)
            find_variable(&symbols[i], context);
}

static cudaError_t load(struct image *image, unsigned context) {
    if (image->modules[context])
        return cudaSuccess;
    CUresult result = cuModuleLoadData(&image->modules[context], image->data);
    if (!result)
        find_managed(image, context);
    return (cudaError_t)result;
}

char __cudaInitModule(void **handle) {
    if (ff__rt_enter())
        return 0;
    pthread_mutex_lock(&lock);
    unsigned context = number_of_current();
    bool good = context < FF__RT_CONTEXTS && !load((struct image *)handle, context);
    pthread_mutex_unlock(&lock);
    return good;
}

static cudaError_t find_in(struct symbol *symbol, unsigned context) {
    if (symbol->in[context].address)
        return cudaSuccess;
    cudaError_t error = load(symbol->image, context);
    if (error)
        return error;
    return symbol->is_variable ? find_variable(symbol, context) : find_kernel(symbol, context);
}

/* Called with the lock held. `*context`: the number of the current one. */
static cudaError_t find(const void *host, bool is_variable, struct symbol **symbol,
                        unsigned *context) {
    uint32_t number;
    if (!ff__map_get(&numbers, (uintptr_t)host, &number) ||
        symbols[number].is_variable != is_variable)
        return is_variable ? cudaErrorInvalidSymbol : cudaErrorInvalidDeviceFunction;
    *symbol = &symbols[number];
    *context = number_of_current();
    return *context < FF__RT_CONTEXTS ? find_in(*symbol, *context) : cudaErrorNotSupported;
}

cudaError_t ff__rt_host_kernel(const void *host, CUfunction *function) {
    struct symbol *symbol;
    unsigned context;
    cudaError_t error = (cudaError_t)ff__rt_enter();
    if (error)
        return error;
    pthread_mutex_lock(&lock);
    error = find(host, false, &symbol, &context);
    if (!error)
        *function = symbol->in[context].function;
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t ff__rt_variable(const void *host, CUdeviceptr *address, size_t *size) {
    struct symbol *symbol;
    unsigned context;
    cudaError_t error = (cudaError_t)ff__rt_enter();
    if (error)
        return error;
    pthread_mutex_lock(&lock);
    error = find(host, true, &symbol, &context);
    if (!error) {
        *address = symbol->in[context].address;
        *size = symbol->size;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

const void *ff__rt_host_of(CUfunction function) {
    const void *host = NULL;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < symbol_count && !host; i++)
        for (unsigned k = 0; k < FF__RT_CONTEXTS && !symbols[i].is_variable; k++)
            if (symbols[i].in[k].function == function)
                host = symbols[i].host;
    pthread_mutex_unlock(&lock);
    return host;
}

/* ---- the end ---- */

static void forget_symbol(struct symbol *symbol) {
    uint32_t number;
    if (ff__map_get(&numbers, (uintptr_t)symbol->host, &number) && symbol == &symbols[number])
        ff__map_remove(&numbers, (uintptr_t)symbol->host);
    *symbol = (struct symbol){0};
}

static void unload(struct image *image) {
    for (unsigned i = 0; i < FF__RT_CONTEXTS; i++)
        if (image->modules[i] && !cuCtxPushCurrent(contexts[i])) {
            cuModuleUnload(image->modules[i]);
            cuCtxPopCurrent(&(CUcontext){NULL});
        }
}

/* Of a library that is closed, or at the end of the process. */
void __cudaUnregisterFatBinary(void **handle) {
    struct image *image = (struct image *)handle;
    if (!image)
        return;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < symbol_count; i++)
        if (symbols[i].image == image)
            forget_symbol(&symbols[i]);
    unload(image);
    pthread_mutex_unlock(&lock);
    free(image);
}

static void forget_in(unsigned context) {
    for (uint32_t i = 0; i < symbol_count; i++) {
        symbols[i].in[context].address = 0;
        if (symbols[i].image)
            symbols[i].image->modules[context] = NULL;
    }
}

void ff__rt_forget(CUcontext context) {
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < FF__RT_CONTEXTS; i++)
        if (contexts[i] == context)
            forget_in(i);
    pthread_mutex_unlock(&lock);
}
