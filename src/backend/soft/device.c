#include "backend/soft/device.h"

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/error.h"
#include "base/lazy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE /* Linux 5.14; whoever has UFFDIO_MOVE has it */
#define MADV_POPULATE_WRITE 23
#endif

#define ALL_LEAVES  UINT32_MAX
#define PIECE_PAGES 32u    /* arrive at a time; that long no messages are read */
#define SETTLE_NS   20000u /* between tries while the program changes its memory, */
#define SETTLE_MAX  100u   /* of which there are so many */

/* ---- making and unmaking ---- */

static int open_parts(struct ff__soft *soft, const struct ff_config *config,
                      struct ff_error *error) {
    soft->moved = ff__lazy_map(config->address_space >> FF_BLOCK_SHIFT);
    soft->interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    soft->pagemap_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (!soft->moved || soft->interrupt_fd < 0 || soft->pagemap_fd < 0 ||
        ff__changes_init(&soft->changes, &soft->memory, soft->log))
        return ff__fail(error, -ENOMEM, "cannot set up the software device: %s", strerror(errno));
    return 0;
}

static void soft_close(void *self);

/* The memory of all devices is this machine's. */
static int check_memory(const struct ff_config *config, struct ff_error *error) {
    uint64_t phys = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (config->memory > phys / config->devices)
        return ff__fail(
            error, -ENOMEM, "memory=%llu for each of %u devices: this machine has %llu bytes",
            (unsigned long long)config->memory, config->devices, (unsigned long long)phys);
    return 0;
}

/* What there is by the time of a failure is for soft_close(). */
static int open_all(struct ff__soft *soft, const struct ff_config *config, struct ff_error *error) {
    bool move = config->mechanism != FF_MECHANISM_COPY;
    int status = ff__uffd_open(&soft->uffd, config->handler == FF_HANDLER_SIGBUS, move, error);
    if (status)
        return status;
    if (config->mechanism == FF_MECHANISM_MOVE && !soft->uffd.has_move)
        status = ff__fail(error, -ENOSYS,
                          "this kernel has no UFFDIO_MOVE (Linux 6.8); use mechanism=copy");
    soft->use_move = soft->uffd.has_move && move;
    if (!status)
        status = ff__memory_init(&soft->memory, config, &soft->uffd, error);
    if (!status)
        status = open_parts(soft, config, error);
    for (uint32_t tier = 1; tier <= config->devices; tier++)
        soft->links[tier].speed = config->link;
    soft->handler = config->handler;
    soft->spin_ns = config->handler == FF_HANDLER_ADAPTIVE ? config->spin_ns : 0;
    return status;
}

static int soft_open(const struct ff_config *config, void **self, struct ff_error *error) {
    int status = check_memory(config, error);
    if (status)
        return status;
    struct ff__soft *soft = calloc(1, sizeof *soft);
    if (!soft)
        return ff__fail(error, -ENOMEM, "no memory for the software device");
    soft->interrupt_fd = soft->pagemap_fd = soft->memory.host_fd = -1;
    soft->log = (struct ff__log){config->log, config->log_user};
    status = open_all(soft, config, error);
    if (status)
        soft_close(soft);
    else
        *self = soft;
    return status;
}

static int soft_attach(void *self, struct ff__pipeline *pipeline, struct ff_error *error) {
    struct ff__soft *soft = self;
    soft->pipeline = pipeline;
    soft->space = &pipeline->engine->space;
    int status = soft->handler == FF_HANDLER_SIGBUS ? ff__sigbus_attach(soft) : 0;
    return status ? ff__fail(error, status, "cannot take over SIGBUS: %s", strerror(-status)) : 0;
}

static void soft_detach(void *self) {
    struct ff__soft *soft = self;
    if (soft->handler == FF_HANDLER_SIGBUS)
        ff__sigbus_detach(soft);
}

