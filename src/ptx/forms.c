#include "ptx/forms.h"

#include "ptx/read.h"
#include <pthread.h>
#include <string.h>

#define GROUPS     8u
#define TYPE_LISTS 96u

/* A row of forms.def, once it has been read: each group of modifiers is a set of alternatives. */
struct row {
    uint16_t opcode;
    bool checked; /* FF_PTX_CHECKED */
    const char *modifiers, *types, *signature;
    struct {
        uint64_t set[4];
        bool optional;
    } groups[GROUPS];
    uint32_t group_count;
    uint64_t all[4];
    struct {
        uint8_t types[4];
        uint8_t count;
    } lists[TYPE_LISTS];
    uint32_t list_count;
};

static struct row rows[] = {
#define FF_PTX_FORM(name, modifiers, types, signature)                                             \
    {FF__PTX_OP_##name, false, modifiers, types, signature, .group_count = 0},
#define FF_PTX_CHECKED(name, modifiers, types, signature)                                          \
    {FF__PTX_OP_##name, true, modifiers, types, signature, .group_count = 0},
#include "ptx/forms.def"
};
#define ROWS (sizeof rows / sizeof *rows)

static uint32_t first_row[FF__PTX_OPCODES], end_row[FF__PTX_OPCODES];

static void read_group(struct row *row, const char *text, size_t length) {
    uint32_t group = row->group_count++;
    row->groups[group].optional = text[0] == '[';
    if (text[0] == '[') {
        text++;
        length -= 2;
    }
    while (length != 0) {
        const char *bar = memchr(text, '|', length);
        size_t word = bar != NULL ? (size_t)(bar - text) : length;
        uint32_t modifier = ff__ptx_find_modifier(text, word);
        if (modifier != FF__PTX_NONE) {
            row->groups[group].set[modifier / 64] |= UINT64_C(1) << (modifier % 64);
            row->all[modifier / 64] |= UINT64_C(1) << (modifier % 64);
        }
        text += word + (bar != NULL);
        length -= word + (bar != NULL);
    }
}

static void read_types(struct row *row, const char *text, size_t length) {
    uint32_t list = row->list_count++;
    while (length != 0) {
        const char *dot = memchr(text, '.', length);
        size_t word = dot != NULL ? (size_t)(dot - text) : length;
        uint32_t type = ff__ptx_find_type(text, word);
        row->lists[list].types[row->lists[list].count++] = type == FF__PTX_NONE ? 0 : (uint8_t)type;
        text += word + (dot != NULL);
        length -= word + (dot != NULL);
    }
}

static void each_word(struct row *row, const char *text,
                      void (*read)(struct row *, const char *, size_t)) {
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (length != 0)
            read(row, text, length);
        text += length + (text[length] == ' ');
    }
}

/* Rows of one instruction stand together. */
static void read_rows(void) {
    for (uint32_t i = 0; i < ROWS; i++) {
        struct row *row = &rows[i];
        each_word(row, row->modifiers, read_group);
        each_word(row, row->types, read_types);
        if (end_row[row->opcode] == 0)
            first_row[row->opcode] = i;
        end_row[row->opcode] = i + 1;
    }
}

static uint32_t members(const uint64_t *a, const uint64_t *b) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < 4; i++)
        count += (uint32_t)__builtin_popcountll(a[i] & b[i]);
    return count;
}

static bool modifiers_fit(const struct row *row, const struct ff__ptx_instruction *instruction) {
    for (uint32_t i = 0; i < 4; i++)
        if ((instruction->modifiers[i] & ~row->all[i]) != 0)
            return false;
    for (uint32_t i = 0; i < row->group_count; i++) {
        uint32_t count = members(row->groups[i].set, instruction->modifiers);
        if (count > 1 || (count == 0 && !row->groups[i].optional))
            return false;
    }
    return true;
}

static bool types_fit(const struct row *row, const struct ff__ptx_instruction *instruction) {
    for (uint32_t i = 0; i < row->list_count; i++)
        if (row->lists[i].count == instruction->type_count &&
            memcmp(row->lists[i].types, instruction->types, instruction->type_count) == 0)
            return true;
    return false;
}

