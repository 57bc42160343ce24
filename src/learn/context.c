#include "learn/context.h"

#include <string.h>

#define COUNT_MAX (FF__CONTEXT_COUNTS - 1)
/* A share moves by 1 / 2^n of what is missing: fast at first, then slowly. Ours. */
#define ASKED_MIN 4
#define ASKED_MAX 128

size_t ff__context_size(uint32_t bits) {
    return (sizeof(struct ff__context_entry) * FF__CONTEXT_TABLES) << bits;
}

/* The first value's share, in eighths, for entries that have seen less than 4 values, less than 12,
 * and more; ours. */
static uint8_t state_of(uint32_t firsts, uint32_t seconds) {
    uint32_t all = firsts + seconds, age = all >= 12 ? 2 : all >= 4 ? 1 : 0;
    return (uint8_t)(all ? 9 * age + (firsts * 8 + all / 2) / all : 0);
}

/* A share is at first what the counters say, and a bit less. */
void ff__context_start(struct ff__context *context, void *memory, uint32_t bits) {
    *context = (struct ff__context){.entries = memory, .bits = bits, .dice = 1};
    for (uint32_t firsts = 0; firsts <= COUNT_MAX; firsts++)
        for (uint32_t seconds = 0; seconds <= COUNT_MAX; seconds++)
            context->state[firsts][seconds] = state_of(firsts, seconds);
    memset(context->asked, ASKED_MIN, sizeof context->asked);
    for (uint32_t t = 0; t < FF__CONTEXT_TABLES; t++)
        for (uint32_t state = 0; state < FF__CONTEXT_STATES; state++)
            context->right[t][state] =
                (uint16_t)(FF__CONTEXT_CERTAIN * (state % 9) / 9 * (state / 9 + 1) / 4);
}

static struct ff__context_entry *entry_of(const struct ff__context *context,
                                          const struct ff__context_keys *keys, uint32_t table) {
    size_t index = keys->of[table] >> (32 - context->bits);
    return &context->entries[((size_t)table << context->bits) + index];
}

static bool knows(const struct ff__context_entry *entry, uint32_t key) {
    return entry->firsts > 0 && entry->tag == (uint16_t)key;
}

/* Without branches, which nobody could predict: the largest of shares, with the number of the table
 * below. */
bool ff__context_look(const struct ff__context *context, const struct ff__context_keys *keys,
                      struct ff__context_guess *guess) {
    uint32_t best = 0;
    for (uint32_t t = 0; t < FF__CONTEXT_TABLES; t++) {
        const struct ff__context_entry *entry = entry_of(context, keys, t);
        uint32_t share = context->right[t][context->state[entry->firsts][entry->seconds]] + 1u;
        uint32_t known = (entry->firsts > 0) & (entry->tag == (uint16_t)keys->of[t]);
        uint32_t rank = (share * FF__CONTEXT_TABLES + t) * known;
        best = rank > best ? rank : best;
    }
    if (best == 0)
        return false;
    guess->value = entry_of(context, keys, best % FF__CONTEXT_TABLES)->first;
    guess->right = (uint16_t)(best / FF__CONTEXT_TABLES - 1);
    return true;
}

/* ---- learning ---- */

static void correct(uint16_t *right, uint8_t *asked, bool was) {
    int32_t missing = (was ? (int32_t)FF__CONTEXT_CERTAIN : 0) - *right;
    *right = (uint16_t)(*right + missing / (1 << (31 - __builtin_clz(*asked))));
    *asked = (uint8_t)(*asked + (*asked < ASKED_MAX));
}

static void swap(struct ff__context_entry *entry) {
    const struct ff__context_entry before = *entry;
    entry->first = before.second;
    entry->second = before.first;
    entry->firsts = before.seconds;
    entry->seconds = before.firsts;
}

static void halve(struct ff__context_entry *entry) {
    entry->firsts = (uint8_t)((entry->firsts + 1) / 2);
    entry->seconds = (uint8_t)((entry->seconds + 1) / 2);
}

/* A third value takes the place of the second, once it has come as often as that. */
static void count(struct ff__context_entry *entry, int32_t value) {
    if (entry->firsts == COUNT_MAX || entry->seconds == COUNT_MAX)
        halve(entry);
    if (value == entry->first) {
        entry->firsts++;
    } else if (entry->seconds > 0 && value == entry->second) {
        if (++entry->seconds > entry->firsts)
            swap(entry);
    } else if (entry->seconds <= 1) {
        entry->second = value;
        entry->seconds = 1;
    } else {
        entry->seconds--;
    }
}

/* A new context gets the place of one that was seen once, and wears another one down: it halves its
 * counters once in four times, so that what recurs outlives what does not, but not for long if it
 * has ended. */
static void compete(struct ff__context *context, struct ff__context_entry *entry, uint32_t key,
                    int32_t value) {
    context->dice = context->dice * 1664525u + 1013904223u;
    if (entry->firsts <= 1)
        *entry = (struct ff__context_entry){.first = value, .tag = (uint16_t)key, .firsts = 1};
    else if (context->dice >> 30 == 0)
        halve(entry);
}

void ff__context_teach(struct ff__context *context, const struct ff__context_keys *keys,
                       int32_t value) {
    for (uint32_t t = 0; t < FF__CONTEXT_TABLES; t++) {
        struct ff__context_entry *entry = entry_of(context, keys, t);
        if (knows(entry, keys->of[t])) {
            uint8_t state = context->state[entry->firsts][entry->seconds];
            correct(&context->right[t][state], &context->asked[t][state], entry->first == value);
            count(entry, value);
        } else {
            compete(context, entry, keys->of[t], value);
        }
    }
}
