/* Kernels: one C function for each region, which runs a row of threads in a loop. */
#include "ptx/emit_internal.h"

#include "ptx/device/abi.h"
#include <stdlib.h>
#include <string.h>

#define OP(name) FF__PTX_OP_##name

uint32_t ff__ptx_lanes_of(const struct ff__ptx_emit *emit) {
    bool by_warps = emit->kernel->flow.warp_operations || emit->options->record;
    return by_warps ? (uint32_t)FF_PTX_WARP : (uint32_t)FF_PTX_MAX_LANES;
}

static const struct ff__ptx_region_plan *present(const struct ff__ptx_emit *emit) {
    return &emit->kernel->regions.plans[emit->kernel->region];
}

/* ---- registers that live across regions ---- */

/* Those that are live at the start, but for what a suspend point gives and what is computed again.
 * Calls `act` with each. */
static void each_saved(struct ff__ptx_emit *emit, uint32_t region,
                       void (*act)(struct ff__ptx_emit *emit, uint32_t reg)) {
    const struct ff__ptx_flow *flow = &emit->kernel->flow;
    const struct ff__ptx_region_plan *plan = &emit->kernel->regions.plans[region];
    if (plan->start == flow->block_count)
        return;
    struct ff__ptx_uses uses = {0};
    if (plan->suspend != FF__PTX_NONE)
        ff__ptx_uses(emit->function, &emit->function->instructions[plan->suspend], &uses);
    bool guarded = plan->suspend != FF__PTX_NONE &&
                   emit->function->instructions[plan->suspend].guard != FF__PTX_NONE;
    for (uint32_t reg = 0; reg < emit->function->register_count; reg++) {
        bool given = false;
        for (uint32_t i = 0; i < uses.write_count && !guarded; i++)
            given |= uses.writes[i] == reg;
        if (!given && ff__ptx_in(flow->blocks[plan->start].live, reg) &&
            emit->kernel->shapes.again[reg] == FF__PTX_VARYING)
            act(emit, reg);
    }
}

static void mark_saved(struct ff__ptx_emit *emit, uint32_t reg) {
    emit->kernel->saved[reg] = true;
}

/* The value is still in its place. That of a loop's uniform or affine register is not: the rounds
 * keep it elsewhere. */
static bool is_saved(const struct ff__ptx_kernel_emit *kernel, uint32_t reg) {
    return kernel->named[reg] && ff__ptx_in(kernel->entry, reg) &&
           (!kernel->repeats || kernel->shapes.shape[reg] == FF__PTX_VARYING);
}

static void save(struct ff__ptx_emit *emit, uint32_t reg) {
    if (is_saved(emit->kernel, reg))
        return;
    emit->kernel->stored[reg] = true;
    ff__ptx_line(&emit->body, "state->v%u[l] = v%u;", reg, reg);
}

/* What the next round of a uniform loop begins with. */
static void carry(struct ff__ptx_emit *emit, uint32_t reg) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    const char *part = kernel->shapes.shape[reg] == FF__PTX_AFFINE ? "_0" : "";
    if (kernel->shapes.shape[reg] == FF__PTX_VARYING) {
        save(emit, reg);
    } else if (ff__ptx_in(kernel->after, reg) && kernel->hoisted[reg] != FF__PTX_VARYING) {
        ff__ptx_line(&kernel->carry, "v%ue%s = v%un%s;", reg, part, reg, part);
    } else if (!ff__ptx_in(kernel->entry, reg)) {
        ff__ptx_line(&emit->body, "state->v%u[l] = v%u;", reg, reg);
        ff__ptx_line(&kernel->carry, "v%ue%s = state->v%u[first + stays];", reg, part, reg);
        if (kernel->shapes.shape[reg] == FF__PTX_AFFINE)
            ff__ptx_line(&kernel->carry, "v%ue_0 -= (%s)v%ue_d * stays;", reg,
                         ff__ptx_c_register(emit->function->registers[reg].type), reg);
    }
}

static void name_varying(struct ff__ptx_emit *emit, uint32_t reg) {
    ff__ptx_line(&emit->body, "v%u = state->v%u[l];", reg, reg);
}

