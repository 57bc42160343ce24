/* Launches, as the runtime that starts kernels announces them.
 *
 * A launch is not worth system calls, which the lock costs (base/signals.h): unless policies have
 * to hear of it at once, the pipeline is left news of it, which it takes in before the next
 * fault. */
#include "runtime/predicted.h"
#include "runtime/ranges.h"

#include "base/signals.h"

#include <stdlib.h>

#define FEW 16u /* operands that need no allocation */

/* A launch as it was announced, copied from memory that may be managed: nothing of it faults any
 * more. */
struct announced {
    struct ff__launch launch; /* without operands */
    struct ff__moved_name name;
    uint64_t now_ns;
    size_t count; /* of pointers */
    const void *pointers[FEW];
    uint8_t strides[FEW];
    struct more *more; /* NULL: all is above */
};

/* In their place, of a launch with more operands. */
struct more {
    const void **pointers;
    uint8_t *strides;
    struct ff_operand operands[];
};

static struct more *make_more(size_t count) {
    size_t each = sizeof(struct ff_operand) + sizeof(void *) + sizeof(uint8_t);
    struct more *more = malloc(sizeof *more + count * each);
    if (!more)
        return NULL;
    more->pointers = (const void **)(void *)(more->operands + count);
    more->strides = (uint8_t *)(more->pointers + count);
    return more;
}

/* Without memory for all, only a few operands are told. */
static void copy_operands(struct announced *it, const void *const *pointers, const uint8_t *strides,
                          size_t count) {
    it->more = count > FEW ? make_more(count) : NULL;
    it->count = it->more || count <= FEW ? count : FEW;
    const void **to = it->more ? it->more->pointers : it->pointers;
    uint8_t *stride = it->more ? it->more->strides : it->strides;
    for (size_t i = 0; i < it->count; i++) {
        to[i] = pointers[i];
        stride[i] = strides ? strides[i] : FF_STRIDE_UNKNOWN;
    }
}

/* ---- taking in; the pipeline's lock is held ---- */

/* The ranges of the kernel's pointers, each with its home on the tier; returns how many there
 * are. */
static uint32_t find_operands(struct ff_context *context, const struct announced *it,
                              uint32_t kernel, struct ff_operand *operands, uint64_t *pages) {
    const void *const *pointers = it->more ? it->more->pointers : it->pointers;
    const uint8_t *strides = it->more ? it->more->strides : it->strides;
    struct ff__span range;
    uint32_t found = 0;
    for (size_t i = 0; i < it->count; i++) {
        if (!ff__range_find_locked(context, pointers[i], &range))
            continue;
        *pages += range.page_count;
        ff__moved_use(range.allocation, kernel, strides[i]);
        ff__context_set_home_locked(context, &range, it->launch.tier);
        operands[found++] = (struct ff_operand){/* nobody has said what is read and what written */
                                                .range = range.range,
                                                .reads = true,
                                                .writes = true,
                                                .stride = strides[i]};
    }
    return found;
}

/* Fills in the launch, whose operands lie in `few` if they are few. */
static void describe(struct ff_context *context, const struct announced *it,
                     struct ff_operand few[FEW], struct ff__launch *launch) {
    FF__ASSERT(ff__lock_is_held(&context->pipeline.lock));
    struct ff_operand *operands = it->more ? it->more->operands : few;
    *launch = it->launch;
    if (!launch->begins)
        return;
    launch->kernel = ff__moved_kernel(context, &it->name);
    launch->operands = operands;
    launch->operand_count = find_operands(context, it, launch->kernel, operands, &launch->demanded);
    ff__moved_launch(context, launch->kernel, launch->demanded * FF_PAGE_SIZE);
}

static void take(void *user, const void *piece) {
    struct ff_context *context = user;
    const struct announced *it = piece;
    struct ff_operand few[FEW];
    struct ff__launch launch;
    describe(context, it, few, &launch);
    ff__pipeline_launch_locked(&context->pipeline, &launch, it->now_ns);
}

struct ff__news ff__context_launch_news(struct ff_context *context) {
    return (struct ff__news){context, sizeof(struct announced), take};
}

/* ---- announcing ---- */

/* A launch that can be left as news; else NULL: with several devices the home of its operands may
 * change, and recordings of touches clear the devices first. */
static struct announced *claim(struct ff_context *context, size_t operand_count) {
    bool can_wait = !context->recorder && context->config.devices == 1 && operand_count <= FEW;
    struct announced *it = can_wait ? ff__pipeline_claim_news(&context->pipeline) : NULL;
    if (it)
        it->now_ns = context->backend->now(context->self);
    return it;
}

/* With the lock, and one pair of system calls for all. */
static void begin(struct ff_context *context, const struct announced *it, uint32_t device,
                  const struct ff_launch *what) {
    struct ff_operand few[FEW];
    struct ff__launch launch;
    ff__signals_hold();
    ff__pipeline_lock(&context->pipeline);
    describe(context, it, few, &launch);
    ff__pipeline_unlock(&context->pipeline);
    ff__context_record_launch(context, device, launch.identity, what);
    ff__pipeline_launch(&context->pipeline, &launch);
    ff__signals_release();
}

void ff__predicted_begin(struct ff_context *context, uint32_t device, uint64_t identity,
                         const struct ff_launch *what, struct ff__predicted *predicted) {
    struct announced own, *left, *it;
    if (ff__context_is_inherited(context) || device >= context->config.devices)
        return;
    ff__hold_pass(&context->share.hold);
    if (predicted)
        predicted->begins(predicted);
    left = claim(context, what->operand_count);
    it = left ? left : &own;
    it->launch = (struct ff__launch){.tier = ff_tier_of_device(device),
                                     .begins = true,
                                     .identity = identity,
                                     .prediction = predicted ? &predicted->what : NULL};
    ff__moved_name(&it->name, what->name);
    copy_operands(it, what->operands, what->strides, what->operand_count);
    if (left) {
        ff__inbox_put(&context->pipeline.inbox, left);
        return;
    }
    begin(context, it, device, what);
    free(it->more);
}

void ff_launch_begin(struct ff_context *context, uint32_t device, uint64_t identity,
                     const char *name, const void *const *operands, const uint8_t *strides,
                     size_t operand_count) {
    const struct ff_launch what = {
        .name = name, .operands = operands, .strides = strides, .operand_count = operand_count};
    ff__predicted_begin(context, device, identity, &what, NULL);
}

/* The end of a launch is left as news, too, unless somebody waits to hear what it has faulted on.
 */
void ff__predicted_end(struct ff_context *context, uint32_t device, uint64_t identity,
                       struct ff__predicted *predicted) {
    const struct ff__launch launch = {.tier = ff_tier_of_device(device),
                                      .identity = identity,
                                      .prediction = predicted ? &predicted->what : NULL};
    if (ff__context_is_inherited(context) || device >= context->config.devices)
        return;
    struct announced *left = predicted ? NULL : claim(context, 0);
    if (left) {
        left->launch = launch;
        ff__inbox_put(&context->pipeline.inbox, left);
        return;
    }
    ff__pipeline_launch(&context->pipeline, &launch);
    ff__context_record_launch(context, device, identity, NULL);
    if (predicted)
        predicted->ends(predicted);
}

void ff_launch_end(struct ff_context *context, uint32_t device, uint64_t identity) {
    ff__predicted_end(context, device, identity, NULL);
}
