#include "ptx/pack.h"

#include <errno.h>

int ff__unpack_lz4(const void *bytes, size_t size, char *out, size_t unpacked) {
    (void)bytes, (void)size, (void)out, (void)unpacked;
    return -ENOTSUP;
}