static void name_known(struct ff__ptx_emit *emit, uint32_t reg) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    enum ff__ptx_type type = emit->function->registers[reg].type;
    const char *c_type = ff__ptx_c_register(type);
    long long step = (long long)kernel->shapes.step[reg];
    if (kernel->shapes.shape[reg] == FF__PTX_UNIFORM) {
        ff__ptx_line(&kernel->enter, "%s v%ue = state->v%u[first];", c_type, reg, reg);
        ff__ptx_line(&kernel->check, "&& same_%s(state->v%u + first, count)", c_type, reg);
        ff__ptx_line(&kernel->flush, "state->v%u[first + k] = v%ue;", reg, reg);
        ff__ptx_line(&emit->body, "v%u = v%ue;", reg, reg);
        return;
    }
    ff__ptx_line(&kernel->enter, "%s v%ue_0 = state->v%u[first]; const s64 v%ue_d = %lldll;",
                 c_type, reg, reg, reg, step);
    ff__ptx_line(&kernel->check, "&& even_%s(state->v%u + first, %lldll, count)", c_type, reg,
                 step);
    ff__ptx_line(&kernel->flush, "state->v%u[first + k] = v%ue_0 + (%s)v%ue_d * (%s)k;", reg, reg,
                 c_type, reg, c_type);
    ff__ptx_line(&emit->body, "v%u = v%ue_0 + (%s)v%ue_d * (%s)i;", reg, reg, c_type, reg, c_type);
}

static void name_entry(struct ff__ptx_emit *emit, uint32_t reg) {
    emit->kernel->named[reg] = true;
    if (emit->kernel->shapes.shape[reg] == FF__PTX_VARYING)
        name_varying(emit, reg);
    else
        name_known(emit, reg);
}

/* ---- leaving a region ---- */

static void go(struct ff__ptx_emit *emit, uint32_t target) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    bool first = kernel->target == FF__PTX_NO_TARGET;
    kernel->target = first || kernel->target == target ? target : FF_PTX_MIXED;
    ff__ptx_line(&emit->body, "at = %uu; goto left;", target);
}

static void leave_to(struct ff__ptx_emit *emit, uint32_t region) {
    bool again = emit->kernel->repeats && region == emit->kernel->region;
    each_saved(emit, region, again ? carry : save);
    go(emit, region);
}

static void end_thread(struct ff__ptx_emit *emit) {
    emit->kernel->count = FF__PTX_NO_COUNT; /* others may go on */
    if (emit->options->record)
        ff__ptx_record_report(emit, ff__ptx_record_site(emit), emit->function->instruction_count, 0,
                              false);
    go(emit, FF_PTX_EXITED);
}

static void go_to(struct ff__ptx_emit *emit, uint32_t block) {
    const struct ff__ptx_flow *flow = &emit->kernel->flow;
    if (block == flow->block_count)
        end_thread(emit);
    else if (emit->kernel->regions.cut[block])
        leave_to(emit, emit->kernel->regions.of_cut[block]);
    else
        ff__ptx_line(&emit->body, "goto B%u;", block);
}

static uint32_t target_block(const struct ff__ptx_emit *emit, uint32_t label) {
    return emit->kernel->flow.block_of[emit->function->labels[label].instruction];
}

static void branch_table(struct ff__ptx_emit *emit) {
    const struct ff__ptx_operand *first = ff__ptx_operand_of(emit, 0);
    const struct ff__ptx_label *table = &emit->function->labels[ff__ptx_operand_of(emit, 1)->index];
    ff__ptx_line(&emit->body, "switch (%s) {",
                 ff__ptx_value(emit, first, FF__PTX_U32, FF__PTX_IN_LANE));
    for (uint32_t i = 0; i < table->target_count; i++) {
        ff__ptx_line(&emit->body, "case %u:", i);
        go_to(emit, target_block(emit, table->targets[i]));
    }
    ff__ptx_line(&emit->body, "}");
}

/* What ends a block, or one instruction of it. */
static void transfer(struct ff__ptx_emit *emit, uint32_t number) {
    switch (emit->instruction->opcode) {
    case OP(bra):
        go_to(emit, target_block(emit, ff__ptx_operand_of(emit, 0)->index));
        return;
    case OP(brx):
        branch_table(emit);
        return;
    case OP(ret):
    case OP(exit):
        end_thread(emit);
        return;
    case OP(trap):
        ff__ptx_line(&emit->body, "block->services->fail(block, \"trap\");");
        end_thread(emit);
        return;
    default:
        ff__ptx_emit_wait(emit);
        leave_to(emit, emit->kernel->regions.of_suspend[number]);
    }
}

