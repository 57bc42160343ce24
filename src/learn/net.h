/* A network: a type, a shape and its numbers. */
#ifndef FF_LEARN_NET_H
#define FF_LEARN_NET_H

#include "learn/dataset.h"
#include "learn/layers.h"

#include "base/random.h"

struct ff__shape {
    uint32_t classes;
    uint32_t ids[FF__FEATURES];
    bool converged; /* nearly all samples are of one class: hlsh's indicator, by data set */
};

struct ff__net;

/* How an hlsh network attends. */
enum ff__attends {
    FF__ATTENDS_HLSH, /* Algorithm 1 */
    FF__ATTENDS_FULL, /* every token has its own query and key */
    FF__ATTENDS_NOT,
};

struct ff__net_type {
    const char *name, *summary;
    bool quantized; /* four bits; the default */
    enum ff__attends attends;
    bool bypass_by_window; /* hlsh's indicator looks at each window, not at the data set */
    /* How it is trained unless something else is asked for; ours, the same for every program. */
    uint32_t batch, steps;
    float rate;
    /* How many floats there are of parameters, and of work space for batches of `capacity`. */
    size_t (*params)(const struct ff__net_type *type, const struct ff__shape *shape);
    size_t (*work)(const struct ff__net_type *type, const struct ff__shape *shape,
                   uint32_t capacity);
    void (*init)(struct ff__net *net, struct ff__random *random);
    /* logits [batch][classes] */
    void (*forward)(struct ff__net *net, const struct ff__batch *batch, float *logits);
    /* After the forward of the same batch: adds to net->grads. */
    void (*backward)(struct ff__net *net, const struct ff__batch *batch, const float *dlogits);
    /* After a forward: how much each token of a sample, a row, looks at each, in one head of the
     * first layer. NULL: not known. */
    void (*attention)(const struct ff__net *net, uint32_t sample, uint32_t head,
                      float weights[FF__WINDOW][FF__WINDOW]);
    uint32_t heads;
};

struct ff__net {
    const struct ff__net_type *type;
    struct ff__shape shape;
    uint32_t capacity; /* samples of a batch, at most */
    bool quantized;
    size_t param_count;
    float *params, *grads, *work;
};

/* Some types, and NULL at the end. */
typedef const struct ff__net_type *const *ff__net_types;

/* NULL: there is none of that name. */
const struct ff__net_type *ff__net_type_find(ff__net_types types, const char *name);

/* What a net over these features has; whether they converge is known if their classes were counted.
 */
struct ff__shape ff__shape_of(const struct ff__features *features);

/* 0 or -ENOMEM. */
int ff__net_init(struct ff__net *net, const struct ff__net_type *type,
                 const struct ff__shape *shape, uint32_t capacity, uint64_t seed);
void ff__net_fini(struct ff__net *net);

/* Uniform numbers with the variance that keeps activations as they are (Glorot, Bengio 2010). */
void ff__net_fill(float *w, size_t in, size_t out, struct ff__random *random);
void ff__net_uniform(float *w, size_t count, float most, struct ff__random *random);

#endif
