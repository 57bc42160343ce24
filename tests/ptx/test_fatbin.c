/* Files with device code: which images are found, and what is said of damaged ones. */
#include "base/cases.h"

#include "ptx/cubin.h"
#include "ptx/fatbin.h"
#include "ptx/images.h"

#include <errno.h>
#include <zstd.h>

/* In memory of its own, so that a sanitizer sees what is read behind its end. */
static int find(const void *bytes, size_t size, struct ff__ptx_images *out, char **copy,
                struct ff_error *error) {
    *copy = malloc(size + (size == 0));
    assert_non_null(*copy);
    memcpy(*copy, bytes, size);
    return ff__images_find(*copy, size, out, error);
}

static int status_of(const void *bytes, size_t size, struct ff_error *error) {
    struct ff__ptx_images images;
    char *copy;
    *error = (struct ff_error){""};
    int status = find(bytes, size, &images, &copy, error);
    if (status == 0)
        ff__images_free(&images);
    else
        assert_null(images.items);
    free(copy);
    return status;
}

static void expect(const struct bytes *file, int status, const char *reason) {
    struct ff_error error;
    int got = status_of(file->bytes, file->size, &error);
    if (got != status || strstr(error.message, reason) == NULL)
        fail_msg("status %d '%s', not %d '%s'", got, error.message, status, reason);
}

/* ---- fat binaries ---- */

static void make_packed(struct bytes *lz4, struct bytes *zstd) {
    *lz4 = *zstd = (struct bytes){.size = 0};
    put_lz4(lz4, IMAGE_TEXT);
    zstd->size = ZSTD_compress(zstd->bytes, sizeof zstd->bytes, IMAGE_TEXT, strlen(IMAGE_TEXT), 1);
    assert_false(ZSTD_isError(zstd->size));
}

/* PTX as it is, with LZ4, with zstd; one of an unknown kind; a cubin. */
static void make_all(struct bytes *out) {
    struct bytes lz4, zstd, cubin = {.size = 0};
    const size_t size = strlen(IMAGE_TEXT);
    make_packed(&lz4, &zstd);
    put_cubin(&cubin, 86);
    const struct image images[] = {
        {IMAGE_PTX, 61, 0x11, IMAGE_TEXT, size, 0, 48},
        {IMAGE_PTX, 75, 0x11 | IMAGE_LZ4, lz4.bytes, lz4.size, size, 64},
        {IMAGE_PTX, 80, 0x11 | IMAGE_ZSTD, zstd.bytes, zstd.size, size, 80},
        {64, 80, 0x11, "another kind", 12, 0, 0},
        {IMAGE_CUBIN, 86, 0x11, cubin.bytes, cubin.size, 0, 0}};
    put_fatbin(out, images, sizeof images / sizeof *images);
}

static void check_text(const struct ff__image *image) {
    struct ff_error error = {""};
    char *text;
    size_t size;
    int status = ff__image_read(image, &text, &size, &error);
    if (status == -ENOTSUP && image->pack == FF__PACK_LZ4)
        return; /* test_no_lz4.c */
    if (status != 0)
        fail_msg("%s", error.message);
    assert_int_equal(size, strlen(IMAGE_TEXT)); /* without the zeros behind it */
    assert_string_equal(text, IMAGE_TEXT);
    free(text);
}

static void check_cubin(const struct ff__image *image) {
    struct ff_error error = {""};
    struct ff__cubin cubin;
    char *bytes;
    size_t size;
    assert_int_equal(ff__image_read(image, &bytes, &size, &error), 0);
    assert_int_equal(ff__cubin_read(bytes, size, &cubin, &error), 0);
    assert_int_equal(cubin.count, 1);
    assert_string_equal(cubin.kernels[0].name, "kernel");
    assert_int_equal(cubin.kernels[0].registers, 40);
    assert_int_equal(cubin.kernels[0].parameters, 2);
    assert_int_equal(cubin.kernels[0].bytes, 12);
    assert_int_equal(cubin.kernels[0].max_threads, 256);
    assert_int_equal(cubin.kernels[0].shared, 512);
    ff__cubin_free(&cubin);
    free(bytes);
}