static bool transfers(const struct ff__ptx_instruction *instruction) {
    return instruction->opcode == OP(bra) || instruction->opcode == OP(brx) ||
           instruction->opcode == OP(ret) || instruction->opcode == OP(exit) ||
           instruction->opcode == OP(trap) || ff__ptx_suspends(instruction);
}

/* ---- blocks ---- */

/* After an instruction, what it wrote has no longer the value of the region's start. */
static void note_writes(struct ff__ptx_emit *emit, const uint8_t *writes_of) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    struct ff__ptx_uses uses;
    ff__ptx_uses(emit->function, emit->instruction, &uses);
    for (uint32_t i = 0; i < uses.write_count; i++) {
        ff__ptx_drop(kernel->entry, uses.writes[i]);
        if (writes_of[uses.writes[i]] == 1)
            ff__ptx_put(kernel->after, uses.writes[i]);
    }
}

static bool is_again(const struct ff__ptx_emit *emit) {
    const struct ff__ptx_operand *result = &emit->function->operands[emit->instruction->operands];
    return emit->instruction->operand_count != 0 && result->kind == FF__PTX_REGISTER &&
           !result->address && emit->instruction->guard == FF__PTX_NONE &&
           emit->kernel->shapes.again[result->index] != FF__PTX_VARYING;
}

/* In recorded kernels each lane counts what it runs. */
static void add_count(struct ff__ptx_emit *emit) {
    if (emit->options->record && emit->kernel->counted != 0)
        ff__ptx_line(&emit->body, "n += %u;", emit->kernel->counted);
    if (emit->kernel->count != FF__PTX_NO_COUNT)
        emit->kernel->count += emit->kernel->counted;
    emit->kernel->counted = 0;
}

/* Also lanes whose guard does not hold have run it. */
static void count_instruction(struct ff__ptx_emit *emit, bool moves) {
    bool recorded = ff__ptx_is_recorded(emit);
    emit->kernel->counted++;
    if (moves || recorded || emit->instruction->opcode == OP(call))
        add_count(emit);
    if (emit->instruction->opcode == OP(call))
        emit->kernel->count = FF__PTX_NO_COUNT;
    if (!recorded)
        return;
    ff__ptx_record_site(emit);
    emit->kernel->count = emit->kernel->all_here ? 0 : FF__PTX_NO_COUNT;
}

static void block_instruction(struct ff__ptx_emit *emit, uint32_t number,
                              const uint8_t *writes_of) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    bool moves = transfers(instruction);
    count_instruction(emit, moves);
    if (!moves && is_again(emit)) {
        /* computed where it is used */
    } else if (instruction->guard != FF__PTX_NONE) {
        const char *guard = ff__ptx_register_name(emit, instruction->guard, FF__PTX_IN_LANE);
        ff__ptx_line(&emit->body, "if (%s%s) {", instruction->guard_negated ? "!" : "", guard);
        if (moves)
            transfer(emit, number);
        else
            ff__ptx_emit_instruction(emit);
        ff__ptx_line(&emit->body, "}");
    } else if (moves) {
        transfer(emit, number);
    } else {
        const struct ff__ptx_operand *result = ff__ptx_operand_of(emit, 0);
        bool once = instruction->operand_count != 0 && result->kind == FF__PTX_REGISTER &&
                    !result->address && writes_of[result->index] == 1;
        if (!once || ff__ptx_hoist(emit) == FF__PTX_VARYING)
            ff__ptx_emit_instruction(emit);
    }
    note_writes(emit, writes_of);
}

/* Ours: gcc needs half an hour for as much. */
#define MOST_TEXT ((off_t)32 << 20)

static void need_room(struct ff__ptx_emit *emit) {
    if (ftello(emit->body.file) + ftello(emit->out.file) <= MOST_TEXT)
        return;
    emit->instruction = NULL;
    ff__ptx_refuse(emit, "the C code of this kernel would be more than %u MiB",
                   (unsigned)(MOST_TEXT >> 20));
}

