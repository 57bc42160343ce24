#include "ptx/inline.h"

#include "base/grow.h"
#include "ptx/arena.h"
#include "ptx/flow.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OP(name)    FF__PTX_OP_##name
#define MOST_COPIED (1u << 22) /* in all functions: instructions, registers, variables, labels */

/* What a parameter or a result of the callee is in the caller. */
struct passed {
    bool is_register; /* else it is a variable in local memory */
    uint32_t index;
    uint32_t fitting, uses; /* how often it is loaded or stored as a whole, and named */
};

/* What is added to the callee's numbers. */
struct bases {
    uint32_t registers, variables, labels;
    struct passed *parameters, *results; /* NULL: those of the function itself */
};

struct inlined_call {
    const struct ff__ptx_operand *results, *arguments; /* lists may be NULL */
    const struct ff__ptx_function *callee;
};

/* The function that is written anew. */
struct expansion {
    struct ff__ptx_module *module;
    struct ff__ptx_function *function; /* as it was */
    const struct ff__ptx_instruction *instruction;
    struct ff__ptx_function made;
    uint64_t *copied;
    bool *labelled; /* by instruction, of the old ones: a label stands before it */
    int code;
    jmp_buf leave;
};

/* ---- memory and errors ---- */

static void *need(struct expansion *x, size_t count, size_t size) {
    void *memory = ff__ptx_arena_alloc(x->module->arena, count + 1, size);
    if (memory == NULL) {
        x->code = -ENOMEM;
        longjmp(x->leave, 1);
    }
    return memory;
}

static void *append(struct expansion *x, void *array, uint32_t *count, size_t size) {
    void **elements = array;
    if (*count == 0 || (*count >= FF__GROW_FIRST && (*count & (*count - 1)) == 0)) {
        void *larger = need(x, *count == 0 ? FF__GROW_FIRST : *count * 2ul, size);
        if (*count != 0)
            memcpy(larger, *elements, *count * size);
        *elements = larger;
    }
    return (char *)*elements + (*count)++ * size;
}

