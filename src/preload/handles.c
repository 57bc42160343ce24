/* A hash table of objects that the caller owns, by pointer: chained, grows by doubling. */
#include "preload/opencl/internal.h"

#include <stdlib.h>

#define CAPACITY_FIRST 64u

static struct ff__node **bucket_of(struct ff__node **buckets, size_t capacity, const void *key) {
    return &buckets[(size_t)ff__mix(0, (uintptr_t)key) & (capacity - 1)];
}

static void push(struct ff__node **bucket, struct ff__node *node) {
    node->next = *bucket;
    *bucket = node;
}

static bool grow(struct ff__table *table) {
    size_t capacity = table->capacity ? 2 * table->capacity : CAPACITY_FIRST;
    struct ff__node **buckets = calloc(capacity, sizeof(struct ff__node *));
    if (!buckets)
        return false;
    for (size_t i = 0; i < table->capacity; i++) {
        for (struct ff__node *node = table->buckets[i], *next; node; node = next) {
            next = node->next;
            push(bucket_of(buckets, capacity, node->key), node);
        }
    }
    free(table->buckets);
    table->buckets = buckets;
    table->capacity = capacity;
    return true;
}

bool ff__handles_put(struct ff__table *table, struct ff__node *node, const void *key) {
    if (table->count == table->capacity && !grow(table) && table->capacity == 0)
        return false; /* a full table that cannot grow only becomes slower */
    node->key = key;
    push(bucket_of(table->buckets, table->capacity, key), node);
    table->count++;
    return true;
}

struct ff__node *ff__handles_find(const struct ff__table *table, const void *key) {
    struct ff__node *node =
        table->capacity ? *bucket_of(table->buckets, table->capacity, key) : NULL;
    while (node && node->key != key)
        node = node->next;
    return node;
}

struct ff__node *ff__handles_take(struct ff__table *table, const void *key) {
    struct ff__node *node = ff__handles_find(table, key);
    if (!node)
        return NULL;
    struct ff__node **place = bucket_of(table->buckets, table->capacity, key);
    while (*place != node)
        place = &(*place)->next;
    *place = node->next;
    table->count--;
    return node;
}
