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
    case FF__PTX_S_NSMID:
    case FF__PTX_S_GRIDID:
    case FF__PTX_S_TOTAL_SMEM_SIZE:
    case FF__PTX_S_DYNAMIC_SMEM_SIZE:
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
    return keeps_affine(flow, instruction, shapes) ? FF__PTX_AFFINE : FF__PTX_VARYING;
}

/* ---- registers that can be computed again ---- */

#define UNKNOWN    255u
#define MOST_STEPS 64u /* of a chain of instructions */

struct again {
    const struct ff__ptx_flow *flow;
    struct ff__ptx_shapes *shapes;
    uint32_t depth;
};

static enum ff__ptx_shape again_shape(void *context, uint32_t reg) {
    struct again *again = context;
    struct ff__ptx_shapes *shapes = again->shapes;
    if (shapes->again[reg] != UNKNOWN)
        return shapes->again[reg];
    uint32_t definition = shapes->definition[reg];
    shapes->again[reg] = FF__PTX_VARYING; /* also what a cycle meets */
    if (definition == FF__PTX_NONE || again->depth == MOST_STEPS)
        return FF__PTX_VARYING;
    again->depth++;
    enum ff__ptx_shape shape = ff__ptx_result_shape(
        again->flow, &again->flow->function->instructions[definition], again_shape, again);
    again->depth--;
    shapes->again[reg] = (uint8_t)shape;
    return shape;
}

/* ---- uniform registers ---- */

struct divergence {
    const struct ff__ptx_flow *flow;
    struct ff__ptx_shapes *shapes;
    bool *divergent;   /* by block: not all threads of a row come there together */
    uint32_t *meeting; /* by block: its immediate post-dominator; block_count: the end */
};

static enum ff__ptx_shape uniform_shape(void *context, uint32_t reg) {
    const struct divergence *divergence = context;
    return divergence->shapes->uniform[reg] ? FF__PTX_UNIFORM : FF__PTX_VARYING;
}

/* Post-dominators, with the end as the block block_count: the iteration of Cooper, Harvey and
 * Kennedy on the reversed graph. The text's order stands for theirs, so it takes more rounds. */
static uint32_t common(const uint32_t *meeting, uint32_t end, uint32_t a, uint32_t b,
                       uint32_t limit) {
    for (uint32_t steps = 0; a != b && steps < limit; steps++) {
        if (a < b)
            a = meeting[a];
        else
            b = meeting[b];
        if (a == FF__PTX_NONE || b == FF__PTX_NONE)
            return end;
    }
    return a == b ? a : end;
}

/* Exact where branches back go to blocks whose own way on is later in the text; else the end stands
 * for the block where ways meet, so that more counts as divergent. */
static void find_meetings(struct divergence *divergence) {
    const struct ff__ptx_flow *flow = divergence->flow;
    uint32_t end = flow->block_count;
    for (uint32_t i = 0; i < end; i++)
        divergence->meeting[i] = FF__PTX_NONE;
    divergence->meeting[end] = end;
    for (uint32_t round = 0; round < 8; round++) {
        bool changed = false;
        for (uint32_t i = end; i-- > 0;) {
            const struct ff__ptx_block *block = &flow->blocks[i];
            uint32_t meeting = block->successor_count == 0 ? end : FF__PTX_NONE;
            const struct ff__ptx_instruction *last = &flow->function->instructions[block->end - 1];
            bool may_end = last->guard != FF__PTX_NONE &&
                           (last->opcode == OP(ret) || last->opcode == OP(exit));
            if (may_end)
                meeting = end;
            for (uint32_t k = 0; k < block->successor_count; k++) {
                uint32_t next = block->successors[k];
                if (next != i && (next > i || divergence->meeting[next] != FF__PTX_NONE))
                    meeting = meeting == FF__PTX_NONE
                                  ? next
                                  : common(divergence->meeting, end, meeting, next, 2 * end + 2);
            }
            changed |= meeting != divergence->meeting[i];
            divergence->meeting[i] = meeting;
        }
        if (!changed)
            return;
    }
    for (uint32_t i = 0; i < end; i++)
        divergence->meeting[i] = end;
}

