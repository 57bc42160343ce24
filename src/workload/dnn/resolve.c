/* Finds what the words of a network's text name: operations and their options, blocks, tensors,
 * and what $NAMEs stand for. */
#include "workload/dnn/network.h"

#include "base/error.h"
#include "base/grow.h"
#include "base/nearest.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX (UINT64_C(1) << 40)

static const struct ff__operation operations[] = {
#define FF_OPERATION(name, outs, least, most, numbers, flags, usage)                               \
    {#name, outs, least, most, numbers, flags, usage, ff__op_##name},
#define FF_NAMING(name, outs, least, most, numbers, flags, usage)                                  \
    {#name, outs, least, most, numbers, flags, usage, NULL},
#include "workload/dnn/operations.def"
#undef FF_OPERATION
#undef FF_NAMING
};
#define OPERATIONS (sizeof operations / sizeof operations[0])

/* ---- symbols ---- */

static uint64_t find(const struct ff__symbols *symbols, const char *name, uint32_t *symbol) {
    uint64_t key = ff__hash_bytes(0, name, strlen(name));
    *symbol = FF__NO_SYMBOL;
    while (ff__map_get(&symbols->map, key, symbol) && strcmp(symbols->names[*symbol], name) != 0) {
        *symbol = FF__NO_SYMBOL;
        key++;
    }
    return key;
}

uint32_t ff__symbol_find(const struct ff__symbols *symbols, const char *name) {
    uint32_t symbol;
    find(symbols, name, &symbol);
    return symbol;
}

uint32_t ff__symbol_add(struct ff__symbols *symbols, const char *name) {
    uint32_t symbol;
    uint64_t key = find(symbols, name, &symbol);
    if (symbol != FF__NO_SYMBOL)
        return symbol;
    if (ff__grow(&symbols->names, symbols->count, sizeof *symbols->names) ||
        ff__map_put(&symbols->map, key, symbols->count))
        return FF__NO_SYMBOL;
    strcpy(symbols->names[symbols->count], name);
    return symbols->count++;
}

void ff__symbols_free(struct ff__symbols *symbols) {
    ff__map_fini(&symbols->map);
    free(symbols->names);
}

/* ---- words ---- */

size_t ff__name_length(const char *text) {
    size_t length = 0;
    while ((text[length] >= 'a' && text[length] <= 'z') || text[length] == '_' ||
           isdigit((unsigned char)text[length]))
        length++;
    return length;
}

bool ff__is_name(const char *text) {
    return *text && !isdigit((unsigned char)*text) && !text[ff__name_length(text)];
}

/* Numbers with * and / between them, from the left to the right. */
static bool read_number(const char *at, uint64_t *out) {
    char operation = '*';
    *out = 1;
    do {
        char *end;
        uint64_t number = isdigit((unsigned char)*at) ? strtoull(at, &end, 10) : UINT64_MAX;
        bool wrong = number > NUMBER_MAX || (*end && !strchr("*/", *end));
        if (wrong || (operation == '/' ? number == 0 : number && *out > NUMBER_MAX / number))
            return false;
        *out = operation == '*' ? *out * number : *out / number;
        operation = *end;
        at = end + 1;
    } while (operation);
    return true;
}

static struct ff__word read_word(const char *text) {
    struct ff__word word = {FF__WORD_NAME, -1, FF__NO_SYMBOL, 0, text};
    if (*text == '$' && ff__is_name(text + 1))
        word.kind = FF__WORD_BOUND;
    else if (strchr(text, '$'))
        word.kind = FF__WORD_PASTED;
    else if (isdigit((unsigned char)*text))
        word.kind = read_number(text, &word.number) ? FF__WORD_NUMBER : FF__WORD_WRONG;
    return word;
}

/* The name of a tensor or a block, or what follows the $. */
static const char *name_of(const struct ff__word *word) {
    const char *name = word->kind == FF__WORD_BOUND ? word->text + 1 : word->text;
    return ff__is_name(name) ? name : NULL;
}

struct ff__word ff__word_resolve(const struct ff__network *network, const char *text) {
    struct ff__word word = read_word(text);
    const char *name = name_of(&word);
    word.symbol = name ? ff__symbol_find(&network->symbols, name) : FF__NO_SYMBOL;
    return word;
}

/* The usage has options as [NAME] and [NAME=VALUE]. */
bool ff__option_resolve(const struct ff__network *network, const struct ff__operation *operation,
                        const char *text, struct ff__word *out) {
    const char *equals = strchr(text, '='), *option = strchr(operation->usage, '[');
    size_t length = equals ? (size_t)(equals - text) + 1 : strlen(text);
    for (int i = 0; option; i++, option = strchr(option + 1, '['))
        if (strncmp(option + 1, text, length) == 0 && (equals || option[1 + length] == ']')) {
            *out = ff__word_resolve(network, equals ? equals + 1 : "1");
            out->option = i;
            return true;
        }
    return false;
}

/* ---- lines ---- */

int ff__network_unknown(const struct ff__network_line *line, const char *at, const char *name,
                        struct ff_error *error) {
    char text[FF__NEAREST_TEXT];
    struct ff__nearest nearest = {.word = name};
    for (size_t i = 0; i < OPERATIONS; i++)
        ff__nearest_offer(&nearest, operations[i].name);
    ff__nearest_text(&nearest, "", text);
    return ff__network_refuse(line, at, error, "there is no operation or block '%s'%s%s", name,
                              *text ? "; " : "", text);
}

static int no_memory(struct ff_error *error) {
    return ff__fail(error, -ENOMEM, "no memory for a network");
}

static int resolve_words(struct ff__network *network, struct ff_error *error) {
    if (ff__symbol_add(&network->symbols, "batch") == FF__NO_SYMBOL ||
        ff__symbol_add(&network->symbols, "length") == FF__NO_SYMBOL)
        return no_memory(error);
    for (uint32_t i = 0; i < network->word_count; i++) {
        struct ff__word *word = &network->words[i];
        *word = read_word(word->text);
        const char *name = name_of(word);
        word->symbol = name ? ff__symbol_add(&network->symbols, name) : FF__NO_SYMBOL;
        if (name && word->symbol == FF__NO_SYMBOL)
            return no_memory(error);
    }
    return 0;
}

static int add_callees(struct ff__network *network, struct ff_error *error) {
    const struct ff__symbols *symbols = &network->symbols;
    network->callees = calloc(symbols->count, sizeof *network->callees);
    if (!network->callees)
        return no_memory(error);
    for (size_t i = 0; i < OPERATIONS; i++) {
        uint32_t symbol = ff__symbol_find(symbols, operations[i].name);
        if (symbol != FF__NO_SYMBOL)
            network->callees[symbol].operation = &operations[i];
    }
    for (uint32_t i = network->line_count; i-- > 0;) { /* the first block of a name has it */
        const struct ff__network_line *line = &network->lines[i];
        if (line->kind == FF__LINE_BLOCK)
            network->callees[network->words[line->first + 1].symbol].block = line;
    }
    return 0;
}

const struct ff__callee *ff__network_callee(const struct ff__network *network,
                                            const struct ff__word *name) {
    if (name->symbol == FF__NO_SYMBOL)
        return NULL;
    const struct ff__callee *callee = &network->callees[name->symbol];
    return callee->operation || callee->block ? callee : NULL;
}

/* Blocks, their parameters and the turns of repeats have names. */
static int check_names(const struct ff__network *network, const struct ff__network_line *line,
                       struct ff_error *error) {
    uint32_t end = line->kind == FF__LINE_BLOCK    ? line->count
                   : line->kind == FF__LINE_REPEAT ? 2
                                                   : 0;
    for (uint32_t i = 1; i < end; i++) {
        const char *name = network->words[line->first + i].text;
        if (!ff__is_name(name))
            return ff__network_refuse(line, name, error, "'%s' must be a name, such as x or past_0",
                                      name);
    }
    return 0;
}

/* Arguments of a call are read as its operation takes them, unless a $NAME stands for it. */
static int resolve_call(const struct ff__network *network, struct ff__network_line *line,
                        struct ff_error *error) {
    struct ff__word *words = &network->words[line->first];
    for (uint32_t i = 0; i < line->count; i++)
        line->outs = strcmp(words[i].text, "=") == 0 ? i : line->outs;
    line->callee = line->outs > 0 ? line->outs + 1 : 0;
    if (line->callee == line->count)
        return ff__network_unknown(line, words[line->outs].text, "", error);
    const struct ff__word *name = &words[line->callee];
    if (name->kind == FF__WORD_BOUND || name->kind == FF__WORD_PASTED)
        return 0;
    const struct ff__callee *callee = ff__network_callee(network, name);
    if (!callee)
        return ff__network_unknown(line, name->text, name->text, error);
    for (uint32_t i = line->callee + 1; i < line->count; i++)
        if (callee->operation)
            ff__option_resolve(network, callee->operation, words[i].text, &words[i]);
    return 0;
}

int ff__network_resolve(struct ff__network *network, struct ff_error *error) {
    int status = resolve_words(network, error);
    for (uint32_t i = 0; i < network->line_count && !status; i++)
        status = check_names(network, &network->lines[i], error);
    if (!status)
        status = add_callees(network, error);
    for (uint32_t i = 0; i < network->line_count && !status; i++)
        if (network->lines[i].kind == FF__LINE_CALL)
            status = resolve_call(network, &network->lines[i], error);
    return status;
}
