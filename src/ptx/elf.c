#include "ptx/elf.h"

#include "base/error.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

bool ff__elf_is(const void *bytes, size_t size) {
    return size >= SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0;
}

static bool lies_within(uint64_t at, uint64_t length, uint64_t size) {
    return at <= size && length <= size - at;
}

static int read_header(const struct ff__elf *elf, uint32_t index, Elf64_Shdr *out,
                       struct ff_error *error) {
    uint64_t at = elf->sections + (uint64_t)index * sizeof *out;
    if (!lies_within(at, sizeof *out, elf->size))
        return ff__fail(error, -EINVAL, "damaged ELF file: header of section %u is outside of it",
                        index);
    memcpy(out, elf->bytes + at, sizeof *out);
    return 0;
}

/* Where there are too many sections for the file's header, that of section 0 has the numbers. */
static int count_sections(struct ff__elf *elf, const Elf64_Ehdr *header, uint32_t *names,
                          struct ff_error *error) {
    Elf64_Shdr first;
    elf->section_count = header->e_shnum;
    *names = header->e_shstrndx;
    if (header->e_shnum != 0 && header->e_shstrndx != SHN_XINDEX)
        return 0;
    int status = read_header(elf, 0, &first, error);
    if (status)
        return status;
    if (header->e_shnum == 0)
        elf->section_count =
            first.sh_size <= elf->size / sizeof first ? (uint32_t)first.sh_size : UINT32_MAX;
    if (header->e_shstrndx == SHN_XINDEX)
        *names = first.sh_link;
    return 0;
}

static int find_names(struct ff__elf *elf, uint32_t index, struct ff_error *error) {
    Elf64_Shdr section;
    if (index >= elf->section_count)
        return ff__fail(error, -EINVAL, "damaged ELF file: no section has the others' names");
    int status = read_header(elf, index, &section, error);
    if (status)
        return status;
    if (section.sh_type != SHT_STRTAB || section.sh_size == 0 ||
        !lies_within(section.sh_offset, section.sh_size, elf->size) ||
        elf->bytes[section.sh_offset + section.sh_size - 1] != '\0')
        return ff__fail(error, -EINVAL, "damaged ELF file: the names of sections are not there");
    elf->names = (const char *)elf->bytes + section.sh_offset;
    elf->names_size = section.sh_size;
    return 0;
}

int ff__elf_open(const void *bytes, size_t size, struct ff__elf *out, struct ff_error *error) {
    Elf64_Ehdr header;
    *out = (struct ff__elf){.bytes = bytes, .size = size};
    if (size < sizeof header)
        return ff__fail(error, -EINVAL, "damaged ELF file: it ends in its header");
    memcpy(&header, bytes, sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        return ff__fail(error, -EINVAL, "an ELF file that is not of 64 bits and little-endian");
    out->machine = header.e_machine;
    out->abi_version = header.e_ident[EI_ABIVERSION];
    out->flags = header.e_flags;
    out->sections = header.e_shoff;
    if (header.e_shoff == 0)
        return 0;
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > size)
        return ff__fail(error, -EINVAL, "damaged ELF file: headers of sections are outside of it");
    uint32_t names;
    int status = count_sections(out, &header, &names, error);
    if (!status &&
        !lies_within(out->sections, out->section_count * (uint64_t)sizeof(Elf64_Shdr), size))
        status = ff__fail(error, -EINVAL, "damaged ELF file: it has not all of its %u sections",
                          out->section_count);
    if (!status && out->section_count != 0)
        status = find_names(out, names, error);
    return status;
}

int ff__elf_section(const struct ff__elf *elf, uint32_t index, struct ff__elf_section *out,
                    struct ff_error *error) {
    Elf64_Shdr header;
    int status = read_header(elf, index, &header, error);
    if (status)
        return status;
    bool in_file = header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL;
    if (header.sh_name >= elf->names_size ||
        (in_file && !lies_within(header.sh_offset, header.sh_size, elf->size)))
        return ff__fail(error, -EINVAL, "damaged ELF file: section %u is outside of it", index);
    *out = (struct ff__elf_section){.name = elf->names + header.sh_name,
                                    .type = header.sh_type,
                                    .info = header.sh_info,
                                    .link = header.sh_link,
                                    .size = header.sh_size,
                                    .bytes = in_file ? elf->bytes + header.sh_offset : NULL};
    return 0;
}
