#include "ptx/cubin.h"

#include "base/error.h"
#include "base/grow.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY 0x10 /* in st_other of a kernel's symbol */

/* .nv.info and .nv.info.KERNEL are lists of attributes: a format, an attribute, and two bytes that
 * are a value or, in this format, the size of what follows. */
enum { FORMAT_SIZED = 4 };
enum { MAX_THREADS = 0x05, REQUIRED_THREADS = 0x10, PARAMETER = 0x17, REGISTERS = 0x2f };

struct cubin_reader {
    struct ff__elf elf;
    struct ff__cubin *cubin;
    uint32_t *of_section; /* 1 + the kernel whose code a section has; 0: none */
    uint64_t attributes;  /* bytes read of them */
    struct ff_error *error;
};

static int damaged(const struct cubin_reader *reading, const char *what) {
    return ff__fail(reading->error, -EINVAL, "damaged cubin: %s", what);
}

/* CUDA 13 has other flags. */
uint32_t ff__cubin_arch(const struct ff__elf *elf) {
    return elf->abi_version >= 8 ? elf->flags >> 8 & 0xff : elf->flags & 0xff;
}

/* ---- symbols ---- */

static int add_kernel(const struct cubin_reader *reading, const Elf64_Sym *symbol, uint32_t number,
                      const struct ff__elf_section *names) {
    struct ff__cubin *cubin = reading->cubin;
    if (symbol->st_name >= names->size || names->bytes[names->size - 1] != '\0')
        return damaged(reading, "a kernel's name is outside of it");
    if (ff__grow(&cubin->kernels, cubin->count, sizeof *cubin->kernels))
        return ff__fail(reading->error, -ENOMEM, "not enough memory for a list of kernels");
    cubin->kernels[cubin->count++] = (struct ff__cubin_kernel){
        .name = (const char *)names->bytes + symbol->st_name, .symbol = number};
    if (symbol->st_shndx < reading->elf.section_count)
        reading->of_section[symbol->st_shndx] = cubin->count;
    return 0;
}

static int add_kernels(const struct cubin_reader *reading, const struct ff__elf_section *table) {
    struct ff__elf_section names;
    Elf64_Sym symbol;
    int status = table->link < reading->elf.section_count
                     ? ff__elf_section(&reading->elf, table->link, &names, reading->error)
                     : damaged(reading, "its symbols have no names");
    if (!status && (names.bytes == NULL || names.size == 0))
        status = damaged(reading, "its symbols have no names");
    for (uint64_t i = 0; i < table->size / sizeof symbol && !status; i++) {
        memcpy(&symbol, table->bytes + i * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_other & ENTRY)
            status = add_kernel(reading, &symbol, (uint32_t)i, &names);
    }
    return status;
}

/* ---- attributes ---- */

/* Kernels are in the order of their symbols. */
static struct ff__cubin_kernel *by_symbol(const struct ff__cubin *cubin, uint32_t symbol) {
    uint32_t low = 0, high = cubin->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cubin->kernels[middle].symbol < symbol)
            low = middle + 1;
        else
            high = middle;
    }
    return low < cubin->count && cubin->kernels[low].symbol == symbol ? &cubin->kernels[low] : NULL;
}

static struct ff__cubin_kernel *by_section(const struct cubin_reader *reading, uint32_t section) {
    if (section >= reading->elf.section_count || reading->of_section[section] == 0)
        return NULL;
    return &reading->cubin->kernels[reading->of_section[section] - 1];
}

static uint32_t word(const uint8_t *bytes, uint32_t index) {
    uint32_t value;
    memcpy(&value, bytes + index * sizeof value, sizeof value);
    return value;
}

