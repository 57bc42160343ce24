#include "backend/soft/device.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lazy.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE /* Linux 5.14; whoever has UFFDIO_MOVE has it */
#define MADV_POPULATE_WRITE 23
#endif

/* ---- making and unmaking ---- */

static int choose_mechanism(struct ff__soft *soft, const struct ff_config *config,
                            struct ff_error *error) {
    if (config->mechanism == FF_MECHANISM_MOVE && !soft->uffd.has_move)
        return ff__fail(error, -ENOSYS,
                        "this kernel has no UFFDIO_MOVE (Linux 6.8); use mechanism=copy");
    soft->use_move = soft->uffd.has_move && config->mechanism != FF_MECHANISM_COPY;
    return 0;
}

int ff__soft_init(struct ff__soft *soft, const struct ff_config *config, struct ff_error *error) {
    memset(soft, 0, sizeof *soft);
    soft->interrupt_fd = -1;
    int status = ff__uffd_open(&soft->uffd, config->handler == FF_HANDLER_SIGBUS, error);
    if (status)
        return status;
    status = choose_mechanism(soft, config, error);
    if (!status)
        status = ff__memory_init(&soft->memory, config, &soft->uffd, error);
    if (!status) {
        soft->moved = ff__lazy_map(config->address_space >> FF_BLOCK_SHIFT);
        soft->interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (!soft->moved || soft->interrupt_fd < 0)
            status =
                ff__fail(error, -ENOMEM, "cannot set up the software device: %s", strerror(errno));
    }
    for (uint32_t tier = 1; tier <= config->devices; tier++)
        soft->links[tier].speed = config->link;
    soft->spin_ns = config->handler == FF_HANDLER_ADAPTIVE ? config->spin_ns : 0;
    if (status)
        ff__soft_fini(soft);
    return status;
}

void ff__soft_fini(struct ff__soft *soft) {
    if (soft->moved)
        ff__lazy_unmap(soft->moved, soft->memory.size >> FF_BLOCK_SHIFT);
    if (soft->interrupt_fd >= 0)
        close(soft->interrupt_fd);
    ff__memory_fini(&soft->memory);
    ff__uffd_close(&soft->uffd);
}

/* ---- places ---- */

static char *managed_at(const struct ff__soft *soft, uint32_t block, uint32_t page) {
    return soft->memory.managed + ff__soft_offset(soft, block, page);
}

static char *host_at(const struct ff__soft *soft, uint32_t block, uint32_t page) {
    return soft->memory.host + ff__soft_offset(soft, block, page);
}

static size_t bytes_of(struct ff_run run) {
    return (size_t)(run.end - run.first) * FF_PAGE_SIZE;
}

static uint32_t root_of(const struct ff__move *move) {
    return move->frame / FF__ROOT_LEAVES;
}

static char *root_in(char *const areas[], const struct ff__move *move) {
    return areas[move->tier] + (size_t)root_of(move) * FF_BLOCK_SIZE;
}

/* ---- in ---- */

static void wait_for_link(struct ff__soft *soft, uint32_t tier, enum ff__direction direction,
                          const struct ff_mask *pages, uint64_t start_ns) {
    struct ff__link *link = &soft->links[tier];
    if (link->speed.bytes_per_second > 0)
        ff__link_wait(ff__link_reserve(link, direction, start_ns,
                                       (uint64_t)ff_mask_count(pages) * FF_PAGE_SIZE));
}

/* Fills a whole root with the block's content; pages without content are zeroed if the root was
 * used before. */
static void fill_root(struct ff__soft *soft, char *root, const struct ff__move *move, bool used) {
    struct ff_mask fresh = {{0}};
    if (used)
        fresh = ff_mask_minus(&move->pages, &move->held);
    FF_MASK_FOR_EACH_RUN(&move->held, run) {
        ff__copy_pages(root + (size_t)run.first * FF_PAGE_SIZE,
                       host_at(soft, move->block, run.first), run.end - run.first);
    }
    FF_MASK_FOR_EACH_RUN(&fresh, run) {
        ff__zero_pages(root + (size_t)run.first * FF_PAGE_SIZE, run.end - run.first);
    }
}

