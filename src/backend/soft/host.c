#include "backend/soft/host.h"

#include "backend/soft/area.h"
#include "base/error.h"
#include "base/file_limit.h"
#include "base/lazy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* So many pages of a block take a huge page: it is then at most a tenth larger than what it holds.
 */
#define HUGE_PAGES (FF_BLOCK_PAGES * 10 / 11 + 1)

/* ---- making and unmaking ---- */

static size_t blocks_of(const struct ff__host *host) {
    return host->size >> FF_BLOCK_SHIFT;
}

static size_t sums_size(const struct ff__host *host) {
    return blocks_of(host) * sizeof *host->sums;
}

static size_t backed_size(const struct ff__host *host) {
    return blocks_of(host) * sizeof *host->backed;
}

static int set_size(const struct ff__host *host) {
    struct ff__file_limit held;
    ff__file_limit_hold(&held);
    int status = ftruncate(host->fd, (off_t)host->size) ? -errno : 0;
    ff__file_limit_release(&held);
    return status;
}

/* A file beside the path, which lives as long as it is open. One that a process leaves behind which
 * is killed before the file has lost its name is in nobody's way. A negative value: errno says why.
 */
static int make_file(const char *path) {
    struct stat about;
    char name[PATH_MAX + 8];
    snprintf(name, sizeof name, "%s.XXXXXX", path);
    errno = EEXIST; /* a mistyped path must not cost data */
    int fd = lstat(path, &about) == 0 ? -1 : mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    return fd;
}

static int open_file(struct ff__host *host, const char *path, struct ff_error *error) {
    host->fd = make_file(path);
    if (host->fd < 0)
        return ff__fail(error, -errno, "host file %s: %s%s", path, strerror(errno),
                        errno == EEXIST ? "; name one that does not exist" : "");
    int status = set_size(host);
    if (status == -EFBIG)
        return ff__fail(error, status,
                        "host file %s: %llu bytes of managed addresses are more than a file may "
                        "have (ulimit -f): set FARFAULT_ADDRESS_SPACE",
                        path, (unsigned long long)host->size);
    if (!status)
        status = ff__host_reserve(host, 0, FF_BLOCK_SIZE);
    if (status)
        return ff__fail(error, status, "host file %s: %s", path, strerror(-status));
    return 0;
}

static void map_areas(struct ff__host *host) {
    if (host->fd >= 0) {
        host->small = ff__area_reserve_file(host->size, host->fd);
        return;
    }
    host->small = ff__area_reserve(host->size, FF__AREA_SMALL);
    host->huge = ff__area_reserve(host->size, FF__AREA_HUGE);
}

int ff__host_init(struct ff__host *host, uint64_t size, const char *path, struct ff_error *error) {
    *host = (struct ff__host){.size = size, .fd = -1};
    int status = path ? open_file(host, path, error) : 0;
    if (status)
        return status;
    map_areas(host);
    host->is_huge = ff__lazy_map(blocks_of(host) * sizeof *host->is_huge);
    host->backed = ff__lazy_map(backed_size(host));
    host->sums = ff__lazy_map(sums_size(host));
    bool has_areas = host->small && (host->huge || host->fd >= 0);
    bool has_all = has_areas && host->is_huge && host->backed && host->sums;
    return has_all ? 0 : ff__area_fail(error, -ENOMEM, size);
}

void ff__host_fini(struct ff__host *host) {
    ff__area_release(host->small, host->size);
    ff__area_release(host->huge, host->size);
    ff__lazy_unmap(host->is_huge, blocks_of(host) * sizeof *host->is_huge);
    ff__lazy_unmap(host->backed, backed_size(host));
    ff__lazy_unmap(host->sums, sums_size(host));
    if (host->fd >= 0)
        close(host->fd);
    *host = (struct ff__host){.fd = -1};
}

/* ---- what is backed ---- */

static void count_held(struct ff__host *host, int64_t pages) {
    __atomic_fetch_add(&host->held, (uint64_t)(pages * (int64_t)FF_PAGE_SIZE), __ATOMIC_RELAXED);
}