/* `kernel`: whose list it is; NULL: that of the whole cubin. */
static void take(const struct ff__cubin *cubin, struct ff__cubin_kernel *kernel, uint8_t attribute,
                 const uint8_t *value, uint32_t size) {
    if (attribute == REGISTERS && size >= 8) {
        struct ff__cubin_kernel *other = by_symbol(cubin, word(value, 0));
        if (other != NULL)
            other->registers = word(value, 1);
    } else if (kernel != NULL && attribute == PARAMETER && size >= 12) {
        uint32_t end = (word(value, 1) >> 16) + (word(value, 2) >> 18);
        kernel->parameters++;
        if (kernel->bytes < end)
            kernel->bytes = end;
    } else if (kernel != NULL && (attribute == MAX_THREADS || attribute == REQUIRED_THREADS) &&
               size >= 12) {
        kernel->max_threads = word(value, 0) * word(value, 1) * word(value, 2);
    }
}

static int read_attributes(struct cubin_reader *reading, const struct ff__elf_section *section,
                           struct ff__cubin_kernel *kernel) {
    const uint8_t *bytes = section->bytes;
    reading->attributes += section->size;
    if (reading->attributes > reading->elf.size)
        return damaged(reading, "its sections overlap");
    for (uint64_t at = 0; at < section->size;) {
        if (section->size - at < 4)
            return damaged(reading, "its attributes are cut off");
        uint8_t format = bytes[at], attribute = bytes[at + 1];
        uint32_t size = format == FORMAT_SIZED ? bytes[at + 2] | (uint32_t)bytes[at + 3] << 8 : 0;
        at += 4;
        if (size > section->size - at)
            return damaged(reading, "its attributes are cut off");
        take(reading->cubin, kernel, attribute, bytes + at, size);
        at += size;
    }
    return 0;
}

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* ---- sections ---- */

static int read_symbols(struct cubin_reader *reading, const struct ff__elf_section *section) {
    if (section->type != SHT_SYMTAB)
        return 0;
    return reading->cubin->count == 0 ? add_kernels(reading, section)
                                      : damaged(reading, "it has several tables of symbols");
}

static int read_kernels(struct cubin_reader *reading, const struct ff__elf_section *section) {
    struct ff__cubin_kernel *kernel = by_section(reading, section->info);
    if (kernel != NULL && begins(section->name, ".nv.shared."))
        kernel->shared = section->size;
    if (section->bytes == NULL)
        return 0;
    if (strcmp(section->name, ".nv.info") == 0)
        return read_attributes(reading, section, NULL);
    if (kernel != NULL && begins(section->name, ".nv.info."))
        return read_attributes(reading, section, kernel);
    return 0;
}

static int each_section(struct cubin_reader *reading,
                        int (*read)(struct cubin_reader *reading,
                                    const struct ff__elf_section *section)) {
    struct ff__elf_section section;
    int status = 0;
    for (uint32_t i = 0; i < reading->elf.section_count && !status; i++) {
        status = ff__elf_section(&reading->elf, i, &section, reading->error);
        if (!status)
            status = read(reading, &section);
    }
    return status;
}

static int read_cubin(struct cubin_reader *reading) {
    if (reading->elf.machine != EM_CUDA)
        return damaged(reading, "it is for another machine");
    reading->of_section = calloc(reading->elf.section_count + 1ul, sizeof *reading->of_section);
    if (reading->of_section == NULL)
        return ff__fail(reading->error, -ENOMEM, "not enough memory for a list of sections");
    int status = each_section(reading, read_symbols);
    if (!status)
        status = each_section(reading, read_kernels);
    free(reading->of_section);
    return status;
}

int ff__cubin_read(const void *bytes, size_t size, struct ff__cubin *out, struct ff_error *error) {
    struct cubin_reader reading = {.cubin = out, .error = error};
    *out = (struct ff__cubin){0};
    int status = ff__elf_is(bytes, size) ? ff__elf_open(bytes, size, &reading.elf, error)
                                         : damaged(&reading, "it is no ELF file");
    if (!status)
        status = read_cubin(&reading);
    if (status)
        ff__cubin_free(out);
    return status;
}

void ff__cubin_free(struct ff__cubin *cubin) {
    free(cubin->kernels);
    *cubin = (struct ff__cubin){0};
}
