/* What the page shows of a recorded run. */
#include "report/json.h"
#include "report/page/page.h"

#include <farfault/mask.h>
#include <stdlib.h>

#define ROWS_MAX 60u /* of a table: the worst; the others are added up */

static json_t *bytes_of(uint64_t pages) {
    return ff__json_count(pages * FF_PAGE_SIZE);
}

static void set_counts(json_t *object, const struct ff__history_counts *counts) {
    ff__json_set(object, "faults", ff__json_count(counts->faults));
    ff__json_set(object, "refaults", ff__json_count(counts->refaults));
    ff__json_set(object, "bytes_in", bytes_of(counts->pages_in));
    ff__json_set(object, "bytes_back", bytes_of(counts->pages_back));
    ff__json_set(object, "bytes_out", bytes_of(counts->pages_out));
    ff__json_set(object, "bytes_once", bytes_of(counts->pages_once));
}

static json_t *new_object(void) {
    return ff__must(json_object());
}

static json_t *new_array(void) {
    return ff__must(json_array());
}

static void add(json_t *array, json_t *value) {
    json_array_append_new(array, ff__must(value));
}

/* ---- tables ---- */

static void sum_up(struct ff__history_counts *sum, const struct ff__history_counts *counts) {
    sum->faults += counts->faults;
    sum->refaults += counts->refaults;
    sum->pages_in += counts->pages_in;
    sum->pages_back += counts->pages_back;
    sum->pages_out += counts->pages_out;
    sum->pages_once += counts->pages_once;
}

/* What moved most comes first, and of what moved as much, what took longest. */
struct ranked {
    uint64_t moved, time_ns;
    size_t index;
};

static int by_rank(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    if (x->moved != y->moved)
        return x->moved < y->moved ? 1 : -1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? 1 : -1;
    return x->index > y->index ? 1 : -1;
}

static uint64_t moved(const struct ff__history_counts *counts) {
    return counts->pages_in + counts->pages_out + counts->faults;
}

static json_t *kernel_row(const struct ff__history_kernel *kernel, uint64_t kernels) {
    json_t *row = new_object();
    ff__json_set(row, "name", ff__json_text(kernel->name));
    ff__json_set(row, "count", ff__json_count(kernels));
    ff__json_set(row, "launches", ff__json_count(kernel->launches));
    ff__json_set(row, "ns", ff__json_count(kernel->time_ns));
    set_counts(row, &kernel->counts);
    return row;
}

static struct ranked *rank_kernels(const struct ff__run_history *history) {
    struct ranked *order = ff__must(calloc(history->kernel_count, sizeof *order));
    for (size_t i = 0; i < history->kernel_count; i++)
        order[i] =
            (struct ranked){moved(&history->kernels[i].counts), history->kernels[i].time_ns, i};
    qsort(order, history->kernel_count, sizeof *order, by_rank);
    return order;
}

static json_t *kernels(const struct ff__run_history *history) {
    json_t *rows = new_array();
    struct ranked *order = rank_kernels(history);
    struct ff__history_kernel others = {0};
    uint64_t more = 0;
    for (size_t i = 0; i < history->kernel_count; i++) {
        const struct ff__history_kernel *kernel = &history->kernels[order[i].index];
        if (kernel->launches == 0 && moved(&kernel->counts) == 0)
            continue;
        if (i < ROWS_MAX) {
            add(rows, kernel_row(kernel, 1));
            continue;
        }
        more++;
        others.launches += kernel->launches;
        others.time_ns += kernel->time_ns;
        sum_up(&others.counts, &kernel->counts);
    }
    if (more > 0)
        add(rows, kernel_row(&others, more));
    free(order);
    return rows;
}

static json_t *buffer_row(const struct ff__run_history *history,
                          const struct ff__history_buffer *buffer, json_t *number,
                          uint64_t buffers) {
    json_t *row = new_object();
    ff__json_set(row, "buffer", number);
    ff__json_set(row, "count", ff__json_count(buffers));
    ff__json_set(row, "bytes", ff__json_count(buffer->bytes));
    ff__json_set(row, "allocations", ff__json_count(buffer->allocations));
    ff__json_set(row, "first_kernel",
                 buffer->first_kernel == FF__HISTORY_NO_INDEX
                     ? json_null()
                     : ff__json_text(history->kernels[buffer->first_kernel].name));
    ff__json_set(row, "first_block", ff__json_count(buffer->blocks_before));
    set_counts(row, &buffer->counts);
    return row;
}

