#include "backend/soft/memory.h"

#include "backend/soft/area.h"
#include "base/lazy.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t ready_size(const struct ff__memory *memory) {
    return (memory->frames_size >> FF_BLOCK_SHIFT) * sizeof(uint32_t);
}

static size_t has_tail_size(const struct ff__memory *memory) {
    return (memory->size >> FF_BLOCK_SHIFT) * sizeof *memory->has_tail;
}

static size_t holds_size(const struct ff__memory *memory) {
    return (memory->device_size >> FF_BLOCK_SHIFT) * sizeof(bool);
}

static int init_lent(struct ff__memory *memory, uint32_t tier) {
    memory->lent[tier] = ff__area_reserve(memory->lent_size[tier], FF__AREA_HUGE);
    memory->holds_lent[tier] = ff__lazy_map(holds_size(memory));
    return memory->lent[tier] && memory->holds_lent[tier] ? 0 : -ENOMEM;
}

/* Without MOVE a device's memory is the kernel's to hand out. */
static int init_device(struct ff__memory *memory, uint32_t tier, const struct ff__uffd *uffd) {
    if (memory->tier_count > 2 && init_lent(memory, tier))
        return -ENOMEM;
    if (uffd->staging_fd < 0 || tier > memory->devices)
        return 0;
    memory->frames[tier] = ff__area_reserve(memory->frames_size, FF__AREA_HUGE);
    memory->fresh[tier] = ff__area_reserve(memory->frames_size, FF__AREA_SHUT);
    memory->ready[tier] = ff__lazy_map(ready_size(memory));
    if (!memory->frames[tier] || !memory->fresh[tier] || !memory->ready[tier])
        return -ENOMEM;
    return ff__uffd_register_staging(uffd, memory->frames[tier], memory->frames_size);
}

static int init_aside(struct ff__memory *memory, const struct ff__uffd *uffd) {
    if (uffd->staging_fd < 0)
        return 0;
    memory->aside = ff__area_reserve(memory->size, FF__AREA_HUGE);
    return memory->aside ? ff__uffd_register_staging(uffd, memory->aside, memory->size) : -ENOMEM;
}

/* All that is allocated may be pinned, as far as the machine has memory. */
static uint64_t most_pinned(const struct ff_config *config) {
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    return (config->address_space < machine ? config->address_space : machine) &
           ~(uint64_t)(FF_BLOCK_SIZE - 1);
}

int ff__memory_init(struct ff__memory *memory, const struct ff_config *config,
                    const struct ff__neighbours *neighbours, const struct ff__uffd *uffd,
                    struct ff_error *error) {
    memset(memory, 0, sizeof *memory);
    memory->size = config->address_space;
    memory->device_size = config->memory;
    memory->frames_size = config->memory + most_pinned(config);
    memory->devices = config->devices;
    memory->tier_count = 1 + config->devices + neighbours->count;
    for (uint32_t tier = 1; tier < memory->tier_count; tier++)
        memory->lent_size[tier] = tier <= config->devices
                                      ? config->memory
                                      : neighbours->memory[tier - 1 - config->devices];
    memory->managed = ff__area_reserve(memory->size, FF__AREA_SHUT);
    memory->zeros = ff__area_reserve(FF_BLOCK_SIZE, FF__AREA_HUGE);
    memory->has_tail = ff__lazy_map(has_tail_size(memory));
    int status = -ENOMEM;
    if (memory->managed && memory->zeros && memory->has_tail)
        status = ff__uffd_register(uffd, memory->managed, memory->size);
    if (!status)
        status = init_aside(memory, uffd);
    for (uint32_t tier = 1; tier < memory->tier_count && !status; tier++)
        status = init_device(memory, tier, uffd);
    return status ? ff__area_fail(error, status, memory->size) : 0;
}

void ff__memory_fini(struct ff__memory *memory) {
    ff__area_release(memory->managed, memory->size);
    ff__area_release(memory->aside, memory->size);
    ff__area_release((char *)(uintptr_t)memory->zeros, FF_BLOCK_SIZE);
    ff__lazy_unmap(memory->has_tail, has_tail_size(memory));
    for (uint32_t tier = 1; tier < memory->tier_count; tier++) {
        ff__area_release(memory->frames[tier], memory->frames_size);
        ff__area_release(memory->fresh[tier], memory->frames_size);
        ff__area_release(memory->lent[tier], memory->lent_size[tier]);
        ff__lazy_unmap(memory->ready[tier], ready_size(memory));
        ff__lazy_unmap(memory->holds_lent[tier], holds_size(memory));
    }
    memset(memory, 0, sizeof *memory);
}

void ff__memory_unlock(struct ff__memory *memory) {
    munlock(memory->managed, memory->size);
    if (memory->aside)
        munlock(memory->aside, memory->size);
    for (uint32_t tier = 1; tier < memory->tier_count; tier++) {
        if (memory->lent[tier])
            munlock(memory->lent[tier], memory->lent_size[tier]);
        if (!memory->frames[tier])
            continue;
        munlock(memory->frames[tier], memory->frames_size);
        munlock(memory->fresh[tier], memory->frames_size);
    }
}
