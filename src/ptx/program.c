#include "ptx/program.h"

#include "base/error.h"
#include "base/map.h"
#include "base/thread.h"
#include "ptx/cache.h"
#include "ptx/compile.h"
#include "ptx/emit.h"
#include "ptx/identity.h"
#include "ptx/inline.h"
#include "ptx/object.h"
#include "ptx/read.h"
#include "ptx/source_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Instructions of kernels that are compiled together, where each has less. Ours: gcc needs about as
 * long to start as for 25 instructions. */
#define UNIT 500u

/* Kernels that follow each other in the text and are compiled to one shared object. */
struct code_unit {
    uint32_t first, count; /* functions of the module: its kernels are among them */
    void *library;
    int code; /* 0, or why there is none, with `error` */
    struct ff_error error;
    bool emitted;
    bool done; /* atomic: all but `emitted` is settled */
};

/* How a program's code comes about: from the cache, or in a thread. */
struct ff__ptx_build {
    struct ff__ptx_emit_options options;
    struct ff__ptx_compiler compiler;
    struct ff_error no_compiler; /* why there is none */
    struct ff__ptx_cache cache;
    uint8_t maker[FF__PTX_DIGEST]; /* the compiler's digest in the cache */
    struct ff__ptx_digest digest;  /* of what the keys of all units begin with */
    struct code_unit *units;
    uint32_t unit_count;

    pthread_mutex_t waiting; /* guards what follows, and `refused` of the module's functions */
    pthread_t thread;
    struct code_unit *made; /* by the thread, until somebody waited for it; NULL: there is none */
};

/* ---- keys ---- */

static void begin_key(struct ff__ptx_build *build, const char *text, size_t size) {
    const uint8_t options[] = {build->options.record, build->options.yields};
    ff__ptx_digest_start(&build->digest);
    ff__ptx_digest_add(&build->digest, ff__ptx_identity, strlen(ff__ptx_identity));
    ff__ptx_digest_add(&build->digest, options, sizeof options);
    ff__ptx_compiler_add_target(&build->digest);
    ff__ptx_digest_add(&build->digest, text, size);
}

static bool has_compiler(const struct ff__ptx_build *build) {
    return build->compiler.path != NULL;
}

static void identify_compiler(struct ff__ptx_build *build) {
    struct ff__ptx_digest digest;
    ff__ptx_digest_start(&digest);
    ff__ptx_compiler_identify(&build->compiler, &digest);
    ff__ptx_digest_end(&digest, build->maker);
}

static void key_of(const struct ff__ptx_build *build, const struct code_unit *unit,
                   char key[FF__PTX_KEY]) {
    struct ff__ptx_digest digest = build->digest;
    uint8_t out[FF__PTX_DIGEST];
    ff__ptx_digest_add(&digest, &unit->first, sizeof unit->first);
    ff__ptx_digest_end(&digest, out);
    ff__ptx_cache_key(out, key);
}

/* ---- units ---- */

static bool is_kernel(const struct ff__ptx_function *function) {
    return function->is_entry && !function->is_declaration;
}

static int plan_units(struct ff__ptx_program *program, struct ff_error *error) {
    const struct ff__ptx_module *module = program->module;
    struct ff__ptx_build *build = program->build;
    struct code_unit *unit = build->units = calloc(module->function_count + 1ul, sizeof *unit);
    uint64_t size = 0;
    if (unit == NULL)
        return ff__fail(error, -ENOMEM, "not enough memory for the kernels of a PTX module");
    for (uint32_t i = 0; i < module->function_count; i++) {
        uint64_t more =
            is_kernel(&module->functions[i]) ? module->functions[i].instruction_count : 0;
        if (size != 0 && size + more > UNIT) {
            *++unit = (struct code_unit){.first = i};
            size = 0;
        }
        size += more;
        unit->count++;
    }
    build->unit_count = (uint32_t)(unit - build->units) + 1;
    return 0;
}

/* The kernels of the shared object are among those of the unit, in the same order. */
static int take_kernels(struct ff__ptx_program *program, const struct code_unit *unit,
                        const struct ff_ptx_image *image, struct ff_error *error) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < program->kernel_count && found < image->kernel_count; i++) {
        struct ff__ptx_kernel *kernel = &program->kernels[i];
        if (kernel->number - unit->first < unit->count &&
            strcmp(program->module->functions[kernel->number].name, image->kernels[found].name) ==
                0)
            kernel->code = &image->kernels[found++];
    }
    if (found < image->kernel_count ||
        !ff__ptx_variables_use(&program->variables, program->module, image))
        return ff__fail(error, -ENOEXEC, "the code of a PTX module is that of another one");
    return 0;
}

static int use(struct ff__ptx_program *program, struct code_unit *unit, int object,
               struct ff_error *error) {
    const struct ff_ptx_image *image;
    int code = ff__ptx_object_load(object, &unit->library, &image, error);
    return code == 0 ? take_kernels(program, unit, image, error) : code;
}

