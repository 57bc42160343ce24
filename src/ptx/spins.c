/* Loops in which a thread may wait for another one: those that look at memory again and again. */
#include "ptx/regions.h"

#include <string.h>

#define OP(name) FF__PTX_OP_##name

/* An instruction that looks at memory, and the loops around it: blocks that a thread may come
 * through before it looks again. */
struct look {
    const struct ff__ptx_flow *flow;
    const struct ff__ptx_shapes *shapes;
    uint32_t block;
    uint64_t *loop; /* set */
    uint64_t *seen;
    uint32_t *stack;
};

static bool looks(const struct ff__ptx_instruction *instruction) {
    switch (instruction->opcode) {
    case OP(nanosleep):
        return true;
    case OP(atom):
        return ff__ptx_has(instruction, FF__PTX_M_CAS) || ff__ptx_has(instruction, FF__PTX_M_EXCH);
    case OP(ld):
        return ff__ptx_has(instruction, FF__PTX_M_VOLATILE) ||
               ff__ptx_has(instruction, FF__PTX_M_RELAXED) ||
               ff__ptx_has(instruction, FF__PTX_M_ACQUIRE);
    default:
        return false;
    }
}

/* Whether a thread can come from the end of a block to another one without a third. */
static bool reaches(const struct look *look, uint32_t from, uint32_t to, uint32_t without) {
    const struct ff__ptx_flow *flow = look->flow;
    uint32_t depth = 0;
    memset(look->seen, 0, flow->block_words * sizeof *look->seen);
    for (look->stack[depth++] = from; depth != 0;) {
        const struct ff__ptx_block *block = &flow->blocks[look->stack[--depth]];
        for (uint32_t k = 0; k < block->successor_count; k++) {
            uint32_t next = block->successors[k];
            if (next == to)
                return true;
            if (next == without || ff__ptx_in(look->seen, next))
                continue;
            ff__ptx_put(look->seen, next);
            look->stack[depth++] = next;
        }
    }
    return false;
}

static void fill_loop(struct look *look) {
    memset(look->loop, 0, look->flow->block_words * sizeof *look->loop);
    for (uint32_t b = 0; b < look->flow->block_count; b++)
        if (reaches(look, look->block, b, FF__PTX_NONE) &&
            reaches(look, b, look->block, FF__PTX_NONE))
            ff__ptx_put(look->loop, b);
}

/* Each round comes there. */
static bool every_round(const struct look *look, uint32_t block) {
    return block == look->block || !reaches(look, look->block, look->block, block);
}

static bool adds_constant(const struct look *look, uint32_t number, uint32_t reg) {
    const struct ff__ptx_instruction *instruction = &look->flow->function->instructions[number];
    const struct ff__ptx_operand *operands = &look->flow->function->operands[instruction->operands];
    return instruction->opcode == OP(add) && instruction->guard == FF__PTX_NONE &&
           operands[1].kind == FF__PTX_REGISTER && operands[1].index == reg &&
           operands[2].kind == FF__PTX_INTEGER && operands[2].bits != 0;
}

/* How many instructions of the loop write a register; *last: one of them. */
static uint32_t writes_in_loop(const struct look *look, uint32_t reg, uint32_t *last) {
    const struct ff__ptx_function *function = look->flow->function;
    struct ff__ptx_uses uses;
    uint32_t count = 0;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        if (!ff__ptx_in(look->loop, look->flow->block_of[i]))
            continue;
        ff__ptx_uses(function, &function->instructions[i], &uses);
        for (uint32_t k = 0; k < uses.write_count; k++) {
            if (uses.writes[k] != reg)
                continue;
            count++;
            *last = i;
        }
    }
    return count;
}

/* Each round adds the same to it. */
static bool is_counter(const struct look *look, const struct ff__ptx_operand *operand) {
    uint32_t at;
    return operand->kind == FF__PTX_REGISTER && writes_in_loop(look, operand->index, &at) == 1 &&
           adds_constant(look, at, operand->index) && every_round(look, look->flow->block_of[at]);
}

/* Each round compares a counter there, and leaves by what comes out. */
static bool ends_by_count(const struct look *look, uint32_t number) {
    const struct ff__ptx_flow *flow = look->flow;
    const struct ff__ptx_block *block = &flow->blocks[number];
    const struct ff__ptx_instruction *last = &flow->function->instructions[block->end - 1];
    if (last->opcode != OP(bra) || last->guard == FF__PTX_NONE || !every_round(look, number))
        return false;
    uint32_t definition = look->shapes->definition[last->guard];
    bool leaves = false;
    for (uint32_t k = 0; k < block->successor_count; k++)
        leaves |= !ff__ptx_in(look->loop, block->successors[k]);
    if (!leaves || definition == FF__PTX_NONE ||
        !ff__ptx_in(look->loop, flow->block_of[definition]))
        return false;
    const struct ff__ptx_instruction *test = &flow->function->instructions[definition];
    const struct ff__ptx_operand *operands = &flow->function->operands[test->operands];
    return test->opcode == OP(setp) &&
           is_counter(look, &operands[1]) != is_counter(look, &operands[2]);
}

/* A loop that counts, and looks at another place in each round, waits for nobody. */
static bool is_walk(const struct look *look, const struct ff__ptx_instruction *instruction) {
    const struct ff__ptx_operand *address =
        &look->flow->function->operands[instruction->operands + 1];
    uint32_t at;
    if (instruction->opcode == OP(nanosleep) || address->kind != FF__PTX_REGISTER ||
        writes_in_loop(look, address->index, &at) == 0)
        return false;
    for (uint32_t b = 0; b < look->flow->block_count; b++)
        if (ff__ptx_in(look->loop, b) && ends_by_count(look, b))
            return true;
    return false;
}

/* Text order is close enough to loops' nesting: code from the target of a backward branch to that
 * branch is the loop. */
static bool may_wait(struct look *look, uint32_t header, uint32_t latch) {
    const struct ff__ptx_flow *flow = look->flow;
    for (uint32_t i = flow->blocks[header].first; i < flow->blocks[latch].end; i++) {
        const struct ff__ptx_instruction *instruction = &flow->function->instructions[i];
        if (!looks(instruction))
            continue;
        look->block = flow->block_of[i];
        fill_loop(look);
        if (!is_walk(look, instruction))
            return true;
    }
    return false;
}

bool ff__ptx_cut_spins(const struct ff__ptx_flow *flow, const struct ff__ptx_shapes *shapes,
                       bool all, bool *cut) {
    struct ff__ptx_arena *arena = flow->arena;
    struct look look = {.flow = flow, .shapes = shapes};
    look.loop = ff__ptx_arena_alloc(arena, flow->block_words, sizeof *look.loop);
    look.seen = ff__ptx_arena_alloc(arena, flow->block_words, sizeof *look.seen);
    look.stack = ff__ptx_arena_alloc(arena, flow->block_count, sizeof *look.stack);
    if (look.loop == NULL || look.seen == NULL || look.stack == NULL)
        return false;
    for (uint32_t i = 0; i < flow->block_count; i++) {
        const struct ff__ptx_block *block = &flow->blocks[i];
        for (uint32_t k = 0; k < block->successor_count; k++) {
            uint32_t target = block->successors[k];
            if (target <= i && (all || may_wait(&look, target, i)))
                cut[target] = true;
        }
    }
    return true;
}
