/* The sections of an ELF file of 64 bits, little-endian. Nothing outside of the file is read,
 * whatever it says. */
#ifndef FF_PTX_ELF_H
#define FF_PTX_ELF_H

#include <farfault/farfault.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ff__elf {
    const uint8_t *bytes; /* borrowed */
    size_t size;
    uint16_t machine;
    uint8_t abi_version;
    uint32_t flags;
    uint64_t sections; /* where their headers are */
    uint32_t section_count;
    const char *names; /* of sections; ends with a zero */
    size_t names_size;
};

struct ff__elf_section {
    const char *name;
    uint32_t type, info, link;
    uint64_t size;
    const uint8_t *bytes; /* NULL: it takes no room in the file */
};

/* Whether it begins as an ELF file does. */
bool ff__elf_is(const void *bytes, size_t size);

/* -EINVAL, with the reason. */
int ff__elf_open(const void *bytes, size_t size, struct ff__elf *out, struct ff_error *error);
int ff__elf_section(const struct ff__elf *elf, uint32_t index, struct ff__elf_section *out,
                    struct ff_error *error);

#endif
