/* The body of a function: declarations, labels, instructions. */
#include "ptx/read_internal.h"

#include <string.h>

/* ---- labels ---- */

static uint32_t label_bucket(const char *text, uint32_t length) {
    uint32_t value = length;
    for (uint32_t i = 0; i < length; i++)
        value = value * 31 + (uint8_t)text[i];
    return value % FF__PTX_LABEL_BUCKETS;
}

/* The label with this name, which may be defined later. */
static uint32_t label(struct ff__ptx_reader *reader, const char *text, uint32_t length) {
    struct ff__ptx_label_name **bucket = &reader->labels[label_bucket(text, length)];
    for (struct ff__ptx_label_name *name = *bucket; name != NULL; name = name->next)
        if (name->length == length && memcmp(name->text, text, length) == 0)
            return name->index;
    struct ff__ptx_function *function = reader->function;
    uint32_t index = function->label_count;
    struct ff__ptx_label *added =
        ff__ptx_append(reader, &function->labels, &function->label_count, sizeof *added);
    *added = (struct ff__ptx_label){.name = ff__ptx_copy(reader, text, length),
                                    .instruction = FF__PTX_NONE};
    struct ff__ptx_label_name *name = ff__ptx_need(reader, 1, sizeof *name);
    *name = (struct ff__ptx_label_name){
        .next = *bucket, .text = added->name, .length = length, .index = index};
    *bucket = name;
    return index;
}

/* Labels that were defined inside a scope are not known behind it. In its bucket a name stands
 * before those that were there earlier. */
static void hide_labels(struct ff__ptx_reader *reader, uint32_t first) {
    for (uint32_t i = first; i < reader->function->label_count; i++) {
        const struct ff__ptx_label *label = &reader->function->labels[i];
        struct ff__ptx_label_name **at =
            &reader->labels[label_bucket(label->name, (uint32_t)strlen(label->name))];
        while (*at != NULL && (*at)->index > i)
            at = &(*at)->next;
        if (*at != NULL && (*at)->index == i && label->instruction != FF__PTX_NONE)
            *at = (*at)->next;
    }
}

/* ---- operands ---- */

#define MOST_LISTED 64u
#define MOST_NESTED 8u

static struct ff__ptx_operand operand(struct ff__ptx_reader *reader);

static uint32_t keep_operands(struct ff__ptx_reader *reader, const struct ff__ptx_operand *operands,
                              uint32_t count) {
    struct ff__ptx_function *function = reader->function;
    uint32_t first = function->operand_count;
    for (uint32_t i = 0; i < count; i++)
        *(struct ff__ptx_operand *)ff__ptx_append(
            reader, &function->operands, &function->operand_count, sizeof *operands) = operands[i];
    return first;
}

/* Up to the sign that closes it. */
static struct ff__ptx_operand list(struct ff__ptx_reader *reader, char close) {
    struct ff__ptx_operand items[MOST_LISTED];
    uint32_t count = 0;
    while (!ff__ptx_take_sign(reader, close)) {
        if (count == MOST_LISTED)
            ff__ptx_wrong(reader, "more than %u operands", MOST_LISTED);
        items[count++] = operand(reader);
        if (!ff__ptx_is_sign(reader, close))
            ff__ptx_expect(reader, ',');
    }
    return (struct ff__ptx_operand){
        .kind = FF__PTX_LIST, .first = keep_operands(reader, items, count), .count = count};
}

static struct ff__ptx_operand special(struct ff__ptx_reader *reader,
                                      const struct ff__ptx_token *name, uint32_t which) {
    struct ff__ptx_operand result = {.kind = FF__PTX_SPECIAL, .index = which};
    if (which <= FF__PTX_S_NCTAID) {
        struct ff__ptx_token part = reader->token;
        const char *component = memchr("xyzw", part.kind == FF__PTX_DOTTED ? part.text[0] : 0, 4);
        if (part.length != 1 || component == NULL)
            ff__ptx_wrong(reader, "%.*s without .x, .y or .z", (int)name->length, name->text);
        result.component = (uint8_t)(component - "xyzw");
        ff__ptx_next(reader);
    }
    return result;
}

