/* Goes through the statements of a network. */
#include "workload/dnn/network.h"

#include "base/grow.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS_MAX    (1u << 20) /* statements of an iteration */
#define DEPTH_MAX    16u        /* blocks in one another */
#define BINDINGS_MAX 64u

/* What a name holds. */
struct slot {
    struct ff__value value;
    bool is_set;
    uint32_t binding; /* what $NAME stands for: 1 + its index; 0: nothing */
};

/* A word with its text, where that does not lie in the network's. */
struct pasted {
    struct ff__word word;
    char text[FF__NETWORK_WORD];
};

/* A parameter of a block, or the turn of a repeat. */
struct binding {
    uint32_t symbol, before; /* what the name stood for until then */
    struct pasted is;
};

struct machine {
    const struct ff__network *network;
    const struct ff__iteration *iteration;
    struct ff__tape *tape;
    struct ff__symbols symbols; /* that the text does not have: they come after those that it has */
    struct slot *slots;         /* [symbol] */
    struct binding bindings[BINDINGS_MAX];
    uint32_t slot_count, binding_count, depth, steps;
    const struct ff__network_line *line;
    const char *at; /* the word of it that is looked at; NULL: none yet */
    struct ff_error *error;
};

#define REFUSE(machine, ...)                                                                       \
    ff__network_refuse((machine)->line, (machine)->at, (machine)->error, __VA_ARGS__)

/* ---- words ---- */

static const struct binding *find_binding(const struct machine *machine, uint32_t symbol) {
    uint32_t binding = symbol == FF__NO_SYMBOL ? 0 : machine->slots[symbol].binding;
    return binding ? &machine->bindings[binding - 1] : NULL;
}

static int unbound(struct machine *machine, const char *name, size_t length) {
    return REFUSE(machine, "there is no $%.*s here", (int)length, name);
}

/* What the name stands for, as a text; NULL: nothing. */
static const char *bound_text(const struct machine *machine, const char *name, size_t length,
                              char buffer[FF__NETWORK_WORD]) {
    memcpy(buffer, name, length);
    buffer[length] = '\0';
    const struct binding *binding =
        find_binding(machine, ff__symbol_find(&machine->network->symbols, buffer));
    if (!binding || binding->is.word.kind != FF__WORD_NUMBER)
        return binding ? binding->is.word.text : NULL;
    snprintf(buffer, FF__NETWORK_WORD, "%llu", (unsigned long long)binding->is.word.number);
    return buffer;
}

static const struct ff__word *paste(struct machine *machine, const char *word, struct pasted *out) {
    char buffer[FF__NETWORK_WORD];
    size_t used = 0;
    for (const char *at = word; *at;) {
        const char *text = at;
        size_t length = strcspn(at, "$");
        at += length;
        if (length == 0) {
            size_t name = ff__name_length(at + 1);
            text = bound_text(machine, at + 1, name, buffer);
            if (!text) {
                unbound(machine, at + 1, name);
                return NULL;
            }
            length = strlen(text);
            at += 1 + name;
        }
        if (used + length >= FF__NETWORK_WORD) {
            REFUSE(machine, "'%s' becomes longer than %d characters", word, FF__NETWORK_WORD - 1);
            return NULL;
        }
        memcpy(out->text + used, text, length);
        used += length;
    }
    out->text[used] = '\0';
    out->word = ff__word_resolve(machine->network, out->text);
    return &out->word;
}

/* A word of the line: itself, or what its $NAMEs stand for now. NULL: refused. */
static const struct ff__word *look(struct machine *machine, const struct ff__word *word,
                                   struct pasted *pasted) {
    machine->at = word->text;
    if (word->kind == FF__WORD_PASTED)
        return paste(machine, word->text, pasted);
    if (word->kind != FF__WORD_BOUND)
        return word;
    const struct binding *binding = find_binding(machine, word->symbol);
    if (!binding)
        unbound(machine, word->text + 1, FF__NETWORK_WORD);
    return binding ? &binding->is.word : NULL;
}

static int no_number(struct machine *machine, const struct ff__word *word) {
    return REFUSE(machine, "'%s' must be a number up to 2^40, such as 12 or 4*$batch", word->text);
}

/* ---- tensors ---- */

