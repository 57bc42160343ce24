#include "report/ptx/code.h"
#include "ptx/cubin.h"
#include "ptx/emit.h"
#include "ptx/read.h"
#include "ptx/source_name.h"

#include <ctype.h>
#include <stdlib.h>

static const struct ff__ptx_emit_options plain;

/* ---- PTX ---- */

static struct ff__code_kernel of_function(const struct ff__ptx_function *function) {
    return (struct ff__code_kernel){
        .symbol = ff__text("%s", function->name),
        .name = ff__must(ff__ptx_source_name(function->name, true)),
        .is_entry = function->is_entry,
        .parameters = function->parameter_count,
        .bytes = function->parameter_size,
        .registers = function->register_count,
        .max_threads = function->max_threads,
        .shared = function->shared_size,
        .refused = function->refused[0] != '\0' ? ff__text("%s", function->refused) : NULL};
}

static void list_functions(const struct ff__ptx_module *module, bool extents,
                           struct ff__code *out) {
    out->kernels = ff__must(calloc(module->function_count + 1ul, sizeof *out->kernels));
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct ff__ptx_function *function = &module->functions[i];
        if (function->is_declaration)
            continue;
        struct ff__code_kernel *kernel = &out->kernels[out->count++];
        *kernel = of_function(function);
        kernel->has_extents = extents && function->is_entry && !kernel->refused;
        if (kernel->has_extents)
            kernel->extent_count =
                ff__code_extents(function, &kernel->extents, &kernel->extents_are_all);
    }
}

/* One translation of the module says what is refused. */
static int read_text(const char *text, size_t size, bool extents, struct ff__code *out,
                     struct ff_error *error) {
    struct ff__ptx_module *module;
    char *translated = NULL;
    size_t length;
    int status = ff__ptx_read(text, size, &module, error);
    if (status)
        return status;
    status = ff__ptx_emit(module, &plain, &translated, &length, error);
    if (!status)
        list_functions(module, extents, out);
    free(translated);
    ff__ptx_module_free(module);
    return status;
}

int ff__code_translate(const struct ff__image *image, char **out, size_t *size,
                       struct ff_error *error) {
    struct ff__ptx_module *module;
    char *text;
    size_t length;
    int status = ff__image_read(image, &text, &length, error);
    if (status)
        return status;
    status = ff__ptx_read(text, length, &module, error);
    free(text);
    if (status)
        return status;
    status = ff__ptx_emit(module, &plain, out, size, error);
    ff__ptx_module_free(module);
    return status;
}

/* ---- cubins ---- */

/* A name of a file's may have anything in it, also what moves a terminal's cursor. */
static char *clean_name(const char *name) {
    char *copy = ff__text("%s", name);
    for (char *at = copy; *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
    return copy;
}

static int read_cubin(const char *bytes, size_t size, struct ff__code *out,
                      struct ff_error *error) {
    struct ff__cubin cubin;
    int status = ff__cubin_read(bytes, size, &cubin, error);
    if (status)
        return status;
    out->kernels = ff__must(calloc(cubin.count + 1ul, sizeof *out->kernels));
    for (uint32_t i = 0; i < cubin.count; i++) {
        const struct ff__cubin_kernel *kernel = &cubin.kernels[i];
        char *symbol = clean_name(kernel->name), *name = ff__ptx_source_name(symbol, true);
        out->kernels[out->count++] = (struct ff__code_kernel){.symbol = symbol,
                                                              .name = ff__must(name),
                                                              .is_entry = true,
                                                              .parameters = kernel->parameters,
                                                              .bytes = kernel->bytes,
                                                              .registers = kernel->registers,
                                                              .max_threads = kernel->max_threads,
                                                              .shared = kernel->shared};
    }
    ff__cubin_free(&cubin);
    return 0;
}

/* ---- images ---- */

void ff__code_read(const struct ff__image *image, uint32_t number, bool extents,
                   struct ff__code *out) {
    struct ff_error error = {""};
    char *content = NULL;
    size_t size;
    *out = (struct ff__code){.image = image, .number = number};
    int status = ff__image_read(image, &content, &size, &error);
    if (!status)
        status = image->is_text ? read_text(content, size, extents, out, &error)
                                : read_cubin(content, size, out, &error);
    if (status)
        out->wrong = ff__text("%s", error.message);
    free(content);
}

void ff__code_free(struct ff__code *code) {
    for (uint32_t i = 0; i < code->count; i++) {
        free(code->kernels[i].symbol);
        free(code->kernels[i].name);
        free(code->kernels[i].refused);
        ff__code_extents_free(code->kernels[i].extents, code->kernels[i].extent_count);
    }
    free(code->kernels);
    free(code->wrong);
    *code = (struct ff__code){0};
}
