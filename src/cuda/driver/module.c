/* Modules and libraries: images of device code, of which the PTX is translated, and their kernels
 * and variables. A library's kernels serve all contexts; a handle of a kernel and one of its
 * function are the same here. */
#include "cuda/driver/internal.h"

#include "base/error.h"
#include "preload/preload.h"
#include "preload/working_set.h"
#include "ptx/fatbin.h"
#include "ptx/program.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct CUlib_st {
    CUmodule module;
};

static CUmodule all; /* of contexts and libraries, by `next_of_all` */

/* ---- images ---- */

#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC  0xba55ed50u

/* 0: a text is shorter. */
static uint32_t word_at(const char *bytes) {
    uint32_t word = 0;
    if (strnlen(bytes, sizeof word) == sizeof word)
        memcpy(&word, bytes, sizeof word);
    return word;
}

static size_t size_of_elf(const char *bytes) {
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof header);
    return header.e_shoff + (size_t)header.e_shentsize * header.e_shnum;
}

/* An image is a pointer alone: its kind says how long it is. */
static const char *find_image(const void *image, size_t *size) {
    const char *bytes = image;
    if (word_at(bytes) == WRAPPER_MAGIC)
        memcpy(&bytes, bytes + 8, sizeof bytes);
    if (word_at(bytes) == FATBIN_MAGIC) {
        uint16_t header;
        uint64_t data;
        memcpy(&header, bytes + 6, sizeof header);
        memcpy(&data, bytes + 8, sizeof data);
        *size = header + data;
    } else if (strncmp(bytes, ELFMAG, SELFMAG) == 0) {
        *size = size_of_elf(bytes);
    } else {
        *size = strlen(bytes);
    }
    return bytes;
}

static bool is_nearer(uint32_t arch, uint32_t than, uint32_t to) {
    if ((arch <= to) != (than <= to))
        return arch <= to;
    return arch <= to ? arch > than : arch < than;
}

/* The PTX that is nearest to the device's capability and not above it; else, as it is translated
 * all the same, the nearest one above it; -1: there is none. */
