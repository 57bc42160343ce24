#include "base/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ff__queue_init(struct ff__queue *queue, uint32_t capacity, size_t item_size) {
    memset(queue, 0, sizeof *queue);
    queue->items = calloc(capacity, item_size);
    if (!queue->items)
        return -ENOMEM;
    queue->capacity = capacity;
    queue->item_size = item_size;
    return 0;
}

void ff__queue_fini(struct ff__queue *queue) {
    free(queue->items);
    memset(queue, 0, sizeof *queue);
}

static void *item_at(const struct ff__queue *queue, uint32_t counter) {
    return queue->items + (counter & (queue->capacity - 1)) * queue->item_size;
}

bool ff__queue_push(struct ff__queue *queue, const void *item) {
    uint32_t tail = queue->tail;
    if (tail - __atomic_load_n(&queue->head, __ATOMIC_ACQUIRE) == queue->capacity)
        return false;
    memcpy(item_at(queue, tail), item, queue->item_size);
    __atomic_store_n(&queue->tail, tail + 1, __ATOMIC_RELEASE);
    return true;
}

const void *ff__queue_front(const struct ff__queue *queue) {
    uint32_t head = queue->head;
    return head == __atomic_load_n(&queue->tail, __ATOMIC_ACQUIRE) ? NULL : item_at(queue, head);
}

void ff__queue_drop(struct ff__queue *queue) {
    __atomic_store_n(&queue->head, queue->head + 1, __ATOMIC_RELEASE);
}

bool ff__queue_pop(struct ff__queue *queue, void *item) {
    const void *front = ff__queue_front(queue);
    if (!front)
        return false;
    memcpy(item, front, queue->item_size);
    ff__queue_drop(queue);
    return true;
}

bool ff__queue_empty(const struct ff__queue *queue) {
    return __atomic_load_n(&queue->head, __ATOMIC_ACQUIRE) ==
           __atomic_load_n(&queue->tail, __ATOMIC_ACQUIRE);
}

uint32_t ff__queue_room(const struct ff__queue *queue) {
    uint32_t head = __atomic_load_n(&queue->head, __ATOMIC_ACQUIRE);
    return queue->capacity - (__atomic_load_n(&queue->tail, __ATOMIC_ACQUIRE) - head);
}