static void emit_block(struct ff__ptx_emit *emit, uint32_t number, const uint8_t *writes_of) {
    need_room(emit);
    const struct ff__ptx_block *block = &emit->kernel->flow.blocks[number];
    ff__ptx_line(&emit->body, "B%u:;", number);
    emit->kernel->all_here = number == present(emit)->start;
    emit->kernel->count =
        emit->kernel->all_here && emit->kernel->region == 0 ? 0 : FF__PTX_NO_COUNT;
    for (uint32_t i = block->first; i < block->end; i++) {
        emit->instruction = &emit->function->instructions[i];
        block_instruction(emit, i, writes_of);
    }
    const struct ff__ptx_instruction *last = &emit->function->instructions[block->end - 1];
    add_count(emit);
    if (!transfers(last) || last->guard != FF__PTX_NONE)
        go_to(emit, number + 1);
}

/* ---- what holds at the start of each block ---- */

struct facts {
    uint64_t *entry, *after;
};

/* Registers that `writes_of` says are written once. */
static uint64_t *written_once(struct ff__ptx_emit *emit, const uint8_t *writes_of) {
    uint32_t words = emit->kernel->flow.register_words;
    uint64_t *once = ff__ptx_emit_need(emit, words, sizeof *once);
    for (uint32_t reg = 0; reg < words * 64; reg++)
        if (writes_of[reg] == 1)
            ff__ptx_put(once, reg);
    return once;
}

/* What holds at the end of a block holds at the start of the next unless another way there has it
 * otherwise. */
static bool pass_facts(const struct ff__ptx_block *block, const uint64_t *once, uint32_t words,
                       const struct facts *from, const struct facts *to) {
    uint64_t changed = 0;
    for (uint32_t w = 0; w < words; w++) {
        uint64_t entry = to->entry[w] & from->entry[w] & ~block->writes[w];
        uint64_t after = to->after[w] & (from->after[w] | (block->writes[w] & once[w]));
        changed |= (entry ^ to->entry[w]) | (after ^ to->after[w]);
        to->entry[w] = entry;
        to->after[w] = after;
    }
    return changed != 0;
}

/* For each block of the region, in its order, the registers that have the value of the region's
 * start on every way there, and those that have been written on every way, by the one instruction
 * that does. */
static struct facts *block_facts(struct ff__ptx_emit *emit, const uint8_t *writes_of,
                                 const uint32_t *order, uint32_t count) {
    const struct ff__ptx_flow *flow = &emit->kernel->flow;
    uint32_t words = flow->register_words;
    const uint64_t *once = written_once(emit, writes_of);
    uint32_t *place = ff__ptx_emit_need(emit, flow->block_count, sizeof *place); /* from 1 */
    struct facts *facts = ff__ptx_emit_need(emit, count, sizeof *facts);
    uint64_t *all = ff__ptx_emit_need(emit, 2ul * words * count, sizeof *all);
    for (uint32_t i = 0; i < count; i++) {
        facts[i].entry = all + 2ul * words * i;
        facts[i].after = facts[i].entry + words;
        memset(facts[i].entry, 0xff, 2ul * words * sizeof *all);
        place[order[i]] = i + 1;
    }
    memset(facts[0].after, 0, words * sizeof *all);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < count; i++) {
            const struct ff__ptx_block *block = &flow->blocks[order[i]];
            for (uint32_t k = 0; ff__ptx_passes(flow, block) && k < block->successor_count; k++) {
                uint32_t next = block->successors[k];
                if (place[next] != 0 && !emit->kernel->regions.cut[next])
                    changed |= pass_facts(block, once, words, &facts[i], &facts[place[next] - 1]);
            }
        }
    }
    return facts;
}

/* How often the region's instructions write each register: 0, 1, 2 for more. */
static uint8_t *count_writes(struct ff__ptx_emit *emit) {
    const struct ff__ptx_flow *flow = &emit->kernel->flow;
    uint8_t *writes = ff__ptx_emit_need(emit, flow->register_words * 64ul, sizeof *writes);
    struct ff__ptx_uses uses;
    const struct ff__ptx_region_plan *plan = present(emit);
    if (plan->suspend != FF__PTX_NONE) {
        ff__ptx_uses(emit->function, &emit->function->instructions[plan->suspend], &uses);
        for (uint32_t i = 0; i < uses.write_count; i++)
            writes[uses.writes[i]] = 2;
    }
    for (uint32_t b = 0; b < flow->block_count; b++) {
        if (!ff__ptx_in(plan->blocks, b))
            continue;
        for (uint32_t i = flow->blocks[b].first; i < flow->blocks[b].end; i++) {
            const struct ff__ptx_instruction *instruction = &emit->function->instructions[i];
            ff__ptx_uses(emit->function, instruction, &uses);
            for (uint32_t k = 0; k < uses.write_count; k++) {
                uint8_t *count = &writes[uses.writes[k]];
                if (instruction->guard != FF__PTX_NONE || ff__ptx_suspends(instruction))
                    *count = 2;
                else if (*count < 2)
                    ++*count;
            }
        }
    }
    return writes;
}

