/* Launches by both schedules, to find races. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ptx/exec.h"
#include "ptx/operands.h"
#include "ptx/program.h"

/* Memory that a launch may write to: before it, and after the first run. */
struct area {
    uint8_t *memory, *before, *after;
    size_t size;
};

struct areas {
    struct area *items;
    uint32_t count;
};

static void free_areas(struct areas *areas) {
    for (uint32_t i = 0; i < areas->count; i++) {
        free(areas->items[i].before);
        free(areas->items[i].after);
    }
    free(areas->items);
}

static int add(struct areas *areas, void *memory, size_t size) {
    struct area area = {memory, malloc(size), malloc(size), size};
    areas->items[areas->count++] = area;
    if (area.before == NULL || area.after == NULL)
        return -ENOMEM;
    memcpy(area.before, memory, size);
    return 0;
}

static int find_areas(struct ff_context *context, const struct ff__ptx_kernel *kernel,
                      const struct ff__ptx_launch *launch, struct areas *out) {
    const void *operands[FF__PTX_OPERANDS];
    const struct ff__ptx_variables *variables = &kernel->program->variables;
    uint32_t count =
        ff__ptx_find_operands(context, launch->parameters, kernel->parameter_size, operands);
    *out = (struct areas){.items = calloc(count + variables->count + 1ul, sizeof *out->items)};
    int code = out->items != NULL ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < count && code == 0; i++) {
        void *base;
        size_t size;
        if (ff_mem_lookup(context, operands[i], &base, &size))
            code = add(out, base, size);
    }
    for (uint32_t i = 0; i < variables->count && code == 0; i++)
        if (ff__ptx_in_memory(&variables->all[i]) && variables->all[i].size != 0)
            code = add(out, variables->places[variables->all[i].number], variables->all[i].size);
    return code;
}

/* Says where the area differs from what the first run left; then it is that again. */
static bool compare(struct area *area, const char *kernel, struct ff_error *error) {
    size_t differ = 0, first = 0;
    for (size_t i = area->size; i-- > 0;)
        if (area->memory[i] != area->after[i]) {
            first = i;
            differ++;
        }
    if (differ == 0)
        return false;
    ff__fail(error, 0,
             "kernel '%s': %zu of %zu bytes at %p depend on the order of its threads, the first at "
             "%zu",
             kernel, differ, area->size, (void *)area->memory, first);
    memcpy(area->memory, area->after, area->size);
    return true;
}

static int run(struct ff_context *context, struct ff_stream *stream, struct ff__ptx_kernel *kernel,
               const struct ff__ptx_launch *launch, enum ff__ptx_schedule schedule,
               struct ff_error *error) {
    struct ff__ptx_launch own = *launch;
    own.schedule = schedule;
    int code = ff__ptx_launch(context, stream, kernel, &own, error);
    ff_stream_synchronize(stream);
    int failure = ff__ptx_failure(kernel->program, code == 0 ? error : NULL);
    return code != 0 ? code : failure;
}

static int run_both(struct ff_context *context, struct ff_stream *stream,
                    struct ff__ptx_kernel *kernel, const struct ff__ptx_launch *launch,
                    struct areas *areas, struct ff_error *error) {
    int code = run(context, stream, kernel, launch, FF__PTX_TURNS, error);
    if (code != 0)
        return code;
    for (uint32_t i = 0; i < areas->count; i++) {
        memcpy(areas->items[i].after, areas->items[i].memory, areas->items[i].size);
        memcpy(areas->items[i].memory, areas->items[i].before, areas->items[i].size);
    }
    code = run(context, stream, kernel, launch, FF__PTX_SERIAL, error);
    if (code != 0)
        return code;
    bool differ = false;
    for (uint32_t i = 0; i < areas->count; i++)
        differ |= compare(&areas->items[i], kernel->name, differ ? NULL : error);
    return differ;
}

int ff__ptx_launch_both(struct ff_context *context, struct ff_stream *stream,
                        struct ff__ptx_kernel *kernel, const struct ff__ptx_launch *launch,
                        struct ff_error *error) {
    struct areas areas;
    ff_stream_synchronize(stream);
    int code = find_areas(context, kernel, launch, &areas);
    if (code == 0)
        code = run_both(context, stream, kernel, launch, &areas, error);
    else
        ff__fail(error, code, "kernel '%s': not enough memory to run it twice", kernel->name);
    free_areas(&areas);
    return code;
}