static int choose(const struct ff__ptx_images *images) {
    uint32_t arch =
        (uint32_t)(10 * ff__cuda_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                   ff__cuda_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    int best = -1;
    for (uint32_t i = 0; i < images->count; i++)
        if (images->items[i].is_text &&
            (best < 0 || is_nearer(images->items[i].arch, images->items[best].arch, arch)))
            best = (int)i;
    return best;
}

/* Says what there is instead, once. */
static CUresult no_binary(const struct ff__ptx_images *images) {
    char line[200] = "no PTX that this device can run; the image has", part[24];
    struct ff_error error;
    for (uint32_t i = 0; i < images->count; i++) {
        snprintf(part, sizeof part, " %s_%u", images->items[i].is_text ? "compute" : "sm",
                 images->items[i].arch);
        if (strlen(line) + strlen(part) < sizeof line && strstr(line, part) == NULL)
            strcat(line, part);
    }
    ff__cuda_result(ff__fail(&error, -EBADF, "%s", line), &error);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* The best of an image's texts. */
static CUresult find_text(const void *bytes, size_t size, struct ff__image *out) {
    struct ff__ptx_images images;
    struct ff_error error;
    int code = ff__images_find(bytes, size, &images, &error);
    if (code != 0) {
        ff__cuda_result(code, &error);
        return code == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
    }
    int best = choose(&images);
    CUresult result = best < 0 ? no_binary(&images) : CUDA_SUCCESS;
    if (best >= 0)
        *out = images.items[best];
    ff__images_free(&images);
    return result;
}

CUresult ff__cuda_text_of(const void *bytes, size_t size, char **text, size_t *text_size) {
    struct ff__image image;
    struct ff_error error;
    CUresult result = find_text(bytes, size, &image);
    return result == CUDA_SUCCESS
               ? ff__cuda_result(ff__image_read(&image, text, text_size, &error), &error)
               : result;
}

static CUresult load_text(CUmodule module, const struct ff__image *image) {
    const struct ff__ptx_options options = {.record = ff_records_accesses(ff__cuda_farfault())};
    struct ff_error error;
    char *text;
    size_t size;
    int code = ff__image_read(image, &text, &size, &error);
    if (code == 0) {
        code = ff__ptx_load(text, size, &options, &module->program, &error);
        free(text);
    }
    module->arch = image->arch;
    module->version = image->version;
    CUresult result = ff__cuda_result(code, &error);
    return code == -EINVAL ? CUDA_ERROR_INVALID_PTX : result;
}

static CUresult load_image(CUmodule module, const void *bytes, size_t size) {
    struct ff__image image;
    CUresult result = find_text(bytes, size, &image);
    return result == CUDA_SUCCESS ? load_text(module, &image) : result;
}

/* ---- modules ---- */

static bool is_kernel(const struct ff__ptx_function *function) {
    return function->is_entry && !function->is_declaration;
}

static CUresult make_functions(CUmodule module) {
    const struct ff__ptx_module *code = module->program->module;
    module->functions = calloc(code->function_count + 1, sizeof *module->functions);
    if (module->functions == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < code->function_count; i++)
        if (is_kernel(&code->functions[i]))
            module->functions[module->function_count++] =
                (struct CUfunc_st){.module = module,
                                   .code = &code->functions[i],
                                   .name = code->functions[i].name,
                                   .dynamic_shared = -1};
    return CUDA_SUCCESS;
}

static void add_module(CUmodule module) {
    ff__lock_acquire(&ff__cuda_lock);
    module->next_of_all = all;
    all = module;
    if (module->context != NULL) {
        module->next = module->context->modules;
        module->context->modules = module;
    }
    ff__lock_release(&ff__cuda_lock);
}

static void free_module(CUmodule module) {
    if (module->program != NULL) {
        ff_places_keep(ff__cuda_farfault());
        ff__ptx_unload(module->program);
    }
    for (uint32_t i = 0; i < module->function_count; i++)
        ff__working_set_free(module->functions[i].working_set);
    free(module->functions);
    free(module);
}

static CUresult make_module(CUcontext context, const void *bytes, size_t size, CUmodule *out) {
    CUmodule module = calloc(1, sizeof *module);
    if (module == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    module->context = context;
    module->brings = ff__brings_working_sets();
    CUresult result = load_image(module, bytes, size);
    if (result == CUDA_SUCCESS)
        result = make_functions(module);
    module->allocates = result == CUDA_SUCCESS && ff__ptx_allocates(module->program);
    if (result != CUDA_SUCCESS) {
        free_module(module);
        return result;
    }
    add_module(module);
    *out = module;
    return CUDA_SUCCESS;
}

static void unlink_module(CUmodule module) {
    ff__lock_acquire(&ff__cuda_lock);
    CUmodule *link = &all;
    while (*link != module)
        link = &(*link)->next_of_all;
    *link = module->next_of_all;
    if (module->context != NULL) {
        link = &module->context->modules;
        while (*link != module)
            link = &(*link)->next;
        *link = module->next;
    }
    ff__lock_release(&ff__cuda_lock);
}

void ff__cuda_module_end(CUmodule module) {
    unlink_module(module);
    free_module(module);
}

CUresult ff__cuda_module_errors(CUcontext context) {
    struct ff_error error;
    ff__lock_acquire(&ff__cuda_lock);
    for (CUmodule module = all; module != NULL; module = module->next_of_all) {
        CUcontext of = module->context != NULL ? module->context : context;
        int code = ff__ptx_failure(module->program, &error);
        if (code != 0 && of->error == CUDA_SUCCESS)
            __atomic_store_n(&of->error, ff__cuda_result(code, &error), __ATOMIC_RELAXED);
    }
    ff__lock_release(&ff__cuda_lock);
    return __atomic_load_n(&context->error, __ATOMIC_RELAXED);
}

/* ---- loading ---- */

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    CUcontext context;
    size_t size;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (module == NULL || image == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const char *bytes = find_image(image, &size);
    return make_module(context, bytes, size, module);
}

/* Options are for NVIDIA's compiler; logs stay empty. */
void ff__cuda_empty_logs(unsigned count, const CUjit_option *options, void **values) {
    for (unsigned i = 0; options != NULL && values != NULL && i < count; i++)
        if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES ||
            options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            values[i] = NULL;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                            CUjit_option *options, void **values) {
    ff__cuda_empty_logs(count, options, values);
    return cuModuleLoadData(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) {
    return cuModuleLoadData(module, image);
}

CUresult ff__cuda_read_file(const char *path, char **out, size_t *size) {
    FILE *file = fopen(path, "re");
    struct stat status;
    if (file == NULL)
        return CUDA_ERROR_FILE_NOT_FOUND;
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    *out = NULL;
    if (fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode))
        result = CUDA_ERROR_INVALID_SOURCE;
    else if ((*out = calloc((size_t)status.st_size + 1, 1)) != NULL)
        result = (*size = fread(*out, 1, (size_t)status.st_size, file)) == (size_t)status.st_size
                     ? CUDA_SUCCESS
                     : CUDA_ERROR_OPERATING_SYSTEM;
    fclose(file);
    if (result != CUDA_SUCCESS)
        free(*out);
    return result;
}

static CUresult load_file(CUcontext context, const char *path, CUmodule *module) {
    char *bytes;
    size_t size;
    CUresult result = ff__cuda_read_file(path, &bytes, &size);
    if (result != CUDA_SUCCESS)
        return result;
    result = make_module(context, bytes, size, module);
    free(bytes);
    return result;
}

CUresult cuModuleLoad(CUmodule *module, const char *path) {
    CUcontext context;
    if (module == NULL || path == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = ff__cuda_enter(&context);
    return result == CUDA_SUCCESS ? load_file(context, path, module) : result;
}

CUresult cuModuleUnload(CUmodule module) {
    CUcontext context;
    CUresult result = ff__cuda_enter_with(module, &context);
    if (result != CUDA_SUCCESS)
        return result;
    if (module->library != NULL)
        return CUDA_ERROR_NOT_PERMITTED;
    result = ff__cuda_context_wait(module->context); /* no launch of it may be running */
    ff__cuda_module_end(module);
    return result;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
    CUresult result = ff__cuda_started_with(mode);
    if (result == CUDA_SUCCESS)
        *mode = CU_MODULE_LAZY_LOADING;
    return result;
}

/* ---- what is in a module ---- */

CUresult cuFuncLoad(CUfunction function) {
    struct ff_error error;
    if (function == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (__atomic_load_n(&function->kernel, __ATOMIC_ACQUIRE) != NULL)
        return CUDA_SUCCESS;
    struct ff__ptx_kernel *kernel;
    int code = ff__ptx_kernel(function->module->program, function->name, &kernel, &error);
    struct ff__ptx_kernel *none = NULL; /* another thread may have loaded it: one write */
    if (code == 0)
        __atomic_compare_exchange_n(&function->kernel, &none, kernel, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE);
    return ff__cuda_result(code, &error);
}

static CUresult find_function(CUmodule module, const char *name, CUfunction *out) {
    for (uint32_t i = 0; i < module->function_count; i++)
        if (strcmp(module->functions[i].name, name) == 0) {
            *out = &module->functions[i];
            return cuFuncLoad(*out);
        }
    return CUDA_ERROR_NOT_FOUND;
}

static CUresult find_variable(CUmodule module, const char *name, CUdeviceptr *address,
                              size_t *size) {
    struct ff_error error;
    void *found;
    int code = ff__ptx_symbol(module->program, name, &found, size, &error);
    if (code == -ENOENT)
        return CUDA_ERROR_NOT_FOUND;
    if (code == 0 && address != NULL)
        *address = (uintptr_t)found;
    return ff__cuda_result(code, &error);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (function == NULL || module == NULL || name == NULL || *name == '\0')
        return CUDA_ERROR_INVALID_VALUE;
    return find_function(module, name, function);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule module,
                              const char *name) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (name == NULL || module == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return find_variable(module, name, address, size);
}

CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule module) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (count == NULL || module == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *count = module->function_count;
    return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned count, CUmodule module) {
    CUresult result = ff__cuda_started();
    if (functions == NULL || module == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < count && i < module->function_count; i++)
        functions[i] = &module->functions[i];
    return result;
}

/* ---- libraries ---- */

static CUresult make_library(CUmodule module, CUlibrary *out) {
    CUlibrary library = calloc(1, sizeof *library);
    if (library == NULL) {
        ff__cuda_module_end(module);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    library->module = module;
    module->library = library;
    *out = library;
    return CUDA_SUCCESS;
}

/* A file is always read into memory of the driver's own. */
static bool are_options(unsigned count, const CUlibraryOption *options, bool is_file) {
    if (count != 0 && options == NULL)
        return false;
    for (unsigned i = 0; i < count; i++)
        if ((unsigned)options[i] > CU_LIBRARY_BINARY_IS_PRESERVED ||
            (is_file && options[i] == CU_LIBRARY_BINARY_IS_PRESERVED))
            return false;
    return true;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options,
                           void **values, unsigned count, CUlibraryOption *library_options,
                           void **library_values, unsigned library_count) {
    CUresult result = ff__cuda_started();
    CUmodule module;
    size_t size;
    (void)library_values;
    if (library == NULL || code == NULL || !are_options(library_count, library_options, false))
        return CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    ff__cuda_empty_logs(count, options, values);
    const char *bytes = find_image(code, &size);
    result = make_module(NULL, bytes, size, &module);
    return result == CUDA_SUCCESS ? make_library(module, library) : result;
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *options,
                               void **values, unsigned count, CUlibraryOption *library_options,
                               void **library_values, unsigned library_count) {
    CUresult result = ff__cuda_started();
    CUmodule module;
    (void)library_values;
    if (library == NULL || path == NULL || !are_options(library_count, library_options, true))
        return CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    ff__cuda_empty_logs(count, options, values);
    result = load_file(NULL, path, &module);
    return result == CUDA_SUCCESS ? make_library(module, library) : result;
}

/* From there on the list does not change. */
static CUcontext first_context(void) {
    ff__lock_acquire(&ff__cuda_lock);
    CUcontext first = ff__cuda_contexts;
    ff__lock_release(&ff__cuda_lock);
    return first;
}

CUresult cuLibraryUnload(CUlibrary library) {
    CUresult result = ff__cuda_started_with(library);
    if (result != CUDA_SUCCESS)
        return result;
    for (CUcontext context = first_context(); context != NULL; context = context->next)
        ff__cuda_context_wait(context);
    ff__cuda_module_end(library->module);
    free(library);
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
    CUresult result = ff__cuda_started();
    CUfunction function;
    if (kernel == NULL || name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (library == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        result = find_function(library->module, name, &function);
    if (result == CUDA_SUCCESS)
        *kernel = (CUkernel)function;
    return result;
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (module == NULL || library == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *module = library->module;
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *size, CUlibrary library,
                            const char *name) {
    CUresult result = ff__cuda_started();
    if (library == NULL || name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? find_variable(library->module, name, address, size) : result;
}

CUresult cuLibraryGetManaged(CUdeviceptr *address, size_t *size, CUlibrary library,
                             const char *name) {
    return cuLibraryGetGlobal(address, size, library, name);
}

CUresult cuLibraryGetKernelCount(unsigned *count, CUlibrary library) {
    return library == NULL ? CUDA_ERROR_INVALID_VALUE
                           : cuModuleGetFunctionCount(count, library->module);
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned count, CUlibrary library) {
    return library == NULL
               ? CUDA_ERROR_INVALID_VALUE
               : cuModuleEnumerateFunctions((CUfunction *)kernels, count, library->module);
}

CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel) {
    CUresult result = ff__cuda_started();
    if (library == NULL || kernel == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUmodule module = ((CUfunction)kernel)->module;
    if (result == CUDA_SUCCESS && (module == NULL || module->library == NULL))
        return CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS)
        *library = module->library;
    return result;
}