static void soft_enter(void *self) {
    struct ff__soft *soft = self;
    const int kept[] = {STDERR_FILENO,      soft->uffd.fd,    soft->uffd.staging_fd,
                        soft->interrupt_fd, soft->pagemap_fd, soft->memory.host_fd};
    soft->has_own_table = ff__descriptors_keep_only(kept, sizeof kept / sizeof kept[0]) == 0;
}

/* In the calling thread's table, which has nothing to do with that of the threads that use the same
 * number: so ThreadSanitizer, which knows one table only, is not told. */
static void close_here(int fd) {
    if (close_range((unsigned)fd, (unsigned)fd, 0))
        close(fd);
}

/* Unless it is a file of the program by now: what ours is ends in this. */
static void close_if_ours(int fd, const char *what) {
    char name[64], target[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t length = fd < 0 ? -1 : readlink(name, target, sizeof target - 1);
    size_t end = strlen(what);
    if (length >= (ssize_t)end && memcmp(target + length - end, what, end) == 0)
        close_here(fd);
}

/* What the program's threads use themselves with the SIGBUS handler. */
static void close_used(const struct ff__soft *soft) {
    close_if_ours(soft->uffd.fd, "[userfaultfd]");
    close_if_ours(soft->uffd.staging_fd, "[userfaultfd]");
    close_if_ours(soft->pagemap_fd, "/pagemap");
}

/* Now that the threads have the descriptors: takes them from the program, which could close them, or have
 * them in the way of its own. With the SIGBUS handler its threads use one, and keep that. */
static void hide(struct ff__soft *soft) {
    if (!soft->has_own_table)
        return;
    if (!soft->uffd.sigbus)
        close_used(soft);
    close_here(soft->interrupt_fd);
    if (soft->memory.host_fd >= 0)
        close_here(soft->memory.host_fd);
    soft->hidden = true;
}

static void soft_started(void *self) {
    struct ff__soft *soft = self;
    hide(soft);
    ff__soft_tell_limits(soft);
}

static void soft_close(void *self) {
    struct ff__soft *soft = self;
    if (!soft->hidden || soft->uffd.sigbus)
        close_used(soft);
    if (soft->hidden) /* the numbers may be those of the program's files by now */
        soft->interrupt_fd = soft->memory.host_fd = -1;
    if (soft->interrupt_fd >= 0)
        close(soft->interrupt_fd);
    /* only now: who unmaps registered memory waits until somebody has read of it, or nobody can */
    ff__changes_unmap_rest(&soft->changes);
    ff__changes_fini(&soft->changes);
    if (soft->moved)
        ff__lazy_unmap(soft->moved, soft->memory.size >> FF_BLOCK_SHIFT);
    ff__memory_fini(&soft->memory);
    free(soft);
}

/* ---- places ---- */

static char *managed_at(const struct ff__soft *soft, uint32_t block, uint32_t page) {
    return soft->memory.managed + ff__soft_offset(soft, block, page);
}

static char *host_at(const struct ff__soft *soft, uint32_t block, uint32_t page) {
    return soft->memory.host + ff__soft_offset(soft, block, page);
}

static size_t bytes_of(uint32_t first, uint32_t end) {
    return (size_t)(end - first) * FF_PAGE_SIZE;
}

static uint32_t root_of(const struct ff__move *move) {
    return move->frame / FF__ROOT_LEAVES;
}

static char *root_in(char *const areas[], const struct ff__move *move) {
    return areas[move->tier] + (size_t)root_of(move) * FF_BLOCK_SIZE;
}

/* Where the block's pages go when they leave: its own leaves of the root. */
static char *staging_at(const struct ff__soft *soft, const struct ff__move *move, uint32_t page) {
    return soft->memory.frames[move->tier] + (size_t)move->frame * FF_LEAF_SIZE +
           (size_t)page * FF_PAGE_SIZE;
}

static uint32_t *ready_of(struct ff__soft *soft, const struct ff__move *move) {
    return &soft->memory.ready[move->tier][root_of(move)];
}

/* The block takes the whole root: nobody else changes what is ready of it. */
static bool is_ready(struct ff__soft *soft, const struct ff__move *move) {
    return *ready_of(soft, move) == ALL_LEAVES;
}

/* ---- what both ways need ---- */

static void wait_for_link(struct ff__soft *soft, uint32_t tier, enum ff__direction direction,
                          const struct ff_mask *pages, uint64_t start_ns) {
    struct ff__link *link = &soft->links[tier];
    if (link->speed.bytes_per_second > 0)
        ff__link_wait(ff__link_reserve(link, direction, start_ns,
                                       (uint64_t)ff_mask_count(pages) * FF_PAGE_SIZE));
}

static bool has_locked_memory(void) {
    FILE *status = fopen("/proc/self/status", "re");
    char line[128];
    unsigned long locked = 0;
    while (status && locked == 0 && fgets(line, sizeof line, status))
        if (sscanf(line, "VmLck: %lu", &locked) != 1)
            locked = 0;
    if (status)
        fclose(status);
    return locked > 0;
}

/* A program that has locked its memory has locked ours with it, which keeps pages from moving. */
static void unlock_memory(struct ff__soft *soft) {
    bool was_locked = has_locked_memory();
    ff__memory_unlock(&soft->memory);
    if (was_locked && !__atomic_exchange_n(&soft->said_locked, true, __ATOMIC_RELAXED))
        ff__log_line(&soft->log, FF_LOG_WARNING,
                     "the program has locked its memory (mlock, mlockall): managed memory stays "
                     "pageable by farfault");
}

static void soft_interrupt(void *self) {
    struct ff__soft *soft = self;
    uint64_t one = 1;
    if (write(soft->interrupt_fd, &one, sizeof one) < 0)
        return; /* the counter is full: it is awake anyway */
}

/* What may help after an ioctl has failed for the `tries`th time. False: nothing does. */
static bool is_worth_another(struct ff__soft *soft, int status, uint32_t tries) {
    if (status == -EINVAL && tries == 1) {
        unlock_memory(soft);
        return true;
    }
    if (status != -EAGAIN || tries >= SETTLE_MAX)
        return false;
    ff__changes_settle(&soft->changes, &soft->uffd);
    if (__atomic_load_n(&soft->changes.backlog_count, __ATOMIC_RELAXED) > 0)
        soft_interrupt(soft);
    ff__clock_sleep(SETTLE_NS);
    return true;
}

/* Gives pages that nobody uses back to the kernel, which hardly ever has a reason to refuse. */
static void give_back(char *area, size_t size) {
    for (uint32_t tries = 0; madvise(area, size, MADV_DONTNEED) && tries < SETTLE_MAX; tries++)
        ff__clock_sleep(SETTLE_NS);
}

/* ---- in ---- */

static void zero_pages(char *root, const struct ff_mask *pages) {
    FF_MASK_FOR_EACH_RUN(pages, run) {
        ff__zero_pages(root + (size_t)run.first * FF_PAGE_SIZE, run.end - run.first);
    }
}

/* Fills a whole root with the block's content; pages without content are zeroed if the root was
 * used before. */
static void fill_root(struct ff__soft *soft, char *root, const struct ff__move *move, bool used) {
    FF_MASK_FOR_EACH_RUN(&move->held, run) {
        ff__copy_pages(root + (size_t)run.first * FF_PAGE_SIZE,
                       host_at(soft, move->block, run.first), run.end - run.first);
    }
    struct ff_mask fresh = ff_mask_minus(&move->pages, &move->held);
    if (used)
        zero_pages(root, &fresh);
}

/* Memory for a block that takes a whole root; NULL: there is none now. */
static char *take_root(struct ff__soft *soft, const struct ff__move *move) {
    struct ff__memory *memory = &soft->memory;
    char *frames = root_in(memory->frames, move);
    if (is_ready(soft, move))
        return frames;
    if (*ready_of(soft, move))
        give_back(frames, FF_BLOCK_SIZE);
    *ready_of(soft, move) = 0;
    /* memory fresh from the kernel is zero, but must be there to be moved */
    char *root = root_in(memory->nursery, move);
    if (mprotect(root, FF_BLOCK_SIZE, PROT_READ | PROT_WRITE))
        return NULL;
    return madvise(root, FF_BLOCK_SIZE, MADV_POPULATE_WRITE) ? NULL : root;
}

/* Gives what has not moved back to the kernel. */
static void return_root(struct ff__soft *soft, const struct ff__move *move, char *root) {
    give_back(root, FF_BLOCK_SIZE);
    if (!is_ready(soft, move))
        mprotect(root, FF_BLOCK_SIZE, PROT_NONE);
}

/* Moves the filled root under the block's addresses; how far it came. */
static size_t move_root(struct ff__soft *soft, const struct ff__move *move, char *root) {
    size_t all = 0;
    int status = -EAGAIN;
    for (uint32_t tries = 0; status && all < FF_BLOCK_SIZE; tries++) {
        size_t moved;
        struct ff_mask dropped = ff__changes_begin_arrival(&soft->changes, move->block);
        zero_pages(root, &dropped);
        status = ff__uffd_move_in(&soft->uffd, managed_at(soft, move->block, 0) + all, root + all,
                                  FF_BLOCK_SIZE - all, &moved);
        ff__changes_end_arrival(&soft->changes);
        all += moved;
        if (status && !is_worth_another(soft, status, tries + 1))
            break;
    }
    return all;
}

/* Takes the pages that came out of *missed. */
static void in_moved(struct ff__soft *soft, const struct ff__move *move, struct ff_mask *missed) {
    uint64_t start = ff__clock_ns();
    char *root = take_root(soft, move);
    if (!root)
        return;
    fill_root(soft, root, move, is_ready(soft, move));
    wait_for_link(soft, move->tier, FF__LINK_IN, &move->held, start);
    size_t moved = move_root(soft, move, root);
    struct ff_mask came = ff_mask_of_run(0, (uint32_t)(moved / FF_PAGE_SIZE));
    *missed = ff_mask_minus(missed, &came);
    soft->moved[move->block] = moved == FF_BLOCK_SIZE;
    if (moved < FF_BLOCK_SIZE || !is_ready(soft, move))
        return_root(soft, move, root);
    *ready_of(soft, move) = 0;
}

/* The kernel allocates anew: it gets back first what waits in the block's leaves of the root. */
static void give_back_leaves(struct ff__soft *soft, const struct ff__move *move) {
    if (!soft->use_move || !__atomic_load_n(ready_of(soft, move), __ATOMIC_RELAXED))
        return;
    uint32_t leaves = ff__frames_leaves(soft->space->blocks[move->block].page_count);
    uint32_t own = (leaves == FF__ROOT_LEAVES ? ALL_LEAVES : (1u << leaves) - 1)
                   << move->frame % FF__ROOT_LEAVES;
    if (__atomic_fetch_and(ready_of(soft, move), ~own, __ATOMIC_RELAXED) & own)
        give_back(staging_at(soft, move, 0), leaves * FF_LEAF_SIZE);
}

/* Copies the pages [first, end) in, `held` from the host, else zeros; *end becomes how far it came. */
static int copy_piece(struct ff__soft *soft, const struct ff__move *move, uint32_t first,
                      uint32_t *end, bool held) {
    size_t copied;
    struct ff_mask piece = ff_mask_of_run(first, *end);
    struct ff_mask dropped = ff__changes_begin_arrival(&soft->changes, move->block);
    dropped = ff_mask_and(&dropped, &piece);
    if (held && !ff_mask_empty(&dropped)) { /* the first page alone, which is dropped or is not */
        *end = first + 1;
        held = !ff_mask_test(&dropped, first);
    }
    const char *from = held ? host_at(soft, move->block, first) : soft->memory.zeros;
    int status = ff__uffd_copy(&soft->uffd, managed_at(soft, move->block, first), from,
                               bytes_of(first, *end), &copied);
    ff__changes_end_arrival(&soft->changes);
    *end = first + (uint32_t)(copied / FF_PAGE_SIZE);
    return status;
}

/* Takes the pages that came out of *missed. */
static int copy_run(struct ff__soft *soft, const struct ff__move *move, struct ff_run run,
                    bool held, struct ff_mask *missed) {
    uint32_t at = run.first, tries = 0;
    while (at < run.end) {
        uint32_t end = run.end - at < PIECE_PAGES ? run.end : at + PIECE_PAGES;
        int status = copy_piece(soft, move, at, &end, held);
        struct ff_mask came = ff_mask_of_run(at, end);
        *missed = ff_mask_minus(missed, &came);
        tries = end > at ? 0 : tries + 1;
        at = end;
        if (status && !is_worth_another(soft, status, tries))
            return status;
    }
    return 0;
}

static int in_copied(struct ff__soft *soft, const struct ff__move *move, struct ff_mask *missed) {
    int status = 0;
    give_back_leaves(soft, move);
    struct ff_mask held = ff_mask_and(missed, &move->held);
    struct ff_mask fresh = ff_mask_minus(missed, &move->held);
    wait_for_link(soft, move->tier, FF__LINK_IN, &held, ff__clock_ns());
    FF_MASK_FOR_EACH_RUN(&held, run) {
        if ((status = copy_run(soft, move, run, true, missed)) < 0)
            return status;
    }
    FF_MASK_FOR_EACH_RUN(&fresh, run) {
        if ((status = copy_run(soft, move, run, false, missed)) < 0)
            return status;
    }
    return 0;
}

static int bring(struct ff__soft *soft, const struct ff__move *move, struct ff_mask *missed) {
    struct ff_mask gone = ff__changes_gone(&soft->changes, move->block);
    gone = ff_mask_and(&gone, missed);
    *missed = ff_mask_minus(missed, &gone);
    ff__changes_begin_in(&soft->changes, move->block, missed);
    if (soft->use_move && move->whole && ff_mask_count(missed) == FF_BLOCK_PAGES)
        in_moved(soft, move, missed);
    int status = ff_mask_empty(missed) ? 0 : in_copied(soft, move, missed);
    *missed = ff_mask_or(missed, &gone);
    return status == 0 && !ff_mask_empty(&gone) ? -ENOENT : status;
}

static int soft_in(void *self, const struct ff__move *move, struct ff_mask *missed) {
    struct ff__soft *soft = self;
    *missed = move->pages;
    return bring(soft, move, missed);
}

/* ---- out ---- */

/* Copies to the host what changed of these pages; `from` is the block's first page, wherever it is
 * now. */
static struct ff_mask write_back(struct ff__soft *soft, const struct ff__move *move,
                                 const struct ff_mask *pages, const char *from) {
    struct ff_mask live = ff_mask_minus(pages, &move->dead);
    uint64_t start = ff__clock_ns();
    struct ff_mask copied = ff__copy_changed(host_at(soft, move->block, 0), from, &live,
                                             &move->held, soft->memory.sums[move->block]);
    ff__changes_end_out(&soft->changes, move->block, pages);
    wait_for_link(soft, move->tier, FF__LINK_OUT, &copied, start);
    return copied;
}

/* Which pages of the run are there. Drops are not told of without MOVE, and who reads what is absent would
 * wait for itself. */
static struct ff_mask present_in(const struct ff__soft *soft, uint32_t block, struct ff_run run) {
    uint64_t entries[FF_BLOCK_PAGES];
    struct ff_mask present = {{0}};
    uint64_t first = (uintptr_t)managed_at(soft, block, run.first) / FF_PAGE_SIZE;
    ssize_t size = pread(soft->pagemap_fd, entries, (run.end - run.first) * sizeof entries[0],
                         (off_t)(first * sizeof entries[0]));
    for (uint32_t i = 0; i < run.end - run.first; i++)
        if (size < (ssize_t)((i + 1) * sizeof entries[0]) || entries[i] >> 62)
            ff_mask_set(&present, run.first + i);
    return present;
}

static bool is_hole(const struct ff__soft *soft, uint32_t block, uint32_t page) {
    struct ff_mask there = present_in(soft, block, (struct ff_run){page, page + 1});
    return ff_mask_empty(&there);
}

/* Moves a run to the staging area, as far as it goes: *there gets the pages that moved, *stayed loses
 * those and what the program has dropped. */
static int move_run_out(struct ff__soft *soft, const struct ff__move *move, struct ff_run run,
                        struct ff_mask *there, struct ff_mask *stayed) {
    uint32_t at = run.first, tries = 0;
    while (at < run.end) {
        size_t moved;
        int status =
            ff__uffd_move_out(&soft->uffd, staging_at(soft, move, at),
                              managed_at(soft, move->block, at), bytes_of(at, run.end), &moved);
        uint32_t end = at + (uint32_t)(moved / FF_PAGE_SIZE);
        ff_mask_set_run(there, at, end);
        if (status == -ENOENT && is_hole(soft, move->block, end)) /* there is nothing any more */
            end++;
        else if (status == -ENOENT)
            status = -EAGAIN;
        struct ff_mask left = ff_mask_of_run(at, end);
        *stayed = ff_mask_minus(stayed, &left);
        tries = end > at ? 0 : tries + 1;
        at = end;
        if (status && status != -ENOENT && !is_worth_another(soft, status, tries))
            return status;
    }
    return 0;
}

/* What is pinned in a freed range is let go of: whoever has pinned it keeps it for itself. Its content
 * is nobody's. Nothing is told of the drop, as nobody might be there to read of it. */
static void let_go(struct ff__soft *soft, const struct ff__move *move, struct ff_mask *stayed) {
    FF_MASK_FOR_EACH_RUN(stayed, run) {
        char *area = managed_at(soft, move->block, run.first);
        size_t size = bytes_of(run.first, run.end);
        ff__uffd_unregister(&soft->uffd, area, size);
        give_back(area, size);
        ff__uffd_register(&soft->uffd, area, size);
    }
    ff_mask_clear(stayed);
}

/* A root that left in one piece, and is part of the device's memory, waits for the next block; anything
 * else is the kernel's again. */
static void clear_staging(struct ff__soft *soft, const struct ff__move *move,
                          const struct ff_mask *there) {
    bool is_whole = soft->moved[move->block] && ff_mask_count(there) == FF_BLOCK_PAGES;
    if (is_whole && (uint64_t)root_of(move) * FF_BLOCK_SIZE < soft->memory.device_size) {
        *ready_of(soft, move) = ALL_LEAVES;
        return;
    }
    FF_MASK_FOR_EACH_RUN(there, run) {
        give_back(staging_at(soft, move, run.first), bytes_of(run.first, run.end));
    }
}

static int out_moved(struct ff__soft *soft, const struct ff__move *move, struct ff_mask *stayed,
                     struct ff_mask *copied) {
    struct ff_mask there = {{0}}, going = *stayed;
    int status = 0;
    FF_MASK_FOR_EACH_RUN(&going, run) {
        int ended = move_run_out(soft, move, run, &there, stayed);
        status = ended ? ended : status;
    }
    *copied = write_back(soft, move, &there, staging_at(soft, move, 0));
    clear_staging(soft, move, &there);
    return status == -EINVAL ? -EBUSY : status; /* not alike: protected by the program */
}

/* Whether all pages that are there can be read, and the program has not protected some: who tries to
 * would get its signal. */
static bool is_readable(const struct ff__soft *soft, uint32_t block, const struct ff_mask *pages) {
    struct iovec from[FF_BLOCK_PAGES], to;
    char bytes[FF_BLOCK_PAGES];
    uint32_t count = 0;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        from[count++] = (struct iovec){managed_at(soft, block, page), 1};
    }
    to = (struct iovec){bytes, count};
    return process_vm_readv(getpid(), &to, 1, from, count, 0) == (ssize_t)count;
}

