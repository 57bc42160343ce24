/* Operands and results as C expressions. */
#include "ptx/emit_internal.h"

#include <string.h>

#define OP(name) FF__PTX_OP_##name

const char *ff__ptx_c_type(enum ff__ptx_type type) {
    static const char *const names[FF__PTX_TYPES] = {
        [FF__PTX_B8] = "u8",      [FF__PTX_B16] = "u16",    [FF__PTX_B32] = "u32",
        [FF__PTX_B64] = "u64",    [FF__PTX_U8] = "u8",      [FF__PTX_U16] = "u16",
        [FF__PTX_U32] = "u32",    [FF__PTX_U64] = "u64",    [FF__PTX_S8] = "s8",
        [FF__PTX_S16] = "s16",    [FF__PTX_S32] = "s32",    [FF__PTX_S64] = "s64",
        [FF__PTX_U16X2] = "u32",  [FF__PTX_S16X2] = "u32",  [FF__PTX_F16] = "u16",
        [FF__PTX_F16X2] = "u32",  [FF__PTX_BF16] = "u16",   [FF__PTX_BF16X2] = "u32",
        [FF__PTX_TF32] = "u32",   [FF__PTX_F32] = "f32",    [FF__PTX_F64] = "f64",
        [FF__PTX_PRED] = "u32",   [FF__PTX_TEXREF] = "u64", [FF__PTX_SAMPLERREF] = "u64",
        [FF__PTX_SURFREF] = "u64"};
    return names[type] != NULL ? names[type] : "u128";
}

const char *ff__ptx_c_register(enum ff__ptx_type type) {
    if (type == FF__PTX_F32 || type == FF__PTX_F64 || type == FF__PTX_PRED)
        return ff__ptx_c_type(type);
    switch (ff__ptx_type_size(type)) {
    case 1:
        return "u8";
    case 2:
        return "u16";
    case 4:
        return "u32";
    case 8:
        return "u64";
    default:
        return "u128";
    }
}

static bool is_c_real(enum ff__ptx_type type) {
    return type == FF__PTX_F32 || type == FF__PTX_F64;
}

/* ---- registers ---- */

const char *ff__ptx_register_name(struct ff__ptx_emit *emit, uint32_t reg,
                                  enum ff__ptx_place place) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    bool again = kernel != NULL && kernel->shapes.again[reg] != FF__PTX_VARYING;
    if (again)
        ff__ptx_demand(emit, reg);
    if (place == FF__PTX_IN_LANE)
        return ff__ptx_format(emit, "v%u", reg);
    enum ff__ptx_shape shape = ff__ptx_shape_here(emit, reg);
    if (place == FF__PTX_STEP && shape != FF__PTX_AFFINE)
        return "(s64)0";
    const char *suffix = again ? "" : ff__ptx_in(kernel->after, reg) ? "n" : "e";
    const char *part = shape != FF__PTX_AFFINE ? "" : place == FF__PTX_STEP ? "_d" : "_0";
    return ff__ptx_format(emit, "v%u%s%s", reg, suffix, part);
}

static const char *read_register(struct ff__ptx_emit *emit, uint32_t reg, enum ff__ptx_type type,
                                 enum ff__ptx_place place) {
    enum ff__ptx_type held = emit->function->registers[reg].type;
    const char *name = ff__ptx_register_name(emit, reg, place);
    const char *c_type = ff__ptx_c_type(type), *c_held = ff__ptx_c_register(held);
    if (place == FF__PTX_STEP || strcmp(c_type, c_held) == 0)
        return name;
    if ((held == FF__PTX_PRED) != (type == FF__PTX_PRED))
        ff__ptx_refuse(emit, "a predicate where a value should be, or the other way round");
    if (is_c_real(type)) {
        if (is_c_real(held) || ff__ptx_type_size(held) != ff__ptx_type_size(type))
            ff__ptx_refuse(emit, "a register of another size than .%s", ff__ptx_type_name(type));
        return ff__ptx_format(emit, "as_%s(%s)", c_type, name);
    }
    if (is_c_real(held)) {
        if (ff__ptx_type_size(held) < ff__ptx_type_size(type))
            ff__ptx_refuse(emit, "a register that is smaller than .%s", ff__ptx_type_name(type));
        return ff__ptx_format(emit, "(%s)as_u%u(%s)", c_type, ff__ptx_type_size(held) * 8, name);
    }
    return ff__ptx_format(emit, "(%s)%s", c_type, name);
}

