/* Suspend points: what threads leave for the executor, and what they find. */
#include "ptx/emit_internal.h"

#include "ptx/device/abi.h"

#define OP(name) FF__PTX_OP_##name

static bool has(const struct ff__ptx_emit *emit, enum ff__ptx_modifier modifier) {
    return ff__ptx_has(emit->instruction, modifier);
}

/* ---- kinds ---- */

static uint32_t barrier_kind(struct ff__ptx_emit *emit) {
    if (has(emit, FF__PTX_M_WARP))
        return FF_PTX_WARP_SYNC;
    if (has(emit, FF__PTX_M_CLUSTER))
        ff__ptx_refuse(emit, "clusters are not supported");
    if (has(emit, FF__PTX_M_ARRIVE))
        return FF_PTX_ARRIVE;
    if (!has(emit, FF__PTX_M_RED))
        return FF_PTX_BARRIER;
    return has(emit, FF__PTX_M_POPC)  ? FF_PTX_BAR_POPC
           : has(emit, FF__PTX_M_AND) ? FF_PTX_BAR_AND
                                      : FF_PTX_BAR_OR;
}

static uint32_t redux_kind(struct ff__ptx_emit *emit) {
    enum ff__ptx_type type = ff__ptx_last_type(emit->instruction);
    if (ff__ptx_type_size(type) != 4 || ff__ptx_type_kind(type) == 'f')
        ff__ptx_refuse(emit, "this form is not supported");
    bool is_signed = type == FF__PTX_S32;
    if (has(emit, FF__PTX_M_ADD))
        return FF_PTX_REDUX_ADD;
    if (has(emit, FF__PTX_M_MIN))
        return is_signed ? FF_PTX_REDUX_MIN_S32 : FF_PTX_REDUX_MIN_U32;
    if (has(emit, FF__PTX_M_MAX))
        return is_signed ? FF_PTX_REDUX_MAX_S32 : FF_PTX_REDUX_MAX_U32;
    return has(emit, FF__PTX_M_AND)  ? FF_PTX_REDUX_AND
           : has(emit, FF__PTX_M_OR) ? FF_PTX_REDUX_OR
                                     : FF_PTX_REDUX_XOR;
}

struct mma {
    enum ff__ptx_modifier shape;
    uint8_t d, a, b; /* types */
    uint32_t value;
};

static const struct mma mmas[] = {
    {FF__PTX_M_M16N8K8, FF__PTX_F16, FF__PTX_F16, FF__PTX_F16, FF_PTX_M16N8K8_F16},
    {FF__PTX_M_M16N8K8, FF__PTX_F32, FF__PTX_F16, FF__PTX_F16, FF_PTX_M16N8K8_F16_F32},
    {FF__PTX_M_M16N8K16, FF__PTX_F16, FF__PTX_F16, FF__PTX_F16, FF_PTX_M16N8K16_F16},
    {FF__PTX_M_M16N8K16, FF__PTX_F32, FF__PTX_F16, FF__PTX_F16, FF_PTX_M16N8K16_F16_F32},
    {FF__PTX_M_M16N8K8, FF__PTX_F32, FF__PTX_BF16, FF__PTX_BF16, FF_PTX_M16N8K8_BF16},
    {FF__PTX_M_M16N8K16, FF__PTX_F32, FF__PTX_BF16, FF__PTX_BF16, FF_PTX_M16N8K16_BF16},
    {FF__PTX_M_M16N8K4, FF__PTX_F32, FF__PTX_TF32, FF__PTX_TF32, FF_PTX_M16N8K4_TF32},
    {FF__PTX_M_M16N8K8, FF__PTX_F32, FF__PTX_TF32, FF__PTX_TF32, FF_PTX_M16N8K8_TF32},
    {FF__PTX_M_M16N8K16, FF__PTX_S32, FF__PTX_S8, FF__PTX_S8, FF_PTX_M16N8K16_S8},
    {FF__PTX_M_M16N8K16, FF__PTX_S32, FF__PTX_U8, FF__PTX_U8, FF_PTX_M16N8K16_U8},
    {FF__PTX_M_M16N8K16, FF__PTX_S32, FF__PTX_S8, FF__PTX_U8, FF_PTX_M16N8K16_S8_U8},
    {FF__PTX_M_M16N8K16, FF__PTX_S32, FF__PTX_U8, FF__PTX_S8, FF_PTX_M16N8K16_U8_S8},
    {FF__PTX_M_M16N8K32, FF__PTX_S32, FF__PTX_S8, FF__PTX_S8, FF_PTX_M16N8K32_S8},
    {FF__PTX_M_M16N8K32, FF__PTX_S32, FF__PTX_U8, FF__PTX_U8, FF_PTX_M16N8K32_U8},
    {FF__PTX_M_M16N8K32, FF__PTX_S32, FF__PTX_S8, FF__PTX_U8, FF_PTX_M16N8K32_S8_U8},
    {FF__PTX_M_M16N8K32, FF__PTX_S32, FF__PTX_U8, FF__PTX_S8, FF_PTX_M16N8K32_U8_S8}};

