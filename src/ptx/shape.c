#include "ptx/shape.h"

#include "ptx/forms.h"
#include <errno.h>
#include <string.h>

#define OP(name) FF__PTX_OP_##name

/* ---- one instruction ---- */

static enum ff__ptx_shape special_shape(const struct ff__ptx_flow *flow,
                                        const struct ff__ptx_operand *operand) {
    switch (operand->index) {
    case FF__PTX_S_TID:
        return operand->component == 0 ? FF__PTX_AFFINE : FF__PTX_UNIFORM;
    case FF__PTX_S_LANEID:
        return flow->warp_operations ? FF__PTX_AFFINE : FF__PTX_VARYING;
    case FF__PTX_S_NTID:
    case FF__PTX_S_CTAID:
    case FF__PTX_S_NCTAID:
    case FF__PTX_S_NWARPID:
    case FF__PTX_S_SMID:
    case FF__PTX_S_TOTAL_SMEM_SIZE:
    case FF__PTX_S_DYNAMIC_SMEM_SIZE:
    case FF__PTX_S_ENVREG1:
    case FF__PTX_S_ENVREG2:
    case FF__PTX_S_ENVREG3:
    case FF__PTX_S_ENVREG4:
    case FF__PTX_S_ENVREG5:
    case FF__PTX_S_ENVREG6:
    case FF__PTX_S_WARP_SIZE:
        return FF__PTX_UNIFORM;
    case FF__PTX_S_WARPID:
        return flow->warp_operations ? FF__PTX_UNIFORM : FF__PTX_VARYING;
    default:
        return FF__PTX_VARYING;
    }
}

static enum ff__ptx_shape operand_shape(const struct ff__ptx_flow *flow,
                                        const struct ff__ptx_operand *operand,
                                        ff__ptx_shape_fn *shape, void *context) {
    switch (operand->kind) {
    case FF__PTX_REGISTER:
        return shape(context, operand->index);
    case FF__PTX_SPECIAL:
        return special_shape(flow, operand);
    case FF__PTX_INTEGER:
    case FF__PTX_FLOAT32:
    case FF__PTX_FLOAT64:
    case FF__PTX_VARIABLE:
    case FF__PTX_PARAMETER:
    case FF__PTX_FUNCTION:
        return FF__PTX_UNIFORM;
    case FF__PTX_OWN: /* an offset, but for buffers of parameters of calls */
        return flow->function->variables[operand->index].space == FF__PTX_PARAM ? FF__PTX_VARYING
                                                                                : FF__PTX_UNIFORM;
    default:
        return FF__PTX_VARYING;
    }
}

static bool is_integer(const struct ff__ptx_instruction *instruction) {
    enum ff__ptx_type type = instruction->types[0];
    char kind = ff__ptx_type_kind(type);
    uint32_t size = ff__ptx_type_size(type);
    return instruction->type_count != 0 && (kind == 'u' || kind == 's' || kind == 'b') &&
           (size == 4 || size == 8) && type != FF__PTX_U16X2 && type != FF__PTX_S16X2;
}

/* Widening from 32 bits or narrowing to them. */
static bool is_affine_conversion(const struct ff__ptx_instruction *instruction) {
    if (instruction->type_count != 2 || ff__ptx_has(instruction, FF__PTX_M_SAT) ||
        !is_integer(instruction))
        return false;
    enum ff__ptx_type to = instruction->types[0], from = instruction->types[1];
    char kind = ff__ptx_type_kind(from);
    return (kind == 'u' || kind == 's') &&
           (ff__ptx_type_size(from) == 4 || ff__ptx_type_size(from) == 8) &&
           from != FF__PTX_U16X2 && from != FF__PTX_S16X2 && ff__ptx_type_size(to) >= 4;
}

/* The instructions through which a fixed step passes, given the operands' shapes, of which one at
 * least is affine and none varies. */
static bool keeps_affine(const struct ff__ptx_flow *flow,
                         const struct ff__ptx_instruction *instruction,
                         const enum ff__ptx_shape *shapes) {
    bool product = shapes[0] != FF__PTX_AFFINE || shapes[1] != FF__PTX_AFFINE;
    bool sat = ff__ptx_has(instruction, FF__PTX_M_SAT);
    const struct ff__ptx_operand *operands = &flow->function->operands[instruction->operands];
    switch (instruction->opcode) {
    case OP(mov):
        return is_integer(instruction);
    case OP(add):
    case OP(sub):
        return is_integer(instruction) && !sat && !ff__ptx_has(instruction, FF__PTX_M_CC);
    case OP(mul):
    case OP(mad):
        return is_integer(instruction) && product && !sat &&
               !ff__ptx_has(instruction, FF__PTX_M_HI) && !ff__ptx_has(instruction, FF__PTX_M_CC);
    case OP(shl):
        return is_integer(instruction) && operands[2].kind == FF__PTX_INTEGER &&
               operands[2].bits < 8 * ff__ptx_type_size(instruction->types[0]);
    case OP(cvt):
        return is_affine_conversion(instruction);
    case OP(cvta):
        return instruction->types[0] == FF__PTX_U64;
    default:
        return false;
    }
}