static int drop_run(struct ff__soft *soft, char *area, size_t size) {
    if (madvise(area, size, MADV_DONTNEED) == 0)
        return 0;
    unlock_memory(soft);
    return madvise(area, size, MADV_DONTNEED) ? -errno : 0;
}

static int protect_run_out(struct ff__soft *soft, const struct ff__move *move, struct ff_run run,
                           struct ff_mask *stayed, struct ff_mask *copied) {
    char *area = managed_at(soft, move->block, run.first);
    size_t size = bytes_of(run.first, run.end);
    struct ff_mask left = ff_mask_of_run(run.first, run.end), back = {{0}}, kept = left;
    int status = ff__uffd_protect(&soft->uffd, area, size, true);
    struct ff_mask there = present_in(soft, move->block, run);
    if (status == 0 && !is_readable(soft, move->block, &there))
        status = -EBUSY;
    if (status == 0) {
        back = write_back(soft, move, &there, managed_at(soft, move->block, 0));
        status = drop_run(soft, area, size);
        kept = status ? present_in(soft, move->block, run) : (struct ff_mask){{0}};
    }
    if (status)
        ff__uffd_protect(&soft->uffd, area, size, false);
    ff__uffd_wake(&soft->uffd, area, size); /* writers that waited now fault on absent pages */
    left = ff_mask_minus(&left, &kept);
    back = ff_mask_and(&back, &left);
    *stayed = ff_mask_minus(stayed, &left);
    *copied = ff_mask_or(copied, &back);
    struct ff_mask lost = ff_mask_minus(&left, &there);
    ff__memory_zero_host(&soft->memory, move->block, &lost); /* dropped, so it reads as zeros */
    return status;
}

