/* Textures and surfaces, through objects. */
#include "ptx/emit_internal.h"

#define OP(name) FF__PTX_OP_##name

static uint32_t dimensions(struct ff__ptx_emit *emit) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    if (ff__ptx_has(instruction, FF__PTX_M_D1D))
        return 1;
    if (ff__ptx_has(instruction, FF__PTX_M_D2D))
        return 2;
    if (ff__ptx_has(instruction, FF__PTX_M_D3D))
        return 3;
    ff__ptx_refuse(emit, "only textures of one, two and three dimensions are supported");
}

static const struct ff__ptx_operand *item(const struct ff__ptx_emit *emit,
                                          const struct ff__ptx_operand *operand, uint32_t index) {
    return operand->kind == FF__PTX_LIST ? &emit->function->operands[operand->first + index]
                                         : operand;
}

static uint32_t items(const struct ff__ptx_operand *operand) {
    return operand->kind == FF__PTX_LIST ? operand->count : 1;
}

/* Opens a C block with the object and the coordinates. */
static void open_place(struct ff__ptx_emit *emit, const struct ff__ptx_operand *place,
                       uint32_t count, enum ff__ptx_type type) {
    if (place->kind != FF__PTX_LIST || place->count != 2 ||
        item(emit, place, 0)->kind != FF__PTX_REGISTER)
        ff__ptx_refuse(emit, "only objects are supported, with their own sampler");
    const struct ff__ptx_operand *coordinates = item(emit, place, 1);
    if (items(coordinates) < count)
        ff__ptx_refuse(emit, "too few coordinates");
    ff__ptx_line(&emit->body, "{const u64 object = %s; const %s c_[3] = {",
                 ff__ptx_value(emit, item(emit, place, 0), FF__PTX_U64, FF__PTX_IN_LANE),
                 type == FF__PTX_F32 ? "f32" : "s32");
    for (uint32_t i = 0; i < count; i++)
        ff__ptx_line(&emit->body, "%s,",
                     ff__ptx_value(emit, item(emit, coordinates, i), type, FF__PTX_IN_LANE));
    ff__ptx_line(&emit->body, "};");
}

static void fetch(struct ff__ptx_emit *emit) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    bool level = ff__ptx_has(instruction, FF__PTX_M_LEVEL);
    uint32_t count = dimensions(emit);
    if (instruction->type_count != 2 || instruction->operand_count < (level ? 3 : 2) ||
        ff__ptx_has(instruction, FF__PTX_M_GRAD) || ff__ptx_has(instruction, FF__PTX_M_BASE))
        ff__ptx_refuse(emit, "this form is not supported");
    enum ff__ptx_type type = instruction->types[0], by = instruction->types[1];
    if (ff__ptx_type_size(type) != 4 || (by != FF__PTX_F32 && by != FF__PTX_S32))
        ff__ptx_refuse(emit, "this form is not supported");
    open_place(emit, ff__ptx_operand_of(emit, 1), count, by);
    ff__ptx_line(&emit->body, "u32 r_[4];");
    if (by == FF__PTX_S32)
        ff__ptx_line(&emit->body, "block->services->fetch(block, object, %u, c_, r_);", count);
    else
        ff__ptx_line(
            &emit->body, "block->services->texture(block, object, %u, c_, %s, r_);", count,
            level ? ff__ptx_value(emit, ff__ptx_operand_of(emit, 2), FF__PTX_F32, FF__PTX_IN_LANE)
                  : "0.0f");
    const struct ff__ptx_operand *results = ff__ptx_operand_of(emit, 0);
    for (uint32_t i = 0; i < items(results) && i < 4; i++)
        ff__ptx_assign(emit, item(emit, results, i), FF__PTX_B32,
                       ff__ptx_format(emit, "r_[%u]", i));
    ff__ptx_line(&emit->body, "}");
}

static uint32_t outside(const struct ff__ptx_instruction *instruction) {
    return ff__ptx_has(instruction, FF__PTX_M_CLAMP)  ? 1
           : ff__ptx_has(instruction, FF__PTX_M_ZERO) ? 2
                                                      : 0;
}

static void surface(struct ff__ptx_emit *emit, bool stores) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    enum ff__ptx_type type = ff__ptx_last_type(instruction);
    uint32_t count = dimensions(emit);
    if (!ff__ptx_has(instruction, FF__PTX_M_B) || instruction->operand_count != 2 ||
        ff__ptx_type_size(type) > 8 || ff__ptx_type_size(type) == 0)
        ff__ptx_refuse(emit, "this form is not supported");
    const struct ff__ptx_operand *values = ff__ptx_operand_of(emit, stores ? 1 : 0);
    const char *c_type = ff__ptx_c_type(type);
    uint32_t size = ff__ptx_type_size(type) * items(values);
    open_place(emit, ff__ptx_operand_of(emit, stores ? 0 : 1), count, FF__PTX_S32);
    ff__ptx_line(&emit->body, "%s r_[%u];", c_type, items(values));
    for (uint32_t i = 0; stores && i < items(values); i++)
        ff__ptx_line(&emit->body, "r_[%u] = %s;", i,
                     ff__ptx_value(emit, item(emit, values, i), type, FF__PTX_IN_LANE));
    ff__ptx_line(&emit->body, "block->services->surface_%s(block, object, %u, c_, %u, %u, r_);",
                 stores ? "store" : "load", count, outside(instruction), size);
    for (uint32_t i = 0; !stores && i < items(values); i++)
        ff__ptx_assign(emit, item(emit, values, i), type, ff__ptx_format(emit, "r_[%u]", i));
    ff__ptx_line(&emit->body, "}");
}

bool ff__ptx_emit_texture(struct ff__ptx_emit *emit) {
    switch (emit->instruction->opcode) {
    case OP(tex):
        fetch(emit);
        return true;
    case OP(suld):
        surface(emit, false);
        return true;
    case OP(sust):
        surface(emit, true);
        return true;
    default:
        return false;
    }
}
