#include "daemon/grant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TRIES 16u /* of a word that the program keeps changing */

static size_t states_size(uint32_t slots) {
    return (slots * sizeof(ff__slot) + 4095) & ~(size_t)4095;
}

static int make_file(const char *name, size_t size) {
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)size) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
        int status = -errno;
        close(fd);
        return status;
    }
    return fd;
}

static int map_states(struct ff__grant *grant) {
    void *states = mmap(NULL, states_size(grant->slots), PROT_READ | PROT_WRITE, MAP_SHARED,
                        grant->states_fd, 0);
    if (states == MAP_FAILED)
        return -errno;
    grant->states = states;
    return 0;
}

static void drop(struct ff__grant *grant) {
    if (grant->states)
        munmap(grant->states, states_size(grant->slots));
    if (grant->memory_fd >= 0)
        close(grant->memory_fd);
    if (grant->states_fd >= 0)
        close(grant->states_fd);
    free(grant->is_given);
    memset(grant, 0, sizeof *grant);
}

int ff__grant_open(struct ff__grant *grant, uint32_t slots) {
    *grant = (struct ff__grant){.slots = slots, .memory_fd = -1, .states_fd = -1};
    grant->is_given = calloc(slots, sizeof *grant->is_given);
    int status = grant->is_given ? 0 : -ENOMEM;
    if (!status)
        status = grant->memory_fd = make_file("farfault-lease", slots * FF__SLOT_SIZE);
    if (status >= 0)
        status = grant->states_fd = make_file("farfault-slots", states_size(slots));
    if (status >= 0)
        status = map_states(grant);
    if (status < 0) {
        drop(grant);
        return status;
    }
    grant->is_open = true;
    return 0;
}

static void punch(const struct ff__grant *grant, uint32_t slot) {
    fallocate(grant->memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              (off_t)(slot * FF__SLOT_SIZE), (off_t)FF__SLOT_SIZE);
}

uint32_t ff__grant_give(struct ff__grant *grant, uint32_t count) {
    uint32_t given = 0;
    for (uint32_t slot = 0; slot < grant->slots && given < count; slot++) {
        if (grant->is_given[slot])
            continue;
        ff__slot word = ff__slot_read(&grant->states[slot]);
        if (!ff__slot_raise(&grant->states[slot], word, FF__SLOT_FREE))
            continue; /* the program writes to what is not its own */
        grant->is_given[slot] = true;
        given++;
    }
    grant->given += given;
    return given;
}

/* Takes a slot that is in this state. */
static bool take(struct ff__grant *grant, uint32_t slot, enum ff__slot_state state) {
    for (uint32_t tries = 0; grant->is_given[slot] && tries < TRIES; tries++) {
        ff__slot word = ff__slot_read(&grant->states[slot]);
        if (ff__slot_state(word) != state)
            return false;
        if (!ff__slot_raise(&grant->states[slot], word, FF__SLOT_TAKEN))
            continue;
        grant->is_given[slot] = false;
        grant->given--;
        punch(grant, slot);
        return true;
    }
    return false;
}

/* A word that says TAKEN of a slot that is given is a lie, and taken at its word. */
uint32_t ff__grant_take(struct ff__grant *grant, uint32_t count) {
    static const enum ff__slot_state order[] = {FF__SLOT_TAKEN, FF__SLOT_FREE, FF__SLOT_CLEAN};
    uint32_t taken = 0;
    for (unsigned i = 0; i < 3; i++)
        for (uint32_t slot = grant->slots; slot-- > 0 && taken < count;)
            taken += take(grant, slot, order[i]);
    return taken;
}

void ff__grant_close(struct ff__grant *grant) {
    if (!grant->is_open)
        return;
    for (uint32_t slot = 0; slot < grant->slots; slot++)
        __atomic_store_n(&grant->states[slot],
                         ((ff__slot_read(&grant->states[slot]) & ~(ff__slot)3) + 4) |
                             FF__SLOT_TAKEN,
                         __ATOMIC_RELEASE);
    fallocate(grant->memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
              (off_t)(grant->slots * FF__SLOT_SIZE));
    drop(grant);
}
