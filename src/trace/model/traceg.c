#include "trace/model/traceg.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REGISTERS_MAX 64u         /* of one instruction */
#define WIDTH_MAX     32u         /* bytes a lane */
#define WINDOW        (16u << 20) /* ours: of shared and of local memory, in generic addresses */
#define WARP_SIZE     32u
#define COPY_MAX      65536u /* bytes of a piece of a copy; ours */
#define SOFT_LIMIT    (UINT64_C(1) << 32)

struct ff__traceg_parser {
    struct ff__lines lines;
    struct ff__traceg_kernel kernel;
    const struct ff__traceg_reader *reader;
    bool announced; /* the kernel, that is: the header is over */
    bool in_block, in_warp;
    uint64_t promised, seen; /* instructions of the warp */
    struct ff__traceg_access access;
};

/* ---- the header ---- */

static bool starts(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* The value of a line "-KEY = VALUE", or NULL. */
static const char *value_of(const char *line, const char *key) {
    size_t length = strlen(key);
    if (line[0] != '-' || !starts(line + 1, key))
        return NULL;
    const char *at = line + 1 + length;
    while (*at == ' ')
        at++;
    if (*at++ != '=')
        return NULL;
    while (*at == ' ')
        at++;
    return at;
}

/* "(x,y,z)" or "x,y,z" */
static bool read_triple(const char *text, uint64_t out[3]) {
    text += *text == '(';
    for (int i = 0; i < 3; i++) {
        if (!ff__take_number(&text, 10, &out[i]) || (i < 2 && *text++ != ','))
            return false;
    }
    return true;
}

/* 0 if it is none, or too large. */
static uint64_t volume(const uint64_t size[3]) {
    uint64_t product = 1;
    for (int i = 0; i < 3; i++) {
        if (size[i] == 0 || size[i] >= SOFT_LIMIT || product >= SOFT_LIMIT)
            return 0;
        product *= size[i];
    }
    return product < SOFT_LIMIT ? product : 0;
}

/* What else is there (registers, shared memory) is not needed, and in real files not always true.
 */
static int read_header_line(struct ff__traceg_parser *parser) {
    struct ff__traceg_kernel *kernel = &parser->kernel;
    const char *line = parser->lines.text, *value;
    bool fine = true;
    if ((value = value_of(line, "kernel name")))
        strncpy(kernel->name, value, sizeof kernel->name - 1);
    else if ((value = value_of(line, "grid dim")))
        fine = read_triple(value, kernel->grid);
    else if ((value = value_of(line, "block dim")))
        fine = read_triple(value, kernel->block);
    else if ((value = value_of(line, "accelsim tracer version")))
        fine = ff__take_number(&value, 10, &kernel->version);
    else if ((value = value_of(line, "enable lineinfo")))
        fine = ff__take_number(&value, 10, &kernel->lineinfo);
    else if ((value = value_of(line, "shmem base_addr")))
        fine = ff__take_number(&value, 16, &kernel->shared_base);
    else if ((value = value_of(line, "local mem base_addr")))
        fine = ff__take_number(&value, 16, &kernel->local_base);
    return fine ? 0 : ff__bad_line(&parser->lines, "a header line that cannot be read");
}

static int announce(struct ff__traceg_parser *parser) {
    struct ff__traceg_kernel *kernel = &parser->kernel;
    uint64_t ctas = volume(kernel->grid), threads = volume(kernel->block);
    if (ctas == 0 || threads == 0)
        return ff__bad_line(&parser->lines, "no possible grid dim and block dim before this");
    if (kernel->version > FF__TRACEG_VERSION)
        return ff__fail(
            parser->lines.error, -ENOTSUP, "%s: tracer version %llu; versions up to %d can be read",
            parser->lines.name, (unsigned long long)kernel->version, FF__TRACEG_VERSION);
    kernel->ctas = (uint32_t)ctas;
    kernel->warps = (uint32_t)((threads + WARP_SIZE - 1) / WARP_SIZE);
    parser->announced = true;
    return parser->reader->kernel(parser->reader->self, kernel);
}

/* ---- instructions ---- */

/* Bytes a lane, from suffixes such as .64, .128 or .U8: the number NVBit gives may be wrong. */
static uint32_t width_of(const char *opcode, size_t length) {
    for (size_t i = 0; i < length; i++) {
        const char *at = opcode + i + 1;
        uint64_t bits;
        if (opcode[i] != '.')
            continue;
        at += *at == 'U' || *at == 'S';
        if (!ff__take_number(&at, 10, &bits) || (at < opcode + length && *at != '.'))
            continue;
        if (bits >= 8)
            return bits / 8 < WIDTH_MAX ? (uint32_t)(bits / 8) : WIDTH_MAX;
    }
    return 4;
}

enum direction { NO_MEMORY, LOADS, STORES, LOADS_ASYNC };

/* Of global and generic addresses; shared, local and constant memory do not migrate. */
static enum direction direction_of(const char *opcode, size_t length) {
    static const struct {
        const char *name;
        enum direction direction;
    } names[] = {{"LDG", LOADS},          {"LD", LOADS},     {"STG", STORES}, {"ST", STORES},
                 {"ATOM", STORES},        {"ATOMG", STORES}, {"RED", STORES}, {"REDG", STORES},
                 {"LDGSTS", LOADS_ASYNC}, {NULL, NO_MEMORY}};
    size_t stem = 0;
    while (stem < length && opcode[stem] != '.')
        stem++;
    for (int i = 0; names[i].name; i++)
        if (strlen(names[i].name) == stem && strncmp(opcode, names[i].name, stem) == 0)
            return names[i].direction;
    return NO_MEMORY;
}

static bool skip_registers(const char **at) {
    uint64_t count;
    const char *word;
    if (!ff__next_number(at, 10, &count) || count > REGISTERS_MAX)
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (ff__next_word(at, &word) == 0)
            return false;
    return true;
}

/* The addresses of the active lanes. */
static bool read_addresses(const char **at, uint32_t lanes, uint64_t address[FF__TRACEG_LANES]) {
    uint64_t mode;
    int64_t step = 0;
    if (!ff__next_number(at, 10, &mode) || mode > 2)
        return false;
    for (uint32_t i = 0; i < lanes; i++) {
        if (mode == 0 || i == 0) { /* a list; or a base */
            if (!ff__next_number(at, 16, &address[i]))
                return false;
            if (mode == 1 && !ff__next_signed(at, &step))
                return false;
            continue;
        }
        /* differences: one for each lane after the first, as the tracer writes them */
        if (mode == 2 && !ff__next_signed(at, &step))
            return false;
        address[i] = address[i - 1] + (uint64_t)step;
    }
    return true;
}

static bool in_window(uint64_t address, uint64_t base) {
    return base && address >= base && address - base < WINDOW;
}

/* Generic addresses may be of shared or local memory; an instruction is wholly one or the other. */
static bool in_memory(const struct ff__traceg_kernel *kernel, uint64_t address,
                      enum direction direction) {
    if (in_window(address, kernel->shared_base) || in_window(address, kernel->local_base))
        return false;
    return direction != LOADS_ASYNC || address >= WINDOW; /* its other operand is a shared offset */
}

static int report(struct ff__traceg_parser *parser, enum direction direction) {
    struct ff__traceg_access *access = &parser->access;
    access->write = direction == STORES;
    if (!in_memory(&parser->kernel, access->address[0], direction))
        return 0;
    int status = parser->reader->access(parser->reader->self, &parser->kernel, access);
    access->instructions = 0;
    return status;
}

/* Of a warp group: then whether it ends a group follows the registers. */
static bool is_matrix(const char *opcode, size_t length) {
    for (size_t i = 0; i + 4 <= length; i++)
        if (strncmp(opcode + i, "GMMA", 4) == 0)
            return true;
    return false;
}

static bool skip_numbers(const char **at, int count) {
    uint64_t value;
    for (int i = 0; i < count; i++)
        if (!ff__next_number(at, 10, &value))
            return false;
    return true;
}

/* ---- copies of the tensor memory accelerator (version 6) ---- */

/* What they do with global memory; NO_MEMORY: it is no such copy. Bulk copies go either way; the
 * way is not in the trace, and most load. */
static enum direction copy_direction(const char *opcode, size_t length) {
    static const struct {
        const char *name;
        enum direction direction;
    } names[] = {{"UTMALDG", LOADS},   {"UTMAPF", LOADS},   {"UBLKCP", LOADS},   {"UBLKPF", LOADS},
                 {"UTMAREDG", STORES}, {"UTMASTG", STORES}, {"UBLKRED", STORES}, {NULL, NO_MEMORY}};
    int i = 0;
    while (names[i].name && (strlen(names[i].name) > length ||
                             strncmp(opcode, names[i].name, strlen(names[i].name)) != 0))
        i++;
    return names[i].direction;
}

/* What is before the addresses: a barrier, whether several blocks get it and which, bytes. */
static bool skip_copy(const char **at) {
    uint64_t value, multicast;
    return ff__next_number(at, 16, &value) && ff__next_number(at, 10, &multicast) &&
           (!multicast || ff__next_number(at, 16, &value)) && skip_numbers(at, 2);
}

/* Pieces of a sector each, as many at a time as a warp has lanes. */
static int report_piece(struct ff__traceg_parser *parser, enum direction direction,
                        uint64_t address, uint64_t width) {
    struct ff__traceg_access *access = &parser->access;
    int status = 0;
    access->width = WIDTH_MAX;
    for (uint64_t done = 0; done < width && !status;) {
        access->lanes = 0;
        for (; access->lanes < FF__TRACEG_LANES && done < width; done += WIDTH_MAX)
            access->address[access->lanes++] = address + done;
        status = report(parser, direction);
    }
    return status;
}

/* MODE 3: COUNT and so many addresses. MODE 4: the first address, COUNT, and differences. */
static int read_copy(struct ff__traceg_parser *parser, const char *at, enum direction direction,
                     uint64_t width) {
    uint64_t mode, count, address = 0;
    int64_t step;
    bool fine = skip_copy(&at) && ff__next_number(&at, 10, &mode) && (mode == 3 || mode == 4) &&
                (mode == 3 || ff__next_number(&at, 16, &address)) &&
                ff__next_number(&at, 10, &count) && width <= COPY_MAX;
    int status = 0;
    for (uint64_t i = 0; fine && i < count && !status; i++) {
        if (mode == 3) {
            fine = ff__next_number(&at, 16, &address);
        } else if (i > 0) {
            fine = ff__next_signed(&at, &step);
            address += fine ? (uint64_t)step : 0;
        }
        if (fine)
            status = report_piece(parser, direction, address, width);
    }
    return fine ? status : ff__bad_line(&parser->lines, "a copy that cannot be read");
}

/* ---- lines of instructions ---- */

/* [line] PC mask n [registers] OPCODE n [registers] [group] width [mode addresses] [immediates] */
static int read_instruction(struct ff__traceg_parser *parser) {
    static const char bad[] = "an instruction that cannot be read";
    struct ff__traceg_access *access = &parser->access;
    const char *at = parser->lines.text, *opcode;
    bool old = parser->kernel.version < 3; /* then: the thread block's x, y, z and the warp first */
    uint64_t mask, width;
    if (!skip_numbers(&at, old                       ? 4
                           : parser->kernel.lineinfo ? 1
                                                     : 0) ||
        !ff__next_number(&at, 16, &access->pc) || !ff__next_number(&at, 16, &mask) ||
        mask > UINT32_MAX || !skip_registers(&at))
        return ff__bad_line(&parser->lines, bad);
    size_t length = ff__next_word(&at, &opcode);
    if (length == 0 || !skip_registers(&at) ||
        !skip_numbers(&at, parser->kernel.version >= 6 && is_matrix(opcode, length)) ||
        !ff__next_number(&at, 10, &width))
        return ff__bad_line(&parser->lines, bad);
    if (parser->seen++ >= parser->promised)
        return ff__bad_line(&parser->lines, "more instructions than 'insts' says");
    if (access->instructions < UINT32_MAX)
        access->instructions++;
    enum direction direction = direction_of(opcode, length);
    access->lanes = (uint32_t)__builtin_popcountll(mask);
    enum direction copies = copy_direction(opcode, length);
    if (copies != NO_MEMORY && access->lanes > 0 && parser->kernel.version >= 6)
        return read_copy(parser, at, copies, width);
    if (width == 0 || access->lanes == 0 || direction == NO_MEMORY)
        return 0;
    if (!read_addresses(&at, access->lanes, access->address))
        return ff__bad_line(&parser->lines, "addresses that cannot be read");
    access->width = width_of(opcode, length);
    return report(parser, direction);
}

/* ---- thread blocks and warps ---- */

static int end_warp(struct ff__traceg_parser *parser) {
    if (parser->in_warp && parser->seen != parser->promised)
        return ff__bad_line(&parser->lines, "fewer instructions than 'insts' says before this");
    parser->in_warp = false;
    parser->promised = parser->seen = 0;
    return 0;
}

static int begin_block(struct ff__traceg_parser *parser) {
    if (parser->in_block)
        return ff__bad_line(&parser->lines, "a thread block in a thread block");
    parser->in_block = true;
    parser->access.cta = parser->access.warp = 0;
    return parser->announced ? 0 : announce(parser);
}

static int end_block(struct ff__traceg_parser *parser) {
    if (!parser->in_block)
        return ff__bad_line(&parser->lines, "the end of no thread block");
    parser->in_block = false;
    return end_warp(parser);
}

static int read_position(struct ff__traceg_parser *parser, const char *text) {
    uint64_t at[3];
    const uint64_t *grid = parser->kernel.grid;
    if (!read_triple(text, at) || at[0] >= grid[0] || at[1] >= grid[1] || at[2] >= grid[2])
        return ff__bad_line(&parser->lines, "no thread block of the grid");
    parser->access.cta = (uint32_t)(at[0] + grid[0] * (at[1] + grid[1] * at[2]));
    return end_warp(parser);
}

static int read_warp(struct ff__traceg_parser *parser, const char *text) {
    uint64_t warp;
    if (!ff__take_number(&text, 10, &warp) || warp >= parser->kernel.warps)
        return ff__bad_line(&parser->lines, "no warp of the thread block");
    int status = end_warp(parser);
    parser->access.warp = (uint32_t)warp;
    parser->access.instructions = 0;
    parser->in_warp = true;
    return status;
}

static int read_body_line(struct ff__traceg_parser *parser) {
    const char *line = parser->lines.text;
    if (starts(line, "#BEGIN_TB"))
        return begin_block(parser);
    if (starts(line, "#END_TB"))
        return end_block(parser);
    if (!parser->in_block)
        return ff__bad_line(&parser->lines, "instructions outside of a thread block: raw traces "
                                            "must be grouped by post-traces-processing first");
    if (starts(line, "thread block = "))
        return read_position(parser, line + 15);
    if (starts(line, "warp = "))
        return read_warp(parser, line + 7);
    if (starts(line, "insts = ")) {
        const char *at = line + 8;
        bool fine = ff__take_number(&at, 10, &parser->promised);
        return fine ? 0 : ff__bad_line(&parser->lines, "a number that cannot be read");
    }
    return parser->in_warp ? read_instruction(parser)
                           : ff__bad_line(&parser->lines, "instructions of no warp");
}

int ff__traceg_line(struct ff__traceg_parser *parser) {
    const char *line = parser->lines.text;
    if (*line == '\0')
        return 0;
    if (*line == '-' && !parser->announced)
        return read_header_line(parser);
    if (*line == '#' && !starts(line, "#BEGIN_TB") && !starts(line, "#END_TB"))
        return 0; /* the format, for people */
    if (!parser->announced && !starts(line, "#BEGIN_TB"))
        return ff__bad_line(&parser->lines, "this is no kernel trace");
    return read_body_line(parser);
}

struct ff__traceg_parser *ff__traceg_begin(const char *name, const struct ff__traceg_reader *reader,
                                           struct ff_error *error) {
    struct ff__traceg_parser *parser = calloc(1, sizeof *parser);
    if (!parser) {
        ff__fail(error, -ENOMEM, "no memory to read %s", name);
        return NULL;
    }
    parser->lines.name = name;
    parser->lines.error = error;
    parser->reader = reader;
    return parser;
}

struct ff__lines *ff__traceg_lines(struct ff__traceg_parser *parser) {
    return &parser->lines;
}

int ff__traceg_end(struct ff__traceg_parser *parser) {
    if (parser->in_block)
        return ff__bad_line(&parser->lines, "the file ends within a thread block");
    return parser->announced ? 0 : announce(parser); /* a kernel without any instruction */
}

int ff__traceg_read(FILE *file, const char *name, const struct ff__traceg_reader *reader,
                    struct ff_error *error) {
    struct ff__traceg_parser *parser = ff__traceg_begin(name, reader, error);
    int status = 0, got = 1;
    if (!parser)
        return -ENOMEM;
    parser->lines.file = file;
    while (!status && (got = ff__next_line(&parser->lines)) > 0)
        status = ff__traceg_line(parser);
    if (!status)
        status = got ? got : ff__traceg_end(parser);
    free(parser);
    return status;
}