static uint32_t symbol_of(const struct machine *machine, const struct ff__word *word) {
    if (word->symbol != FF__NO_SYMBOL)
        return word->symbol;
    uint32_t symbol = ff__symbol_find(&machine->symbols, word->text);
    return symbol == FF__NO_SYMBOL ? symbol : machine->network->symbols.count + symbol;
}

/* NULL: the word names nothing that is. */
static struct slot *find_slot(const struct machine *machine, const struct ff__word *word) {
    uint32_t symbol = word->kind == FF__WORD_NAME ? symbol_of(machine, word) : FF__NO_SYMBOL;
    struct slot *slot = symbol == FF__NO_SYMBOL ? NULL : &machine->slots[symbol];
    return slot && slot->is_set ? slot : NULL;
}

static bool is_tensor(const struct slot *slot) {
    return slot && slot->is_set && slot->value.is.tensor != FF__NO_TENSOR;
}

static void drop(const struct machine *machine, struct slot *slot) {
    if (is_tensor(slot))
        ff__tensor_drop(machine->tape, slot->value.is.tensor);
    slot->is_set = false;
}

static int no_memory(struct machine *machine) {
    return ff__fail(machine->error, -ENOMEM, "no memory for a network");
}

static int add_slot(struct machine *machine) {
    if (ff__grow(&machine->slots, machine->slot_count, sizeof *machine->slots))
        return no_memory(machine);
    machine->slots[machine->slot_count++] = (struct slot){0};
    return 0;
}

/* What had the name before is dropped, as when Python binds a variable anew. */
static int assign(struct machine *machine, const struct ff__word *name,
                  const struct ff__value *value) {
    struct pasted pasted;
    const struct ff__word *word = look(machine, name, &pasted);
    if (!word)
        return -EINVAL;
    uint32_t symbol = symbol_of(machine, word);
    if (symbol == FF__NO_SYMBOL) {
        if (!ff__is_name(word->text))
            return REFUSE(machine, "'%s' must be a name, such as x or past_0", word->text);
        symbol = machine->slot_count;
        if (ff__symbol_add(&machine->symbols, word->text) == FF__NO_SYMBOL)
            return no_memory(machine);
        int status = add_slot(machine);
        if (status)
            return status;
    }
    struct slot *slot = &machine->slots[symbol];
    if (slot->is_set)
        drop(machine, slot);
    slot->value = *value;
    slot->is_set = true;
    return 0;
}

/* ---- statements ---- */

static int misuse(struct machine *machine, const struct ff__operation *operation) {
    return REFUSE(machine, "must be: %s", operation->usage);
}

static int take_option(struct machine *machine, struct ff__operation_call *call, int option,
                       const struct ff__word *value) {
    call->option[option] = value->number;
    call->given |= 1u << option;
    return value->kind == FF__WORD_NUMBER ? 0 : no_number(machine, value);
}

static int take_number(struct machine *machine, const struct ff__operation *operation,
                       struct ff__operation_call *call, const struct ff__word *word) {
    if (call->number_count == operation->numbers)
        return misuse(machine, operation);
    call->number[call->number_count++] = word->number;
    if (word->kind == FF__WORD_WRONG)
        return no_number(machine, word);
    return word->number ? 0 : misuse(machine, operation);
}

static int take_tensor(struct machine *machine, const struct ff__operation *operation,
                       struct ff__operation_call *call, const struct ff__word *word) {
    struct slot *slot = find_slot(machine, word);
    bool place = operation->flags & FF__TAKES_PLACE;
    if (!slot || place == is_tensor(slot))
        return REFUSE(machine, "there is no %s '%s' here", place ? "place of weights" : "tensor",
                      word->text);
    if (slot->value.loops > 0 && !(operation->flags & FF__TAKES_LOOPS))
        return REFUSE(machine, "'%s' has loops, which only kernel and loops take", word->text);
    call->in[call->in_count++] = &slot->value;
    return 0;
}

/* The text says which words are options, but for those that a $NAME stands for. */
static int take(struct machine *machine, const struct ff__operation *operation,
                struct ff__operation_call *call, const struct ff__word *argument) {
    struct pasted pasted;
    if (operation->flags & FF__TAKES_NAME && !call->name) {
        machine->at = argument->text;
        call->name = argument->text; /* it lies in the text, and stays */
        return strchr(call->name, '$') ? REFUSE(machine, "the name of a kernel has no $") : 0;
    }
    const struct ff__word *word = look(machine, argument, &pasted);
    if (!word)
        return -EINVAL;
    if (argument->option >= 0)
        return take_option(machine, call, argument->option, word);
    if (word->kind != FF__WORD_NAME)
        return take_number(machine, operation, call, word);
    struct ff__word option;
    if (!find_slot(machine, word) &&
        ff__option_resolve(machine->network, operation, word->text, &option))
        return take_option(machine, call, option.option, &option);
    return take_tensor(machine, operation, call, word);
}

