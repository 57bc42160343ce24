/* PTX, as the front end understands it: modules, functions, variables, instructions. The reader
 * (read.h) makes one from text; flow.h finds what the translator needs to know; emit.h writes C.
 *
 * Everything of a module lies in its arena and lives as long as the module. Names follow the PTX
 * ISA. */
#ifndef FF_PTX_PTX_H
#define FF_PTX_PTX_H

#include <farfault/farfault.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ff__ptx_type {
    FF__PTX_NO_TYPE,
#define FF_PTX_TYPE(id, name, size, kind) FF__PTX_##id,
#include "ptx/types.def"
    FF__PTX_TYPES
};

enum ff__ptx_modifier {
#define FF_PTX_MODIFIER(id, name) FF__PTX_M_##id,
#include "ptx/modifiers.def"
    FF__PTX_MODIFIERS
};

enum ff__ptx_opcode {
#define FF_PTX_OPCODE(name) FF__PTX_OP_##name,
#include "ptx/opcodes.def"
    FF__PTX_OPCODES
};

enum ff__ptx_special {
#define FF_PTX_SPECIAL(id, name, type) FF__PTX_S_##id,
#include "ptx/specials.def"
    FF__PTX_SPECIALS
};

enum ff__ptx_space {
    FF__PTX_GENERIC,
    FF__PTX_REG,
    FF__PTX_GLOBAL,
    FF__PTX_CONST,
    FF__PTX_SHARED,
    FF__PTX_LOCAL,
    FF__PTX_PARAM
};

#define FF__PTX_NONE UINT32_MAX

/* Of a function that is translated, with what is copied into it. Ours: gcc takes five milliseconds
 * for one, and more where there are many. */
#define FF__PTX_MOST_INSTRUCTIONS (1u << 16)

enum ff__ptx_operand_kind {
    FF__PTX_NOTHING,   /* `_`: the result is not wanted */
    FF__PTX_REGISTER,  /* index: of the function's registers; negated: !p */
    FF__PTX_INTEGER,   /* bits: sign-extended to 64 */
    FF__PTX_FLOAT32,   /* bits: 0f... */
    FF__PTX_FLOAT64,   /* bits: 0d..., and decimal numbers */
    FF__PTX_SPECIAL,   /* index: enum ff__ptx_special; component: 0 x, 1 y, 2 z */
    FF__PTX_VARIABLE,  /* index: of the module's variables; offset */
    FF__PTX_OWN,       /* index: of the function's variables (local, shared, call parameters) */
    FF__PTX_PARAMETER, /* index: of the function's parameters; offset */
    FF__PTX_RESULT,    /* index: of a device function's return parameters; offset */
    FF__PTX_LABEL,     /* index: of the function's labels */
    FF__PTX_FUNCTION,  /* index: of the module's functions */
    FF__PTX_LIST,      /* {a, b, ...}, (a, b) and a|b: `first` and `count` of the operands */
    FF__PTX_NAMED      /* text: a prototype or target list, which need not be known */
};

/* In brackets, an operand is the base of an address: of a register, an integer or a variable, with
 * `offset` added. */
struct ff__ptx_operand {
    uint8_t kind;
    bool address, negated;
    uint8_t component;
    uint32_t index;
    union {
        uint64_t bits;
        int64_t offset;
        struct {
            uint32_t first, count; /* in the function's operands */
        };
        const char *text;
    };
};

struct ff__ptx_instruction {
    uint16_t opcode;
    uint8_t type_count;
    uint8_t types[6];                 /* enum ff__ptx_type, in the order written */
    uint64_t modifiers[4];            /* set of enum ff__ptx_modifier */
    uint32_t guard;                   /* register of @p, or FF__PTX_NONE */
    bool guard_negated;               /* @!p */
    bool is_plain;                    /* a call of what accesses no memory (opencl.h) */
    uint32_t operands, operand_count; /* first in the function's, direct ones only */
    uint32_t line;
};

struct ff__ptx_register {
    const char *name; /* of its scope: several may share a name */
    uint8_t type;     /* enum ff__ptx_type */
};

struct ff__ptx_variable {
    const char *name;
    uint8_t space, type;
    bool is_array, is_extern;
    uint32_t align;
    uint64_t size;    /* bytes; 0: `[]`, dynamic shared memory */
    uint8_t *initial; /* of its first bytes; the others are zeros */
    uint32_t initial_size;
    struct ff__ptx_reference {
        uint64_t at;      /* bytes into the variable */
        bool is_function; /* whose address is there; else that of a variable */
        uint32_t index;   /* of the module's */
        int64_t offset;
    } * references;
    uint32_t reference_count;
    uint32_t number; /* if it is in global or constant space: among all such of the module */
    uint32_t line;
};

static inline bool ff__ptx_in_memory(const struct ff__ptx_variable *variable) {
    return variable->space == FF__PTX_GLOBAL || variable->space == FF__PTX_CONST;
}

struct ff__ptx_label {
    const char *name;
    uint32_t instruction; /* before which it stands; may be the count */
    uint32_t *targets;    /* of .branchtargets: labels; NULL: an ordinary one */
    uint32_t target_count;
};

struct ff__ptx_function {
    const char *name;
    bool is_entry, is_declaration;
    bool inlined; /* threads wait for each other in it: each call is a copy of it (inline.h) */
    uint32_t line;
    struct ff__ptx_variable *parameters, *results;
    uint32_t parameter_count, result_count;
    uint32_t parameter_size; /* bytes of the block of parameters */
    uint32_t *parameter_offsets;

    struct ff__ptx_register *registers;
    struct ff__ptx_variable *variables;
    struct ff__ptx_label *labels;
    struct ff__ptx_instruction *instructions;
    struct ff__ptx_operand *operands;
    uint32_t register_count, variable_count, label_count, instruction_count, operand_count;

    uint32_t max_threads; /* .maxntid's product, or 0 */
    uint64_t shared_size; /* bytes of static shared memory of a kernel; ff__ptx_emit() sets it */
    /* Why it is refused, with line and instruction; "": it is not */
    char refused[256];
};

struct ff__ptx_module {
    struct ff__ptx_arena *arena;
    uint32_t version; /* 10 x major + minor */
    const char *target;
    struct ff__ptx_variable *variables;
    struct ff__ptx_function *functions;
    uint32_t variable_count, function_count;
    uint32_t memory_count; /* variables in global or constant space, those of functions too */
    bool expanded;         /* by ff__ptx_inline() */
};

static inline bool ff__ptx_has(const struct ff__ptx_instruction *instruction,
                               enum ff__ptx_modifier modifier) {
    return instruction->modifiers[modifier / 64] >> (modifier % 64) & 1;
}

/* Bytes of a value, its name without the dot, its kind: 'b', 'u', 's', 'f', 'p'. */
uint32_t ff__ptx_type_size(enum ff__ptx_type type);
const char *ff__ptx_type_name(enum ff__ptx_type type);
char ff__ptx_type_kind(enum ff__ptx_type type);
const char *ff__ptx_opcode_name(enum ff__ptx_opcode opcode);
const char *ff__ptx_modifier_name(enum ff__ptx_modifier modifier);

#endif
