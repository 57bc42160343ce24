#include "base/inbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ff__inbox_init(struct ff__inbox *inbox, size_t item_size) {
    memset(inbox, 0, sizeof *inbox);
    inbox->items = calloc(FF__INBOX_ITEMS, item_size);
    inbox->item_size = item_size;
    inbox->free = inbox->items ? UINT64_MAX : 0;
    return inbox->items ? 0 : -ENOMEM;
}

void ff__inbox_fini(struct ff__inbox *inbox) {
    free(inbox->items);
    memset(inbox, 0, sizeof *inbox);
}

void *ff__inbox_claim(struct ff__inbox *inbox) {
    uint64_t free = __atomic_load_n(&inbox->free, __ATOMIC_RELAXED);
    while (free != 0) /* lost to another: it has the bits as they are now */
        if (__atomic_compare_exchange_n(&inbox->free, &free, free & (free - 1), true,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return inbox->items + (size_t)__builtin_ctzll(free) * inbox->item_size;
    return NULL;
}

static uint32_t number_of(const struct ff__inbox *inbox, const void *item) {
    return (uint32_t)((size_t)((const unsigned char *)item - inbox->items) / inbox->item_size);
}

/* Items leave all at once, so that a newest one that is the same as before has the same ones
 * before it. */
void ff__inbox_put(struct ff__inbox *inbox, const void *item) {
    uint32_t number = number_of(inbox, item);
    uint8_t before = __atomic_load_n(&inbox->newest, __ATOMIC_RELAXED);
    do
        inbox->next[number] = before;
    while (!__atomic_compare_exchange_n(&inbox->newest, &before, (uint8_t)(number + 1), true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

bool ff__inbox_empty(const struct ff__inbox *inbox) {
    return __atomic_load_n(&inbox->newest, __ATOMIC_RELAXED) == 0;
}

void ff__inbox_take(struct ff__inbox *inbox, void (*call)(void *user, const void *item),
                    void *user) {
    uint8_t order[FF__INBOX_ITEMS];
    uint32_t count = 0;
    uint64_t taken = 0;
    uint8_t at = __atomic_exchange_n(&inbox->newest, 0, __ATOMIC_ACQUIRE);
    for (; at != 0; at = inbox->next[at - 1])
        order[count++] = (uint8_t)(at - 1);
    while (count > 0) {
        taken |= UINT64_C(1) << order[--count];
        call(user, inbox->items + order[count] * inbox->item_size);
    }
    __atomic_fetch_or(&inbox->free, taken, __ATOMIC_RELEASE);
}
