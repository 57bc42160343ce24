/* Why kernels are refused, the same reasons together: without lines and operands. */
#include "report/ptx/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "line 30: @%p1 bar.red.popc.u32 %r1, 0;: why" is "bar.red.popc.u32: why". */
static char *common_part(const char *refused) {
    const char *why = strncmp(refused, "line ", 5) == 0 ? strstr(refused, ": ") : NULL;
    why = why != NULL ? why + 2 : refused;
    const char *end = strstr(why, ": ");
    if (end == NULL)
        return ff__text("%s", why);
    const char *word = why;
    if (*word == '@') /* a guard */
        word += strcspn(word, " :");
    word += strspn(word, " ");
    return ff__text("%.*s%s", (int)strcspn(word, " ;:"), word, end);
}

static int line_of(const char *refused) {
    int line = 0;
    return sscanf(refused, "line %d", &line) == 1 ? line : 0;
}

static void add_reason(struct ff__code_totals *totals, const struct ff__code *code,
                       const struct ff__code_kernel *kernel) {
    char *text = common_part(kernel->refused);
    for (uint32_t i = 0; i < totals->reason_count; i++) {
        if (strcmp(totals->reasons[i].text, text) == 0) {
            totals->reasons[i].count++;
            free(text);
            return;
        }
    }
    totals->reasons =
        ff__must(realloc(totals->reasons, (totals->reason_count + 1ul) * sizeof *totals->reasons));
    totals->reasons[totals->reason_count++] = (struct ff__code_reason){
        text, 1,
        ff__text("image %u, line %d: %s", code->number, line_of(kernel->refused), kernel->name)};
}

void ff__code_count(struct ff__code_totals *totals, const struct ff__code *code) {
    totals->images++;
    totals->texts += code->image->is_text;
    for (uint32_t i = 0; i < code->count; i++) {
        const struct ff__code_kernel *kernel = &code->kernels[i];
        if (!kernel->is_entry)
            continue;
        if (!code->image->is_text)
            totals->machine_kernels++;
        else
            totals->kernels++;
        if (kernel->refused == NULL)
            continue;
        totals->refused++;
        add_reason(totals, code, kernel);
    }
}

static int more_often(const void *a, const void *b) {
    const struct ff__code_reason *first = a, *second = b;
    if (first->count != second->count)
        return first->count < second->count ? 1 : -1;
    return strcmp(first->text, second->text);
}

void ff__code_sort_reasons(struct ff__code_totals *totals) {
    if (totals->reason_count != 0)
        qsort(totals->reasons, totals->reason_count, sizeof *totals->reasons, more_often);
}

void ff__code_totals_free(struct ff__code_totals *totals) {
    for (uint32_t i = 0; i < totals->reason_count; i++) {
        free(totals->reasons[i].text);
        free(totals->reasons[i].example);
    }
    free(totals->reasons);
    *totals = (struct ff__code_totals){0};
}
