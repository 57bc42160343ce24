#include "report/ptx/code.h"
#include "report/table.h"

#include <stdio.h>

/* ---- images ---- */

static void show_image(const struct ff__code *code) {
    const struct ff__image *image = code->image;
    char stored[FF__QUANTITY], size[FF__QUANTITY];
    printf("image %u: ", code->number);
    if (image->is_text)
        printf("PTX %u.%u", image->version / 10, image->version % 10);
    else
        printf("cubin");
    if (image->arch != 0)
        printf(" for sm_%u", image->arch);
    if (image->pack == FF__PACK_NONE)
        printf(", %s\n", ff__size_text(size, image->size));
    else
        printf(", %s, %s of %s\n", ff__pack_name(image->pack), ff__size_text(stored, image->stored),
               ff__size_text(size, image->size));
}

static void add_kernel(struct ff__table *table, const struct ff__code_kernel *kernel,
                       bool is_text) {
    char shared[FF__QUANTITY];
    ff__table_cell(table, "%u", kernel->parameters);
    ff__table_cell(table, "%u", kernel->bytes);
    ff__table_cell(table, "%u", kernel->registers);
    ff__table_cell(table, kernel->max_threads ? "%u" : "-", kernel->max_threads);
    ff__table_cell(table, "%s", kernel->shared ? ff__size_text(shared, kernel->shared) : "-");
    ff__table_cell(table, "%s", !is_text ? "-" : kernel->refused ? "refused" : "translated");
    ff__table_cell(table, "%s", kernel->name);
}

static void show_kernels(const struct ff__code *code) {
    struct ff__table table;
    bool any = false;
    ff__table_init(&table, "rrrrrll");
    ff__table_cells(&table, "parameters", "bytes", "registers", "threads", "shared", "C", "kernel",
                    NULL);
    for (uint32_t i = 0; i < code->count; i++) {
        if (!code->kernels[i].is_entry)
            continue;
        add_kernel(&table, &code->kernels[i], code->image->is_text);
        any = true;
    }
    if (any)
        ff__table_print(&table, stdout, 2);
    ff__table_fini(&table);
}

static void show_refused(const struct ff__code *code) {
    for (uint32_t i = 0; i < code->count; i++) {
        const struct ff__code_kernel *kernel = &code->kernels[i];
        if (kernel->refused != NULL)
            printf("  %s%s: %s\n", kernel->is_entry ? "" : "function ", kernel->name,
                   kernel->refused);
    }
}

void ff__code_show(const struct ff__code *code) {
    show_image(code);
    show_kernels(code);
    ff__code_show_extents(code);
    show_refused(code);
}

/* ---- totals ---- */

#define FEW 20u /* reasons that are shown */

static void show_reasons(const struct ff__code_totals *totals) {
    struct ff__table table;
    ff__table_init(&table, "rll");
    ff__table_cells(&table, "kernels", "refused because", "such as", NULL);
    for (uint32_t i = 0; i < totals->reason_count && i < FEW; i++) {
        const struct ff__code_reason *reason = &totals->reasons[i];
        ff__table_cell(&table, "%u", reason->count);
        ff__table_cells(&table, reason->text, reason->example, NULL);
    }
    ff__table_print(&table, stdout, 0);
    ff__table_fini(&table);
    if (totals->reason_count > FEW)
        printf("and for %u more reasons\n", totals->reason_count - FEW);
}

static const char *plural(uint32_t count) {
    return count == 1 ? "" : "s";
}

void ff__code_show_totals(const struct ff__code_totals *totals) {
    if (totals->reason_count > 1 || totals->refused > 1)
        show_reasons(totals);
    if (totals->texts != 0)
        printf("%u kernel%s, %u translated, %u refused\n", totals->kernels, plural(totals->kernels),
               totals->kernels - totals->refused, totals->refused);
    if (totals->texts < totals->images)
        printf("%u kernel%s of machine code in cubins, which cannot be translated\n",
               totals->machine_kernels, plural(totals->machine_kernels));
}
