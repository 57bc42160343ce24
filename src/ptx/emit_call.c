/* Device functions and their calls. A function takes the thread's place, its block of parameters
 * and where its result goes; buffers of parameters are copied, as PTX says. */
#include "ptx/emit_internal.h"

#include <string.h>

#define OP(name) FF__PTX_OP_##name

struct call {
    const struct ff__ptx_operand *results, *target, *arguments; /* lists may be NULL */
};

static struct call parts(struct ff__ptx_emit *emit) {
    struct call call = {0};
    uint32_t at = 0, count = emit->instruction->operand_count;
    if (count > at && ff__ptx_operand_of(emit, at)->kind == FF__PTX_LIST)
        call.results = ff__ptx_operand_of(emit, at++);
    if (count <= at)
        ff__ptx_refuse(emit, "a call of nothing");
    call.target = ff__ptx_operand_of(emit, at++);
    if (count > at && ff__ptx_operand_of(emit, at)->kind == FF__PTX_LIST)
        call.arguments = ff__ptx_operand_of(emit, at);
    return call;
}

/* A buffer of the call, and where it lies in the block of all. */
static const struct ff__ptx_variable *buffer(struct ff__ptx_emit *emit,
                                             const struct ff__ptx_operand *list, uint32_t index,
                                             uint64_t *at) {
    const struct ff__ptx_operand *operand = &emit->function->operands[list->first + index];
    if (operand->kind != FF__PTX_OWN ||
        emit->function->variables[operand->index].space != FF__PTX_PARAM)
        ff__ptx_refuse(emit, "parameters in registers are not supported");
    const struct ff__ptx_variable *variable = &emit->function->variables[operand->index];
    *at = (*at + variable->align - 1) / variable->align * variable->align;
    return variable;
}

static uint64_t block_size(struct ff__ptx_emit *emit, const struct ff__ptx_operand *list) {
    uint64_t at = 0;
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        const struct ff__ptx_variable *variable = buffer(emit, list, i, &at);
        at += variable->size;
    }
    return at;
}

static void copy_all(struct ff__ptx_emit *emit, const struct ff__ptx_operand *list, bool in) {
    uint64_t at = 0;
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        const struct ff__ptx_variable *variable = buffer(emit, list, i, &at);
        uint32_t number = emit->function->operands[list->first + i].index;
        if (in)
            ff__ptx_line(&emit->body, "__builtin_memcpy(in_ + %llu, P%u, %llu);",
                         (unsigned long long)at, number, (unsigned long long)variable->size);
        else
            ff__ptx_line(&emit->body, "__builtin_memcpy(P%u, out_ + %llu, %llu);", number,
                         (unsigned long long)at, (unsigned long long)variable->size);
        at += variable->size;
    }
}

static uint32_t argument(struct ff__ptx_emit *emit, const struct ff__ptx_operand *list,
                         uint32_t index) {
    uint64_t at = 0;
    if (list == NULL || list->count <= index)
        ff__ptx_refuse(emit, "too few parameters");
    buffer(emit, list, index, &at);
    return emit->function->operands[list->first + index].index;
}

/* What CUDA's run-time library offers to device code. */
static bool builtin(struct ff__ptx_emit *emit, const char *name, const struct call *call) {
    if (strcmp(name, "vprintf") == 0) {
        uint32_t format = argument(emit, call->arguments, 0);
        uint32_t values = argument(emit, call->arguments, 1);
        const char *printed =
            ff__ptx_format(emit,
                           "(u32)block->services->print(block, (const char *)P%u[0], "
                           "(const u8 *)P%u[0])",
                           format, values);
        if (call->results != NULL)
            ff__ptx_line(&emit->body, "*(u32 *)P%u = %s;", argument(emit, call->results, 0),
                         printed);
        else
            ff__ptx_line(&emit->body, "(void)%s;", printed);
        return true;
    }
    if (strcmp(name, "__assertfail") == 0) {
        uint32_t parts[4];
        for (uint32_t i = 0; i < 4; i++)
            parts[i] = argument(emit, call->arguments, i);
        ff__ptx_line(
            &emit->body,
            "block->services->assertion(block, (const char *)P%u[0], (const char *)P%u[0], "
            "(u32)P%u[0], (const char *)P%u[0]);",
            parts[0], parts[1], parts[2], parts[3]);
        return true;
    }
    if (strcmp(name, "malloc") == 0 && call->results != NULL) {
        ff__ptx_line(&emit->body, "P%u[0] = block->services->take(block, P%u[0]);",
                     argument(emit, call->results, 0), argument(emit, call->arguments, 0));
        return true;
    }
    if (strcmp(name, "free") == 0) {
        ff__ptx_line(&emit->body, "block->services->give(block, P%u[0]);",
                     argument(emit, call->arguments, 0));
        return true;
    }
    return false;
}

