#include "ptx/fatbin.h"

#include "base/error.h"
#include "base/grow.h"
#include "ptx/archive.h"
#include "ptx/cubin.h"
#include "ptx/elf.h"
#include "ptx/fatbin_format.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add(struct ff__ptx_images *images, const struct ff__image *image,
               struct ff_error *error) {
    if (images->count == UINT32_MAX || ff__grow(&images->items, images->count, sizeof *image))
        return ff__fail(error, -ENOMEM, "not enough memory for a list of images");
    images->items[images->count++] = *image;
    return 0;
}

/* ---- PTX ---- */

#define BEGINNING 65536u /* bytes of a text in which its first directives must be */

/* What is behind a directive such as .target; NULL: it is not there. */
static const char *behind(const char *text, size_t size, const char *directive) {
    size_t length = strlen(directive), most = size < BEGINNING ? size : BEGINNING;
    const char *found = memmem(text, most, directive, length);
    return found != NULL && found + length < text + most ? found + length : NULL;
}

static uint32_t number(const char **at, const char *end) {
    uint32_t value = 0;
    for (; *at < end && isdigit((unsigned char)**at) && value < 10000; ++*at)
        value = value * 10 + (uint32_t)(**at - '0');
    return value;
}

static uint32_t text_arch(const char *text, size_t size) {
    const char *at = behind(text, size, ".target"), *end = text + size;
    while (at != NULL && at < end && !isdigit((unsigned char)*at) && *at != '\n')
        at++;
    return at != NULL ? number(&at, end) : 0;
}

