#include "base/sized.h"

#include <errno.h>
#include <string.h>

int ff__sized_get(void *to, size_t to_size, const void *from, size_t from_size) {
    const char *bytes = from;
    memcpy(to, from, from_size < to_size ? from_size : to_size);
    for (size_t i = to_size; i < from_size; i++)
        if (bytes[i])
            return -E2BIG;
    return 0;
}

void ff__sized_put(void *to, size_t to_size, const void *from, size_t from_size) {
    memcpy(to, from, to_size < from_size ? to_size : from_size);
    if (to_size > from_size)
        memset((char *)to + from_size, 0, to_size - from_size);
}
