/* Accel-Sim traces: a list of commands (kernelslist.g), or the trace of one kernel (.traceg, or
 * packed .tracez).
 *
 * They have no times, so a nanosecond here is an instruction of a warp. They do not say what is
 * allocated either: everything is read twice, first to find which memory is used. */
#include "base/error.h"
#include "base/map.h"
#include "trace/model/import.h"
#include "trace/model/spans.h"
#include "trace/model/traceg.h"

#include <errno.h>
#include <farfault/mask.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR     32u
#define SECTOR_MAX (2 * FF__TRACEG_LANES)
#define PACKED     ".tracez"

struct accelsim_import {
    const struct ff__sink *sink;
    struct ff_error *error;
    struct ff__spans spans;
    uint64_t now;
    uint64_t identity;
    uint32_t code;  /* the kernel's, which makes PCs of different kernels different */
    bool exploring; /* the first time through */
    bool found;     /* a command of a list that does something here */
};

/* ---- kernels ---- */

static int put(struct accelsim_import *import, struct ff_trace_event *event) {
    event->time_ns = import->now;
    return import->sink->put(import->sink->self, event);
}

/* Arguments are not recorded: name, grid and block must do for the execution ID. */
static int begin_kernel(void *self, const struct ff__traceg_kernel *kernel) {
    struct accelsim_import *import = self;
    uint64_t hash = ff__hash_bytes(0, kernel->name, strlen(kernel->name));
    import->code = (uint32_t)hash;
    hash = ff__hash_bytes(hash, kernel->grid, sizeof kernel->grid);
    import->identity = ff__hash_bytes(hash, kernel->block, sizeof kernel->block);
    struct ff_trace_event event = {.kind = FF_TRACE_LAUNCH,
                                   .identity = import->identity,
                                   .name = kernel->name,
                                   .ctas = kernel->ctas,
                                   .warps = kernel->warps};
    return import->exploring ? 0 : put(import, &event);
}

static int end_kernel(struct accelsim_import *import) {
    struct ff_trace_event event = {.kind = FF_TRACE_LAUNCH_END, .identity = import->identity};
    return import->exploring ? 0 : put(import, &event);
}

/* The distinct 32-byte sectors of an instruction, in the order of lanes. */
static uint32_t list_sectors(const struct ff__traceg_access *access, uint64_t out[SECTOR_MAX]) {
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < access->lanes; lane++) {
        uint64_t first = access->address[lane] / SECTOR,
                 last = (access->address[lane] + access->width - 1) / SECTOR;
        for (uint64_t sector = first; sector <= last && count < SECTOR_MAX; sector++) {
            uint32_t i = count;
            while (i > 0 && out[i - 1] != sector) /* mostly it is the one before */
                i--;
            if (i == 0)
                out[count++] = sector;
        }
    }
    return count;
}

static int put_page(struct accelsim_import *import, const struct ff__traceg_access *access,
                    uint64_t address, uint32_t sectors, bool first) {
    struct ff_trace_event event = {.kind = FF_TRACE_ACCESS,
                                   .time_ns = import->now,
                                   .write = access->write,
                                   .pc = import->code + (uint32_t)access->pc,
                                   .cta = access->cta,
                                   .warp = access->warp,
                                   .instructions = first ? access->instructions : 0,
                                   .bytes = (uint64_t)sectors * SECTOR};
    int status =
        ff__spans_use(&import->spans, import->sink, &event, 0, address, &event.range, &event.page);
    return status ? status : put(import, &event);
}

/* One event a page, in the order in which lanes meet them. */
static int put_pages(struct accelsim_import *import, const struct ff__traceg_access *access) {
    uint64_t sectors[SECTOR_MAX];
    uint32_t count = list_sectors(access, sectors);
    const uint64_t per_page = FF_PAGE_SIZE / SECTOR;
    bool first = true;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t same = 0, earlier = 0;
        for (uint32_t j = 0; j < count; j++) {
            bool here = sectors[j] / per_page == sectors[i] / per_page;
            same += here;
            earlier += here && j < i;
        }
        if (earlier > 0)
            continue;
        int status = put_page(import, access, sectors[i] * SECTOR, same, first);
        if (status)
            return status;
        first = false;
    }
    return 0;
}

static int explore(struct accelsim_import *import, const struct ff__traceg_access *access) {
    int status = 0;
    for (uint32_t lane = 0; lane < access->lanes && !status; lane++)
        status = ff__spans_touch(&import->spans, 0, access->address[lane], access->width);
    return status;
}

static int see_access(void *self, const struct ff__traceg_kernel *kernel,
                      const struct ff__traceg_access *access) {
    struct accelsim_import *import = self;
    (void)kernel;
    import->now += access->instructions;
    int status = import->exploring ? explore(import, access) : put_pages(import, access);
    if (status == -ERANGE)
        return ff__fail(import->error, -EBADMSG, "address %#llx: none a device could have",
                        (unsigned long long)access->address[0]);
    return status;
}

static bool ends(const char *text, const char *with) {
    size_t length = strlen(text), tail = strlen(with);
    return length >= tail && strcmp(text + length - tail, with) == 0;
}

