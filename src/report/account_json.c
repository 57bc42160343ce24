/* Accounts for programs. Not with jansson: the preload would bring it into programs that may have
 * another one. */
#include "report/account.h"

#include "report/moved.h"
#include "report/tip.h"

#include <inttypes.h>

#define PAGE UINT64_C(4096)

/* ---- values ---- */

struct writer {
    FILE *file;
    unsigned depth; /* open brackets */
    bool is_first;  /* what comes is, after the last one of these */
};

/* A member of an object; without a name, an element of an array. */
static void put_name(struct writer *writer, const char *name) {
    fputs(writer->is_first ? "" : ",", writer->file);
    if (writer->depth == 1 || writer->depth == 2)
        fprintf(writer->file, "\n%*s", (int)(2 * writer->depth), "");
    else if (!writer->is_first)
        fputc(' ', writer->file);
    if (name)
        fprintf(writer->file, "\"%s\": ", name);
    writer->is_first = false;
}

static void open_bracket(struct writer *writer, const char *name, char bracket) {
    put_name(writer, name);
    fputc(bracket, writer->file);
    writer->depth++;
    writer->is_first = true;
}

static void close_bracket(struct writer *writer, char bracket) {
    fputc(bracket, writer->file);
    writer->depth--;
    writer->is_first = false;
}

static void put_count(struct writer *writer, const char *name, uint64_t value) {
    put_name(writer, name);
    fprintf(writer->file, "%" PRIu64, value);
}

/* Not with printf: a program may have set a locale whose decimal point is a comma. */
static void put_real(struct writer *writer, const char *name, double value) {
    uint64_t billionths = (uint64_t)((value < 0 ? -value : value) * 1e9 + 0.5);
    put_name(writer, name);
    fprintf(writer->file, "%s%" PRIu64 ".%09" PRIu64, value < 0 ? "-" : "",
            billionths / 1000000000u, billionths % 1000000000u);
}

/* `value` NULL: null. */
static void put_text(struct writer *writer, const char *name, const char *value) {
    put_name(writer, name);
    if (!value) {
        fputs("null", writer->file);
        return;
    }
    fputc('"', writer->file);
    for (const unsigned char *c = (const unsigned char *)value; *c; c++)
        fprintf(writer->file, *c == '"' || *c == '\\' ? "\\%c" : *c < ' ' ? "\\u%04x" : "%c", *c);
    fputc('"', writer->file);
}

static void put_name_of(struct writer *writer, const char *name, const char *value) {
    put_text(writer, name, value[0] ? value : NULL);
}

/* ---- parts of an account ---- */

static void put_fallbacks(struct writer *writer, const struct ff__account *account) {
    open_bracket(writer, "fallbacks", '{');
    for (unsigned i = 0; i < FF__ACCOUNT_FALLBACKS; i++)
        if (ff__account_fallbacks(account, i))
            put_count(writer, account->fallback_names[i], ff__account_fallbacks(account, i));
    close_bracket(writer, '}');
}

/* The member that `farfault sim` has in its runs, too. */
static void put_findings(struct writer *writer, const struct ff__findings *findings) {
    char range[32];
    open_bracket(writer, "findings", '[');
    for (uint32_t i = 0; i < findings->count; i++) {
        const struct ff_found *found = &findings->items[i];
        snprintf(range, sizeof range, "buffer %" PRIu32, found->range);
        open_bracket(writer, NULL, '{');
        put_name_of(writer, "kernel", found->kernel);
        put_text(writer, "range", found->has_range ? range : NULL);
        put_text(writer, "text", found->text);
        close_bracket(writer, '}');
    }
    close_bracket(writer, ']');
}

typedef void put_moved_fn(struct writer *writer, const struct ff_moved *item, bool is_rest);

static void put_kernel(struct writer *writer, const struct ff_moved *kernel, bool is_rest) {
    put_name_of(writer, "name", is_rest ? "" : kernel->kernel);
    put_count(writer, "operand_bytes", kernel->size);
}

static void put_buffer(struct writer *writer, const struct ff_moved *buffer, bool is_rest) {
    char name[FF__MOVED_NAME];
    put_text(writer, "name", is_rest ? NULL : ff__moved_buffer_name(name, buffer));
    put_name_of(writer, "first_kernel", buffer->kernel);
    put_count(writer, "size", buffer->size);
    put_count(writer, "touched_bytes", buffer->touched);
    put_name(writer, "strided");
    fputs(buffer->is_strided ? "true" : "false", writer->file);
}

/* `count`: how many it sums up. */
static void put_moved(struct writer *writer, const struct ff_moved *item, uint32_t count,
                      bool is_rest, put_moved_fn *put_own) {
    open_bracket(writer, NULL, '{');
    put_own(writer, item, is_rest);
    put_count(writer, "count", count);
    put_count(writer, "launches", item->launches);
    put_count(writer, "faults", item->faults);
    put_count(writer, "refaults", item->refaults);
    put_count(writer, "bytes_in", item->bytes_in);
    put_count(writer, "bytes_out", item->bytes_out);
    put_count(writer, "prefetched_bytes", item->prefetched_bytes);
    put_count(writer, "stall_ns", item->stall_ns);
    close_bracket(writer, '}');
}

