#include "ptx/pack.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

const char *ff__pack_name(enum ff__pack pack) {
    static const char *const names[] = {"plain", "LZ4", "zstd"};
    return names[pack];
}

/* A byte of LZ4 stands for 255 at most, one of zstd for more. */
static bool is_possible(enum ff__pack pack, size_t size, uint64_t unpacked) {
    switch (pack) {
    case FF__PACK_NONE:
        return unpacked == size;
    case FF__PACK_LZ4:
        return unpacked / 255 <= size;
    case FF__PACK_ZSTD:
    default:
        return true;
    }
}

static int decode(enum ff__pack pack, const void *bytes, size_t size, char *out, size_t unpacked) {
    switch (pack) {
    case FF__PACK_LZ4:
        return ff__unpack_lz4(bytes, size, out, unpacked);
    case FF__PACK_ZSTD:
        return ZSTD_decompress(out, unpacked, bytes, size) == unpacked ? 0 : -EINVAL;
    case FF__PACK_NONE:
    default:
        memcpy(out, bytes, size);
        return 0;
    }
}

int ff__unpack(enum ff__pack pack, const void *bytes, size_t size, uint64_t unpacked, char **out,
               struct ff_error *error) {
    if (unpacked > FF__UNPACKED_MAX)
        return ff__fail(error, -EINVAL, "a part of %llu bytes, more than the limit of %llu",
                        (unsigned long long)unpacked, (unsigned long long)FF__UNPACKED_MAX);
    if (!is_possible(pack, size, unpacked))
        return ff__fail(error, -EINVAL, "damaged: %zu bytes (%s) cannot be %llu", size,
                        ff__pack_name(pack), (unsigned long long)unpacked);
    char *text = malloc(unpacked + 1);
    if (text == NULL)
        return ff__fail(error, -ENOMEM, "not enough memory for a part of %llu bytes",
                        (unsigned long long)unpacked);
    text[unpacked] = '\0';
    int status = decode(pack, bytes, size, text, unpacked);
    if (status == 0) {
        *out = text;
        return 0;
    }
    free(text);
    if (status == -ENOTSUP)
        return ff__fail(error, status,
                        "compressed with %s, and this farfault is built without its library",
                        ff__pack_name(pack));
    return ff__fail(error, status, "damaged: what is compressed with %s cannot be decoded",
                    ff__pack_name(pack));
}
