#include "backend/soft/windows.h"

#include "base/lazy.h"

#include <farfault/mask.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define MAPPINGS_USUAL 65530u /* the kernel's default */

/* Ours: half of what a process may have, as two borders make a mapping, and so does what lies
 * between. */
static uint32_t most_borders(void) {
    unsigned most = MAPPINGS_USUAL;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    if (file && fscanf(file, "%u", &most) != 1)
        most = MAPPINGS_USUAL;
    if (file)
        fclose(file);
    return most / 2;
}

int ff__windows_init(struct ff__windows *windows, char *managed, uint32_t count) {
    *windows = (struct ff__windows){.managed = managed, .count = count};
    windows->borders_max = most_borders();
    windows->state = ff__lazy_map(count);
    ff__lock_init(&windows->lock);
    return windows->state ? 0 : -ENOMEM;
}

void ff__windows_fini(struct ff__windows *windows) {
    if (windows->state)
        ff__lock_fini(&windows->lock);
    ff__lazy_unmap(windows->state, windows->count);
    windows->state = NULL;
}

/* Behind the ends of the area all is shut. */
static bool is_open(const struct ff__windows *windows, uint32_t window) {
    return window < windows->count && windows->state[window] != FF__WINDOW_SHUT;
}

/* Borders within and around a run. */
static uint32_t borders_of(const struct ff__windows *windows, uint32_t first, uint32_t end) {
    uint32_t borders = 0;
    for (uint32_t window = first; window <= end; window++)
        borders += is_open(windows, window - 1) != is_open(windows, window);
    return borders;
}

static int set_access(const struct ff__windows *windows, uint32_t first, uint32_t end, int access) {
    return mprotect(windows->managed + ((size_t)first << FF_BLOCK_SHIFT),
                    (size_t)(end - first) << FF_BLOCK_SHIFT, access)
               ? -ENOMEM
               : 0;
}

/* Sets the state of a run that is all open afterwards, or all shut. */
static void set_state(struct ff__windows *windows, uint32_t first, uint32_t end,
                      enum ff__window_state state) {
    uint32_t before = borders_of(windows, first, end);
    memset(&windows->state[first], (int)state, end - first);
    windows->borders = windows->borders - before + borders_of(windows, first, end);
}

/* How far the run of shut windows reaches down from `window`, or up: to the nearest that is open.
 */
static uint32_t low_end(const struct ff__windows *windows, uint32_t window) {
    while (window > 0 && !is_open(windows, window - 1))
        window--;
    return window;
}

static uint32_t high_end(const struct ff__windows *windows, uint32_t window) {
    while (window < windows->count && !is_open(windows, window))
        window++;
    return window;
}

/* Takes in what lies between the run and the nearest open window, which makes no new border. */
static void reach_out(const struct ff__windows *windows, uint32_t *first, uint32_t *end) {
    uint32_t low = low_end(windows, *first), high = high_end(windows, *end);
    if (low > 0 && (high == windows->count || *first - low <= high - *end))
        *first = low;
    else if (high < windows->count)
        *end = high;
}

static int open_locked(struct ff__windows *windows, uint32_t first, uint32_t end) {
    uint32_t from = first, to = end;
    if (windows->borders + 2 > windows->borders_max)
        reach_out(windows, &from, &to);
    int status = set_access(windows, from, to, PROT_READ | PROT_WRITE);
    if (status)
        return status;
    if (from < first)
        set_state(windows, from, first, FF__WINDOW_IDLE);
    if (end < to)
        set_state(windows, end, to, FF__WINDOW_IDLE);
    set_state(windows, first, end, FF__WINDOW_LIVE);
    return 0;
}

int ff__windows_open(struct ff__windows *windows, uint32_t first, uint32_t count) {
    ff__lock_acquire(&windows->lock);
    int status = open_locked(windows, first, first + count);
    if (status)
        set_access(windows, first, first + count, PROT_NONE);
    ff__lock_release(&windows->lock);
    return status;
}

/* With the idle ones on both sides, if that leaves no more borders than there may be. */
void ff__windows_shut(struct ff__windows *windows, uint32_t first, uint32_t count) {
    uint32_t end = first + count;
    ff__lock_acquire(&windows->lock);
    set_state(windows, first, end, FF__WINDOW_IDLE);
    while (first > 0 && windows->state[first - 1] == FF__WINDOW_IDLE)
        first--;
    while (end < windows->count && windows->state[end] == FF__WINDOW_IDLE)
        end++;
    /* an open neighbour makes a border, and with a shut one a border goes */
    uint32_t open = (uint32_t)is_open(windows, first - 1) + (uint32_t)is_open(windows, end);
    if (windows->borders + 2 * open <= windows->borders_max + 2 &&
        set_access(windows, first, end, PROT_NONE) == 0)
        set_state(windows, first, end, FF__WINDOW_SHUT);
    ff__lock_release(&windows->lock);
}