static bool is_pure(const struct ff__ptx_flow *flow,
                    const struct ff__ptx_instruction *instruction) {
    struct ff__ptx_form form;
    const struct ff__ptx_operand *operands = &flow->function->operands[instruction->operands];
    switch (instruction->opcode) {
    case OP(mov):
        return operands[0].kind == FF__PTX_REGISTER && operands[1].kind != FF__PTX_LIST;
    case OP(cvta):
        return !ff__ptx_has(instruction, FF__PTX_M_LOCAL);
    case OP(selp):
    case OP(setp):
    case OP(slct):
    case OP(set):
        return operands[0].kind == FF__PTX_REGISTER;
    case OP(ld): /* of parameters, at a fixed place */
        return ff__ptx_has(instruction, FF__PTX_M_PARAM) && operands[0].kind == FF__PTX_REGISTER &&
               operands[1].kind == FF__PTX_PARAMETER;
    default:
        return ff__ptx_form(instruction, &form);
    }
}

enum ff__ptx_shape ff__ptx_result_shape(const struct ff__ptx_flow *flow,
                                        const struct ff__ptx_instruction *instruction,
                                        ff__ptx_shape_fn *shape, void *context) {
    enum ff__ptx_shape shapes[8] = {0};
    bool affine = false;
    const struct ff__ptx_operand *operands = &flow->function->operands[instruction->operands];
    if (instruction->guard != FF__PTX_NONE || instruction->operand_count < 2 ||
        instruction->operand_count > 8 || !is_pure(flow, instruction))
        return FF__PTX_VARYING;
    for (uint32_t i = 1; i < instruction->operand_count; i++) {
        shapes[i - 1] = operand_shape(flow, &operands[i], shape, context);
        if (shapes[i - 1] == FF__PTX_VARYING)
            return FF__PTX_VARYING;
        affine |= shapes[i - 1] == FF__PTX_AFFINE;
    }
    if (!affine)
        return FF__PTX_UNIFORM;
    if (operands[0].kind != FF__PTX_REGISTER ||
        ff__ptx_type_kind(flow->function->registers[operands[0].index].type) == 'f')
        return FF__PTX_VARYING; /* bits that grow are no value that grows */
    return keeps_affine(flow, instruction, shapes) ? FF__PTX_AFFINE : FF__PTX_VARYING;
}

/* ---- registers that can be computed again ---- */

#define UNKNOWN    255u
#define MOST_STEPS 64u /* of a chain of instructions */

struct again {
    const struct ff__ptx_flow *flow;
    struct ff__ptx_shapes *shapes;
    uint32_t depth;
    uint32_t longest; /* chain of what was looked up since it was 0 */
    uint8_t *steps;   /* by register: how long its chain is */
};

static void note_chain(struct again *again, uint32_t reg) {
    if (again->steps[reg] > again->longest)
        again->longest = again->steps[reg];
}

/* Its chain, of which the operands' were looked up. */
static enum ff__ptx_shape end_chain(struct again *again, uint32_t reg, enum ff__ptx_shape shape) {
    if (again->longest == MOST_STEPS)
        return FF__PTX_VARYING;
    if (shape != FF__PTX_VARYING)
        again->steps[reg] = (uint8_t)(again->longest + 1);
    return shape;
}

static enum ff__ptx_shape again_shape(void *context, uint32_t reg) {
    struct again *again = context;
    struct ff__ptx_shapes *shapes = again->shapes;
    if (shapes->again[reg] != UNKNOWN) {
        note_chain(again, reg);
        return shapes->again[reg];
    }
    uint32_t definition = shapes->definition[reg];
    shapes->again[reg] = FF__PTX_VARYING; /* also what a cycle meets */
    if (definition == FF__PTX_NONE || again->depth == MOST_STEPS)
        return FF__PTX_VARYING;
    uint32_t longest = again->longest;
    again->longest = 0;
    again->depth++;
    enum ff__ptx_shape shape = ff__ptx_result_shape(
        again->flow, &again->flow->function->instructions[definition], again_shape, again);
    again->depth--;
    shapes->again[reg] = (uint8_t)end_chain(again, reg, shape);
    again->longest = longest;
    note_chain(again, reg);
    return shapes->again[reg];
}