static uint32_t mma_shape(struct ff__ptx_emit *emit) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    for (size_t i = 0; i < sizeof mmas / sizeof *mmas; i++) {
        const struct mma *mma = &mmas[i];
        if (instruction->type_count == 4 && has(emit, mma->shape) && has(emit, FF__PTX_M_ROW) &&
            has(emit, FF__PTX_M_COL) && !has(emit, FF__PTX_M_SP) &&
            instruction->types[0] == mma->d && instruction->types[1] == mma->a &&
            instruction->types[2] == mma->b && instruction->types[3] == mma->d)
            return mma->value | (has(emit, FF__PTX_M_SATFINITE) ? FF_PTX_MMA_SATURATE : 0u);
    }
    ff__ptx_refuse(emit, "this shape or these types are not supported");
}

static uint32_t ldmatrix_shape(struct ff__ptx_emit *emit) {
    if (!has(emit, FF__PTX_M_M8N8) || ff__ptx_last_type(emit->instruction) != FF__PTX_B16)
        ff__ptx_refuse(emit, "this form is not supported");
    uint32_t count = has(emit, FF__PTX_M_X4) ? 4 : has(emit, FF__PTX_M_X2) ? 2 : 1;
    return count + (has(emit, FF__PTX_M_TRANS) ? 8 : 0);
}

uint32_t ff__ptx_wait_kind(struct ff__ptx_emit *emit, uint32_t *shape) {
    *shape = 0;
    switch (emit->instruction->opcode) {
    case OP(bar):
    case OP(barrier):
        return barrier_kind(emit);
    case OP(shfl):
        return has(emit, FF__PTX_M_UP)     ? FF_PTX_SHFL_UP
               : has(emit, FF__PTX_M_DOWN) ? FF_PTX_SHFL_DOWN
               : has(emit, FF__PTX_M_BFLY) ? FF_PTX_SHFL_BFLY
                                           : FF_PTX_SHFL_IDX;
    case OP(vote):
        return has(emit, FF__PTX_M_ALL)      ? FF_PTX_VOTE_ALL
               : has(emit, FF__PTX_M_ANY)    ? FF_PTX_VOTE_ANY
               : has(emit, FF__PTX_M_BALLOT) ? FF_PTX_VOTE_BALLOT
                                             : FF_PTX_VOTE_UNI;
    case OP(match):
        return has(emit, FF__PTX_M_ALL) ? FF_PTX_MATCH_ALL : FF_PTX_MATCH_ANY;
    case OP(redux):
        return redux_kind(emit);
    case OP(activemask):
        return FF_PTX_ACTIVEMASK;
    case OP(mma):
        *shape = mma_shape(emit);
        return FF_PTX_MMA;
    default:
        *shape = ldmatrix_shape(emit);
        return FF_PTX_LDMATRIX;
    }
}

/* ---- operands ---- */

static void leave_text(struct ff__ptx_emit *emit, uint32_t row, const char *value) {
    ff__ptx_line(&emit->body, "in[%u * LANES + l] = %s;", row, value);
}

static void leave(struct ff__ptx_emit *emit, uint32_t row, uint32_t operand,
                  enum ff__ptx_type type) {
    leave_text(emit, row,
               ff__ptx_value(emit, ff__ptx_operand_of(emit, operand), type, FF__PTX_IN_LANE));
}

static void leave_wide(struct ff__ptx_emit *emit, uint32_t row, const char *value) {
    ff__ptx_line(&emit->body, "{const u64 wide = %s;", value);
    leave_text(emit, row, "(u32)wide");
    leave_text(emit, row + 1, "(u32)(wide >> 32)");
    ff__ptx_line(&emit->body, "}");
}

static void leave_mask(struct ff__ptx_emit *emit, uint32_t operand) {
    if (emit->instruction->operand_count > operand)
        leave(emit, 0, operand, FF__PTX_B32);
    else /* of PTX before 6.0: whoever is there */
        leave_text(emit, 0, "0xffffffffu");
}

