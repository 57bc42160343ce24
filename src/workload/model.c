#include "workload/model.h"

#include <stdio.h>
#include <stdlib.h>

static int check_sum(const struct ff__workload *workload, const struct ff__array_spec *specs,
                     uint32_t count, struct ff_error *error) {
    const uint64_t most = FF__SIZE_MAX;
    uint64_t left = most;
    for (uint32_t i = 0; i < count; i++) {
        if (specs[i].bytes > left)
            return ff__fail(error, -EINVAL, "too large for %s: its arrays have at most %llu bytes",
                            workload->type->name, (unsigned long long)most);
        left -= specs[i].bytes;
    }
    return 0;
}

int ff__model_arrays(struct ff__workload *workload, const struct ff__array_spec *specs,
                     uint32_t count, struct ff_error *error) {
    int status = check_sum(workload, specs, count, error);
    if (status)
        return status;
    workload->arrays = calloc(count, sizeof *workload->arrays);
    if (!workload->arrays)
        return ff__fail(error, -ENOMEM, "no memory for the arrays of %s", workload->type->name);
    workload->array_count = count;
    uint64_t page = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct ff__array *array = &workload->arrays[i];
        snprintf(array->name, sizeof array->name, "%s", specs[i].name);
        array->bytes = specs[i].bytes;
        /* Apart from one another, as allocations are, until the runner of the workload places them.
         */
        array->first_page = page;
        page += ff__ceil_div(array->bytes, UINT64_C(2) << 20) * 512;
    }
    return 0;
}

/* The largest whole number of units up to `most` whose bytes fit in `size`; 0: none. */
static uint64_t fit(const struct ff__workload *workload, ff__model_bytes bytes,
                    const int64_t *params, uint64_t unit, uint64_t most) {
    uint64_t low = 0, high = most / unit;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (bytes(workload, params, middle * unit) <= (uint64_t)params[0])
            low = middle;
        else
            high = middle - 1;
    }
    return low * unit;
}

int ff__model_size(const struct ff__workload *workload, const int64_t *params,
                   ff__model_bytes bytes, uint64_t n, uint64_t unit, uint64_t most, uint64_t *out,
                   struct ff_error *error) {
    const char *name = workload->type->name;
    uint64_t size = (uint64_t)params[0];
    uint64_t largest = most / unit * unit;
    if (size > 0)
        n = fit(workload, bytes, params, unit, most);
    if (n < unit)
        return ff__fail(error, -EINVAL, "size=%llu is too small for %s: it needs at least %llu",
                        (unsigned long long)size, name,
                        (unsigned long long)bytes(workload, params, unit));
    if (n > most || (size > 0 && n == largest && bytes(workload, params, largest) < size / 2))
        return ff__fail(error, -EINVAL, "too large for %s: at most size=%llu", name,
                        (unsigned long long)bytes(workload, params, largest));
    *out = n / unit * unit;
    return 0;
}

int ff__model_keep(struct ff__workload *workload, const void *data, size_t size,
                   struct ff_error *error) {
    workload->data = malloc(size);
    if (!workload->data)
        return ff__fail(error, -ENOMEM, "no memory for workload %s", workload->type->name);
    memcpy(workload->data, data, size);
    return 0;
}

static uint64_t shape_bytes(const struct ff__workload *workload, const int64_t *params,
                            uint64_t n) {
    const struct ff__model_shape *shape = workload->type->shape;
    struct ff__array_spec specs[FF__MODEL_ARRAYS_MAX] = {{NULL, 0}};
    int64_t values[FF_PARAMS_MAX];
    uint64_t sum = 0;
    memcpy(values, params, sizeof values);
    values[shape->scaled] = (int64_t)n;
    uint32_t count = shape->arrays(workload->type, values, specs);
    for (uint32_t i = 0; i < count; i++)
        sum += specs[i].bytes;
    return sum;
}

