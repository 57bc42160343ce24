/* Patterns in what moved. Each is recognized by counters alone: sizes, launches, and bytes in. */
#include "report/tip.h"

#include "report/moved.h"
#include "report/text.h"

#include <farfault/mask.h>

/* There is no tip unless this many times the footprint has come in. Ours. */
#define FOOTPRINTS_IN 1.5

/* A launch that brings its operands in more often than this evicts pages that it still needs: one
 * pass over them, or one in each direction, brings each in at most twice. Ours. */
#define AGAIN 2.5

/* A launch that brings in less than this share of its operands does not use all of them. Ours. */
#define MOST 0.25

/* Accesses count as scattered if each fault brings in fewer bytes than this. Ours. */
#define SCATTERED (256u << 10)

/* If less than this share of memory is missing, the tip is to give the program that memory. Ours.
 */
#define LITTLE 0.10

static bool moved_much(const struct ff__account *account) {
    double in = (double)account->stats.pages_in * FF_PAGE_SIZE;
    return account->stats.evictions > 0 && account->footprint > 0 &&
           in > FOOTPRINTS_IN * (double)account->footprint;
}

static uint64_t round_up(uint64_t bytes) {
    return (bytes + FF_BLOCK_SIZE - 1) / FF_BLOCK_SIZE * FF_BLOCK_SIZE;
}

/* The least --memory with which nothing is evicted. Each of several buffers may need a part of a
 * chunk more than its size. */
static uint64_t enough_memory(const struct ff__account *account) {
    uint64_t buffers = account->buffers.count + account->buffers.rest_count;
    uint64_t parts = buffers < FF_MOVED_MAX ? buffers : FF_MOVED_MAX;
    return round_up(account->footprint) + (parts + 1) * FF_BLOCK_SIZE;
}

/* For one device only: with several, it is not known how much each of them needs. */
static bool little_is_missing(const struct ff__account *account, char out[FF__TIP]) {
    uint64_t memory = account->memory, footprint = account->footprint;
    char missing[FF__QUANTITY];
    if (account->devices != 1 || footprint <= memory ||
        (double)footprint > (1 + LITTLE) * (double)memory)
        return false;
    snprintf(out, FF__TIP,
             "only %s of memory are missing for all buffers at once: with --memory %lluM nothing "
             "would be evicted",
             ff__size_text(missing, footprint - memory),
             (unsigned long long)(enough_memory(account) >> 20));
    return true;
}

static const char *name_of(const struct ff_moved *kernel) {
    return kernel->kernel[0] ? kernel->kernel : "a kernel without a name";
}

/* The kernel or buffer of the list with most bytes in; NULL: there is none. */
static const struct ff_moved *busiest(const struct ff_moved_list *list) {
    const struct ff_moved *found = NULL;
    for (uint32_t i = 0; i < list->count; i++)
        if (!found || list->worst[i].bytes_in > found->bytes_in)
            found = &list->worst[i];
    return found && found->bytes_in ? found : NULL;
}

/* How often the kernel's launches brought its operands in, on average. */
static double times_in(const struct ff_moved *kernel) {
    if (kernel->launches == 0 || kernel->size == 0)
        return 0;
    return (double)kernel->bytes_in / (double)kernel->size / (double)kernel->launches;
}

static bool is_swept_by_columns(const struct ff__account *account, char out[FF__TIP]) {
    const struct ff_moved *kernel = busiest(&account->kernels);
    const struct ff_moved *buffer = busiest(&account->buffers);
    char name[FF__MOVED_NAME], size[FF__QUANTITY];
    if (!kernel || !buffer || times_in(kernel) < AGAIN || !buffer->is_strided)
        return false;
    snprintf(out, FF__TIP,
             "%s brought what it uses in %.1f times a launch, most of it %s (%s): it seems to walk "
             "it by columns or in large strides, so that a page leaves before the rest of it is "
             "used; work-items that are neighbours should use neighbouring data",
             name_of(kernel), times_in(kernel), ff__moved_buffer_name(name, buffer),
             ff__size_text(size, buffer->size));
    return true;
}

/* A policy that prefetches brings a whole block with each fault of a scan, and little with a fault
 * of scattered accesses. */
static bool is_scattered(const struct ff_moved *kernel, const struct ff_moved *buffer) {
    bool prefetched = buffer->prefetched_bytes > buffer->bytes_in / 2;
    return times_in(kernel) >= AGAIN ||
           (prefetched && buffer->bytes_in < buffer->faults * SCATTERED);
}

static bool is_used_at_random(const struct ff__account *account, char out[FF__TIP]) {
    const struct ff_moved *kernel = busiest(&account->kernels);
    const struct ff_moved *buffer = busiest(&account->buffers);
    char name[FF__MOVED_NAME], size[FF__QUANTITY];
    if (!kernel || !buffer || buffer->is_strided || !is_scattered(kernel, buffer))
        return false;
    snprintf(out, FF__TIP,
             "most of what came in is %s (%s), which %s seems to use at random: only memory for "
             "all of it, or work that is sorted by where it goes, avoids that",
             ff__moved_buffer_name(name, buffer), ff__size_text(size, buffer->size),
             name_of(kernel));
    return true;
}

static bool buffer_is_too_large(const struct ff__account *account, char out[FF__TIP]) {
    const struct ff_moved *kernel = busiest(&account->kernels);
    const struct ff_moved *buffer = busiest(&account->buffers);
    char name[FF__MOVED_NAME], size[FF__QUANTITY], memory[FF__QUANTITY];
    if (!kernel || !buffer || times_in(kernel) < MOST || buffer->size <= account->memory)
        return false;
    snprintf(out, FF__TIP,
             "%s (%s) alone is larger than the memory of a device (%s), and each pass over it "
             "brings it in again: doing all that is to be done with one part of it before the "
             "next would move less",
             ff__moved_buffer_name(name, buffer), ff__size_text(size, buffer->size),
             ff__size_text(memory, account->memory));
    return true;
}

static bool operands_are_too_large(const struct ff__account *account, char out[FF__TIP]) {
    const struct ff_moved *kernel = busiest(&account->kernels);
    char size[FF__QUANTITY], memory[FF__QUANTITY];
    if (!kernel || times_in(kernel) < MOST || kernel->size <= account->memory)
        return false;
    snprintf(out, FF__TIP,
             "a launch of %s has operands of %s, more than the memory of a device (%s), and evicts "
             "what the next one needs first: several small launches on one part of the data "
             "before the next part would move less",
             name_of(kernel), ff__size_text(size, kernel->size),
             ff__size_text(memory, account->memory));
    return true;
}

bool ff__tip_find(const struct ff__account *account, char out[FF__TIP]) {
    out[0] = '\0';
    return moved_much(account) &&
           (little_is_missing(account, out) || is_swept_by_columns(account, out) ||
            is_used_at_random(account, out) || buffer_is_too_large(account, out) ||
            operands_are_too_large(account, out));
}