static int read_kernel(struct accelsim_import *import, const char *path) {
    const struct ff__traceg_reader reader = {begin_kernel, see_access, import};
    FILE *file;
    if (ends(path, ".xz"))
        return ff__fail(import->error, -ENOTSUP, "%s: is packed; unpack it with unxz first", path);
    int status = ff__open_regular(path, &file, import->error);
    if (status)
        return status;
    status = ends(path, PACKED) ? ff__tracez_read(file, path, &reader, import->error)
                                : ff__traceg_read(file, path, &reader, import->error);
    fclose(file);
    return status ? status : end_kernel(import);
}

/* ---- the list ---- */

/* MemcpyHtoD,0xADDRESS,BYTES: the host writes what the device will find there. */
static int copy_in(struct accelsim_import *import, struct ff__lines *lines) {
    const char *at = strchr(lines->text, ',');
    uint64_t address, bytes;
    if (!at++ || !ff__take_number(&at, 16, &address) || *at++ != ',' ||
        !ff__take_number(&at, 10, &bytes))
        return ff__bad_line(lines, "must be MemcpyHtoD,ADDRESS,BYTES");
    if (bytes == 0)
        return 0;
    if (import->exploring) {
        int status = ff__spans_touch(&import->spans, 0, address, bytes);
        return status == -ERANGE ? ff__bad_line(lines, "no possible addresses") : status;
    }
    struct ff_trace_event event = {
        .kind = FF_TRACE_HOST_WRITE, .time_ns = import->now, .bytes = bytes};
    int status =
        ff__spans_use(&import->spans, import->sink, &event, 0, address, &event.range, &event.page);
    return status ? status : put(import, &event);
}

static bool is_kernel(const char *path) {
    return ends(path, ".traceg") || ends(path, PACKED) || ends(path, ".xz");
}

/* A list comes from elsewhere: it can name what lies beside it, or in a folder there, and nothing
 * else. */
static bool leads_away(const char *name) {
    bool away = name[0] == '/';
    for (const char *part = name; part && !away; part = strchr(part, '/')) {
        part += part[0] == '/';
        away = strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0');
    }
    return away;
}

/* Kernels lie beside the list. */
static int read_listed(struct accelsim_import *import, const char *list, const char *name) {
    const char *slash = strrchr(list, '/');
    size_t folder = slash ? (size_t)(slash - list) + 1 : 0;
    char *path = malloc(folder + strlen(name) + 1);
    if (!path)
        return -ENOMEM;
    memcpy(path, list, folder);
    strcpy(path + folder, name);
    int status = read_kernel(import, path);
    free(path);
    return status;
}

static int read_command(struct accelsim_import *import, const char *list, struct ff__lines *lines) {
    char *end = lines->text + strlen(lines->text);
    while (end > lines->text && end[-1] == ' ')
        *--end = '\0';
    bool copies = strncmp(lines->text, "MemcpyHtoD", 10) == 0;
    bool runs = strncmp(lines->text, "kernel", 6) == 0;
    import->found |= copies || runs;
    if (copies)
        return copy_in(import, lines);
    if ((runs || is_kernel(lines->text)) && leads_away(lines->text))
        return ff__bad_line(lines, "a kernel must lie beside the list, or in a folder there");
    if (runs)
        return ends(lines->text, ".trace")
                   ? ff__bad_line(lines, "a raw trace; group it with post-traces-processing first")
                   : read_listed(import, list, lines->text);
    return 0; /* as the reference does with what it does not know */
}

static int read_list(struct accelsim_import *import, const char *path) {
    struct ff__lines *lines = calloc(1, sizeof *lines);
    int status = lines ? 0 : -ENOMEM;
    if (!status) {
        lines->name = path;
        lines->error = import->error;
        status = ff__open_regular(path, &lines->file, import->error);
    }
    while (!status && (status = ff__next_line(lines)) > 0)
        status = read_command(import, path, lines);
    if (lines && lines->file)
        fclose(lines->file);
    free(lines);
    if (!status && !import->found)
        return ff__fail(import->error, -EBADMSG,
                        "%s: names no kernel and no copy: not a list of Accel-Sim's commands",
                        path);
    return status;
}

static int read_all(struct accelsim_import *import, const char *path, bool exploring) {
    import->exploring = exploring;
    import->now = 0;
    return is_kernel(path) ? read_kernel(import, path) : read_list(import, path);
}

static int run(const char *path, const struct ff__sink *sink, struct ff_error *error) {
    struct accelsim_import import = {.sink = sink, .error = error};
    int status = read_all(&import, path, true);
    if (!status)
        status = ff__spans_settle(&import.spans);
    if (!status)
        status = read_all(&import, path, false);
    ff__spans_fini(&import.spans);
    return status;
}

static bool guess(const char *path, const char *head, size_t size) {
    (void)size;
    return is_kernel(path) || strncmp(head, "-kernel name", 12) == 0 ||
           strncmp(head, "MemcpyHtoD,", 11) == 0 || strncmp(head, "kernel-", 7) == 0;
}

const struct ff__import_format ff__import_accelsim = {
    .name = "accel-sim",
    .summary = "kernelslist.g, .traceg or .tracez of Accel-Sim's NVBit tracer, versions 1 to 6",
    .accesses = true,
    .guess = guess,
    .run = run,
};