static void check_all(const struct ff__image *images) {
    static const struct {
        uint32_t arch, version;
        enum ff__pack pack;
    } rows[] = {{61, 74, FF__PACK_NONE}, {75, 74, FF__PACK_LZ4}, {80, 74, FF__PACK_ZSTD}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(images[i].is_text);
        assert_int_equal(images[i].arch, rows[i].arch);
        assert_int_equal(images[i].version, rows[i].version);
        assert_int_equal(images[i].pack, rows[i].pack);
        check_text(&images[i]);
    }
    assert_false(images[3].is_text);
    assert_int_equal(images[3].arch, 86);
    assert_int_equal(images[3].version, 0);
    check_cubin(&images[3]);
}

static void finds_each_kind(void **state) {
    struct bytes file = {.size = 0};
    struct ff__ptx_images images;
    struct ff_error error = {""};
    char *copy;
    (void)state;
    make_all(&file);
    assert_int_equal(find(file.bytes, file.size, &images, &copy, &error), 0);
    assert_int_equal(images.count, 4);
    check_all(images.items);
    ff__images_free(&images);
    free(copy);
}

static void finds_nothing_in_a_part(void **state) {
    struct bytes file = {.size = 0};
    struct ff_error error;
    (void)state;
    make_all(&file);
    for (size_t size = 0; size < file.size; size++)
        if (status_of(file.bytes, size, &error) != -EINVAL || error.message[0] == '\0')
            fail_msg("%zu of %zu bytes: '%s'", size, file.size, error.message);
}

/* Each has one member changed that says how large something is. `image`: what is wrong is said of
 * the image only, when it is read. */
static void refuses_sizes_that_lie(void **state) {
    static const struct {
        size_t at, width;
        uint64_t value;
        const char *reason;
        bool image;
    } rows[] = {{6, 2, 15, "cut off", false},
                {6, 2, 0xffff, "cut off", false},
                {FATBIN_SIZE_AT, 8, UINT64_MAX, "cut off", false},
                {FATBIN_SIZE_AT, 8, 40, "ends in an image's header", false},
                {FATBIN_SIZE_AT, 8, 0, "does not begin as one", false},
                {16 + IMAGE_HEAD_AT, 4, 47, "an image is outside", false},
                {16 + IMAGE_HEAD_AT, 4, UINT32_MAX, "an image is outside", false},
                {16 + IMAGE_SIZE_AT, 8, UINT64_MAX, "an image is outside", false},
        {16 + IMAGE_SIZE_AT, 8, 128, "an image is outside", false},
                {16 + IMAGE_SIZE_AT, 8, UINT64_MAX - 63, "an image is outside", false},
                {16 + 16, 4, UINT32_MAX, "have room", false},
                {16 + IMAGE_UNPACKED_AT, 8, 1, "cannot be decoded", true},
                {16 + IMAGE_UNPACKED_AT, 8, 200, "cannot be decoded", true},
                {16 + IMAGE_UNPACKED_AT, 8, 300 << 20, "more than the limit", true},
                {16 + IMAGE_UNPACKED_AT, 8, UINT64_MAX, "more than the limit", true}};
    struct bytes lz4, zstd;
    (void)state;
    make_packed(&lz4, &zstd);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes file = {.size = 0};
        struct ff__ptx_images images;
        struct ff_error error = {""};
        char *copy, *text;
        size_t size;
        put_fatbin(&file,
                   &(struct image){IMAGE_PTX, 80, IMAGE_ZSTD, zstd.bytes, zstd.size,
                                   strlen(IMAGE_TEXT), 0},
                   1);
        memcpy(file.bytes + rows[i].at, &rows[i].value, rows[i].width);
        int status = find(file.bytes, file.size, &images, &copy, &error);
        if (status == 0) {
            status = ff__image_read(&images.items[0], &text, &size, &error);
            ff__images_free(&images);
        } else if (rows[i].image) {
            fail_msg("row %zu: not found: %s", i, error.message);
        }
        if (status != -EINVAL || strstr(error.message, rows[i].reason) == NULL)
            fail_msg("row %zu: %d '%s', not '%s'", i, status, error.message, rows[i].reason);
        free(copy);
    }
}

