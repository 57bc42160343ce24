/* A flat hash map from 64-bit keys to 32-bit values: open addressing, linear probing, grows at
 * 3/4. Key 0 is kept out of the table as a value of its own. */
#ifndef FF_BASE_MAP_H
#define FF_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ff__map {
    uint64_t *keys;
    uint32_t *values;
    uint32_t capacity, count; /* capacity: 0 or a power of two */
    bool has_zero;
    uint32_t zero_value;
    uint64_t *room_keys; /* where tables lie, of capacities up to `room`; 0: malloc() has them */
    uint32_t *room_values;
    uint32_t room;
};

/* Before its first use: so many keys at least have room, and nothing is allocated for them later,
 * so that a caller may hold a lock that others need to allocate. It takes no memory before it is
 * used. 0 or -ENOMEM, then the map is to be finished. */
int ff__map_reserve(struct ff__map *map, uint32_t limit);

void ff__map_fini(struct ff__map *map);

/* False if the key is not there. */
bool ff__map_get(const struct ff__map *map, uint64_t key, uint32_t *value);

/* Inserts or replaces. 0 or -ENOMEM, then nothing changed. */
int ff__map_put(struct ff__map *map, uint64_t key, uint32_t value);

/* False if the key was not there. */
bool ff__map_remove(struct ff__map *map, uint64_t key);

/* Mixes the bits of a 64-bit word (the finalizer of splitmix64). */
static inline uint64_t ff__hash_word(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Extends a running hash by some bytes; start with any seed. */
uint64_t ff__hash_bytes(uint64_t hash, const void *bytes, size_t size);

#endif
