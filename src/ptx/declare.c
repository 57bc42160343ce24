/* Declarations of variables and parameters, and directives for debuggers, which are skipped. */
#include "ptx/read_internal.h"

#include <string.h>

static const struct {
    const char *name;
    uint8_t space;
} spaces[] = {{"reg", FF__PTX_REG},       {"global", FF__PTX_GLOBAL}, {"const", FF__PTX_CONST},
              {"shared", FF__PTX_SHARED}, {"local", FF__PTX_LOCAL},   {"param", FF__PTX_PARAM}};

static bool take_space(struct ff__ptx_reader *reader, uint8_t *space) {
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (ff__ptx_take_dotted(reader, spaces[i].name)) {
            *space = spaces[i].space;
            return true;
        }
    }
    return false;
}

static void skip_parentheses(struct ff__ptx_reader *reader) {
    ff__ptx_expect(reader, '(');
    while (!ff__ptx_take_sign(reader, ')')) {
        if (reader->token.kind == FF__PTX_END)
            ff__ptx_wrong(reader, "')' is missing");
        ff__ptx_next(reader);
    }
}

static uint32_t alignment(struct ff__ptx_reader *reader) {
    uint64_t align = ff__ptx_expect_integer(reader);
    if (align == 0 || align > 4096 || (align & (align - 1)) != 0)
        ff__ptx_wrong(reader, "an alignment that is not a power of two up to 4096");
    return (uint32_t)align;
}

/* .ptr .global .align 4: what a parameter points to. */
static void skip_pointer(struct ff__ptx_reader *reader) {
    uint8_t space;
    take_space(reader, &space);
    if (ff__ptx_take_dotted(reader, "align"))
        alignment(reader);
}

/* One directive before the name. False: there is none. */
static bool directive(struct ff__ptx_reader *reader, struct ff__ptx_variable *variable) {
    if (reader->token.kind != FF__PTX_DOTTED)
        return false;
    uint32_t type = ff__ptx_find_type(reader->token.text, reader->token.length);
    if (take_space(reader, &variable->space))
        return true;
    if (type != FF__PTX_NONE) {
        variable->type = (uint8_t)type;
        ff__ptx_next(reader);
    } else if (ff__ptx_take_dotted(reader, "align")) {
        variable->align = alignment(reader);
    } else if (ff__ptx_take_dotted(reader, "ptr")) {
        skip_pointer(reader);
    } else if (ff__ptx_take_dotted(reader, "attribute")) {
        skip_parentheses(reader);
    } else if (ff__ptx_take_dotted(reader, "extern")) {
        variable->is_extern = true;
    } else if (!ff__ptx_take_dotted(reader, "visible") && !ff__ptx_take_dotted(reader, "weak") &&
               !ff__ptx_take_dotted(reader, "common") && !ff__ptx_take_dotted(reader, "volatile")) {
        ff__ptx_wrong(reader, ".%.*s is not known in a declaration", (int)reader->token.length,
                      reader->token.text);
    }
    return true;
}

static void dimensions(struct ff__ptx_reader *reader, struct ff__ptx_variable *variable) {
    const uint64_t most = UINT64_C(1) << 40;
    while (ff__ptx_take_sign(reader, '[')) {
        variable->is_array = true;
        uint64_t count = ff__ptx_is_sign(reader, ']') ? 0 : ff__ptx_expect_integer(reader);
        if (count > most || (count != 0 && variable->size > most / count))
            ff__ptx_wrong(reader, "'%s' is larger than any memory", variable->name);
        variable->size *= count;
        ff__ptx_expect(reader, ']');
    }
}

struct ff__ptx_variable ff__ptx_declaration(struct ff__ptx_reader *reader) {
    struct ff__ptx_variable variable = {.line = reader->token.line};
    while (directive(reader, &variable))
        ;
    /* .v4 before the type has been taken for an unknown directive: PTX of today has it in .reg
     * alone */
    if (variable.type == FF__PTX_NO_TYPE)
        ff__ptx_wrong(reader, "a declaration without a type");
    struct ff__ptx_token name = ff__ptx_expect_name(reader);
    variable.name = ff__ptx_copy(reader, name.text, name.length);
    uint32_t size = ff__ptx_type_size(variable.type);
    variable.size = size;
    dimensions(reader, &variable);
    if (variable.align < size && variable.align == 0)
        variable.align = size;
    return variable;
}

struct ff__ptx_variable *ff__ptx_parameters(struct ff__ptx_reader *reader, uint32_t *count) {
    struct ff__ptx_variable *list = NULL;
    ff__ptx_expect(reader, '(');
    while (!ff__ptx_take_sign(reader, ')')) {
        struct ff__ptx_variable variable = ff__ptx_declaration(reader);
        *(struct ff__ptx_variable *)ff__ptx_append(reader, &list, count, sizeof *list) = variable;
        if (!ff__ptx_is_sign(reader, ')'))
            ff__ptx_expect(reader, ',');
    }
    return list;
}

/* ---- initial values ---- */

