/* Writing past the device: ff_mem_write. */
#include "runtime/ranges.h"

#include <errno.h>
#include <string.h>

#define WRITE_PAGES 8u /* ours: written past the device at a time, from a buffer on the stack */
#define WRITE_SIZE  ((size_t)WRITE_PAGES * FF_PAGE_SIZE)

/* Writes pages [first, end) of a block, those that are on no device, straight to the host tier.
 * They come from memory of our own: a thread that holds a block must not fault. Returns them. */
static struct ff_mask write_absent(struct ff_context *context, uint32_t block, uint32_t first,
                                   uint32_t end, const char *from) {
    struct ff_mask written = ff_mask_of_run(first, end);
    if (!ff__pipeline_claim(&context->pipeline, block, &written))
        return (struct ff_mask){{0}};
    context->backend->write_host(context->self, block, &written, first, from);
    ff__pipeline_release(&context->pipeline, block, &written);
    ff__context_record_host_write(context, block, &written);
    return written;
}

/* Writes the bytes [first, end) of a block, no more than fit the buffer. */
static void write_part(struct ff_context *context, uint32_t block, size_t first, size_t end,
                       const char *from) {
    char buffer[WRITE_SIZE];
    char *to = ff__window_address(context, block);
    uint32_t first_page = (uint32_t)(first / FF_PAGE_SIZE);
    struct ff_mask written = {{0}}, inside = ff__pages_inside(first, end),
                   rest = ff__pages_touched(first, end);
    memcpy(buffer, from, end - first); /* may be managed memory, and fault */
    if (!ff_mask_empty(&inside))
        written = write_absent(context, block, first_page, (uint32_t)(end / FF_PAGE_SIZE), buffer);
    rest = ff_mask_minus(&rest, &written);
    FF_MASK_FOR_EACH_RUN(&rest, run) {
        size_t low = (size_t)run.first * FF_PAGE_SIZE, high = (size_t)run.end * FF_PAGE_SIZE;
        low = low > first ? low : first;
        high = high < end ? high : end;
        memcpy(to + low, buffer + (low - first), high - low); /* faults like any other writer */
    }
}

static void write_piece(struct ff_context *context, uint32_t block, size_t first, size_t end,
                        void *argument) {
    const char **from = argument;
    while (first < end) { /* up to a page's beginning, so that the next part has whole pages */
        size_t whole = (first / FF_PAGE_SIZE + 1) * FF_PAGE_SIZE, most = first + WRITE_SIZE;
        size_t part_end = first % FF_PAGE_SIZE ? whole : most;
        part_end = part_end < end ? part_end : end;
        write_part(context, block, first, part_end, *from);
        *from += part_end - first;
        first = part_end;
    }
}

int ff_mem_write(struct ff_context *context, void *to, const void *from, size_t size) {
    if (ff__context_is_inherited(context))
        return -EPERM;
    if (!ff__range_covers(context, to, size))
        return -EINVAL;
    ff__for_each_piece(context, to, size, write_piece, &from);
    return 0;
}
