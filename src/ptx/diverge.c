#include "ptx/diverge.h"

#include <string.h>

#define OP(name) FF__PTX_OP_##name

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
static void find_meetings(const struct ff__ptx_flow *flow, uint32_t *meeting) {
    uint32_t end = flow->block_count;
    for (uint32_t i = 0; i < end; i++)
        meeting[i] = FF__PTX_NONE;
    meeting[end] = end;
    for (uint32_t round = 0; round < 8; round++) {
        bool changed = false;
        for (uint32_t i = end; i-- > 0;) {
            const struct ff__ptx_block *block = &flow->blocks[i];
            uint32_t where = block->successor_count == 0 ? end : FF__PTX_NONE;
            const struct ff__ptx_instruction *last = &flow->function->instructions[block->end - 1];
            bool may_end = last->guard != FF__PTX_NONE &&
                           (last->opcode == OP(ret) || last->opcode == OP(exit));
            if (may_end)
                where = end;
            for (uint32_t k = 0; k < block->successor_count; k++) {
                uint32_t next = block->successors[k];
                if (next != i && (next > i || meeting[next] != FF__PTX_NONE))
                    where = where == FF__PTX_NONE ? next
                                                  : common(meeting, end, where, next, 2 * end + 2);
            }
            changed |= where != meeting[i];
            meeting[i] = where;
        }
        if (!changed)
            return;
    }
    for (uint32_t i = 0; i < end; i++)
        meeting[i] = end;
}

uint32_t *ff__ptx_meetings(const struct ff__ptx_flow *flow) {
    uint32_t *meeting = ff__ptx_arena_alloc(flow->arena, flow->block_count + 1ul, sizeof *meeting);
    if (meeting != NULL)
        find_meetings(flow, meeting);
    return meeting;
}

/* Adds `from` and what it leads to, up to `meeting`, which is added but not passed. */
static void reach(const struct ff__ptx_flow *flow, uint32_t from, uint32_t meeting, uint64_t *set,
                  uint32_t *stack) {
    uint32_t depth = 0;
    if (ff__ptx_in(set, from))
        return;
    ff__ptx_put(set, from);
    stack[depth++] = from;
    while (depth != 0) {
        uint32_t at = stack[--depth];
        if (at == meeting)
            continue;
        const struct ff__ptx_block *block = &flow->blocks[at];
        for (uint32_t k = 0; k < block->successor_count; k++) {
            uint32_t next = block->successors[k];
            if (ff__ptx_in(set, next))
                continue;
            ff__ptx_put(set, next);
            stack[depth++] = next;
        }
    }
}

bool ff__ptx_between(const struct ff__ptx_flow *flow, const uint32_t *meetings, uint32_t block,
                     uint64_t *out) {
    uint32_t *stack = ff__ptx_arena_alloc(flow->arena, flow->block_count + 1ul, sizeof *stack);
    if (stack == NULL)
        return false;
    const struct ff__ptx_block *from = &flow->blocks[block];
    for (uint32_t k = 0; k < from->successor_count; k++)
        reach(flow, from->successors[k], meetings[block], out, stack);
    ff__ptx_drop(out, meetings[block]);
    return true;
}

/* Blocks to which two ways lead. */
static bool find_joins(const struct ff__ptx_flow *flow, uint32_t block, uint32_t meeting,
                       uint64_t *any, uint64_t *joins) {
    uint32_t words = flow->block_words;
    uint32_t *stack = ff__ptx_arena_alloc(flow->arena, flow->block_count + 1ul, sizeof *stack);
    uint64_t *one = ff__ptx_arena_alloc(flow->arena, words, sizeof *one);
    if (stack == NULL || one == NULL)
        return false;
    const struct ff__ptx_block *from = &flow->blocks[block];
    for (uint32_t k = 0; k < from->successor_count; k++) {
        memset(one, 0, words * sizeof *one);
        reach(flow, from->successors[k], meeting, one, stack);
        for (uint32_t w = 0; w < words; w++) {
            joins[w] |= any[w] & one[w];
            any[w] |= one[w];
        }
    }
    return true;
}

static void add_all(uint64_t *set, const uint64_t *others, uint32_t words) {
    for (uint32_t w = 0; w < words; w++)
        set[w] |= others[w];
}

uint64_t *ff__ptx_parted(const struct ff__ptx_flow *flow, const uint32_t *meetings,
                         uint32_t block) {
    uint64_t *any = ff__ptx_arena_alloc(flow->arena, flow->block_words, sizeof *any);
    uint64_t *joins = ff__ptx_arena_alloc(flow->arena, flow->block_words, sizeof *joins);
    uint64_t *written = ff__ptx_arena_alloc(flow->arena, flow->register_words, sizeof *written);
    uint64_t *live = ff__ptx_arena_alloc(flow->arena, flow->register_words, sizeof *live);
    if (any == NULL || joins == NULL || written == NULL || live == NULL ||
        !find_joins(flow, block, meetings[block], any, joins))
        return NULL;
    for (uint32_t i = 0; i < flow->block_count; i++) {
        if (ff__ptx_in(any, i) && i != meetings[block])
            add_all(written, flow->blocks[i].writes, flow->register_words);
        if (ff__ptx_in(joins, i))
            add_all(live, flow->blocks[i].live, flow->register_words);
    }
    for (uint32_t w = 0; w < flow->register_words; w++)
        written[w] &= live[w];
    return written;
}
