/* What learns online: tables of contexts of several lengths (context.h), and what it is compared
 * with: the last value after the same code and array; contexts of fixed lengths, remembered exactly
 * and without bound, the longest known one being believed. */
#include "learn/train/online.h"

#include "base/grow.h"

#include <stdlib.h>

/* ---- context ---- */

#define BITS 13u /* 8192 contexts a table, 768 KiB in all; ours */

struct bounded {
    struct ff__page_context context;
    void *memory;
};

static void release_context(void *self) {
    struct bounded *bounded = self;
    free(bounded->memory);
    free(bounded);
}

static void *make_context(const struct ff__online_type *type) {
    struct bounded *bounded = calloc(1, sizeof *bounded);
    (void)type;
    if (!bounded)
        return NULL;
    bounded->memory = calloc(1, ff__context_size(BITS));
    if (!bounded->memory) {
        free(bounded);
        return NULL;
    }
    ff__page_context_start(&bounded->context, bounded->memory, BITS);
    return bounded;
}

static union ff__online_keys keys_context(const void *self, const struct ff__page_history *history,
                                          const struct ff__access *access, uint32_t stream) {
    const struct bounded *bounded = self;
    (void)stream;
    return (union ff__online_keys){.page =
                                       ff__page_context_keys(&bounded->context, history, access)};
}

static bool look_context(const void *self, const union ff__online_keys *keys, int64_t *value) {
    struct ff__context_guess guess;
    if (!ff__page_context_look(&((const struct bounded *)self)->context, &keys->page, &guess))
        return false;
    *value = guess.value;
    return true;
}

static int teach_context(void *self, const union ff__online_keys *keys, int64_t value) {
    ff__page_context_teach(&((struct bounded *)self)->context, &keys->page, value);
    return 0;
}

/* ---- exact contexts ---- */

struct follower {
    int64_t value;
    uint32_t votes;
};

struct exact {
    const struct ff__online_type *type;
    struct ff__map map; /* key -> its follower's number */
    struct follower *followers;
    uint32_t count;
};

static void release_exact(void *self) {
    struct exact *exact = self;
    ff__map_fini(&exact->map);
    free(exact->followers);
    free(exact);
}

static void *make_exact(const struct ff__online_type *type) {
    struct exact *exact = calloc(1, sizeof *exact);
    if (exact)
        exact->type = type;
    return exact;
}

static union ff__online_keys keys_orders(const void *self, const struct ff__page_history *history,
                                         const struct ff__access *access, uint32_t stream) {
    const struct ff__online_type *type = ((const struct exact *)self)->type;
    const struct ff__recent *tokens = &history->tokens;
    union ff__online_keys keys;
    (void)access;
    (void)stream;
    for (uint32_t i = 0; i < type->count; i++) {
        keys.of[i] = type->lengths[i];
        for (uint32_t back = 1; back <= type->lengths[i]; back++)
            keys.of[i] =
                ff__hash_word(keys.of[i] ^ tokens->value[(tokens->count - back) % FF__RECENT]);
    }
    return keys;
}

/* Of any stream, and of this one. */
static union ff__online_keys keys_last(const void *self, const struct ff__page_history *history,
                                       const struct ff__access *access, uint32_t stream) {
    uint64_t code = ff__hash_word((uint64_t)access->pc << 16 | access->array);
    (void)self;
    (void)history;
    return (union ff__online_keys){.of = {code, ff__hash_word(code + stream + 1)}};
}

static bool look_exact(const void *self, const union ff__online_keys *keys, int64_t *value) {
    const struct exact *exact = self;
    uint32_t number;
    for (uint32_t t = exact->type->count; t-- > 0;)
        if (ff__map_get(&exact->map, keys->of[t], &number)) {
            *value = exact->followers[number].value;
            return true;
        }
    return false;
}

static int add(struct exact *exact, uint64_t key, int64_t value) {
    int status = ff__grow(&exact->followers, exact->count, sizeof *exact->followers);
    if (status)
        return status;
    exact->followers[exact->count] = (struct follower){value, 1};
    return ff__map_put(&exact->map, key, exact->count++);
}

/* The value that came most often, about (Boyer and Moore's vote). */
static int teach_orders(void *self, const union ff__online_keys *keys, int64_t value) {
    struct exact *exact = self;
    uint32_t number;
    int status = 0;
    for (uint32_t t = 0; t < exact->type->count && !status; t++) {
        if (!ff__map_get(&exact->map, keys->of[t], &number)) {
            status = add(exact, keys->of[t], value);
            continue;
        }
        struct follower *follower = &exact->followers[number];
        if (follower->value == value)
            follower->votes++;
        else if (follower->votes > 0)
            follower->votes--;
        else
            *follower = (struct follower){value, 1};
    }
    return status;
}

static int teach_last(void *self, const union ff__online_keys *keys, int64_t value) {
    struct exact *exact = self;
    uint32_t number;
    int status = 0;
    for (uint32_t t = 0; t < exact->type->count && !status; t++) {
        if (ff__map_get(&exact->map, keys->of[t], &number))
            exact->followers[number].value = value;
        else
            status = add(exact, keys->of[t], value);
    }
    return status;
}

/* ---- the types ---- */

const struct ff__online_type ff__online_context = {
    .name = "context",
    .summary = "tables of contexts of several lengths, the one believed that was right most often",
    .make = make_context,
    .release = release_context,
    .keys = keys_context,
    .look = look_context,
    .teach = teach_context,
};

const struct ff__online_type ff__online_last = {
    .name = "last",
    .summary = "what came the last time after the same PC and array",
    .count = 2,
    .make = make_exact,
    .release = release_exact,
    .keys = keys_last,
    .look = look_exact,
    .teach = teach_last,
};

#define ORDER(number, ...)                                                                         \
    const struct ff__online_type ff__online_order##number = {                                      \
        .name = "order-" #number,                                                                  \
        .summary = "what mostly came after the same " #number " accesses, with back-off",          \
        .lengths = {__VA_ARGS__},                                                                  \
        .count = sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),                             \
        .make = make_exact,                                                                        \
        .release = release_exact,                                                                  \
        .keys = keys_orders,                                                                       \
        .look = look_exact,                                                                        \
        .teach = teach_orders,                                                                     \
    }

ORDER(1, 1);
ORDER(2, 1, 2);
ORDER(12, 1, 2, 12);
ORDER(29, 1, 2, 12, 29);
