#include "policy/history.h"

#include <farfault/policy.h>

#include <string.h>

#define ANY (FF_NONE - 1) /* no ID that a launch has */

void ff__history_start(struct ff__history *history, void *memory, size_t size) {
    size_t bucket = FF__HISTORY_BUCKET * sizeof(struct ff__record), count = 1;
    while (count * 2 * bucket <= size && count < UINT32_MAX / 2)
        count *= 2;
    *history = (struct ff__history){memory, (uint32_t)(count - 1), 0};
}

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static struct ff__record *bucket_of(const struct ff__history *history,
                                    const uint32_t context[FF__CONTEXT]) {
    uint64_t hash = mix((uint64_t)context[0] << 32 | context[1]);
    hash = mix(hash ^ ((uint64_t)context[2] << 32 | context[3]));
    return &history->records[(hash & history->bucket_mask) * FF__HISTORY_BUCKET];
}

static bool is_after(const struct ff__record *record, const uint32_t context[FF__CONTEXT]) {
    return record->when != 0 && memcmp(record->context, context, sizeof record->context) == 0;
}

static void learn(struct ff__history *history, const uint32_t context[FF__CONTEXT], uint32_t next) {
    struct ff__record *bucket = bucket_of(history, context), *found = bucket;
    for (uint32_t i = 0; i < FF__HISTORY_BUCKET; i++) {
        if (is_after(&bucket[i], context) && bucket[i].next == next) {
            found = &bucket[i];
            break;
        }
        if (bucket[i].when < found->when)
            found = &bucket[i];
    }
    memcpy(found->context, context, sizeof found->context);
    found->next = next;
    found->when = ++history->now;
}

static uint32_t predict(const struct ff__history *history, const uint32_t context[FF__CONTEXT]) {
    const struct ff__record *bucket = bucket_of(history, context), *latest = NULL;
    for (uint32_t i = 0; i < FF__HISTORY_BUCKET; i++)
        if (is_after(&bucket[i], context) && (!latest || bucket[i].when > latest->when))
            latest = &bucket[i];
    return latest ? latest->next : FF_NONE;
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
    learn(history, alone, next);
    learn(history, context, next);
}

uint32_t ff__history_predict(const struct ff__history *history,
                             const uint32_t context[FF__CONTEXT]) {
    uint32_t alone[FF__CONTEXT], next = predict(history, context);
    if (next != FF_NONE)
        return next;
    shorten(context, alone);
    return predict(history, alone);
}