/* Blocks between a branch and where its ways meet. */
static bool spread(struct divergence *divergence, uint32_t from, uint32_t meeting) {
    const struct ff__ptx_flow *flow = divergence->flow;
    bool changed = false;
    uint32_t *stack = ff__ptx_arena_alloc(flow->arena, flow->block_count + 1ul, sizeof *stack);
    bool *seen = ff__ptx_arena_alloc(flow->arena, flow->block_count + 1ul, sizeof *seen);
    if (seen == NULL)
        return false;
    uint32_t depth = 0;
    stack[depth++] = from;
    while (depth != 0) {
        const struct ff__ptx_block *block = &flow->blocks[stack[--depth]];
        for (uint32_t k = 0; k < block->successor_count; k++) {
            uint32_t next = block->successors[k];
            if (next == meeting || seen[next])
                continue;
            seen[next] = true;
            changed |= !divergence->divergent[next];
            divergence->divergent[next] = true;
            stack[depth++] = next;
        }
    }
    return changed;
}

static bool branches_apart(const struct divergence *divergence, const struct ff__ptx_block *block) {
    const struct ff__ptx_function *function = divergence->flow->function;
    const struct ff__ptx_instruction *last = &function->instructions[block->end - 1];
    if (last->guard != FF__PTX_NONE && !divergence->shapes->uniform[last->guard] &&
        (block->successor_count > 1 || last->opcode == OP(bra)))
        return true;
    const struct ff__ptx_operand *index = &function->operands[last->operands];
    return last->opcode == OP(brx) && index->kind == FF__PTX_REGISTER &&
           !divergence->shapes->uniform[index->index];
}

static bool is_uniform_result(struct divergence *divergence, uint32_t number) {
    const struct ff__ptx_flow *flow = divergence->flow;
    const struct ff__ptx_instruction *instruction = &flow->function->instructions[number];
    if ((instruction->opcode == OP(bar) || instruction->opcode == OP(barrier)) &&
        instruction->guard == FF__PTX_NONE)
        return true; /* reductions over the block */
    return ff__ptx_result_shape(flow, instruction, uniform_shape, divergence) == FF__PTX_UNIFORM;
}

static bool update_uniform(struct divergence *divergence) {
    const struct ff__ptx_flow *flow = divergence->flow;
    bool changed = false;
    struct ff__ptx_uses uses;
    for (uint32_t i = 0; i < flow->function->instruction_count; i++) {
        ff__ptx_uses(flow->function, &flow->function->instructions[i], &uses);
        bool uniform = uses.write_count == 0 || is_uniform_result(divergence, i);
        for (uint32_t k = 0; k < uses.write_count; k++) {
            uint32_t reg = uses.writes[k];
            bool apart = divergence->shapes->definition[reg] == FF__PTX_NONE &&
                         divergence->divergent[flow->block_of[i]];
            if ((!uniform || apart) && divergence->shapes->uniform[reg]) {
                divergence->shapes->uniform[reg] = false;
                changed = true;
            }
        }
    }
    for (uint32_t i = 0; i < flow->block_count; i++)
        if (branches_apart(divergence, &flow->blocks[i]))
            changed |= spread(divergence, i, divergence->meeting[i]);
    return changed;
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
    out->uniform = ff__ptx_arena_alloc(arena, count + 1ul, sizeof *out->uniform);
    struct divergence divergence = {
        .flow = flow,
        .shapes = out,
        .divergent = ff__ptx_arena_alloc(arena, flow->block_count + 1ul, 1),
        .meeting = ff__ptx_arena_alloc(arena, flow->block_count + 1ul, sizeof(uint32_t))};
    if (divergence.meeting == NULL)
        return -ENOMEM;
    find_definitions(flow, out);
    memset(out->again, UNKNOWN, count);
    struct again again = {.flow = flow, .shapes = out};
    for (uint32_t i = 0; i < count; i++)
        again_shape(&again, i);
    memset(out->uniform, true, count);
    find_meetings(&divergence);
    while (update_uniform(&divergence))
        ;
    return 0;
}