/* ---- constants and addresses ---- */

static const char *integer(struct ff__ptx_emit *emit, uint64_t bits, enum ff__ptx_type type) {
    switch (type) {
    case FF__PTX_PRED:
        return bits != 0 ? "1u" : "0u";
    case FF__PTX_F32:
    case FF__PTX_F64:
        return ff__ptx_refuse(emit, "a whole number where .%s should be", ff__ptx_type_name(type)),
               "";
    default:
        break;
    }
    uint32_t size = ff__ptx_type_size(type);
    uint64_t kept = size < 8 ? bits & ((UINT64_C(1) << size * 8) - 1) : bits;
    return ff__ptx_format(emit, "(%s)0x%llx%s", ff__ptx_c_type(type), (unsigned long long)kept,
                          size == 8 ? "ull" : "u");
}

static const char *real(struct ff__ptx_emit *emit, const struct ff__ptx_operand *operand,
                        enum ff__ptx_type type) {
    uint64_t bits = operand->bits;
    bool narrow = operand->kind == FF__PTX_FLOAT32;
    if (type == FF__PTX_F32 && !narrow) { /* a decimal number */
        double wide;
        memcpy(&wide, &bits, sizeof wide);
        float value = (float)wide;
        uint32_t rounded;
        memcpy(&rounded, &value, sizeof rounded);
        bits = rounded;
        narrow = true;
    }
    if (type == FF__PTX_F64 && narrow)
        ff__ptx_refuse(emit, "a constant of 32 bits where .f64 should be");
    if (type == FF__PTX_F32 || type == FF__PTX_F64)
        return ff__ptx_format(emit, "as_%s(0x%llx%s)", ff__ptx_c_type(type),
                              (unsigned long long)bits, narrow ? "u" : "ull");
    return ff__ptx_format(emit, "(%s)0x%llx%s", ff__ptx_c_type(type), (unsigned long long)bits,
                          narrow ? "u" : "ull");
}

/* A region has the place as a constant of its own: for all that a compiler knows, what is in
 * `variables` may have changed after every store. */
static const char *global_address(struct ff__ptx_emit *emit,
                                  const struct ff__ptx_variable *variable, int64_t offset) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    uint32_t number = variable->number;
    if (kernel == NULL)
        return ff__ptx_format(emit, "((u64)variables[%u] + (u64)%lldll)", number,
                              (long long)offset);
    if (kernel->placed[number] != kernel->region + 1) {
        kernel->placed[number] = kernel->region + 1;
        ff__ptx_line(&kernel->enter, "const u64 G%u = (u64)variables[%u];", number, number);
    }
    return ff__ptx_format(emit, "(G%u + (u64)%lldll)", number, (long long)offset);
}

static const char *variable_address(struct ff__ptx_emit *emit,
                                    const struct ff__ptx_operand *operand) {
    const struct ff__ptx_variable *variable = &emit->module->variables[operand->index];
    if (variable->space != FF__PTX_SHARED)
        return global_address(emit, variable, operand->offset);
    if (variable->size == 0)
        return ff__ptx_format(emit, "((u64)(block->shared_size - block->dynamic_size) + %lldll)",
                              (long long)operand->offset);
    uint64_t at = emit->kernel != NULL ? emit->kernel_shared[operand->index]
                                       : emit->shared_offsets[operand->index];
    return ff__ptx_format(emit, "%lluull", (unsigned long long)at + (uint64_t)operand->offset);
}

/* A local or shared variable is an offset; a buffer of a call's parameters has an address. */
static const char *own_address(struct ff__ptx_emit *emit, const struct ff__ptx_operand *operand) {
    const struct ff__ptx_variable *variable = &emit->function->variables[operand->index];
    if (variable->space == FF__PTX_PARAM)
        return ff__ptx_format(emit, "((u64)P%u + %lldll)", operand->index,
                              (long long)operand->offset);
    if (variable->space == FF__PTX_SHARED && variable->size == 0)
        return ff__ptx_format(emit, "((u64)(block->shared_size - block->dynamic_size) + %lldll)",
                              (long long)operand->offset);
    if (variable->space == FF__PTX_SHARED || variable->space == FF__PTX_LOCAL)
        return ff__ptx_format(emit, "%lluull",
                              (unsigned long long)emit->own_offsets[operand->index] +
                                  (uint64_t)operand->offset);
    return global_address(emit, variable, operand->offset);
}

