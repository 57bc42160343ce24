/* A fat binary: a header, and entries with a header each. Newer headers are longer. */
#ifndef FF_PTX_FATBIN_FORMAT_H
#define FF_PTX_FATBIN_FORMAT_H

#include <stdint.h>

#define FF__FATBIN_MAGIC 0xba55ed50u

struct ff__fatbin_header {
    uint32_t magic;
    uint16_t version, head_size;
    uint64_t size; /* of what follows */
};

enum { FF__FATBIN_PTX = 1, FF__FATBIN_CUBIN = 2 };
enum {
    FF__FATBIN_64_BIT = 1,
    FF__FATBIN_LINUX = 0x10,
    FF__FATBIN_LZ4 = 0x2000,
    FF__FATBIN_ZSTD = 0x8000,
};

struct ff__fatbin_entry {
    uint16_t kind, version;
    uint32_t head_size;
    uint64_t size;         /* of what follows, with padding */
    uint32_t compressed;   /* bytes of it; 0: it is not compressed */
    uint32_t options_at;   /* the end of this structure */
    uint16_t minor, major; /* of PTX, or of the cubin's format */
    uint32_t arch;
    uint32_t name_at, name_size;
    uint64_t flags, zero;
    uint64_t unpacked;
};

#endif
