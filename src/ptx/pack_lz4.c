#include "ptx/pack.h"

#include <errno.h>
#include <lz4.h>

int ff__unpack_lz4(const void *bytes, size_t size, char *out, size_t unpacked) {
    if (size > LZ4_MAX_INPUT_SIZE || unpacked > LZ4_MAX_INPUT_SIZE)
        return -EINVAL;
    int decoded = LZ4_decompress_safe(bytes, out, (int)size, (int)unpacked);
    return decoded >= 0 && (size_t)decoded == unpacked ? 0 : -EINVAL;
}
