/* Files with device code, made for tests: fat binaries, ELF files, archives. */
#ifndef FF_TESTS_PTX_IMAGES_H
#define FF_TESTS_PTX_IMAGES_H

#include <assert.h>
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define IMAGE_TEXT                                                                                 \
    ".version 7.4\n.target sm_70\n.address_size 64\n"                                              \
    ".visible .entry kernel(.param .u64 out) { ret; }\n"

struct bytes {
    uint8_t bytes[16384];
    size_t size;
};

static inline void put(struct bytes *out, const void *bytes, size_t size) {
    assert(out->size + size <= sizeof out->bytes);
    if (size != 0)
        memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static inline void put_zeros(struct bytes *out, size_t count) {
    while (count-- > 0)
        put(out, "", 1);
}

static inline void align(struct bytes *out, size_t to) {
    put_zeros(out, (to - out->size % to) % to);
}

/* ---- fat binaries: a head of 16 bytes, images with a head of up to 64 each ---- */

enum { IMAGE_PTX = 1, IMAGE_CUBIN = 2, IMAGE_LZ4 = 0x2000, IMAGE_ZSTD = 0x8000 };
enum { FATBIN_SIZE_AT = 8, IMAGE_HEAD_AT = 4, IMAGE_SIZE_AT = 8, IMAGE_UNPACKED_AT = 56 };

struct image {
    uint16_t kind;
    uint32_t arch, flags;
    const void *content;
    size_t size, unpacked; /* unpacked: 0 of what is not compressed */
    uint32_t head;         /* bytes; 0: 64 */
};

static inline void put_image(struct bytes *out, const struct image *image) {
    struct {
        uint16_t kind, version;
        uint32_t head;
        uint64_t size;
        uint32_t packed, reserved;
        uint16_t minor, major;
        uint32_t arch, name[2];
        uint64_t flags, zero, unpacked;
    } head = {.kind = image->kind,
              .version = 0x101,
              .head = image->head != 0 ? image->head : 64,
              .size = (image->size + 7) / 8 * 8,
              .packed = image->unpacked != 0 ? (uint32_t)image->size : 0,
              .minor = 4,
              .major = 7,
              .arch = image->arch,
              .flags = image->flags,
              .unpacked = image->unpacked};
    put(out, &head, head.head < sizeof head ? head.head : sizeof head);
    put_zeros(out, head.head > sizeof head ? head.head - sizeof head : 0);
    put(out, image->content, image->size);
    put_zeros(out, head.size - image->size);
}

static inline void put_fatbin(struct bytes *out, const struct image *images, size_t count) {
    const struct {
        uint32_t magic;
        uint16_t version, head;
        uint64_t size;
    } head = {0xba55ed50u, 1, sizeof head, 0};
    size_t at = out->size;
    put(out, &head, sizeof head);
    for (size_t i = 0; i < count; i++)
        put_image(out, &images[i]);
    uint64_t size = out->size - at - sizeof head;
    memcpy(out->bytes + at + FATBIN_SIZE_AT, &size, sizeof size);
}

/* A block of LZ4 that has all bytes as they are. */
static inline void put_lz4(struct bytes *out, const char *text) {
    size_t left = strlen(text);
    assert(left >= 15);
    put(out, "\360", 1);
    for (left -= 15; left >= 255; left -= 255)
        put(out, "\377", 1);
    put(out, &(uint8_t){(uint8_t)left}, 1);
    put(out, text, strlen(text));
}

/* ---- ELF files ---- */

struct section {
    const char *name;
    uint32_t type, info, link;
    const void *content; /* NULL: only its size, as SHT_NOBITS has */
    size_t size;
};

/* Section 0 comes of itself, and last the names. */
static inline void put_elf(struct bytes *out, uint16_t machine, uint32_t flags,
                           const struct section *sections, size_t count) {
    const size_t start = out->size;
    Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                       .e_machine = machine,
                       .e_flags = flags,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = (uint16_t)(count + 2),
                       .e_shstrndx = (uint16_t)(count + 1)};
    Elf64_Shdr headers[32] = {0};
    struct bytes names = {.size = 1};
    head.e_ident[EI_ABIVERSION] = 7;
    assert(count + 2 <= sizeof headers / sizeof *headers);
    put(out, &head, sizeof head);
    for (size_t i = 0; i < count; i++) {
        const struct section *section = &sections[i];
        headers[i + 1] = (Elf64_Shdr){.sh_name = (uint32_t)names.size,
                                      .sh_type = section->type,
                                      .sh_offset = out->size - start,
                                      .sh_size = section->size,
                                      .sh_link = section->link,
                                      .sh_info = section->info};
        put(&names, section->name, strlen(section->name) + 1);
        put(out, section->content, section->content != NULL ? section->size : 0);
        align(out, 8);
    }
    headers[count + 1] =
        (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = out->size - start, .sh_size = names.size};
    put(out, names.bytes, names.size);
    align(out, 8);
    head.e_shoff = out->size - start;
    memcpy(out->bytes + start, &head, sizeof head);
    put(out, headers, (count + 2) * sizeof *headers);
}

/* One kernel: 2 parameters of 12 bytes, 40 registers, 512 bytes of shared memory, 256 threads. */
static inline void put_cubin(struct bytes *out, uint32_t flags) {
    static const Elf64_Sym symbols[] = {{0},
                                        {.st_name = 1,
                                         .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                         .st_other = 0x10,
                                         .st_shndx = 4}};
    static const uint8_t info[] = {4, 0x2f, 8, 0, 1, 0, 0, 0, 40, 0, 0, 0, 3, 0x37, 0, 0};
    static const uint32_t kernel_info[] = {0x000c1704, 0,   0x00000000, 8u << 18 | 1,
                                           0x000c1704, 0,   0x00080001, 4u << 18,
                                           0x000c0504, 256, 1,          1};
    const struct section sections[] = {
        {".strtab", SHT_STRTAB, 0, 0, "\0kernel", 8},
        {".symtab", SHT_SYMTAB, 0, 1, symbols, sizeof symbols},
        {".nv.info", SHT_LOPROC, 0, 2, info, sizeof info},
        {".text.kernel", SHT_PROGBITS, 0, 0, "code", 4},
        {".nv.info.kernel", SHT_LOPROC, 4, 2, kernel_info, sizeof kernel_info},
        {".nv.shared.kernel", SHT_NOBITS, 4, 0, NULL, 512}};
    put_elf(out, EM_CUDA, flags, sections, sizeof sections / sizeof *sections);
}

/* ---- archives ---- */

static inline void put_member(struct bytes *out, const char *name, const void *content,
                              size_t size) {
    char head[61];
    if (out->size == 0)
        put(out, "!<arch>\n", 8);
    snprintf(head, sizeof head, "%-16s%-12s%-6s%-6s%-8s%-10zu`\n", name, "0", "0", "0", "644",
             size);
    put(out, head, 60);
    put(out, content, size);
    if (out->size % 2 != 0)
        put(out, "\n", 1);
}

#endif