static int emit(struct ff__ptx_program *program, struct code_unit *unit, char **text, size_t *size,
                struct ff_error *error) {
    struct ff__ptx_emit_options options = program->build->options;
    options.first = unit->first;
    options.count = unit->count;
    unit->emitted = true;
    return ff__ptx_emit(program->module, &options, text, size, error);
}

static int make(struct ff__ptx_program *program, struct code_unit *unit, struct ff_error *error) {
    struct ff__ptx_build *build = program->build;
    char *text = NULL, key[FF__PTX_KEY];
    size_t size = 0;
    int code = emit(program, unit, &text, &size, error);
    if (code != 0)
        return code;
    int object = ff__ptx_compile(&build->compiler, text, size, error);
    free(text);
    if (object < 0)
        return object;
    code = use(program, unit, object, error);
    key_of(build, unit, key);
    if (code == 0)
        ff__ptx_cache_add(&build->cache, key, build->maker, object);
    close(object);
    return code;
}

static void *make_apart(void *argument) {
    struct ff__ptx_program *program = argument;
    struct code_unit *unit = program->build->made;
    unit->code = make(program, unit, &unit->error);
    return NULL;
}

static void settle(struct code_unit *unit, int code) {
    unit->code = code;
    __atomic_store_n(&unit->done, true, __ATOMIC_RELEASE);
}

/* Takes a unit from the cache, or starts to make it. */
static void begin(struct ff__ptx_program *program, struct code_unit *unit) {
    struct ff__ptx_build *build = program->build;
    char key[FF__PTX_KEY];
    key_of(build, unit, key);
    int object = ff__ptx_cache_find(&build->cache, key, has_compiler(build) ? build->maker : NULL);
    if (object >= 0) {
        settle(unit, use(program, unit, object, &unit->error));
        close(object);
        return;
    }
    if (!has_compiler(build)) {
        settle(unit, ff__fail(&unit->error, -ENOEXEC, "%s", build->no_compiler.message));
        return;
    }
    build->made = unit;
    int code = ff__thread_start(&build->thread, make_apart, program, "ff-ptx");
    if (code == 0)
        return;
    build->made = NULL;
    settle(unit, ff__fail(&unit->error, code, "no thread to translate PTX: %s", strerror(-code)));
}

static void join(struct ff__ptx_build *build) {
    if (build->made == NULL)
        return;
    pthread_join(build->thread, NULL);
    settle(build->made, build->made->code);
    build->made = NULL;
}

/* The kernels of the unit can be used, or it says why not. */
static int need(struct ff__ptx_program *program, struct code_unit *unit, struct ff_error *error) {
    struct ff__ptx_build *build = program->build;
    if (!__atomic_load_n(&unit->done, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&build->waiting);
        join(build);
        if (!unit->done)
            begin(program, unit);
        join(build);
        pthread_mutex_unlock(&build->waiting);
    }
    return unit->code == 0 ? 0 : ff__fail(error, unit->code, "%s", unit->error.message);
}

/* ---- kernels ---- */

static int no_names(struct ff_error *error) {
    return ff__fail(error, -ENOMEM, "not enough memory for the names of kernels");
}

static int make_kernels(struct ff__ptx_program *program, struct ff_error *error) {
    const struct ff__ptx_module *module = program->module;
    const struct code_unit *unit = program->build->units;
    program->kernels = calloc(module->function_count + 1ul, sizeof *program->kernels);
    if (program->kernels == NULL)
        return ff__fail(error, -ENOMEM, "not enough memory for the kernels of a PTX module");
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct ff__ptx_function *function = &module->functions[i];
        unit += i - unit->first == unit->count;
        if (!is_kernel(function))
            continue;
        struct ff__ptx_kernel *kernel = &program->kernels[program->kernel_count++];
        *kernel = (struct ff__ptx_kernel){.program = program,
                                          .number = i,
                                          .unit = (uint32_t)(unit - program->build->units),
                                          .name = ff__ptx_source_name(function->name, false),
                                          .parameter_size = function->parameter_size,
                                          .max_threads = function->max_threads};
        if (kernel->name == NULL)
            return no_names(error);
    }
    return 0;
}

static int add_parameters(struct ff__ptx_program *program, uint32_t number) {
    struct ff__ptx_kernel *kernel = &program->kernels[number];
    free(kernel->name);
    kernel->name = ff__ptx_source_name(program->module->functions[kernel->number].name, true);
    return kernel->name != NULL ? 0 : -ENOMEM;
}

/* Kernels that the source calls alike have their parameters in their names. By the hash of a name,
 * the first kernel that has it. */
static int tell_apart(struct ff__ptx_program *program, struct ff__map *firsts) {
    int code = 0;
    bool *is_overloaded = calloc(program->kernel_count + 1ul, sizeof *is_overloaded);
    if (is_overloaded == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < program->kernel_count && code == 0; i++) {
        const char *name = program->kernels[i].name;
        uint64_t hash = ff__hash_bytes(0, name, strlen(name));
        uint32_t first;
        if (ff__map_get(firsts, hash, &first))
            is_overloaded[first] = is_overloaded[i] = true;
        else
            code = ff__map_put(firsts, hash, i);
    }
    for (uint32_t i = 0; i < program->kernel_count && code == 0; i++)
        if (is_overloaded[i])
            code = add_parameters(program, i);
    free(is_overloaded);
    return code;
}

