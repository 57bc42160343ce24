/* Suspend points: what threads leave for the executor, and what they find. */
#include "ptx/emit_internal.h"

#include "ptx/device/abi.h"
#include "ptx/mma.h"

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

/* Those of A and B are not among the types where wmma leaves out that they are f16, and where they
 * have four bits: these are modifiers, which do not tell A's from B's. */
static uint8_t factor_type(struct ff__ptx_emit *emit) {
    bool is_signed = has(emit, FF__PTX_M_S4), is_unsigned = has(emit, FF__PTX_M_U4);
    if (emit->instruction->opcode == OP(wmma) && !is_signed && !is_unsigned)
        return FF__PTX_F16;
    return is_signed == is_unsigned ? FF__PTX_NO_TYPE : is_signed ? FF__PTX_S4 : FF__PTX_U4;
}

static uint8_t matrix_type(struct ff__ptx_emit *emit, enum ff__ptx_matrix which) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    if (instruction->type_count == 4)
        return instruction->types[which];
    if (instruction->type_count != 2)
        return FF__PTX_NO_TYPE;
    return which == FF__PTX_D   ? instruction->types[0]
           : which == FF__PTX_C ? instruction->types[1]
                                : factor_type(emit);
}

static bool is_product(struct ff__ptx_emit *emit, const struct ff__ptx_mma *mma) {
    if (!has(emit, mma->shape) || mma->wmma != (emit->instruction->opcode == OP(wmma)))
        return false;
    for (uint32_t i = 0; i < FF__PTX_MATRICES; i++)
        if (matrix_type(emit, i) != mma->types[i])
            return false;
    return true;
}

static uint32_t mma_shape(struct ff__ptx_emit *emit) {
    bool ordered = has(emit, FF__PTX_M_ROW) && has(emit, FF__PTX_M_COL);
    bool is_wmma = emit->instruction->opcode == OP(wmma);
    for (uint32_t i = 0; i < ff__ptx_mma_count; i++)
        if (is_product(emit, &ff__ptx_mmas[i]) && (ordered || is_wmma) && !has(emit, FF__PTX_M_SP))
            return i + (has(emit, FF__PTX_M_SATFINITE) ? FF__PTX_SATURATE : 0);
    ff__ptx_refuse(emit, "this shape or these types are not supported");
}

static const struct ff__ptx_mma *product(struct ff__ptx_emit *emit) {
    return &ff__ptx_mmas[mma_shape(emit) % FF__PTX_SATURATE];
}

static uint32_t ldmatrix_shape(struct ff__ptx_emit *emit) {
    if (!has(emit, FF__PTX_M_M8N8) || ff__ptx_last_type(emit->instruction) != FF__PTX_B16)
        ff__ptx_refuse(emit, "this form is not supported");
    uint32_t count = has(emit, FF__PTX_M_X4) ? 4 : has(emit, FF__PTX_M_X2) ? 2 : 1;
    return count + (has(emit, FF__PTX_M_TRANS) ? 8 : 0);
}

static uint32_t movmatrix_kind(struct ff__ptx_emit *emit) {
    if (!has(emit, FF__PTX_M_M8N8) || ff__ptx_last_type(emit->instruction) != FF__PTX_B16)
        ff__ptx_refuse(emit, "this form is not supported");
    return FF_PTX_MOVMATRIX;
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
    case OP(wmma):
        *shape = mma_shape(emit);
        return FF_PTX_MMA;
    case OP(movmatrix):
        return movmatrix_kind(emit);
    case OP(stmatrix):
        *shape = ldmatrix_shape(emit);
        return FF_PTX_STMATRIX;
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

void ff__ptx_need_registers(struct ff__ptx_emit *emit, const struct ff__ptx_operand *list,
                            uint32_t count) {
    uint32_t found = list->kind == FF__PTX_LIST ? list->count : 1;
    if (found != count)
        ff__ptx_refuse(emit, "%u registers where %u should be", found, count);
}

const struct ff__ptx_operand *ff__ptx_member(struct ff__ptx_emit *emit,
                                             const struct ff__ptx_operand *list, uint32_t index) {
    return list->kind == FF__PTX_LIST ? &emit->function->operands[list->first + index] : list;
}

/* Registers of A, B or C that have `words` words; the row behind them. */
static uint32_t leave_registers(struct ff__ptx_emit *emit, uint32_t row, uint32_t operand,
                                uint32_t words, bool wide) {
    const struct ff__ptx_operand *list = ff__ptx_operand_of(emit, operand);
    uint32_t count = wide ? words / 2 : words;
    ff__ptx_need_registers(emit, list, count);
    for (uint32_t i = 0; i < count; i++) {
        const char *value = ff__ptx_value(emit, ff__ptx_member(emit, list, i),
                                          wide ? FF__PTX_B64 : FF__PTX_B32, FF__PTX_IN_LANE);
        if (wide)
            leave_wide(emit, row + 2 * i, value);
        else
            leave_text(emit, row + i, value);
    }
    return row + words;
}

static void leave_mma(struct ff__ptx_emit *emit) {
    const struct ff__ptx_mma *mma = product(emit);
    uint32_t row = 0;
    for (enum ff__ptx_matrix which = FF__PTX_A; which <= FF__PTX_C; which++)
        row = leave_registers(emit, row, which, ff__ptx_mma_words(mma, which),
                              mma->types[which] == FF__PTX_F64);
}

static void leave_rows(struct ff__ptx_emit *emit, uint32_t operand) {
    leave_wide(emit, 0,
               ff__ptx_address(emit, ff__ptx_operand_of(emit, operand),
                               ff__ptx_space_of(emit->instruction), FF__PTX_IN_LANE));
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
    case OP(wmma):
        need_operands(emit, 4);
        leave_mma(emit);
        return;
    case OP(movmatrix):
        need_operands(emit, 2);
        leave(emit, 0, 1, FF__PTX_B32);
        return;
    case OP(stmatrix):
        need_operands(emit, 2);
        leave_rows(emit, 0);
        leave_registers(emit, 2, 1, ldmatrix_shape(emit) % 8, false);
        return;
    case OP(ldmatrix):
        need_operands(emit, 2);
        leave_rows(emit, 1);
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

static void take_words(struct ff__ptx_emit *emit, uint32_t words, bool wide) {
    uint32_t count = wide ? words / 2 : words;
    ff__ptx_need_registers(emit, ff__ptx_operand_of(emit, 0), count);
    for (uint32_t i = 0; i < count && !wide; i++)
        take(emit, i, FF__PTX_B32);
    for (uint32_t i = 0; i < count && wide; i++)
        ff__ptx_assign(emit, result(emit, i), FF__PTX_B64,
                       ff__ptx_format(emit, "((u64)%s | (u64)%s << 32)", found(emit, 2 * i),
                                      found(emit, 2 * i + 1)));
}

void ff__ptx_emit_waited(struct ff__ptx_emit *emit) {
    uint32_t shape;
    switch (ff__ptx_wait_kind(emit, &shape)) {
    case FF_PTX_BARRIER:
    case FF_PTX_STMATRIX:
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
        take_words(emit, ff__ptx_mma_words(product(emit), FF__PTX_D),
                   product(emit)->types[FF__PTX_D] == FF__PTX_F64);
        return;
    case FF_PTX_LDMATRIX:
        take_words(emit, shape % 8, false);
        return;
    default:
        take(emit, 0, FF__PTX_B32);
        take(emit, 1, FF__PTX_PRED);
    }
}
