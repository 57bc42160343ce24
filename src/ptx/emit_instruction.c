/* Instructions that need no region: values, packs, carries, memory, calls. */
#include "ptx/emit_internal.h"

#include <string.h>

#define OP(name) FF__PTX_OP_##name

static const struct ff__ptx_operand *item(const struct ff__ptx_emit *emit,
                                          const struct ff__ptx_operand *list, uint32_t index) {
    return &emit->function->operands[list->first + index];
}

static enum ff__ptx_type bits_type(struct ff__ptx_emit *emit, uint32_t size) {
    switch (size) {
    case 1:
        return FF__PTX_B8;
    case 2:
        return FF__PTX_B16;
    case 4:
        return FF__PTX_B32;
    case 8:
        return FF__PTX_B64;
    default:
        ff__ptx_refuse(emit, "parts of %u bytes", size);
    }
}

/* mov.b64 {a, b}, c and mov.b64 c, {a, b}. */
static void move_parts(struct ff__ptx_emit *emit) {
    const struct ff__ptx_operand *to = ff__ptx_operand_of(emit, 0);
    const struct ff__ptx_operand *from = ff__ptx_operand_of(emit, 1);
    enum ff__ptx_type type = ff__ptx_last_type(emit->instruction);
    ff__ptx_check(emit);
    const struct ff__ptx_operand *list = to->kind == FF__PTX_LIST ? to : from;
    uint32_t size = ff__ptx_type_size(type);
    if (ff__ptx_type_kind(type) == 'f' || list->count == 0 || size % list->count != 0 ||
        (to == list && from->kind == FF__PTX_LIST))
        ff__ptx_refuse(emit, "parts that do not make up the whole");
    enum ff__ptx_type part = bits_type(emit, size / list->count);
    uint32_t bits = 8 * size / list->count;
    const char *c_type = ff__ptx_c_type(type), *c_part = ff__ptx_c_type(part);
    if (list == to) {
        ff__ptx_line(&emit->body, "{const %s whole = %s;", c_type,
                     ff__ptx_value(emit, from, type, FF__PTX_IN_LANE));
        for (uint32_t i = 0; i < list->count; i++)
            if (item(emit, list, i)->kind != FF__PTX_NOTHING)
                ff__ptx_assign(emit, item(emit, list, i), part,
                               ff__ptx_format(emit, "(%s)(whole >> %u)", c_part, i * bits));
        ff__ptx_line(&emit->body, "}");
        return;
    }
    const char *whole = "0";
    for (uint32_t i = 0; i < list->count; i++)
        whole = ff__ptx_format(emit, "%s | (%s)%s << %u", whole, c_type,
                               ff__ptx_value(emit, item(emit, list, i), part, FF__PTX_IN_LANE),
                               i * bits);
    ff__ptx_assign(emit, to, type, ff__ptx_format(emit, "(%s)(%s)", c_type, whole));
}

/* setp with p|q: q is the combination with the opposite of what is compared, of pairs that of the
 * upper halves. */
static void set_two(struct ff__ptx_emit *emit) {
    const struct ff__ptx_operand *list = ff__ptx_operand_of(emit, 0);
    ff__ptx_check(emit);
    if (list->count != 2)
        ff__ptx_refuse(emit, "results of which there are not two");
    bool pair = ff__ptx_is_pair(ff__ptx_last_type(emit->instruction));
    const char *first = ff__ptx_compared(emit, FF__PTX_IN_LANE, 0);
    const char *second = pair ? ff__ptx_compared(emit, FF__PTX_IN_LANE, 1) : "!first_";
    ff__ptx_line(&emit->body, "{const u32 first_ = %s, second_ = %s;", first, second);
    ff__ptx_line(&emit->body, "const u32 p_ = %s, q_ = %s;",
                 ff__ptx_combined(emit, FF__PTX_IN_LANE, "first_"),
                 ff__ptx_combined(emit, FF__PTX_IN_LANE, "second_"));
    ff__ptx_assign(emit, item(emit, list, 0), FF__PTX_PRED, "p_");
    ff__ptx_assign(emit, item(emit, list, 1), FF__PTX_PRED, "q_");
    ff__ptx_line(&emit->body, "}");
}

/* Carry chains: the condition code is a variable of each thread. */
static bool carries(const struct ff__ptx_instruction *instruction) {
    switch (instruction->opcode) {
    case OP(addc):
    case OP(subc):
    case OP(madc):
        return true;
    case OP(add):
    case OP(sub):
    case OP(mad):
        return ff__ptx_has(instruction, FF__PTX_M_CC);
    default:
        return false;
    }
}

static void carry(struct ff__ptx_emit *emit) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    enum ff__ptx_type type = ff__ptx_last_type(instruction);
    bool product = instruction->opcode == OP(mad) || instruction->opcode == OP(madc);
    ff__ptx_check(emit);
    bool sets = ff__ptx_has(instruction, FF__PTX_M_CC);
    const char *part = !product ? "" : ff__ptx_has(instruction, FF__PTX_M_HI) ? "_hi" : "_lo";
    const char *arguments = "";
    for (uint32_t i = 1; i < instruction->operand_count; i++)
        arguments =
            ff__ptx_format(emit, "%s%s, ", arguments,
                           ff__ptx_value(emit, ff__ptx_operand_of(emit, i), type, FF__PTX_IN_LANE));
    ff__ptx_assign(emit, ff__ptx_operand_of(emit, 0), type,
                   ff__ptx_format(emit, "%s%s%s_%s(%s%scarry)",
                                  ff__ptx_opcode_name(instruction->opcode), part, sets ? "_cc" : "",
                                  ff__ptx_type_name(type), arguments, sets ? "&" : ""));
}

static void value(struct ff__ptx_emit *emit) {
    enum ff__ptx_type type;
    const char *computed = ff__ptx_computed(emit, FF__PTX_IN_LANE, &type);
    ff__ptx_assign(emit, ff__ptx_operand_of(emit, 0), type, computed);
}

static bool is_list(struct ff__ptx_emit *emit, uint32_t operand) {
    return emit->instruction->operand_count > operand &&
           ff__ptx_operand_of(emit, operand)->kind == FF__PTX_LIST;
}

void ff__ptx_emit_instruction(struct ff__ptx_emit *emit) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    if (carries(instruction)) {
        carry(emit);
        return;
    }
    if (ff__ptx_emit_memory(emit) || ff__ptx_emit_texture(emit) || ff__ptx_emit_wmma(emit))
        return;
    switch (instruction->opcode) {
    case OP(call):
        ff__ptx_emit_call(emit);
        return;
    case OP(griddepcontrol): /* a launch waits for those before it on its stream */
    case OP(nanosleep):
    case OP(pmevent):
    case OP(brkpt):
        return;
    case OP(mov):
        if (is_list(emit, 0) || is_list(emit, 1)) {
            move_parts(emit);
            return;
        }
        break;
    case OP(setp):
        if (is_list(emit, 0)) {
            set_two(emit);
            return;
        }
        break;
    default:
        break;
    }
    value(emit);
}