static enum ff__ptx_type twice(enum ff__ptx_type type) {
    switch (type) {
    case FF__PTX_U16:
        return FF__PTX_U32;
    case FF__PTX_S16:
        return FF__PTX_S32;
    case FF__PTX_U32:
        return FF__PTX_U64;
    case FF__PTX_S32:
        return FF__PTX_S64;
    default:
        return type;
    }
}

static enum ff__ptx_type coded(char code, const struct ff__ptx_instruction *instruction) {
    enum ff__ptx_type last = instruction->types[instruction->type_count - 1];
    switch (code) {
    case 'R':
        return instruction->types[0];
    case 'W':
        return twice(last);
    case 'u':
        return FF__PTX_U32;
    case 's':
        return FF__PTX_S32;
    case 'l':
        return FF__PTX_U64;
    case 'p':
        return FF__PTX_PRED;
    default:
        return last;
    }
}

static bool is_real(enum ff__ptx_type type) {
    return ff__ptx_type_kind(type) == 'f';
}

/* What changes nothing, or is done around the function. */
static bool in_name(uint32_t modifier, const struct ff__ptx_form *form) {
    switch (modifier) {
    case FF__PTX_M_RN:
    case FF__PTX_M_APPROX:
    case FF__PTX_M_FULL:
        return false;
    case FF__PTX_M_FTZ: /* those of .f64 are functions of their own */
        return form->result == FF__PTX_F64 && form->operands[0] == FF__PTX_F64;
    case FF__PTX_M_SAT:
        return !is_real(form->result);
    default:
        return true;
    }
}

static void append(struct ff__ptx_form *form, const char *word) {
    size_t used = strlen(form->function);
    if (used != 0 && used + 1 < sizeof form->function)
        form->function[used++] = '_';
    size_t length = strlen(word);
    if (used + length < sizeof form->function)
        memcpy(form->function + used, word, length);
}

/* The instruction's name, its modifiers in the order of the row, its types. */
static void name_function(const struct row *row, const struct ff__ptx_instruction *instruction,
                          struct ff__ptx_form *out) {
    append(out, ff__ptx_opcode_name(row->opcode));
    for (uint32_t i = 0; i < row->group_count; i++)
        for (uint32_t m = 0; m < FF__PTX_MODIFIERS; m++)
            if ((row->groups[i].set[m / 64] >> (m % 64) & 1) != 0 && ff__ptx_has(instruction, m) &&
                in_name(m, out))
                append(out, ff__ptx_modifier_name(m));
    for (uint32_t i = 0; i < instruction->type_count; i++)
        append(out, ff__ptx_type_name(instruction->types[i]));
}

static const struct row *find(const struct ff__ptx_instruction *instruction, bool checked) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_rows);
    for (uint32_t i = first_row[instruction->opcode]; i < end_row[instruction->opcode]; i++)
        if (rows[i].checked == checked && instruction->type_count != 0 &&
            strlen(rows[i].signature) == instruction->operand_count + 1ul &&
            types_fit(&rows[i], instruction) && modifiers_fit(&rows[i], instruction))
            return &rows[i];
    return NULL;
}

bool ff__ptx_form(const struct ff__ptx_instruction *instruction, struct ff__ptx_form *out) {
    const struct row *row = find(instruction, false);
    if (row == NULL)
        return false;
    *out = (struct ff__ptx_form){.result = coded(row->signature[0], instruction)};
    for (const char *code = row->signature + 2; *code != '\0'; code++)
        out->operands[out->count++] = coded(*code, instruction);
    out->flush = ff__ptx_has(instruction, FF__PTX_M_FTZ);
    out->saturate = ff__ptx_has(instruction, FF__PTX_M_SAT) && is_real(out->result);
    name_function(row, instruction, out);
    return true;
}

bool ff__ptx_checked(const struct ff__ptx_instruction *instruction) {
    return find(instruction, true) != NULL;
}