static int out_protected(struct ff__soft *soft, const struct ff__move *move, struct ff_mask *stayed,
                         struct ff_mask *copied) {
    struct ff_mask going = *stayed;
    int status = 0;
    FF_MASK_FOR_EACH_RUN(&going, run) {
        int ended = protect_run_out(soft, move, run, stayed, copied);
        status = ended ? ended : status;
    }
    return status == -EINVAL ? -EBUSY : status;
}

/* Pages that the program has just dropped, or only offered, and which are still there. */
static struct ff_mask unsettled(struct ff__soft *soft, const struct ff__move *move) {
    struct ff_mask pages = ff__changes_unsettled(&soft->changes, move->block), there = {{0}};
    if (move->freed)
        ff_mask_clear(&pages);
    FF_MASK_FOR_EACH_RUN(&pages, run) {
        struct ff_mask some = present_in(soft, move->block, run);
        there = ff_mask_or(&there, &some);
    }
    return ff_mask_and(&there, &move->pages);
}

static int take_out(struct ff__soft *soft, const struct ff__move *move, struct ff_mask *stayed,
                    struct ff_mask *copied) {
    struct ff_mask gone = ff__changes_gone(&soft->changes, move->block);
    struct ff_mask waiting = unsettled(soft, move);
    *stayed = ff_mask_minus(&move->pages, &gone);
    *stayed = ff_mask_minus(stayed, &waiting);
    int status = soft->use_move ? out_moved(soft, move, stayed, copied)
                                : out_protected(soft, move, stayed, copied);
    *stayed = ff_mask_or(stayed, &waiting);
    if (move->freed)
        let_go(soft, move, stayed);
    soft->moved[move->block] = 0;
    return status == 0 && !ff_mask_empty(&waiting) ? -EBUSY : status;
}

