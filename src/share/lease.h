/* Memory of another program's device that a program may use: one a program and device, in a file in
 * memory that the broker makes for it and gives to nobody else, sealed so that it can neither
 * shrink nor grow.
 *
 * A lease is a budget of slots of 2 MiB, not certain ones. A second file has a word for each slot,
 * which both sides change by compare and swap: its state, and an epoch that the broker raises
 * whenever it takes the slot or gives it. So the broker takes slots that hold nothing, or only what
 * the program's host tier has too, without asking. A program that reads a slot claims it first,
 * and checks afterwards that it still has it.
 *
 *   FREE   The program may use it.
 *   USED   It holds the only copy of something, or is being read. When its lease shrinks the
 *          program writes that back, or loses all leases after a time limit.
 *   CLEAN  The host has the same content.
 *   TAKEN  It is not the program's.
 *
 * The broker trusts a word only so far as to leave the slot alone until the time limit: it keeps
 * what it has given in memory of its own. */
#ifndef FF_SHARE_LEASE_H
#define FF_SHARE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#define FF__SLOT_SIZE (UINT64_C(2) << 20)

enum ff__slot_state { FF__SLOT_TAKEN, FF__SLOT_FREE, FF__SLOT_CLEAN, FF__SLOT_USED };

typedef uint32_t ff__slot; /* epoch * 4 + state */

static inline enum ff__slot_state ff__slot_state(ff__slot word) {
    return (enum ff__slot_state)(word & 3);
}

static inline ff__slot ff__slot_read(const ff__slot *slot) {
    return __atomic_load_n(slot, __ATOMIC_ACQUIRE);
}

/* Changes the state, and keeps the epoch, if the word still is `before`. False: it is not. */
static inline bool ff__slot_change(ff__slot *slot, ff__slot before, enum ff__slot_state state) {
    return __atomic_compare_exchange_n(slot, &before, (before & ~(ff__slot)3) | state, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* The next epoch with this state, if the word still is `before`: the broker's. */
static inline bool ff__slot_raise(ff__slot *slot, ff__slot before, enum ff__slot_state state) {
    return __atomic_compare_exchange_n(slot, &before, ((before & ~(ff__slot)3) + 4) | state, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

#endif
