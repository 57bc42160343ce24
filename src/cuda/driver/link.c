/* Linking: texts of PTX become one text, which the driver loads as any other. A name may be defined
 * in one of them alone. */
#include "cuda/driver/internal.h"

#include "base/error.h"
#include "ptx/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct CUlinkState_st {
    char *text; /* all that was added, with a zero behind it */
    size_t size;
    struct ff__ptx_module **modules; /* [count]: what each defines */
    uint32_t count;
};

CUresult cuLinkCreate_v2(unsigned count, CUjit_option *options, void **values, CUlinkState *out) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL || (count != 0 && (options == NULL || values == NULL)))
        return CUDA_ERROR_INVALID_VALUE;
    ff__cuda_empty_logs(count, options, values);
    *out = calloc(1, sizeof **out);
    return *out != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- adding ---- */

static bool defines(const struct ff__ptx_module *module, const char *name) {
    for (uint32_t i = 0; i < module->function_count; i++)
        if (!module->functions[i].is_declaration && strcmp(module->functions[i].name, name) == 0)
            return true;
    for (uint32_t i = 0; i < module->variable_count; i++)
        if (!module->variables[i].is_extern && strcmp(module->variables[i].name, name) == 0)
            return true;
    return false;
}

/* What the module defines and one of the state's does, too; NULL: nothing. */
static const char *defined_twice(CUlinkState state, const struct ff__ptx_module *module) {
    for (uint32_t m = 0; m < state->count; m++) {
        for (uint32_t i = 0; i < module->function_count; i++)
            if (!module->functions[i].is_declaration &&
                defines(state->modules[m], module->functions[i].name))
                return module->functions[i].name;
        for (uint32_t i = 0; i < module->variable_count; i++)
            if (!module->variables[i].is_extern &&
                defines(state->modules[m], module->variables[i].name))
                return module->variables[i].name;
    }
    return NULL;
}

static CUresult append(CUlinkState state, const char *text, size_t size,
                       struct ff__ptx_module *module) {
    char *grown = realloc(state->text, state->size + size + 2);
    struct ff__ptx_module **more =
        realloc(state->modules, (state->count + 1) * sizeof(struct ff__ptx_module *));
    state->text = grown != NULL ? grown : state->text;
    state->modules = more != NULL ? more : state->modules;
    if (grown == NULL || more == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    state->modules[state->count++] = module;
    memcpy(state->text + state->size, text, size);
    state->size += size + 1;
    state->text[state->size - 1] = '\n';
    state->text[state->size] = '\0';
    return CUDA_SUCCESS;
}

static CUresult add_text(CUlinkState state, const char *text, size_t size) {
    struct ff__ptx_module *module;
    struct ff_error error;
    int code = ff__ptx_read(text, size, &module, &error);
    if (code != 0) {
        CUresult result = ff__cuda_result(code, &error);
        return code == -EINVAL ? CUDA_ERROR_INVALID_PTX : result;
    }
    const char *name = defined_twice(state, module);
    if (name != NULL)
        ff__cuda_result(
            ff__fail(&error, -EINVAL, "two of the texts that are linked define '%s'", name),
            &error);
    CUresult result =
        name != NULL ? CUDA_ERROR_INVALID_PTX : append(state, text, strnlen(text, size), module);
    if (result != CUDA_SUCCESS)
        ff__ptx_module_free(module);
    return result;
}

static CUresult add(CUlinkState state, CUjitInputType type, const char *bytes, size_t size) {
    char *text;
    if (type == CU_JIT_INPUT_PTX)
        return add_text(state, bytes, size);
    CUresult result = ff__cuda_text_of(bytes, size, &text, &size);
    if (result != CUDA_SUCCESS)
        return result;
    result = add_text(state, text, size);
    free(text);
    return result;
}

static CUresult check(CUlinkState state, CUjitInputType type, const void *input) {
    CUresult result = ff__cuda_started();
    if (state == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    return input == NULL || (unsigned)type > CU_JIT_INPUT_LIBRARY ? CUDA_ERROR_INVALID_VALUE
                                                                  : result;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                          const char *name, unsigned count, CUjit_option *options, void **values) {
    CUresult result = check(state, type, data);
    (void)name, (void)count, (void)options, (void)values;
    return result == CUDA_SUCCESS ? add(state, type, data, size) : result;
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned count,
                          CUjit_option *options, void **values) {
    char *bytes;
    size_t size;
    CUresult result = check(state, type, path);
    (void)count, (void)options, (void)values;
    if (result == CUDA_SUCCESS)
        result = ff__cuda_read_file(path, &bytes, &size);
    if (result != CUDA_SUCCESS)
        return result;
    result = add(state, type, bytes, size);
    free(bytes);
    return result;
}

/* ---- the end ---- */

/* The image is the state's, and stays until that is destroyed. */
CUresult cuLinkComplete(CUlinkState state, void **image, size_t *size) {
    CUresult result = ff__cuda_started();
    if (state == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (image == NULL || state->count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    *image = state->text;
    if (size != NULL)
        *size = state->size + 1;
    return result;
}

CUresult cuLinkDestroy(CUlinkState state) {
    CUresult result = ff__cuda_started();
    if (state == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    for (uint32_t i = 0; i < state->count; i++)
        ff__ptx_module_free(state->modules[i]);
    free(state->modules);
    free(state->text);
    free(state);
    return result;
}