static int call(struct machine *machine, const struct ff__operation *operation) {
    const struct ff__network_line *line = machine->line;
    const struct ff__word *words = &machine->network->words[line->first];
    struct ff__operation_call call = {.tape = machine->tape, .iteration = machine->iteration};
    int status = 0;
    for (uint32_t i = line->callee + 1; i < line->count && !status; i++)
        status = take(machine, operation, &call, &words[i]);
    if (status)
        return status;
    machine->at = words[line->callee].text;
    if (line->outs != operation->outs || call.in_count < operation->least ||
        call.in_count > operation->most || call.number_count != operation->numbers ||
        (operation->flags & FF__TAKES_NAME && !call.name))
        return misuse(machine, operation);
    operation->run(&call);
    if (machine->tape->failed)
        return no_memory(machine);
    if (machine->tape->wrong)
        return REFUSE(machine, "%s: %s", operation->name, machine->tape->wrong);
    for (uint32_t i = 0; i < line->outs && !status; i++)
        status = assign(machine, &words[i], &call.out[i]);
    return status;
}

/* ---- names that come and go ---- */

/* "drop X...": gives up names, and what no other one holds. "Y = move X": gives X another name. */
static int rename_tensors(struct machine *machine, const struct ff__operation *operation) {
    const struct ff__network_line *line = machine->line;
    const struct ff__word *words = &machine->network->words[line->first];
    const uint32_t given = line->count - line->callee - 1;
    struct pasted pasted;
    if (line->outs != operation->outs || given < operation->least || given > operation->most)
        return misuse(machine, operation);
    for (uint32_t i = line->callee + 1; i < line->count; i++) {
        const struct ff__word *word = look(machine, &words[i], &pasted);
        struct slot *slot = word ? find_slot(machine, word) : NULL;
        if (!is_tensor(slot))
            return word ? REFUSE(machine, "there is no tensor '%s' here", word->text) : -EINVAL;
        if (line->outs > 0) {
            slot->is_set = false;
            return assign(machine, &words[0], &slot->value);
        }
        drop(machine, slot);
    }
    return 0;
}

/* ---- blocks and repeats ---- */

static int run_lines(struct machine *machine, uint32_t first, uint32_t end);

static int count_step(struct machine *machine) {
    return machine->steps++ < STEPS_MAX
               ? 0
               : REFUSE(machine, "more than %u statements in an iteration", STEPS_MAX);
}

/* $NAMEs of the values are still those of the caller: push() makes the new ones known. */
static int prepare(struct machine *machine, uint32_t index, const struct ff__word *name,
                   const struct ff__word *value) {
    if (machine->binding_count + index >= BINDINGS_MAX)
        return REFUSE(machine, "more than %u words of blocks in one another", BINDINGS_MAX);
    struct binding *binding = &machine->bindings[machine->binding_count + index];
    const struct ff__word *word = look(machine, value, &binding->is);
    if (!word)
        return -EINVAL;
    binding->is.word = *word;
    binding->symbol = name->symbol;
    return word->kind == FF__WORD_WRONG ? no_number(machine, word) : 0;
}

static void push(struct machine *machine, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct binding *binding = &machine->bindings[machine->binding_count++];
        struct slot *slot = &machine->slots[binding->symbol];
        binding->before = slot->binding;
        slot->binding = machine->binding_count;
    }
}

static void pop(struct machine *machine, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const struct binding *binding = &machine->bindings[--machine->binding_count];
        machine->slots[binding->symbol].binding = binding->before;
    }
}