static void leave_barrier(struct ff__ptx_emit *emit) {
    bool reduces = has(emit, FF__PTX_M_RED);
    uint32_t first = reduces ? 1 : 0, count = emit->instruction->operand_count;
    uint32_t last = reduces ? count - 1 : count; /* the predicate's place */
    if (has(emit, FF__PTX_M_WARP)) {
        leave_mask(emit, 0);
        return;
    }
    if (count > first + 3 || (reduces && count < 3))
        ff__ptx_refuse(emit, "this form is not supported");
    if (last > first)
        leave(emit, 0, first, FF__PTX_U32);
    else
        leave_text(emit, 0, "0");
    if (last > first + 1)
        leave(emit, 1, first + 1, FF__PTX_U32);
    else
        leave_text(emit, 1, "0");
    if (reduces)
        leave(emit, 2, last, FF__PTX_PRED);
}

static void leave_mma(struct ff__ptx_emit *emit) {
    uint32_t row = 0;
    for (uint32_t i = 1; i < 4; i++) {
        const struct ff__ptx_operand *list = ff__ptx_operand_of(emit, i);
        uint32_t count = list->kind == FF__PTX_LIST ? list->count : 1;
        for (uint32_t k = 0; k < count; k++) {
            if (row == FF_PTX_IN)
                ff__ptx_refuse(emit, "too many registers");
            const struct ff__ptx_operand *part =
                list->kind == FF__PTX_LIST ? &emit->function->operands[list->first + k] : list;
            leave_text(emit, row++, ff__ptx_value(emit, part, FF__PTX_B32, FF__PTX_IN_LANE));
        }
    }
}

static void need_operands(struct ff__ptx_emit *emit, uint32_t least) {
    if (emit->instruction->operand_count < least)
        ff__ptx_refuse(emit, "operands are missing");
}

void ff__ptx_emit_wait(struct ff__ptx_emit *emit) {
    switch (emit->instruction->opcode) {
    case OP(bar):
    case OP(barrier):
        leave_barrier(emit);
        return;
    case OP(shfl):
        need_operands(emit, 4);
        leave_mask(emit, 4);
        leave(emit, 1, 1, FF__PTX_B32);
        leave(emit, 2, 2, FF__PTX_B32);
        leave(emit, 3, 3, FF__PTX_B32);
        return;
    case OP(vote):
        need_operands(emit, 2);
        leave_mask(emit, 2);
        leave(emit, 1, 1, FF__PTX_PRED);
        return;
    case OP(match): {
        need_operands(emit, 3);
        enum ff__ptx_type type = ff__ptx_last_type(emit->instruction);
        leave_mask(emit, 2);
        leave_wide(emit, 1,
                   ff__ptx_value(emit, ff__ptx_operand_of(emit, 1), type, FF__PTX_IN_LANE));
        return;
    }
    case OP(redux):
        need_operands(emit, 3);
        leave_mask(emit, 2);
        leave(emit, 1, 1, FF__PTX_B32);
        return;
    case OP(mma):
        need_operands(emit, 4);
        leave_mma(emit);
        return;
    case OP(ldmatrix):
        need_operands(emit, 2);
        leave_wide(emit, 0,
                   ff__ptx_address(emit, ff__ptx_operand_of(emit, 1),
                                   ff__ptx_space_of(emit->instruction), FF__PTX_IN_LANE));
        return;
    default:
        return;
    }
}

/* ---- results ---- */

static const char *found(struct ff__ptx_emit *emit, uint32_t row) {
    return ff__ptx_format(emit, "out[%u * LANES + l]", row);
}

static const struct ff__ptx_operand *result(struct ff__ptx_emit *emit, uint32_t index) {
    const struct ff__ptx_operand *first = ff__ptx_operand_of(emit, 0);
    if (first->kind != FF__PTX_LIST)
        return index == 0 ? first : NULL;
    return index < first->count ? &emit->function->operands[first->first + index] : NULL;
}

static void take(struct ff__ptx_emit *emit, uint32_t index, enum ff__ptx_type type) {
    const struct ff__ptx_operand *to = result(emit, index);
    if (to != NULL)
        ff__ptx_assign(emit, to, type, found(emit, index));
}

void ff__ptx_emit_waited(struct ff__ptx_emit *emit) {
    uint32_t shape;
    switch (ff__ptx_wait_kind(emit, &shape)) {
    case FF_PTX_BARRIER:
    case FF_PTX_ARRIVE:
    case FF_PTX_WARP_SYNC:
        return;
    case FF_PTX_BAR_AND:
    case FF_PTX_BAR_OR:
    case FF_PTX_VOTE_ALL:
    case FF_PTX_VOTE_ANY:
    case FF_PTX_VOTE_UNI:
        take(emit, 0, FF__PTX_PRED);
        return;
    case FF_PTX_MMA:
    case FF_PTX_LDMATRIX:
        for (uint32_t i = 0; i < FF_PTX_OUT; i++)
            take(emit, i, FF__PTX_B32);
        return;
    default:
        take(emit, 0, FF__PTX_B32);
        take(emit, 1, FF__PTX_PRED);
    }
}
