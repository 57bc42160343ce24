/* A kernel's regions, for the executor and for those who ask whose code an address is in. */
#include "ptx/emit_internal.h"

#include "ptx/device/abi.h"
#include "ptx/source_name.h"

#include <ctype.h>
#include <stdlib.h>

/* The line of the PTX that a region begins with, or of what it waits for. */
static uint32_t line_of(const struct ff__ptx_emit *emit, const struct ff__ptx_region_plan *plan) {
    const struct ff__ptx_flow *flow = &emit->kernel->flow;
    if (plan->suspend != FF__PTX_NONE)
        return emit->function->instructions[plan->suspend].line;
    if (plan->start != flow->block_count)
        return emit->function->instructions[flow->blocks[plan->start].first].line;
    return emit->function->line;
}

/* Exports the region for dladdr(): the kernel's name in the source and a line of the PTX, and two
 * numbers, since names of overloads are alike. */
static void name_region(struct ff__ptx_emit *emit, uint32_t region, uint32_t line) {
    uint32_t kernel = emit->function_number;
    char *name = ff__ptx_source_name(emit->function->name, false);
    if (name == NULL)
        ff__ptx_refuse(emit, "not enough memory");
    for (char *at = name; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at))
            *at = '_';
    ff__ptx_line(&emit->out,
                 "u32 N%u_%u" FF__PTX_REGION ") __asm__(\"%s.line%u.%u.%u\") "
                 "__attribute__((alias(\"K%u_%u\")));",
                 kernel, region, name, line, kernel, region, kernel, region);
    free(name);
}

static void write_row(struct ff__ptx_emit *emit, uint32_t region) {
    const struct ff__ptx_kernel_emit *kernel = emit->kernel;
    const struct ff__ptx_region_plan *plan = &kernel->regions.plans[region];
    uint32_t wait = FF_PTX_NONE, shape = 0;
    if (plan->suspend != FF__PTX_NONE) {
        emit->instruction = &emit->function->instructions[plan->suspend];
        wait = ff__ptx_wait_kind(emit, &shape);
    }
    ff__ptx_line(&emit->out, "{K%u_%u, ", emit->function_number, region);
    if (kernel->has_apart[region])
        ff__ptx_line(&emit->out, "K%u_%u_apart, ", emit->function_number, region);
    else
        ff__ptx_line(&emit->out, "0, ");
    ff__ptx_line(&emit->out, "%u, %u, %u},", wait, shape, line_of(emit, plan));
}

void ff__ptx_emit_table(struct ff__ptx_emit *emit) {
    uint32_t count = emit->kernel->regions.count;
    for (uint32_t i = 0; i < count; i++)
        name_region(emit, i, line_of(emit, &emit->kernel->regions.plans[i]));
    ff__ptx_line(&emit->out, "static const struct ff_ptx_region K%u_regions[] = {",
                 emit->function_number);
    for (uint32_t i = 0; i < count; i++)
        write_row(emit, i);
    ff__ptx_line(&emit->out, "};");
}
