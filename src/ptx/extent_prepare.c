/* What the analysis of extents knows of a kernel before it is launched: its loops, which
 * instructions matter, and which registers are written at one place only. */
#include "ptx/extent_internal.h"

#include <errno.h>
#include <string.h>

#define OP(name)    FF__PTX_OP_##name

#define MOST_BLOCKS 4096u

struct preparing {
    struct ff__ptx_extents *extents;
    uint32_t *place;       /* by block: in the order */
    uint64_t **dominators; /* by block: set of blocks */
    bool *needed;          /* by register */
    uint32_t *writer;      /* by register: instruction; FF__PTX_NONE: none, or several */
    bool *several;         /* by register: written at several places, or read before that */
};

static void *need(struct preparing *all, size_t count, size_t size) {
    return ff__ptx_arena_alloc(all->extents->arena, count + 1, size);
}

/* ---- order of blocks, dominators, loops ---- */

static bool find_order(struct preparing *all) {
    struct ff__ptx_extents *extents = all->extents;
    uint32_t blocks = extents->flow.block_count, depth = 0, count = blocks;
    uint32_t *stack = need(all, blocks, sizeof *stack), *next = need(all, blocks, sizeof *next);
    bool *seen = need(all, blocks, sizeof *seen);
    extents->order = need(all, blocks, sizeof *extents->order);
    all->place = need(all, blocks, sizeof *all->place);
    if (all->place == NULL)
        return false;
    seen[0] = true;
    stack[depth++] = 0;
    while (depth != 0) {
        uint32_t block = stack[depth - 1];
        const struct ff__ptx_block *at = &extents->flow.blocks[block];
        if (next[block] == at->successor_count) {
            extents->order[--count] = block;
            depth--;
        } else if (!seen[at->successors[next[block]++]]) {
            uint32_t follows = at->successors[next[block] - 1];
            seen[follows] = true;
            stack[depth++] = follows;
        }
    }
    extents->order_count = blocks - count;
    memmove(extents->order, extents->order + count, extents->order_count * sizeof *extents->order);
    memset(all->place, 0xff, blocks * sizeof *all->place);
    for (uint32_t i = 0; i < extents->order_count; i++)
        all->place[extents->order[i]] = i;
    return true;
}

static bool find_dominators(struct preparing *all) {
    const struct ff__ptx_extents *extents = all->extents;
    uint32_t words = extents->flow.block_words, blocks = extents->flow.block_count;
    all->dominators = need(all, blocks, sizeof *all->dominators);
    for (uint32_t b = 0; all->dominators != NULL && b < blocks; b++) {
        all->dominators[b] = need(all, words, sizeof **all->dominators);
        if (all->dominators[b] == NULL)
            return false;
        memset(all->dominators[b], b == 0 ? 0 : 0xff, words * sizeof **all->dominators);
    }
    if (all->dominators == NULL)
        return false;
    ff__ptx_put(all->dominators[0], 0);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < extents->order_count; i++) {
            uint32_t from = extents->order[i];
            const struct ff__ptx_block *block = &extents->flow.blocks[from];
            for (uint32_t k = 0; k < block->successor_count; k++) {
                uint64_t *to = all->dominators[block->successors[k]];
                for (uint32_t w = 0; w < words; w++) {
                    uint64_t own = block->successors[k] / 64 == w
                                       ? UINT64_C(1) << (block->successors[k] % 64)
                                       : 0;
                    uint64_t both = to[w] & (all->dominators[from][w] | own);
                    changed |= both != to[w];
                    to[w] = both;
                }
            }
        }
    }
    return true;
}

/* The blocks from which the latch is reached without the header. */
static void fill_loop(const struct ff__ptx_extents *extents, struct extent_loop *loop,
                      uint32_t latch) {
    const struct ff__ptx_flow *flow = &extents->flow;
    ff__ptx_put(loop->blocks, loop->header);
    ff__ptx_put(loop->blocks, latch);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = extents->order_count; i-- > 0;) {
            uint32_t b = extents->order[i];
            const struct ff__ptx_block *block = &flow->blocks[b];
            for (uint32_t k = 0; k < block->successor_count && !ff__ptx_in(loop->blocks, b); k++)
                if (block->successors[k] != loop->header &&
                    ff__ptx_in(loop->blocks, block->successors[k])) {
                    ff__ptx_put(loop->blocks, b);
                    changed = true;
                }
        }
    }
}