int ff__model_open(struct ff__workload *workload, const int64_t *params, const char *file,
                   struct ff_error *error) {
    const struct ff__model_shape *shape = workload->type->shape;
    struct ff__array_spec specs[FF__MODEL_ARRAYS_MAX] = {{NULL, 0}};
    uint64_t values[FF_PARAMS_MAX];
    (void)file;
    memcpy(values, params, sizeof values);
    int status = ff__model_size(workload, params, shape_bytes, values[shape->scaled], shape->unit,
                                shape->most, &values[shape->scaled], error);
    if (!status)
        status = ff__model_keep(workload, values, sizeof values, error);
    if (status)
        return status;
    uint32_t count = shape->arrays(workload->type, values, specs);
    return ff__model_arrays(workload, specs, count, error);
}

void ff__kernel_set(struct ff__kernel *kernel, const char *name, uint64_t ctas, uint32_t warps,
                    bool (*step)(const struct ff__workload *, const struct ff__kernel *, uint32_t,
                                 uint32_t, uint32_t, struct ff__step *)) {
    memset(kernel, 0, sizeof *kernel);
    kernel->name = name;
    kernel->ctas = (uint32_t)ctas;
    kernel->warps = warps;
    kernel->step = step;
}

void ff__kernel_seal(struct ff__kernel *kernel) {
    uint64_t identity = ff__mix(((uint64_t)kernel->ctas << 32) + kernel->warps);
    for (const char *c = kernel->name; *c; c++)
        identity = ff__mix(identity ^ (unsigned char)*c);
    for (size_t i = 0; i < sizeof kernel->argument / sizeof kernel->argument[0]; i++)
        identity = ff__mix(identity ^ kernel->argument[i]);
    kernel->identity = identity;
}

/* ---- the program ---- */

struct ff__script ff__script_begin(const struct ff__workload *workload, uint64_t index,
                                   struct ff__action *out) {
    memset(out, 0, sizeof *out);
    return (struct ff__script){workload, out, index, false};
}

static void whole_arrays(struct ff__script *script, enum ff__action_kind kind) {
    uint64_t which;
    if (ff__script_turn(script, script->workload->array_count, &which)) {
        script->out->kind = kind;
        script->out->array = (uint32_t)which;
        script->out->bytes = script->workload->arrays[which].bytes;
    }
}

void ff__script_allocate_all(struct ff__script *script) {
    whole_arrays(script, FF__ACTION_ALLOCATE);
}

void ff__script_free_all(struct ff__script *script) {
    whole_arrays(script, FF__ACTION_FREE);
}

void ff__script_synchronize(struct ff__script *script) {
    uint64_t which;
    if (ff__script_turn(script, 1, &which))
        script->out->kind = FF__ACTION_SYNCHRONIZE;
}

static void touch(struct ff__script *script, enum ff__action_kind kind, uint32_t array,
                  uint64_t offset, uint64_t bytes) {
    uint64_t which;
    if (ff__script_turn(script, 1, &which)) {
        script->out->kind = kind;
        script->out->array = array;
        script->out->offset = offset;
        script->out->bytes = bytes;
    }
}

void ff__script_read(struct ff__script *script, uint32_t array, uint64_t offset, uint64_t bytes) {
    touch(script, FF__ACTION_HOST_READ, array, offset, bytes);
}

void ff__script_write(struct ff__script *script, uint32_t array, uint64_t offset, uint64_t bytes) {
    touch(script, FF__ACTION_HOST_WRITE, array, offset, bytes);
}

void ff__script_read_all(struct ff__script *script, uint32_t array) {
    ff__script_read(script, array, 0, script->workload->arrays[array].bytes);
}

void ff__script_write_all(struct ff__script *script, uint32_t array) {
    ff__script_write(script, array, 0, script->workload->arrays[array].bytes);
}

void ff__script_elements(struct ff__script *script, const char *name, uint64_t n,
                         bool (*step)(const struct ff__workload *, const struct ff__kernel *,
                                      uint32_t, uint32_t, uint32_t, struct ff__step *)) {
    struct ff__kernel *kernel = &script->out->kernel;
    uint64_t which;
    if (!ff__script_turn(script, 1, &which))
        return;
    script->out->kind = FF__ACTION_LAUNCH;
    ff__kernel_set(kernel, name, ff__ceil_div(n, FF__ELEMENT_CTA), FF__ELEMENT_CTA / FF__WARP,
                   step);
    kernel->argument[0] = n;
    kernel->known = ff__known_strided(script->workload->array_count);
    ff__kernel_seal(kernel);
}
