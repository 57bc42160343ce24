#include "ptx/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)64 << 10)
#define ALIGN 16u

struct chunk {
    struct chunk *next;
    max_align_t start[];
};

struct ff__ptx_arena {
    struct chunk *chunks;
    size_t left, size; /* of the first chunk; of all */
    bool failed;
};

struct ff__ptx_arena *ff__ptx_arena_new(void) {
    return calloc(1, sizeof(struct ff__ptx_arena));
}

void ff__ptx_arena_free(struct ff__ptx_arena *arena) {
    if (arena == NULL)
        return;
    for (struct chunk *chunk = arena->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(arena);
}

/* The first chunk serves small requests from its end down; a large one gets its own, behind it. */
void *ff__ptx_arena_alloc(struct ff__ptx_arena *arena, size_t count, size_t size) {
    if (arena->failed || (size != 0 && count > SIZE_MAX / 2 / size)) {
        arena->failed = true;
        return NULL;
    }
    size_t bytes = (count * size + ALIGN - 1) / ALIGN * ALIGN;
    if (bytes > arena->left) {
        size_t room = bytes > CHUNK / 4 ? bytes : CHUNK;
        struct chunk *chunk = calloc(1, sizeof *chunk + room);
        if (chunk == NULL) {
            arena->failed = true;
            return NULL;
        }
        arena->size += room;
        if (room == bytes && arena->chunks != NULL) {
            chunk->next = arena->chunks->next;
            arena->chunks->next = chunk;
            return chunk->start;
        }
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->left = room;
    }
    arena->left -= bytes;
    return (char *)arena->chunks->start + arena->left;
}

char *ff__ptx_arena_text(struct ff__ptx_arena *arena, const char *text, size_t length) {
    char *copy = ff__ptx_arena_alloc(arena, length + 1, 1);
    if (copy != NULL)
        memcpy(copy, text, length);
    return copy;
}

size_t ff__ptx_arena_size(const struct ff__ptx_arena *arena) {
    return arena->size;
}
