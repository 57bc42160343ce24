/* In place of the library's recording: keeps which sectors of memory each instruction accesses. */
#ifndef FF_TESTS_PTX_EXTENT_RECORD_H
#define FF_TESTS_PTX_EXTENT_RECORD_H

#include "ptx/record.h"

#include <stdlib.h>

enum { SECTOR = 32, PAGE = 4096 };

struct touched {
    uint32_t pc;
    uint64_t page; /* its number */
    uint64_t sectors[2];
};

/* An open hash table; pages of 0 are free places. */
struct touches {
    struct touched *places;
    size_t size, count;
};
static struct touches touches;

static size_t place_of(uint32_t pc, uint64_t page, size_t size) {
    return (size_t)((page * 0x9e3779b97f4a7c15u + pc * 0xc2b2ae3d27d4eb4fu) >> 20) & (size - 1);
}

static struct touched *find_touched(uint32_t pc, uint64_t page) {
    size_t at = place_of(pc, page, touches.size);
    while (touches.places[at].page != 0 &&
           (touches.places[at].page != page || touches.places[at].pc != pc))
        at = (at + 1) & (touches.size - 1);
    return &touches.places[at];
}

static void grow_touches(void) {
    struct touches old = touches;
    touches.size = old.size == 0 ? 4096 : 2 * old.size;
    touches.places = calloc(touches.size, sizeof *touches.places);
    if (touches.places == NULL)
        abort();
    for (size_t i = 0; i < old.size; i++)
        if (old.places[i].page != 0)
            *find_touched(old.places[i].pc, old.places[i].page) = old.places[i];
    free(old.places);
}

static void clear_touches(void) {
    free(touches.places);
    touches = (struct touches){0};
    grow_touches();
}

struct ff__ptx_recording *ff__ptx_record_begin(struct ff_context *context, uint32_t device,
                                               const struct ff_ptx_code *code) {
    (void)context;
    (void)device;
    (void)code;
    return (struct ff__ptx_recording *)&touches;
}

void ff__ptx_record(struct ff__ptx_recording *recording, struct ff__ptx_running *running,
                    const struct ff_ptx_lanes *lanes, const struct ff_ptx_access *access) {
    (void)recording;
    (void)running;
    (void)lanes;
    for (uint32_t i = 0; i < access->page_count; i++) {
        if (2 * touches.count >= touches.size)
            grow_touches();
        struct touched *touched = find_touched(access->pc, access->pages[i].number);
        touches.count += touched->page == 0;
        touched->pc = access->pc;
        touched->page = access->pages[i].number;
        touched->sectors[0] |= access->pages[i].sectors[0];
        touched->sectors[1] |= access->pages[i].sectors[1];
    }
}

void ff__ptx_record_round(struct ff__ptx_recording *recording, struct ff__ptx_running *running) {
    (void)recording;
    (void)running;
}

void ff__ptx_record_end(struct ff__ptx_recording *recording) {
    (void)recording;
}

static inline bool is_touched(uint32_t pc, uint64_t page) {
    return find_touched(pc, page)->page != 0;
}

#endif
