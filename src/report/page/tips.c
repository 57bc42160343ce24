/* What a recorded run teaches: only what its figures show. The numbers are those of sections of
 * docs/report.md, which has the limits, too. */
#include "report/json.h"
#include "report/page/page.h"

#include <farfault/mask.h>
#include <stdio.h>
#include <stdlib.h>

/* The limits are ours. */
#define BACK_SHARE     0.25 /* of what came in: pages that came back */
#define REPEATS        1.5  /* how often a kernel brings in a page of a launch */
#define KERNEL_SHARE   0.1  /* of what came in: a kernel, or a buffer, that is worth a tip */
#define STREAM_REPEATS 1.05
#define STREAM_PASSES  2.0
#define SMALL_PAGES    4.0 /* that arrive together */
#define SMALL_FAULTS   1000u
#define OUTSIDE_SHARE  0.25
#define TIPS_OF_A_KIND 3u

static double share(uint64_t part, uint64_t whole) {
    return whole ? (double)part / (double)whole : 0;
}

static void add(json_t *tips, unsigned number, const char *title, char *text) {
    json_array_append_new(tips, ff__must(json_pack("{s:i,s:s,s:o}", "number", (int)number, "title",
                                                   title, "text", ff__json_text(text))));
    free(text);
}

static const char *count_of(char out[FF__QUANTITY], uint64_t count) {
    if (count < 1000000)
        snprintf(out, FF__QUANTITY, "%llu", (unsigned long long)count);
    else
        snprintf(out, FF__QUANTITY, "%.1f million", (double)count / 1e6);
    return out;
}

static const char *size_of(char out[FF__QUANTITY], uint64_t pages) {
    return ff__size_text(out, pages * FF_PAGE_SIZE);
}

/* ---- R1 ---- */

static void tip_thrashing(const struct ff__run_history *history, json_t *tips) {
    const struct ff__history_counts *counts = &history->counts;
    char back[FF__QUANTITY], in[FF__QUANTITY], faults[FF__QUANTITY];
    if (share(counts->pages_back, counts->pages_in) < BACK_SHARE)
        return;
    add(tips, 1, "Memory is used again after it has left",
        ff__text("%s of the %s that came in (%.0f %%) had been on a device before; %.0f %% of the "
                 "%s faults were for such pages.",
                 size_of(back, counts->pages_back), size_of(in, counts->pages_in),
                 100 * share(counts->pages_back, counts->pages_in),
                 100 * share(counts->refaults, counts->faults), count_of(faults, counts->faults)));
}

/* ---- R2 ---- */

static void tip_repeats(const struct ff__run_history *history, json_t *tips) {
    unsigned told = 0;
    for (size_t i = 1; i < history->kernel_count && told < TIPS_OF_A_KIND; i++) {
        const struct ff__history_kernel *kernel = &history->kernels[i];
        const struct ff__history_counts *counts = &kernel->counts;
        char in[FF__QUANTITY], once[FF__QUANTITY];
        if (share(counts->pages_in, history->counts.pages_in) < KERNEL_SHARE ||
            share(counts->pages_in, counts->pages_once) < REPEATS)
            continue;
        told++;
        add(tips, 2, "A kernel brings in the same data several times in a launch",
            ff__text("%s brought in %s, of which %s are different pages of a launch: each %.1f "
                     "times. It seems to walk its data by columns, in large strides or at random; "
                     "neighbouring work-items should use neighbouring data.",
                     kernel->name, size_of(in, counts->pages_in), size_of(once, counts->pages_once),
                     share(counts->pages_in, counts->pages_once)));
    }
}

/* ---- R3 ---- */

/* Much of what came in was the buffer's, again and again, but once in a launch. */
static bool streams(const struct ff__run_history *history,
                    const struct ff__history_buffer *buffer) {
    const struct ff__history_counts *counts = &buffer->counts;
    return share(counts->pages_in, history->counts.pages_in) >= KERNEL_SHARE &&
           share(counts->pages_in, counts->pages_once) <= STREAM_REPEATS &&
           share(counts->pages_in * FF_PAGE_SIZE, buffer->bytes) >= STREAM_PASSES &&
           buffer->launches_in >= 2;
}

