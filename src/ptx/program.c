#include "ptx/program.h"

#include "base/error.h"
#include "base/thread.h"
#include "ptx/cache.h"
#include "ptx/compile.h"
#include "ptx/emit.h"
#include "ptx/identity.h"
#include "ptx/object.h"
#include "ptx/read.h"
#include "ptx/source_name.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How a program's code comes about: from the cache, or in a thread. */
struct ff__ptx_build {
    struct ff__ptx_emit_options options;
    struct ff__ptx_compiler compiler;
    struct ff__ptx_cache cache;
    char key[FF__PTX_KEY];
    void *library;
    int code; /* 0, or why there is none, with `error` */
    struct ff_error error;

    pthread_mutex_t waiting; /* guards what follows, and `refused` of the module's functions */
    pthread_t thread;
    bool has_thread; /* until somebody waited for it */
    bool emitted;
};

/* ---- the key ---- */

static void make_key(struct ff__ptx_build *build, const char *text, size_t size) {
    struct ff__ptx_digest digest;
    uint8_t out[FF__PTX_DIGEST];
    const uint8_t options[] = {build->options.record, build->options.yields};
    ff__ptx_digest_start(&digest);
    ff__ptx_digest_add(&digest, ff__ptx_identity, strlen(ff__ptx_identity));
    ff__ptx_digest_add(&digest, options, sizeof options);
    ff__ptx_compiler_identify(&build->compiler, &digest);
    ff__ptx_digest_add(&digest, text, size);
    ff__ptx_digest_end(&digest, out);
    ff__ptx_cache_key(out, build->key);
}

/* ---- the code ---- */

static bool is_kernel(const struct ff__ptx_function *function) {
    return function->is_entry && !function->is_declaration;
}

static int make_kernels(struct ff__ptx_program *program, struct ff_error *error) {
    const struct ff_ptx_image *image = program->image;
    const struct ff__ptx_module *module = program->module;
    uint32_t found = 0;
    program->kernels = calloc(image->kernel_count + 1ul, sizeof *program->kernels);
    if (program->kernels == NULL)
        return ff__fail(error, -ENOMEM, "not enough memory for the kernels of a PTX module");
    for (uint32_t i = 0; i < module->function_count && found < image->kernel_count; i++) {
        const struct ff__ptx_function *function = &module->functions[i];
        if (!is_kernel(function) || strcmp(function->name, image->kernels[found].name) != 0)
            continue;
        program->kernels[found] = (struct ff__ptx_kernel){
            .program = program,
            .code = &image->kernels[found],
            .parameter_size = function->parameter_size,
            .max_threads = function->max_threads,
        };
        found++;
    }
    if (found < image->kernel_count)
        return ff__fail(error, -ENOEXEC, "the code of a PTX module has kernels of another one");
    return 0;
}

static int no_names(struct ff_error *error) {
    return ff__fail(error, -ENOMEM, "not enough memory for the names of kernels");
}

static bool add_parameters(struct ff__ptx_kernel *kernel) {
    free(kernel->name);
    kernel->name = ff__ptx_source_name(kernel->code->name, true);
    return kernel->name != NULL;
}

/* Those that are called like an earlier one, and that one. */
static bool tell_apart(struct ff__ptx_program *program, uint32_t earlier) {
    struct ff__ptx_kernel *kernels = program->kernels;
    bool is_overloaded = false;
    for (uint32_t i = earlier + 1; i < program->image->kernel_count; i++) {
        if (strcmp(kernels[earlier].name, kernels[i].name) != 0)
            continue;
        is_overloaded = true;
        if (!add_parameters(&kernels[i]))
            return false;
    }
    return !is_overloaded || add_parameters(&kernels[earlier]);
}

static int name_kernels(struct ff__ptx_program *program, struct ff_error *error) {
    uint32_t count = program->image->kernel_count;
    for (uint32_t i = 0; i < count; i++) {
        struct ff__ptx_kernel *kernel = &program->kernels[i];
        kernel->name = ff__ptx_source_name(kernel->code->name, false);
        if (kernel->name == NULL)
            return no_names(error);
    }
    for (uint32_t i = 0; i < count; i++)
        if (!tell_apart(program, i))
            return no_names(error);
    return 0;
}

static int use(struct ff__ptx_program *program, int object, struct ff_error *error) {
    int code = ff__ptx_object_load(object, &program->build->library, &program->image, error);
    if (code == 0)
        code = make_kernels(program, error);
    return code == 0 ? name_kernels(program, error) : code;
}

static int emit(struct ff__ptx_program *program, char **text, size_t *size,
                struct ff_error *error) {
    program->build->emitted = true;
    return ff__ptx_emit(program->module, &program->build->options, text, size, error);
}

static int make(struct ff__ptx_program *program, struct ff_error *error) {
    struct ff__ptx_build *build = program->build;
    char *text = NULL;
    size_t size = 0;
    int code = emit(program, &text, &size, error);
    if (code != 0)
        return code;
    int object = ff__ptx_compile(&build->compiler, text, size, error);
    free(text);
    if (object < 0)
        return object;
    code = use(program, object, error);
    if (code == 0)
        ff__ptx_cache_add(&build->cache, build->key, object);
    close(object);
    return code;
}

static void *make_apart(void *argument) {
    struct ff__ptx_program *program = argument;
    program->build->code = make(program, &program->build->error);
    return NULL;
}