static const char *special(struct ff__ptx_emit *emit, const struct ff__ptx_operand *operand,
                           enum ff__ptx_place place) {
    char axis = "xyz"[operand->component];
    bool warps = emit->kernel != NULL && emit->kernel->flow.warp_operations;
    const char *lane = place == FF__PTX_AHEAD ? "first" : "l";
    if (operand->component > 2)
        return "1u"; /* .w does not count */
    switch (operand->index) {
    case FF__PTX_S_TID:
        if (place == FF__PTX_STEP)
            return axis == 'x' ? "(s64)1" : "(s64)0";
        return axis == 'x' ? place == FF__PTX_AHEAD ? "x" : "tx" : axis == 'y' ? "y" : "z";
    case FF__PTX_S_LANEID:
        if (place == FF__PTX_STEP)
            return "(s64)1";
        return warps ? lane : "((lanes->first + l) & 31u)";
    case FF__PTX_S_WARPID:
        return warps ? "(lanes->first / 32u)" : "((lanes->first + l) / 32u)";
    default:
        break;
    }
    if (place == FF__PTX_STEP)
        return "(s64)0";
    switch (operand->index) {
    case FF__PTX_S_NTID:
        return ff__ptx_format(emit, "block->ntid[%u]", operand->component);
    case FF__PTX_S_CTAID:
        return ff__ptx_format(emit, "block->ctaid[%u]", operand->component);
    case FF__PTX_S_NCTAID:
        return ff__ptx_format(emit, "block->nctaid[%u]", operand->component);
    case FF__PTX_S_NWARPID:
        return "((block->ntid[0] * block->ntid[1] * block->ntid[2] + 31u) / 32u)";
    case FF__PTX_S_SMID:
        return "block->worker";
    case FF__PTX_S_ENVREG1: /* cooperative groups keep the grid's barrier there */
        return "(u32)((u64)block->workspace >> 32)";
    case FF__PTX_S_ENVREG2:
        return "(u32)(u64)block->workspace";
    case FF__PTX_S_ENVREG3: /* device/opencl.h has what OpenCL adds to IDs there */
    case FF__PTX_S_ENVREG4:
    case FF__PTX_S_ENVREG5:
    case FF__PTX_S_ENVREG6:
        return "0u";
    case FF__PTX_S_LANEMASK_EQ:
        return "(1u << ((lanes->first + l) & 31u))";
    case FF__PTX_S_LANEMASK_LT:
        return "((1u << ((lanes->first + l) & 31u)) - 1u)";
    case FF__PTX_S_LANEMASK_LE:
        return "((2u << ((lanes->first + l) & 31u)) - 1u)";
    case FF__PTX_S_LANEMASK_GE:
        return "(~((1u << ((lanes->first + l) & 31u)) - 1u))";
    case FF__PTX_S_LANEMASK_GT:
        return "(~((2u << ((lanes->first + l) & 31u)) - 1u))";
    case FF__PTX_S_CLOCK:
    case FF__PTX_S_GLOBALTIMER_LO:
        return "(u32)block->services->clock()";
    case FF__PTX_S_CLOCK_HI:
    case FF__PTX_S_GLOBALTIMER_HI:
        return "(u32)(block->services->clock() >> 32)";
    case FF__PTX_S_CLOCK64:
    case FF__PTX_S_GLOBALTIMER:
        return "block->services->clock()";
    case FF__PTX_S_TOTAL_SMEM_SIZE:
        return "block->shared_size";
    case FF__PTX_S_DYNAMIC_SMEM_SIZE:
        return "block->dynamic_size";
    default:
        return "32u";
    }
}

