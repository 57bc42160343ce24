/* A bounded queue for one producer and one consumer; neither waits for the other. Items are
 * copied in and out.
 *
 * The head and the tail are free-running counters on cache lines of their own: an item is
 * published by the release store of the tail and handed back by the release store of the head. */
#ifndef FF_BASE_QUEUE_H
#define FF_BASE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ff__queue {
    unsigned char *items;
    size_t item_size;
    uint32_t capacity;          /* a power of two */
    _Alignas(64) uint32_t tail; /* the producer's: next to write */
    _Alignas(64) uint32_t head; /* the consumer's: next to read */
};

/* `capacity` is a power of two. 0 or -ENOMEM. */
int ff__queue_init(struct ff__queue *queue, uint32_t capacity, size_t item_size);
void ff__queue_fini(struct ff__queue *queue);

/* False when full. */
bool ff__queue_push(struct ff__queue *queue, const void *item);

/* False when empty. */
bool ff__queue_pop(struct ff__queue *queue, void *item);

/* The consumer's: the item that is next to be popped, which stays in the queue, NULL when empty;
 * and popping it without a copy. */
const void *ff__queue_front(const struct ff__queue *queue);
void ff__queue_drop(struct ff__queue *queue);

bool ff__queue_empty(const struct ff__queue *queue);

/* How many items could be pushed now; exact for the producer, as long as nothing is popped. */
uint32_t ff__queue_room(const struct ff__queue *queue);

#endif