_Noreturn static void refuse(struct expansion *x, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn static void refuse(struct expansion *x, const char *format, ...) {
    char *out = x->function->refused;
    size_t size = sizeof x->function->refused;
    size_t used = (size_t)snprintf(out, size, "line %u: call: ", x->instruction->line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + used, size - used, format, arguments);
    va_end(arguments);
    longjmp(x->leave, 1);
}

/* ---- calls ---- */

static const struct ff__ptx_operand *operand_of(const struct ff__ptx_function *function,
                                                const struct ff__ptx_instruction *instruction,
                                                uint32_t index) {
    return &function->operands[instruction->operands + index];
}

/* False: not one of a function in which threads wait. */
static bool find_call(const struct ff__ptx_module *module, const struct ff__ptx_function *function,
                      const struct ff__ptx_instruction *instruction, struct inlined_call *out) {
    uint32_t at = 0, count = instruction->operand_count;
    *out = (struct inlined_call){0};
    if (instruction->opcode != OP(call))
        return false;
    if (count > at && operand_of(function, instruction, at)->kind == FF__PTX_LIST)
        out->results = operand_of(function, instruction, at++);
    if (count <= at || operand_of(function, instruction, at)->kind != FF__PTX_FUNCTION)
        return false;
    out->callee = &module->functions[operand_of(function, instruction, at++)->index];
    if (count > at && operand_of(function, instruction, at)->kind == FF__PTX_LIST)
        out->arguments = operand_of(function, instruction, at);
    return out->callee->inlined;
}

/* ---- copies ---- */

static struct ff__ptx_operand placed(const struct passed *place, struct ff__ptx_operand operand) {
    operand.kind = place->is_register ? FF__PTX_REGISTER : FF__PTX_OWN;
    operand.address &= !place->is_register;
    operand.index = place->index;
    return operand;
}

static uint32_t copy_operands(struct expansion *x, const struct ff__ptx_function *from,
                              uint32_t first, uint32_t count, const struct bases *bases) {
    uint32_t start = x->made.operand_count;
    for (uint32_t i = 0; i < count; i++)
        append(x, &x->made.operands, &x->made.operand_count, sizeof *x->made.operands);
    for (uint32_t i = 0; i < count; i++) {
        struct ff__ptx_operand operand = from->operands[first + i];
        if (operand.kind == FF__PTX_REGISTER)
            operand.index += bases->registers;
        else if (operand.kind == FF__PTX_OWN)
            operand.index += bases->variables;
        else if (operand.kind == FF__PTX_LABEL)
            operand.index += bases->labels;
        else if (operand.kind == FF__PTX_LIST)
            operand.first = copy_operands(x, from, operand.first, operand.count, bases);
        else if (operand.kind == FF__PTX_PARAMETER && bases->parameters != NULL)
            operand = placed(&bases->parameters[operand.index], operand);
        else if (operand.kind == FF__PTX_RESULT && bases->results != NULL)
            operand = placed(&bases->results[operand.index], operand);
        x->made.operands[start + i] = operand;
    }
    return start;
}

static void copy_label(struct expansion *x, const struct ff__ptx_label *from, uint32_t base) {
    struct ff__ptx_label label = *from;
    if (label.targets != NULL) {
        label.targets = need(x, label.target_count, sizeof *label.targets);
        for (uint32_t i = 0; i < label.target_count; i++)
            label.targets[i] = from->targets[i] + base;
    }
    *(struct ff__ptx_label *)append(x, &x->made.labels, &x->made.label_count, sizeof label) = label;
}

static uint32_t new_label(struct expansion *x) {
    *(struct ff__ptx_label *)append(x, &x->made.labels, &x->made.label_count,
                                    sizeof *x->made.labels) = (struct ff__ptx_label){.name = ""};
    return x->made.label_count - 1;
}

static uint32_t new_register(struct expansion *x, enum ff__ptx_type type) {
    *(struct ff__ptx_register *)append(x, &x->made.registers, &x->made.register_count,
                                       sizeof *x->made.registers) =
        (struct ff__ptx_register){.name = "", .type = (uint8_t)type};
    return x->made.register_count - 1;
}

static void count_copied(struct expansion *x, uint64_t count) {
    *x->copied += count;
    if (*x->copied > MOST_COPIED)
        refuse(x, "copies of what functions call are more than the module may have");
}

static void add_instruction(struct expansion *x, struct ff__ptx_instruction made) {
    if (x->made.instruction_count == FF__PTX_MOST_INSTRUCTIONS)
        refuse(x, "with copies of what it calls, it has more than %u instructions",
               FF__PTX_MOST_INSTRUCTIONS);
    count_copied(x, 1);
    *(struct ff__ptx_instruction *)append(x, &x->made.instructions, &x->made.instruction_count,
                                          sizeof made) = made;
}

static void set(struct ff__ptx_instruction *instruction, enum ff__ptx_modifier modifier) {
    instruction->modifiers[modifier / 64] |= UINT64_C(1) << (modifier % 64);
}

static void clear(struct ff__ptx_instruction *instruction, enum ff__ptx_modifier modifier) {
    instruction->modifiers[modifier / 64] &= ~(UINT64_C(1) << (modifier % 64));
}

/* ---- parameters ---- */

static bool accesses_parameters(const struct ff__ptx_instruction *instruction) {
    return (instruction->opcode == OP(ld) || instruction->opcode == OP(st)) &&
           (ff__ptx_has(instruction, FF__PTX_M_PARAM) ||
            ff__ptx_has(instruction, FF__PTX_M_PARAM_FUNC));
}

static struct passed *place_of(const struct bases *bases, const struct ff__ptx_operand *operand) {
    return operand->kind == FF__PTX_PARAMETER ? &bases->parameters[operand->index]
           : operand->kind == FF__PTX_RESULT  ? &bases->results[operand->index]
                                              : NULL;
}

static bool fits(const struct ff__ptx_function *callee, const struct ff__ptx_operand *value,
                 uint32_t size) {
    return value->kind == FF__PTX_REGISTER
               ? callee->registers[value->index].type != FF__PTX_PRED &&
                     ff__ptx_type_size(callee->registers[value->index].type) == size
               : value->kind == FF__PTX_INTEGER || value->kind == FF__PTX_FLOAT32 ||
                     value->kind == FF__PTX_FLOAT64;
}

/* Counts, for each parameter, how often it is loaded or stored as a whole. */
static void count_fitting(struct expansion *x, const struct ff__ptx_function *callee,
                          const struct bases *bases) {
    for (uint32_t i = 0; i < callee->operand_count; i++) {
        struct passed *place = place_of(bases, &callee->operands[i]);
        if (place != NULL)
            place->uses++;
    }
    for (uint32_t i = 0; i < callee->instruction_count; i++) {
        const struct ff__ptx_instruction *instruction = &callee->instructions[i];
        if (!accesses_parameters(instruction) || instruction->operand_count != 2)
            continue;
        uint32_t which = instruction->opcode == OP(ld) ? 1 : 0;
        const struct ff__ptx_operand *address = operand_of(callee, instruction, which);
        struct passed *place = place_of(bases, address);
        if (address->kind == FF__PTX_REGISTER)
            refuse(x, "'%s', in which threads wait for each other, has pointers to its parameters",
                   callee->name);
        const struct ff__ptx_variable *variables =
            address->kind == FF__PTX_RESULT ? callee->results : callee->parameters;
        uint32_t size = ff__ptx_type_size(instruction->types[0]);
        if (place != NULL && instruction->type_count == 1 && address->address &&
            address->offset == 0 && size == variables[address->index].size &&
            fits(callee, operand_of(callee, instruction, 1 - which), size))
            place->fitting++;
    }
}

/* A place for each parameter or result: a register where that is enough. */
static void make_places(struct expansion *x, const struct ff__ptx_variable *variables,
                        uint32_t count, struct passed *places) {
    for (uint32_t i = 0; i < count; i++) {
        struct ff__ptx_variable variable = variables[i];
        if (variable.space != FF__PTX_PARAM)
            refuse(x, "parameters in registers are not supported");
        places[i].is_register = !variable.is_array && places[i].uses == places[i].fitting &&
                                (variable.size == 4 || variable.size == 8);
        if (places[i].is_register) {
            places[i].index = new_register(x, variable.size == 4 ? FF__PTX_B32 : FF__PTX_B64);
            continue;
        }
        variable.space = FF__PTX_LOCAL;
        places[i].index = x->made.variable_count;
        *(struct ff__ptx_variable *)append(x, &x->made.variables, &x->made.variable_count,
                                           sizeof variable) = variable;
    }
}

static const struct ff__ptx_operand *buffer(struct expansion *x, const struct ff__ptx_operand *list,
                                            uint32_t index,
                                            const struct ff__ptx_variable *parameter) {
    const struct ff__ptx_operand *operand = &x->function->operands[list->first + index];
    if (operand->kind != FF__PTX_OWN ||
        x->function->variables[operand->index].space != FF__PTX_PARAM ||
        x->function->variables[operand->index].size != parameter->size)
        refuse(x, "parameters that do not fit");
    return operand;
}

/* `to` or `from` is in brackets, as the instruction loads or stores. */
static void move(struct expansion *x, enum ff__ptx_opcode opcode, enum ff__ptx_type type,
                 enum ff__ptx_modifier space, struct ff__ptx_operand to,
                 struct ff__ptx_operand from) {
    struct ff__ptx_instruction made = {.opcode = (uint16_t)opcode,
                                       .type_count = 1,
                                       .types = {(uint8_t)type},
                                       .guard = FF__PTX_NONE,
                                       .operands = x->made.operand_count,
                                       .operand_count = 2,
                                       .line = x->instruction->line};
    struct ff__ptx_operand *operands[2];
    for (uint32_t i = 0; i < 2; i++) {
        operands[i] = append(x, &x->made.operands, &x->made.operand_count, sizeof to);
        *operands[i] = i == 0 ? to : from;
    }
    if (opcode != OP(mov))
        set(&made, space);
    add_instruction(x, made);
}

static struct ff__ptx_operand in_register(uint32_t index) {
    return (struct ff__ptx_operand){.kind = FF__PTX_REGISTER, .index = index};
}

static struct ff__ptx_operand in_memory(uint32_t variable, uint64_t offset) {
    return (struct ff__ptx_operand){
        .kind = FF__PTX_OWN, .address = true, .index = variable, .offset = (int64_t)offset};
}

/* Between a buffer of the call and local memory, as wide as both are aligned. */
static void copy_memory(struct expansion *x, uint32_t buffer, uint32_t local, uint64_t size,
                        uint32_t align, bool in) {
    static const enum ff__ptx_type types[] = {
        [1] = FF__PTX_B8, [2] = FF__PTX_B16, [4] = FF__PTX_B32, [8] = FF__PTX_B64};
    uint32_t wide = align >= 8 ? 8 : align >= 4 ? 4 : align >= 2 ? 2 : 1;
    uint32_t temporary = new_register(x, FF__PTX_B64);
    for (uint64_t at = 0; at < size; at += wide) {
        while (size - at < wide)
            wide /= 2;
        move(x, OP(ld), types[wide], in ? FF__PTX_M_PARAM : FF__PTX_M_LOCAL, in_register(temporary),
             in_memory(in ? buffer : local, at));
        move(x, OP(st), types[wide], in ? FF__PTX_M_LOCAL : FF__PTX_M_PARAM,
             in_memory(in ? local : buffer, at), in_register(temporary));
    }
}

/* The store right before the call that sets the whole buffer, or NULL. What it stores is known to
 * be the same in all threads where the buffer is not. */
static const struct ff__ptx_instruction *find_store(const struct expansion *x, uint32_t buffer) {
    const struct ff__ptx_function *function = x->function;
    const struct ff__ptx_instruction *at = x->instruction;
    while (at > function->instructions && !x->labelled[at - function->instructions]) {
        at--;
        if (!accesses_parameters(at) || at->opcode != OP(st) || at->operand_count != 2 ||
            at->guard != FF__PTX_NONE)
            return NULL;
        const struct ff__ptx_operand *to = operand_of(function, at, 0);
        if (to->kind == FF__PTX_OWN && to->index == buffer)
            return to->offset == 0 && at->type_count == 1 &&
                           ff__ptx_type_size(at->types[0]) == function->variables[buffer].size &&
                           fits(function, operand_of(function, at, 1),
                                ff__ptx_type_size(at->types[0]))
                       ? at
                       : NULL;
    }
    return NULL;
}

static enum ff__ptx_type bits_of(uint64_t size) {
    return size == 4 ? FF__PTX_B32 : FF__PTX_B64;
}

static void pass_in(struct expansion *x, const struct inlined_call *call,
                    const struct passed *places) {
    for (uint32_t i = 0; i < call->callee->parameter_count; i++) {
        const struct ff__ptx_variable *parameter = &call->callee->parameters[i];
        uint32_t from = buffer(x, call->arguments, i, parameter)->index;
        const struct ff__ptx_instruction *store = find_store(x, from);
        if (!places[i].is_register)
            copy_memory(x, from, places[i].index, parameter->size, parameter->align, true);
        else if (store != NULL)
            move(x, OP(mov), store->types[0], 0, in_register(places[i].index),
                 *operand_of(x->function, store, 1));
        else
            move(x, OP(ld), bits_of(parameter->size), FF__PTX_M_PARAM, in_register(places[i].index),
                 in_memory(from, 0));
    }
}

static void pass_out(struct expansion *x, const struct inlined_call *call,
                     const struct passed *places) {
    for (uint32_t i = 0; i < call->callee->result_count; i++) {
        const struct ff__ptx_variable *result = &call->callee->results[i];
        uint32_t to = buffer(x, call->results, i, result)->index;
        if (places[i].is_register)
            move(x, OP(st), bits_of(result->size), FF__PTX_M_PARAM, in_memory(to, 0),
                 in_register(places[i].index));
        else
            copy_memory(x, to, places[i].index, result->size, result->align, false);
    }
}

/* ---- bodies ---- */

static void branch(struct expansion *x, uint32_t label, uint32_t guard, bool negated,
                   uint32_t line) {
    struct ff__ptx_instruction made = {.opcode = OP(bra),
                                       .guard = guard,
                                       .guard_negated = negated,
                                       .operands = x->made.operand_count,
                                       .operand_count = 1,
                                       .line = line};
    *(struct ff__ptx_operand *)append(x, &x->made.operands, &x->made.operand_count,
                                      sizeof *x->made.operands) =
        (struct ff__ptx_operand){.kind = FF__PTX_LABEL, .index = label};
    add_instruction(x, made);
}

static void copy_instruction(struct expansion *x, const struct ff__ptx_function *from,
                             const struct ff__ptx_instruction *instruction,
                             const struct bases *bases) {
    struct ff__ptx_instruction made = *instruction;
    if (made.guard != FF__PTX_NONE)
        made.guard += bases->registers;
    if (accesses_parameters(instruction) && instruction->operand_count == 2) {
        const struct ff__ptx_operand *address =
            operand_of(from, instruction, instruction->opcode == OP(ld) ? 1 : 0);
        const struct passed *place = bases->parameters != NULL ? place_of(bases, address) : NULL;
        if (place != NULL && place->is_register) {
            made.opcode = OP(mov);
            memset(made.modifiers, 0, sizeof made.modifiers);
        } else if (place != NULL) {
            clear(&made, FF__PTX_M_PARAM);
            clear(&made, FF__PTX_M_PARAM_FUNC);
            set(&made, FF__PTX_M_LOCAL);
        }
    }
    made.operands = copy_operands(x, from, made.operands, made.operand_count, bases);
    add_instruction(x, made);
}

static void copy_body(struct expansion *x, const struct ff__ptx_function *callee,
                      const struct bases *bases, uint32_t end) {
    uint32_t first = x->made.instruction_count;
    count_copied(x,
                 (uint64_t)callee->register_count + callee->variable_count + callee->label_count);
    for (uint32_t i = 0; i < callee->register_count; i++)
        *(struct ff__ptx_register *)append(x, &x->made.registers, &x->made.register_count,
                                           sizeof *x->made.registers) = callee->registers[i];
    for (uint32_t i = 0; i < callee->variable_count; i++)
        *(struct ff__ptx_variable *)append(x, &x->made.variables, &x->made.variable_count,
                                           sizeof *x->made.variables) = callee->variables[i];
    for (uint32_t i = 0; i < callee->label_count; i++) {
        copy_label(x, &callee->labels[i], bases->labels);
        x->made.labels[bases->labels + i].instruction += first;
    }
    for (uint32_t i = 0; i < callee->instruction_count; i++) {
        const struct ff__ptx_instruction *instruction = &callee->instructions[i];
        if (instruction->opcode == OP(ret))
            branch(x, end,
                   instruction->guard == FF__PTX_NONE ? FF__PTX_NONE
                                                      : instruction->guard + bases->registers,
                   instruction->guard_negated, instruction->line);
        else
            copy_instruction(x, callee, instruction, bases);
    }
}

static uint32_t length(const struct ff__ptx_operand *list) {
    return list != NULL ? list->count : 0;
}

static void expand_call(struct expansion *x, const struct inlined_call *call) {
    const struct ff__ptx_function *callee = call->callee;
    const struct ff__ptx_instruction *instruction = x->instruction;
    if (length(call->arguments) != callee->parameter_count ||
        length(call->results) != callee->result_count)
        refuse(x, "not as many parameters as '%s' has", callee->name);
    struct bases bases = {.parameters = need(x, callee->parameter_count, sizeof *bases.parameters),
                          .results = need(x, callee->result_count, sizeof *bases.results)};
    count_fitting(x, callee, &bases);
    make_places(x, callee->parameters, callee->parameter_count, bases.parameters);
    make_places(x, callee->results, callee->result_count, bases.results);
    uint32_t end = new_label(x), past = new_label(x);
    bases.variables = x->made.variable_count;
    bases.labels = x->made.label_count;
    if (instruction->guard != FF__PTX_NONE)
        branch(x, past, instruction->guard, !instruction->guard_negated, instruction->line);
    pass_in(x, call, bases.parameters);
    bases.registers = x->made.register_count;
    copy_body(x, callee, &bases, end);
    x->made.labels[end].instruction = x->made.instruction_count;
    pass_out(x, call, bases.results);
    x->made.labels[past].instruction = x->made.instruction_count;
}

/* ---- functions ---- */

static void expand(struct expansion *x) {
    struct ff__ptx_function *function = x->function;
    const struct bases none = {0};
    uint32_t count = function->instruction_count;
    uint32_t *at = need(x, count + 1ul, sizeof *at);
    x->labelled = need(x, count + 1ul, sizeof *x->labelled);
    for (uint32_t i = 0; i < function->register_count; i++)
        *(struct ff__ptx_register *)append(x, &x->made.registers, &x->made.register_count,
                                           sizeof *x->made.registers) = function->registers[i];
    for (uint32_t i = 0; i < function->variable_count; i++)
        *(struct ff__ptx_variable *)append(x, &x->made.variables, &x->made.variable_count,
                                           sizeof *x->made.variables) = function->variables[i];
    for (uint32_t i = 0; i < function->label_count; i++) {
        copy_label(x, &function->labels[i], 0);
        x->labelled[function->labels[i].instruction] = true;
    }
    append(x, &x->made.operands, &x->made.operand_count, sizeof *x->made.operands);
    for (uint32_t i = 0; i < count; i++) {
        struct inlined_call call;
        at[i] = x->made.instruction_count;
        x->instruction = &function->instructions[i];
        if (find_call(x->module, function, x->instruction, &call))
            expand_call(x, &call);
        else
            copy_instruction(x, function, x->instruction, &none);
    }
    at[count] = x->made.instruction_count;
    for (uint32_t i = 0; i < function->label_count; i++)
        x->made.labels[i].instruction = at[function->labels[i].instruction];
}

static int expand_function(struct ff__ptx_module *module, struct ff__ptx_function *function,
                           uint64_t *copied) {
    struct expansion x = {
        .module = module, .function = function, .made = *function, .copied = copied};
    x.made.register_count = x.made.variable_count = x.made.label_count = 0;
    x.made.instruction_count = x.made.operand_count = 0;
    if (setjmp(x.leave) == 0) {
        expand(&x);
        *function = x.made;
    }
    return x.code;
}

/* The first call in it that waits for its callee to be expanded; NULL: there is none. */
static const struct ff__ptx_instruction *open_call(const struct ff__ptx_module *module,
                                                   const struct ff__ptx_function *function,
                                                   const bool *done, bool *any,
                                                   struct inlined_call *out) {
    *any = false;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        if (!find_call(module, function, &function->instructions[i], out))
            continue;
        *any = true;
        if (!done[out->callee - module->functions] || out->callee->refused[0] != '\0')
            return &function->instructions[i];
    }
    return NULL;
}

