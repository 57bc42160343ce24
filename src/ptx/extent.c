/* The analysis of extents: sweeps over a kernel's blocks, in an order in which all but the edges
 * back of loops go forward. Each sweep begins with what the one before it found at those. */
#include "ptx/extent_internal.h"

#include <string.h>

#define OP(name)    FF__PTX_OP_##name

#define MOST_ROUNDS ((int64_t)1 << 40)
#define MOST_SPAN   ((int64_t)1 << 40) /* bytes: of more, nothing is known */

uint32_t ff__ptx_extents_count(const struct ff__ptx_extents *extents) {
    return extents->access_count;
}

bool ff__ptx_extents_complete(const struct ff__ptx_extents *extents) {
    return extents->complete;
}

/* ---- accesses ---- */

static uint32_t vector_size(const struct ff__ptx_instruction *instruction) {
    return ff__ptx_has(instruction, FF__PTX_M_V2)   ? 2
           : ff__ptx_has(instruction, FF__PTX_M_V4) ? 4
           : ff__ptx_has(instruction, FF__PTX_M_V8) ? 8
                                                    : 1;
}

/* Bytes of a thread; 0: it depends on the matrix's stride. */
static uint32_t access_size(const struct ff__ptx_extents *extents,
                            const struct ff__ptx_instruction *instruction) {
    const struct ff__ptx_operand *operands = &extents->function->operands[instruction->operands];
    if (instruction->opcode == OP(cp))
        return operands[2].kind == FF__PTX_INTEGER ? (uint32_t)operands[2].bits : 0;
    if (instruction->opcode == OP(wmma) || instruction->type_count == 0)
        return 0;
    return vector_size(instruction) *
           ff__ptx_type_size(instruction->types[instruction->type_count - 1]);
}

/* Of a copy, the second one: it is from global memory to shared. */
static const struct ff__ptx_operand *address_of(const struct ff__ptx_extents *extents,
                                                const struct ff__ptx_instruction *instruction) {
    const struct ff__ptx_operand *operands = &extents->function->operands[instruction->operands];
    bool second = instruction->opcode == OP(cp);
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        if (operands[i].address && !second)
            return &operands[i];
        second &= !operands[i].address;
    }
    return NULL;
}

/* Whether every thread that the limits leave comes to the block. */
static bool is_reached_evenly(const struct ff__ptx_extents *extents, uint32_t block) {
    if (extents->uneven[block])
        return false;
    for (uint32_t w = 0; w < 2 * extents->flow.block_words; w++)
        for (uint64_t left = extents->controls[block][w]; left != 0; left &= left - 1)
            if (!extents->way_affine[64 * w + (uint32_t)__builtin_ctzll(left)])
                return false;
    return true;
}

static void set_interval(const struct ff__ptx_extents *extents, const struct state *state,
                         const struct extent_value *address, int64_t offset, uint32_t size,
                         struct ff__ptx_extent *out) {
    struct range range = ff__extent_value_range(extents, state, address);
    int64_t low, high;
    if (__builtin_add_overflow(range.low, offset, &low) ||
        __builtin_add_overflow(range.high, offset + size, &high) || low < 0 ||
        high - low > MOST_SPAN)
        return;
    out->low = (uint64_t)low;
    out->high = (uint64_t)high;
    out->kind = FF__PTX_BOUND;
}

static void see_access(struct ff__ptx_extents *extents, const struct state *state, uint32_t block,
                       const struct step *step) {
    const struct ff__ptx_instruction *instruction =
        &extents->function->instructions[step->instruction];
    const struct ff__ptx_operand *operand = address_of(extents, instruction);
    struct ff__ptx_extent *out = &extents->out[step->access];
    uint32_t size = access_size(extents, instruction);
    bool even = true;
    out->never = false;
    if (operand == NULL || operand->kind != FF__PTX_REGISTER)
        return;
    struct state *here = &extents->edge;
    ff__extent_copy(extents, here, state);
    if (instruction->guard != FF__PTX_NONE)
        even = extents->number_of[instruction->guard] == FF__PTX_NONE &&
               ff__extent_assume(extents, here, instruction->guard, !instruction->guard_negated);
    out->never = !here->reached;
    uint32_t number = extents->number_of[operand->index];
    const struct extent_value *address =
        number == FF__PTX_NONE ? &extents->singles[operand->index] : &here->values[number];
    out->parameter = address->base;
    if (size != 0 && !out->never)
        set_interval(extents, here, address, operand->offset, size, out);
    if (out->kind == FF__PTX_BOUND && even && address->has_form &&
        is_reached_evenly(extents, block) && ff__extent_is_dense(extents, here, &address->form))
        out->kind = FF__PTX_EXACT;
}

/* ---- blocks ---- */

static void pass_edge(struct ff__ptx_extents *extents, uint32_t from, uint32_t to) {
    struct state *edge = &extents->edge;
    uint32_t number = extents->loop_of[to];
    struct extent_loop *loop = number != FF__PTX_NONE ? &extents->loops[number] : NULL;
    if (loop != NULL && ff__ptx_in(loop->blocks, from)) {
        for (uint32_t n = 0; n < extents->number_count && edge->reached; n++)
            edge->values[n].range = ff__extent_value_range(extents, edge, &edge->values[n]);
        ff__extent_join(extents, &loop->back, edge, FF__PTX_NONE);
        return;
    }
    if (loop != NULL && extents->loops_around[from])
        ff__extent_forget(extents, edge, loop->atom);
    ff__extent_join(extents, &extents->in[to], edge, to);
}

