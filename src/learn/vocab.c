#include "learn/vocab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ff__vocab_fini(struct ff__vocab *vocab) {
    free(vocab->value);
    free(vocab->count);
    ff__map_fini(&vocab->of);
    memset(vocab, 0, sizeof *vocab);
}

static int grow(struct ff__vocab *vocab) {
    uint32_t capacity = vocab->capacity ? 2 * vocab->capacity : 64;
    int64_t *value = realloc(vocab->value, capacity * sizeof *value);
    if (value)
        vocab->value = value;
    uint64_t *count = realloc(vocab->count, capacity * sizeof *count);
    if (count)
        vocab->count = count;
    if (!value || !count)
        return -ENOMEM;
    vocab->capacity = capacity;
    return 0;
}

/* Appends a value that is not there yet. */
static int append(struct ff__vocab *vocab, int64_t value, uint64_t count) {
    if (vocab->size == vocab->capacity) {
        int status = grow(vocab);
        if (status)
            return status;
    }
    if (vocab->size != FF__ESCAPE) {
        int status = ff__map_put(&vocab->of, (uint64_t)value, vocab->size);
        if (status)
            return status;
    }
    vocab->value[vocab->size] = value;
    vocab->count[vocab->size++] = count;
    return 0;
}

int ff__vocab_count(struct ff__vocab *vocab, int64_t value) {
    uint32_t number;
    int status = vocab->size ? 0 : append(vocab, 0, 0);
    if (status)
        return status;
    if (!ff__map_get(&vocab->of, (uint64_t)value, &number))
        return append(vocab, value, 1);
    vocab->count[number]++;
    return 0;
}

struct value_count {
    int64_t value;
    uint64_t count;
};

static int by_count(const void *a, const void *b) {
    const struct value_count *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->value > y->value) - (x->value < y->value);
}

/* Starts over with the entries in order. */
static int rebuild(struct ff__vocab *vocab, const struct value_count *entries, uint32_t count,
                   uint32_t limit, uint64_t least) {
    uint64_t rest = 0;
    int status = 0;
    ff__map_fini(&vocab->of);
    memset(&vocab->of, 0, sizeof vocab->of);
    vocab->size = 0;
    status = append(vocab, 0, 0);
    for (uint32_t i = 0; i < count && !status; i++) {
        if (vocab->size < limit && entries[i].count >= least)
            status = append(vocab, entries[i].value, entries[i].count);
        else
            rest += entries[i].count;
    }
    vocab->count[FF__ESCAPE] = rest;
    return status;
}

int ff__vocab_close(struct ff__vocab *vocab, uint32_t limit, uint64_t least) {
    uint32_t count = vocab->size ? vocab->size - 1 : 0;
    struct value_count *entries = malloc(((size_t)count + 1) * sizeof *entries);
    if (!entries || (!vocab->capacity && grow(vocab))) {
        free(entries);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++)
        entries[i] = (struct value_count){vocab->value[i + 1], vocab->count[i + 1]};
    qsort(entries, count, sizeof *entries, by_count);
    int status = rebuild(vocab, entries, count, limit, least);
    free(entries);
    return status;
}

int ff__vocab_of(struct ff__vocab *vocab, const int64_t *value, uint32_t size) {
    int status = 0;
    memset(vocab, 0, sizeof *vocab);
    for (uint32_t i = 0; i < size && !status; i++)
        status = append(vocab, value[i], 0);
    if (status)
        ff__vocab_fini(vocab);
    return status;
}