static struct ff__ptx_operand named(struct ff__ptx_reader *reader) {
    static const uint8_t kinds[] = {
        [FF__PTX_NAMED_REGISTER] = FF__PTX_REGISTER, [FF__PTX_NAMED_VARIABLE] = FF__PTX_VARIABLE,
        [FF__PTX_NAMED_OWN] = FF__PTX_OWN,           [FF__PTX_NAMED_PARAMETER] = FF__PTX_PARAMETER,
        [FF__PTX_NAMED_RESULT] = FF__PTX_RESULT,     [FF__PTX_NAMED_FUNCTION] = FF__PTX_FUNCTION};
    struct ff__ptx_token name = ff__ptx_expect_name(reader);
    if (name.length == 1 && name.text[0] == '_')
        return (struct ff__ptx_operand){.kind = FF__PTX_NOTHING};
    const struct ff__ptx_name *found = ff__ptx_lookup(reader, name.text, name.length);
    if (found != NULL)
        return (struct ff__ptx_operand){.kind = kinds[found->kind], .index = found->index};
    uint32_t which = ff__ptx_find_special(name.text, name.length);
    if (which != FF__PTX_NONE)
        return special(reader, &name, which);
    if (name.text[0] == '%')
        ff__ptx_wrong(reader, "%.*s is not declared", (int)name.length, name.text);
    return (struct ff__ptx_operand){.kind = FF__PTX_LABEL,
                                    .index = label(reader, name.text, name.length)};
}

static struct ff__ptx_operand constant(struct ff__ptx_reader *reader, bool minus) {
    struct ff__ptx_token token = reader->token;
    if (token.kind != FF__PTX_NUMBER)
        ff__ptx_wrong(reader, "'%.*s' where an operand should be", (int)token.length, token.text);
    ff__ptx_next(reader);
    struct ff__ptx_operand result = {.kind = token.number, .bits = token.bits};
    if (minus && token.number == FF__PTX_INTEGER)
        result.bits = -token.bits;
    else if (minus)
        result.bits ^= token.number == FF__PTX_FLOAT32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
    return result;
}

static int64_t offset_of(struct ff__ptx_reader *reader) {
    int64_t offset = 0;
    while (ff__ptx_is_sign(reader, '+') || ff__ptx_is_sign(reader, '-')) {
        bool minus = ff__ptx_is_sign(reader, '-');
        ff__ptx_next(reader);
        if (ff__ptx_take_sign(reader, '-'))
            minus = !minus;
        int64_t amount = (int64_t)ff__ptx_expect_integer(reader);
        offset += minus ? -amount : amount;
    }
    return offset;
}

static bool has_offset(const struct ff__ptx_operand *base) {
    return base->kind == FF__PTX_REGISTER || base->kind == FF__PTX_VARIABLE ||
           base->kind == FF__PTX_OWN || base->kind == FF__PTX_PARAMETER ||
           base->kind == FF__PTX_RESULT;
}

static void add_offset(struct ff__ptx_reader *reader, struct ff__ptx_operand *base) {
    int64_t offset = offset_of(reader);
    if (has_offset(base))
        base->offset += offset;
    else if (base->kind == FF__PTX_INTEGER)
        base->bits += (uint64_t)offset;
    else if (offset != 0)
        ff__ptx_wrong(reader, "an offset from what has no address");
}

