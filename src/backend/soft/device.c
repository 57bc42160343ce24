#include "backend/soft/accessed.h"
#include "backend/soft/drop.h"

#include "base/descriptors.h"
#include "base/error.h"
#include "base/lazy.h"
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- descriptors ---- */

/* In the calling thread's table, which has nothing to do with that of the threads that use the same
 * number: so ThreadSanitizer, which knows one table only, is not told. */
static void close_here(int fd) {
    if (close_range((unsigned)fd, (unsigned)fd, 0))
        close(fd);
}

/* Unless it is a file of the program by now. */
static void close_if_ours(int fd, const struct stat *ours) {
    struct stat about;
    if (fd >= 0 && fstat(fd, &about) == 0 && about.st_dev == ours->st_dev &&
        about.st_ino == ours->st_ino)
        close_here(fd);
}

/* What the program's threads use themselves with the SIGBUS handler. */
static void list_used(const struct ff__soft *soft, int used[FF__SOFT_USED]) {
    used[0] = soft->uffd.fd;
    used[1] = soft->uffd.staging_fd;
    used[2] = soft->uffd.kernels_fd;
    used[3] = soft->pagemap_fd;
}

static void note_used(struct ff__soft *soft) {
    int used[FF__SOFT_USED];
    list_used(soft, used);
    for (int i = 0; i < FF__SOFT_USED; i++)
        if (used[i] >= 0)
            fstat(used[i], &soft->used[i]);
}

static void close_used(const struct ff__soft *soft) {
    int used[FF__SOFT_USED];
    list_used(soft, used);
    for (int i = 0; i < FF__SOFT_USED; i++)
        close_if_ours(used[i], &soft->used[i]);
}

/* ---- opening and closing ---- */

static void soft_close(void *self) {
    struct ff__soft *soft = self;
    ff__told_stop(&soft->told);
    ff__page_tables_fini(&soft->page_tables);
    if (!soft->hidden || soft->serves_itself)
        close_used(soft);
    ff__uffd_close_kernels(&soft->uffd);
    if (soft->hidden) /* the numbers may be those of the program's files by now */
        soft->interrupt_fd = soft->host.fd = -1;
    if (soft->interrupt_fd >= 0)
        close(soft->interrupt_fd);
    /* only now: unmapping registered memory waits until a thread has read of it, or none can */
    ff__changes_unmap_rest(&soft->changes);
    ff__changes_fini(&soft->changes);
    ff__leases_fini(&soft->leases, &soft->memory);
    ff__windows_fini(&soft->windows);
    ff__memory_fini(&soft->memory);
    ff__host_fini(&soft->host);
    free(soft);
}

static int open_parts(struct ff__soft *soft, struct ff_error *error) {
    soft->interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    soft->pagemap_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (soft->interrupt_fd < 0 || soft->pagemap_fd < 0 ||
        ff__changes_init(&soft->changes, &soft->memory, &soft->host, soft->log) ||
        ff__page_tables_init(&soft->page_tables, &soft->changes, &soft->told) ||
        ff__windows_init(&soft->windows, soft->memory.managed,
                         (uint32_t)(soft->memory.size >> FF_BLOCK_SHIFT)))
        return ff__fail(error, -ENOMEM, "cannot set up the software device: %s", strerror(errno));
    return 0;
}

static int check_page_size(struct ff_error *error) {
    long size = sysconf(_SC_PAGESIZE);
    if (size != FF_PAGE_SIZE)
        return ff__fail(error, -ENOSYS,
                        "this kernel's pages have %ld bytes: the software device needs a kernel "
                        "with pages of 4096",
                        size);
    return 0;
}

/* The memory of all devices is this machine's. */
static int check_memory(const struct ff_config *config, struct ff_error *error) {
    uint64_t phys = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (config->memory > phys / config->devices)
        return ff__fail(
            error, -ENOMEM, "memory=%llu for each of %u devices: this machine has %llu bytes",
            (unsigned long long)config->memory, config->devices, (unsigned long long)phys);
    return 0;
}

static void set_links(struct ff__soft *soft, const struct ff_config *config) {
    for (uint32_t from = 0; from < soft->memory.tier_count; from++)
        for (uint32_t to = 0; to < soft->memory.tier_count; to++)
            soft->links[from][to].speed =
                from == FF_TIER_HOST || to == FF_TIER_HOST ? config->link : config->peer_link;
    for (uint32_t to = 1; to < soft->memory.tier_count; to++)
        soft->unpaced[to].speed.bytes_per_second = FF__SOFT_COPY_RATE;
}

/* `watches`: what looks for uses; it can do without. */
static int open_uffd(struct ff__uffd *uffd, const struct ff_config *config, bool watches,
                     struct ff_error *error) {
    unsigned uses = config->handler == FF_HANDLER_SIGBUS ? FF__UFFD_SIGBUS : 0;
    uses |= config->mechanism != FF_MECHANISM_COPY ? FF__UFFD_MOVES : 0;
    if (watches && uses & FF__UFFD_MOVES && ff__accessed_probe() == 0 &&
        ff__uffd_open(uffd, uses | FF__UFFD_WATCHES, error) == 0)
        return 0;
    return ff__uffd_open(uffd, uses, error);
}

