/* What recorded kernels tell of an instruction of a row of a warp's lanes. */
#ifndef FF_PTX_DEVICE_RECORD_H
#define FF_PTX_DEVICE_RECORD_H

#include "ptx/device/abi.h"
#include "ptx/device/lane.h"
#include "ptx/device/types.h"

enum { SECTOR_SHIFT = 5, PAGE_SHIFT = 12, SECTOR = 1 << SECTOR_SHIFT };

/* Four lanes at once, or eight; a comparison gives -1 where it holds. */
typedef u64 u64x4 __attribute__((vector_size(32)));
typedef u32 u32x8 __attribute__((vector_size(32)));

/* What the lanes of a row leave at an instruction; others have zeros. */
struct ff_site {
    u64 addresses[FF_PTX_WARP] __attribute__((aligned(32))); /* 0: it accesses nothing */
    /* instructions since the lane's last report; 0: it has not come here */
    u32 counts[FF_PTX_WARP];
};

/* Which lanes of a row have come to an instruction, bit 0 for the first one, and how many
 * instructions that was since their last report, at most. */
struct ff_came {
    u32 lanes, instructions;
};

static inline void clear_counts(struct ff_site *site) {
    for (u32 k = 0; k < FF_PTX_WARP; k += 8)
        *(u32x8 *)(site->counts + k) = (u32x8){0};
}

static inline void clear_addresses(struct ff_site *site) {
    for (u32 k = 0; k < FF_PTX_WARP; k += 4)
        *(u64x4 *)(site->addresses + k) = (u64x4){0};
}

/* All of a row. */
static inline u32 row_of(u32 count) {
    return (u32)(((u64)1 << count) - 1);
}

static inline u64 any_of(u64x4 bits) {
    return bits[0] | bits[1] | (bits[2] | bits[3]);
}

enum { PLACES = 256 }; /* of a hash table of pages */

/* Without a branch for whether a page is new, which is hard to predict. */
static u32 many_pages(const u64 *addresses, u32 lanes, u32 size, struct ff_ptx_page *pages) {
    u8 places[PLACES] = {0}; /* 1 + the page's index; 0: none */
    u32 count = 0;
    for (u32 k = 0; k < FF_PTX_WARP; k++)
        pages[k] = (struct ff_ptx_page){0};
    for (; lanes != 0; lanes &= lanes - 1) {
        u64 address = addresses[__builtin_ctz(lanes)], number = address >> PAGE_SHIFT;
        u32 place = number % PLACES, at = places[place];
        if (address == 0)
            continue;
        while (at != 0 && pages[at - 1].number != number) {
            place = (place + 1) % PLACES;
            at = places[place];
        }
        count += at == 0;
        at = at == 0 ? count : at;
        places[place] = at;
        pages[at - 1].number = number;
        for (u32 byte = 0; byte < size; byte += SECTOR) {
            u64 sector = address + byte >> SECTOR_SHIFT;
            pages[at - 1].sectors[sector / 64 % 2] |= (u64)1 << sector % 64;
        }
    }
    return count;
}

/* Addresses are aligned to the size of the access, so that none is in two pages. `some` is one of
 * them. */
static u32 pages_of(const u64 *addresses, u32 row, u32 lanes, u32 size, u64 some,
                    struct ff_ptx_page *pages) {
    u64 base = some >> PAGE_SHIFT << PAGE_SHIFT;
    u64x4 first = {0}, second = {0}, others = {0};
    for (u32 byte = 0; byte < size; byte += SECTOR)
        for (u32 k = 0; k < row; k += 4) {
            u64x4 address = *(const u64x4 *)(addresses + k), inside = address - base;
            u64x4 present = (u64x4)(address != 0), sector = inside + byte >> SECTOR_SHIFT;
            u64x4 bit = (present & 1) << (sector & 63);
            others |= inside & present;
            first |= bit & (u64x4)(sector < 64);
            second |= bit & (u64x4)(sector >= 64);
        }
    if (any_of(others) >> PAGE_SHIFT != 0)
        return many_pages(addresses, lanes, size, pages);
    *pages = (struct ff_ptx_page){base >> PAGE_SHIFT, {any_of(first), any_of(second)}};
    return 1;
}

/* The lanes of a row that have left their counts at a site. */
static inline struct ff_came came(u32 count, const struct ff_site *site) {
    const u32x8 here = {1, 2, 4, 8, 16, 32, 64, 128};
    u32x8 mask = {0}, most = {0};
    if (count == 1)
        return (struct ff_came){site->counts[0] != 0, site->counts[0]};
    for (u32 k = 0; k < count; k += 8) {
        u32x8 ran = *(const u32x8 *)(site->counts + k), more = (u32x8)(ran > most);
        most = (ran & more) | (most & ~more);
        mask |= here << k & (u32x8)(ran != 0);
    }
    u64x4 pairs;
    __builtin_memcpy(&pairs, &mask, sizeof pairs);
    u64 both = any_of(pairs);
    struct ff_came came = {(u32)both | (u32)(both >> 32), 0};
    for (u32 k = 0; k < 8; k++)
        came.instructions = most[k] > came.instructions ? most[k] : came.instructions;
    return came;
}