static int add_latch(struct preparing *all, uint32_t header, uint32_t latch) {
    struct ff__ptx_extents *extents = all->extents;
    if (extents->loop_of[header] == FF__PTX_NONE) {
        struct extent_loop *loop = &extents->loops[extents->loop_count];
        loop->header = header;
        loop->atom = FIRST_LOOP + extents->loop_count;
        loop->blocks = need(all, extents->flow.block_words, sizeof *loop->blocks);
        if (loop->blocks == NULL)
            return -ENOMEM;
        extents->loop_of[header] = extents->loop_count++;
    }
    fill_loop(extents, &extents->loops[extents->loop_of[header]], latch);
    return 0;
}

/* Edges back must go to a block that is before on every way. */
static int find_loops(struct preparing *all) {
    struct ff__ptx_extents *extents = all->extents;
    uint32_t blocks = extents->flow.block_count;
    extents->loops = need(all, blocks, sizeof *extents->loops);
    extents->loop_of = need(all, blocks, sizeof *extents->loop_of);
    extents->loops_around = need(all, blocks, sizeof *extents->loops_around);
    if (extents->loops_around == NULL)
        return -ENOMEM;
    memset(extents->loop_of, 0xff, blocks * sizeof *extents->loop_of);
    for (uint32_t i = 0; i < extents->order_count; i++) {
        uint32_t b = extents->order[i];
        const struct ff__ptx_block *block = &extents->flow.blocks[b];
        for (uint32_t k = 0; k < block->successor_count; k++) {
            uint32_t to = block->successors[k];
            if (all->place[to] > i)
                continue;
            int code = ff__ptx_in(all->dominators[b], to) ? add_latch(all, to, b) : -ENOTSUP;
            if (code != 0)
                return code;
        }
    }
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t depth = 0;
        for (uint32_t i = 0; i < extents->loop_count; i++)
            depth += ff__ptx_in(extents->loops[i].blocks, b);
        extents->loops_around[b] = depth != 0;
        extents->depth = depth > extents->depth ? depth : extents->depth;
    }
    return 0;
}

/* ---- which branches decide whether a block runs ---- */

static bool may_part(const struct ff__ptx_extents *extents, uint32_t b) {
    const struct ff__ptx_block *block = &extents->flow.blocks[b];
    const struct ff__ptx_instruction *last = &extents->function->instructions[block->end - 1];
    return block->successor_count > 1 || last->guard != FF__PTX_NONE;
}

/* The blocks that one way of a block leads to, up to where all its ways meet. */
static void reach(struct preparing *all, uint32_t from, uint32_t meeting, uint64_t *seen,
                  uint32_t *stack) {
    const struct ff__ptx_flow *flow = &all->extents->flow;
    uint32_t depth = 0;
    memset(seen, 0, flow->block_words * sizeof *seen);
    if (from == meeting)
        return;
    ff__ptx_put(seen, from);
    stack[depth++] = from;
    while (depth != 0) {
        const struct ff__ptx_block *block = &flow->blocks[stack[--depth]];
        for (uint32_t k = 0; k < block->successor_count; k++) {
            uint32_t next = block->successors[k];
            if (next == meeting || ff__ptx_in(seen, next))
                continue;
            ff__ptx_put(seen, next);
            stack[depth++] = next;
        }
    }
}

static bool find_controls(struct preparing *all) {
    struct ff__ptx_extents *extents = all->extents;
    const struct ff__ptx_flow *flow = &extents->flow;
    uint32_t blocks = flow->block_count, words = flow->block_words;
    const uint32_t *meetings = ff__ptx_meetings(flow);
    uint64_t *seen = need(all, words, sizeof *seen);
    uint32_t *stack = need(all, blocks, sizeof *stack);
    extents->controls = need(all, blocks, sizeof *extents->controls);
    if (extents->controls == NULL || meetings == NULL || stack == NULL || seen == NULL)
        return false;
    for (uint32_t b = 0; b < blocks; b++)
        if ((extents->controls[b] = need(all, 2ul * words, sizeof **extents->controls)) == NULL)
            return false;
    for (uint32_t b = 0; b < blocks; b++)
        for (uint32_t k = 0; may_part(extents, b) && k < flow->blocks[b].successor_count; k++) {
            reach(all, flow->blocks[b].successors[k], meetings[b], seen, stack);
            for (uint32_t other = 0; other < blocks; other++)
                if (ff__ptx_in(seen, other))
                    ff__ptx_put(extents->controls[other], 2 * b + (k != 0));
        }
    return true;
}

