/* Uniform loops. */
#include "ptx/regions.h"

#include <string.h>

#define OP(name) FF__PTX_OP_##name

struct loop {
    const struct ff__ptx_flow *flow;
    const struct ff__ptx_shapes *shapes;
    uint32_t header, latch;
    uint64_t *blocks;    /* set: from the header to the latch */
    uint64_t *sometimes; /* set: those that not all threads come to in a round */
    bool in_order;
};

/* What threads do together in a vectorized loop; not what one does after the other. */
static bool is_plain(const struct ff__ptx_instruction *instruction) {
    switch (instruction->opcode) {
    case OP(call):
    case OP(ret):
    case OP(exit):
    case OP(trap):
    case OP(brx):
    case OP(atom):
    case OP(red):
    case OP(tex):
    case OP(tld4):
    case OP(suld):
    case OP(sust):
    case OP(sured):
    case OP(nanosleep):
        return false;
    default:
        return !ff__ptx_suspends(instruction) && !ff__ptx_has(instruction, FF__PTX_M_VOLATILE) &&
               !ff__ptx_has(instruction, FF__PTX_M_RELAXED) &&
               !ff__ptx_has(instruction, FF__PTX_M_ACQUIRE);
    }
}

static bool all_plain(const struct loop *loop) {
    for (uint32_t b = 0; b < loop->flow->block_count; b++) {
        if (!ff__ptx_in(loop->blocks, b))
            continue;
        const struct ff__ptx_block *block = &loop->flow->blocks[b];
        for (uint32_t i = block->first; i < block->end; i++)
            if (!is_plain(&loop->flow->function->instructions[i]))
                return false;
    }
    return true;
}

/* The blocks from which the latch is reached without the header. */
static void fill(struct loop *loop) {
    const struct ff__ptx_flow *flow = loop->flow;
    ff__ptx_put(loop->blocks, loop->header);
    ff__ptx_put(loop->blocks, loop->latch);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = flow->block_count; b-- > 0;) {
            const struct ff__ptx_block *block = &flow->blocks[b];
            for (uint32_t k = 0; k < block->successor_count && !ff__ptx_in(loop->blocks, b); k++) {
                uint32_t next = block->successors[k];
                if (next != loop->header && ff__ptx_in(loop->blocks, next)) {
                    ff__ptx_put(loop->blocks, b);
                    changed = true;
                }
            }
        }
    }
}

/* One way in, one way back, and no other loop inside. */
static bool is_simple(const struct loop *loop) {
    const struct ff__ptx_flow *flow = loop->flow;
    for (uint32_t b = 0; b < flow->block_count; b++) {
        const struct ff__ptx_block *block = &flow->blocks[b];
        bool inside = ff__ptx_in(loop->blocks, b);
        for (uint32_t k = 0; k < block->successor_count; k++) {
            uint32_t next = block->successors[k];
            if (!inside && next != loop->header && ff__ptx_in(loop->blocks, next))
                return false;
            if (inside && next <= b && ff__ptx_in(loop->blocks, next) &&
                (next != loop->header || b != loop->latch))
                return false;
        }
    }
    return true;
}

static enum ff__ptx_shape shape_of(const struct loop *loop, const struct ff__ptx_operand *operand) {
    if (operand->kind == FF__PTX_REGISTER)
        return loop->shapes->shape[operand->index];
    return operand->kind == FF__PTX_INTEGER ? FF__PTX_UNIFORM : FF__PTX_VARYING;
}

/* The latch compares what grows from thread to thread with what is the same in all: threads that
 * are next to each other mostly leave in one round. */
