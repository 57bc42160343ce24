/* Blocks and live registers. */
#include "ptx/flow.h"

#include <errno.h>
#include <string.h>

#define OP(name) FF__PTX_OP_##name

static void *need(struct ff__ptx_flow *flow, size_t count, size_t size) {
    return ff__ptx_arena_alloc(flow->arena, count, size);
}

/* ---- instructions ---- */

bool ff__ptx_suspends(const struct ff__ptx_instruction *instruction) {
    switch (instruction->opcode) {
    case OP(bar):
    case OP(barrier):
    case OP(shfl):
    case OP(vote):
    case OP(match):
    case OP(redux):
    case OP(activemask):
    case OP(mma):
    case OP(ldmatrix):
    case OP(stmatrix):
    case OP(movmatrix):
        return true;
    case OP(wmma):
        return ff__ptx_has(instruction, FF__PTX_M_MMA);
    default:
        return false;
    }
}

/* Their first operand is read, too: there is no result. */
static bool has_no_result(const struct ff__ptx_instruction *instruction) {
    switch (instruction->opcode) {
    case OP(st):
    case OP(bra):
    case OP(brx):
    case OP(ret):
    case OP(exit):
    case OP(red):
    case OP(membar):
    case OP(fence):
    case OP(trap):
    case OP(brkpt):
    case OP(prefetch):
    case OP(prefetchu):
    case OP(pmevent):
    case OP(nanosleep):
    case OP(griddepcontrol):
    case OP(discard):
    case OP(applypriority):
    case OP(cp):
    case OP(sust):
    case OP(sured):
    case OP(stmatrix):
        return true;
    case OP(bar):
    case OP(barrier):
        return !ff__ptx_has(instruction, FF__PTX_M_RED);
    case OP(wmma):
        return ff__ptx_has(instruction, FF__PTX_M_STORE);
    default:
        return false;
    }
}

static void add_reads(const struct ff__ptx_function *function,
                      const struct ff__ptx_operand *operand, struct ff__ptx_uses *out) {
    if (operand->kind == FF__PTX_REGISTER && out->read_count < FF__PTX_MOST_REGISTERS)
        out->reads[out->read_count++] = operand->index;
    if (operand->kind == FF__PTX_LIST)
        for (uint32_t i = 0; i < operand->count; i++)
            add_reads(function, &function->operands[operand->first + i], out);
}

static void add_writes(const struct ff__ptx_function *function,
                       const struct ff__ptx_operand *operand, struct ff__ptx_uses *out) {
    if (operand->kind == FF__PTX_REGISTER && out->write_count < FF__PTX_MOST_REGISTERS)
        out->writes[out->write_count++] = operand->index;
    if (operand->kind == FF__PTX_LIST)
        for (uint32_t i = 0; i < operand->count; i++)
            add_writes(function, &function->operands[operand->first + i], out);
}

void ff__ptx_uses(const struct ff__ptx_function *function,
                  const struct ff__ptx_instruction *instruction, struct ff__ptx_uses *out) {
    out->read_count = out->write_count = 0;
    const struct ff__ptx_operand *operands = &function->operands[instruction->operands];
    bool result = !has_no_result(instruction) && instruction->opcode != OP(call);
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        if (i == 0 && result && !operands[i].address)
            add_writes(function, &operands[i], out);
        else
            add_reads(function, &operands[i], out);
    }
    if (instruction->guard == FF__PTX_NONE)
        return;
    if (out->read_count < FF__PTX_MOST_REGISTERS)
        out->reads[out->read_count++] = instruction->guard;
    /* what is written only perhaps keeps its value otherwise */
    for (uint32_t i = 0; i < out->write_count && out->read_count < FF__PTX_MOST_REGISTERS; i++)
        out->reads[out->read_count++] = out->writes[i];
}

static bool ends_thread(const struct ff__ptx_instruction *instruction) {
    return instruction->opcode == OP(ret) || instruction->opcode == OP(exit) ||
           instruction->opcode == OP(trap);
}

static bool ends_block(const struct ff__ptx_instruction *instruction) {
    return instruction->opcode == OP(bra) || instruction->opcode == OP(brx) ||
           ends_thread(instruction) || ff__ptx_suspends(instruction);
}

/* ---- blocks ---- */

static bool find_blocks(struct ff__ptx_flow *flow) {
    const struct ff__ptx_function *function = flow->function;
    uint32_t count = function->instruction_count;
    bool *starts = need(flow, count + 1ul, sizeof *starts);
    flow->block_of = need(flow, count + 1ul, sizeof *flow->block_of);
    if (flow->block_of == NULL)
        return false;
    starts[0] = true;
    for (uint32_t i = 0; i < function->label_count; i++)
        starts[function->labels[i].instruction] = true;
    for (uint32_t i = 0; i < count; i++)
        if (ends_block(&function->instructions[i]))
            starts[i + 1] = true;
    for (uint32_t i = 0; i < count; i++)
        flow->block_count += starts[i];
    flow->blocks = need(flow, flow->block_count, sizeof *flow->blocks);
    if (flow->blocks == NULL)
        return false;
    uint32_t block = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (starts[i])
            flow->blocks[++block].first = i;
        flow->blocks[block].end = i + 1;
        flow->block_of[i] = block;
    }
    flow->block_of[count] = flow->block_count;
    flow->block_words = flow->block_count / 64 + 1;
    return true;
}

