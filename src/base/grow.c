#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ff__grow_full(void *array, size_t count, size_t size) {
    void *old, *grown;
    memcpy(&old, array, sizeof old);
    grown = realloc(old, (count ? 2 * count : FF__GROW_FIRST) * size);
    if (!grown)
        return -ENOMEM;
    memcpy(array, &grown, sizeof grown);
    return 0;
}