static json_t *buffers(const struct ff__run_history *history) {
    json_t *rows = new_array();
    struct ranked *order = ff__must(calloc(history->buffer_count + 1, sizeof *order));
    struct ff__history_buffer others = {.first_kernel = FF__HISTORY_NO_INDEX};
    uint64_t more = 0;
    for (size_t i = 0; i < history->buffer_count; i++)
        order[i] =
            (struct ranked){moved(&history->buffers[i].counts), history->buffers[i].bytes, i};
    qsort(order, history->buffer_count, sizeof *order, by_rank);
    for (size_t i = 0; i < history->buffer_count; i++) {
        const struct ff__history_buffer *buffer = &history->buffers[order[i].index];
        if (i < ROWS_MAX) {
            add(rows, buffer_row(history, buffer, ff__json_count(order[i].index), 1));
            continue;
        }
        more++;
        others.bytes += buffer->bytes;
        others.allocations += buffer->allocations;
        sum_up(&others.counts, &buffer->counts);
    }
    if (more > 0)
        add(rows, buffer_row(history, &others, json_null(), more));
    free(order);
    return rows;
}

/* ---- charts ---- */

static json_t *slices(const struct ff__run_history *history) {
    static const char *const names[] = {"faults",    "refaults", "bytes_in", "bytes_back",
                                        "bytes_out", "held",     "used"};
    json_t *all = new_object();
    json_t *columns[sizeof names / sizeof names[0]];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ff__json_set(all, names[i], columns[i] = new_array());
    for (unsigned i = 0; i < FF__HISTORY_SLICES; i++) {
        const struct ff__history_slice *slice = &history->slices[i];
        add(columns[0], ff__json_count(slice->counts.faults));
        add(columns[1], ff__json_count(slice->counts.refaults));
        add(columns[2], bytes_of(slice->counts.pages_in));
        add(columns[3], bytes_of(slice->counts.pages_back));
        add(columns[4], bytes_of(slice->counts.pages_out));
        add(columns[5], bytes_of(slice->pages_held));
        add(columns[6], bytes_of(slice->pages_used));
    }
    return all;
}

static json_t *lanes(const struct ff__run_history *history) {
    const char *names[FF__HISTORY_LANES] = {0};
    json_t *all = new_array();
    uint64_t others = 0;
    for (size_t i = 0; i < history->kernel_count; i++) {
        const struct ff__history_kernel *kernel = &history->kernels[i];
        if (kernel->launches > 0 && kernel->lane < FF__HISTORY_LANES - 1)
            names[kernel->lane] = kernel->name;
        else
            others += kernel->launches > 0;
    }
    for (unsigned i = 0; i < FF__HISTORY_LANES && names[i]; i++)
        add(all, ff__json_text(names[i]));
    if (others > 0)
        add(all, json_sprintf("%llu other kernels", (unsigned long long)others));
    return all;
}

static json_t *bars(const struct ff__run_history *history) {
    json_t *all = new_array();
    for (size_t i = 0; i < history->bar_count; i++) {
        const struct ff__history_bar *bar = &history->bars[i];
        add(all, json_pack("[I,I,I,I,I]", (json_int_t)bar->lane, (json_int_t)bar->begin_ns,
                           (json_int_t)bar->end_ns, (json_int_t)bar->launches,
                           (json_int_t)bar->busy_ns));
    }
    return all;
}

/* A cell is a character: 0, or of n the number of its bits, from 1 on, in base 36. */
static char cell_of(uint64_t count) {
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    unsigned bits = 0;
    while (count >> bits && bits < 35)
        bits++;
    return digits[bits];
}