static uint32_t direct_dominator(const struct preparing *all, uint32_t b) {
    const struct ff__ptx_extents *extents = all->extents;
    for (uint32_t i = all->place[b]; i-- > 0;)
        if (ff__ptx_in(all->dominators[b], extents->order[i]))
            return extents->order[i];
    return b;
}

/* Where ways meet, all threads are together again that were where they began to part; or some went
 * another way, and limits do not tell which. */
static bool find_uneven(struct preparing *all) {
    struct ff__ptx_extents *extents = all->extents;
    uint32_t blocks = extents->flow.block_count, words = extents->flow.block_words;
    uint32_t *forward = need(all, blocks, sizeof *forward);
    extents->uneven = need(all, blocks, sizeof *extents->uneven);
    if (extents->uneven == NULL || forward == NULL)
        return false;
    for (uint32_t i = 0; i < extents->order_count; i++) {
        const struct ff__ptx_block *block = &extents->flow.blocks[extents->order[i]];
        for (uint32_t k = 0; k < block->successor_count; k++)
            forward[block->successors[k]] += all->place[block->successors[k]] > i;
    }
    for (uint32_t i = 0; i < extents->order_count; i++) {
        uint32_t b = extents->order[i], before = direct_dominator(all, b);
        bool together = memcmp(extents->controls[b], extents->controls[before],
                               2ul * words * sizeof **extents->controls) == 0;
        extents->uneven[b] = extents->uneven[before] || (forward[b] > 1 && !together);
    }
    return true;
}

/* ---- registers ---- */

/* Whether what an instruction writes is there whenever the other one runs. */
static bool comes_before(const struct preparing *all, uint32_t writer, uint32_t reader) {
    const struct ff__ptx_flow *flow = &all->extents->flow;
    uint32_t from = flow->block_of[writer], to = flow->block_of[reader];
    return from == to ? writer < reader : ff__ptx_in(all->dominators[to], from);
}

static bool find_writers(struct preparing *all) {
    const struct ff__ptx_function *function = all->extents->function;
    struct ff__ptx_uses uses;
    all->writer = need(all, function->register_count, sizeof *all->writer);
    all->several = need(all, function->register_count, sizeof *all->several);
    if (all->several == NULL)
        return false;
    memset(all->writer, 0xff, function->register_count * sizeof *all->writer);
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        ff__ptx_uses(function, &function->instructions[i], &uses);
        for (uint32_t k = 0; k < uses.write_count; k++) {
            uint32_t reg = uses.writes[k];
            all->several[reg] |=
                all->writer[reg] != FF__PTX_NONE || function->instructions[i].guard != FF__PTX_NONE;
            all->writer[reg] = i;
        }
    }
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        if (all->place[all->extents->flow.block_of[i]] == FF__PTX_NONE)
            continue; /* no way leads there */
        ff__ptx_uses(function, &function->instructions[i], &uses);
        for (uint32_t k = 0; k < uses.read_count; k++) {
            uint32_t reg = uses.reads[k];
            all->several[reg] |=
                all->writer[reg] != FF__PTX_NONE && !comes_before(all, all->writer[reg], i);
        }
    }
    return true;
}

/* ---- instructions ---- */

static enum ff__ptx_space space_of(const struct ff__ptx_instruction *instruction) {
    return ff__ptx_has(instruction, FF__PTX_M_GLOBAL)       ? FF__PTX_GLOBAL
           : ff__ptx_has(instruction, FF__PTX_M_SHARED)     ? FF__PTX_SHARED
           : ff__ptx_has(instruction, FF__PTX_M_SHARED_CTA) ? FF__PTX_SHARED
           : ff__ptx_has(instruction, FF__PTX_M_LOCAL)      ? FF__PTX_LOCAL
           : ff__ptx_has(instruction, FF__PTX_M_CONST)      ? FF__PTX_CONST
           : ff__ptx_has(instruction, FF__PTX_M_PARAM)      ? FF__PTX_PARAM
                                                            : FF__PTX_GENERIC;
}