static void refuses_what_cannot_be_decoded(void **state) {
    struct bytes lz4, zstd;
    (void)state;
    make_packed(&lz4, &zstd);
    for (int pack = FF__PACK_LZ4; pack <= FF__PACK_ZSTD; pack++) {
        struct bytes *packed = pack == FF__PACK_LZ4 ? &lz4 : &zstd;
        for (size_t size = 0; size < packed->size; size++) {
            struct ff_error error = {""};
            char *out, *copy = malloc(size + 1);
            assert_non_null(copy);
            memcpy(copy, packed->bytes, size);
            int status =
                ff__unpack((enum ff__pack)pack, copy, size, strlen(IMAGE_TEXT), &out, &error);
            assert_true(status == -EINVAL || (status == -ENOTSUP && pack == FF__PACK_LZ4));
            assert_true(error.message[0] != '\0');
            free(copy);
        }
    }
}

/* ---- ELF files ---- */

static void make_host(struct bytes *out) {
    struct bytes both = {.size = 0}, all = {.size = 0};
    const struct image plain = {IMAGE_PTX, 70, 0, IMAGE_TEXT, strlen(IMAGE_TEXT), 0, 0};
    put_fatbin(&both, &plain, 1);
    put_zeros(&both, 24);
    put_fatbin(&both, &plain, 1);
    make_all(&all);
    const struct section sections[] = {{".text", SHT_PROGBITS, 0, 0, "\303", 1},
                                       {".nv_fatbin", SHT_PROGBITS, 0, 0, both.bytes, both.size},
                                       {"__nv_relfatbin", SHT_PROGBITS, 0, 0, all.bytes, all.size},
                                       {".bss", SHT_NOBITS, 0, 0, NULL, 1 << 30}};
    put_elf(out, EM_X86_64, 0, sections, sizeof sections / sizeof *sections);
}

static void finds_all_of_a_program(void **state) {
    struct bytes file = {.size = 0};
    struct ff__ptx_images images;
    struct ff_error error = {""};
    char *copy;
    (void)state;
    make_host(&file);
    assert_int_equal(find(file.bytes, file.size, &images, &copy, &error), 0);
    assert_int_equal(images.count, 6);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(images.items[i].arch, 70);
        check_text(&images.items[i]);
    }
    check_all(images.items + 2);
    ff__images_free(&images);
    free(copy);
    for (size_t size = 0; size < file.size; size += size < 128 ? 1 : 41)
        if (status_of(file.bytes, size, &error) != -EINVAL)
            fail_msg("%zu of %zu bytes: '%s'", size, file.size, error.message);
}

/* The same bytes in many sections would be so many images. */
static void refuses_sections_that_overlap(void **state) {
    struct bytes fatbin = {.size = 0}, file = {.size = 0};
    struct section sections[20];
    Elf64_Ehdr head;
    (void)state;
    put_fatbin(&fatbin, &(struct image){IMAGE_PTX, 70, 0, IMAGE_TEXT, strlen(IMAGE_TEXT), 0, 0}, 1);
    for (size_t i = 0; i < 20; i++)
        sections[i] = (struct section){".nv_fatbin",
                                       SHT_PROGBITS,
                                       0,
                                       0,
                                       i != 0 ? NULL : fatbin.bytes,
                                       i != 0 ? 0 : fatbin.size};
    put_elf(&file, EM_X86_64, 0, sections, 20);
    memcpy(&head, file.bytes, sizeof head);
    Elf64_Shdr *headers = (Elf64_Shdr *)(void *)(file.bytes + head.e_shoff);
    for (size_t i = 2; i <= 20; i++) {
        headers[i].sh_offset = headers[1].sh_offset;
        headers[i].sh_size = headers[1].sh_size;
    }
    expect(&file, -EINVAL, "sections overlap");
}

