/* Translated modules kept in a folder of the user's: files KEY.so, each a shared object, behind it
 * a digest that tells which compiler made it, and the digest of key, object and compiler.
 *
 * Caching is no condition of anything: a folder that cannot be used caches nothing. But one that
 * others can write to is refused, as what they put there would run. */
#ifndef FF_PTX_CACHE_H
#define FF_PTX_CACHE_H

#include "ptx/digest.h"
#include <farfault/farfault.h>
#include <stdint.h>

#define FF__PTX_KEY (2 * FF__PTX_DIGEST + 1) /* hexadecimal digits and a zero */

struct ff__ptx_cache {
    int folder;     /* -1: nothing is cached */
    uint64_t limit; /* bytes of all files */
};

/* `folder`: NULL: as FARFAULT_PTX_CACHE and its kin say (exec.h). It and its parents are made.
 * -EACCES: it belongs to somebody else, or others can write to it; -EINVAL:
 * FARFAULT_PTX_CACHE_SIZE is no size. */
int ff__ptx_cache_open(const char *folder, struct ff__ptx_cache *cache, struct ff_error *error);
void ff__ptx_cache_close(struct ff__ptx_cache *cache);

void ff__ptx_cache_key(const uint8_t digest[FF__PTX_DIGEST], char key[FF__PTX_KEY]);

/* `compiler`: FF__PTX_DIGEST bytes. A copy (object.h) of what this one made, of any if it is NULL;
 * it is the caller's to close. A file that is damaged, or that others can write to, is removed.
 * -ENOENT and other errors: there is none. */
int ff__ptx_cache_find(const struct ff__ptx_cache *cache, const char *key, const uint8_t *compiler);

/* Keeps a copy of the object, and removes those files that were not used for longest until all are
 * within the limit. What goes wrong changes nothing. */
void ff__ptx_cache_add(const struct ff__ptx_cache *cache, const char *key, const uint8_t *compiler,
                       int object);

#endif