static uint32_t text_version(const char *text, size_t size) {
    const char *at = behind(text, size, ".version"), *end = text + size;
    while (at != NULL && at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (at == NULL)
        return 0;
    uint32_t version = number(&at, end) * 10;
    if (at < end && *at++ == '.')
        version += number(&at, end);
    return version;
}

static int add_text(struct ff__ptx_images *images, const char *text, size_t size,
                    struct ff_error *error) {
    return add(images,
               &(struct ff__image){.is_text = true,
                                   .arch = text_arch(text, size),
                                   .version = text_version(text, size),
                                   .bytes = text,
                                   .stored = size,
                                   .size = size},
               error);
}

/* Comments may stand before .version; no other directive may. */
static bool is_text(const char *text, size_t size) {
    const char *version = behind(text, size, ".version");
    return version != NULL && memchr(text, '\0', (size_t)(version - text)) == NULL;
}

/* ---- fat binaries ---- */

static int entry_image(const struct ff__fatbin_entry *entry, const uint8_t *payload,
                       struct ff__image *out, struct ff_error *error) {
    *out = (struct ff__image){.is_text = entry->kind == FF__FATBIN_PTX,
                              .arch = entry->arch,
                              .bytes = payload,
                              .stored = entry->size,
                              .size = entry->size};
    if (out->is_text)
        out->version = entry->major * 10u + entry->minor;
    if (entry->flags & (FF__FATBIN_LZ4 | FF__FATBIN_ZSTD)) {
        out->pack = entry->flags & FF__FATBIN_LZ4 ? FF__PACK_LZ4 : FF__PACK_ZSTD;
        out->stored = entry->compressed;
        out->size = entry->unpacked;
    }
    if (out->stored > entry->size)
        return ff__fail(error, -EINVAL,
                        "damaged fat binary: an image of %zu bytes where %llu have room",
                        out->stored, (unsigned long long)entry->size);
    return 0;
}

/* Entries of a kind that is not known are left out. */
static int add_entries(struct ff__ptx_images *images, const uint8_t *bytes, size_t size,
                       struct ff_error *error) {
    const size_t least = offsetof(struct ff__fatbin_entry, flags) + sizeof(uint64_t);
    int status = 0;
    while (size != 0 && !status) {
        struct ff__fatbin_entry entry = {0};
        struct ff__image image;
        if (size < least)
            return ff__fail(error, -EINVAL, "damaged fat binary: it ends in an image's header");
        memcpy(&entry, bytes, size < sizeof entry ? size : sizeof entry);
        if (entry.head_size < least || entry.head_size > size ||
            entry.size > size - entry.head_size)
            return ff__fail(error, -EINVAL, "damaged fat binary: an image is outside of it");
        if (entry.kind == FF__FATBIN_PTX || entry.kind == FF__FATBIN_CUBIN) {
            status = entry_image(&entry, bytes + entry.head_size, &image, error);
            if (!status)
                status = add(images, &image, error);
        }
        bytes += entry.head_size + entry.size;
        size -= entry.head_size + entry.size;
    }
    return status;
}

static bool is_fatbin(const void *bytes, size_t size) {
    uint32_t magic = 0;
    if (size >= sizeof magic)
        memcpy(&magic, bytes, sizeof magic);
    return magic == FF__FATBIN_MAGIC;
}

/* *used: bytes of it. */
static int add_fatbin(struct ff__ptx_images *images, const uint8_t *bytes, size_t size,
                      size_t *used, struct ff_error *error) {
    struct ff__fatbin_header head;
    if (size < sizeof head)
        return ff__fail(error, -EINVAL, "damaged fat binary: it ends in its header");
    memcpy(&head, bytes, sizeof head);
    if (head.head_size < sizeof head || head.head_size > size || head.size > size - head.head_size)
        return ff__fail(error, -EINVAL, "damaged fat binary: it is cut off");
    *used = head.head_size + head.size;
    return add_entries(images, bytes + head.head_size, head.size, error);
}

/* Fat binaries one after the other, with zeros between them. */
static int add_fatbins(struct ff__ptx_images *images, const uint8_t *bytes, size_t size,
                       struct ff_error *error) {
    int status = 0;
    for (size_t at = 0, used; at < size && !status; at += used) {
        used = 1;
        if (is_fatbin(bytes + at, size - at))
            status = add_fatbin(images, bytes + at, size - at, &used, error);
        else if (bytes[at] != 0)
            status = ff__fail(error, -EINVAL, "damaged fat binary: it does not begin as one");
    }
    return status;
}

/* ---- ELF files ---- */

static int add_cubin(struct ff__ptx_images *images, const struct ff__elf *elf,
                     struct ff_error *error) {
    return add(images,
               &(struct ff__image){.arch = ff__cubin_arch(elf),
                                   .bytes = elf->bytes,
                                   .stored = elf->size,
                                   .size = elf->size},
               error);
}

static bool has_fatbins(const char *section) {
    return strcmp(section, ".nv_fatbin") == 0 || strcmp(section, "__nv_relfatbin") == 0;
}

static int add_elf(struct ff__ptx_images *images, const void *bytes, size_t size,
                   struct ff_error *error) {
    struct ff__elf elf;
    uint64_t total = 0;
    int status = ff__elf_open(bytes, size, &elf, error);
    if (!status && elf.machine == EM_CUDA)
        return add_cubin(images, &elf, error);
    for (uint32_t i = 0; i < elf.section_count && !status; i++) {
        struct ff__elf_section section;
        status = ff__elf_section(&elf, i, &section, error);
        if (status || section.bytes == NULL || !has_fatbins(section.name))
            continue;
        total += section.size;
        status = total <= size ? add_fatbins(images, section.bytes, section.size, error)
                               : ff__fail(error, -EINVAL, "damaged ELF file: sections overlap");
    }
    return status;
}

/* Members that are no ELF files have none: an archive's own tables, texts. */
static int add_archive(struct ff__ptx_images *images, const void *bytes, size_t size,
                       struct ff_error *error) {
    struct ff__archive archive;
    struct ff__archive_member member;
    int status = ff__archive_open(bytes, size, &archive, error), more = 1;
    while (!status && more) {
        more = ff__archive_next(&archive, &member, error);
        if (more < 0)
            status = more;
        else if (more && ff__elf_is(member.bytes, member.size))
            status = add_elf(images, member.bytes, member.size, error);
    }
    return status;
}

/* ---- files ---- */

int ff__images_find(const void *bytes, size_t size, struct ff__ptx_images *out,
                    struct ff_error *error) {
    int status;
    const char *kind = "a fat binary";
    *out = (struct ff__ptx_images){0};
    if (size == 0)
        status = ff__fail(error, -EINVAL, "empty");
    else if (ff__elf_is(bytes, size))
        status = add_elf(out, bytes, size, error), kind = "an ELF file";
    else if (ff__archive_is(bytes, size))
        status = add_archive(out, bytes, size, error), kind = "an archive";
    else if (is_fatbin(bytes, size))
        status = add_fatbins(out, bytes, size, error);
    else if (is_text(bytes, size))
        status = add_text(out, bytes, size, error);
    else
        status = ff__fail(error, -EINVAL,
                          "neither PTX nor a cubin, a fat binary, an ELF file or an archive");
    if (!status && out->count == 0)
        status = ff__fail(error, -ENOENT, "%s without device code", kind);
    if (status)
        ff__images_free(out);
    return status;
}

void ff__images_free(struct ff__ptx_images *images) {
    free(images->items);
    *images = (struct ff__ptx_images){0};
}

int ff__image_read(const struct ff__image *image, char **out, size_t *size,
                   struct ff_error *error) {
    int status = ff__unpack(image->pack, image->bytes, image->stored, image->size, out, error);
    if (status)
        return status;
    *size = image->size;
    while (image->is_text && *size != 0 && (*out)[*size - 1] == '\0')
        --*size;
    return 0;
}