static void add_successor(const struct ff__ptx_flow *flow, struct ff__ptx_block *block,
                          uint32_t label) {
    uint32_t target = flow->block_of[flow->function->labels[label].instruction];
    if (target != flow->block_count)
        block->successors[block->successor_count++] = target;
}

/* The labels a brx.idx may go to: its last operand's. */
static const struct ff__ptx_label *branch_table(const struct ff__ptx_function *function,
                                                const struct ff__ptx_instruction *instruction) {
    const struct ff__ptx_operand *last =
        &function->operands[instruction->operands + instruction->operand_count - 1];
    if (instruction->operand_count != 2 || last->kind != FF__PTX_LABEL)
        return NULL;
    return &function->labels[last->index];
}

#define MOST_TARGETS (1u << 16) /* of all branches by tables */

static int find_successors(struct ff__ptx_flow *flow) {
    const struct ff__ptx_function *function = flow->function;
    uint64_t targets = 0;
    for (uint32_t i = 0; i < flow->block_count; i++) {
        struct ff__ptx_block *block = &flow->blocks[i];
        const struct ff__ptx_instruction *last = &function->instructions[block->end - 1];
        const struct ff__ptx_label *table =
            last->opcode == OP(brx) ? branch_table(function, last) : NULL;
        block->successors =
            need(flow, 2ul + (table != NULL ? table->target_count : 0), sizeof *block->successors);
        if (block->successors == NULL)
            return -ENOMEM;
        const struct ff__ptx_operand *target = &function->operands[last->operands];
        if (last->opcode == OP(bra)) {
            if (last->operand_count != 1 || target->kind != FF__PTX_LABEL)
                return -ENOTSUP;
            add_successor(flow, block, target->index);
        } else if (last->opcode == OP(brx)) {
            if (table == NULL || table->targets == NULL ||
                (targets += table->target_count) > MOST_TARGETS)
                return -ENOTSUP;
            for (uint32_t k = 0; k < table->target_count; k++)
                add_successor(flow, block, table->targets[k]);
        }
        bool falls = (last->opcode != OP(bra) && last->opcode != OP(brx) && !ends_thread(last)) ||
                     last->guard != FF__PTX_NONE;
        if (falls && i + 1 < flow->block_count)
            block->successors[block->successor_count++] = i + 1;
    }
    return 0;
}

/* ---- live registers ---- */

static void block_registers(struct ff__ptx_flow *flow, struct ff__ptx_block *block) {
    struct ff__ptx_uses uses;
    for (uint32_t i = block->first; i < block->end; i++) {
        ff__ptx_uses(flow->function, &flow->function->instructions[i], &uses);
        for (uint32_t k = 0; k < uses.read_count; k++)
            if (!ff__ptx_in(block->writes, uses.reads[k]))
                ff__ptx_put(block->uses, uses.reads[k]);
        for (uint32_t k = 0; k < uses.write_count; k++)
            ff__ptx_put(block->writes, uses.writes[k]);
    }
}

/* live = uses + (live of the successors - writes), until nothing changes. */
static bool update_live(struct ff__ptx_flow *flow, struct ff__ptx_block *block) {
    bool changed = false;
    for (uint32_t w = 0; w < flow->register_words; w++) {
        uint64_t after = 0;
        for (uint32_t k = 0; k < block->successor_count; k++)
            after |= flow->blocks[block->successors[k]].live[w];
        uint64_t live = block->uses[w] | (after & ~block->writes[w]);
        changed |= live != block->live[w];
        block->live[w] = live;
    }
    return changed;
}

static bool find_live(struct ff__ptx_flow *flow) {
    flow->register_words = flow->function->register_count / 64 + 1;
    for (uint32_t i = 0; i < flow->block_count; i++) {
        struct ff__ptx_block *block = &flow->blocks[i];
        block->live = need(flow, flow->register_words, sizeof *block->live);
        block->writes = need(flow, flow->register_words, sizeof *block->writes);
        block->uses = need(flow, flow->register_words, sizeof *block->uses);
        if (block->uses == NULL)
            return false;
        block_registers(flow, block);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = flow->block_count; i-- > 0;)
            changed |= update_live(flow, &flow->blocks[i]);
    }
    return true;
}

static bool advances_by_warps(const struct ff__ptx_function *function) {
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ff__ptx_instruction *instruction = &function->instructions[i];
        bool barrier = instruction->opcode == OP(bar) || instruction->opcode == OP(barrier);
        if (ff__ptx_suspends(instruction) && (!barrier || ff__ptx_has(instruction, FF__PTX_M_WARP)))
            return true;
    }
    return false;
}

int ff__ptx_flow(const struct ff__ptx_function *function, struct ff__ptx_arena *arena,
                 struct ff__ptx_flow *out) {
    *out = (struct ff__ptx_flow){.arena = arena, .function = function};
    if (!find_blocks(out))
        return -ENOMEM;
    int code = find_successors(out);
    if (code != 0)
        return code;
    out->warp_operations = advances_by_warps(function);
    return find_live(out) ? 0 : -ENOMEM;
}