/* ---- regions ---- */

/* Blocks in an order in which most stand behind those that lead to them. */
static void order_blocks(struct ff__ptx_emit *emit, uint32_t *order, uint32_t *count) {
    const struct ff__ptx_flow *flow = &emit->kernel->flow;
    const struct ff__ptx_region_plan *plan = present(emit);
    bool *seen = ff__ptx_emit_need(emit, flow->block_count + 1ul, sizeof *seen);
    uint32_t *stack = ff__ptx_emit_need(emit, flow->block_count + 1ul, sizeof *stack);
    uint32_t *next = ff__ptx_emit_need(emit, flow->block_count + 1ul, sizeof *next);
    uint32_t depth = 0, placed = flow->block_count;
    stack[depth++] = plan->start;
    seen[plan->start] = true;
    while (depth != 0) {
        uint32_t top = stack[depth - 1];
        const struct ff__ptx_block *block = &flow->blocks[top];
        if (next[top] == block->successor_count) {
            order[--placed] = top;
            depth--;
            continue;
        }
        uint32_t to = block->successors[next[top]++];
        if (!seen[to] && ff__ptx_in(plan->blocks, to) && !emit->kernel->regions.cut[to]) {
            seen[to] = true;
            stack[depth++] = to;
        }
    }
    *count = flow->block_count - placed;
    memmove(order, order + placed, *count * sizeof *order);
}

/* Texts of a region. */
#define TEXTS(kernel)                                                                              \
    {                                                                                              \
        &(kernel)->enter, &(kernel)->check, &(kernel)->flush, &(kernel)->carry, &(kernel)->ahead,  \
            &(kernel)->top, &(kernel)->guard, &(kernel)->reports                                   \
    }

static void close_texts(struct ff__ptx_kernel_emit *kernel) {
    struct ff__ptx_text *texts[] = TEXTS(kernel);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ff__ptx_text_close(texts[i]);
}

void ff__ptx_free_texts(struct ff__ptx_kernel_emit *kernel) {
    struct ff__ptx_text *texts[] = TEXTS(kernel);
    close_texts(kernel);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        free(texts[i]->text);
        *texts[i] = (struct ff__ptx_text){0};
    }
}

static void start_region(struct ff__ptx_emit *emit) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    uint32_t count = emit->function->register_count + 1, words = kernel->flow.register_words;
    kernel->demanded = ff__ptx_emit_need(emit, count, sizeof *kernel->demanded);
    kernel->stored = ff__ptx_emit_need(emit, count, sizeof *kernel->stored);
    kernel->hoisted = ff__ptx_emit_need(emit, count, sizeof *kernel->hoisted);
    kernel->named = ff__ptx_emit_need(emit, count, sizeof *kernel->named);
    kernel->entry = ff__ptx_emit_need(emit, words, sizeof *kernel->entry);
    kernel->after = ff__ptx_emit_need(emit, words, sizeof *kernel->after);
    kernel->sites = kernel->logs = 0;
    kernel->target = FF__PTX_NO_TARGET;
    const struct ff__ptx_region_plan *plan = present(emit);
    kernel->repeats = plan->suspend == FF__PTX_NONE && plan->start != kernel->flow.block_count &&
                      kernel->region != 0 && kernel->regions.loop[plan->start] &&
                      !emit->options->yields;
    struct ff__ptx_text *texts[] = TEXTS(kernel);
    bool opened = ff__ptx_text_open(&emit->body);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        opened &= ff__ptx_text_open(texts[i]);
    if (!opened)
        ff__ptx_refuse(emit, "not enough memory");
}