/* Callees before callers, which stand behind them or before. */
static int expand_all(struct ff__ptx_module *module, bool *done) {
    struct inlined_call call;
    uint64_t copied = 0;
    uint32_t count = module->function_count;
    bool any;
    for (bool again = true, back = false; again; back = !back) {
        again = false;
        for (uint32_t k = 0; k < count; k++) {
            uint32_t i = back ? count - 1 - k : k;
            struct ff__ptx_function *function = &module->functions[i];
            if (done[i] || open_call(module, function, done, &any, &call) != NULL)
                continue;
            if (any && function->refused[0] == '\0' &&
                expand_function(module, function, &copied) != 0)
                return -ENOMEM;
            done[i] = again = true;
        }
    }
    for (uint32_t i = 0; i < module->function_count; i++) {
        struct ff__ptx_function *function = &module->functions[i];
        const struct ff__ptx_instruction *at =
            done[i] ? NULL : open_call(module, function, done, &any, &call);
        if (at == NULL || function->refused[0] != '\0')
            continue;
        char reason[160]; /* before it is written, which may be to the same place */
        snprintf(reason, sizeof reason, "%s%.140s",
                 call.callee->refused[0] != '\0' ? "is refused: " : "calls itself",
                 call.callee->refused);
        snprintf(function->refused, sizeof function->refused,
                 "line %u: call: threads wait for each other in '%s', which %s", at->line,
                 call.callee->name, reason);
    }
    return 0;
}