/* The last instruction of a block, if it is done by some threads only: `rest` are the others. */
static bool take_way(struct ff__ptx_extents *extents, const struct state *state,
                     const struct ff__ptx_instruction *last, bool rest) {
    ff__extent_copy(extents, &extents->edge, state);
    if (last->guard == FF__PTX_NONE)
        return true;
    if (extents->number_of[last->guard] != FF__PTX_NONE)
        return false;
    return ff__extent_assume(extents, &extents->edge, last->guard, last->guard_negated == rest);
}

/* Whether the way is that of threads that do not branch; one to the function's end is none. */
static bool is_rest(const struct ff__ptx_extents *extents, const struct ff__ptx_block *block,
                    uint32_t way) {
    const struct ff__ptx_function *function = extents->function;
    const struct ff__ptx_instruction *last = &function->instructions[block->end - 1];
    if (last->opcode != OP(bra) || way == 1)
        return true;
    const struct ff__ptx_label *label = &function->labels[function->operands[last->operands].index];
    return extents->flow.block_of[label->instruction] == extents->flow.block_count;
}

static void leave_block(struct ff__ptx_extents *extents, const struct state *state, uint32_t b) {
    const struct ff__ptx_block *block = &extents->flow.blocks[b];
    const struct ff__ptx_instruction *last = &extents->function->instructions[block->end - 1];
    bool branches = last->opcode == OP(bra) || last->opcode == OP(ret) ||
                    last->opcode == OP(exit) || last->opcode == OP(trap);
    for (uint32_t k = 0; k < block->successor_count; k++) {
        uint32_t to = block->successors[k];
        bool only = block->successor_count == 2 && block->successors[0] == block->successors[1];
        bool affine = branches;
        if (branches && !only)
            affine = take_way(extents, state, last, is_rest(extents, block, k));
        else
            ff__extent_copy(extents, &extents->edge, state);
        extents->way_affine[2 * b + (k != 0)] = affine;
        pass_edge(extents, b, to);
    }
}

static void run_block(struct ff__ptx_extents *extents, uint32_t b) {
    struct state *state = &extents->in[b];
    for (uint32_t i = extents->first_step[b]; i < extents->first_step[b + 1]; i++) {
        if (extents->out != NULL && extents->steps[i].access != FF__PTX_NONE)
            see_access(extents, state, b, &extents->steps[i]);
        ff__extent_step(extents, state, i);
    }
    leave_block(extents, state, b);
}

static void sweep(struct ff__ptx_extents *extents, bool first) {
    for (uint32_t i = 0; i < extents->order_count; i++)
        extents->in[extents->order[i]].reached = false;
    struct state *start = &extents->in[0];
    start->reached = true;
    start->lossy = false;
    start->limit_count = 0;
    for (uint32_t n = 0; n < extents->number_count; n++)
        start->values[n] = (struct extent_value){
            .base = FF__PTX_NO_PARAMETER,
            .range = ff__extent_top((struct view){extents->number_bits[n], true})};
    for (uint32_t i = 0; i < extents->order_count; i++) {
        uint32_t b = extents->order[i];
        if (extents->loop_of[b] != FF__PTX_NONE)
            ff__extent_enter_loop(extents, &extents->loops[extents->loop_of[b]], &extents->in[b],
                                  first);
        if (extents->in[b].reached)
            run_block(extents, b);
        else
            extents->way_affine[2 * b] = extents->way_affine[2 * b + 1] = true;
    }
}

/* ---- launches ---- */

static void start(struct ff__ptx_extents *extents) {
    const struct ff__ptx_extent_launch *launch = extents->launch;
    for (uint32_t i = 0; i < 3; i++) {
        extents->ranges[TID + i] = (struct range){0, (int64_t)launch->block[i] - 1};
        extents->ranges[CTAID + i] = (struct range){0, (int64_t)launch->grid[i] - 1};
    }
    extents->ranges[LANE] = extents->ranges[WARP] = (struct range){0, 31};
    for (uint32_t i = 0; i < extents->loop_count; i++) {
        struct extent_loop *loop = &extents->loops[i];
        loop->back.reached = false;
        loop->even = loop->ragged = false;
        loop->most = MOST_ROUNDS;
        extents->ranges[loop->atom] = (struct range){0, MOST_ROUNDS};
        memset(loop->steps_known, 0, extents->number_count * sizeof *loop->steps_known);
    }
}

static void clear(struct ff__ptx_extents *extents, struct ff__ptx_extent *out) {
    for (uint32_t i = 0; i < extents->step_count; i++) {
        const struct step *step = &extents->steps[i];
        const struct ff__ptx_instruction *instruction =
            &extents->function->instructions[step->instruction];
        if (step->access == FF__PTX_NONE)
            continue;
        out[step->access] = (struct ff__ptx_extent){
            .instruction = step->instruction,
            .parameter = FF__PTX_NO_PARAMETER,
            .kind = FF__PTX_UNKNOWN,
            .write = instruction->opcode == OP(st) || instruction->opcode == OP(atom) ||
                     instruction->opcode == OP(red) ||
                     (instruction->opcode == OP(wmma) && ff__ptx_has(instruction, FF__PTX_M_STORE)),
            .never = true};
    }
}

void ff__ptx_extents_find(struct ff__ptx_extents *extents,
                          const struct ff__ptx_extent_launch *launch, struct ff__ptx_extent *out) {
    uint32_t sweeps = extents->loop_count == 0 ? 1 : 3 + extents->depth;
    extents->launch = launch;
    start(extents);
    clear(extents, out);
    for (uint32_t i = 0; i < sweeps; i++) {
        extents->out = i + 1 == sweeps ? out : NULL;
        sweep(extents, i == 0);
    }
}