static bool is_access(const struct ff__ptx_instruction *instruction) {
    enum ff__ptx_space space = space_of(instruction);
    bool far = space == FF__PTX_GLOBAL || space == FF__PTX_GENERIC;
    switch (instruction->opcode) {
    case OP(cp):
        return ff__ptx_has(instruction, FF__PTX_M_GLOBAL) && instruction->operand_count >= 3;
    case OP(ld):
    case OP(ldu):
    case OP(st):
    case OP(atom):
    case OP(red):
        return far && instruction->operand_count >= 2;
    case OP(wmma):
        return far && !ff__ptx_suspends(instruction) && instruction->operand_count >= 2;
    default:
        return false;
    }
}

static bool accesses_more(const struct ff__ptx_instruction *instruction) {
    switch (instruction->opcode) {
    case OP(call):
        return !instruction->is_plain;
    case OP(tex):
    case OP(tld4):
    case OP(suld):
    case OP(sust):
    case OP(sured):
        return true;
    default:
        return false;
    }
}

static bool ends_with_guard(const struct ff__ptx_instruction *instruction) {
    return instruction->guard != FF__PTX_NONE &&
           (instruction->opcode == OP(bra) || instruction->opcode == OP(ret) ||
            instruction->opcode == OP(exit) || instruction->opcode == OP(trap));
}

static void need_operand(struct preparing *all, const struct ff__ptx_operand *operand) {
    if (operand->kind == FF__PTX_REGISTER)
        all->needed[operand->index] = true;
}

static void need_first(struct preparing *all, const struct ff__ptx_instruction *instruction) {
    const struct ff__ptx_function *function = all->extents->function;
    const struct ff__ptx_operand *operands = &function->operands[instruction->operands];
    bool access = is_access(instruction);
    for (uint32_t i = 0; access && i < instruction->operand_count; i++)
        if (operands[i].address)
            need_operand(all, &operands[i]);
    if ((access || ends_with_guard(instruction)) && instruction->guard != FF__PTX_NONE)
        all->needed[instruction->guard] = true;
}

/* What comes from memory or other threads is unknown, whatever it depends on. */
static bool comes_from_afar(const struct ff__ptx_instruction *instruction) {
    return instruction->opcode == OP(atom) || instruction->opcode == OP(ld) ||
           instruction->opcode == OP(ldu) || instruction->opcode == OP(call) ||
           ff__ptx_suspends(instruction) || accesses_more(instruction);
}

static bool writes_needed(const struct preparing *all, const struct ff__ptx_uses *uses) {
    for (uint32_t k = 0; k < uses->write_count; k++)
        if (all->needed[uses->writes[k]])
            return true;
    return false;
}

static void find_needed(struct preparing *all) {
    const struct ff__ptx_function *function = all->extents->function;
    struct ff__ptx_uses uses;
    for (uint32_t i = 0; i < function->instruction_count; i++)
        need_first(all, &function->instructions[i]);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = function->instruction_count; i-- > 0;) {
            const struct ff__ptx_instruction *instruction = &function->instructions[i];
            ff__ptx_uses(function, instruction, &uses);
            if (comes_from_afar(instruction) || !writes_needed(all, &uses))
                continue;
            for (uint32_t k = 0; k < uses.read_count; k++) {
                changed |= !all->needed[uses.reads[k]];
                all->needed[uses.reads[k]] = true;
            }
        }
    }
}

static bool find_steps(struct preparing *all) {
    struct ff__ptx_extents *extents = all->extents;
    const struct ff__ptx_function *function = extents->function;
    struct ff__ptx_uses uses;
    extents->steps = need(all, function->instruction_count, sizeof *extents->steps);
    extents->first_step = need(all, extents->flow.block_count + 1ul, sizeof *extents->first_step);
    if (extents->first_step == NULL)
        return false;
    for (uint32_t b = 0; b < extents->flow.block_count; b++) {
        const struct ff__ptx_block *block = &extents->flow.blocks[b];
        extents->first_step[b] = extents->step_count;
        for (uint32_t i = block->first; i < block->end; i++) {
            const struct ff__ptx_instruction *instruction = &function->instructions[i];
            ff__ptx_uses(function, instruction, &uses);
            struct step step = {
                .instruction = i, .writes = writes_needed(all, &uses), .access = FF__PTX_NONE};
            extents->complete &= !accesses_more(instruction);
            if (is_access(instruction))
                step.access = extents->access_count++;
            if (step.writes || step.access != FF__PTX_NONE)
                extents->steps[extents->step_count++] = step;
        }
    }
    extents->first_step[extents->flow.block_count] = extents->step_count;
    return true;
}