/* ---- modules ---- */

static bool waits(const struct ff__ptx_module *module, const struct ff__ptx_function *function) {
    struct inlined_call call;
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (ff__ptx_suspends(&function->instructions[i]) ||
            find_call(module, function, &function->instructions[i], &call))
            return true;
    return false;
}

/* Marks functions in which threads wait; how many there are. Goes through them in both directions,
 * as callers stand before or behind what they call. */
static uint32_t mark(struct ff__ptx_module *module) {
    uint32_t total = 0, found = 1, count = module->function_count;
    for (bool back = false; found != 0; back = !back) {
        found = 0;
        for (uint32_t k = 0; k < count; k++) {
            struct ff__ptx_function *function = &module->functions[back ? count - 1 - k : k];
            if (!function->is_entry && !function->inlined && waits(module, function)) {
                function->inlined = true;
                found++;
            }
        }
        total += found;
    }
    return total;
}

static bool is_shared_by_copies(const struct ff__ptx_variable *variable) {
    return variable->space == FF__PTX_SHARED || variable->space == FF__PTX_GLOBAL ||
           variable->space == FF__PTX_CONST;
}

/* Such a variable is one in all copies: it becomes one of the module. */
static void lift(struct ff__ptx_module *module, struct ff__ptx_function *function,
                 uint32_t *numbers) {
    for (uint32_t i = 0; i < function->variable_count; i++) {
        numbers[i] = FF__PTX_NONE;
        if (!is_shared_by_copies(&function->variables[i]))
            continue;
        numbers[i] = module->variable_count;
        module->variables[module->variable_count++] = function->variables[i];
        function->variables[i].space = FF__PTX_GENERIC;
    }
    for (uint32_t i = 0; i < function->operand_count; i++) {
        struct ff__ptx_operand *operand = &function->operands[i];
        if (operand->kind != FF__PTX_OWN || numbers[operand->index] == FF__PTX_NONE)
            continue;
        operand->kind = FF__PTX_VARIABLE;
        operand->index = numbers[operand->index];
    }
}

