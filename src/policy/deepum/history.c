#include "policy/deepum/history.h"

#include <farfault/policy.h>

#include <string.h>

#define ANY (FF_NONE - 1) /* no ID that a launch has */

void ff__history_start(struct ff__history *history, void *memory, size_t size, bool falls_back) {
    size_t bucket = FF__HISTORY_BUCKET * sizeof(struct ff__record), count = 1;
    while (count * 2 * bucket <= size && count < UINT32_MAX / 2)
        count *= 2;
    *history = (struct ff__history){memory, 1, (uint32_t)count, 0, falls_back};
}

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static uint64_t hash_of(const uint32_t context[FF__CONTEXT]) {
    uint64_t hash = mix((uint64_t)context[0] << 32 | context[1]);
    return mix(hash ^ ((uint64_t)context[2] << 32 | context[3]));
}

static struct ff__record *bucket_of(const struct ff__history *history,
                                    const uint32_t context[FF__CONTEXT]) {
    uint64_t bucket = hash_of(context) & (history->bucket_count - 1);
    return &history->records[bucket * FF__HISTORY_BUCKET];
}

/* Twice as many buckets: each leaves some of its records to one behind the old ones. */
static void grow(struct ff__history *history) {
    size_t count = history->bucket_count;
    for (size_t i = 0; i < count * FF__HISTORY_BUCKET; i++) {
        struct ff__record *from = &history->records[i];
        if (from->when == 0 || !(hash_of(from->context) & count))
            continue;
        from[count * FF__HISTORY_BUCKET] = *from;
        from->when = 0;
    }
    history->bucket_count *= 2;
}

static bool is_after(const struct ff__record *record, const uint32_t context[FF__CONTEXT]) {
    return record->when != 0 && memcmp(record->context, context, sizeof record->context) == 0;
}

/* The context's record; NULL: none. */
static struct ff__record *find(const struct ff__history *history,
                               const uint32_t context[FF__CONTEXT]) {
    struct ff__record *bucket = bucket_of(history, context);
    for (uint32_t i = 0; i < FF__HISTORY_BUCKET; i++)
        if (is_after(&bucket[i], context))
            return &bucket[i];
    return NULL;
}

/* A free record of the context's bucket, or the oldest. */
static struct ff__record *oldest(const struct ff__history *history,
                                 const uint32_t context[FF__CONTEXT]) {
    struct ff__record *bucket = bucket_of(history, context), *found = bucket;
    for (uint32_t i = 1; i < FF__HISTORY_BUCKET; i++)
        if (bucket[i].when < found->when)
            found = &bucket[i];
    return found;
}

static void learn(struct ff__history *history, const uint32_t context[FF__CONTEXT], uint32_t next) {
    struct ff__record *record = find(history, context);
    if (!record) {
        while ((record = oldest(history, context))->when != 0 &&
               history->bucket_count < history->bucket_limit)
            grow(history);
        memcpy(record->context, context, sizeof record->context);
    }
    record->next = next;
    record->when = ++history->now;
}

static uint32_t predict(const struct ff__history *history, const uint32_t context[FF__CONTEXT]) {
    const struct ff__record *record = find(history, context);
    return record ? record->next : FF_NONE;
}

/* The running kernel alone, as what follows it whatever came before. */
static void shorten(const uint32_t context[FF__CONTEXT], uint32_t out[FF__CONTEXT]) {
    for (uint32_t i = 0; i + 1 < FF__CONTEXT; i++)
        out[i] = ANY;
    out[FF__CONTEXT - 1] = context[FF__CONTEXT - 1];
}

void ff__history_learn(struct ff__history *history, const uint32_t context[FF__CONTEXT],
                       uint32_t next) {
    uint32_t alone[FF__CONTEXT];
    shorten(context, alone);
    if (history->falls_back)
        learn(history, alone, next);
    learn(history, context, next);
}

uint32_t ff__history_predict(const struct ff__history *history,
                             const uint32_t context[FF__CONTEXT]) {
    uint32_t alone[FF__CONTEXT], next = predict(history, context);
    if (next != FF_NONE || !history->falls_back)
        return next;
    shorten(context, alone);
    return predict(history, alone);
}
