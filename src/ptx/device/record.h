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

/* What the lanes of a row leave at an instruction; others up to a multiple of eight have zeros. */
struct ff_site {
    u64 addresses[FF_PTX_WARP] __attribute__((aligned(32))); /* 0: it accesses nothing */
    /* instructions since the lane's last report; 0: it has not come here */
    u32 counts[FF_PTX_WARP];
};

static inline void clear_counts(struct ff_site *site, u32 count) {
    for (u32 k = 0; k < count; k += 8)
        *(u32x8 *)(site->counts + k) = (u32x8){0};
}

static inline void clear_addresses(struct ff_site *site, u32 count) {
    for (u32 k = 0; k < count; k += 4)
        *(u64x4 *)(site->addresses + k) = (u64x4){0};
}

static inline u64 any_of(u64x4 bits) {
    return bits[0] | bits[1] | (bits[2] | bits[3]);
}

/* Where `number` is or is to be put, at pages[*count]. */
static inline u32 page_at(const struct ff_ptx_page *pages, u32 count, u64 number) {
    u32 i = count;
    while (i-- > 0)
        if (pages[i].number == number)
            return i;
    return count;
}

static u32 many_pages(const u64 *addresses, u32 row, u32 size, struct ff_ptx_page *pages) {
    u32 count = 0;
    u64 highest = 0; /* most lanes go up: what is above all needs no search */
    for (u32 k = 0; k < row; k++) {
        u64 number = addresses[k] >> PAGE_SHIFT;
        if (addresses[k] == 0)
            continue;
        u32 at = number > highest ? count : page_at(pages, count, number);
        if (at == count)
            pages[count++] = (struct ff_ptx_page){.number = number};
        highest = number > highest ? number : highest;
        for (u32 byte = 0; byte < size; byte += SECTOR) {
            u64 sector = addresses[k] + byte >> SECTOR_SHIFT;
            pages[at].sectors[sector / 64 % 2] |= (u64)1 << sector % 64;
        }
    }
    return count;
}

/* Addresses are aligned to the size of the access, so that none is in two pages. `some` is one of
 * them. */
static u32 pages_of(const u64 *addresses, u32 row, u32 size, u64 some, struct ff_ptx_page *pages) {
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
        return many_pages(addresses, row, size, pages);
    *pages = (struct ff_ptx_page){base >> PAGE_SHIFT, {any_of(first), any_of(second)}};
    return 1;
}

/* Who has come, and how many instructions it was. */
static inline void count_lanes(struct ff_ptx_access *access, u32 first, u32 count,
                               const struct ff_site *site) {
    const u32x8 here = {1, 2, 4, 8, 16, 32, 64, 128};
    u32x8 came = {0}, most = {0};
    for (u32 k = 0; k < count; k += 8) {
        u32x8 ran = *(const u32x8 *)(site->counts + k), more = (u32x8)(ran > most);
        most = (ran & more) | (most & ~more);
        came |= here << k & (u32x8)(ran != 0);
    }
    u64x4 pairs;
    __builtin_memcpy(&pairs, &came, sizeof pairs);
    u64 both = any_of(pairs);
    access->lanes = ((u32)both | (u32)(both >> 32)) << first;
    for (u32 k = 0; k < 8; k++)
        access->instructions = most[k] > access->instructions ? most[k] : access->instructions;
}

/* The same for a row of one lane, as the lanes of a warp are that have parted. */
static void report_one(const struct ff_ptx_block *block, const struct ff_ptx_lanes *lanes,
                       u32 first, const struct ff_site *site, struct ff_ptx_access *access,
                       u32 size) {
    u64 address = site->addresses[0];
    struct ff_ptx_page page = {.number = address >> PAGE_SHIFT};
    for (u32 byte = 0; byte < size; byte += SECTOR) {
        u64 sector = address + byte >> SECTOR_SHIFT;
        page.sectors[sector / 64 % 2] |= (u64)1 << sector % 64;
    }
    access->lanes = 1u << first;
    access->instructions = site->counts[0];
    access->page_count = size != 0 && address != 0;
    access->pages = &page;
    block->services->access(block, lanes, access);
}

/* `size`: bytes of each lane; 0: threads that end. */
static void report(const struct ff_ptx_block *block, const struct ff_ptx_lanes *lanes, u32 first,
                   u32 count, const struct ff_site *site, u32 pc, u32 size, u32 write) {
    struct ff_ptx_page pages[FF_PTX_WARP];
    struct ff_ptx_access access = {.pc = pc, .write = write, .pages = pages};
    u64 some = 0;
    if (count == 1) {
        if (site->counts[0] != 0)
            report_one(block, lanes, first, site, &access, size);
        return;
    }
    count_lanes(&access, first, count, site);
    if (access.lanes == 0)
        return;
    for (u32 k = 0; size != 0 && k < count && some == 0; k++)
        some = site->addresses[k];
    if (some != 0)
        access.page_count = pages_of(site->addresses, count, size, some, pages);
    block->services->access(block, lanes, &access);
}

/* The same where lane k accesses base + k * step if it comes. */
static void report_even(const struct ff_ptx_block *block, const struct ff_ptx_lanes *lanes,
                        u32 first, u32 count, struct ff_site *site, u64 base, s64 step, u32 pc,
                        u32 size, u32 write) {
    struct ff_ptx_page page = {.number = base >> PAGE_SHIFT};
    struct ff_ptx_access access = {.pc = pc, .write = write, .page_count = 1, .pages = &page};
    u64 last = base + step * (count - 1) + size - 1;
    count_lanes(&access, first, count, site);
    if (access.lanes != (u32)(((u64)1 << count) - 1 << first) || (u64)step > SECTOR ||
        last >> PAGE_SHIFT != page.number) {
        clear_addresses(site, count);
        for (u32 k = 0; k < count; k++)
            site->addresses[k] = site->counts[k] != 0 ? base + step * k : 0;
        report(block, lanes, first, count, site, pc, size, write);
        return;
    }
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
