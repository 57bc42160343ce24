/* Compressed parts of fat binaries. */
#ifndef FF_PTX_PACK_H
#define FF_PTX_PACK_H

#include <farfault/farfault.h>
#include <stddef.h>

enum ff__pack { FF__PACK_NONE, FF__PACK_LZ4, FF__PACK_ZSTD };

#define FF__UNPACKED_MAX (UINT64_C(256) << 20) /* bytes of a part; ours, against damaged sizes */

const char *ff__pack_name(enum ff__pack pack); /* "plain", "LZ4", "zstd" */

/* Decodes a part that has `unpacked` bytes when it is decoded. The caller frees *out, behind which
 * there is a zero. -EINVAL: it is damaged, or larger than FF__UNPACKED_MAX; -ENOTSUP: built without
 * the library that decodes it; -ENOMEM. */
int ff__unpack(enum ff__pack pack, const void *bytes, size_t size, uint64_t unpacked, char **out,
               struct ff_error *error);

/* pack_lz4.c or pack_no_lz4.c: a block of LZ4. 0, -EINVAL, -ENOTSUP. */
int ff__unpack_lz4(const void *bytes, size_t size, char *out, size_t unpacked);

#endif
