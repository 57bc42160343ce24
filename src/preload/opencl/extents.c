#include "preload/opencl/extents.h"

#include "base/thread.h"
#include "ptx/opencl.h"
#include "ptx/read.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 64u /* of an argument: of kernels with larger ones nothing is known */

struct ff__translation {
    struct ff__translation *next;
    char *source, *options;
    size_t size;
    pthread_mutex_t lock;
    pthread_t thread;
    bool is_running;
    struct ff__ptx_module *module; /* NULL: none */
    int status;
    struct ff_error error;
};

struct argument_value {
    bool is_set;
    size_t size; /* 0: local memory */
    unsigned char bytes[MOST_BYTES];
};

struct ff__extents {
    struct ff__translation *translation;
    struct ff__working_set *set; /* NULL: not made yet, or not to be had */
    char *name;
    unsigned char *parameters; /* room for a block of them; NULL: no launch was looked at */
    const struct ff__ptx_function *function;
    cl_uint count;
    struct argument_value values[];
};

/* ---- programs ---- */

static pthread_mutex_t translations_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ff__translation *translations;

static void *translate(void *argument) {
    struct ff__translation *it = argument;
    it->status = ff__ptx_from_opencl(it->source, it->size, it->options, &it->module, &it->error);
    return NULL;
}

void ff__translation_wait(struct ff__translation *it) {
    pthread_mutex_lock(&it->lock);
    if (it->is_running) {
        pthread_join(it->thread, NULL);
        it->is_running = false;
        if (it->status != 0)
            ff__fall_back("working sets of programs", it->error.message);
    }
    pthread_mutex_unlock(&it->lock);
}

static struct ff__translation *start(char *source, size_t size, char *options) {
    struct ff__translation *it = calloc(1, sizeof *it);
    if (it == NULL)
        return NULL;
    *it = (struct ff__translation){.source = source,
                                   .options = options,
                                   .size = size,
                                   .lock = PTHREAD_MUTEX_INITIALIZER,
                                   .next = translations};
    it->is_running = ff__thread_start(&it->thread, translate, it, "ff-extents") == 0;
    return translations = it;
}

/* Takes the texts. A program that is built again, as it is or in another context, is known. */
static struct ff__translation *translation_of(char *source, size_t size, char *options) {
    pthread_mutex_lock(&translations_lock);
    struct ff__translation *it = translations;
    while (it != NULL && (it->size != size || memcmp(it->source, source, size) != 0 ||
                          strcmp(it->options, options) != 0))
        it = it->next;
    bool is_known = it != NULL;
    if (!is_known)
        it = start(source, size, options);
    pthread_mutex_unlock(&translations_lock);
    if (is_known || it == NULL) {
        free(source);
        free(options);
    }
    return it;
}

/* ---- kernels ---- */

static struct ff__extents *make(struct ff__translation *translation, const char *name,
                                cl_uint count) {
    struct ff__extents *extents = calloc(1, sizeof *extents + count * sizeof extents->values[0]);
    if (extents == NULL)
        return NULL;
    extents->translation = translation;
    extents->count = count;
    extents->name = strdup(name);
    if (extents->name != NULL)
        return extents;
    free(extents);
    return NULL;
}

struct ff__extents *ff__extents_make(cl_kernel kernel, const char *name, cl_uint argument_count) {
    size_t size = 0;
    if (name == NULL || !ff__brings_working_sets())
        return NULL;
    char *options = ff__program_options(kernel), *source = ff__program_source(kernel, &size);
    struct ff__translation *translation = NULL;
    if (source != NULL && options != NULL) {
        translation = translation_of(source, size - 1, options);
    } else {
        free(source);
        free(options);
    }
    return translation != NULL ? make(translation, name, argument_count) : NULL;
}

struct ff__extents *ff__extents_copy(const struct ff__extents *from) {
    struct ff__extents *copy =
        from != NULL ? make(from->translation, from->name, from->count) : NULL;
    if (copy != NULL)
        memcpy(copy->values, from->values, from->count * sizeof from->values[0]);
    return copy;
}

void ff__extents_free(struct ff__extents *extents) {
    if (extents == NULL)
        return;
    ff__working_set_free(extents->set);
    free(extents->parameters);
    free(extents->name);
    free(extents);
}

void ff__extents_set(struct ff__extents *extents, cl_uint index, size_t size, const void *value) {
    if (extents == NULL || index >= extents->count)
        return;
    struct argument_value *to = &extents->values[index];
    to->is_set = value == NULL || size <= MOST_BYTES;
    to->size = value != NULL ? size : 0;
    if (to->is_set && value != NULL)
        memcpy(to->bytes, value, size);
}

struct ff__translation *ff__extents_translation(const struct ff__extents *extents) {
    return extents != NULL ? extents->translation : NULL;
}

/* ---- launches ---- */

static const struct ff__ptx_function *find_function(const struct ff__extents *extents) {
    const struct ff__ptx_module *module = extents->translation->module;
    for (uint32_t i = 0; module != NULL && i < module->function_count; i++) {
        const struct ff__ptx_function *function = &module->functions[i];
        if (function->is_entry && strcmp(function->name, extents->name) == 0)
            return function->refused[0] == '\0' ? function : NULL;
    }
    return NULL;
}

/* Once; false: nothing can be known. */
static bool prepare(struct ff__extents *extents) {
    if (extents->parameters != NULL)
        return extents->set != NULL;
    const struct ff__ptx_function *function = find_function(extents);
    extents->function = function;
    extents->parameters = calloc(1, function != NULL ? function->parameter_size + 1ul : 1);
    if (extents->parameters != NULL && function != NULL &&
        function->parameter_count == extents->count)
        extents->set = ff__working_set_make(function);
    return extents->set != NULL;
}

/* False: an argument is not what the kernel's parameter is. */
static bool place_arguments(struct ff__extents *extents) {
    const struct ff__ptx_function *function = extents->function;
    for (cl_uint i = 0; i < extents->count; i++) {
        const struct argument_value *value = &extents->values[i];
        unsigned char *to = extents->parameters + function->parameter_offsets[i];
        if (!value->is_set || (value->size != 0 && value->size != function->parameters[i].size))
            return false;
        memset(to, 0, function->parameters[i].size);
        memcpy(to, value->bytes, value->size);
    }
    return true;
}

bool ff__extents_find(struct ff__extents *extents, uint32_t device,
                      struct ff__ptx_extent_launch *launch, struct ff__bringing *out) {
    if (!prepare(extents) || !place_arguments(extents))
        return false;
    launch->parameters = extents->parameters;
    launch->parameter_size = extents->function->parameter_size;
    return ff__working_set_find(extents->set, ff__context_if_open(), device, launch, out);
}
