/* Memory that is freed all at once: what a module, or one translation, is made of. */
#ifndef FF_PTX_ARENA_H
#define FF_PTX_ARENA_H

#include <stddef.h>

struct ff__ptx_arena;

/* NULL: no memory. */
struct ff__ptx_arena *ff__ptx_arena_new(void);
void ff__ptx_arena_free(struct ff__ptx_arena *arena);

/* Zeroed and aligned for any type. NULL: no memory, now or at an earlier call: so it suffices to
 * look at the last of several. */
void *ff__ptx_arena_alloc(struct ff__ptx_arena *arena, size_t count, size_t size);
/* A copy with a zero at its end. */
char *ff__ptx_arena_text(struct ff__ptx_arena *arena, const char *text, size_t length);

/* Bytes taken so far. */
size_t ff__ptx_arena_size(const struct ff__ptx_arena *arena);

#endif
