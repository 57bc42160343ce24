/* wmma.load and wmma.store: each lane loads or stores its own elements (mma.h). */
#include "ptx/emit_internal.h"

#include "ptx/mma.h"

#define OP(name) FF__PTX_OP_##name

static bool has(const struct ff__ptx_emit *emit, enum ff__ptx_modifier modifier) {
    return ff__ptx_has(emit->instruction, modifier);
}

/* A matrix in memory. Its lines are rows, of B columns; `along`: a line's elements are neighbours.
 */
struct tile {
    const struct ff__ptx_mma *mma;
    enum ff__ptx_matrix which;
    uint32_t lines, length, size; /* size: bytes of an element */
    bool along;
};

static struct tile find_tile(struct ff__ptx_emit *emit) {
    static const enum ff__ptx_modifier names[] = {FF__PTX_M_D, FF__PTX_M_A, FF__PTX_M_B,
                                                  FF__PTX_M_C};
    uint8_t type = (uint8_t)ff__ptx_last_type(emit->instruction);
    for (uint32_t i = 0; i < ff__ptx_mma_count; i++)
        for (enum ff__ptx_matrix which = 0; which < FF__PTX_MATRICES; which++) {
            const struct ff__ptx_mma *mma = &ff__ptx_mmas[i];
            if (!mma->wmma || !has(emit, mma->shape) || !has(emit, names[which]) ||
                mma->types[which] != type || has(emit, FF__PTX_M_ROW) == has(emit, FF__PTX_M_COL))
                continue;
            bool is_b = which == FF__PTX_B, is_a = which == FF__PTX_A;
            return (struct tile){.mma = mma,
                                 .which = which,
                                 .lines = is_b ? mma->columns : mma->rows,
                                 .length = is_a || is_b ? mma->depth : mma->columns,
                                 .size = ff__ptx_mma_bits(type) / 8,
                                 .along = has(emit, is_b ? FF__PTX_M_COL : FF__PTX_M_ROW)};
        }
    ff__ptx_refuse(emit, "this shape or this type is not supported");
}

/* Declares `a_`, the address, `s_`, elements from one line of memory to the next, `lane_`, and of
 * this lane's elements `first_` and `step_`, the first one's address and what the next one's is
 * higher by. */
static void open_place(struct ff__ptx_emit *emit, const struct tile *tile, uint32_t address,
                       uint32_t stride) {
    struct ff__ptx_text *body = &emit->body;
    const struct ff__ptx_operand lane = {.kind = FF__PTX_SPECIAL, .index = FF__PTX_S_LANEID};
    uint32_t count = ff__ptx_mma_elements(tile->mma, tile->which);
    const char *step = ff__ptx_format(emit, "%u", tile->along ? tile->length : tile->lines);
    if (emit->instruction->operand_count > stride)
        step = ff__ptx_value(emit, ff__ptx_operand_of(emit, stride), FF__PTX_U32, FF__PTX_IN_LANE);
    ff__ptx_line(body, "{const u64 a_ = %s, s_ = %s;",
                 ff__ptx_address(emit, ff__ptx_operand_of(emit, address),
                                 ff__ptx_space_of(emit->instruction), FF__PTX_IN_LANE),
                 step);
    ff__ptx_line(body, "const u32 lane_ = %s, line_ = lane_ * %u / %u, at_ = lane_ * %u %% %u;",
                 ff__ptx_value(emit, &lane, FF__PTX_U32, FF__PTX_IN_LANE), count, tile->length,
                 count, tile->length);
    ff__ptx_line(body,
                 tile->along ? "const u64 first_ = a_ + (line_ * s_ + at_) * %u, step_ = %u;"
                             : "const u64 first_ = a_ + (at_ * s_ + line_) * %u, step_ = s_ * %u;",
                 tile->size, tile->size);
}

/* Together the lanes access all of the matrix: which of them has which part of it does not matter
 * to the recording, so that each reports neighbours in memory. */
static void record_part(struct ff__ptx_emit *emit, const struct tile *tile, bool write) {
    uint32_t count = ff__ptx_mma_elements(tile->mma, tile->which);
    uint32_t length = tile->along ? tile->length : tile->lines;
    const char *address =
        ff__ptx_format(emit, "(a_ + (lane_ * %u / %u * s_ + lane_ * %u %% %u) * %u)", count, length,
                       count, length, tile->size);
    ff__ptx_record_address(emit, address, count * tile->size, write);
}

/* ---- registers ---- */

struct registers {
    uint32_t count, packed;  /* of registers, of elements in each */
    enum ff__ptx_type whole; /* as what one is read or set */
    const char *element;     /* C type */
};

static struct registers registers_of(struct ff__ptx_emit *emit, const struct tile *tile,
                                     uint32_t operand) {
    const struct ff__ptx_operand *list = ff__ptx_operand_of(emit, operand);
    bool wide = tile->size == 8;
    uint32_t words = ff__ptx_mma_words(tile->mma, tile->which);
    struct registers registers = {.count = wide ? words / 2 : words,
                                  .packed = wide ? 1 : 4 / tile->size,
                                  .whole = wide ? FF__PTX_B64 : FF__PTX_B32,
                                  .element = ff__ptx_format(emit, "u%u", 8 * tile->size)};
    ff__ptx_need_registers(emit, list, registers.count);
    return registers;
}

static const char *element_at(struct ff__ptx_emit *emit, uint32_t index) {
    return ff__ptx_format(emit, "first_ + %u * step_", index);
}

static void load(struct ff__ptx_emit *emit) {
    struct tile tile = find_tile(emit);
    struct registers registers = registers_of(emit, &tile, 0);
    uint32_t count = ff__ptx_mma_elements(tile.mma, tile.which);
    open_place(emit, &tile, 1, 2);
    record_part(emit, &tile, false);
    for (uint32_t i = 0; i < registers.count; i++) {
        const char *word = "0";
        for (uint32_t k = 0; k < registers.packed; k++)
            word = ff__ptx_format(emit, "%s | (%s)ld_%s(%s) << %u", word,
                                  ff__ptx_c_type(registers.whole), registers.element,
                                  element_at(emit, (i * registers.packed + k) % count),
                                  8 * tile.size * k);
        ff__ptx_assign(emit, ff__ptx_member(emit, ff__ptx_operand_of(emit, 0), i), registers.whole,
                       ff__ptx_format(emit, "(%s)", word));
    }
    ff__ptx_line(&emit->body, "}");
}

static void store(struct ff__ptx_emit *emit) {
    struct tile tile = find_tile(emit);
    struct registers registers = registers_of(emit, &tile, 1);
    open_place(emit, &tile, 0, 2);
    record_part(emit, &tile, true);
    for (uint32_t i = 0; i < registers.count; i++) {
        const char *word = ff__ptx_value(emit, ff__ptx_member(emit, ff__ptx_operand_of(emit, 1), i),
                                         registers.whole, FF__PTX_IN_LANE);
        for (uint32_t k = 0; k < registers.packed; k++)
            ff__ptx_line(&emit->body, "st_%s(%s, (%s)(%s >> %u));", registers.element,
                         element_at(emit, i * registers.packed + k), registers.element, word,
                         8 * tile.size * k);
    }
    ff__ptx_line(&emit->body, "}");
}

bool ff__ptx_emit_wmma(struct ff__ptx_emit *emit) {
    if (emit->instruction->opcode != OP(wmma))
        return false;
    if (emit->instruction->operand_count < 2)
        ff__ptx_refuse(emit, "operands are missing");
    if (has(emit, FF__PTX_M_LOAD))
        load(emit);
    else
        store(emit);
    return true;
}