static int name_kernels(struct ff__ptx_program *program, struct ff_error *error) {
    struct ff__map firsts = {0};
    int code = tell_apart(program, &firsts);
    ff__map_fini(&firsts);
    return code == 0 ? 0 : no_names(error);
}

/* ---- loading ---- */

static int plan(struct ff__ptx_program *program, struct ff_error *error) {
    int code = plan_units(program, error);
    if (code == 0)
        code = make_kernels(program, error);
    if (code == 0)
        code = name_kernels(program, error);
    if (code == 0 && ff__ptx_variables_make(program->module, &program->variables) != 0)
        code = ff__fail(error, -ENOMEM, "not enough memory for the variables of a PTX module");
    return code;
}

/* Without one, what is in the cache can be used. */
static int find_compiler(struct ff__ptx_build *build, struct ff_error *error) {
    int code = ff__ptx_compiler_find(&build->compiler, &build->no_compiler);
    if (code == 0)
        identify_compiler(build);
    return code == 0 || code == -ENOEXEC ? 0
                                         : ff__fail(error, code, "%s", build->no_compiler.message);
}

static int load(struct ff__ptx_program *program, const char *text, size_t size,
                const struct ff__ptx_options *options, struct ff_error *error) {
    struct ff__ptx_build *build = program->build;
    build->options =
        (struct ff__ptx_emit_options){.record = options->record, .yields = options->yields};
    int code = ff__ptx_read(text, size, &program->module, error);
    if (code == 0 && ff__ptx_inline(program->module) != 0)
        code = ff__fail(error, -ENOMEM, "not enough memory for a PTX module");
    if (code == 0)
        code = plan(program, error);
    if (code == 0)
        code = find_compiler(build, error);
    if (code == 0)
        code = ff__ptx_cache_open(options->cache, &build->cache, error);
    if (code != 0)
        return code;
    begin_key(build, text, size);
    if (build->unit_count == 1)
        begin(program, build->units);
    bool failed = build->units->done && build->units->code != 0;
    return !failed ? 0 : ff__fail(error, build->units->code, "%s", build->units->error.message);
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

int ff__ptx_wait(struct ff__ptx_program *program, struct ff_error *error) {
    int code = 0;
    for (uint32_t i = 0; i < program->build->unit_count && code == 0; i++)
        code = need(program, &program->build->units[i], error);
    return code;
}

static void free_units(struct ff__ptx_build *build) {
    for (uint32_t i = 0; i < build->unit_count; i++)
        if (build->units[i].library != NULL)
            ff__ptx_object_unload(build->units[i].library);
    free(build->units);
}

void ff__ptx_unload(struct ff__ptx_program *program) {
    if (program == NULL)
        return;
    struct ff__ptx_build *build = program->build;
    if (build->made != NULL)
        ff__ptx_compile_stop(&build->compiler);
    join(build);
    for (uint32_t i = 0; i < program->kernel_count; i++)
        free(program->kernels[i].name);
    free(program->kernels);
    free_units(build);
    ff__ptx_variables_free(&program->variables);
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
static int refuse(struct ff__ptx_program *program, const struct ff__ptx_kernel *kernel,
                  struct ff_error *error) {
    struct code_unit *unit = &program->build->units[kernel->unit];
    const struct ff__ptx_function *function = &program->module->functions[kernel->number];
    char *text = NULL;
    size_t size;
    int code = 0;
    pthread_mutex_lock(&program->build->waiting);
    if (function->refused[0] == '\0' && !unit->emitted)
        code = emit(program, unit, &text, &size, error);
    pthread_mutex_unlock(&program->build->waiting);
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
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        struct ff__ptx_kernel *kernel = &program->kernels[i];
        if (strcmp(program->module->functions[kernel->number].name, name) != 0)
            continue;
        int code = need(program, &program->build->units[kernel->unit], error);
        if (code == 0 && kernel->code == NULL)
            code = refuse(program, kernel, error);
        if (code == 0)
            *out = kernel;
        return code;
    }
    return ff__fail(error, -ENOENT, "the PTX module has no kernel %s", name);
}

int ff__ptx_symbol(struct ff__ptx_program *program, const char *name, void **address, size_t *size,
                   struct ff_error *error) {
    const struct ff__ptx_variable *variable = ff__ptx_variables_find(&program->variables, name);
    if (variable == NULL)
        return ff__fail(error, -ENOENT, "the PTX module has no variable %s", name);
    if (program->variables.has_functions) { /* before the program puts something else there */
        int code = need(program, program->build->units, error);
        if (code != 0)
            return code;
    }
    *address = program->variables.places[variable->number];
    if (size != NULL)
        *size = variable->size;
    return 0;
}
