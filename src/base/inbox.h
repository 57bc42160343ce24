/* A box for items of several producers, which one consumer at a time empties at once.
 *
 * Nobody ever waits for a producer. One that is interrupted, by a signal or for good, holds
 * nothing but the item that it has claimed. Items are taken in the order in which they were put
 * in. */
#ifndef FF_BASE_INBOX_H
#define FF_BASE_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FF__INBOX_ITEMS 64u

struct ff__inbox {
    unsigned char *items;
    size_t item_size;
    uint8_t next[FF__INBOX_ITEMS]; /* the item that was put in before, and one; 0: none was */
    _Alignas(64) uint64_t free;    /* atomic: a bit for each item that nobody has */
    _Alignas(64) uint8_t newest;   /* atomic: what was put in last, and one; 0: it is empty */
};

/* 0 or -ENOMEM. */
int ff__inbox_init(struct ff__inbox *inbox, size_t item_size);
void ff__inbox_fini(struct ff__inbox *inbox);

/* An item for the caller to fill in; NULL: none is left. */
void *ff__inbox_claim(struct ff__inbox *inbox);

/* Puts a claimed item in. The thread that takes it sees what was written to it
 * before. */
void ff__inbox_put(struct ff__inbox *inbox, const void *item);

bool ff__inbox_empty(const struct ff__inbox *inbox);

/* Takes all that was put in, calls for each item, the oldest first, and gives it back. */
void ff__inbox_take(struct ff__inbox *inbox, void (*call)(void *user, const void *item),
                    void *user);

#endif