static const char *plain_value(struct ff__ptx_emit *emit, const struct ff__ptx_operand *operand,
                               enum ff__ptx_type type, enum ff__ptx_place place) {
    const char *c_type = ff__ptx_c_type(type);
    if (place == FF__PTX_STEP && operand->kind != FF__PTX_REGISTER &&
        operand->kind != FF__PTX_SPECIAL)
        return "(s64)0";
    switch (operand->kind) {
    case FF__PTX_REGISTER:
        return read_register(emit, operand->index, type, place);
    case FF__PTX_INTEGER:
        return integer(emit, operand->bits, type);
    case FF__PTX_FLOAT32:
    case FF__PTX_FLOAT64:
        return real(emit, operand, type);
    case FF__PTX_SPECIAL:
        if (place == FF__PTX_STEP)
            return special(emit, operand, place);
        return ff__ptx_format(emit, "(%s)%s", c_type, special(emit, operand, place));
    case FF__PTX_VARIABLE:
        return ff__ptx_format(emit, "(%s)%s", c_type, variable_address(emit, operand));
    case FF__PTX_OWN:
        return ff__ptx_format(emit, "(%s)%s", c_type, own_address(emit, operand));
    case FF__PTX_PARAMETER:
        return ff__ptx_format(emit, "(%s)(param + %lld)", c_type,
                              (long long)emit->function->parameter_offsets[operand->index] +
                                  (long long)operand->offset);
    case FF__PTX_RESULT:
        return ff__ptx_format(emit, "(%s)(result + %lld)", c_type, (long long)operand->offset);
    case FF__PTX_FUNCTION:
        if (!emit->has_function[operand->index])
            ff__ptx_refuse(emit, "the address of '%s', which is not translated",
                           emit->module->functions[operand->index].name);
        return ff__ptx_format(emit, "(%s)(u64)F%u", c_type, operand->index);
    default:
        ff__ptx_refuse(emit, "an operand of a kind that it does not take");
    }
}

const char *ff__ptx_value(struct ff__ptx_emit *emit, const struct ff__ptx_operand *operand,
                          enum ff__ptx_type type, enum ff__ptx_place place) {
    if (operand->address)
        ff__ptx_refuse(emit, "an address where a value should be");
    const char *value = plain_value(emit, operand, type, place);
    if (!operand->negated)
        return value;
    if (type != FF__PTX_PRED)
        ff__ptx_refuse(emit, "'!' before what is no predicate");
    return ff__ptx_format(emit, "(u32)!%s", value);
}

/* ---- results ---- */

const char *ff__ptx_held(struct ff__ptx_emit *emit, uint32_t reg, enum ff__ptx_type type,
                         const char *expression) {
    enum ff__ptx_type held = emit->function->registers[reg].type;
    const char *c_type = ff__ptx_c_type(type), *c_held = ff__ptx_c_register(held);
    if (strcmp(c_type, c_held) == 0)
        return expression;
    if (held == FF__PTX_PRED || type == FF__PTX_PRED)
        ff__ptx_refuse(emit, "a predicate where a value should be, or the other way round");
    if (is_c_real(held)) {
        if (is_c_real(type) || ff__ptx_type_size(type) != ff__ptx_type_size(held))
            ff__ptx_refuse(emit, "a result of another size than its register");
        return ff__ptx_format(emit, "as_%s((u%u)(%s))", c_held, ff__ptx_type_size(held) * 8,
                              expression);
    }
    if (is_c_real(type))
        expression = ff__ptx_format(emit, "as_u%u(%s)", ff__ptx_type_size(type) * 8, expression);
    else if (ff__ptx_type_kind(type) == 's')
        expression =
            ff__ptx_format(emit, "(s%u)(%s)(%s)", ff__ptx_type_size(held) * 8, c_type, expression);
    else /* C has widened it by its own rules */
        expression = ff__ptx_format(emit, "(%s)(%s)", c_type, expression);
    return ff__ptx_format(emit, "(%s)%s", c_held, expression);
}

void ff__ptx_assign(struct ff__ptx_emit *emit, const struct ff__ptx_operand *result,
                    enum ff__ptx_type type, const char *expression) {
    if (result->kind == FF__PTX_NOTHING)
        ff__ptx_line(&emit->body, "(void)(%s);", expression);
    else if (result->kind == FF__PTX_REGISTER && !result->address && !result->negated)
        ff__ptx_line(&emit->body, "v%u = %s;", result->index,
                     ff__ptx_held(emit, result->index, type, expression));
    else
        ff__ptx_refuse(emit, "a result that is not a register");
}

/* ---- pure instructions ---- */

void ff__ptx_check(struct ff__ptx_emit *emit) {
    if (!ff__ptx_checked(emit->instruction))
        ff__ptx_refuse(emit, "this form is not supported");
}

