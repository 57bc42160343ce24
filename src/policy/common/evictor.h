/* How eviction policies name victims; and the two parameters that UVMSmart's have.
 *
 * UVMSmart's policies know about accesses where the backend shows them; elsewhere, arrivals are all
 * that they see. An arrival counts as a use in any case. Where 2 MiB are wanted, what they name
 * costs the whole block, and where 64 KiB are, the whole leaf. */
#ifndef FF_POLICY_COMMON_EVICTOR_H
#define FF_POLICY_COMMON_EVICTOR_H

#include <farfault/policy.h>

/* The first rows of each such policy's table, in this order. UVMSmart:
 * -reserve_accessed_page_percent and -percentage_of_free_page_buffer. Nothing but reserved units is
 * named only when there is nothing else. */
enum ff__evictor_param { FF__PARAM_RESERVE, FF__PARAM_BUFFER, FF__EVICTOR_PARAMS };
#define FF__EVICTOR_ROWS                                                                           \
    [FF__PARAM_RESERVE] = {"reserve", FF_PARAM_INT,                                                \
                           0,         0,                                                           \
                           99,        "percent of the eviction order's cold end to spare"},        \
    [FF__PARAM_BUFFER] = {                                                                         \
        "buffer", FF_PARAM_INT, 0, 0, 99, "percent of device memory to keep free by pre-eviction"}

extern const struct ff_param ff__evictor_params[FF__EVICTOR_PARAMS + 1];

/* The head of such a policy's state. */
struct ff__evictor {
    uint32_t tier, reserve, buffer;
};

/* -EINVAL: more units than an order has numbers for. */
int ff__evictor_start(struct ff__evictor *evictor, const struct ff_policy_env *env,
                      uint32_t units_of_block);

/* The hook. */
uint64_t ff__evictor_reserve(void *state, const struct ff_view *view);

/* An answer in the making. */
struct ff__naming {
    const struct ff_view *view;
    const struct ff_evict_request *request;
    struct ff_victim_list *victims;
    uint64_t named; /* pages; where 2 MiB are wanted, enough are never named: the engine takes the
                       first block that can go, and the others are second choices */
    bool full;
};

static inline struct ff__naming ff__naming_of(const struct ff_view *view,
                                              const struct ff_evict_request *request,
                                              struct ff_victim_list *victims) {
    return (struct ff__naming){view, request, victims, 0, victims->capacity == 0};
}

static inline bool ff__naming_done(const struct ff__naming *naming) {
    return naming->full ||
           (naming->request->granule < FF_BLOCK_PAGES && naming->named >= naming->request->pages);
}

/* Whether single pages leave: just what is named, and of a block for itself, too. Where memory is
 * in larger units, a block that is named leaves as a whole, or by the leaf. */
static inline bool ff__names_pages(const struct ff_view *view) {
    return view->unit == 1;
}

/* Whether the block can leave, which does not do so for itself. */
static inline bool ff__may_name(const struct ff__naming *naming, uint32_t block) {
    return (block != naming->request->for_block || ff__names_pages(naming->view)) &&
           ff_view_evictable(naming->view, naming->request->tier, block);
}

/* What is to be named of the block for these pages. */
static inline struct ff_mask ff__to_name(const struct ff__naming *naming, uint32_t block,
                                         const struct ff_mask *pages) {
    const struct ff_mask *resident = ff_view_resident(naming->view, naming->request->tier, block);
    return ff__names_pages(naming->view) ? ff_mask_and(pages, resident) : *resident;
}

/* Whether pages of the block are missing, where single pages leave. */
static inline bool ff__is_in_part(const struct ff__naming *naming, uint32_t block) {
    return ff__names_pages(naming->view) &&
           ff_mask_count(ff_view_resident(naming->view, naming->request->tier, block)) <
               naming->view->blocks[block].page_count;
}

/* Names these resident pages of a block. */
void ff__name(struct ff__naming *naming, uint32_t block, const struct ff_mask *pages);

#endif