/* What is changed in an ELF file's header, or in that of a section. */
static void refuses_damaged_elf_files(void **state) {
    enum { NO_SECTION = -1, NAMES = -2 };
    static const struct {
        int section;
        size_t at, width;
        uint64_t value;
        int status;
        const char *reason;
    } rows[] = {
        {NO_SECTION, EI_CLASS, 1, ELFCLASS32, -EINVAL, "not of 64 bits"},
        {NO_SECTION, EI_DATA, 1, ELFDATA2MSB, -EINVAL, "not of 64 bits"},
        {NO_SECTION, offsetof(Elf64_Ehdr, e_shoff), 8, 0, -ENOENT, "without device code"},
        {NO_SECTION, offsetof(Elf64_Ehdr, e_shoff), 8, UINT64_MAX, -EINVAL, "outside"},
        {NO_SECTION, offsetof(Elf64_Ehdr, e_shentsize), 2, 40, -EINVAL, "outside"},
        {NO_SECTION, offsetof(Elf64_Ehdr, e_shnum), 2, 999, -EINVAL, "not all of its 999"},
        {NO_SECTION, offsetof(Elf64_Ehdr, e_shnum), 2, 0, -ENOENT, "without device code"},
        {NO_SECTION, offsetof(Elf64_Ehdr, e_shstrndx), 2, 77, -EINVAL, "no section has the"},
        {NO_SECTION, offsetof(Elf64_Ehdr, e_shstrndx), 2, 1, -EINVAL, "names of sections"},
        {NAMES, offsetof(Elf64_Shdr, sh_size), 8, 3, -EINVAL, "names of sections"},
        {NAMES, offsetof(Elf64_Shdr, sh_offset), 8, UINT64_MAX, -EINVAL, "names of sections"},
        {2, offsetof(Elf64_Shdr, sh_name), 4, 1 << 20, -EINVAL, "section 2 is outside"},
        {2, offsetof(Elf64_Shdr, sh_offset), 8, 1 << 20, -EINVAL, "section 2 is outside"},
        {2, offsetof(Elf64_Shdr, sh_size), 8, UINT64_MAX, -EINVAL, "section 2 is outside"},
        {2, offsetof(Elf64_Shdr, sh_size), 8, 20, -EINVAL, "cut off"}};
    struct bytes file = {.size = 0};
    Elf64_Ehdr head;
    (void)state;
    make_host(&file);
    memcpy(&head, file.bytes, sizeof head);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes changed = file;
        int section = rows[i].section == NAMES ? head.e_shstrndx : rows[i].section;
        size_t at = section < 0 ? 0 : head.e_shoff + (size_t)section * sizeof(Elf64_Shdr);
        memcpy(changed.bytes + at + rows[i].at, &rows[i].value, rows[i].width);
        expect(&changed, rows[i].status, rows[i].reason);
    }
}

/* Where there are too many sections for the file's header, section 0 has their number. */
static void counts_many_sections(void **state) {
    struct bytes file = {.size = 0};
    Elf64_Ehdr head;
    Elf64_Shdr first = {0};
    struct ff_error error;
    (void)state;
    make_host(&file);
    memcpy(&head, file.bytes, sizeof head);
    first.sh_size = head.e_shnum;
    first.sh_link = head.e_shstrndx;
    memcpy(file.bytes + head.e_shoff, &first, sizeof first);
    head.e_shnum = 0;
    head.e_shstrndx = SHN_XINDEX;
    memcpy(file.bytes, &head, sizeof head);
    assert_int_equal(status_of(file.bytes, file.size, &error), 0);
    first.sh_size = UINT64_MAX;
    memcpy(file.bytes + head.e_shoff, &first, sizeof first);
    expect(&file, -EINVAL, "not all of its");
}

/* ---- cubins ---- */

static void knows_architectures(void **state) {
    struct bytes old = {.size = 0}, new = {.size = 0};
    struct ff__elf elf;
    (void)state;
    put_cubin(&old, 75u << 16 | 75);
    assert_int_equal(ff__elf_open(old.bytes, old.size, &elf, NULL), 0);
    assert_int_equal(ff__cubin_arch(&elf), 75);
    put_cubin(&new, 0x06000000 | 120u << 8 | 2);
    new.bytes[EI_ABIVERSION] = 8;
    assert_int_equal(ff__elf_open(new.bytes, new.size, &elf, NULL), 0);
    assert_int_equal(ff__cubin_arch(&elf), 120);
}

