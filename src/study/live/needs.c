#include "study/live/needs.h"

#include "ptx/elf.h"
#include "report/text.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the file ---- */

static char *find_in_path(const char *name) {
    if (strchr(name, '/'))
        return ff__text("%s", name);
    for (const char *next = getenv("PATH"); next && *next;) {
        int length = (int)strcspn(next, ":");
        char *path = ff__text("%.*s/%s", length, next, name);
        if (access(path, X_OK) == 0)
            return path;
        free(path);
        next += length + (next[length] == ':');
    }
    return NULL;
}

/* ---- its libraries ---- */

static bool find_section(const struct ff__elf *elf, uint32_t type, struct ff__elf_section *out) {
    for (uint32_t i = 0; i < elf->section_count; i++)
        if (ff__elf_section(elf, i, out, NULL) == 0 && out->type == type && out->bytes)
            return true;
    return false;
}

/* Texts of a section end in it. */
static const char *text_at(const struct ff__elf_section *texts, uint64_t at) {
    bool ends = at < texts->size && memchr(texts->bytes + at, 0, texts->size - at);
    return ends ? (const char *)texts->bytes + at : NULL;
}

static void list_libraries(const struct ff__elf *elf, struct ff__needs *out) {
    struct ff__elf_section dynamic, texts;
    if (!find_section(elf, SHT_DYNAMIC, &dynamic) ||
        ff__elf_section(elf, dynamic.link, &texts, NULL) != 0 || !texts.bytes)
        return;
    size_t count = dynamic.size / sizeof(Elf64_Dyn);
    out->libraries = calloc(count + 1, sizeof *out->libraries);
    for (size_t i = 0; out->libraries && i < count; i++) {
        Elf64_Dyn entry;
        memcpy(&entry, dynamic.bytes + i * sizeof entry, sizeof entry);
        const char *name = entry.d_tag == DT_NEEDED ? text_at(&texts, entry.d_un.d_val) : NULL;
        if (name)
            out->libraries[out->count++] = name;
    }
}

static bool has_section(const struct ff__elf *elf, const char *name) {
    struct ff__elf_section section;
    for (uint32_t i = 0; i < elf->section_count; i++)
        if (ff__elf_section(elf, i, &section, NULL) == 0 && strcmp(section.name, name) == 0)
            return true;
    return false;
}

bool ff__needs_read(const char *program, struct ff__needs *out) {
    struct ff__elf elf;
    *out = (struct ff__needs){.libraries = NULL};
    char *path = find_in_path(program);
    bool good = path && access(path, R_OK) == 0 && ff__file_read(path, &out->file) == 0;
    free(path);
    if (good && ff__elf_is(out->file.bytes, out->file.size) &&
        ff__elf_open(out->file.bytes, out->file.size, &elf, NULL) == 0) {
        list_libraries(&elf, out);
        out->has_device_code = has_section(&elf, ".nv_fatbin");
    }
    return good;
}

void ff__needs_free(struct ff__needs *needs) {
    free(needs->libraries);
    free(needs->file.bytes);
}

/* ---- what follows ---- */

/* Whether one of the libraries has a name that begins so. */
static bool needs_library(const struct ff__needs *needs, const char *beginning) {
    for (unsigned i = 0; i < needs->count; i++)
        if (strncmp(needs->libraries[i], beginning, strlen(beginning)) == 0)
            return true;
    return false;
}

static bool has_cuda(const struct ff__needs *needs) {
    return needs_library(needs, "libcudart.so") || needs_library(needs, "libcuda.so");
}

bool ff__needs_only_cuda(const struct ff__needs *needs) {
    return has_cuda(needs) && !needs_library(needs, "libOpenCL.so");
}

bool ff__program_needs_only_cuda(const char *program) {
    struct ff__needs needs;
    bool only_cuda = ff__needs_read(program, &needs) && ff__needs_only_cuda(&needs);
    ff__needs_free(&needs);
    return only_cuda;
}

bool ff__needs_private_driver(const struct ff__needs *needs) {
    return needs->has_device_code && !has_cuda(needs);
}
