/* Predictors that learn one access at a time, compared with the networks on the same samples.
 *
 * They are asked what a network is asked: the class of the access `distance` accesses later in the
 * same stream. They take the accesses in the order of the program, all streams as they come. */
#ifndef FF_LEARN_TRAIN_ONLINE_H
#define FF_LEARN_TRAIN_ONLINE_H

#include "learn/dataset.h"
#include "learn/train/page_context.h"
#include "learn/train/tally.h"

#define FF__ONLINE_ORDERS 4u /* contexts of a type with exact ones, at most */

/* A context: of tables of contexts, or exact ones. */
union ff__online_keys {
    struct ff__page_keys page;
    uint64_t of[FF__ONLINE_ORDERS];
};

struct ff__online_type {
    const char *name, *summary;
    /* Accesses of each exact context, shortest first. */
    uint32_t lengths[FF__ONLINE_ORDERS], count;
    /* NULL: no memory. */
    void *(*make)(const struct ff__online_type *type);
    void (*release)(void *self);
    /* The context after an access, which the history has. */
    union ff__online_keys (*keys)(const void *self, const struct ff__page_history *history,
                                  const struct ff__access *access, uint32_t stream);
    /* The value predicted there. False: none. */
    bool (*look)(const void *self, const union ff__online_keys *keys, int64_t *value);
    /* The value that came. 0 or -ENOMEM. */
    int (*teach)(void *self, const union ff__online_keys *keys, int64_t value);
};

extern const struct ff__online_type ff__online_context, ff__online_last, ff__online_order1,
    ff__online_order2, ff__online_order12, ff__online_order29;

/* The types; NULL past the end. */
const struct ff__online_type *ff__online_type_at(unsigned index);
const struct ff__online_type *ff__online_type_find(const char *name);

/* Learns from the samples for training, then is scored on at most `limit` of those for testing, the
 * same as a network's. `goes_on`: it learns from these, too, each when its access has come, as a
 * network that is fine-tuned. The corpus is the one that the data set was built from. score->top10
 * is NAN. 0 or -ENOMEM. */
int ff__online_score(const struct ff__online_type *type, const struct ff__corpus *corpus,
                     const struct ff__dataset *dataset, bool goes_on, uint32_t limit,
                     struct ff__score *score);

#endif