/* ---- registers among threads at the same place ---- */

struct among {
    const struct ff__ptx_flow *flow;
    struct ff__ptx_shapes *shapes;
    bool *parts; /* by block: its branch parts threads */
};

static enum ff__ptx_shape shape_among(void *context, uint32_t reg) {
    const struct among *among = context;
    return among->shapes->shape[reg];
}

/* How much an operand grows from thread to thread. */
static int64_t operand_step(const struct ff__ptx_shapes *shapes,
                            const struct ff__ptx_operand *operand) {
    if (operand->kind == FF__PTX_REGISTER)
        return shapes->step[operand->index];
    return operand->kind == FF__PTX_SPECIAL &&
           (operand->index == FF__PTX_S_LANEID ||
            (operand->index == FF__PTX_S_TID && operand->component == 0));
}

/* The factor by which a product's result grows faster than its operand, if it is written out. */
static bool known_factor(const struct ff__ptx_instruction *instruction,
                         const struct ff__ptx_operand *operands, int64_t *step, int64_t other) {
    uint32_t at = operands[1].kind == FF__PTX_INTEGER ? 1 : 2;
    if (operands[at].kind != FF__PTX_INTEGER)
        return *step == 0 && other == 0;
    uint64_t factor = operands[at].bits;
    enum ff__ptx_type type = instruction->types[instruction->type_count - 1];
    if (ff__ptx_has(instruction, FF__PTX_M_WIDE) && ff__ptx_type_kind(type) != 's')
        factor = (uint32_t)factor;
    *step = (int64_t)((uint64_t)(at == 1 ? other : *step) * factor);
    return true;
}

/* The step of an affine result. False: it is not known before the kernel runs. */
static bool affine_step(const struct among *among, const struct ff__ptx_instruction *instruction,
                        int64_t *step) {
    const struct ff__ptx_operand *operands =
        &among->flow->function->operands[instruction->operands];
    int64_t first = operand_step(among->shapes, &operands[1]);
    int64_t second = instruction->operand_count > 2 ? operand_step(among->shapes, &operands[2]) : 0;
    *step = first;
    switch (instruction->opcode) {
    case OP(add):
        *step += second;
        break;
    case OP(sub):
        *step -= second;
        break;
    case OP(mul):
    case OP(mad):
        if (!known_factor(instruction, operands, step, second))
            return false;
        if (instruction->opcode == OP(mad))
            *step += operand_step(among->shapes, &operands[3]);
        break;
    case OP(shl):
        *step = (int64_t)((uint64_t)first << operands[2].bits);
        break;
    default:
        break;
    }
    const struct ff__ptx_register *result = &among->flow->function->registers[operands[0].index];
    if (ff__ptx_type_size(result->type) == 4)
        *step = (int32_t)*step;
    return true;
}

static enum ff__ptx_shape result_among(struct among *among, uint32_t number, int64_t *step) {
    const struct ff__ptx_flow *flow = among->flow;
    const struct ff__ptx_instruction *instruction = &flow->function->instructions[number];
    *step = 0;
    if ((instruction->opcode == OP(bar) || instruction->opcode == OP(barrier)) &&
        instruction->guard == FF__PTX_NONE)
        return FF__PTX_UNIFORM; /* reductions over the block */
    enum ff__ptx_shape shape = ff__ptx_result_shape(flow, instruction, shape_among, among);
    if (shape == FF__PTX_AFFINE && !affine_step(among, instruction, step))
        return FF__PTX_VARYING;
    return shape;
}

/* Nothing is known of a register before its first instruction is looked at. */
static bool reads_unknown(const struct among *among, const struct ff__ptx_uses *uses) {
    for (uint32_t i = 0; i < uses->read_count; i++)
        if (among->shapes->shape[uses->reads[i]] == UNKNOWN)
            return true;
    return false;
}

static bool meet(struct ff__ptx_shapes *shapes, uint32_t reg, enum ff__ptx_shape shape,
                 int64_t step) {
    if (shapes->shape[reg] == FF__PTX_VARYING ||
        (shapes->shape[reg] == shape && shapes->step[reg] == step))
        return false;
    bool first = shapes->shape[reg] == UNKNOWN;
    shapes->shape[reg] = first ? (uint8_t)shape : FF__PTX_VARYING;
    shapes->step[reg] = first ? step : 0;
    return true;
}

