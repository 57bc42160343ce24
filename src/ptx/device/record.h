/* What recorded kernels tell of an instruction of a row of a warp's lanes. */
#ifndef FF_PTX_DEVICE_RECORD_H
#define FF_PTX_DEVICE_RECORD_H

#include "ptx/device/abi.h"
#include "ptx/device/types.h"

enum { SECTOR_SHIFT = 5, PAGE_SHIFT = 12 };

/* What the lanes of a row leave at an instruction; the others have zeros. */
struct ff_site {
    u64 addresses[FF_PTX_WARP]; /* 0: the lane accesses nothing */
    u32 counts[FF_PTX_WARP];    /* instructions since its last report; 0: it has not come here */
};

/* Where `number` is or is to be put, at pages[*count]. */
static inline u32 page_at(const struct ff_ptx_page *pages, u32 count, u64 number) {
    u32 i = count;
    while (i-- > 0)
        if (pages[i].number == number)
            return i;
    return count;
}

static __attribute__((noinline)) u32 many_pages(const u64 *addresses, u32 row, u32 size,
                                                struct ff_ptx_page *pages) {
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
        for (u32 byte = 0; byte < size; byte += 1 << SECTOR_SHIFT) {
            u64 sector = addresses[k] + byte >> SECTOR_SHIFT;
            pages[at].sectors[sector / 64 % 2] |= (u64)1 << sector % 64;
        }
    }
    return count;
}

/* Addresses are aligned to the size of the access, so that none is in two pages. */
static inline __attribute__((always_inline)) u32 pages_of(const u64 *addresses, u32 row, u32 size,
                                                          struct ff_ptx_page *pages) {
    u64 low = UINT64_MAX, high = 0;
    for (u32 k = 0; k < row; k++) {
        low = addresses[k] - 1 < low ? addresses[k] - 1 : low; /* not of those that are 0 */
        high = addresses[k] > high ? addresses[k] : high;
    }
    if (high == 0)
        return 0;
    if (low + 1 >> PAGE_SHIFT != high >> PAGE_SHIFT)
        return many_pages(addresses, row, size, pages);
    u64 base = high >> PAGE_SHIFT << PAGE_SHIFT, first = 0, second = 0;
    for (u32 byte = 0; byte < size; byte += 1 << SECTOR_SHIFT)
        for (u32 k = 0; k < row; k++) {
            u64 sector = addresses[k] - base + byte >> SECTOR_SHIFT;
            first |= sector < 64 ? (u64)1 << (sector & 63) : 0;
            second |= sector - 64 < 64 ? (u64)1 << (sector & 63) : 0;
        }
    pages[0] = (struct ff_ptx_page){high >> PAGE_SHIFT, {first, second}};
    return 1;
}

static inline __attribute__((always_inline)) void
report_row(const struct ff_ptx_block *block, const struct ff_ptx_lanes *lanes, u32 first, u32 row,
           const struct ff_site *site, u32 pc, u32 size, u32 write) {
    struct ff_ptx_page pages[FF_PTX_WARP];
    struct ff_ptx_access access = {.pc = pc, .write = write, .pages = pages};
    for (u32 k = 0; k < row; k++) {
        u32 count = site->counts[k];
        access.lanes |= (u32)(count != 0) << k;
        access.instructions = count > access.instructions ? count : access.instructions;
    }
    access.lanes <<= first;
    if (access.lanes == 0)
        return;
    if (size != 0)
        access.page_count = pages_of(site->addresses, row, size, pages);
    block->services->access(block, lanes, &access);
}

/* `size`: bytes of each lane; 0: threads that end. A whole warp in loops of constant length, others
 * in short ones. */
static inline void report(const struct ff_ptx_block *block, const struct ff_ptx_lanes *lanes,
                          u32 first, u32 count, const struct ff_site *site, u32 pc, u32 size,
                          u32 write) {
    if (count == FF_PTX_WARP)
        report_row(block, lanes, first, FF_PTX_WARP, site, pc, size, write);
    else
        report_row(block, lanes, first, count, site, pc, size, write);
}

#endif
