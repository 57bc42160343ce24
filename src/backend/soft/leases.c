#include "backend/soft/leases.h"

#include "base/lazy.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

/* ---- making and unmaking ---- */

static size_t states_size(uint32_t slots) {
    return (slots * sizeof(ff__slot) + FF_PAGE_SIZE - 1) & ~(size_t)(FF_PAGE_SIZE - 1);
}

int ff__leases_init(struct ff__leases *leases, const struct ff__memory *memory) {
    uint64_t most = 0;
    if (memory->tier_count == 1 + memory->devices)
        return 0;
    for (uint32_t tier = 1; tier < memory->tier_count; tier++)
        most = memory->lent_size[tier] > most ? memory->lent_size[tier] : most;
    leases->bounces = ff__lazy_map(FF__BOUNCES * FF_BLOCK_SIZE);
    for (uint32_t tier = memory->devices + 1; tier < memory->tier_count; tier++) {
        struct ff__lease *lease = &leases->of[tier];
        lease->slots = (uint32_t)(memory->lent_size[tier] / FF__SLOT_SIZE);
        lease->chunk_count = (uint32_t)(most >> FF_BLOCK_SHIFT);
        lease->chunks = ff__lazy_map(lease->chunk_count * sizeof *lease->chunks);
        if (!lease->chunks)
            return -ENOMEM;
    }
    return leases->bounces ? 0 : -ENOMEM;
}

void ff__leases_fini(struct ff__leases *leases, const struct ff__memory *memory) {
    if (leases->bounces)
        ff__lazy_unmap(leases->bounces, FF__BOUNCES * FF_BLOCK_SIZE);
    for (uint32_t tier = memory->devices + 1; tier < memory->tier_count; tier++) {
        struct ff__lease *lease = &leases->of[tier];
        if (lease->states)
            munmap(lease->states, states_size(lease->slots));
        if (lease->chunks)
            ff__lazy_unmap(lease->chunks, lease->chunk_count * sizeof *lease->chunks);
    }
    memset(leases, 0, sizeof *leases);
}

static bool is_file_of(int fd, uint64_t size) {
    struct stat about;
    int seals = fcntl(fd, F_GET_SEALS);
    return fstat(fd, &about) == 0 && (uint64_t)about.st_size == size && seals >= 0 &&
           (seals & SEALS) == SEALS;
}

int ff__lease_map(struct ff__leases *leases, struct ff__memory *memory, uint32_t tier,
                  int memory_fd, int states_fd) {
    struct ff__lease *lease = &leases->of[tier];
    uint64_t size = lease->slots * FF__SLOT_SIZE;
    if (lease->states || !is_file_of(memory_fd, size) ||
        !is_file_of(states_fd, states_size(lease->slots)))
        return -EPROTO;
    void *states =
        mmap(NULL, states_size(lease->slots), PROT_READ | PROT_WRITE, MAP_SHARED, states_fd, 0);
    if (states == MAP_FAILED)
        return -ENOMEM;
    if (mmap(memory->lent[tier], size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory_fd,
             0) == MAP_FAILED) {
        munmap(states, states_size(lease->slots));
        return -ENOMEM;
    }
    madvise(memory->lent[tier], size, MADV_DONTFORK);
    madvise(memory->lent[tier], size, MADV_DONTDUMP);
    madvise(states, states_size(lease->slots), MADV_DONTFORK);
    __atomic_store_n(&lease->states, states, __ATOMIC_RELEASE);
    return 0;
}

/* ---- slots ---- */

static ff__slot *states_of(const struct ff__lease *lease) {
    return __atomic_load_n(&lease->states, __ATOMIC_ACQUIRE);
}

static ff__slot epoch_of(ff__slot word) {
    return word >> 2;
}

/* Makes the slot that the chunk has USED. False: it has none any more. */
static bool claim_own(struct ff__lease *lease, const struct ff__chunk_slot *own, bool *was_clean) {
    ff__slot *word_at = &states_of(lease)[own->slot - 1];
    for (;;) {
        ff__slot word = ff__slot_read(word_at);
        enum ff__slot_state state = ff__slot_state(word);
        if (epoch_of(word) != epoch_of(own->word) ||
            (state != FF__SLOT_USED && state != FF__SLOT_CLEAN))
            return false;
        *was_clean = state == FF__SLOT_CLEAN;
        if (state == FF__SLOT_USED || ff__slot_change(word_at, word, FF__SLOT_USED))
            return true;
    }
}

static bool claim_any(struct ff__lease *lease, struct ff__chunk_slot *out) {
    uint32_t start = __atomic_fetch_add(&lease->cursor, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < lease->slots; i++) {
        uint32_t slot = (start + i) % lease->slots;
        ff__slot word = ff__slot_read(&states_of(lease)[slot]);
        if (ff__slot_state(word) != FF__SLOT_FREE ||
            !ff__slot_change(&states_of(lease)[slot], word, FF__SLOT_USED))
            continue;
        *out = (struct ff__chunk_slot){slot + 1, word};
        return true;
    }
    return false;
}

uint32_t ff__lease_claim(struct ff__lease *lease, uint32_t chunk, bool fresh, bool *was_clean) {
    struct ff__chunk_slot *own = &lease->chunks[chunk];
    if (!states_of(lease))
        return FF_NONE;
    if (own->slot > 0 && claim_own(lease, own, was_clean))
        return own->slot - 1;
    *was_clean = true;
    if (!fresh)
        return FF_NONE;
    *own = (struct ff__chunk_slot){0, 0};
    return claim_any(lease, own) ? own->slot - 1 : FF_NONE;
}

bool ff__lease_has(const struct ff__lease *lease, uint32_t chunk) {
    const struct ff__chunk_slot *own = &lease->chunks[chunk];
    ff__slot word = own->slot > 0 ? ff__slot_read(&states_of(lease)[own->slot - 1]) : 0;
    return own->slot > 0 && epoch_of(word) == epoch_of(own->word) &&
           ff__slot_state(word) == FF__SLOT_USED;
}

void ff__lease_rest(struct ff__lease *lease, uint32_t chunk, enum ff__slot_state state) {
    struct ff__chunk_slot *own = &lease->chunks[chunk];
    if (own->slot == 0)
        return;
    ff__slot word = (own->word & ~(ff__slot)3) | FF__SLOT_USED;
    ff__slot_change(&states_of(lease)[own->slot - 1], word, state);
    if (state == FF__SLOT_FREE)
        *own = (struct ff__chunk_slot){0, 0};
}

/* ---- bounces ---- */

char *ff__bounce_take(struct ff__leases *leases) {
    for (uint32_t i = 0;; i = (i + 1) % FF__BOUNCES) {
        if (!__atomic_exchange_n(&leases->is_bounce_taken[i], true, __ATOMIC_ACQUIRE))
            return leases->bounces + (size_t)i * FF_BLOCK_SIZE;
        if (i == FF__BOUNCES - 1)
            sched_yield();
    }
}

void ff__bounce_give(struct ff__leases *leases, const char *bounce) {
    size_t i = (size_t)(bounce - leases->bounces) / FF_BLOCK_SIZE;
    __atomic_store_n(&leases->is_bounce_taken[i], false, __ATOMIC_RELEASE);
}
