/* Every form of forms.def, spelled out: one for each choice of modifiers and types. */
#ifndef FF_TESTS_PTX_VALUES_FORMS_H
#define FF_TESTS_PTX_VALUES_FORMS_H

#include "ptx/values_real.h"

#include "ptx/read.h"
#include <stdlib.h>
#include <string.h>

#define MOST_OPERANDS 5u
#define MOST_WORDS    8u

struct form {
    const char *name;
    char words[MOST_WORDS][16]; /* its modifiers */
    unsigned word_count;
    enum ff__ptx_type types[4];
    unsigned type_count;
    enum ff__ptx_type result, operands[MOST_OPERANDS];
    unsigned count;
    bool two; /* p|q: both are in the result, q in bit 8 */
    unsigned row;
};

struct forms {
    struct form *forms;
    size_t count, room;
};

static inline bool has(const struct form *form, const char *word) {
    for (unsigned i = 0; i < form->word_count; i++)
        if (strcmp(form->words[i], word) == 0)
            return true;
    return false;
}

static inline enum mode mode_of(const struct form *form) {
    return has(form, "rz") || has(form, "rzi")   ? TO_ZERO
           : has(form, "rm") || has(form, "rmi") ? DOWN
           : has(form, "rp") || has(form, "rpi") ? UP
           : has(form, "rna")                    ? AWAY
                                                 : NEAREST;
}

static inline void add_form(struct forms *forms, const struct form *form) {
    if (forms->count == forms->room) {
        forms->room = 2 * forms->room + 64;
        forms->forms = realloc(forms->forms, forms->room * sizeof *forms->forms);
        assert(forms->forms != NULL);
    }
    forms->forms[forms->count++] = *form;
}

static inline enum ff__ptx_type type_named(const char *name, size_t length) {
    uint32_t type = ff__ptx_find_type(name, length);
    assert(type != FF__PTX_NONE);
    return (enum ff__ptx_type)type;
}

static inline enum ff__ptx_type coded_type(const struct form *form, char code) {
    static const struct {
        char code;
        const char *name;
    } codes[] = {{'u', "u32"}, {'s', "s32"}, {'l', "u64"}, {'p', "pred"}};
    enum ff__ptx_type last = form->types[form->type_count - 1];
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].code == code)
            return type_named(codes[i].name, strlen(codes[i].name));
    if (code == 'R')
        return form->types[0];
    if (code != 'W')
        return last;
    return last == FF__PTX_U16   ? FF__PTX_U32
           : last == FF__PTX_S16 ? FF__PTX_S32
           : last == FF__PTX_U32 ? FF__PTX_U64
                                 : FF__PTX_S64;
}

static inline void each_types(struct forms *forms, struct form form, const char *types,
                              const char *signature) {
    while (*types != '\0') {
        size_t length = strcspn(types, " ");
        const char *at = types, *end = types + length;
        types = end + (*end == ' ');
        form.type_count = 0;
        while (at < end) {
            size_t word = strcspn(at, ". ");
            form.types[form.type_count++] = type_named(at, word);
            at += word + 1;
        }
        if (form.type_count == 0)
            continue;
        form.result = coded_type(&form, signature[0]);
        form.count = 0;
        for (const char *code = signature + 2; *code != '\0'; code++)
            form.operands[form.count++] = coded_type(&form, *code);
        bool pair = form.types[0] == FF__PTX_F16X2 || form.types[0] == FF__PTX_BF16X2;
        form.two = strcmp(form.name, "setp") == 0 && pair;
        add_form(forms, &form);
        if (strcmp(form.name, "setp") == 0 && !pair && form.types[0] != FF__PTX_F16 &&
            form.types[0] != FF__PTX_BF16) {
            form.two = true;
            add_form(forms, &form);
        }
    }
}

static inline void each_modifier(struct forms *forms, struct form form, const char *modifiers,
                                 const char *types, const char *signature) {
    modifiers += strspn(modifiers, " ");
    if (*modifiers == '\0') {
        each_types(forms, form, types, signature);
        return;
    }
    size_t length = strcspn(modifiers, " ");
    const char *at = modifiers, *end = modifiers + length;
    if (*at == '[') {
        each_modifier(forms, form, end, types, signature);
        at++;
        end--;
    }
    unsigned word = form.word_count++;
    while (at < end) {
        size_t size = strcspn(at, "|] ");
        assert(word < MOST_WORDS && size < sizeof form.words[word]);
        memset(form.words[word], 0, sizeof form.words[word]);
        memcpy(form.words[word], at, size);
        each_modifier(forms, form, modifiers + length, types, signature);
        at += size + 1;
    }
}

/* All but atomics, whose operands are in memory. */
static inline struct forms all_forms(void) {
    static const struct {
        const char *name, *modifiers, *types, *signature;
    } rows[] = {
#define FF_PTX_FORM(name, modifiers, types, signature) {#name, modifiers, types, signature},
#define FF_PTX_CHECKED                                 FF_PTX_FORM
#include "ptx/forms.def"
    };
    struct forms forms = {0};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct form form = {.name = rows[i].name, .row = i};
        if (strcmp(form.name, "atom") != 0 && strcmp(form.name, "red") != 0)
            each_modifier(&forms, form, rows[i].modifiers, rows[i].types, rows[i].signature);
    }
    return forms;
}

static inline void write_name(const struct form *form, char *out, size_t size) {
    size_t used = (size_t)snprintf(out, size, "%s", form->name);
    for (unsigned i = 0; i < form->word_count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, ".%s", form->words[i]);
    for (unsigned i = 0; i < form->type_count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, ".%s", ff__ptx_type_name(form->types[i]));
}

#endif
