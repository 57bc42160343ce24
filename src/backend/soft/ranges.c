/* What the runtime asks of the device's addresses and of its host tier, by range. */
#include "backend/soft/accessed.h"

#include <errno.h>
#include <string.h>

/* The windows of a range. */
static uint64_t window_offset(uint32_t first_block) {
    return (uint64_t)first_block << FF_BLOCK_SHIFT;
}

static uint32_t window_count(uint64_t page_count) {
    return (uint32_t)((page_count + FF_BLOCK_PAGES - 1) / FF_BLOCK_PAGES);
}

int ff__soft_open_range(void *self, uint32_t first_block, uint64_t page_count) {
    struct ff__soft *soft = self;
    int status = ff__windows_open(&soft->windows, first_block, window_count(page_count));
    if (!status)
        ff__accessed_open_range(soft, first_block, page_count);
    return status;
}

int ff__soft_reserve_host(void *self, uint32_t first_block, uint64_t page_count) {
    struct ff__soft *soft = self;
    return ff__host_reserve(&soft->host, window_offset(first_block), page_count * FF_PAGE_SIZE);
}

static char *area_of(const struct ff__soft *soft, uint32_t first_block) {
    return soft->memory.managed + window_offset(first_block);
}

static size_t area_size(uint64_t page_count) {
    return (size_t)window_count(page_count) << FF_BLOCK_SHIFT;
}

static bool is_kernels(const struct ff__soft *soft, uint32_t first_block) {
    return ff__uffd_is_kernels(&soft->uffd, area_of(soft, first_block));
}

/* Each is a mapping of its own, of which a process has only so many: windows.h. */
static bool can_be_kernels(const struct ff__soft *soft) {
    return soft->uffd.kernels_fd >= 0 &&
           __atomic_load_n(&soft->kernels_count, __ATOMIC_RELAXED) < soft->windows.borders_max / 4;
}

static void count_kernels(struct ff__soft *soft, bool kernels) {
    __atomic_fetch_add(&soft->kernels_count, kernels ? 1u : -1u, __ATOMIC_RELAXED);
}

int ff__soft_set_kernels(void *self, uint32_t first_block, uint64_t page_count) {
    struct ff__soft *soft = self;
    if (!can_be_kernels(soft))
        return -ENOSYS;
    int status =
        ff__uffd_set_kernels(&soft->uffd, area_of(soft, first_block), area_size(page_count), true);
    if (!status) {
        count_kernels(soft, true);
        ff__accessed_open_range(soft, first_block, page_count);
    }
    return status;
}

struct area_change {
    struct ff__soft *soft;
    char *area;
    size_t size;
    bool kernels;
};

static int change_area(void *argument) {
    const struct area_change *it = argument;
    struct ff__soft *soft = it->soft;
    ff__changes_expect_unmap(&soft->changes, it->area, it->size);
    int status = ff__uffd_change_kernels(&soft->uffd, it->area, it->size, it->kernels);
    ff__changes_expect_unmap(&soft->changes, NULL, 0);
    return status;
}

int ff__soft_change_kernels(void *self, uint32_t first_block, uint64_t page_count, bool kernels) {
    struct ff__soft *soft = self;
    struct area_change it = {soft, area_of(soft, first_block), area_size(page_count), kernels};
    if (is_kernels(soft, first_block) == kernels)
        return 0;
    if (kernels && !can_be_kernels(soft))
        return -ENOSYS;
    int status = ff__told_call(&soft->told, change_area, &it);
    if (!status) {
        count_kernels(soft, kernels);
        ff__accessed_open_range(soft, first_block, page_count);
    }
    return status;
}

int ff__soft_close_range(void *self, uint32_t first_block, uint64_t page_count) {
    struct ff__soft *soft = self;
    uint32_t count = window_count(page_count);
    bool ours = true;
    ff__host_release(&soft->host, first_block, count);
    if (is_kernels(soft, first_block)) {
        if (ff__uffd_set_kernels(&soft->uffd, area_of(soft, first_block), area_size(page_count),
                                 false))
            return -EADDRINUSE;
        count_kernels(soft, false);
    }
    for (uint32_t i = 0; i < count; i++)
        ours = ff__changes_restore(&soft->changes, &soft->uffd, first_block + i) && ours;
    if (!ours)
        return -EADDRINUSE;
    ff__windows_shut(&soft->windows, first_block, count);
    return 0;
}

void ff__soft_write_host(void *self, uint32_t block, const struct ff_mask *pages, uint32_t first,
                         const char *from) {
    struct ff__soft *soft = self;
    struct ff__host *host = &soft->host;
    char *to = ff__host_to_write(host, block, pages);
    FF_MASK_FOR_EACH_RUN(pages, run) {
        memcpy(to + (size_t)run.first * FF_PAGE_SIZE,
               from + (size_t)(run.first - first) * FF_PAGE_SIZE,
               (size_t)(run.end - run.first) * FF_PAGE_SIZE);
        memset(&host->sums[block][run.first], 0, (run.end - run.first) * sizeof(struct ff__sum));
    }
}

void ff__soft_discard(void *self, uint32_t block, const struct ff_mask *pages) {
    struct ff__soft *soft = self;
    ff__host_discard(&soft->host, block, pages);
}

uint64_t ff__soft_host_held(void *self) {
    struct ff__soft *soft = self;
    return __atomic_load_n(&soft->host.held, __ATOMIC_RELAXED);
}

static bool overlaps(const char *area, uint64_t area_size, uintptr_t low, uintptr_t high) {
    return area && low < (uintptr_t)area + area_size && high > (uintptr_t)area;
}

bool ff__soft_owns(void *self, uintptr_t low, uintptr_t high) {
    const struct ff__soft *soft = self;
    const struct ff__memory *memory = &soft->memory;
    bool owns = overlaps(memory->managed, memory->size, low, high) ||
                overlaps(soft->host.small, soft->host.size, low, high) ||
                overlaps(soft->host.huge, soft->host.size, low, high) ||
                overlaps(memory->zeros, FF_BLOCK_SIZE, low, high);
    for (uint32_t tier = 1; tier < memory->tier_count && !owns; tier++)
        owns = overlaps(memory->frames[tier], memory->frames_size, low, high) ||
               overlaps(memory->fresh[tier], memory->frames_size, low, high) ||
               overlaps(memory->lent[tier], memory->lent_size[tier], low, high);
    return owns;
}