static int soft_out(void *self, const struct ff__move *move, struct ff_mask *stayed,
                    struct ff_mask *copied) {
    struct ff__soft *soft = self;
    ff_mask_clear(copied);
    ff_mask_clear(stayed);
    if (ff_mask_empty(&move->pages))
        return 0;
    int status = take_out(soft, move, stayed, copied);
    return ff_mask_empty(stayed) ? 0 : status;
}

/* ---- faults ---- */

static uint64_t soft_now(void *self) {
    (void)self;
    return ff__clock_ns();
}

static void sleep_for_faults(struct ff__soft *soft, uint64_t timeout_ns) {
    struct pollfd fds[2] = {{.fd = soft->uffd.fd, .events = POLLIN},
                            {.fd = soft->interrupt_fd, .events = POLLIN}};
    struct timespec timeout = {(time_t)(timeout_ns / 1000000000u),
                               (long)(timeout_ns % 1000000000u)};
    ppoll(fds, 2, &timeout, NULL);
    uint64_t count;
    if (fds[1].revents && read(soft->interrupt_fd, &count, sizeof count) < 0)
        return;
}

static int look_for_faults(struct ff__soft *soft, struct ff__fault *faults, uint32_t capacity) {
    return ff__changes_read(&soft->changes, &soft->uffd, faults, capacity);
}