static int in_moved(struct ff__soft *soft, const struct ff__move *move) {
    struct ff__memory *memory = &soft->memory;
    uint8_t *ready = &memory->ready[move->tier][root_of(move)];
    char *root = root_in(*ready ? memory->frames : memory->nursery, move);
    uint64_t start = ff__clock_ns();
    /* memory fresh from the kernel is zero, but must be there to be moved */
    if (!*ready && madvise(root, FF_BLOCK_SIZE, MADV_POPULATE_WRITE))
        return -errno;
    fill_root(soft, root, move, *ready);
    wait_for_link(soft, move->tier, FF__LINK_IN, &move->held, start);
    int status = ff__uffd_move(&soft->uffd, managed_at(soft, move->block, 0), root, FF_BLOCK_SIZE);
    if (status)
        return status;
    *ready = 0;
    soft->moved[move->block] = 1;
    return 0;
}

static int in_copied(struct ff__soft *soft, const struct ff__move *move) {
    struct ff__memory *memory = &soft->memory;
    uint8_t *ready = &memory->ready[move->tier][root_of(move)];
    if (*ready) { /* the kernel allocates anew: give it back what waits in the root first */
        if (madvise(root_in(memory->frames, move), FF_BLOCK_SIZE, MADV_DONTNEED))
            return -errno;
        *ready = 0;
    }
    wait_for_link(soft, move->tier, FF__LINK_IN, &move->held, ff__clock_ns());
    struct ff_mask fresh = ff_mask_minus(&move->pages, &move->held);
    int status = 0;
    FF_MASK_FOR_EACH_RUN(&move->held, run) {
        status = ff__uffd_copy(&soft->uffd, managed_at(soft, move->block, run.first),
                               host_at(soft, move->block, run.first), bytes_of(run));
        if (status)
            return status;
    }
    FF_MASK_FOR_EACH_RUN(&fresh, run) {
        status = ff__uffd_copy(&soft->uffd, managed_at(soft, move->block, run.first), memory->zeros,
                               bytes_of(run));
        if (status)
            return status;
    }
    return 0;
}

/* Before the move: the pages are there, or away, before the calls below return, and whoever goes on or
 * faults then must not be told of first. */
static void record_move(struct ff__soft *soft, enum ff_trace_kind kind,
                        const struct ff__move *move) {
    if (!soft->recorder)
        return;
    ff__record_moves(soft->recorder, kind, move->tier - 1, ff__soft_offset(soft, move->block, 0),
                     &move->pages);
}

static int soft_in(void *self, const struct ff__move *move) {
    struct ff__soft *soft = self;
    bool bulk = soft->use_move && move->whole && ff_mask_count(&move->pages) == FF_BLOCK_PAGES;
    record_move(soft, FF_TRACE_MIGRATE, move);
    return bulk ? in_moved(soft, move) : in_copied(soft, move);
}

/* ---- out ---- */

/* Copies to the host what changed; `from` is the block's first page, wherever it is now. */
static struct ff_mask write_back(struct ff__soft *soft, const struct ff__move *move,
                                 const char *from) {
    struct ff_mask live = ff_mask_minus(&move->pages, &move->dead);
    uint64_t start = ff__clock_ns();
    struct ff_mask copied = ff__copy_changed(host_at(soft, move->block, 0), from, &live,
                                             &move->held, soft->memory.sums[move->block]);
    wait_for_link(soft, move->tier, FF__LINK_OUT, &copied, start);
    return copied;
}