static int lift_all(struct ff__ptx_module *module) {
    uint32_t most = 0, added = 0;
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct ff__ptx_function *function = &module->functions[i];
        most = function->variable_count > most ? function->variable_count : most;
        for (uint32_t k = 0; function->inlined && k < function->variable_count; k++)
            added += is_shared_by_copies(&function->variables[k]);
    }
    if (added == 0)
        return 0;
    uint32_t *numbers = ff__ptx_arena_alloc(module->arena, most, sizeof *numbers);
    struct ff__ptx_variable *all =
        ff__ptx_arena_alloc(module->arena, (size_t)module->variable_count + added, sizeof *all);
    if (all == NULL)
        return -ENOMEM;
    if (module->variable_count != 0)
        memcpy(all, module->variables, module->variable_count * sizeof *all);
    module->variables = all;
    for (uint32_t i = 0; i < module->function_count; i++)
        if (module->functions[i].inlined)
            lift(module, &module->functions[i], numbers);
    return 0;
}

int ff__ptx_inline(struct ff__ptx_module *module) {
    bool before = module->expanded;
    module->expanded = true;
    if (before || mark(module) == 0)
        return 0;
    bool *done = ff__ptx_arena_alloc(module->arena, module->function_count, sizeof *done);
    if (done == NULL || lift_all(module) != 0)
        return -ENOMEM;
    return expand_all(module, done);
}