bool ff__ptx_parts(const struct ff__ptx_flow *flow, const struct ff__ptx_shapes *shapes,
                   uint32_t block) {
    const struct ff__ptx_function *function = flow->function;
    const struct ff__ptx_block *from = &flow->blocks[block];
    const struct ff__ptx_instruction *last = &function->instructions[from->end - 1];
    if (last->opcode != OP(bra) && last->opcode != OP(brx))
        return false;
    if (last->guard != FF__PTX_NONE && shapes->shape[last->guard] == FF__PTX_VARYING)
        return true;
    const struct ff__ptx_operand *index = &function->operands[last->operands];
    return last->opcode == OP(brx) && index->kind == FF__PTX_REGISTER &&
           shapes->shape[index->index] != FF__PTX_UNIFORM;
}

/* -1: no memory; else whether anything has changed. */
static int update_parted(struct among *among) {
    const struct ff__ptx_flow *flow = among->flow;
    bool changed = false;
    for (uint32_t i = 0; i < flow->block_count; i++) {
        if (among->parts[i] || !ff__ptx_parts(flow, among->shapes, i))
            continue;
        among->parts[i] = changed = true;
        const uint64_t *parted = ff__ptx_parted(flow, among->shapes->meetings, i);
        if (parted == NULL)
            return -1;
        for (uint32_t reg = 0; reg < flow->function->register_count; reg++)
            if (ff__ptx_in(parted, reg))
                meet(among->shapes, reg, FF__PTX_VARYING, 0);
    }
    return changed;
}

static bool update_results(struct among *among) {
    const struct ff__ptx_function *function = among->flow->function;
    bool changed = false;
    struct ff__ptx_uses uses;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        ff__ptx_uses(function, &function->instructions[i], &uses);
        if (uses.write_count == 0 || reads_unknown(among, &uses))
            continue;
        int64_t step;
        enum ff__ptx_shape shape = result_among(among, i, &step);
        for (uint32_t k = 0; k < uses.write_count; k++)
            changed |= meet(among->shapes, uses.writes[k], shape, step);
    }
    return changed;
}

/* Registers that are read and never written are anything. */
static void unknown_vary(struct among *among) {
    for (uint32_t reg = 0; reg < among->flow->function->register_count; reg++)
        if (among->shapes->shape[reg] == UNKNOWN)
            among->shapes->shape[reg] = FF__PTX_VARYING;
}

static int find_among(struct among *among) {
    int parted;
    memset(among->shapes->shape, UNKNOWN, among->flow->function->register_count);
    for (bool again = true;;) {
        while (update_results(among)) {
        }
        parted = update_parted(among);
        if (parted < 0)
            return -ENOMEM;
        if (parted != 0)
            continue;
        if (!again)
            return 0;
        unknown_vary(among);
        again = false;
    }
}

static void find_definitions(const struct ff__ptx_flow *flow, struct ff__ptx_shapes *out) {
    const struct ff__ptx_function *function = flow->function;
    bool *several = ff__ptx_arena_alloc(flow->arena, function->register_count + 1ul, 1);
    memset(out->definition, 0xff, function->register_count * sizeof *out->definition);
    struct ff__ptx_uses uses;
    for (uint32_t i = 0; several != NULL && i < function->instruction_count; i++) {
        ff__ptx_uses(function, &function->instructions[i], &uses);
        for (uint32_t k = 0; k < uses.write_count; k++) {
            uint32_t reg = uses.writes[k];
            if (several[reg] || out->definition[reg] != FF__PTX_NONE) {
                several[reg] = true;
                out->definition[reg] = FF__PTX_NONE;
            } else {
                out->definition[reg] = i;
            }
        }
    }
}

int ff__ptx_find_shapes(const struct ff__ptx_flow *flow, struct ff__ptx_shapes *out) {
    uint32_t count = flow->function->register_count;
    struct ff__ptx_arena *arena = flow->arena;
    out->definition = ff__ptx_arena_alloc(arena, count + 1ul, sizeof *out->definition);
    out->again = ff__ptx_arena_alloc(arena, count + 1ul, sizeof *out->again);
    out->shape = ff__ptx_arena_alloc(arena, count + 1ul, sizeof *out->shape);
    out->step = ff__ptx_arena_alloc(arena, count + 1ul, sizeof *out->step);
    out->meetings = ff__ptx_meetings(flow);
    struct among among = {.flow = flow,
                          .shapes = out,
                          .parts = ff__ptx_arena_alloc(arena, flow->block_count + 1ul, 1)};
    if (among.parts == NULL || out->meetings == NULL)
        return -ENOMEM;
    find_definitions(flow, out);
    memset(out->again, UNKNOWN, count);
    struct again again = {
        .flow = flow, .shapes = out, .steps = ff__ptx_arena_alloc(arena, count + 1ul, 1)};
    if (again.steps == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        again_shape(&again, i);
    return find_among(&among);
}
