/* Goes through the statements of a network. */
#include "workload/dnn/network.h"

#include "base/grow.h"
#include "base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBER_MAX   (UINT64_C(1) << 40)
#define STEPS_MAX    (1u << 20) /* statements of an iteration */
#define DEPTH_MAX    16u        /* blocks in one another */
#define BINDINGS_MAX 64u
#define NAME         "abcdefghijklmnopqrstuvwxyz_0123456789"

struct variable {
    char name[FF__NETWORK_WORD];
    struct ff__value value;
};

/* What $NAME stands for: a parameter of a block, or the turn of a repeat. */
struct binding {
    const char *name;
    char text[FF__NETWORK_WORD];
};

struct machine {
    const struct ff__network *network;
    const struct ff__iteration *iteration;
    struct ff__tape *tape;
    struct variable *variables;
    struct binding bindings[BINDINGS_MAX];
    uint32_t variable_count, binding_count, depth, steps;
    const struct ff__network_line *line;
    struct ff_error *error;
};

static const struct ff__operation operations[] = {
#define FF_OPERATION(name, outs, least, most, numbers, flags, usage)                               \
    {#name, outs, least, most, numbers, flags, usage, ff__op_##name},
#define FF_NAMING(name, outs, least, most, numbers, flags, usage)                                  \
    {#name, outs, least, most, numbers, flags, usage, NULL},
#include "workload/dnn/operations.def"
#undef FF_OPERATION
#undef FF_NAMING
};
#define OPERATIONS           (sizeof operations / sizeof operations[0])

#define REFUSE(machine, ...) ff__network_refuse((machine)->line, (machine)->error, __VA_ARGS__)

/* ---- words and numbers ---- */

static const struct binding *find_binding(const struct machine *machine, const char *name,
                                          size_t length) {
    for (uint32_t i = machine->binding_count; i-- > 0;) {
        const struct binding *binding = &machine->bindings[i];
        if (strncmp(binding->name, name, length) == 0 && binding->name[length] == '\0')
            return binding;
    }
    return NULL;
}

/* The word itself, or `out` with what its $NAMEs stand for. NULL: refused. */
static const char *expand(struct machine *machine, const char *word, char out[FF__NETWORK_WORD]) {
    size_t used = 0;
    if (!strchr(word, '$'))
        return word;
    while (*word && used < FF__NETWORK_WORD) {
        size_t plain = strcspn(word, "$"), name = plain ? 0 : strspn(word + 1, NAME);
        const struct binding *binding = plain ? NULL : find_binding(machine, word + 1, name);
        if (!plain && !binding) {
            REFUSE(machine, "there is no $%.*s here", (int)name, word + 1);
            return NULL;
        }
        int length = plain ? (int)plain : (int)strlen(binding->text);
        snprintf(out + used, FF__NETWORK_WORD - used, "%.*s", length, plain ? word : binding->text);
        used += (size_t)length;
        word += plain ? plain : name + 1;
    }
    if (used < FF__NETWORK_WORD)
        return out;
    REFUSE(machine, "'%.32s...' becomes longer than %d characters", out, FF__NETWORK_WORD - 1);
    return NULL;
}

/* Numbers with * and / between them, from the left to the right. */
static int read_number(struct machine *machine, const char *text, uint64_t *out) {
    char operation = '*';
    const char *at = text;
    *out = 1;
    do {
        char *end;
        uint64_t number = isdigit((unsigned char)*at) ? strtoull(at, &end, 10) : UINT64_MAX;
        bool wrong = number > NUMBER_MAX || (*end && !strchr("*/", *end));
        if (wrong || (operation == '/' ? number == 0 : number && *out > NUMBER_MAX / number))
            return REFUSE(machine, "'%s' must be a number up to 2^40, such as 12 or 4*$batch",
                          text);
        *out = operation == '*' ? *out * number : *out / number;
        operation = *end;
        at = end + 1;
    } while (operation);
    return 0;
}

static int bind(struct machine *machine, const char *name, const char *word) {
    struct binding *binding = &machine->bindings[machine->binding_count];
    uint64_t number;
    int status = 0;
    if (machine->binding_count == BINDINGS_MAX)
        return REFUSE(machine, "more than %u words of blocks in one another", BINDINGS_MAX);
    binding->name = name;
    if (isdigit((unsigned char)*word) && !(status = read_number(machine, word, &number)))
        snprintf(binding->text, sizeof binding->text, "%llu", (unsigned long long)number);
    else
        snprintf(binding->text, sizeof binding->text, "%s", word);
    machine->binding_count++;
    return status;
}

/* ---- tensors ---- */

static struct variable *find_variable(const struct machine *machine, const char *name) {
    for (uint32_t i = 0; i < machine->variable_count; i++)
        if (strcmp(machine->variables[i].name, name) == 0)
            return &machine->variables[i];
    return NULL;
}

static void drop(const struct machine *machine, const struct ff__value *value) {
    if (value->is.tensor != FF__NO_TENSOR)
        ff__tensor_drop(machine->tape, value->is.tensor);
}

static void forget(struct machine *machine, struct variable *variable) {
    *variable = machine->variables[--machine->variable_count];
}

/* What had the name before is dropped, as when Python binds a variable anew. */
static int assign(struct machine *machine, const char *name, const struct ff__value *value) {
    struct variable *variable = find_variable(machine, name);
    if (isdigit((unsigned char)*name) || name[strspn(name, NAME)])
        return REFUSE(machine, "'%s' must be a name, such as x or past_0", name);
    if (variable) {
        drop(machine, &variable->value);
    } else {
        if (ff__grow(&machine->variables, machine->variable_count, sizeof *variable))
            return ff__fail(machine->error, -ENOMEM, "no memory for a network");
        variable = &machine->variables[machine->variable_count++];
        snprintf(variable->name, sizeof variable->name, "%s", name);
    }
    variable->value = *value;
    return 0;
}

/* ---- statements ---- */

struct statement {
    char buffers[FF__NETWORK_WORDS][FF__NETWORK_WORD];
    const char *words[FF__NETWORK_WORDS];
    uint32_t count, outs; /* words before = */
    const struct ff__operation *operation;
    struct ff__operation_call call;
};

static int misuse(struct machine *machine, const struct statement *statement) {
    return REFUSE(machine, "must be: %s", statement->operation->usage);
}

/* Which option it is: NAME or NAME=; -1: none. */
static int find_option(const char *usage, const char *word) {
    size_t length = strcspn(word, "=") + (strchr(word, '=') != NULL);
    const char *option = strchr(usage, '[');
    for (int i = 0; option; i++, option = strchr(option + 1, '['))
        if (strncmp(option + 1, word, length) == 0 &&
            (word[length - 1] == '=' || option[1 + length] == ']'))
            return i;
    return -1;
}

static int take_option(struct machine *machine, struct statement *statement, int option,
                       const char *word) {
    const char *value = strchr(word, '=');
    uint64_t *out = &statement->call.option[option];
    *out = 1;
    statement->call.given |= 1u << option;
    return value ? read_number(machine, value + 1, out) : 0;
}

static int take_tensor(struct machine *machine, struct statement *statement, const char *word) {
    struct variable *variable = find_variable(machine, word);
    bool place = statement->operation->flags & FF__TAKES_PLACE;
    if (!variable || place != (variable->value.is.tensor == FF__NO_TENSOR))
        return REFUSE(machine, "there is no %s '%s' here", place ? "place of weights" : "tensor",
                      word);
    statement->call.in[statement->call.in_count++] = &variable->value;
    return 0;
}

static int take_word(struct machine *machine, struct statement *statement, uint32_t at) {
    const char *word = statement->words[at];
    struct ff__operation_call *call = &statement->call;
    int option = find_option(statement->operation->usage, word);
    if (statement->operation->flags & FF__TAKES_NAME && !call->name) {
        call->name = word;
        return word == machine->line->words[at] ? 0 /* it lies in the text, and stays */
                                                : REFUSE(machine, "the name of a kernel has no $");
    }
    if (option >= 0)
        return take_option(machine, statement, option, word);
    if (!isdigit((unsigned char)*word))
        return take_tensor(machine, statement, word);
    if (call->number_count == statement->operation->numbers)
        return misuse(machine, statement);
    uint64_t *number = &call->number[call->number_count++];
    int status = read_number(machine, word, number);
    return status || *number ? status : misuse(machine, statement);
}

static int call(struct machine *machine, struct statement *statement) {
    const struct ff__operation *operation = statement->operation;
    struct ff__operation_call *call = &statement->call;
    int status = 0;
    call->tape = machine->tape;
    call->iteration = machine->iteration;
    for (uint32_t i = statement->outs + (statement->outs > 0) + 1; i < statement->count && !status;
         i++)
        status = take_word(machine, statement, i);
    if (status)
        return status;
    if (statement->outs != operation->outs || call->in_count < operation->least ||
        call->in_count > operation->most || call->number_count != operation->numbers ||
        (operation->flags & FF__TAKES_NAME && !call->name))
        return misuse(machine, statement);
    operation->run(call);
    if (machine->tape->failed)
        return ff__fail(machine->error, -ENOMEM, "no memory for a network");
    if (machine->tape->wrong)
        return REFUSE(machine, "%s: %s", operation->name, machine->tape->wrong);
    for (uint32_t i = 0; i < statement->outs && !status; i++)
        status = assign(machine, statement->words[i], &call->out[i]);
    return status;
}

/* ---- names that come and go ---- */

/* "drop X...": gives up names, and what no other one holds. "Y = move X": gives X another name. */
static int rename_tensors(struct machine *machine, const struct statement *statement) {
    const struct ff__operation *operation = statement->operation;
    bool move = operation->outs > 0;
    uint32_t first = move ? 3 : 1;
    if (statement->outs != operation->outs || statement->count < first + operation->least ||
        statement->count > first + operation->most)
        return misuse(machine, statement);
    for (uint32_t i = first; i < statement->count; i++) {
        struct variable *variable = find_variable(machine, statement->words[i]);
        if (!variable || variable->value.is.tensor == FF__NO_TENSOR)
            return REFUSE(machine, "there is no tensor '%s' here", statement->words[i]);
        const struct ff__value value = variable->value;
        forget(machine, variable);
        if (move)
            return assign(machine, statement->words[0], &value);
        drop(machine, &value);
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

static const struct ff__network_line *find_block(const struct machine *machine, const char *name) {
    const struct ff__network *network = machine->network;
    for (uint32_t i = 0; i < network->line_count; i++)
        if (strcmp(network->lines[i].words[0], "block") == 0 &&
            strcmp(network->lines[i].words[1], name) == 0)
            return &network->lines[i];
    return NULL;
}

static int run_block(struct machine *machine, const struct statement *statement,
                     const struct ff__network_line *block) {
    const uint32_t before = machine->binding_count, params = block->count - 2;
    int status = 0;
    if (statement->outs > 0 || statement->count != params + 1)
        return REFUSE(machine, "block %s takes %u words, and makes nothing", block->words[1],
                      params);
    for (uint32_t i = 0; i < params && !status; i++)
        status = bind(machine, block->words[2 + i], statement->words[1 + i]);
    if (!status && machine->depth == DEPTH_MAX)
        status = REFUSE(machine, "more than %u blocks in one another", DEPTH_MAX);
    machine->depth++;
    if (!status)
        status = run_lines(machine, (uint32_t)(block - machine->network->lines) + 1, block->end);
    machine->depth--;
    machine->binding_count = before;
    return status;
}

static int run_repeat(struct machine *machine, uint32_t index) {
    const struct ff__network_line *line = &machine->network->lines[index];
    const uint32_t before = machine->binding_count;
    char buffer[FF__NETWORK_WORD], turn[24];
    uint64_t times = 0;
    const char *word = expand(machine, line->words[2], buffer);
    int status = word ? read_number(machine, word, &times) : -EINVAL;
    for (uint64_t i = 0; i < times && !status; i++) {
        snprintf(turn, sizeof turn, "%llu", (unsigned long long)i);
        status = count_step(machine);
        if (!status)
            status = bind(machine, line->words[1], turn);
        if (!status)
            status = run_lines(machine, index + 1, line->end);
        machine->binding_count = before;
    }
    return status;
}

static const struct ff__operation *find_operation(const char *name) {
    for (size_t i = 0; i < OPERATIONS; i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

static int unknown(struct machine *machine, const char *name) {
    char text[FF__NEAREST_TEXT];
    struct ff__nearest nearest = {.word = name};
    for (size_t i = 0; i < OPERATIONS; i++)
        ff__nearest_offer(&nearest, operations[i].name);
    ff__nearest_text(&nearest, "", text);
    return REFUSE(machine, "there is no operation or block '%s'%s%s", name, *text ? "; " : "",
                  text);
}

static int run_statement(struct machine *machine) {
    const struct ff__network_line *line = machine->line;
    struct statement statement = {.count = line->count};
    for (uint32_t i = 0; i < line->count; i++) {
        statement.words[i] = expand(machine, line->words[i], statement.buffers[i]);
        if (!statement.words[i])
            return -EINVAL;
        if (strcmp(statement.words[i], "=") == 0)
            statement.outs = i;
    }
    uint32_t at = statement.outs ? statement.outs + 1 : 0;
    const char *name = at < line->count ? statement.words[at] : "";
    statement.operation = find_operation(name);
    if (!statement.operation) {
        const struct ff__network_line *block = find_block(machine, name);
        return block ? run_block(machine, &statement, block) : unknown(machine, name);
    }
    if (!statement.operation->run)
        return rename_tensors(machine, &statement);
    return call(machine, &statement);
}

static int run_line(struct machine *machine, uint32_t index) {
    const struct ff__network_line *line = &machine->network->lines[index];
    machine->line = line;
    int status = count_step(machine);
    if (status)
        return status;
    if (strcmp(line->words[0], "repeat") == 0)
        return run_repeat(machine, index);
    if (strcmp(line->words[0], "block") == 0 || strcmp(line->words[0], "end") == 0)
        return 0;
    return run_statement(machine);
}

static int run_lines(struct machine *machine, uint32_t first, uint32_t end) {
    const struct ff__network_line *lines = machine->network->lines;
    int status = 0;
    for (uint32_t i = first; i < end && !status; i = lines[i].end ? lines[i].end : i + 1)
        status = run_line(machine, i);
    return status;
}

int ff__network_run(const struct ff__network *network, const struct ff__iteration *iteration,
                    struct ff__tape *tape, struct ff_error *error) {
    struct machine machine = {network, iteration, tape, .error = error};
    char batch[24], length[24];
    machine.line = network->lines;
    snprintf(batch, sizeof batch, "%llu", (unsigned long long)iteration->batch);
    snprintf(length, sizeof length, "%llu", (unsigned long long)iteration->length);
    tape->param_next = 0;
    int status = bind(&machine, "batch", batch);
    if (!status)
        status = bind(&machine, "length", length);
    if (!status)
        status = run_lines(&machine, 0, network->line_count);
    while (machine.variable_count > 0 && !tape->failed)
        drop(&machine, &machine.variables[--machine.variable_count].value);
    ff__tape_forget(tape);
    free(machine.variables);
    return status;
}
