#include "base/scratch.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct scratch {
    size_t size;
    void *memory;
};

static pthread_key_t key;
static bool has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void leave(void *argument) {
    struct scratch *scratch = argument;
    free(scratch->memory);
    free(scratch);
}

static void make_key(void) {
    has_key = pthread_key_create(&key, leave) == 0;
}

static struct scratch *own(void) {
    pthread_once(&once, make_key);
    if (!has_key)
        return NULL;
    struct scratch *scratch = pthread_getspecific(key);
    if (scratch != NULL)
        return scratch;
    scratch = calloc(1, sizeof *scratch);
    if (scratch != NULL && pthread_setspecific(key, scratch) != 0) {
        free(scratch);
        return NULL;
    }
    return scratch;
}

void *ff__scratch(size_t size) {
    struct scratch *scratch = own();
    if (scratch == NULL)
        return NULL;
    if (scratch->size < size) {
        free(scratch->memory);
        scratch->size = (size + 255) / 256 * 256;
        scratch->memory = aligned_alloc(256, scratch->size);
        if (scratch->memory == NULL)
            scratch->size = 0;
    }
    return scratch->memory;
}