static void call_target(struct ff__ptx_emit *emit, const struct ff__ptx_operand *target) {
    if (target->kind == FF__PTX_REGISTER) {
        const char *address = ff__ptx_value(emit, target, FF__PTX_U64, FF__PTX_IN_LANE);
        ff__ptx_line(&emit->body,
                     "if (%s == 0) block->services->fail(block, \"a call of no function, or of one "
                     "that is refused\");",
                     address);
        ff__ptx_line(&emit->body, "((ff_function *)%s)(&t_, (u64)in_, (u64)out_);", address);
        return;
    }
    if (target->kind != FF__PTX_FUNCTION)
        ff__ptx_refuse(emit, "a call of what is no function");
    const struct ff__ptx_function *function = &emit->module->functions[target->index];
    if (function->is_declaration)
        ff__ptx_refuse(emit, "'%s' is not in this module", function->name);
    if (!emit->has_function[target->index])
        ff__ptx_refuse(emit, "'%s' is refused: %s", function->name, function->refused);
    ff__ptx_line(&emit->body, "F%u(&t_, (u64)in_, (u64)out_);", target->index);
}

/* Whether a kernel's lanes count instructions, and go on in what they call. */
static bool counts(const struct ff__ptx_emit *emit) {
    return emit->kernel != NULL && emit->options->record;
}

/* The last members of struct ff_lane. What a call accesses is reported behind the loop over lanes,
 * between what the kernel accesses before it and after it. */
static const char *open_lane(struct ff__ptx_emit *emit) {
    if (!emit->options->record)
        return emit->kernel != NULL ? "local" : "t->local";
    if (emit->kernel == NULL)
        return "t->local, t->n, t->log";
    uint32_t log = emit->kernel->logs++;
    ff__ptx_line(&emit->kernel->ahead, "struct ff_log C%u; C%u.count = 0;", log, log);
    ff__ptx_line(&emit->kernel->reports, "tell_log(block, lanes, &C%u);", log);
    ff__ptx_line(&emit->body, "u32 n_ = n;");
    return ff__ptx_format(emit, "local, &n_, &C%u", log);
}

void ff__ptx_emit_call(struct ff__ptx_emit *emit) {
    struct call call = parts(emit);
    if (call.target->kind == FF__PTX_FUNCTION &&
        builtin(emit, emit->module->functions[call.target->index].name, &call))
        return;
    ff__ptx_line(&emit->body, "{u8 in_[%llu] __attribute__((aligned(16)));",
                 (unsigned long long)block_size(emit, call.arguments) + 1);
    ff__ptx_line(&emit->body, "u8 out_[%llu] __attribute__((aligned(16)));",
                 (unsigned long long)block_size(emit, call.results) + 1);
    ff__ptx_line(&emit->body, "const struct ff_lane t_ = {lanes, block, l, tx, y, z, %s};",
                 open_lane(emit));
    copy_all(emit, call.arguments, true);
    call_target(emit, call.target);
    copy_all(emit, call.results, false);
    ff__ptx_line(&emit->body, counts(emit) ? "n = n_;}" : "}");
}

/* ---- device functions ---- */

static void declare_all(struct ff__ptx_emit *emit) {
    const struct ff__ptx_function *function = emit->function;
    for (uint32_t i = 0; i < function->register_count; i++)
        ff__ptx_line(&emit->body, "%s v%u;", ff__ptx_c_register(function->registers[i].type), i);
    for (uint32_t i = 0; i < function->variable_count; i++)
        if (function->variables[i].space == FF__PTX_PARAM)
            ff__ptx_line(&emit->body, "u64 P%u[%llu] __attribute__((aligned(16)));", i,
                         (unsigned long long)(function->variables[i].size + 15) / 16 * 2);
    ff__ptx_line(&emit->body, "u8 carry = 0;");
}