/* [base], [base+offset], [texture, {x, y}]: a list if there is more than the base. */
static struct ff__ptx_operand address(struct ff__ptx_reader *reader) {
    struct ff__ptx_operand items[MOST_LISTED];
    uint32_t count = 0;
    do {
        if (count == MOST_LISTED)
            ff__ptx_wrong(reader, "more than %u operands", MOST_LISTED);
        items[count] = operand(reader);
        add_offset(reader, &items[count++]);
    } while (ff__ptx_take_sign(reader, ','));
    ff__ptx_expect(reader, ']');
    struct ff__ptx_operand result = items[0];
    if (count != 1)
        result = (struct ff__ptx_operand){
            .kind = FF__PTX_LIST, .first = keep_operands(reader, items, count), .count = count};
    result.address = true;
    return result;
}

static struct ff__ptx_operand single(struct ff__ptx_reader *reader) {
    if (ff__ptx_take_sign(reader, '{'))
        return list(reader, '}');
    if (ff__ptx_take_sign(reader, '('))
        return list(reader, ')');
    if (ff__ptx_take_sign(reader, '['))
        return address(reader);
    if (ff__ptx_take_sign(reader, '!')) {
        struct ff__ptx_operand negated = operand(reader);
        negated.negated = true;
        return negated;
    }
    if (ff__ptx_take_sign(reader, '-'))
        return constant(reader, true);
    if (reader->token.kind != FF__PTX_NAME)
        return constant(reader, false);
    struct ff__ptx_operand result = named(reader);
    if (result.kind != FF__PTX_REGISTER && has_offset(&result)) {
        add_offset(reader, &result);
        if (ff__ptx_take_sign(reader, '[')) { /* name[4], the same as name+4 */
            result.offset += (int64_t)ff__ptx_expect_integer(reader);
            ff__ptx_expect(reader, ']');
        }
    }
    return result;
}

static struct ff__ptx_operand operand(struct ff__ptx_reader *reader) {
    if (++reader->nested > MOST_NESTED)
        ff__ptx_wrong(reader, "operands more than %u deep", MOST_NESTED);
    struct ff__ptx_operand first = single(reader);
    reader->nested--;
    if (!ff__ptx_take_sign(reader, '|'))
        return first;
    struct ff__ptx_operand pair[2] = {first, single(reader)};
    return (struct ff__ptx_operand){
        .kind = FF__PTX_LIST, .first = keep_operands(reader, pair, 2), .count = 2};
}

/* ---- statements ---- */

static void declare_register(struct ff__ptx_reader *reader, const char *text, uint32_t length,
                             uint8_t type) {
    struct ff__ptx_function *function = reader->function;
    uint32_t index = function->register_count;
    struct ff__ptx_register *added =
        ff__ptx_append(reader, &function->registers, &function->register_count, sizeof *added);
    *added = (struct ff__ptx_register){.name = text, .type = type};
    ff__ptx_define(reader, text, length, FF__PTX_NAMED_REGISTER, index);
}

/* %r<10> declares %r0 to %r9. */
static void declare_several(struct ff__ptx_reader *reader, const struct ff__ptx_token *name,
                            uint8_t type) {
    uint64_t count = ff__ptx_expect_integer(reader);
    ff__ptx_expect(reader, '>');
    if (count > reader->registers_left)
        ff__ptx_wrong(reader, "more registers than a text of this size can use");
    reader->registers_left -= count;
    for (uint32_t i = 0; i < count; i++) {
        char digits[12];
        uint32_t used = 0;
        for (uint32_t rest = i; used == 0 || rest != 0; rest /= 10)
            digits[used++] = (char)('0' + rest % 10);
        char *text = ff__ptx_need(reader, name->length + used + 1, 1);
        memcpy(text, name->text, name->length);
        for (uint32_t k = 0; k < used; k++)
            text[name->length + k] = digits[used - 1 - k];
        declare_register(reader, text, name->length + used, type);
    }
}