static int begin(struct ff__ptx_program *program, struct ff_error *error) {
    struct ff__ptx_build *build = program->build;
    int object = ff__ptx_cache_find(&build->cache, build->key);
    if (object >= 0) {
        int code = use(program, object, error);
        close(object);
        return code;
    }
    int code = ff__thread_start(&build->thread, make_apart, program, "ff-ptx");
    build->has_thread = code == 0;
    return code == 0 ? 0 : ff__fail(error, code, "no thread to translate PTX: %s", strerror(-code));
}

static int load(struct ff__ptx_program *program, const char *text, size_t size,
                const struct ff__ptx_options *options, struct ff_error *error) {
    struct ff__ptx_build *build = program->build;
    build->options =
        (struct ff__ptx_emit_options){.record = options->record, .yields = options->yields};
    int code = ff__ptx_read(text, size, &program->module, error);
    if (code == 0)
        code = ff__ptx_compiler_find(&build->compiler, error);
    if (code == 0)
        code = ff__ptx_cache_open(options->cache, &build->cache, error);
    if (code == 0) {
        make_key(build, text, size);
        code = begin(program, error);
    }
    return code;
}

int ff__ptx_load(const char *text, size_t size, const struct ff__ptx_options *options,
                 struct ff__ptx_program **out, struct ff_error *error) {
    struct ff__ptx_program *program = calloc(1, sizeof *program);
    struct ff__ptx_build *build = calloc(1, sizeof *build);
    if (program == NULL || build == NULL) {
        free(program);
        free(build);
        return ff__fail(error, -ENOMEM, "not enough memory for a PTX module");
    }
    program->build = build;
    build->cache.folder = -1;
    pthread_mutex_init(&build->waiting, NULL);
    ff__lock_init(&program->lock);
    int code = load(program, text, size, options, error);
    if (code != 0)
        ff__ptx_unload(program);
    else
        *out = program;
    return code;
}

static void join(struct ff__ptx_build *build) {
    if (build->has_thread)
        pthread_join(build->thread, NULL);
    build->has_thread = false;
}

int ff__ptx_wait(struct ff__ptx_program *program, struct ff_error *error) {
    struct ff__ptx_build *build = program->build;
    pthread_mutex_lock(&build->waiting);
    join(build);
    pthread_mutex_unlock(&build->waiting);
    return build->code == 0 ? 0 : ff__fail(error, build->code, "%s", build->error.message);
}

static void free_kernels(struct ff__ptx_program *program) {
    for (uint32_t i = 0; program->kernels != NULL && i < program->image->kernel_count; i++)
        free(program->kernels[i].name);
    free(program->kernels);
}

void ff__ptx_unload(struct ff__ptx_program *program) {
    if (program == NULL)
        return;
    struct ff__ptx_build *build = program->build;
    if (build->has_thread)
        ff__ptx_compile_stop(&build->compiler);
    join(build);
    free_kernels(program); /* the image, which is in the library, says how many there are */
    if (build->library != NULL)
        dlclose(build->library);
    ff__ptx_module_free(program->module);
    ff__ptx_compiler_free(&build->compiler);
    ff__ptx_cache_close(&build->cache);
    pthread_mutex_destroy(&build->waiting);
    ff__lock_fini(&program->lock);
    free(build);
    free(program);
}

/* ---- kernels and symbols ---- */

/* The cache does not say why kernels were refused: that comes out again. */
static int refuse(struct ff__ptx_program *program, const struct ff__ptx_function *function,
                  struct ff_error *error) {
    struct ff__ptx_build *build = program->build;
    char *text = NULL;
    size_t size;
    int code = 0;
    pthread_mutex_lock(&build->waiting);
    if (function->refused[0] == '\0' && !build->emitted)
        code = emit(program, &text, &size, error);
    pthread_mutex_unlock(&build->waiting);
    free(text);
    if (code != 0)
        return code;
    char *name = ff__ptx_source_name(function->name, false);
    ff__fail(error, -ENOTSUP, "%s: %s", name != NULL ? name : function->name, function->refused);
    free(name);
    return -ENOTSUP;
}

int ff__ptx_kernel(struct ff__ptx_program *program, const char *name, struct ff__ptx_kernel **out,
                   struct ff_error *error) {
    int code = ff__ptx_wait(program, error);
    if (code != 0)
        return code;
    for (uint32_t i = 0; i < program->image->kernel_count; i++) {
        if (strcmp(program->kernels[i].code->name, name) == 0) {
            *out = &program->kernels[i];
            return 0;
        }
    }
    for (uint32_t i = 0; i < program->module->function_count; i++) {
        const struct ff__ptx_function *function = &program->module->functions[i];
        if (is_kernel(function) && strcmp(function->name, name) == 0)
            return refuse(program, function, error);
    }
    return ff__fail(error, -ENOENT, "the PTX module has no kernel %s", name);
}

int ff__ptx_symbol(struct ff__ptx_program *program, const char *name, void **address, size_t *size,
                   struct ff_error *error) {
    int code = ff__ptx_wait(program, error);
    if (code != 0)
        return code;
    for (uint32_t i = 0; i < program->image->symbol_count; i++) {
        const struct ff_ptx_symbol *symbol = &program->image->symbols[i];
        if (strcmp(symbol->name, name) == 0) {
            *address = symbol->address;
            if (size != NULL)
                *size = symbol->size;
            return 0;
        }
    }
    return ff__fail(error, -ENOENT, "the PTX module has no variable %s", name);
}