/* Spins a while after faults were served, for the next are likely to follow; then sleeps. */
static int wait_for_faults(struct ff__soft *soft, struct ff__fault *faults, uint32_t capacity,
                           uint64_t timeout_ns) {
    uint64_t end = soft->served ? ff__clock_ns() + soft->spin_ns : 0;
    int count;
    while ((count = look_for_faults(soft, faults, capacity)) == 0 && ff__clock_ns() < end)
        ff__cpu_relax();
    if (count == 0) {
        sleep_for_faults(soft, timeout_ns);
        count = look_for_faults(soft, faults, capacity);
    }
    soft->served = count > 0 && soft->spin_ns > 0;
    return count;
}

static int soft_wait(void *self, struct ff__fault *faults, uint32_t capacity, uint64_t timeout_ns) {
    struct ff__soft *soft = self;
    return timeout_ns > 0 ? wait_for_faults(soft, faults, capacity, timeout_ns)
                          : look_for_faults(soft, faults, capacity);
}

/* Wakes the whole window even for no pages, which costs no more: a thread that has no reason to go on faults again. */
static void soft_replay(void *self, uint32_t block, const struct ff_mask *pages) {
    struct ff__soft *soft = self;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        if (!soft->use_move) /* it may be protected still, if to lift that has failed */
            ff__uffd_protect(&soft->uffd, managed_at(soft, block, page), FF_PAGE_SIZE, false);
        if (ff__uffd_fill(&soft->uffd, managed_at(soft, block, page), soft->memory.zeros))
            ff__changes_filled(&soft->changes, block, page);
    }
    char *window = soft->memory.managed + ((size_t)block << FF_BLOCK_SHIFT);
    ff__uffd_wake(&soft->uffd, window, FF_BLOCK_SIZE);
}

static void soft_reject(void *self, const struct ff__fault *fault) {
    (void)self;
    /* the access is what a segmentation fault is on other memory */
    if (fault->thread)
        syscall(SYS_tgkill, getpid(), fault->thread, SIGSEGV);
    else
        kill(getpid(), SIGSEGV);
}

const struct ff__backend ff__soft_backend = {
    .open = soft_open,
    .close = soft_close,
    .describe = ff__soft_describe,
    .attach = soft_attach,
    .enter = soft_enter,
    .started = soft_started,
    .detach = soft_detach,
    .open_range = ff__soft_open_range,
    .reserve_host = ff__soft_reserve_host,
    .close_range = ff__soft_close_range,
    .write_host = ff__soft_write_host,
    .owns = ff__soft_owns,
    .now = soft_now,
    .wait = soft_wait,
    .interrupt = soft_interrupt,
    .replay = soft_replay,
    .reject = soft_reject,
    .in = soft_in,
    .out = soft_out,
};