static void registers(struct ff__ptx_reader *reader) {
    uint32_t type = reader->token.kind != FF__PTX_DOTTED
                        ? FF__PTX_NONE
                        : ff__ptx_find_type(reader->token.text, reader->token.length);
    if (type == FF__PTX_NONE)
        ff__ptx_wrong(reader, "registers of .%.*s are not supported", (int)reader->token.length,
                      reader->token.text);
    ff__ptx_next(reader);
    do {
        struct ff__ptx_token name = ff__ptx_expect_name(reader);
        if (ff__ptx_take_sign(reader, '<'))
            declare_several(reader, &name, (uint8_t)type);
        else
            declare_register(reader, ff__ptx_copy(reader, name.text, name.length), name.length,
                             (uint8_t)type);
    } while (ff__ptx_take_sign(reader, ','));
    ff__ptx_expect(reader, ';');
}

static void own_variable(struct ff__ptx_reader *reader) {
    struct ff__ptx_function *function = reader->function;
    struct ff__ptx_variable variable = ff__ptx_declaration(reader);
    if (ff__ptx_take_sign(reader, '='))
        ff__ptx_initial(reader, &variable);
    ff__ptx_expect(reader, ';');
    uint32_t index = function->variable_count;
    *(struct ff__ptx_variable *)ff__ptx_append(
        reader, &function->variables, &function->variable_count, sizeof variable) = variable;
    ff__ptx_define(reader, variable.name, (uint32_t)strlen(variable.name), FF__PTX_NAMED_OWN,
                   index);
}

static void modifier(struct ff__ptx_reader *reader, struct ff__ptx_instruction *instruction) {
    const struct ff__ptx_token *word = &reader->token;
    uint32_t type = ff__ptx_find_type(word->text, word->length);
    if (type != FF__PTX_NONE) {
        if (instruction->type_count == sizeof instruction->types)
            ff__ptx_wrong(reader, "more than %zu types", sizeof instruction->types);
        instruction->types[instruction->type_count++] = (uint8_t)type;
        ff__ptx_next(reader);
        return;
    }
    uint32_t found = ff__ptx_find_modifier(word->text, word->length);
    if (found == FF__PTX_NONE)
        ff__ptx_wrong(reader, ".%.*s is not known", (int)word->length, word->text);
    instruction->modifiers[found / 64] |= UINT64_C(1) << (found % 64);
    ff__ptx_next(reader);
}

static void guard(struct ff__ptx_reader *reader, struct ff__ptx_instruction *instruction) {
    instruction->guard = FF__PTX_NONE;
    if (!ff__ptx_take_sign(reader, '@'))
        return;
    instruction->guard_negated = ff__ptx_take_sign(reader, '!');
    struct ff__ptx_operand predicate = named(reader);
    if (predicate.kind != FF__PTX_REGISTER ||
        reader->function->registers[predicate.index].type != FF__PTX_PRED)
        ff__ptx_wrong(reader, "a guard that is not a predicate");
    instruction->guard = predicate.index;
}

static void instruction(struct ff__ptx_reader *reader) {
    struct ff__ptx_instruction made = {.line = reader->token.line};
    reader->instruction = reader->token.text;
    reader->nested = 0;
    guard(reader, &made);
    struct ff__ptx_token name = ff__ptx_expect_name(reader);
    uint32_t opcode = ff__ptx_find_opcode(name.text, name.length);
    if (opcode == FF__PTX_NONE)
        ff__ptx_wrong(reader, "'%.*s' is not known", (int)name.length, name.text);
    made.opcode = (uint16_t)opcode;
    while (reader->token.kind == FF__PTX_DOTTED)
        modifier(reader, &made);
    struct ff__ptx_operand items[MOST_LISTED];
    while (!ff__ptx_is_sign(reader, ';')) {
        if (made.operand_count == MOST_LISTED)
            ff__ptx_wrong(reader, "more than %u operands", MOST_LISTED);
        items[made.operand_count++] = operand(reader);
        if (!ff__ptx_is_sign(reader, ';'))
            ff__ptx_expect(reader, ',');
    }
    ff__ptx_next(reader);
    made.operands = keep_operands(reader, items, made.operand_count);
    struct ff__ptx_function *function = reader->function;
    *(struct ff__ptx_instruction *)ff__ptx_append(reader, &function->instructions,
                                                  &function->instruction_count, sizeof made) = made;
    reader->instruction = NULL;
}