/* A row of one lane, as the lanes of a warp are that have parted. */
static u32 one_page(u64 address, u32 size, struct ff_ptx_page *page) {
    *page = (struct ff_ptx_page){.number = address >> PAGE_SHIFT};
    for (u32 byte = 0; byte < size; byte += SECTOR) {
        u64 sector = address + byte >> SECTOR_SHIFT;
        page->sectors[sector / 64 % 2] |= (u64)1 << sector % 64;
    }
    return 1;
}

static u32 find_pages(const u64 *addresses, u32 row, u32 lanes, u32 size,
                      struct ff_ptx_page *pages) {
    u64 first = addresses[__builtin_ctz(lanes)], last = addresses[31 - __builtin_clz(lanes)];
    if (first != 0 && last != 0 && (first ^ last) >> PAGE_SHIFT != 0)
        return many_pages(addresses, lanes, size, pages);
    for (u32 k = 0; k < row && first == 0; k++)
        first = addresses[k];
    if (first == 0)
        return 0;
    return row == 1 ? one_page(first, size, pages)
                    : pages_of(addresses, row, lanes, size, first, pages);
}

/* `size`: bytes of each lane; 0: threads that end. */
static void report(const struct ff_ptx_block *block, const struct ff_ptx_lanes *lanes, u32 first,
                   u32 count, const struct ff_site *site, struct ff_came came, u32 pc, u32 size,
                   u32 write) {
    struct ff_ptx_page pages[FF_PTX_WARP];
    if (came.lanes == 0)
        return;
    struct ff_ptx_access access = {.pc = pc,
                                   .lanes = came.lanes << first,
                                   .instructions = came.instructions,
                                   .write = write,
                                   .pages = pages};
    if (size != 0)
        access.page_count = find_pages(site->addresses, count, came.lanes, size, pages);
    block->services->access(block, lanes, &access);
}

/* The same where lane k accesses base + k * step if it comes. */
static void report_even(const struct ff_ptx_block *block, const struct ff_ptx_lanes *lanes,
                        u32 first, u32 count, struct ff_site *site, struct ff_came came, u64 base,
                        s64 step, u32 pc, u32 size, u32 write) {
    struct ff_ptx_page page = {.number = base >> PAGE_SHIFT};
    u64 last = base + step * (count - 1) + size - 1;
    if (came.lanes != row_of(count) || (u64)step > SECTOR || last >> PAGE_SHIFT != page.number) {
        clear_addresses(site);
        for (u32 k = 0; k < count; k++)
            site->addresses[k] = came.lanes >> k & 1 ? base + step * k : 0;
        report(block, lanes, first, count, site, came, pc, size, write);
        return;
    }
    struct ff_ptx_access access = {.pc = pc,
                                   .lanes = came.lanes << first,
                                   .instructions = came.instructions,
                                   .write = write,
                                   .page_count = 1,
                                   .pages = &page};
    u128 after = (u128)2 << (last >> SECTOR_SHIFT) % 128;
    u128 sectors = after - ((u128)1 << (base >> SECTOR_SHIFT) % 128);
    page.sectors[0] = sectors;
    page.sectors[1] = sectors >> 64;
    block->services->access(block, lanes, &access);
}

/* ---- device functions ---- */

enum { LOGGED = 128 };

/* What device functions access in a call of a kernel's, lane by lane. */
struct ff_log {
    u32 count;
    struct {
        u64 address; /* 0: of no global memory */
        u32 lane, pc, instructions, size, write;
    } items[LOGGED];
};

static void tell_log(const struct ff_ptx_block *block, const struct ff_ptx_lanes *lanes,
                     struct ff_log *log) {
    for (u32 i = 0; i < log->count; i++) {
        u64 address = log->items[i].address;
        struct ff_ptx_page page = {.number = address >> PAGE_SHIFT};
        struct ff_ptx_access access = {.pc = log->items[i].pc,
                                       .lanes = 1u << log->items[i].lane,
                                       .instructions = log->items[i].instructions,
                                       .write = log->items[i].write,
                                       .page_count = address != 0,
                                       .pages = &page};
        for (u32 byte = 0; byte < log->items[i].size; byte += SECTOR) {
            u64 sector = address + byte >> SECTOR_SHIFT;
            page.sectors[sector / 64 % 2] |= (u64)1 << sector % 64;
        }
        block->services->access(block, lanes, &access);
    }
    log->count = 0;
}

/* Those for which there is no room are told before what the kernel has accessed since the call. */
static void log_access(const struct ff_lane *t, u64 address, u32 pc, u32 size, u32 write) {
    struct ff_log *log = t->log;
    if (log->count == LOGGED)
        tell_log(t->block, t->lanes, log);
    u32 i = log->count++;
    log->items[i].address = address;
    log->items[i].lane = t->l;
    log->items[i].pc = pc;
    log->items[i].instructions = *t->n;
    log->items[i].size = size;
    log->items[i].write = write;
    *t->n = 0;
}

#endif
