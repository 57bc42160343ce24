/* Accounts for programs. */
#include "report/account.h"

#include "base/new_file.h"
#include "report/advice.h"
#include "report/moved.h"

#include <inttypes.h>

#define PAGE UINT64_C(4096)

static void print_text(FILE *file, const char *value) {
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < ' ')
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    }
    fputc('"', file);
}

static void print_string(FILE *file, const char *name, const char *value) {
    fprintf(file, "  \"%s\": ", name);
    print_text(file, value);
    fputs(",\n", file);
}

static void print_number(FILE *file, const char *name, uint64_t value) {
    fprintf(file, "  \"%s\": %" PRIu64 ",\n", name, value);
}

/* Not with printf: a program may have set a locale whose decimal point is a comma. */
static void print_real(FILE *file, const char *name, double value) {
    uint64_t billionths = (uint64_t)((value < 0 ? -value : value) * 1e9 + 0.5);
    fprintf(file, "  \"%s\": %s%" PRIu64 ".%09" PRIu64 ",\n", name, value < 0 ? "-" : "",
            billionths / 1000000000u, billionths % 1000000000u);
}

static void print_fallbacks(FILE *file, const struct ff__account *account) {
    const char *separator = "";
    fputs("  \"fallbacks\": {", file);
    for (unsigned i = 0; i < FF__ACCOUNT_FALLBACKS; i++) {
        if (ff__account_fallbacks(account, i) == 0)
            continue;
        fprintf(file, "%s\"%s\": %" PRIu64, separator, account->fallback_names[i],
                ff__account_fallbacks(account, i));
        separator = ", ";
    }
    fputs("}\n", file);
}

static void print_found(FILE *file, const struct ff_found *found) {
    char range[32];
    snprintf(range, sizeof range, "buffer %" PRIu32, found->range);
    fputs("{\"kernel\": ", file);
    found->kernel[0] ? print_text(file, found->kernel) : (void)fputs("null", file);
    fputs(", \"range\": ", file);
    found->has_range ? print_text(file, range) : (void)fputs("null", file);
    fputs(", \"text\": ", file);
    print_text(file, found->text);
    fputc('}', file);
}

/* The member that `farfault sim` has in its runs, too. */
static void print_found_list(FILE *file, struct ff_context *explained) {
    struct ff_found found;
    fputs("  \"findings\": [", file);
    for (uint32_t i = 0; ff_finding_read(explained, i, &found); i++) {
        fputs(i > 0 ? ",\n    " : "\n    ", file);
        print_found(file, &found);
    }
    fputs("],\n", file);
}