static void read_damaged(const struct bytes *file, const char *reason) {
    struct ff_error error = {""};
    struct ff__cubin cubin;
    char *copy = malloc(file->size);
    assert_non_null(copy);
    memcpy(copy, file->bytes, file->size);
    if (ff__cubin_read(copy, file->size, &cubin, &error) != -EINVAL ||
        strstr(error.message, reason) == NULL)
        fail_msg("'%s', not '%s'", error.message, reason);
    assert_null(cubin.kernels);
    free(copy);
}

static void refuses_damaged_cubins(void **state) {
    enum { NAMES = 1, SYMBOLS, INFO, KERNEL_INFO = 5 };
    static const struct {
        int section;
        size_t at, width;
        uint64_t value;
        const char *reason;
    } rows[] = {
        {SYMBOLS, offsetof(Elf64_Shdr, sh_link), 4, 99, "its symbols have no names"},
        {SYMBOLS, offsetof(Elf64_Shdr, sh_link), 4, 6, "its symbols have no names"},
        {NAMES, offsetof(Elf64_Shdr, sh_size), 8, 0, "its symbols have no names"},
        {NAMES, offsetof(Elf64_Shdr, sh_size), 8, 1, "a kernel's name is outside"},
        {NAMES, offsetof(Elf64_Shdr, sh_size), 8, 4, "a kernel's name is outside"},
        {INFO, offsetof(Elf64_Shdr, sh_size), 8, 7, "attributes are cut off"},
        {INFO, offsetof(Elf64_Shdr, sh_size), 8, 14, "attributes are cut off"},
        {KERNEL_INFO, offsetof(Elf64_Shdr, sh_type), 4, SHT_SYMTAB, "several tables of symbols"}};
    struct bytes file = {.size = 0};
    Elf64_Ehdr head;
    (void)state;
    put_cubin(&file, 75);
    memcpy(&head, file.bytes, sizeof head);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes changed = file;
        memcpy(changed.bytes + head.e_shoff + (size_t)rows[i].section * sizeof(Elf64_Shdr) +
                   rows[i].at,
               &rows[i].value, rows[i].width);
        read_damaged(&changed, rows[i].reason);
    }
    file.bytes[offsetof(Elf64_Ehdr, e_machine)] = EM_X86_64;
    read_damaged(&file, "for another machine");
    file.bytes[0] = 0;
    read_damaged(&file, "no ELF file");
}