/* What there is by the time of a failure is for soft_close(). */
static int open_all(struct ff__soft *soft, const struct ff_config *config,
                    const struct ff__neighbours *neighbours, bool uses, struct ff_error *error) {
    bool move = config->mechanism != FF_MECHANISM_COPY;
    int status = open_uffd(&soft->uffd, config, uses, error);
    if (status)
        return status;
    soft->sees_uses = soft->uffd.watches;
    if (config->mechanism == FF_MECHANISM_MOVE && !soft->uffd.has_move)
        status = ff__fail(error, -ENOSYS,
                          "this kernel has no UFFDIO_MOVE (Linux 6.8); use mechanism=copy");
    soft->use_move = soft->uffd.has_move && move;
    if (!status)
        status = ff__host_init(&soft->host, config->address_space, config->host_file, error);
    if (!status)
        status = ff__memory_init(&soft->memory, config, neighbours, &soft->uffd, error);
    if (!status && config->handler == FF_HANDLER_KERNELS) /* without it, memory is as all memory */
        ff__uffd_open_kernels(&soft->uffd, soft->memory.managed, soft->memory.size);
    soft->can_drop = !status && soft->use_move && ff__drop_probe(&soft->uffd, soft->memory.zeros);
    soft->serves_itself = soft->uffd.sigbus || soft->uffd.kernels_fd >= 0;
    if (!status && ff__leases_init(&soft->leases, &soft->memory))
        status = ff__fail(error, -ENOMEM, "no memory for leases");
    if (!status)
        status = open_parts(soft, error);
    soft->maps_remote = !status && soft->use_move && soft->host.fd < 0 &&
                        ff__host_register(&soft->host, &soft->uffd) == 0;
    set_links(soft, config);
    soft->handler = config->handler;
    soft->granule = (uint32_t)(config->granule / FF_PAGE_SIZE);
    soft->spin_ns = config->handler == FF_HANDLER_SLEEP ? 0 : config->spin_ns;
    return status;
}

static int soft_open(const struct ff_config *config, const struct ff__neighbours *neighbours,
                     bool uses, void **self, struct ff_error *error) {
    int status = check_page_size(error);
    if (!status)
        status = check_memory(config, error);
    if (status)
        return status;
    struct ff__soft *soft = calloc(1, sizeof *soft);
    if (!soft)
        return ff__fail(error, -ENOMEM, "no memory for the software device");
    soft->interrupt_fd = soft->pagemap_fd = soft->host.fd = -1;
    soft->process = ff__process_number();
    soft->log = (struct ff__log){config->log, config->log_user};
    status = open_all(soft, config, neighbours, uses, error);
    note_used(soft);
    if (status)
        soft_close(soft);
    else
        *self = soft;
    return status;
}

/* ---- with the threads ---- */

static int soft_attach(void *self, struct ff__pipeline *pipeline, struct ff_error *error) {
    struct ff__soft *soft = self;
    soft->pipeline = pipeline;
    soft->space = ff__engine_space(pipeline->engine);
    int status = ff__told_start(&soft->told, &soft->changes, &soft->uffd);
    if (status)
        return ff__fail(error, status, "cannot start a thread: %s", strerror(-status));
    status = soft->serves_itself ? ff__sigbus_attach(soft) : 0;
    return status ? ff__fail(error, status, "cannot take over SIGBUS: %s", strerror(-status)) : 0;
}

static void soft_detach(void *self) {
    struct ff__soft *soft = self;
    if (soft->serves_itself)
        ff__sigbus_detach(soft);
}

static void soft_enter(void *self) {
    struct ff__soft *soft = self;
    const int kept[] = {STDERR_FILENO,         soft->uffd.fd,      soft->uffd.staging_fd,
                        soft->uffd.kernels_fd, soft->interrupt_fd, soft->pagemap_fd,
                        soft->host.fd};
    soft->has_own_table = ff__descriptors_keep_only(kept, sizeof kept / sizeof kept[0]) == 0;
}

/* Now that the threads have the descriptors: takes them from the program, which could close them,
 * or have them in the way of its own. Where its threads serve faults they keep what they use. */
static void hide(struct ff__soft *soft) {
    if (!soft->has_own_table)
        return;
    if (!soft->serves_itself)
        close_used(soft);
    close_here(soft->interrupt_fd);
    if (soft->host.fd >= 0)
        close_here(soft->host.fd);
    soft->hidden = true;
}

static void soft_started(void *self) {
    struct ff__soft *soft = self;
    hide(soft);
    ff__soft_tell_limits(soft);
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
    .set_kernels = ff__soft_set_kernels,
    .change_kernels = ff__soft_change_kernels,
    .write_host = ff__soft_write_host,
    .discard = ff__soft_discard,
    .host_held = ff__soft_host_held,
    .owns = ff__soft_owns,
    .now = ff__soft_now,
    .wait = ff__soft_wait,
    .interrupt = ff__soft_interrupt,
    .replay = ff__soft_replay,
    .reject = ff__soft_reject,
    .accessed = ff__soft_accessed,
    .lease = ff__soft_lease,
    .release = ff__soft_release,
    .submit = ff__soft_submit,
    .complete = ff__soft_complete,
    .abort = ff__soft_abort,
};
