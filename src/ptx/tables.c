/* Names of types, modifiers, instructions and special registers. */
#include "ptx/read_internal.h"

#include <string.h>

static const struct {
    const char *name;
    uint8_t size;
    char kind;
} types[] = {
    {"", 0, ' '},
#define FF_PTX_TYPE(id, name, size, kind) {name, size, kind},
#include "ptx/types.def"
};

static const char *const modifiers[] = {
#define FF_PTX_MODIFIER(id, name) name,
#include "ptx/modifiers.def"
};

static const char *const opcodes[] = {
#define FF_PTX_OPCODE(name) #name,
#include "ptx/opcodes.def"
};

static const struct {
    const char *name;
    uint8_t type;
} specials[] = {
#define FF_PTX_SPECIAL(id, name, type) {name, FF__PTX_##type},
#include "ptx/specials.def"
};

uint32_t ff__ptx_type_size(enum ff__ptx_type type) {
    return types[type].size;
}
const char *ff__ptx_type_name(enum ff__ptx_type type) {
    return types[type].name;
}
char ff__ptx_type_kind(enum ff__ptx_type type) {
    return types[type].kind;
}
const char *ff__ptx_opcode_name(enum ff__ptx_opcode opcode) {
    return opcodes[opcode];
}
const char *ff__ptx_modifier_name(enum ff__ptx_modifier modifier) {
    return modifiers[modifier];
}
enum ff__ptx_type ff__ptx_special_type(enum ff__ptx_special special) {
    return specials[special].type;
}

/* The order of strcmp() between the name that `text` begins with and a zero-ended one. */
static int order(const char *text, size_t length, const char *name) {
    int difference = strncmp(text, name, length);
    return difference != 0 ? difference : name[length] == '\0' ? 0 : -1;
}

static uint32_t search(const char *const *names, uint32_t count, const char *text, size_t length) {
    uint32_t first = 0, end = count;
    while (first < end) {
        uint32_t middle = (first + end) / 2;
        int difference = order(text, length, names[middle]);
        if (difference == 0)
            return middle;
        if (difference < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return FF__PTX_NONE;
}

uint32_t ff__ptx_find_modifier(const char *name, size_t length) {
    return search(modifiers, FF__PTX_MODIFIERS, name, length);
}

uint32_t ff__ptx_find_opcode(const char *name, size_t length) {
    return search(opcodes, FF__PTX_OPCODES, name, length);
}

uint32_t ff__ptx_find_type(const char *name, size_t length) {
    for (uint32_t type = 1; type < FF__PTX_TYPES; type++)
        if (order(name, length, types[type].name) == 0)
            return type;
    return FF__PTX_NONE;
}

uint32_t ff__ptx_find_special(const char *name, size_t length) {
    for (uint32_t special = 0; special < FF__PTX_SPECIALS; special++)
        if (order(name, length, specials[special].name) == 0)
            return special;
    return FF__PTX_NONE;
}
