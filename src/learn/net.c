#include "learn/net.h"

#include "learn/hlsh.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct ff__net_type *ff__net_type_find(ff__net_types types, const char *name) {
    while (*types && strcmp((*types)->name, name) != 0)
        types++;
    return *types;
}

/* Section 5.4 of the paper: the largest class's share of all. */
static bool converged(const struct ff__vocab *classes) {
    uint64_t most = 0, all = 0;
    for (uint32_t i = 0; i < classes->size; i++) {
        all += classes->count[i];
        most = i != FF__ESCAPE && classes->count[i] > most ? classes->count[i] : most;
    }
    return all > 0 && (double)most >= FF__CONVERGED * (double)all;
}

struct ff__shape ff__shape_of(const struct ff__features *features) {
    struct ff__shape shape = {.classes = features->classes.size,
                              .converged = converged(&features->classes)};
    for (uint32_t f = 0; f < FF__FEATURES; f++)
        shape.ids[f] = ff__feature_ids(features, (enum ff__feature)f);
    return shape;
}

static float *floats(size_t count) {
    float *all = aligned_alloc(64, (count * sizeof *all + 64) / 64 * 64);
    if (all)
        memset(all, 0, count * sizeof *all);
    return all;
}

int ff__net_init(struct ff__net *net, const struct ff__net_type *type,
                 const struct ff__shape *shape, uint32_t capacity, uint64_t seed) {
    struct ff__random random = ff__random_seeded(seed);
    *net = (struct ff__net){
        .type = type, .shape = *shape, .capacity = capacity, .quantized = type->quantized};
    net->param_count = type->params(type, shape);
    net->params = floats(net->param_count);
    net->grads = floats(net->param_count);
    net->work = floats(type->work(type, shape, capacity));
    if (!net->params || !net->grads || !net->work) {
        ff__net_fini(net);
        return -ENOMEM;
    }
    type->init(net, &random);
    return 0;
}

void ff__net_fini(struct ff__net *net) {
    free(net->params);
    free(net->grads);
    free(net->work);
    memset(net, 0, sizeof *net);
}

void ff__net_uniform(float *w, size_t count, float most, struct ff__random *random) {
    for (size_t i = 0; i < count; i++) {
        float unit = (float)(ff__random_next(random) >> 40) / (float)(1 << 24);
        w[i] = (2 * unit - 1) * most;
    }
}

void ff__net_fill(float *w, size_t in, size_t out, struct ff__random *random) {
    ff__net_uniform(w, in * out, sqrtf(6 / (float)(in + out)), random);
}