static void region_body(struct ff__ptx_emit *emit) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    const struct ff__ptx_flow *flow = &kernel->flow;
    const struct ff__ptx_region_plan *plan = present(emit);
    if (kernel->region != 0)
        each_saved(emit, kernel->region, name_entry);
    if (plan->suspend != FF__PTX_NONE) {
        emit->instruction = &emit->function->instructions[plan->suspend];
        ff__ptx_emit_waited(emit);
    }
    if (plan->start == flow->block_count) {
        end_thread(emit);
        return;
    }
    const uint8_t *writes_of = count_writes(emit);
    uint32_t *order = ff__ptx_emit_need(emit, flow->block_count + 1ul, sizeof *order), count;
    order_blocks(emit, order, &count);
    struct facts *facts = block_facts(emit, writes_of, order, count);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(kernel->entry, facts[i].entry, flow->register_words * sizeof(uint64_t));
        memcpy(kernel->after, facts[i].after, flow->register_words * sizeof(uint64_t));
        emit_block(emit, order[i], writes_of);
    }
}

static void declare_registers(struct ff__ptx_emit *emit) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    const struct ff__ptx_region_plan *plan = present(emit);
    bool *used = ff__ptx_emit_need(emit, emit->function->register_count + 1ul, sizeof *used);
    struct ff__ptx_uses uses;
    for (uint32_t b = 0; b < kernel->flow.block_count; b++) {
        if (!ff__ptx_in(plan->blocks, b))
            continue;
        const struct ff__ptx_block *block = &kernel->flow.blocks[b];
        for (uint32_t i = block->first; i < block->end; i++) {
            ff__ptx_uses(emit->function, &emit->function->instructions[i], &uses);
            for (uint32_t k = 0; k < uses.read_count; k++)
                used[uses.reads[k]] = true;
            for (uint32_t k = 0; k < uses.write_count; k++)
                used[uses.writes[k]] = true;
        }
    }
    if (plan->suspend != FF__PTX_NONE) {
        ff__ptx_uses(emit->function, &emit->function->instructions[plan->suspend], &uses);
        for (uint32_t k = 0; k < uses.write_count; k++)
            used[uses.writes[k]] = true;
    }
    for (uint32_t reg = 0; reg < emit->function->register_count; reg++)
        if ((used[reg] || kernel->named[reg] || kernel->stored[reg]) && !kernel->demanded[reg])
            ff__ptx_line(&emit->out, "%s v%u;",
                         ff__ptx_c_register(emit->function->registers[reg].type), reg);
    for (uint32_t i = 0; i < emit->function->variable_count; i++)
        if (emit->function->variables[i].space == FF__PTX_PARAM)
            ff__ptx_line(&emit->out, "u64 P%u[%llu] __attribute__((aligned(16)));", i,
                         (unsigned long long)(emit->function->variables[i].size + 15) / 16 * 2);
}

/* Threads go one by one if their values are not what the region's code takes them for. */
static void go_alone(struct ff__ptx_emit *emit) {
    ff__ptx_line(&emit->out, "if (count > 1 && !(1 %s)) {", emit->kernel->check.text);
    ff__ptx_line(&emit->out,
                 "for (u32 k = 0; k < count; k++) next[k] = K%u_%u(lanes, block, first + k, 1, x + "
                 "k, y, z); return together(next, count);}",
                 emit->function_number, emit->kernel->region);
}

/* Those go apart whose values lie behind an overflow. */
static void go_in_parts(struct ff__ptx_emit *emit) {
    const struct ff__ptx_kernel_emit *kernel = emit->kernel;
    ff__ptx_line(&emit->out, "if (count > 1) {u32 fit = count; %sif (fit < count) {",
                 kernel->guard.text);
    if (kernel->apart)
        ff__ptx_line(&emit->out,
                     "for (u32 k = 0; absent != 0 && k < count; k++) {if (!(absent >> k & 1)) "
                     "stand(next + k, 1, K%u_%u(lanes, block, first + k, 1, x + k, y, z));} "
                     "if (absent != 0) return FF_PTX_MIXED;",
                     emit->function_number, kernel->region);
    if (kernel->repeats && kernel->flush.text[0] != '\0')
        ff__ptx_line(&emit->out, "for (u32 k = 0; k < count; k++) {%s}", kernel->flush.text);
    ff__ptx_line(&emit->out, "stand(next, fit, K%u_%u(lanes, block, first, fit, x, y, z));",
                 emit->function_number, kernel->region);
    ff__ptx_line(&emit->out,
                 "stand(next + fit, count - fit, K%u_%u(lanes, block, first + fit, count - fit, x "
                 "+ fit, y, z)); return together(next, count);}}",
                 emit->function_number, kernel->region);
}