static void put(struct ff__ptx_reader *reader, struct ff__ptx_variable *variable, uint64_t at,
                uint64_t bits) {
    uint32_t size = ff__ptx_type_size(variable->type);
    if (at + size > variable->size)
        ff__ptx_wrong(reader, "more values than '%s' has elements", variable->name);
    for (uint32_t i = 0; i < size; i++)
        *(uint8_t *)ff__ptx_append(reader, &variable->initial, &variable->initial_size, 1) =
            i < sizeof bits ? (uint8_t)(bits >> 8 * i) : 0;
}

static uint64_t number_bits(struct ff__ptx_reader *reader, enum ff__ptx_type type, bool minus) {
    struct ff__ptx_token token = reader->token;
    ff__ptx_next(reader);
    if (token.number == FF__PTX_FLOAT64 && type == FF__PTX_F32) {
        double wide;
        memcpy(&wide, &token.bits, sizeof wide);
        float value = (float)(minus ? -wide : wide);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        return bits;
    }
    if (token.number == FF__PTX_INTEGER)
        return minus ? -token.bits : token.bits;
    return minus ? token.bits ^ UINT64_C(1) << (ff__ptx_type_size(type) * 8 - 1) : token.bits;
}

/* `name`, `name+4`, `generic(name)+4`, `name[4]`: an address. */
static void reference(struct ff__ptx_reader *reader, struct ff__ptx_variable *variable,
                      uint64_t at) {
    struct ff__ptx_token name = ff__ptx_expect_name(reader);
    if (name.length == 7 && memcmp(name.text, "generic", 7) == 0 &&
        ff__ptx_take_sign(reader, '(')) {
        name = ff__ptx_expect_name(reader);
        ff__ptx_expect(reader, ')');
    }
    int64_t offset = 0;
    if (ff__ptx_take_sign(reader, '+')) {
        bool minus = ff__ptx_take_sign(reader, '-');
        offset = (int64_t)ff__ptx_expect_integer(reader);
        offset = minus ? -offset : offset;
    } else if (ff__ptx_take_sign(reader, '-')) {
        offset = -(int64_t)ff__ptx_expect_integer(reader);
    }
    if (ff__ptx_type_size(variable->type) != 8)
        ff__ptx_wrong(reader, "an address in '%s', whose elements have not 8 bytes",
                      variable->name);
    const struct ff__ptx_name *target = ff__ptx_lookup(reader, name.text, name.length);
    if (target == NULL)
        ff__ptx_wrong(reader, "'%.*s' is not declared", (int)name.length, name.text);
    if (target->kind != FF__PTX_NAMED_FUNCTION && target->kind != FF__PTX_NAMED_VARIABLE)
        ff__ptx_wrong(reader, "an address of '%.*s', which is none of the module's",
                      (int)name.length, name.text);
    put(reader, variable, at, 0);
    struct ff__ptx_reference *added = ff__ptx_append(
        reader, &variable->references, &variable->reference_count, sizeof *variable->references);
    *added = (struct ff__ptx_reference){.at = at,
                                        .is_function = target->kind == FF__PTX_NAMED_FUNCTION,
                                        .index = target->index,
                                        .offset = offset};
}

static void value(struct ff__ptx_reader *reader, struct ff__ptx_variable *variable, uint64_t at) {
    bool minus = ff__ptx_take_sign(reader, '-');
    if (reader->token.kind == FF__PTX_NUMBER) {
        uint64_t bits = number_bits(reader, variable->type, minus);
        if (ff__ptx_is_sign(reader, '('))
            ff__ptx_wrong(reader, "a part of an address in '%s' is not supported", variable->name);
        put(reader, variable, at, bits);
    } else {
        reference(reader, variable, at);
    }
}

void ff__ptx_initial(struct ff__ptx_reader *reader, struct ff__ptx_variable *variable) {
    uint32_t size = ff__ptx_type_size(variable->type), depth = 0;
    if (variable->size > UINT64_C(1) << 31)
        ff__ptx_wrong(reader, "more than 2 GiB of values for '%s'", variable->name);
    uint64_t at = 0;
    do {
        while (ff__ptx_take_sign(reader, '{'))
            depth++;
        if (!ff__ptx_is_sign(reader, '}')) {
            value(reader, variable, at);
            at += size;
        }
        while (depth != 0 && ff__ptx_take_sign(reader, '}'))
            depth--;
    } while (depth != 0 && (ff__ptx_expect(reader, ','), true));
}

/* ---- debugging ---- */

bool ff__ptx_debugging(struct ff__ptx_reader *reader) {
    if (ff__ptx_is_dotted(reader, "loc") || ff__ptx_is_dotted(reader, "file")) {
        ff__ptx_skip_line(reader);
        return true;
    }
    if (!ff__ptx_is_dotted(reader, "section"))
        return false;
    while (!ff__ptx_is_sign(reader, '{')) {
        if (reader->token.kind == FF__PTX_END)
            ff__ptx_wrong(reader, "a section without content");
        ff__ptx_next(reader);
    }
    ff__ptx_skip_braces(reader);
    return true;
}