/* Conversions flush .f32 alone. */
static const char *flushed(struct ff__ptx_emit *emit, bool flush, enum ff__ptx_type type,
                           const char *value) {
    bool flushes = type == FF__PTX_F32 || (emit->instruction->opcode != OP(cvt) &&
                                           type != FF__PTX_F64 && ff__ptx_type_kind(type) == 'f');
    if (!flush || !flushes)
        return value;
    return ff__ptx_format(emit, "ftz_%s(%s)", ff__ptx_type_name(type), value);
}

static const char *form_value(struct ff__ptx_emit *emit, enum ff__ptx_place place,
                              enum ff__ptx_type *type) {
    struct ff__ptx_form form;
    if (!ff__ptx_form(emit->instruction, &form))
        ff__ptx_refuse(emit, "this form is not supported");
    const char *arguments = "";
    for (uint32_t i = 0; i < form.count; i++) {
        const char *value =
            ff__ptx_value(emit, ff__ptx_operand_of(emit, i + 1), form.operands[i], place);
        arguments = ff__ptx_format(emit, "%s%s%s", arguments, i == 0 ? "" : ", ",
                                   flushed(emit, form.flush, form.operands[i], value));
    }
    *type = form.result;
    const char *value = flushed(emit, form.flush, form.result,
                                ff__ptx_format(emit, "%s(%s)", form.function, arguments));
    if (form.saturate)
        value = ff__ptx_format(emit, "sat_%s(%s)", ff__ptx_type_name(form.result), value);
    return value;
}

/* ---- comparisons ---- */

static const enum ff__ptx_modifier comparisons[] = {
    FF__PTX_M_EQ,  FF__PTX_M_NE,  FF__PTX_M_LT,  FF__PTX_M_LE,  FF__PTX_M_GT,  FF__PTX_M_GE,
    FF__PTX_M_LO,  FF__PTX_M_LS,  FF__PTX_M_HI,  FF__PTX_M_HS,  FF__PTX_M_EQU, FF__PTX_M_NEU,
    FF__PTX_M_LTU, FF__PTX_M_LEU, FF__PTX_M_GTU, FF__PTX_M_GEU, FF__PTX_M_NUM, FF__PTX_M_NAN};

bool ff__ptx_is_pair(enum ff__ptx_type type) {
    return type == FF__PTX_F16X2 || type == FF__PTX_BF16X2;
}

const char *ff__ptx_compared(struct ff__ptx_emit *emit, enum ff__ptx_place place, uint32_t half) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    enum ff__ptx_type type = ff__ptx_last_type(instruction);
    enum ff__ptx_type single = type == FF__PTX_F16X2    ? FF__PTX_F16
                               : type == FF__PTX_BF16X2 ? FF__PTX_BF16
                                                        : type;
    bool flush = ff__ptx_has(instruction, FF__PTX_M_FTZ);
    const char *values[2], *name = "";
    for (uint32_t i = 0; i < 2; i++) {
        values[i] = ff__ptx_value(emit, ff__ptx_operand_of(emit, i + 1), type, place);
        if (single != type)
            values[i] = ff__ptx_format(emit, "(u16)(%s >> %u)", values[i], 16 * half);
        values[i] = flushed(emit, flush, single, values[i]);
    }
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (ff__ptx_has(instruction, comparisons[i]))
            name = ff__ptx_modifier_name(comparisons[i]);
    return ff__ptx_format(emit, "cmp_%s_%s(%s, %s)", name, ff__ptx_type_name(single), values[0],
                          values[1]);
}

const char *ff__ptx_combined(struct ff__ptx_emit *emit, enum ff__ptx_place place,
                             const char *holds) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    if (instruction->operand_count < 4)
        return holds;
    const char *other = ff__ptx_value(emit, ff__ptx_operand_of(emit, 3), FF__PTX_PRED, place);
    char operation = ff__ptx_has(instruction, FF__PTX_M_AND)  ? '&'
                     : ff__ptx_has(instruction, FF__PTX_M_OR) ? '|'
                                                              : '^';
    return ff__ptx_format(emit, "((u32)(%s) %c (u32)%s)", holds, operation, other);
}

/* What set gives where the comparison holds. */
static const char *truth(enum ff__ptx_type type) {
    switch (type) {
    case FF__PTX_F32:
        return "1.0f";
    case FF__PTX_F16:
    case FF__PTX_F16X2:
        return "0x3c00u";
    case FF__PTX_BF16:
    case FF__PTX_BF16X2:
        return "0x3f80u";
    default:
        return "0xffffffffu";
    }
}