/* ---- numbers and atoms ---- */

static bool number_registers(struct preparing *all) {
    struct ff__ptx_extents *extents = all->extents;
    const struct ff__ptx_function *function = extents->function;
    uint32_t registers = function->register_count;
    extents->number_of = need(all, registers, sizeof *extents->number_of);
    extents->number_bits = need(all, registers, sizeof *extents->number_bits);
    if (extents->number_bits == NULL)
        return false;
    for (uint32_t reg = 0; reg < registers; reg++) {
        extents->number_of[reg] = FF__PTX_NONE;
        if (!all->several[reg] || !all->needed[reg])
            continue;
        extents->number_bits[extents->number_count] =
            (uint8_t)(8 * ff__ptx_type_size(function->registers[reg].type));
        extents->number_of[reg] = extents->number_count++;
    }
    for (uint32_t i = 0; i < extents->loop_count; i++) {
        struct extent_loop *loop = &extents->loops[i];
        loop->written = need(all, extents->number_count, sizeof *loop->written);
        loop->steps_known = need(all, extents->number_count, sizeof *loop->steps_known);
        loop->steps = need(all, extents->number_count, sizeof *loop->steps);
        if (loop->steps == NULL)
            return false;
        for (uint32_t b = 0; b < extents->flow.block_count; b++)
            for (uint32_t reg = 0; reg < registers && ff__ptx_in(loop->blocks, b); reg++)
                if (extents->number_of[reg] != FF__PTX_NONE &&
                    ff__ptx_in(extents->flow.blocks[b].writes, reg))
                    loop->written[extents->number_of[reg]] = true;
    }
    return true;
}

static uint32_t *count_ways(struct preparing *all) {
    const struct ff__ptx_extents *extents = all->extents;
    uint32_t *ways = need(all, extents->flow.block_count, sizeof *ways);
    for (uint32_t i = 0; ways != NULL && i < extents->order_count; i++) {
        const struct ff__ptx_block *block = &extents->flow.blocks[extents->order[i]];
        for (uint32_t k = 0; k < block->successor_count; k++)
            ways[block->successors[k]]++;
    }
    return ways;
}

static bool add_meeting(struct preparing *all, uint32_t b) {
    struct ff__ptx_extents *extents = all->extents;
    uint32_t *atoms = extents->joins[b].atoms = need(all, extents->number_count, sizeof *atoms);
    if (atoms == NULL)
        return false;
    for (uint32_t reg = 0; reg < extents->function->register_count; reg++) {
        uint32_t n = extents->number_of[reg];
        if (n != FF__PTX_NONE)
            atoms[n] = ff__ptx_in(extents->flow.blocks[b].live, reg) ? extents->atom_count++
                                                                     : FF__PTX_NONE;
    }
    return true;
}

static uint32_t block_in_loop(const struct ff__ptx_extents *extents, uint32_t b) {
    return extents->loops_around[b] ? b : FF__PTX_NONE;
}

static bool place_atoms(struct preparing *all) {
    struct ff__ptx_extents *extents = all->extents;
    extents->atom_block = need(all, extents->atom_count, sizeof *extents->atom_block);
    if (extents->atom_block == NULL)
        return false;
    memset(extents->atom_block, 0xff, extents->atom_count * sizeof *extents->atom_block);
    for (uint32_t i = 0; i < extents->loop_count; i++)
        extents->atom_block[extents->loops[i].atom] = extents->loops[i].header;
    for (uint32_t b = 0; b < extents->flow.block_count; b++) {
        for (uint32_t i = extents->first_step[b]; i < extents->first_step[b + 1]; i++)
            extents->atom_block[extents->first_step_atom + i] = block_in_loop(extents, b);
        for (uint32_t n = 0; extents->joins[b].atoms != NULL && n < extents->number_count; n++)
            if (extents->joins[b].atoms[n] != FF__PTX_NONE)
                extents->atom_block[extents->joins[b].atoms[n]] = block_in_loop(extents, b);
    }
    return true;
}