static json_t *map_rows(const struct ff__run_history *history, enum ff__history_map map,
                        bool *any) {
    uint64_t rows = history->blocks ? (history->blocks - 1) / history->blocks_a_row + 1 : 0;
    json_t *all = new_array();
    for (uint64_t i = 0; i < rows; i++) {
        char line[FF__HISTORY_SLICES + 1] = {0};
        for (unsigned j = 0; j < FF__HISTORY_SLICES; j++) {
            line[j] = cell_of(history->maps[map][i][j]);
            *any = *any || line[j] != '0';
        }
        add(all, json_string(line));
    }
    return all;
}

static json_t *maps(const struct ff__run_history *history) {
    static const char *const names[FF__HISTORY_MAPS] = {"faults", "pages", "uses"};
    json_t *all = new_object();
    for (unsigned i = 0; i < FF__HISTORY_MAPS; i++) {
        bool any = false;
        json_t *rows = map_rows(history, i, &any);
        if (any)
            ff__json_set(all, names[i], rows);
        else
            json_decref(rows);
    }
    return all;
}

/* [bytes below which they are, bytes that came back], for each power of two. */
static json_t *distances(const struct ff__run_history *history) {
    json_t *all = new_array();
    for (unsigned bin = 0; bin < FF__HISTORY_BINS; bin += FF__HISTORY_STEPS) {
        uint64_t pages = 0;
        for (unsigned i = 0; i < FF__HISTORY_STEPS; i++)
            pages += history->distances[bin + i];
        json_t *row = new_array();
        add(row, bytes_of(ff__history_bin_end(bin + FF__HISTORY_STEPS - 1)));
        add(row, bytes_of(pages));
        add(all, row);
    }
    return all;
}

/* ---- all ---- */

static const char *kind_of(const struct ff_trace_info *info) {
    return info->accesses ? "accesses" : info->touches ? "touches" : "faults";
}

static uint64_t used_buffers(const struct ff__run_history *history) {
    uint64_t count = 0;
    for (size_t i = 0; i < history->buffer_count; i++)
        count += history->buffers[i].allocations > 0;
    return count;
}

static json_t *head(const struct ff__run_history *history) {
    json_t *head = new_object();
    ff__json_set(head, "source", ff__json_text(history->info.source));
    ff__json_set(head, "subject", ff__json_text(history->info.subject));
    ff__json_set(head, "records", ff__json_text(kind_of(&history->info)));
    ff__json_set(head, "memory",
                 history->info.memory ? ff__json_count(history->info.memory) : json_null());
    ff__json_set(head, "devices", ff__json_count(history->devices));
    ff__json_set(head, "ns", ff__json_count(history->end_ns));
    ff__json_set(head, "slice_ns", ff__json_count(history->slice_ns));
    ff__json_set(head, "events", ff__json_count(history->events));
    ff__json_set(head, "launches", ff__json_count(history->launches));
    ff__json_set(head, "buffers", ff__json_count(used_buffers(history)));
    ff__json_set(head, "footprint", ff__json_count(history->footprint));
    ff__json_set(head, "held_peak", bytes_of(history->held_peak));
    ff__json_set(head, "blocks", ff__json_count(history->blocks));
    ff__json_set(head, "blocks_a_row", ff__json_count(history->blocks_a_row));
    set_counts(head, &history->counts);
    return head;
}

json_t *ff__page_of_trace(const struct ff__run_history *history, const char *file) {
    json_t *all = new_object();
    ff__json_set(all, "kind", ff__json_text("trace"));
    ff__json_set(all, "farfault", ff__json_text(FARFAULT_VERSION));
    ff__json_set(all, "file", ff__json_text(file));
    ff__json_set(all, "head", head(history));
    ff__json_set(all, "tips", ff__page_tips(history));
    ff__json_set(all, "slices", slices(history));
    ff__json_set(all, "lanes", lanes(history));
    ff__json_set(all, "bars", bars(history));
    ff__json_set(all, "maps", maps(history));
    ff__json_set(all, "distances", distances(history));
    ff__json_set(all, "kernels", kernels(history));
    ff__json_set(all, "buffers", buffers(history));
    return all;
}
