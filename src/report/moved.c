#include "report/moved.h"

#include "report/text.h"

#include <inttypes.h>

#define SHOWN      5u

#define NAME_WIDTH 22

const char *ff__moved_buffer_name(char out[FF__MOVED_NAME], const struct ff_moved *buffer) {
    snprintf(out, FF__MOVED_NAME, "buffer %" PRIu32, buffer->number);
    return out;
}

/* The cells that both tables have. */
static void print_counts(FILE *file, const struct ff_moved *item) {
    char in[FF__QUANTITY], out[FF__QUANTITY];
    fprintf(file, " %9" PRIu64 " %9" PRIu64 " %9s %9s %9.3f", item->faults, item->refaults,
            ff__size_text(in, item->bytes_in), ff__size_text(out, item->bytes_out),
            (double)item->stall_ns * 1e-9);
}

static void print_kernel(FILE *file, const char *name, const struct ff_moved *kernel) {
    char size[FF__QUANTITY] = "";
    if (kernel->size)
        ff__size_text(size, kernel->size);
    fprintf(file, "    %-*.*s %9" PRIu64 " %9s", NAME_WIDTH, NAME_WIDTH, name, kernel->launches,
            size);
    print_counts(file, kernel);
    fputc('\n', file);
}

static void print_buffer(FILE *file, const char *name, const struct ff_moved *buffer) {
    char size[FF__QUANTITY], touched[FF__QUANTITY];
    fprintf(file, "    %-*.*s %9s %9s", NAME_WIDTH, NAME_WIDTH, name,
            ff__size_text(size, buffer->size), ff__size_text(touched, buffer->touched));
    print_counts(file, buffer);
    fprintf(file, "%s%s\n", buffer->kernel[0] ? "  " : "", buffer->kernel);
}

/* All that have no line of their own. Returns how many they are. */
static uint32_t sum_others(const struct ff_moved_list *list, struct ff_moved *others) {
    *others = list->rest;
    for (uint32_t i = SHOWN; i < list->count; i++)
        ff_moved_add(others, &list->worst[i]);
    return list->rest_count + (list->count > SHOWN ? list->count - SHOWN : 0);
}

static void print_kernels(const struct ff_moved_list *list, FILE *file) {
    struct ff_moved others;
    char name[FF__MOVED_NAME];
    fprintf(file, "  %-*s %9s %9s %9s %9s %9s %9s %9s\n", NAME_WIDTH + 2, "by kernel", "launches",
            "operands", "faults", "refaults", "in", "out", "stall, s");
    for (uint32_t i = 0; i < list->count && i < SHOWN; i++)
        print_kernel(file, list->worst[i].kernel[0] ? list->worst[i].kernel : "(without a name)",
                     &list->worst[i]);
    uint32_t count = sum_others(list, &others);
    others.size = 0; /* operands that kernels share are counted by each */
    snprintf(name, sizeof name, "%" PRIu32 " more", count);
    if (count)
        print_kernel(file, name, &others);
}

static void print_buffers(const struct ff_moved_list *list, FILE *file) {
    struct ff_moved others;
    char name[FF__MOVED_NAME];
    fprintf(file, "  %-*s %9s %9s %9s %9s %9s %9s %9s  %s\n", NAME_WIDTH + 2, "by buffer", "size",
            "touched", "faults", "refaults", "in", "out", "stall, s", "first used by");
    for (uint32_t i = 0; i < list->count && i < SHOWN; i++)
        print_buffer(file, ff__moved_buffer_name(name, &list->worst[i]), &list->worst[i]);
    uint32_t count = sum_others(list, &others);
    snprintf(name, sizeof name, "%" PRIu32 " more", count);
    if (count)
        print_buffer(file, name, &others);
}

void ff__moved_print(const struct ff_moved_list *kernels, const struct ff_moved_list *buffers,
                     FILE *file) {
    if (kernels->count)
        print_kernels(kernels, file);
    if (buffers->count)
        print_buffers(buffers, file);
    if (kernels->count || buffers->count)
        fputs("  the worst first; a stall is the time in which faults were served, summed over "
              "threads\n",
              file);
}
