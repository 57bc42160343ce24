#include "policy/uvmsmart/pattern.h"

#include "base/leaves.h"

static struct ff__pattern_block *at(const struct ff__pattern *pattern, uint32_t block) {
    return (struct ff__pattern_block *)(pattern->blocks + (size_t)block * pattern->stride);
}

void ff__pattern_launch(struct ff__pattern *pattern, const struct ff_launch_event *event) {
    pattern->kernel += event->begins;
}

void ff__pattern_arrival(struct ff__pattern *pattern, const struct ff_view *view, uint32_t block,
                         const struct ff_mask *pages) {
    uint32_t first = view->ranges[view->blocks[block].range].first_block;
    struct ff__pattern_block *own = at(pattern, block), *range = at(pattern, first);
    uint32_t leaves = ff__leaves_of(pages), base = (block - first) * FF__BLOCK_LEAVES;
    if (!leaves)
        return;
    bool goes_on = range->kernel == pattern->kernel;
    pattern->irregular |= goes_on && base + (uint32_t)__builtin_ctz(leaves) < range->last;
    pattern->repeated |= (own->came & leaves) != 0;
    own->came |= leaves;
    range->kernel = pattern->kernel;
    range->last = base + 31 - (uint32_t)__builtin_clz(leaves);
}

void ff__pattern_forget(struct ff__pattern *pattern, uint32_t block) {
    *at(pattern, block) = (struct ff__pattern_block){0};
}
