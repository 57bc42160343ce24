#include "learn/train/page_context.h"

#include <string.h>

#define ARRAY_COUNT_MAX 7u

static const uint8_t token_lengths[FF__PAGE_TOKEN_FOLDS] = {2, 8, 16, 30};
static const uint8_t code_lengths[FF__PAGE_CODE_FOLDS] = {16, 30};

void ff__page_context_start(struct ff__page_context *context, void *memory, uint32_t bits) {
    memset(context, 0, sizeof *context);
    ff__context_start(&context->tables, memory, bits);
}

/* ---- contexts ---- */

static uint32_t array_index(uint32_t key) {
    return key >> (32 - FF__PAGE_ARRAY_BITS);
}

static uint32_t predict_array(const struct ff__page_context *context, uint32_t key,
                              uint32_t current) {
    const struct ff__page_array *entry = &context->arrays[array_index(key)];
    return entry->count > 0 && entry->tag == (uint16_t)key ? entry->array : current;
}

void ff__page_history_add(struct ff__page_history *history, const struct ff__access *access) {
    uint32_t array = access->array % FF__ARRAYS;
    int64_t value = ff__trail_delta(&history->trail, array, access->page);
    uint64_t token = ff__context_mix((uint64_t)value, access->pc);
    uint64_t distance = ff__context_mix(2, (uint64_t)(value - array) / FF__ARRAYS) >> 28;
    ff__trail_move(&history->trail, array, access->page);
    history->distances[array] = history->distances[array] << 4 | (distance & 15);
    ff__recent_add(&history->tokens, (uint32_t)token, history->token_fold, token_lengths,
                   FF__PAGE_TOKEN_FOLDS);
    ff__recent_add(&history->codes, access->pc, history->code_fold, code_lengths,
                   FF__PAGE_CODE_FOLDS);
}

static uint32_t key_of(uint64_t code, uint64_t a, uint64_t b) {
    return ff__context_key(ff__context_mix(ff__context_mix(code, a), b));
}

struct ff__page_keys ff__page_context_keys(const struct ff__page_context *context,
                                           const struct ff__page_history *history,
                                           const struct ff__access *access) {
    const uint32_t *token = history->token_fold, *code = history->code_fold;
    uint32_t array_key = ff__context_key(ff__context_mix(code[0], access->pc));
    uint32_t array = predict_array(context, array_key, access->array % FF__ARRAYS);
    uint64_t distances = history->distances[array], pc = ff__context_mix(access->pc, 1);
    uint64_t with_array = ff__context_mix(pc, array + 1);
    return (struct ff__page_keys){
        .context.of = {key_of(pc, token[0], 0), key_of(pc, token[1], 0), key_of(pc, token[2], 0),
                       key_of(pc, token[3], 0), key_of(with_array, code[0], (uint32_t)distances),
                       key_of(with_array, code[1], distances), key_of(pc, token[0], access->page),
                       key_of(pc, token[1], access->page)},
        .array = array_key};
}

bool ff__page_context_look(const struct ff__page_context *context, const struct ff__page_keys *keys,
                           struct ff__context_guess *guess) {
    return ff__context_look(&context->tables, &keys->context, guess);
}

/* ---- learning ---- */

static void teach_array(struct ff__page_array *entry, uint32_t key, uint8_t array) {
    if (entry->count == 0 || entry->tag != (uint16_t)key)
        *entry = (struct ff__page_array){(uint16_t)key, array, 1};
    else if (entry->array != array)
        entry->count--;
    else if (entry->count < ARRAY_COUNT_MAX)
        entry->count++;
}

void ff__page_context_teach(struct ff__page_context *context, const struct ff__page_keys *keys,
                            int64_t value) {
    if (value != (int32_t)value)
        return;
    teach_array(&context->arrays[array_index(keys->array)], keys->array,
                (uint8_t)((uint64_t)value % FF__ARRAYS));
    ff__context_teach(&context->tables, &keys->context, (int32_t)value);
}