static void skip_statement(struct ff__ptx_reader *reader) {
    while (!ff__ptx_take_sign(reader, ';')) {
        if (reader->token.kind == FF__PTX_END)
            ff__ptx_wrong(reader, "';' is missing");
        ff__ptx_next(reader);
    }
}

/* `name: .branchtargets a, b;`. Prototypes and .calltargets say nothing that a call does not. */
static void targets(struct ff__ptx_reader *reader, uint32_t index) {
    struct ff__ptx_function *function = reader->function;
    if (ff__ptx_take_dotted(reader, "callprototype") ||
        ff__ptx_take_dotted(reader, "calltargets")) {
        skip_statement(reader);
    } else if (ff__ptx_take_dotted(reader, "branchtargets")) {
        uint32_t *list = NULL, count = 0;
        do {
            struct ff__ptx_token name = ff__ptx_expect_name(reader);
            uint32_t target = label(reader, name.text, name.length);
            *(uint32_t *)ff__ptx_append(reader, &list, &count, sizeof *list) = target;
        } while (ff__ptx_take_sign(reader, ','));
        ff__ptx_expect(reader, ';');
        function->labels[index].targets = list;
        function->labels[index].target_count = count;
    }
}

static void define_label(struct ff__ptx_reader *reader, const struct ff__ptx_token *name) {
    uint32_t index = label(reader, name->text, name->length);
    struct ff__ptx_label *defined = &reader->function->labels[index];
    if (defined->instruction != FF__PTX_NONE)
        ff__ptx_wrong(reader, "the label '%s' stands twice", defined->name);
    defined->instruction = reader->function->instruction_count;
    targets(reader, index);
}

/* A name with a colon behind it, which only a label has. */
static bool is_label(const struct ff__ptx_reader *reader) {
    const char *at = reader->at;
    while (at < reader->end && (*at == ' ' || *at == '\t'))
        at++;
    return reader->token.kind == FF__PTX_NAME && at < reader->end && *at == ':';
}

static void statement(struct ff__ptx_reader *reader) {
    if (is_label(reader)) {
        struct ff__ptx_token name = ff__ptx_expect_name(reader);
        ff__ptx_expect(reader, ':');
        define_label(reader, &name);
    } else if (reader->token.kind != FF__PTX_DOTTED) {
        instruction(reader);
    } else if (ff__ptx_take_dotted(reader, "reg")) {
        registers(reader);
    } else if (ff__ptx_is_dotted(reader, "pragma")) {
        skip_statement(reader);
    } else if (!ff__ptx_debugging(reader)) {
        own_variable(reader);
    }
}

static void block(struct ff__ptx_reader *reader, uint32_t depth) {
    if (depth > 100)
        ff__ptx_wrong(reader, "braces more than 100 deep");
    uint32_t first_label = reader->function->label_count;
    ff__ptx_expect(reader, '{');
    ff__ptx_enter(reader);
    while (!ff__ptx_take_sign(reader, '}')) {
        if (reader->token.kind == FF__PTX_END)
            ff__ptx_wrong(reader, "'}' is missing");
        if (ff__ptx_is_sign(reader, '{'))
            block(reader, depth + 1);
        else
            statement(reader);
    }
    ff__ptx_leave(reader);
    hide_labels(reader, first_label);
}

void ff__ptx_body(struct ff__ptx_reader *reader) {
    const struct ff__ptx_operand nothing = {.kind = FF__PTX_NOTHING};
    memset(reader->labels, 0, sizeof reader->labels);
    keep_operands(reader, &nothing,
                  1); /* so that those of an instruction without any have a place */
    block(reader, 0);
}
