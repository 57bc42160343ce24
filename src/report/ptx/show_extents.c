/* What kernels touch, for people and for machines. */
#include "report/ptx/code.h"

#include <stdio.h>

static const char *const kinds[] = {"exact", "bound", "unknown"};

static void show_extent(const struct ff__code_extent *extent) {
    const char *what = extent->write ? "writes" : "reads";
    if (extent->argument == FF__PTX_NO_PARAMETER)
        printf("    %-6s  anything\n", what);
    else if (extent->kind == FF__PTX_UNKNOWN)
        printf("    %-6s  of arg%u: anything\n", what, extent->argument);
    else
        printf("    %-6s  of arg%u: %s to %s, %s\n", what, extent->argument,
               extent->low ? extent->low : "?", extent->high ? extent->high : "?",
               kinds[extent->kind]);
}

static void show_kernel(const struct ff__code_kernel *kernel) {
    printf("  %s touches%s\n", kernel->name,
           kernel->extent_count == 0 && kernel->extents_are_all ? " nothing" : ":");
    for (uint32_t i = 0; i < kernel->extent_count; i++)
        show_extent(&kernel->extents[i]);
    if (!kernel->extents_are_all)
        printf("    and what is not known\n");
}

void ff__code_show_extents(const struct ff__code *code) {
    for (uint32_t i = 0; i < code->count; i++)
        if (code->kernels[i].has_extents)
            show_kernel(&code->kernels[i]);
}

json_t *ff__code_json_extents(const struct ff__code_kernel *kernel) {
    json_t *object = ff__must(json_object()), *list = ff__must(json_array());
    for (uint32_t i = 0; i < kernel->extent_count; i++) {
        const struct ff__code_extent *extent = &kernel->extents[i];
        json_t *item = ff__must(json_object());
        bool known = extent->argument != FF__PTX_NO_PARAMETER;
        ff__json_set(item, "argument", known ? ff__json_count(extent->argument) : json_null());
        ff__json_set(item, "writes", json_boolean(extent->write));
        ff__json_set(item, "kind", ff__json_text(kinds[extent->kind]));
        ff__json_set(item, "low", ff__json_text(extent->low));
        ff__json_set(item, "high", ff__json_text(extent->high));
        json_array_append_new(list, item);
    }
    ff__json_set(object, "complete", json_boolean(kernel->extents_are_all));
    ff__json_set(object, "accesses", list);
    return object;
}