static void put_moved_list(struct writer *writer, const char *name,
                           const struct ff_moved_list *list, put_moved_fn *put_own) {
    open_bracket(writer, name, '[');
    for (uint32_t i = 0; i < list->count; i++)
        put_moved(writer, &list->worst[i], 1, false, put_own);
    if (list->rest_count)
        put_moved(writer, &list->rest, list->rest_count, true, put_own);
    close_bracket(writer, ']');
}

static void put_places(struct writer *writer, const struct ff__account *account) {
    open_bracket(writer, "places", '[');
    for (uint32_t i = 0; i < account->place_count; i++) {
        open_bracket(writer, NULL, '{');
        put_real(writer, "share", account->places[i].share);
        put_name_of(writer, "function", account->places[i].function);
        put_name_of(writer, "object", account->places[i].object);
        put_count(writer, "offset", account->places[i].offset);
        close_bracket(writer, '}');
    }
    close_bracket(writer, ']');
}

static void put_extents(struct writer *writer, const struct ff__account *account) {
    open_bracket(writer, "extents", '[');
    for (uint32_t i = 0; i <= FF__ACCOUNT_EXTENTS; i++) {
        const struct ff__account_extents *of = &account->extents[i];
        if (of->launches == 0)
            continue;
        open_bracket(writer, NULL, '{');
        put_name_of(writer, "kernel", of->kernel);
        put_count(writer, "launches", of->launches);
        put_count(writer, "known", of->known);
        put_count(writer, "predicted_bytes", of->predicted * PAGE);
        put_count(writer, "alone", of->alone);
        put_count(writer, "faults", of->faults);
        put_count(writer, "faults_outside", of->outside);
        put_count(writer, "brought_for", of->brought_for);
        put_count(writer, "orders", of->orders);
        put_count(writer, "orders_dropped", of->dropped);
        put_count(writer, "brought_bytes", of->brought * PAGE);
        put_name(writer, "trusted");
        fputs(of->is_trusted ? "true" : "false", writer->file);
        close_bracket(writer, '}');
    }
    close_bracket(writer, ']');
}

static void put_stats(struct writer *writer, const struct ff__account *account) {
    const struct ff_stats *stats = &account->stats;
    put_count(writer, "faults", stats->faults);
    put_count(writer, "batches", stats->batches);
    put_count(writer, "batches_full", stats->batches_full);
    put_count(writer, "bytes_in", stats->pages_in * PAGE);
    put_count(writer, "bytes_remote", stats->pages_mapped * PAGE);
    put_count(writer, "bytes_out", stats->pages_out * PAGE);
    put_count(writer, "bytes_dropped", stats->pages_dropped * PAGE);
    put_count(writer, "borrowed_peak", stats->borrowed_peak);
    put_count(writer, "lent_peak", stats->lent_peak);
    put_count(writer, "bytes_lent", stats->pages_lent * PAGE);
    put_count(writer, "bytes_fetched", stats->pages_fetched * PAGE);
    put_count(writer, "populated_bytes", stats->populated * PAGE);
    put_count(writer, "prefetched_bytes", stats->prefetched * PAGE);
    put_count(writer, "refaults", stats->refaults);
    put_count(writer, "evictions", stats->evictions);
    put_count(writer, "launches", account->launches);
    put_count(writer, "launches_known", account->known_launches);
    put_count(writer, "demanded_bytes", stats->demanded * PAGE);
    put_real(writer, "hit_rate", ff_stats_hit_rate(stats));
    put_count(writer, "advice_dropped", stats->advice_dropped);
    put_real(writer, "fault_seconds", (double)stats->fault_ns * 1e-9);
    put_real(writer, "waited_seconds", (double)stats->waited_ns * 1e-9);
    put_count(writer, "resident_peak", stats->resident_peak);
}

void ff__account_print_json(const struct ff__account *account, const struct ff__findings *findings,
                            FILE *file) {
    bool has_context = ff__account_has_context(account);
    struct writer all = {file, 0, true}, *writer = &all;
    char tip[FF__TIP];
    open_bracket(writer, NULL, '{');
    put_text(writer, "mode", ff__mode_name(account->mode));
    put_text(writer, "reason", account->reason);
    put_text(writer, "broken", account->broken);
    put_text(writer, "system", has_context ? account->system : "none");
    put_count(writer, "memory", account->memory);
    put_count(writer, "devices", account->devices);
    put_text(writer, "description", has_context ? account->description : "unmanaged");
    put_real(writer, "seconds", ff__account_seconds(account));
    put_count(writer, "footprint", account->footprint);
    put_stats(writer, account);
    put_moved_list(writer, "kernels", &account->kernels, put_kernel);
    put_moved_list(writer, "buffers", &account->buffers, put_buffer);
    put_extents(writer, account);
    put_places(writer, account);
    put_text(writer, "tip", ff__tip_find(account, tip) ? tip : NULL);
    if (findings->asked)
        put_findings(writer, findings);
    put_fallbacks(writer, account);
    fputc('\n', file);
    close_bracket(writer, '}');
    fputc('\n', file);
}