static void tip_streams(const struct ff__run_history *history, json_t *tips) {
    char *which = ff__text("%s", "");
    unsigned told = 0;
    for (size_t i = 0; i < history->buffer_count && told < TIPS_OF_A_KIND; i++) {
        const struct ff__history_buffer *buffer = &history->buffers[i];
        char size[FF__QUANTITY], in[FF__QUANTITY];
        if (!streams(history, buffer))
            continue;
        which = ff__text_add(which, "%s %zu (%s) came in %.1f times over (%s in %llu launches)",
                             told ? ", buffer" : "Buffer", i, ff__size_text(size, buffer->bytes),
                             share(buffer->counts.pages_in * FF_PAGE_SIZE, buffer->bytes),
                             size_of(in, buffer->counts.pages_in),
                             (unsigned long long)buffer->launches_in);
        told++;
    }
    if (told)
        add(tips, 3, told > 1 ? "Buffers stream through memory" : "A buffer streams through memory",
            ff__text("%s, and never twice in a launch. Where data is read in passes, keeping a "
                     "part of it saves that part of each pass: try --system keep or auto.",
                     which));
    free(which);
}

/* ---- R4 ---- */

/* The distance in pages within which so large a share of what came back did. */
static uint64_t distance_of(const struct ff__run_history *history, double wanted) {
    uint64_t sum = 0;
    unsigned bin = 0;
    while (bin + 1 < FF__HISTORY_BINS &&
           (double)(sum += history->distances[bin]) < wanted * (double)history->counts.pages_back)
        bin++;
    return ff__history_bin_end(bin);
}

static void tip_memory(const struct ff__run_history *history, json_t *tips) {
    const struct ff__history_counts *counts = &history->counts;
    char half[FF__QUANTITY], most[FF__QUANTITY], whole[FF__QUANTITY];
    uint64_t memory = history->held_peak * FF_PAGE_SIZE;
    uint64_t more = distance_of(history, 0.9) * FF_PAGE_SIZE;
    uint64_t some = distance_of(history, 0.5) * FF_PAGE_SIZE;
    if (share(counts->pages_back, counts->pages_in) < BACK_SHARE)
        return;
    if (memory + more >= history->footprint) {
        bool part = memory + some < history->footprint;
        add(tips, 4, "Only all of the footprint would do",
            ff__text("With evictions in the same order, %s of memory would be needed for 90 %% of "
                     "what came back to stay%s%s%s. A policy that keeps a part of what is used "
                     "again and again needs less: try --system keep or auto.",
                     ff__size_text(most, history->footprint),
                     part ? "; half of it would with " : "", part ? ff__size_text(half, some) : "",
                     part ? " more" : ""));
        return;
    }
    add(tips, 4, "This much more memory would do",
        ff__text("With %s more, and evictions in the same order, half of what came back would have "
                 "stayed; with %s more (%s in all), 90 %%.",
                 ff__size_text(half, some), ff__size_text(most, more),
                 ff__size_text(whole, memory + more)));
}

/* ---- R5, R6, R7 ---- */

static void tip_small(const struct ff__run_history *history, json_t *tips) {
    double together = share(history->counts.pages_in, history->arrivals);
    if (history->counts.faults < SMALL_FAULTS || history->arrivals < SMALL_FAULTS ||
        together > SMALL_PAGES)
        return;
    add(tips, 5, "Little comes in at a time",
        ff__text("%.1f pages of 4 KiB arrived together on average, in %llu moves. A system that "
                 "prefetches takes fewer faults where neighbouring pages are used, too: try "
                 "--system nvidia-1 or auto.",
                 together, (unsigned long long)history->arrivals));
}

static void tip_outside(const struct ff__run_history *history, json_t *tips) {
    const struct ff__history_counts *outside = &history->kernels[0].counts;
    char in[FF__QUANTITY];
    if (history->launches == 0 ||
        share(outside->pages_in, history->counts.pages_in) < OUTSIDE_SHARE)
        return;
    add(tips, 6, "Much comes in while no kernel runs",
        ff__text("%s (%.0f %% of all) arrived outside of launches: what the host writes and reads "
                 "through the device, such as initial data.",
                 size_of(in, outside->pages_in),
                 100 * share(outside->pages_in, history->counts.pages_in)));
}

/* What is freed leaves, too, so that leaving alone shows nothing. */
static void tip_fits(const struct ff__run_history *history, json_t *tips) {
    char held[FF__QUANTITY], memory[FF__QUANTITY];
    const struct ff__history_counts *counts = &history->counts;
    if (counts->pages_in == 0 || counts->pages_back > 0 ||
        history->held_peak * FF_PAGE_SIZE >= history->info.memory)
        return;
    add(tips, 7, "Everything fits",
        ff__text("Nothing came back, and the memory was never full: at most %s of %s. With less "
                 "memory this run would show what is used again.",
                 size_of(held, history->held_peak), ff__size_text(memory, history->info.memory)));
}

json_t *ff__page_tips(const struct ff__run_history *history) {
    json_t *tips = ff__must(json_array());
    tip_thrashing(history, tips);
    tip_repeats(history, tips);
    tip_streams(history, tips);
    tip_memory(history, tips);
    tip_small(history, tips);
    tip_outside(history, tips);
    tip_fits(history, tips);
    return tips;
}
