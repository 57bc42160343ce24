#include "ptx/variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LEAST_ALIGN 16u

/* Calls `act` with each variable that is in memory, those of functions too. */
static void each(const struct ff__ptx_module *module, struct ff__ptx_variables *variables,
                 void (*act)(struct ff__ptx_variables *, const struct ff__ptx_variable *)) {
    for (uint32_t i = 0; i < module->variable_count; i++)
        if (ff__ptx_in_memory(&module->variables[i]))
            act(variables, &module->variables[i]);
    for (uint32_t k = 0; k < module->function_count; k++)
        for (uint32_t i = 0; i < module->functions[k].variable_count; i++)
            if (ff__ptx_in_memory(&module->functions[k].variables[i]))
                act(variables, &module->functions[k].variables[i]);
}

/* Offsets, until the memory is there. None is larger than 2^40 bytes, and there are fewer than
 * 2^20 of them before the sum reaches what can be mapped. */
static void place(struct ff__ptx_variables *variables, const struct ff__ptx_variable *variable) {
    size_t align = variable->align > LEAST_ALIGN ? variable->align : LEAST_ALIGN;
    size_t at = (variables->size + align - 1) / align * align;
    variables->places[variable->number] = (uint8_t *)at;
    if (variables->size <= PTRDIFF_MAX)
        variables->size = at + (variable->size != 0 ? variable->size : 1);
}

static void move(struct ff__ptx_variables *variables, const struct ff__ptx_variable *variable) {
    uint8_t **place = &variables->places[variable->number];
    *place = variables->memory + (uintptr_t)*place;
    if (variable->initial != NULL)
        memcpy(*place, variable->initial, variable->initial_size);
}

static void set_address(const struct ff__ptx_variables *variables,
                        const struct ff__ptx_variable *variable,
                        const struct ff__ptx_reference *reference, const void *target) {
    uint64_t address = (uintptr_t)target + (uint64_t)reference->offset;
    memcpy(variables->places[variable->number] + reference->at, &address, sizeof address);
}

static void set_addresses(struct ff__ptx_variables *variables, const struct ff__ptx_module *module,
                          const struct ff__ptx_variable *variable) {
    for (uint32_t i = 0; i < variable->reference_count; i++) {
        const struct ff__ptx_reference *reference = &variable->references[i];
        if (reference->is_function) {
            variables->has_functions = true;
            continue;
        }
        const struct ff__ptx_variable *target = &module->variables[reference->index];
        set_address(variables, variable, reference,
                    ff__ptx_in_memory(target) ? variables->places[target->number] : NULL);
    }
}

int ff__ptx_variables_make(const struct ff__ptx_module *module, struct ff__ptx_variables *out) {
    *out = (struct ff__ptx_variables){
        .memory = MAP_FAILED, .all = module->variables, .count = module->variable_count};
    out->places = calloc(module->memory_count + 1ul, sizeof *out->places);
    if (out->places == NULL)
        return -ENOMEM;
    each(module, out, place);
    if (out->size == 0)
        return 0;
    out->memory = mmap(NULL, out->size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (out->memory == MAP_FAILED)
        return -ENOMEM;
    each(module, out, move);
    for (uint32_t i = 0; i < module->variable_count; i++)
        if (ff__ptx_in_memory(&module->variables[i]))
            set_addresses(out, module, &module->variables[i]);
    return 0;
}

void ff__ptx_variables_free(struct ff__ptx_variables *variables) {
    if (variables->places != NULL && variables->memory != MAP_FAILED)
        munmap(variables->memory, variables->size);
    free(variables->places);
    *variables = (struct ff__ptx_variables){0};
}

/* ---- functions ---- */

static int by_number(const void *key, const void *element) {
    uint32_t number = *(const uint32_t *)key;
    uint32_t other = ((const struct ff_ptx_function *)element)->number;
    return (number > other) - (number < other);
}

static void set_functions(const struct ff__ptx_variables *variables,
                          const struct ff__ptx_variable *variable,
                          const struct ff_ptx_image *image) {
    for (uint32_t i = 0; i < variable->reference_count; i++) {
        const struct ff__ptx_reference *reference = &variable->references[i];
        if (!reference->is_function)
            continue;
        const struct ff_ptx_function *found =
            bsearch(&reference->index, image->functions, image->function_count,
                    sizeof *image->functions, by_number);
        set_address(variables, variable, reference, found != NULL ? found->address : NULL);
    }
}

bool ff__ptx_variables_use(struct ff__ptx_variables *variables, const struct ff__ptx_module *module,
                           const struct ff_ptx_image *image) {
    if (image->variable_count != module->memory_count)
        return false;
    if (module->memory_count != 0)
        memcpy(image->variables, variables->places,
               module->memory_count * sizeof *image->variables);
    for (uint32_t i = 0; !variables->knows_functions && i < variables->count; i++)
        if (ff__ptx_in_memory(&variables->all[i]))
            set_functions(variables, &variables->all[i], image);
    variables->knows_functions = true;
    return true;
}

const struct ff__ptx_variable *ff__ptx_variables_find(const struct ff__ptx_variables *variables,
                                                      const char *name) {
    for (uint32_t i = 0; i < variables->count; i++)
        if (ff__ptx_in_memory(&variables->all[i]) && strcmp(variables->all[i].name, name) == 0)
            return &variables->all[i];
    return NULL;
}
