#include "ptx/archive.h"

#include "base/error.h"

#include <ar.h>
#include <errno.h>
#include <string.h>

#define THIN "!<thin>\n"

static bool begins(const void *bytes, size_t size, const char *magic) {
    return size >= SARMAG && memcmp(bytes, magic, SARMAG) == 0;
}

bool ff__archive_is(const void *bytes, size_t size) {
    return begins(bytes, size, ARMAG) || begins(bytes, size, THIN);
}

int ff__archive_open(const void *bytes, size_t size, struct ff__archive *out,
                     struct ff_error *error) {
    *out = (struct ff__archive){.bytes = bytes, .size = size, .at = SARMAG};
    return begins(bytes, size, ARMAG)
               ? 0
               : ff__fail(error, -EINVAL, "a thin archive: what it names lies in other files");
}

/* Digits with blanks behind them. False: they are none. */
static bool member_size(const struct ar_hdr *header, size_t *out) {
    size_t i = 0;
    *out = 0;
    for (; i < sizeof header->ar_size && header->ar_size[i] != ' '; i++) {
        if (header->ar_size[i] < '0' || header->ar_size[i] > '9')
            return false;
        *out = *out * 10 + (size_t)(header->ar_size[i] - '0');
    }
    return i != 0;
}

int ff__archive_next(struct ff__archive *archive, struct ff__archive_member *out,
                     struct ff_error *error) {
    struct ar_hdr header;
    size_t left = archive->size - archive->at;
    if (left == 0)
        return 0;
    if (left < sizeof header)
        return ff__fail(error, -EINVAL, "damaged archive: it ends in a member's header");
    memcpy(&header, archive->bytes + archive->at, sizeof header);
    left -= sizeof header;
    if (memcmp(header.ar_fmag, ARFMAG, sizeof header.ar_fmag) != 0 ||
        !member_size(&header, &out->size))
        return ff__fail(error, -EINVAL, "damaged archive: a member's header is none");
    if (out->size > left)
        return ff__fail(error, -EINVAL, "damaged archive: it is cut off");
    out->bytes = archive->bytes + archive->at + sizeof header;
    /* the next one begins at an even place */
    archive->at += sizeof header + out->size;
    archive->at += archive->at % 2 != 0 && archive->at < archive->size;
    return 1;
}