static void note_backed(struct ff__host *host, uint32_t block, const struct ff_mask *pages) {
    uint32_t more = 0;
    for (uint32_t i = 0; i < FF_MASK_WORDS; i++) {
        uint64_t *word = &host->backed[block].word[i], wanted = pages->word[i];
        if (wanted & ~__atomic_load_n(word, __ATOMIC_RELAXED))
            more += (uint32_t)__builtin_popcountll(
                wanted & ~__atomic_fetch_or(word, wanted, __ATOMIC_RELAXED));
    }
    if (more > 0)
        count_held(host, more);
}

/* Returns those of the pages that were backed. */
static struct ff_mask forget_backed(struct ff__host *host, uint32_t block,
                                    const struct ff_mask *pages) {
    struct ff_mask gone;
    for (uint32_t i = 0; i < FF_MASK_WORDS; i++)
        gone.word[i] = pages->word[i] & __atomic_fetch_and(&host->backed[block].word[i],
                                                           ~pages->word[i], __ATOMIC_RELAXED);
    if (!ff_mask_empty(&gone))
        count_held(host, -(int64_t)ff_mask_count(&gone));
    return gone;
}

/* ---- writing, and giving back ---- */

char *ff__host_to_write(struct ff__host *host, uint32_t block, const struct ff_mask *pages) {
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    if (host->huge && ff_mask_empty(&host->backed[block]))
        __atomic_store_n(&host->is_huge[block], ff_mask_count(pages) >= HUGE_PAGES,
                         __ATOMIC_RELAXED);
    note_backed(host, block, host->is_huge[block] ? &all : pages);
    return ff__host_at(host, block);
}

static char *place_of(const struct ff__host *host, uint32_t block, uint32_t page) {
    return ff__host_at(host, block) + (size_t)page * FF_PAGE_SIZE;
}

/* A file keeps the room that it has been given. */
void ff__host_zero(struct ff__host *host, uint32_t block, const struct ff_mask *pages) {
    FF_MASK_FOR_EACH_RUN(pages, run) {
        char *place = place_of(host, block, run.first);
        size_t size = (size_t)(run.end - run.first) * FF_PAGE_SIZE;
        memset(&host->sums[block][run.first], 0,
               (run.end - run.first) * sizeof host->sums[block][0]);
        if (host->fd >= 0 || madvise(place, size, MADV_DONTNEED))
            memset(place, 0, size);
    }
}

/* A huge page goes as a whole: in parts it would stay, and be mapped by small pages. */
void ff__host_discard(struct ff__host *host, uint32_t block, const struct ff_mask *pages) {
    struct ff_mask gone = forget_backed(host, block, pages);
    if (host->fd >= 0 || ff_mask_empty(&gone))
        return;
    if (host->is_huge[block]) {
        if (ff_mask_empty(&host->backed[block]))
            madvise(place_of(host, block, 0), FF_BLOCK_SIZE, MADV_DONTNEED);
        return;
    }
    FF_MASK_FOR_EACH_RUN(&gone, run) {
        madvise(place_of(host, block, run.first), (size_t)(run.end - run.first) * FF_PAGE_SIZE,
                MADV_DONTNEED);
    }
}

/* The sums may stay: they are compared only for pages that the host holds. */
void ff__host_release(struct ff__host *host, uint32_t first_block, uint32_t block_count) {
    const struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    uint64_t offset = (uint64_t)first_block << FF_BLOCK_SHIFT;
    size_t size = (size_t)block_count << FF_BLOCK_SHIFT;
    for (uint32_t i = 0; i < block_count; i++) {
        if (!ff_mask_empty(&host->backed[first_block + i]))
            forget_backed(host, first_block + i, &all);
    }
    madvise(host->small + offset, size, host->fd < 0 ? MADV_DONTNEED : MADV_REMOVE);
    if (host->huge)
        madvise(host->huge + offset, size, MADV_DONTNEED);
}

int ff__host_reserve(struct ff__host *host, uint64_t offset, uint64_t size) {
    if (host->fd < 0)
        return 0;
    int status;
    do
        status = posix_fallocate(host->fd, (off_t)offset, (off_t)size);
    while (status == EINTR);
    return -status;
}

/* ---- moves ---- */

int ff__host_register(const struct ff__host *host, const struct ff__uffd *uffd) {
    int status = ff__uffd_register_host(uffd, host->small, host->size);
    return status ? status : ff__uffd_register_host(uffd, host->huge, host->size);
}

void ff__host_unlock(const struct ff__host *host) {
    if (host->fd >= 0)
        return;
    munlock(host->small, host->size);
    munlock(host->huge, host->size);
}