static int out_moved(struct ff__soft *soft, const struct ff__move *move, struct ff_mask *copied) {
    char *root = root_in(soft->memory.frames, move);
    int status = ff__uffd_move(&soft->uffd, root, managed_at(soft, move->block, 0), FF_BLOCK_SIZE);
    if (status)
        return status;
    soft->moved[move->block] = 0;
    soft->memory.ready[move->tier][root_of(move)] = 1;
    *copied = write_back(soft, move, root);
    return 0;
}

static int out_protected(struct ff__soft *soft, const struct ff__move *move,
                         struct ff_mask *copied) {
    struct ff_run all = {ff_mask_next(&move->pages, 0), 0};
    FF_MASK_FOR_EACH_RUN(&move->pages, run) {
        all.end = run.end;
    }
    char *area = managed_at(soft, move->block, all.first);
    int status = ff__uffd_protect(&soft->uffd, area, bytes_of(all), true);
    if (status)
        return status;
    *copied = write_back(soft, move, managed_at(soft, move->block, 0));
    if (madvise(area, bytes_of(all), MADV_DONTNEED))
        return -errno;
    soft->moved[move->block] = 0;
    ff__uffd_wake(&soft->uffd, area,
                  bytes_of(all)); /* writers that waited now fault on absent pages */
    return 0;
}

static int take_out(struct ff__soft *soft, const struct ff__move *move, struct ff_mask *copied) {
    ff_mask_clear(copied);
    if (ff_mask_empty(&move->pages))
        return 0;
    if (soft->moved[move->block]) {
        int status = out_moved(soft, move, copied);
        if (status != -EBUSY) /* -EBUSY: the kernel holds a page for input or output; it can still
                                 be unmapped */
            return status;
    }
    return out_protected(soft, move, copied);
}

static int soft_out(void *self, const struct ff__move *move, struct ff_mask *copied) {
    struct ff__soft *soft = self;
    record_move(soft, FF_TRACE_EVICT, move);
    return take_out(soft, move, copied);
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

/* Spins a while after faults were served, for the next are likely to follow; then sleeps. */
static int wait_for_faults(struct ff__soft *soft, struct ff__fault *faults, uint32_t capacity,
                           uint64_t timeout_ns) {
    uint64_t end = soft->served ? ff__clock_ns() + soft->spin_ns : 0;
    int count;
    while ((count = ff__uffd_read(&soft->uffd, faults, capacity)) == 0 && ff__clock_ns() < end)
        ff__cpu_relax();
    if (count == 0) {
        sleep_for_faults(soft, timeout_ns);
        count = ff__uffd_read(&soft->uffd, faults, capacity);
    }
    soft->served = count > 0 && soft->spin_ns > 0;
    return count;
}

static int soft_wait(void *self, struct ff__fault *faults, uint32_t capacity, uint64_t timeout_ns) {
    struct ff__soft *soft = self;
    int count = timeout_ns > 0 ? wait_for_faults(soft, faults, capacity, timeout_ns)
                               : ff__uffd_read(&soft->uffd, faults, capacity);
    if (soft->recorder && count > 0)
        ff__record_faults(soft->recorder, faults, (uint32_t)count, (uintptr_t)soft->memory.managed);
    return count;
}

static void soft_interrupt(void *self) {
    struct ff__soft *soft = self;
    uint64_t one = 1;
    if (write(soft->interrupt_fd, &one, sizeof one) < 0)
        return; /* the counter is full: it is awake anyway */
}

static void soft_replay(void *self, uint32_t block, const struct ff_mask *pages) {
    struct ff__soft *soft = self;
    (void)pages; /* waking the whole window costs no more, and a thread that has no reason faults
                    again */
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
    .shows = FF_SEES_FAULTS | FF_SEES_LAUNCHES,
    .now = soft_now,
    .wait = soft_wait,
    .interrupt = soft_interrupt,
    .in = soft_in,
    .out = soft_out,
    .replay = soft_replay,
    .reject = soft_reject,
};