static void reads_cubins_without_sections(void **state) {
    struct ff_error error = {""};
    struct ff__cubin cubin;
    struct bytes file = {.size = 0};
    (void)state;
    put_cubin(&file, 75);
    memset(file.bytes + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
    assert_int_equal(status_of(file.bytes, file.size, &error), 0);
    assert_int_equal(ff__cubin_read(file.bytes, file.size, &cubin, &error), 0);
    assert_int_equal(cubin.count, 0);
    ff__cubin_free(&cubin);
}

/* ---- archives ---- */

static void make_archive(struct bytes *out) {
    struct bytes host = {.size = 0}, cubin = {.size = 0};
    make_host(&host);
    put_cubin(&cubin, 75);
    put_member(out, "/", "\0\0\0\1\0\0\0\0x", 9);
    put_member(out, "notes/", "odd", 3);
    put_member(out, "host.o/", host.bytes, host.size);
    put_member(out, "kernel.cubin/", cubin.bytes, cubin.size);
}

static void finds_all_of_an_archive(void **state) {
    struct bytes file = {.size = 0};
    struct ff__ptx_images images;
    struct ff_error error = {""};
    char *copy;
    (void)state;
    make_archive(&file);
    assert_int_equal(find(file.bytes, file.size, &images, &copy, &error), 0);
    assert_int_equal(images.count, 7);
    check_all(images.items + 2);
    check_cubin(&images.items[6]);
    ff__images_free(&images);
    free(copy);
}

static void refuses_damaged_archives(void **state) {
    struct bytes file = {.size = 0}, nothing = {.size = 0}, thin = {.size = 0};
    (void)state;
    put_member(&nothing, "notes/", "odd", 3);
    expect(&nothing, -ENOENT, "an archive without device code");
    nothing.size--; /* the last one need not be padded */
    expect(&nothing, -ENOENT, "an archive without device code");
    nothing.size--;
    expect(&nothing, -EINVAL, "damaged archive: it is cut off");
    nothing.size = 8 + 59;
    expect(&nothing, -EINVAL, "ends in a member's header");
    nothing.size = 8;
    expect(&nothing, -ENOENT, "an archive without device code");
    put(&thin, "!<thin>\n", 8);
    expect(&thin, -EINVAL, "a thin archive");
    make_archive(&file);
    struct bytes changed = file;
    memcpy(changed.bytes + 8 + 48, "-1        ", 10);
    expect(&changed, -EINVAL, "a member's header is none");
    memset(changed.bytes + 8 + 48, ' ', 10);
    expect(&changed, -EINVAL, "a member's header is none");
    memset(changed.bytes + 8 + 48, '9', 10);
    expect(&changed, -EINVAL, "cut off");
    changed = file;
    changed.bytes[8 + 58] = ' ';
    expect(&changed, -EINVAL, "a member's header is none");
}

/* ---- other files ---- */

static void reads_texts(void **state) {
    static const struct {
        const char *text;
        int status;
        uint32_t arch, version;
    } rows[] = {{IMAGE_TEXT, 0, 70, 74},
                {"// a text\n.version 6.0\n.target sm_61, debug\n", 0, 61, 60},
                {".version 8.7\n.target sm_90a\n", 0, 90, 87},
                {".version\n", 0, 0, 0},
                {".version 99999999999.5\n.target sm_\n", 0, 0, 999995},
                {".version", -EINVAL, 0, 0},
                {"#!/bin/sh\n", -EINVAL, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ff__ptx_images images;
        struct ff_error error = {""};
        char *copy;
        int status = find(rows[i].text, strlen(rows[i].text), &images, &copy, &error);
        if (status != rows[i].status)
            fail_msg("'%s': %d, '%s'", rows[i].text, status, error.message);
        if (status == 0 && (images.count != 1 || images.items[0].arch != rows[i].arch))
            fail_msg("'%s': sm_%u, %u", rows[i].text, images.items[0].arch,
                     images.items[0].version);
        if (status == 0 && rows[i].arch != 0)
            assert_int_equal(images.items[0].version, rows[i].version);
        ff__images_free(&images);
        free(copy);
    }
}

static void says_what_is_no_code(void **state) {
    struct bytes file = {.size = 0};
    (void)state;
    expect(&file, -EINVAL, "empty");
    put_fatbin(&file, NULL, 0);
    expect(&file, -ENOENT, "a fat binary without device code");
    put(&file, "x", 1);
    expect(&file, -EINVAL, "does not begin as one");
    file.bytes[0] = 0;
    expect(&file, -EINVAL, "neither PTX nor");
    /* .version of a text, not of what else has the word */
    file.size = 0;
    put(&file, "\0.version 7.0\n", 14);
    expect(&file, -EINVAL, "neither PTX nor");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_each_kind),
                                       cmocka_unit_test(finds_nothing_in_a_part),
                                       cmocka_unit_test(refuses_sizes_that_lie),
                                       cmocka_unit_test(refuses_what_cannot_be_decoded),
                                       cmocka_unit_test(finds_all_of_a_program),
                                       cmocka_unit_test(refuses_sections_that_overlap),
                                       cmocka_unit_test(refuses_damaged_elf_files),
                                       cmocka_unit_test(counts_many_sections),
                                       cmocka_unit_test(knows_architectures),
                                       cmocka_unit_test(refuses_damaged_cubins),
                                       cmocka_unit_test(reads_cubins_without_sections),
                                       cmocka_unit_test(finds_all_of_an_archive),
                                       cmocka_unit_test(refuses_damaged_archives),
                                       cmocka_unit_test(reads_texts),
                                       cmocka_unit_test(says_what_is_no_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
