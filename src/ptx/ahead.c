/* What a region computes once for its threads, before the loop over them. */
#include "ptx/emit_internal.h"

#define OP(name) FF__PTX_OP_##name

enum ff__ptx_shape ff__ptx_shape_here(struct ff__ptx_emit *emit, uint32_t reg) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    if (kernel == NULL)
        return FF__PTX_VARYING;
    if (kernel->shapes.again[reg] != FF__PTX_VARYING)
        return kernel->shapes.again[reg];
    if (ff__ptx_in(kernel->after, reg))
        return kernel->hoisted[reg];
    bool known = ff__ptx_in(kernel->entry, reg) && kernel->saved[reg] && kernel->named[reg];
    return known ? kernel->shapes.shape[reg] : FF__PTX_VARYING;
}

static enum ff__ptx_shape shape_here(void *context, uint32_t reg) {
    return ff__ptx_shape_here(context, reg);
}

void ff__ptx_need_fit(struct ff__ptx_emit *emit, uint32_t reg, bool is_signed) {
    if (ff__ptx_shape_here(emit, reg) != FF__PTX_AFFINE)
        return;
    const char *base = ff__ptx_register_name(emit, reg, FF__PTX_AHEAD);
    const char *step = ff__ptx_register_name(emit, reg, FF__PTX_STEP);
    ff__ptx_line(&emit->kernel->guard, "fit = fit_%s(%s, %s, fit);", is_signed ? "s32" : "u32",
                 base, step);
}

/* ---- steps ---- */

static const char *step_of(struct ff__ptx_emit *emit, uint32_t operand) {
    return ff__ptx_value(emit, ff__ptx_operand_of(emit, operand), FF__PTX_S64, FF__PTX_STEP);
}

static bool is_affine(struct ff__ptx_emit *emit, uint32_t operand) {
    const struct ff__ptx_operand *which = ff__ptx_operand_of(emit, operand);
    return which->kind == FF__PTX_REGISTER
               ? ff__ptx_shape_here(emit, which->index) == FF__PTX_AFFINE
               : which->kind == FF__PTX_SPECIAL &&
                     (which->index == FF__PTX_S_LANEID ||
                      (which->index == FF__PTX_S_TID && which->component == 0));
}

static void fit_operand(struct ff__ptx_emit *emit, uint32_t operand, enum ff__ptx_type type) {
    const struct ff__ptx_operand *which = ff__ptx_operand_of(emit, operand);
    if (which->kind == FF__PTX_REGISTER && ff__ptx_type_size(type) == 4)
        ff__ptx_need_fit(emit, which->index, ff__ptx_type_kind(type) == 's');
}

static const char *product_step(struct ff__ptx_emit *emit, enum ff__ptx_type type) {
    uint32_t affine = is_affine(emit, 1) ? 1 : 2;
    if (ff__ptx_has(emit->instruction, FF__PTX_M_WIDE))
        fit_operand(emit, affine, type);
    bool narrow = ff__ptx_type_size(type) == 4 && ff__ptx_type_kind(type) != 's';
    enum ff__ptx_type factor =
        !ff__ptx_has(emit->instruction, FF__PTX_M_WIDE) && narrow ? FF__PTX_S32 : type;
    const char *other =
        ff__ptx_value(emit, ff__ptx_operand_of(emit, 3 - affine), factor, FF__PTX_AHEAD);
    return ff__ptx_format(emit, "(s64)((u64)%s * (u64)(s64)%s)", step_of(emit, affine), other);
}

/* How much the present instruction's result grows from one thread to the next. */
static const char *step(struct ff__ptx_emit *emit) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    enum ff__ptx_type type = ff__ptx_last_type(instruction);
    switch (instruction->opcode) {
    case OP(add):
        return ff__ptx_format(emit, "%s + %s", step_of(emit, 1), step_of(emit, 2));
    case OP(sub):
        return ff__ptx_format(emit, "%s - %s", step_of(emit, 1), step_of(emit, 2));
    case OP(mul):
        return product_step(emit, type);
    case OP(mad):
        if (!is_affine(emit, 1) && !is_affine(emit, 2))
            return step_of(emit, 3);
        return ff__ptx_format(emit, "%s + %s", product_step(emit, type), step_of(emit, 3));
    case OP(shl):
        return ff__ptx_format(emit, "(s64)((u64)%s << %llu)", step_of(emit, 1),
                              (unsigned long long)ff__ptx_operand_of(emit, 2)->bits);
    case OP(cvt):
        if (ff__ptx_type_size(instruction->types[0]) > ff__ptx_type_size(type))
            fit_operand(emit, 1, type);
        return step_of(emit, 1);
    default:
        return step_of(emit, 1);
    }
}

/* ---- registers ---- */

/* Base and step of register `reg`, which the present instruction sets, as constants before the
 * loop. */
static void set_ahead(struct ff__ptx_emit *emit, uint32_t reg, const char *suffix,
                      enum ff__ptx_shape shape) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    enum ff__ptx_type held = emit->function->registers[reg].type, type;
    const char *computed = ff__ptx_computed(emit, FF__PTX_AHEAD, &type);
    const char *base = ff__ptx_held(emit, reg, type, computed);
    if (shape != FF__PTX_AFFINE) {
        ff__ptx_line(&kernel->ahead, "const %s v%u%s = %s;", ff__ptx_c_register(held), reg, suffix,
                     base);
        return;
    }
    const char *by = step(emit);
    ff__ptx_line(&kernel->ahead, "const %s v%u%s_0 = %s;", ff__ptx_c_register(held), reg, suffix,
                 base);
    ff__ptx_line(&kernel->ahead, "const s64 v%u%s_d = %s(%s);", reg, suffix,
                 ff__ptx_type_size(held) == 4 ? "(s64)(s32)" : "", by);
}

void ff__ptx_demand(struct ff__ptx_emit *emit, uint32_t reg) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    if (kernel->demanded[reg])
        return;
    kernel->demanded[reg] = true;
    const struct ff__ptx_instruction *present = emit->instruction;
    emit->instruction = &emit->function->instructions[kernel->shapes.definition[reg]];
    enum ff__ptx_shape shape = kernel->shapes.again[reg];
    set_ahead(emit, reg, "", shape);
    const char *c_type = ff__ptx_c_register(emit->function->registers[reg].type);
    if (shape == FF__PTX_AFFINE)
        ff__ptx_line(&kernel->top, "const %s v%u = v%u_0 + (%s)v%u_d * (%s)i;", c_type, reg, reg,
                     c_type, reg, c_type);
    emit->instruction = present;
}

enum ff__ptx_shape ff__ptx_hoist(struct ff__ptx_emit *emit) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    const struct ff__ptx_operand *result = ff__ptx_operand_of(emit, 0);
    if (kernel == NULL || emit->instruction->operand_count == 0 || result->kind != FF__PTX_REGISTER)
        return FF__PTX_VARYING;
    uint32_t reg = result->index;
    enum ff__ptx_shape shape =
        ff__ptx_result_shape(&kernel->flow, emit->instruction, shape_here, emit);
    if (shape == FF__PTX_VARYING)
        return shape;
    set_ahead(emit, reg, "n", shape);
    kernel->hoisted[reg] = (uint8_t)shape;
    const char *c_type = ff__ptx_c_register(emit->function->registers[reg].type);
    if (shape == FF__PTX_UNIFORM)
        ff__ptx_line(&emit->body, "v%u = v%un;", reg, reg);
    else
        ff__ptx_line(&emit->body, "v%u = v%un_0 + (%s)v%un_d * (%s)i;", reg, reg, c_type, reg,
                     c_type);
    return shape;
}