static bool leaves_in_order(const struct loop *loop, uint32_t block) {
    const struct ff__ptx_function *function = loop->flow->function;
    const struct ff__ptx_instruction *last =
        &function->instructions[loop->flow->blocks[block].end - 1];
    if (block != loop->latch || last->opcode != OP(bra) || last->guard == FF__PTX_NONE)
        return false;
    uint32_t definition = loop->shapes->definition[last->guard];
    if (definition == FF__PTX_NONE || !ff__ptx_in(loop->blocks, loop->flow->block_of[definition]))
        return false;
    const struct ff__ptx_instruction *test = &function->instructions[definition];
    const struct ff__ptx_operand *operands = &function->operands[test->operands];
    if (test->opcode != OP(setp) || test->operand_count != 3 || test->guard != FF__PTX_NONE ||
        ff__ptx_has(test, FF__PTX_M_EQ) || ff__ptx_has(test, FF__PTX_M_NE))
        return false;
    enum ff__ptx_shape a = shape_of(loop, &operands[1]), b = shape_of(loop, &operands[2]);
    return (a == FF__PTX_AFFINE && b == FF__PTX_UNIFORM) ||
           (a == FF__PTX_UNIFORM && b == FF__PTX_AFFINE);
}

/* Branches that part threads bring them together again before the round ends. */
static bool find_sometimes(struct loop *loop) {
    const struct ff__ptx_flow *flow = loop->flow;
    for (uint32_t b = 0; b < flow->block_count; b++) {
        if (!ff__ptx_in(loop->blocks, b) || !ff__ptx_parts(flow, loop->shapes, b))
            continue;
        if (leaves_in_order(loop, b)) {
            loop->in_order = true;
            continue;
        }
        uint32_t meeting = loop->shapes->meetings[b];
        if (meeting == loop->header || !ff__ptx_in(loop->blocks, meeting) ||
            !ff__ptx_between(flow, loop->shapes->meetings, b, loop->sometimes))
            return false;
    }
    return true;
}

static bool leaves_together(const struct loop *loop) {
    const struct ff__ptx_flow *flow = loop->flow;
    for (uint32_t b = 0; b < flow->block_count; b++) {
        const struct ff__ptx_block *block = &flow->blocks[b];
        if (!ff__ptx_in(loop->sometimes, b))
            continue;
        for (uint32_t k = 0; k < block->successor_count; k++)
            if (block->successors[k] == loop->header ||
                !ff__ptx_in(loop->blocks, block->successors[k]))
                return false;
    }
    return true;
}

static void mark(const struct loop *loop, struct ff__ptx_regions *regions) {
    const struct ff__ptx_flow *flow = loop->flow;
    regions->cut[loop->header] = regions->loop[loop->header] = true;
    regions->in_order[loop->header] = loop->in_order;
    for (uint32_t b = 0; b < flow->block_count; b++)
        for (uint32_t k = 0; ff__ptx_in(loop->blocks, b) && k < flow->blocks[b].successor_count;
             k++)
            if (!ff__ptx_in(loop->blocks, flow->blocks[b].successors[k]))
                regions->cut[flow->blocks[b].successors[k]] = true;
}

static bool look_at(struct loop *loop, struct ff__ptx_regions *regions) {
    const struct ff__ptx_flow *flow = loop->flow;
    loop->blocks = ff__ptx_arena_alloc(flow->arena, flow->block_words, sizeof *loop->blocks);
    loop->sometimes = ff__ptx_arena_alloc(flow->arena, flow->block_words, sizeof *loop->sometimes);
    if (loop->blocks == NULL || loop->sometimes == NULL)
        return false;
    fill(loop);
    if (is_simple(loop) && all_plain(loop) && find_sometimes(loop) && leaves_together(loop))
        mark(loop, regions);
    return true;
}

bool ff__ptx_cut_uniform_loops(const struct ff__ptx_flow *flow, const struct ff__ptx_shapes *shapes,
                               struct ff__ptx_regions *regions) {
    for (uint32_t b = 0; b < flow->block_count; b++)
        for (uint32_t k = 0; k < flow->blocks[b].successor_count; k++) {
            struct loop loop = {.flow = flow,
                                .shapes = shapes,
                                .header = flow->blocks[b].successors[k],
                                .latch = b};
            if (loop.header <= b && !look_at(&loop, regions))
                return false;
        }
    return true;
}
