#include "backend/soft/accessed.h"

#include "backend/soft/area.h"
#include "backend/soft/move.h"
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Debian 12's headers are older than PAGEMAP_SCAN (Linux 6.7), and none has PAGE_IS_ACCESSED. */
#ifndef PAGEMAP_SCAN
struct page_region {
    __u64 start, end, categories;
};
struct pm_scan_arg {
    __u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
    __u64 category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define PAGEMAP_SCAN _IOWR('f', 16, struct pm_scan_arg)
#endif
#ifndef PAGE_IS_ACCESSED
#define PAGE_IS_ACCESSED (1 << 9)
#endif

/* The first `count` pages from `area` on that are there and not watched. */
static int scan(int pagemap_fd, const char *area, uint32_t count, struct ff_mask *accessed) {
    struct page_region runs[FF_BLOCK_PAGES / 2];
    const uint64_t start = (uintptr_t)area, size = (uint64_t)count * FF_PAGE_SIZE;
    struct pm_scan_arg scan = {.size = sizeof scan,
                               .start = start,
                               .end = start + size,
                               .vec = (uintptr_t)runs,
                               .vec_len = sizeof runs / sizeof runs[0],
                               .category_mask = PAGE_IS_ACCESSED,
                               .return_mask = PAGE_IS_ACCESSED};
    int found = ioctl(pagemap_fd, PAGEMAP_SCAN, &scan);
    ff_mask_clear(accessed);
    for (int i = 0; i < found; i++)
        ff_mask_set_run(accessed, (uint32_t)((runs[i].start - start) / FF_PAGE_SIZE),
                        (uint32_t)((runs[i].end - start) / FF_PAGE_SIZE));
    return found < 0 ? -errno : 0;
}

/* ---- probing ---- */

#define PROBED 2u /* pages; and as many places to move them to */

struct probe {
    struct ff__uffd uffd;
    int pagemap_fd;
    char *pages, *aside;
};

/* By a system call, which fails where a thread would wait or get a signal. */
static bool touch(const struct probe *probe, char *page) {
    return ff__descriptor_read_at(probe->pagemap_fd, page + sizeof(uint64_t), sizeof(uint64_t),
                                  0) == sizeof(uint64_t);
}

/* -EPROTO: others are accessed than the kernel is to say. */
static int expect(const struct probe *probe, struct ff_mask expected) {
    struct ff_mask accessed;
    int status = scan(probe->pagemap_fd, probe->pages, PROBED, &accessed);
    return status ? status : ff_mask_equal(&accessed, &expected) ? 0 : -EPROTO;
}

/* The second page, which is watched, moves away and back. */
static int move_watched(const struct probe *probe) {
    size_t moved;
    char *page = probe->pages + FF_PAGE_SIZE;
    int status = ff__uffd_move_out(&probe->uffd, probe->aside, page, FF_PAGE_SIZE, &moved);
    if (!status && probe->aside[0] != 2)
        status = -EPROTO;
    return status ? status
                  : ff__uffd_move_in(&probe->uffd, page, probe->aside, FF_PAGE_SIZE, &moved);
}

static int try_all(const struct probe *probe) {
    const size_t size = PROBED * (size_t)FF_PAGE_SIZE;
    probe->pages[0] = 1;
    probe->pages[FF_PAGE_SIZE] = 2;
    int status = ff__uffd_register(&probe->uffd, probe->pages, size);
    if (!status)
        status = ff__uffd_register_watched(&probe->uffd, probe->pages, size);
    if (!status)
        status = ff__uffd_register_staging(&probe->uffd, probe->aside, size);
    if (!status)
        status = ff__uffd_watch(&probe->uffd, probe->pages, size);
    if (!status)
        status = expect(probe, (struct ff_mask){{0}});
    if (!status && !touch(probe, probe->pages))
        status = -EPROTO;
    if (!status)
        status = expect(probe, ff_mask_of_page(0));
    if (!status)
        status = move_watched(probe);
    if (!status && !touch(probe, probe->pages + FF_PAGE_SIZE))
        status = -EPROTO;
    if (!status)
        status = expect(probe, ff_mask_of_run(0, PROBED));
    return status || (probe->pages[0] == 1 && probe->pages[FF_PAGE_SIZE] == 2) ? status : -EPROTO;
}

int ff__accessed_probe(void) {
    struct probe probe;
    struct ff_error unused;
    if (ff__uffd_open(&probe.uffd, FF__UFFD_SIGBUS | FF__UFFD_MOVES | FF__UFFD_WATCHES, &unused))
        return -ENOSYS;
    probe.pagemap_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    probe.pages = ff__area_reserve(FF_BLOCK_SIZE, FF__AREA_SMALL);
    probe.aside = ff__area_reserve(FF_BLOCK_SIZE, FF__AREA_SMALL);
    int status = -ENOMEM;
    if (!probe.uffd.watches)
        status = -ENOSYS;
    else if (probe.pagemap_fd >= 0 && probe.pages && probe.aside)
        status = try_all(&probe);
    ff__uffd_close(&probe.uffd); /* before its areas: nobody reads of what is unmapped */
    if (probe.pagemap_fd >= 0)
        close(probe.pagemap_fd);
    ff__area_release(probe.pages, FF_BLOCK_SIZE);
    ff__area_release(probe.aside, FF_BLOCK_SIZE);
    return status;
}

/* ---- the device's memory ---- */

static void give_up(struct ff__soft *soft, int status) {
    if (__atomic_exchange_n(&soft->sees_uses, false, __ATOMIC_RELAXED))
        ff__log_line(
            &soft->log, FF_LOG_INFO,
            "the kernel does not say any more which pages are used (%s): samples come from "
            "faults alone",
            strerror(-status));
}

void ff__accessed_open_range(struct ff__soft *soft, uint32_t first_block, uint64_t page_count) {
    char *area = soft->memory.managed + ((size_t)first_block << FF_BLOCK_SHIFT);
    size_t size = (page_count + FF_BLOCK_PAGES - 1) / FF_BLOCK_PAGES << FF_BLOCK_SHIFT;
    if (!__atomic_load_n(&soft->sees_uses, __ATOMIC_RELAXED))
        return;
    int status = ff__uffd_register_watched(&soft->uffd, area, size);
    if (status)
        give_up(soft, status);
}

/* A huge page is watched with the tail behind its block, so that it stays one. */
static int look(struct ff__soft *soft, uint32_t block, const struct ff_mask *pages,
                struct ff_mask *used) {
    bool has_tail = soft->memory.has_tail[block];
    uint32_t count = has_tail ? FF_BLOCK_PAGES : soft->space->blocks[block].page_count;
    struct ff_mask tail = has_tail ? ff__soft_tail(soft, block) : (struct ff_mask){{0}};
    struct ff_mask again = ff_mask_or(pages, &tail), accessed;
    int status = scan(soft->pagemap_fd, ff__soft_managed_at(soft, block, 0), count, &accessed);
    *used = ff_mask_and(pages, &accessed);
    again = ff_mask_and(&again, &accessed);
    FF_MASK_FOR_EACH_RUN(&again, run) {
        if (!status)
            status = ff__uffd_watch(&soft->uffd, ff__soft_managed_at(soft, block, run.first),
                                    ff__soft_bytes(run.first, run.end));
    }
    return status;
}

/* Something else has the number of a descriptor; the program unmaps memory just now, or has, which
 * shows soon. */
static bool is_passing(int status) {
    return status == -EINTR || status == -EAGAIN || status == -EBADF || status == -ENOENT;
}

int ff__soft_accessed(void *self, uint32_t block, const struct ff_mask *pages,
                      struct ff_mask *used) {
    struct ff__soft *soft = self;
    int status = -ENOSYS;
    if (__atomic_load_n(&soft->sees_uses, __ATOMIC_RELAXED))
        status = look(soft, block, pages, used);
    if (is_passing(status))
        return -EAGAIN;
    if (status)
        give_up(soft, status);
    return status;
}