static bool find_atoms(struct preparing *all) {
    struct ff__ptx_extents *extents = all->extents;
    uint32_t *ways = count_ways(all);
    extents->joins = need(all, extents->flow.block_count, sizeof *extents->joins);
    if (extents->joins == NULL || ways == NULL)
        return false;
    extents->first_step_atom = FIRST_LOOP + extents->loop_count;
    extents->atom_count = extents->first_step_atom + extents->step_count;
    for (uint32_t b = 0; b < extents->flow.block_count; b++)
        if ((ways[b] > 1 || extents->loop_of[b] != FF__PTX_NONE) && !add_meeting(all, b))
            return false;
    return place_atoms(all);
}

/* ---- what a launch needs ---- */

static bool make_state(struct preparing *all, struct state *state) {
    state->values = need(all, all->extents->number_count, sizeof *state->values);
    return state->values != NULL;
}

static bool make_room(struct preparing *all) {
    struct ff__ptx_extents *extents = all->extents;
    uint32_t registers = extents->function->register_count, blocks = extents->flow.block_count;
    extents->ranges = need(all, extents->atom_count, sizeof *extents->ranges);
    extents->entry_ranges = need(all, extents->number_count, sizeof *extents->entry_ranges);
    extents->singles = need(all, registers, sizeof *extents->singles);
    extents->conditions = need(all, registers, sizeof *extents->conditions);
    extents->way_affine = need(all, 2ul * blocks, sizeof *extents->way_affine);
    extents->in = need(all, blocks, sizeof *extents->in);
    if (extents->in == NULL || !make_state(all, &extents->now) ||
        !make_state(all, &extents->edge) || !make_state(all, &extents->third))
        return false;
    for (uint32_t b = 0; b < blocks; b++)
        if (!make_state(all, &extents->in[b]))
            return false;
    for (uint32_t i = 0; i < extents->loop_count; i++)
        if (!make_state(all, &extents->loops[i].back))
            return false;
    for (uint32_t reg = 0; reg < registers; reg++)
        extents->singles[reg] =
            (struct extent_value){.base = FF__PTX_NO_PARAMETER, .range = {INT64_MIN, INT64_MAX}};
    return true;
}

static int prepare(struct preparing *all) {
    struct ff__ptx_extents *extents = all->extents;
    int code = ff__ptx_flow(extents->function, extents->arena, &extents->flow);
    if (code != 0)
        return code;
    if (extents->flow.block_count == 0 || extents->flow.block_count > MOST_BLOCKS)
        return -ENOTSUP;
    if (!find_order(all) || !find_dominators(all))
        return -ENOMEM;
    code = find_loops(all);
    if (code != 0)
        return code;
    all->needed = need(all, extents->function->register_count, sizeof *all->needed);
    if (all->needed == NULL || !find_controls(all) || !find_uneven(all) || !find_writers(all))
        return -ENOMEM;
    find_needed(all);
    extents->complete = true;
    return find_steps(all) && number_registers(all) && find_atoms(all) && make_room(all) ? 0
                                                                                         : -ENOMEM;
}

int ff__ptx_extents_make(const struct ff__ptx_function *function, struct ff__ptx_extents **out) {
    struct ff__ptx_arena *arena = ff__ptx_arena_new();
    struct ff__ptx_extents *extents =
        arena != NULL ? ff__ptx_arena_alloc(arena, 1, sizeof *extents) : NULL;
    int code = -ENOMEM;
    if (extents != NULL) {
        extents->arena = arena;
        extents->function = function;
        struct preparing all = {.extents = extents};
        code = prepare(&all);
    }
    if (code == 0)
        *out = extents;
    else if (arena != NULL)
        ff__ptx_arena_free(arena);
    return code;
}

void ff__ptx_extents_free(struct ff__ptx_extents *extents) {
    if (extents != NULL)
        ff__ptx_arena_free(extents->arena);
}