static const char *set_value(struct ff__ptx_emit *emit, enum ff__ptx_place place,
                             enum ff__ptx_type *type) {
    *type = emit->instruction->types[0];
    bool pair = ff__ptx_is_pair(ff__ptx_last_type(emit->instruction));
    const char *c_type = ff__ptx_c_type(*type), *parts[2];
    for (uint32_t i = 0; i < (pair ? 2u : 1u); i++)
        parts[i] = ff__ptx_format(emit, "(%s ? %s : 0)",
                                  ff__ptx_combined(emit, place, ff__ptx_compared(emit, place, i)),
                                  truth(*type));
    return pair ? ff__ptx_format(emit, "(%s)pair(%s, %s)", c_type, parts[0], parts[1])
                : ff__ptx_format(emit, "(%s)%s", c_type, parts[0]);
}

static const char *select_value(struct ff__ptx_emit *emit, enum ff__ptx_place place,
                                enum ff__ptx_type *type) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    *type = instruction->types[0];
    bool sign = instruction->opcode == OP(slct);
    const char *a = ff__ptx_value(emit, ff__ptx_operand_of(emit, 1), *type, place);
    const char *b = ff__ptx_value(emit, ff__ptx_operand_of(emit, 2), *type, place);
    const char *c = ff__ptx_value(emit, ff__ptx_operand_of(emit, 3),
                                  sign ? ff__ptx_last_type(instruction) : FF__PTX_PRED, place);
    if (sign)
        c = flushed(emit, ff__ptx_has(instruction, FF__PTX_M_FTZ), ff__ptx_last_type(instruction),
                    c);
    return ff__ptx_format(emit, "(%s%s ? %s : %s)", c, sign ? " >= 0" : "", a, b);
}

/* Shared and local addresses are offsets from where the block or the thread has its memory. */
static const char *convert_address(struct ff__ptx_emit *emit, enum ff__ptx_place place,
                                   enum ff__ptx_type *type) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    *type = instruction->types[0];
    if (*type != FF__PTX_U64 || instruction->operand_count != 2)
        ff__ptx_refuse(emit, "addresses of 32 bits are not supported");
    const char *value = ff__ptx_value(emit, ff__ptx_operand_of(emit, 1), *type, place);
    const char *base = ff__ptx_has(instruction, FF__PTX_M_SHARED)  ? "shared"
                       : ff__ptx_has(instruction, FF__PTX_M_LOCAL) ? "local"
                                                                   : NULL;
    if (base == NULL || place == FF__PTX_STEP)
        return value;
    return ff__ptx_format(emit, "(%s %c %s)", value,
                          ff__ptx_has(instruction, FF__PTX_M_TO) ? '-' : '+', base);
}

static const char *set_predicate(struct ff__ptx_emit *emit, enum ff__ptx_place place,
                                 enum ff__ptx_type *type) {
    *type = FF__PTX_PRED;
    if (ff__ptx_is_pair(ff__ptx_last_type(emit->instruction)))
        ff__ptx_refuse(emit, "one predicate for two comparisons");
    return ff__ptx_combined(emit, place, ff__ptx_compared(emit, place, 0));
}

const char *ff__ptx_computed(struct ff__ptx_emit *emit, enum ff__ptx_place place,
                             enum ff__ptx_type *type) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    switch (instruction->opcode) {
    case OP(mov):
    case OP(selp):
    case OP(slct):
    case OP(set):
    case OP(setp):
        ff__ptx_check(emit);
        break;
    default:
        if (instruction->type_count == 0 || instruction->operand_count < 2)
            ff__ptx_refuse(emit, "this form is not supported");
    }
    *type = instruction->types[0];
    switch (instruction->opcode) {
    case OP(mov):
        return ff__ptx_value(emit, ff__ptx_operand_of(emit, 1), *type, place);
    case OP(cvta):
        return convert_address(emit, place, type);
    case OP(selp):
    case OP(slct):
        return select_value(emit, place, type);
    case OP(set):
        return set_value(emit, place, type);
    case OP(setp):
        return set_predicate(emit, place, type);
    case OP(ld):
        return ff__ptx_format(
            emit, "ld_%s(%s)", ff__ptx_c_type(*type),
            ff__ptx_address(emit, ff__ptx_operand_of(emit, 1), FF__PTX_PARAM, place));
    default:
        return form_value(emit, place, type);
    }
}