/* What kernels and buffers share; ends the object. `count`: how many it sums up. */
static void print_moved(FILE *file, const struct ff_moved *item, uint32_t count) {
    const struct {
        const char *name;
        uint64_t value;
    } members[] = {
        {"count", count},
        {"launches", item->launches},
        {"faults", item->faults},
        {"refaults", item->refaults},
        {"bytes_in", item->bytes_in},
        {"bytes_out", item->bytes_out},
        {"prefetched_bytes", item->prefetched_bytes},
        {"stall_ns", item->stall_ns},
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        fprintf(file, ", \"%s\": %" PRIu64, members[i].name, members[i].value);
    fputc('}', file);
}

/* NULL: null. */
static void print_name(FILE *file, const char *key, const char *name) {
    fprintf(file, "\"%s\": ", key);
    name &&name[0] ? print_text(file, name) : (void)fputs("null", file);
}

static void print_kernel(FILE *file, const struct ff_moved *kernel, uint32_t count, bool is_rest) {
    fputc('{', file);
    print_name(file, "name", is_rest ? NULL : kernel->kernel);
    fprintf(file, ", \"operand_bytes\": %" PRIu64, kernel->size);
    print_moved(file, kernel, count);
}

static void print_buffer(FILE *file, const struct ff_moved *buffer, uint32_t count, bool is_rest) {
    char name[FF__MOVED_NAME];
    fputc('{', file);
    print_name(file, "name", is_rest ? NULL : ff__moved_buffer_name(name, buffer));
    fputs(", ", file);
    print_name(file, "first_kernel", buffer->kernel);
    fprintf(file, ", \"size\": %" PRIu64 ", \"touched_bytes\": %" PRIu64 ", \"strided\": %s",
            buffer->size, buffer->touched, buffer->is_strided ? "true" : "false");
    print_moved(file, buffer, count);
}

static void print_moved_list(FILE *file, const char *name, const struct ff_moved_list *list,
                             void (*print)(FILE *, const struct ff_moved *, uint32_t, bool)) {
    fprintf(file, "  \"%s\": [", name);
    for (uint32_t i = 0; i < list->count; i++) {
        fputs(i > 0 ? ",\n    " : "\n    ", file);
        print(file, &list->worst[i], 1, false);
    }
    if (list->rest_count) {
        fputs(",\n    ", file);
        print(file, &list->rest, list->rest_count, true);
    }
    fputs("],\n", file);
}

static void print_advice(FILE *file, const struct ff__account *account) {
    char advice[FF__ADVICE];
    fputs("  \"advice\": ", file);
    ff__advice_find(account, advice) ? print_text(file, advice) : (void)fputs("null", file);
    fputs(",\n", file);
}

static void print_json(FILE *file, const struct ff__account *account,
                       struct ff_context *explained) {
    const struct ff_stats *stats = &account->stats;
    fputs("{\n", file);
    print_string(file, "mode", ff__mode_name(account->mode));
    print_string(file, "reason", account->reason);
    print_string(file, "broken", account->broken);
    print_string(file, "system", ff__account_has_context(account) ? account->system : "none");
    print_number(file, "memory", account->memory);
    print_number(file, "devices", account->devices);
    print_string(file, "description",
                 ff__account_has_context(account) ? account->description : "plain OpenCL");
    print_real(file, "seconds", ff__account_seconds(account));
    print_number(file, "footprint", account->footprint);
    print_number(file, "faults", stats->faults);
    print_number(file, "batches", stats->batches);
    print_number(file, "bytes_in", stats->pages_in * PAGE);
    print_number(file, "bytes_out", stats->pages_out * PAGE);
    print_number(file, "bytes_dropped", stats->pages_dropped * PAGE);
    print_number(file, "borrowed_peak", stats->borrowed_peak);
    print_number(file, "lent_peak", stats->lent_peak);
    print_number(file, "bytes_lent", stats->pages_lent * PAGE);
    print_number(file, "bytes_fetched", stats->pages_fetched * PAGE);
    print_number(file, "populated_bytes", stats->populated * PAGE);
    print_number(file, "prefetched_bytes", stats->prefetched * PAGE);
    print_number(file, "refaults", stats->refaults);
    print_number(file, "evictions", stats->evictions);
    print_number(file, "launches", account->launches);
    print_number(file, "demanded_bytes", stats->demanded * PAGE);
    print_real(file, "hit_rate", ff_stats_hit_rate(stats));
    print_number(file, "advice_dropped", stats->advice_dropped);
    print_real(file, "fault_seconds", (double)stats->fault_ns * 1e-9);
    print_number(file, "resident_peak", stats->resident_peak);
    print_moved_list(file, "kernels", &account->kernels, print_kernel);
    print_moved_list(file, "buffers", &account->buffers, print_buffer);
    print_advice(file, account);
    if (explained)
        print_found_list(file, explained);
    print_fallbacks(file, account);
    fputs("}\n", file);
}

struct report {
    const struct ff__account *account;
    struct ff_context *explained;
};

static int print(FILE *file, const void *self) {
    const struct report *report = self;
    print_json(file, report->account, report->explained);
    return 0;
}

int ff__account_write(const struct ff__account *account, struct ff_context *explained,
                      const char *path) {
    const struct report report = {account, explained};
    return ff__file_write(path, print, &report);
}