static void branch(struct ff__ptx_emit *emit) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    const struct ff__ptx_operand *first = ff__ptx_operand_of(emit, 0);
    bool by_table = instruction->opcode == OP(brx);
    if (instruction->operand_count != (by_table ? 2 : 1))
        ff__ptx_refuse(emit, "this form is not supported");
    const struct ff__ptx_operand *last = by_table ? first + 1 : first;
    const struct ff__ptx_label *table =
        last->kind == FF__PTX_LABEL ? &emit->function->labels[last->index] : NULL;
    if (table == NULL || (table->targets != NULL) != by_table)
        ff__ptx_refuse(emit, "a branch without targets");
    if (!by_table) {
        ff__ptx_line(&emit->body, "goto L%u;", first->index);
        return;
    }
    ff__ptx_line(&emit->body, "switch (%s) {",
                 ff__ptx_value(emit, first, FF__PTX_U32, FF__PTX_IN_LANE));
    for (uint32_t i = 0; i < table->target_count; i++)
        ff__ptx_line(&emit->body, "case %u: goto L%u;", i, table->targets[i]);
    ff__ptx_line(&emit->body, "}");
}

static void function_instruction(struct ff__ptx_emit *emit) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    if (emit->options->record)
        ff__ptx_line(&emit->body, "++*t->n;");
    if (instruction->guard != FF__PTX_NONE)
        ff__ptx_line(&emit->body, "if (%sv%u) {", instruction->guard_negated ? "!" : "",
                     instruction->guard);
    if (instruction->opcode == OP(bra) || instruction->opcode == OP(brx))
        branch(emit);
    else if (instruction->opcode == OP(ret))
        ff__ptx_line(&emit->body, "return;");
    else if (instruction->opcode == OP(exit))
        ff__ptx_refuse(emit, "a thread ends in a device function");
    else if (instruction->opcode == OP(trap))
        ff__ptx_line(&emit->body, "block->services->fail(block, \"trap\");");
    else
        ff__ptx_emit_instruction(emit);
    if (instruction->guard != FF__PTX_NONE)
        ff__ptx_line(&emit->body, "}");
}

/* Labels by the instruction that they stand before: each has the number of the next one there, and
 * all are one more than they are. */
struct labels {
    uint32_t *first, *next;
};

static struct labels find_labels(struct ff__ptx_emit *emit) {
    const struct ff__ptx_function *function = emit->function;
    struct labels labels;
    labels.first = ff__ptx_emit_need(emit, function->instruction_count, sizeof *labels.first);
    labels.next = ff__ptx_emit_need(emit, function->label_count, sizeof *labels.next);
    for (uint32_t i = function->label_count; i-- > 0;) {
        uint32_t *first = &labels.first[function->labels[i].instruction];
        if (function->labels[i].targets != NULL)
            continue;
        labels.next[i] = *first;
        *first = i + 1;
    }
    return labels;
}

static void labels_at(struct ff__ptx_emit *emit, const struct labels *labels,
                      uint32_t instruction) {
    for (uint32_t i = labels->first[instruction]; i != 0; i = labels->next[i - 1])
        ff__ptx_line(&emit->body, "L%u:;", i - 1);
}

void ff__ptx_emit_function(struct ff__ptx_emit *emit, uint32_t number) {
    ff__ptx_need_length(emit);
    ff__ptx_line(&emit->body, "static void F%u(const struct ff_lane *t, u64 param, u64 result) {",
                 number);
    ff__ptx_line(&emit->body, "struct ff_ptx_lanes *const lanes = t->lanes; const struct "
                              "ff_ptx_block *const block = t->block;");
    ff__ptx_line(&emit->body, "const u32 l = t->l, tx = t->x, y = t->y, z = t->z;");
    ff__ptx_line(&emit->body, "u8 own[%llu] __attribute__((aligned(16)));",
                 (unsigned long long)emit->local_size + 16);
    ff__ptx_line(&emit->body,
                 "const u64 local = (u64)own, shared = (u64)block->shared; enum {LOCAL = %llu};",
                 (unsigned long long)emit->local_size);
    declare_all(emit);
    const struct labels labels = find_labels(emit);
    for (uint32_t i = 0; i < emit->function->instruction_count; i++) {
        emit->instruction = &emit->function->instructions[i];
        labels_at(emit, &labels, i);
        function_instruction(emit);
    }
    labels_at(emit, &labels, emit->function->instruction_count);
    ff__ptx_line(&emit->body, "}");
}
