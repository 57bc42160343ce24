#include "text.h"

#include "../data.h"

#include <stdlib.h>
#include <string.h>

/*
 * A capital letter in a pattern stands for a word of a kind, or for a pattern of its own:
 * sentence, noun phrase, adjective, noun, verb, place.
 */
static const char *const sentences[] = {"P V P. ", "P V P L. ", "L P V P. ", "P V, and P V P. "};
static const char *const phrases[] = {"the N", "the N", "a N", "the A N", "a A N", "every N"};
static const char *const adjectives[] = {"red", "small", "old", "quiet", "bright", "lazy"};
static const char *const nouns[] = {"fox", "house", "river", "teacher", "dog", "train", "garden"};
static const char *const verbs[] = {"sees", "likes", "finds", "follows", "paints", "hears"};
static const char *const places[] = {"by the sea", "at night", "in the wood", "near the N"};

static const struct rule {
    char symbol;
    const char *const *choices;
    size_t count;
} rules[] = {
#define RULE(symbol, choices)                                                                      \
    { symbol, choices, sizeof(choices) / sizeof(choices[0]) }
    RULE('S', sentences), RULE('P', phrases), RULE('A', adjectives),
    RULE('N', nouns),     RULE('V', verbs),   RULE('L', places),
#undef RULE
};

struct writer {
    struct text *text;
    size_t room;
    uint64_t draws;
};

static const struct rule *find_rule(char symbol) {
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); ++i)
        if (rules[i].symbol == symbol)
            return &rules[i];
    return NULL;
}

static void expand(struct writer *writer, const char *pattern) {
    for (; *pattern != '\0' && writer->text->length < writer->room; ++pattern) {
        const struct rule *rule = find_rule(*pattern);
        if (rule == NULL)
            writer->text->bytes[writer->text->length++] = (uint8_t)*pattern;
        else
            expand(writer,
                   rule->choices[random_bits(writer->text->key, writer->draws++) % rule->count]);
    }
}

struct text text_make(uint64_t key, size_t length) {
    struct text text = {.bytes = host_array(length, 1), .key = key};
    struct writer writer = {&text, length, 0};
    while (text.length < length)
        expand(&writer, "S");
    return text;
}

void text_free(struct text *text) {
    free(text->bytes);
}

void text_batch(const struct text *text, const struct shape *shape, size_t step, uint8_t *inputs,
                uint8_t *targets) {
    const uint64_t key = random_key(text->key, step);
    const size_t context = shape->context;
    for (size_t i = 0; i < shape->batch; ++i) {
        const size_t first = random_bits(key, i) % (text->length - context);
        memcpy(inputs + i * context, text->bytes + first, context);
        memcpy(targets + i * context, text->bytes + first + 1, context);
    }
}
