#include "base/map.h"

#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 64u

/* Room for tables of all capacities up to `capacity`: each is as far from the start as it is
 * large. */
static size_t room_for(uint32_t capacity, size_t item_size) {
    return 2 * (size_t)capacity * item_size;
}

int ff__map_reserve(struct ff__map *map, uint32_t limit) {
    uint32_t capacity = CAPACITY_FIRST;
    while ((uint64_t)limit * 4 > (uint64_t)capacity * 3)
        capacity *= 2;
    map->room_keys = ff__lazy_map(room_for(capacity, sizeof *map->keys));
    map->room_values = ff__lazy_map(room_for(capacity, sizeof *map->values));
    map->room = capacity;
    return map->room_keys && map->room_values ? 0 : -ENOMEM;
}

void ff__map_fini(struct ff__map *map) {
    if (map->room > 0) {
        ff__lazy_unmap(map->room_keys, room_for(map->room, sizeof *map->keys));
        ff__lazy_unmap(map->room_values, room_for(map->room, sizeof *map->values));
    } else {
        free(map->keys);
        free(map->values);
    }
    memset(map, 0, sizeof *map);
}

/* The slot that holds the key, or the empty slot where it would go. */
static uint32_t find_slot(const struct ff__map *map, uint64_t key) {
    uint32_t slot = (uint32_t)ff__hash_word(key) & (map->capacity - 1);
    while (map->keys[slot] != 0 && map->keys[slot] != key)
        slot = (slot + 1) & (map->capacity - 1);
    return slot;
}

/* An empty table of a larger capacity. */
static int make_bigger(const struct ff__map *map, struct ff__map *bigger) {
    *bigger = *map;
    bigger->capacity = map->capacity ? map->capacity * 2 : CAPACITY_FIRST;
    if (map->room > 0) {
        bigger->keys = map->room_keys + bigger->capacity;
        bigger->values = map->room_values + bigger->capacity;
        return bigger->capacity <= map->room ? 0 : -ENOMEM;
    }
    bigger->keys = calloc(bigger->capacity, sizeof *bigger->keys);
    bigger->values = calloc(bigger->capacity, sizeof *bigger->values);
    if (bigger->keys && bigger->values)
        return 0;
    free(bigger->keys);
    free(bigger->values);
    return -ENOMEM;
}

/* What a table that is not used any more takes. */
static void drop_table(struct ff__map *map) {
    if (map->room == 0) {
        free(map->keys);
        free(map->values);
    } else if (map->capacity > 0) {
        ff__lazy_clear(map->keys, map->capacity * sizeof *map->keys);
        ff__lazy_clear(map->values, map->capacity * sizeof *map->values);
    }
}

static int grow(struct ff__map *map) {
    struct ff__map bigger;
    int status = make_bigger(map, &bigger);
    if (status)
        return status;
    for (uint32_t i = 0; i < map->capacity; i++) {
        if (map->keys[i] == 0)
            continue;
        uint32_t slot = find_slot(&bigger, map->keys[i]);
        bigger.keys[slot] = map->keys[i];
        bigger.values[slot] = map->values[i];
    }
    drop_table(map);
    *map = bigger;
    return 0;
}

bool ff__map_get(const struct ff__map *map, uint64_t key, uint32_t *value) {
    if (key == 0) {
        *value = map->zero_value;
        return map->has_zero;
    }
    if (map->capacity == 0)
        return false;
    uint32_t slot = find_slot(map, key);
    if (map->keys[slot] == 0)
        return false;
    *value = map->values[slot];
    return true;
}

int ff__map_put(struct ff__map *map, uint64_t key, uint32_t value) {
    if (key == 0) {
        map->has_zero = true;
        map->zero_value = value;
        return 0;
    }
    if ((map->count + 1) * 4 > map->capacity * 3 && grow(map) < 0)
        return -ENOMEM;
    uint32_t slot = find_slot(map, key);
    if (map->keys[slot] == 0)
        map->count++;
    map->keys[slot] = key;
    map->values[slot] = value;
    return 0;
}

bool ff__map_remove(struct ff__map *map, uint64_t key) {
    if (key == 0) {
        bool had = map->has_zero;
        map->has_zero = false;
        return had;
    }
    if (map->capacity == 0)
        return false;
    uint32_t hole = find_slot(map, key), mask = map->capacity - 1;
    if (map->keys[hole] == 0)
        return false;
    /* close the gap: later members of the probe run move back unless that would pass their home
     * slot */
    for (uint32_t i = (hole + 1) & mask; map->keys[i] != 0; i = (i + 1) & mask) {
        uint32_t home = (uint32_t)ff__hash_word(map->keys[i]) & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        map->keys[hole] = map->keys[i];
        map->values[hole] = map->values[i];
        hole = i;
    }
    map->keys[hole] = 0;
    map->count--;
    return true;
}

uint64_t ff__hash_bytes(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *p = bytes;
    while (size > 0) {
        uint64_t word = 0;
        size_t n = size < sizeof word ? size : sizeof word;
        memcpy(&word, p, n);
        hash = ff__hash_word(hash ^ word ^ (uint64_t)n << 56);
        p += n;
        size -= n;
    }
    return hash;
}