/* Behind a round of a uniform loop. Where some threads leave and others stay, those that stay come
 * back as what they are: `stays` is one of them. */
static void end_round(struct ff__ptx_emit *emit, bool in_order) {
    const struct ff__ptx_kernel_emit *kernel = emit->kernel;
    struct ff__ptx_text *out = &emit->out;
    uint32_t region = kernel->region;
    ff__ptx_line(out, "u32 stays = 0;");
    if (!in_order) {
        ff__ptx_line(out, "if (where != %u) return where; %s}", region, kernel->carry.text);
        return;
    }
    ff__ptx_line(out, "where = together(next, count);");
    ff__ptx_line(out, "if (where != %u && where != (u32)FF_PTX_MIXED) return where;", region);
    ff__ptx_line(out, "for (; next[stays] != %u; stays++) {if (stays + 1 == count) return where;}",
                 region);
    ff__ptx_line(out, "%s", kernel->carry.text);
    ff__ptx_line(out, "if (where != %u) {for (u32 k = 0; k < count; k++) {%s}", region,
                 kernel->flush.text);
    ff__ptx_line(out, "return where;}}");
}

/* In recorded kernels, where lanes that have parted are to be told together: in regions that take
 * nothing from one lane for all. */
static bool may_run_apart(const struct ff__ptx_emit *emit) {
    const struct ff__ptx_kernel_emit *kernel = emit->kernel;
    return emit->options->record && kernel->region != 0 && present(emit)->suspend == FF__PTX_NONE &&
           !kernel->repeats && kernel->enter.text[0] == '\0';
}

static void begin_region(struct ff__ptx_emit *emit) {
    uint32_t kernel = emit->function_number, region = emit->kernel->region;
    ff__ptx_line(&emit->out, "static u32 K%u_%u" FF__PTX_REGION ")%s", kernel, region,
                 emit->kernel->apart ? ";" : " {");
    if (emit->kernel->apart)
        ff__ptx_line(
            &emit->out,
            "static inline __attribute__((always_inline)) u32 K%u_%u_without" FF__PTX_REGION
            ", u32 absent) {",
            kernel, region);
}

/* The region for a whole row, and for a row with gaps: each has the compiler's own copy. */
static void write_variants(struct ff__ptx_emit *emit) {
    uint32_t kernel = emit->function_number, region = emit->kernel->region;
    ff__ptx_line(&emit->out,
                 "static u32 K%u_%u" FF__PTX_REGION
                 ") {return K%u_%u_without(lanes, block, first, count, x, y, z, 0);}",
                 kernel, region, kernel, region);
    ff__ptx_line(&emit->out,
                 "static void K%u_%u_apart" FF__PTX_REGION
                 ", u32 absent) {K%u_%u_without(lanes, block, first, count, x, y, z, absent);}",
                 kernel, region, kernel, region);
}