static int run_block(struct machine *machine, const struct ff__network_line *block) {
    const struct ff__network_line *line = machine->line;
    const struct ff__word *words = machine->network->words;
    const struct ff__word *names = &words[block->first + 1]; /* the block's, and its parameters' */
    const uint32_t params = block->count - 2;
    int status = 0;
    if (line->outs > 0 || line->count != params + 1)
        return REFUSE(machine, "block %s takes %u words, and makes nothing", names->text, params);
    for (uint32_t i = 0; i < params && !status; i++)
        status = prepare(machine, i, &names[1 + i], &words[line->first + 1 + i]);
    if (!status && machine->depth == DEPTH_MAX)
        status = REFUSE(machine, "more than %u blocks in one another", DEPTH_MAX);
    if (status)
        return status;
    push(machine, params);
    machine->depth++;
    status = run_lines(machine, (uint32_t)(block - machine->network->lines) + 1, block->end);
    machine->depth--;
    pop(machine, params);
    return status;
}

static int run_repeat(struct machine *machine, uint32_t index) {
    const struct ff__network_line *line = &machine->network->lines[index];
    const struct ff__word *words = &machine->network->words[line->first];
    struct pasted pasted;
    const struct ff__word *times = look(machine, &words[2], &pasted);
    struct ff__word turn = {.kind = FF__WORD_NUMBER, .option = -1};
    if (!times || times->kind != FF__WORD_NUMBER)
        return times ? no_number(machine, times) : -EINVAL;
    int status = 0;
    for (const uint64_t end = times->number; turn.number < end && !status; turn.number++) {
        status = count_step(machine);
        if (!status)
            status = prepare(machine, 0, &words[1], &turn);
        if (status)
            return status;
        push(machine, 1);
        status = run_lines(machine, index + 1, line->end);
        pop(machine, 1);
    }
    return status;
}

static int run_call(struct machine *machine) {
    const struct ff__network *network = machine->network;
    const struct ff__network_line *line = machine->line;
    const struct ff__word *word = &network->words[line->first + line->callee];
    struct pasted pasted;
    const struct ff__word *name = look(machine, word, &pasted);
    if (!name)
        return -EINVAL;
    const struct ff__callee *callee = ff__network_callee(network, name);
    if (!callee) /* a name that stands for a number has no text */
        return ff__network_unknown(line, machine->at, name->text ? name->text : word->text,
                                   machine->error);
    if (!callee->operation)
        return run_block(machine, callee->block);
    return callee->operation->run ? call(machine, callee->operation)
                                  : rename_tensors(machine, callee->operation);
}

static int run_line(struct machine *machine, uint32_t index) {
    machine->line = &machine->network->lines[index];
    machine->at = NULL;
    int status = count_step(machine);
    if (status)
        return status;
    if (machine->line->kind == FF__LINE_REPEAT)
        return run_repeat(machine, index);
    return machine->line->kind == FF__LINE_CALL ? run_call(machine) : 0;
}

static int run_lines(struct machine *machine, uint32_t first, uint32_t end) {
    const struct ff__network_line *lines = machine->network->lines;
    int status = 0;
    for (uint32_t i = first; i < end && !status; i = lines[i].end ? lines[i].end : i + 1)
        status = run_line(machine, i);
    return status;
}

/* $batch and $length stand for those of the iteration. */
static int start(struct machine *machine) {
    const struct ff__iteration *iteration = machine->iteration;
    const struct {
        const char *name;
        uint64_t number;
    } given[] = {{"batch", iteration->batch}, {"length", iteration->length}};
    const unsigned count = sizeof given / sizeof given[0];
    int status = 0;
    while (machine->slot_count < machine->network->symbols.count && !status)
        status = add_slot(machine);
    for (unsigned i = 0; i < count; i++)
        machine->bindings[i] =
            (struct binding){.symbol = ff__symbol_find(&machine->network->symbols, given[i].name),
                             .is.word = {FF__WORD_NUMBER, .option = -1, .number = given[i].number}};
    if (!status)
        push(machine, count);
    return status;
}

int ff__network_run(const struct ff__network *network, const struct ff__iteration *iteration,
                    struct ff__tape *tape, struct ff_error *error) {
    struct machine machine = {network, iteration, tape, .error = error};
    machine.line = network->lines;
    tape->param_next = 0;
    int status = start(&machine);
    if (!status)
        status = run_lines(&machine, 0, network->line_count);
    while (machine.slot_count > 0 && !tape->failed)
        drop(&machine, &machine.slots[--machine.slot_count]);
    ff__tape_forget(tape);
    ff__symbols_free(&machine.symbols);
    free(machine.slots);
    return status;
}
