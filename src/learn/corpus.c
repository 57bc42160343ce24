#include "learn/corpus.h"

#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 65536u
#define STREAM_BITS    16384u

static const char *const names[FF__CLUSTERS] = {"sm+warp", "sm", "pc", "kernel", "cta", "warp"};

const char *ff__cluster_name(enum ff__cluster by) {
    return (unsigned)by < FF__CLUSTERS ? names[by] : NULL;
}

static uint64_t key_in_program(enum ff__cluster by, const struct ff__access *access) {
    switch (by) {
    case FF__CLUSTER_SM:
        return access->sm;
    case FF__CLUSTER_PC:
        return access->pc;
    case FF__CLUSTER_KERNEL:
        return access->launch;
    case FF__CLUSTER_CTA:
        return (uint64_t)access->launch << 32 | access->cta;
    case FF__CLUSTER_WARP:
        return access->warp;
    default:
        return (uint64_t)access->sm << 16 | access->warp;
    }
}

/* A number of the stream that the access belongs to, the same in every run. */
static uint64_t cluster_key(enum ff__cluster by, const struct ff__access *access) {
    return key_in_program(by, access) ^ (uint64_t)access->program << 48;
}

void ff__corpus_init(struct ff__corpus *corpus, enum ff__cluster by, uint64_t limit) {
    *corpus = (struct ff__corpus){.by = by, .limit = limit, .threshold = UINT64_MAX};
}

void ff__corpus_fini(struct ff__corpus *corpus) {
    free(corpus->accesses);
    free(corpus->first);
    memset(corpus, 0, sizeof *corpus);
}

/* Whether the stream is one of those kept: its hash decides. */
static bool kept(const struct ff__corpus *corpus, const struct ff__access *access) {
    return ff__hash_word(cluster_key(corpus->by, access) + 1) <= corpus->threshold;
}

/* Keeps half of the streams. */
static void thin(struct ff__corpus *corpus) {
    uint64_t count = 0;
    corpus->threshold /= 2;
    for (uint64_t i = 0; i < corpus->count; i++)
        if (kept(corpus, &corpus->accesses[i]))
            corpus->accesses[count++] = corpus->accesses[i];
    corpus->count = count;
}

/* About how many streams there are: bits that their hashes set. */
static uint64_t count_streams(const struct ff__corpus *corpus) {
    uint64_t seen[STREAM_BITS / 64] = {0}, streams = 0;
    for (uint64_t i = 0; i < corpus->count; i++) {
        uint64_t bit = ff__hash_word(cluster_key(corpus->by, &corpus->accesses[i])) % STREAM_BITS;
        seen[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    for (uint32_t i = 0; i < STREAM_BITS / 64; i++)
        streams += (uint64_t)__builtin_popcountll(seen[i]);
    return streams;
}

/* Forgets the older half. If what is left of streams is too short, there are too many of them; if
 * it is far longer than asked for, there is room for others again: a program has phases, and may
 * run for days. */
static void renew(struct ff__corpus *corpus) {
    uint64_t older = corpus->count - corpus->count / 2;
    corpus->count -= older;
    memmove(corpus->accesses, corpus->accesses + older, corpus->count * sizeof *corpus->accesses);
    uint64_t enough = count_streams(corpus) * corpus->latest;
    if (corpus->count < enough && corpus->threshold > 1)
        thin(corpus);
    else if (corpus->count > 4 * enough && corpus->threshold < UINT64_MAX)
        corpus->threshold = 2 * corpus->threshold + 1;
}

static int grow(struct ff__corpus *corpus) {
    uint64_t capacity = corpus->capacity ? 2 * corpus->capacity : CAPACITY_FIRST;
    struct ff__access *accesses = realloc(corpus->accesses, capacity * sizeof *accesses);
    if (!accesses)
        return -ENOMEM;
    corpus->accesses = accesses;
    corpus->capacity = capacity;
    return 0;
}

int ff__corpus_add(struct ff__corpus *corpus, const struct ff__access *access) {
    uint64_t time = corpus->seen++;
    if (!kept(corpus, access))
        return 0;
    if (corpus->count >= corpus->limit && corpus->latest)
        renew(corpus);
    else if (corpus->count >= corpus->limit && corpus->threshold > 1)
        thin(corpus);
    if (!kept(corpus, access))
        return 0;
    if (corpus->count == corpus->capacity && grow(corpus))
        return -ENOMEM;
    corpus->accesses[corpus->count] = *access;
    corpus->accesses[corpus->count++].time = time;
    return 0;
}

/* Numbers streams in the order of their first access; returns how many, or negative errno. */
static int64_t number_streams(const struct ff__corpus *corpus, uint32_t *of) {
    struct ff__map map = {0};
    uint32_t streams = 0;
    int status = 0;
    for (uint64_t i = 0; i < corpus->count && !status; i++) {
        uint64_t key = cluster_key(corpus->by, &corpus->accesses[i]);
        if (!ff__map_get(&map, key, &of[i])) {
            of[i] = streams++;
            status = ff__map_put(&map, key, of[i]);
        }
    }
    ff__map_fini(&map);
    return status ? status : (int64_t)streams;
}

/* A counting sort, which keeps the order inside a stream. */
static int group(struct ff__corpus *corpus, const uint32_t *of) {
    uint32_t streams = corpus->streams;
    uint64_t *first = calloc((size_t)streams + 2, sizeof *first);
    struct ff__access *grouped = malloc((corpus->count + 1) * sizeof *grouped);
    if (!first || !grouped) {
        free(first);
        free(grouped);
        return -ENOMEM;
    }
    for (uint64_t i = 0; i < corpus->count; i++)
        first[of[i] + 2]++;
    for (uint32_t s = 2; s < streams + 2; s++)
        first[s] += first[s - 1];
    for (uint64_t i = 0; i < corpus->count; i++)
        grouped[first[of[i] + 1]++] = corpus->accesses[i];
    free(corpus->accesses);
    corpus->accesses = grouped;
    corpus->capacity = corpus->count;
    corpus->first = first;
    return 0;
}

int ff__corpus_close(struct ff__corpus *corpus) {
    uint32_t *of = malloc((corpus->count + 1) * sizeof *of);
    if (!of)
        return -ENOMEM;
    int64_t streams = number_streams(corpus, of);
    corpus->streams = streams < 0 ? 0u : (uint32_t)streams;
    int status = streams < 0 ? (int)streams : group(corpus, of);
    free(of);
    return status;
}