static void write_region(struct ff__ptx_emit *emit) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    struct ff__ptx_text *out = &emit->out;
    uint32_t kernel_number = emit->function_number, region = kernel->region;
    close_texts(kernel);
    ff__ptx_text_close(&emit->body);
    kernel->apart = kernel->has_apart[region] = may_run_apart(emit);
    begin_region(emit);
    ff__ptx_line(out, "enum {LANES = %u, LOCAL = %llu};", ff__ptx_lanes_of(emit),
                 (unsigned long long)emit->local_size);
    ff__ptx_line(out, "struct K%u_state *const state = (void *)lanes->state;", kernel_number);
    ff__ptx_line(out, "u32 *const next = lanes->at + first, *const in = lanes->in, *const out = "
                      "lanes->out; const u64 shared = (u64)block->shared, param = "
                      "(u64)block->parameters;");
    fputs(kernel->enter.text, out->file);
    if (kernel->check.text[0] != '\0')
        go_alone(emit);
    if (kernel->repeats)
        ff__ptx_line(out, "for (;;) { u32 where = 0;");
    fputs(kernel->ahead.text, out->file);
    if (emit->options->record)
        ff__ptx_line(out, "const u32 here = row_of(count)%s;", kernel->apart ? " & ~absent" : "");
    if (kernel->guard.text[0] != '\0')
        go_in_parts(emit);
    ff__ptx_line(out, "FF_PTX_LANES for (s64 i = 0; i < (s64)count; i++) {");
    if (kernel->apart)
        ff__ptx_line(out, "if (absent >> i & 1) continue; if (absent != 0) ONE_BY_ONE;");
    ff__ptx_line(
        out, "const u64 l = (u64)first + (u64)i; const u32 tx = x + (u32)i; u32 at; u8 carry = 0;");
    ff__ptx_line(out, "const u64 local = (u64)lanes->local + (u64)l * LOCAL;");
    if (emit->options->record)
        ff__ptx_line(out, region == 0 ? "u32 n = 0;" : "u32 n = state->n[l];");
    fputs(kernel->top.text, out->file);
    declare_registers(emit);
    fputs(emit->body.text, out->file);
    bool one = kernel->target != FF_PTX_MIXED;
    bool in_order = kernel->repeats && kernel->regions.in_order[present(emit)->start];
    ff__ptx_line(out, "left:%s%s;}", emit->options->record ? "state->n[l] = n;" : "",
                 kernel->repeats && !in_order ? "where = at"
                 : one && kernel->apart       ? "if (absent != 0) next[i] = at"
                 : one                        ? ""
                                              : "next[i] = at");
    fputs(kernel->reports.text, out->file);
    if (kernel->repeats)
        end_round(emit, in_order);
    else if (one)
        ff__ptx_line(out, "return %uu;", kernel->target);
    else
        ff__ptx_line(out, "return together(next, count);");
    ff__ptx_line(out, "}");
    if (kernel->apart)
        write_variants(emit);
}

/* ---- kernels ---- */

static void write_state(struct ff__ptx_emit *emit) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    for (uint32_t i = 1; i < kernel->regions.count; i++)
        each_saved(emit, i, mark_saved);
    ff__ptx_line(&emit->out, "struct K%u_state {", emit->function_number);
    for (uint32_t reg = 0; reg < emit->function->register_count; reg++)
        if (kernel->saved[reg]) /* apart, so that equal places of two do not share a cache set */
            ff__ptx_line(&emit->out, "%s v%u[%u] __attribute__((aligned(64)));",
                         ff__ptx_c_register(emit->function->registers[reg].type), reg,
                         ff__ptx_lanes_of(emit) + 16);
    if (emit->options->record)
        ff__ptx_line(&emit->out, "u32 n[%u];", ff__ptx_lanes_of(emit));
    ff__ptx_line(&emit->out, "u8 none;};");
}

/* Each region has an arena of its own: sets of registers for each block of each region are more
 * memory than a large kernel may take. */
static void write_regions(struct ff__ptx_emit *emit) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    struct ff__ptx_arena *whole = emit->arena;
    for (uint32_t i = 0; i < kernel->regions.count; i++) {
        struct ff__ptx_arena *own = ff__ptx_arena_new();
        if (own == NULL)
            ff__ptx_refuse(emit, "not enough memory");
        emit->arena = own;
        kernel->region = i;
        start_region(emit);
        region_body(emit);
        write_region(emit);
        ff__ptx_free_texts(kernel);
        free(emit->body.text);
        emit->body.text = NULL;
        emit->arena = whole;
        ff__ptx_arena_free(own);
    }
}

void ff__ptx_emit_kernel(struct ff__ptx_emit *emit, uint32_t number) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    emit->function_number = number;
    emit->instruction = NULL;
    if (emit->function->instruction_count == 0)
        ff__ptx_refuse(emit, "a kernel without instructions");
    ff__ptx_need_length(emit);
    bool cut_loops = emit->options->record || emit->options->yields;
    if (ff__ptx_flow(emit->function, emit->arena, &kernel->flow) != 0 ||
        ff__ptx_find_shapes(&kernel->flow, &kernel->shapes) != 0 ||
        ff__ptx_find_regions(&kernel->flow, &kernel->shapes, cut_loops, &kernel->regions) != 0)
        ff__ptx_refuse(emit, "its branches cannot be followed");
    kernel->saved =
        ff__ptx_emit_need(emit, emit->function->register_count + 1ul, sizeof *kernel->saved);
    kernel->has_apart = ff__ptx_emit_need(emit, kernel->regions.count, sizeof *kernel->has_apart);
    kernel->placed = ff__ptx_emit_need(emit, emit->module->memory_count, sizeof *kernel->placed);
    write_state(emit);
    write_regions(emit);
    ff__ptx_emit_table(emit);
}
