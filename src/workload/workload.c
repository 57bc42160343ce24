#include "workload/workload.h"

#include "base/error.h"
#include "base/nearest.h"
#include "base/param.h"

#include "workload/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FF_WORKLOAD(name) extern const struct ff__workload_type ff__workload_##name;
#include "workload/workloads.def"
#undef FF_WORKLOAD

static const struct ff__workload_type *const types[] = {
#define FF_WORKLOAD(name) &ff__workload_##name,
#include "workload/workloads.def"
#undef FF_WORKLOAD
};

/* What a specification says, before it is acted on. */
struct spec {
    char text[4096]; /* a copy, cut at its separators; long enough for a path */
    const struct ff__workload_type *type;
    struct ff__network *own; /* the type's, if it is the user's */
    int64_t params[FF_PARAMS_MAX];
    const char *file;
};

const struct ff__workload_type *ff__workload_at(unsigned index) {
    const unsigned models = sizeof types / sizeof types[0];
    if (index < models)
        return types[index];
    const struct ff__network *network = ff__network_at(index - models);
    return network ? ff__network_type(network) : NULL;
}

static const struct ff__workload_type *find_type(const char *name, struct ff_error *error) {
    struct ff__nearest nearest = {.word = name};
    const struct ff__workload_type *type;
    for (unsigned i = 0; (type = ff__workload_at(i)); i++) {
        if (strcmp(type->name, name) == 0)
            return type;
        ff__nearest_offer(&nearest, type->name);
    }
    ff__nearest_fail(&nearest, "workload", "farfault list workloads", error);
    return NULL;
}

static bool is_path(const char *name) {
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".txt") == 0);
}

static int set_type(struct spec *spec, struct ff_error *error) {
    if (!is_path(spec->text)) {
        spec->type = find_type(spec->text, error);
        return spec->type ? 0 : -ENOENT;
    }
    int status = ff__network_read(spec->text, &spec->own, error);
    spec->type = status ? NULL : ff__network_type(spec->own);
    return status;
}

static int unknown_key(const struct spec *spec, const char *key, struct ff_error *error) {
    const struct ff__workload_type *type = spec->type;
    char list[192] = "";
    if (type->takes_file)
        snprintf(list, sizeof list, " %s", type->file_key);
    for (const struct ff_param *param = type->params; param && param->name; param++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, " %s", param->name);
    }
    return ff__fail(error, -EINVAL, "unknown parameter '%.32s' of workload %s; it has:%s", key,
                    type->name, list[0] ? list : " none");
}

static int set_key(struct spec *spec, const char *key, const char *value, struct ff_error *error) {
    const struct ff__workload_type *type = spec->type;
    if (type->takes_file && strcmp(key, type->file_key) == 0) {
        if (!*value)
            return ff__fail(error, -EINVAL, "%s= needs a path (%s)", key, type->file_help);
        spec->file = value;
        return 0;
    }
    for (unsigned i = 0; type->params && type->params[i].name; i++)
        if (strcmp(key, type->params[i].name) == 0)
            return ff__param_set(&type->params[i], value, &spec->params[i], error);
    return unknown_key(spec, key, error);
}

static int set_keys(struct spec *spec, char *keys, struct ff_error *error) {
    char *entry;
    while ((entry = strsep(&keys, ",")) != NULL) {
        if (!*entry)
            continue;
        char *value = strchr(entry, '=');
        if (!value)
            return ff__fail(error, -EINVAL, "'%.64s' of workload %s must be name=value", entry,
                            spec->type->name);
        *value++ = '\0';
        int status = set_key(spec, entry, value, error);
        if (status)
            return status;
    }
    return 0;
}

static int parse_spec(const char *text, struct spec *spec, struct ff_error *error) {
    memset(spec, 0, sizeof *spec);
    if (strlen(text) >= sizeof spec->text)
        return ff__fail(error, -EINVAL, "workload '%.32s...' is longer than %zu characters", text,
                        sizeof spec->text - 1);
    strcpy(spec->text, text);
    char *keys = strchr(spec->text, ':');
    if (keys)
        *keys++ = '\0';
    int status = set_type(spec, error);
    if (status)
        return status;
    for (unsigned i = 0; spec->type->params && spec->type->params[i].name; i++)
        spec->params[i] = spec->type->params[i].initial;
    return keys ? set_keys(spec, keys, error) : 0;
}

int ff__workload_open(const char *text, uint64_t seed, struct ff__workload **out,
                      struct ff_error *error) {
    *out = NULL;
    struct spec spec;
    int status = parse_spec(text, &spec, error);
    struct ff__workload *workload = status ? NULL : calloc(1, sizeof *workload);
    if (!status && !workload)
        status = ff__fail(error, -ENOMEM, "no memory for workload %s", spec.type->name);
    if (status) {
        ff__network_free(spec.own);
        return status;
    }
    workload->type = spec.type;
    workload->own = spec.own;
    workload->seed = seed;
    snprintf(workload->name, sizeof workload->name, "%s", text);
    status = spec.type->open(workload, spec.params, spec.file, error);
    if (status) {
        ff__workload_close(workload);
        return status;
    }
    *out = workload;
    return 0;
}

void ff__workload_close(struct ff__workload *workload) {
    if (!workload)
        return;
    if (workload->type->close && workload->data)
        workload->type->close(workload);
    free(workload->data);
    free(workload->arrays);
    ff__network_free(workload->own);
    free(workload);
}

uint64_t ff__workload_footprint(const struct ff__workload *workload) {
    /* Most programs allocate everything once; only the actions know of the others. */
    uint64_t now = 0, most = 0, end = workload->peak_by ? workload->peak_by : UINT64_MAX;
    struct ff__action action;
    for (uint64_t i = 0; i < end && workload->type->action(workload, i, &action); i++) {
        if (action.kind == FF__ACTION_ALLOCATE)
            now += workload->arrays[action.array].bytes;
        else if (action.kind == FF__ACTION_FREE)
            now -= workload->arrays[action.array].bytes;
        most = now > most ? now : most;
    }
    return most;
}
