#include "policy/forest/profile.h"

#include "base/error.h"

#include <errno.h>

#define RECORDS      65536u /* (kernel, range) that are known, at most; a power of two; ours */
#define PROBES       16u    /* places of the table that are looked at for one; ours */

#define PAGES(bytes) ((uint32_t)((bytes) / FF_PAGE_SIZE))

const struct ff_param ff__profile_params[FF__PROFILE_PARAMS + 1] = {FF__PROFILE_ROWS};

/* By class. */
static const struct {
    uint32_t leaf_pages, span_pages;
} shapes[FF__CLASSES] = {
    [FF__CLASS_LOW_COVERAGE] = {PAGES(64 << 10), PAGES(2 << 20)},
    [FF__CLASS_LINEAR] = {PAGES(256 << 10), PAGES(4 << 20)},
    [FF__CLASS_HIGH_INTENSITY] = {PAGES(64 << 10), PAGES(512 << 10)},
    [FF__CLASS_LOW_INTENSITY] = {PAGES(16 << 10), PAGES(512 << 10)},
};

static bool is_power_of_two(uint32_t number) {
    return number > 0 && (number & (number - 1)) == 0;
}

/* A size that is not given is that of the default tree. */
static int fix_shape(struct ff__profile *profile, const struct ff_policy_env *env) {
    uint32_t leaf = PAGES(env->params[FF__PROFILE_LEAF]),
             span = PAGES(env->params[FF__PROFILE_TREE]);
    if (env->params[FF__PROFILE_LEAF] == 0 && env->params[FF__PROFILE_TREE] == 0)
        return 0;
    if (env->params[FF__PROFILE_LEAF] == 0)
        leaf = shapes[FF__CLASS_LOW_COVERAGE].leaf_pages;
    if (env->params[FF__PROFILE_TREE] == 0)
        span = shapes[FF__CLASS_LOW_COVERAGE].span_pages;
    if (!is_power_of_two(leaf) || !is_power_of_two(span) || leaf > span)
        return ff__fail(env->error, -EINVAL,
                        "leaf and tree must be powers of two of at least 4 KiB, a leaf no larger "
                        "than a tree");
    profile->fixed = (struct ff__tree_shape){leaf, span, profile->threshold, false};
    return 0;
}

size_t ff__profile_arena_size(const int64_t *params) {
    (void)params;
    return RECORDS * sizeof(struct ff__profile_record);
}

int ff__profile_start(struct ff__profile *profile, const struct ff_policy_env *env, size_t stride) {
    const int64_t *params = env->params;
    profile->ranges = env->range_state;
    profile->stride = stride;
    profile->records = env->arena;
    profile->limits = (struct ff__class_limits){(uint32_t)params[FF__PROFILE_LINEAR],
                                                (uint32_t)params[FF__PROFILE_COVERAGE],
                                                (uint32_t)params[FF__PROFILE_INTENSITY]};
    profile->threshold = (uint32_t)params[FF__PROFILE_THRESHOLD];
    profile->rounds = (uint32_t)params[FF__PROFILE_ROUNDS];
    profile->record = params[FF__PROFILE_RECORD] != 0;
    return fix_shape(profile, env);
}

struct ff__tree_shape ff__profile_shape(const struct ff__profile *profile, uint32_t range) {
    uint8_t pattern = ff__profile_range(profile, range)->pattern;
    if (profile->fixed.span_pages > 0)
        return profile->fixed;
    return (struct ff__tree_shape){shapes[pattern].leaf_pages, shapes[pattern].span_pages,
                                   profile->threshold, false};
}

/* ---- records ---- */

/* The record of a kernel and a range, or a free place for it; NULL: there is neither. */
static struct ff__profile_record *find_record(const struct ff__profile *profile, uint32_t launch,
                                              uint32_t serial) {
    uint64_t mixed = ((uint64_t)launch << 32 | serial) * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t at = (uint32_t)(mixed >> 32);
    for (uint32_t i = 0; i < PROBES; i++) {
        struct ff__profile_record *record = &profile->records[(at + i) % RECORDS];
        if (record->serial == 0 || (record->serial == serial && record->launch == launch))
            return record;
    }
    return NULL;
}

static void count_launch(struct ff__profile_record *record) {
    record->launches = (uint16_t)(record->launches + (record->launches < UINT16_MAX));
}

/* What is no longer true of the range under this kernel is replaced. */
static void record_class(struct ff__profile *profile, uint32_t range,
                         const struct ff__profile_range *known) {
    struct ff__profile_record *record = find_record(profile, known->launch, known->serial);
    if (!record)
        return;
    profile->record_count += record->serial == 0;
    *record = (struct ff__profile_record){.launch = known->launch,
                                          .serial = known->serial,
                                          .range = range,
                                          .pattern = known->pattern,
                                          .rounds = known->rounds,
                                          .launches = record->launches};
    count_launch(record);
}

/* True: an earlier launch of the kernel has told. */
static bool recall_class(const struct ff__profile *profile, struct ff__profile_range *known) {
    struct ff__profile_record *record =
        profile->record ? find_record(profile, known->launch, known->serial) : NULL;
    if (!record || record->serial == 0)
        return false;
    known->pattern = record->pattern;
    known->found = true;
    count_launch(record);
    return true;
}

/* ---- ranges and launches ---- */

void ff__profile_range_added(void *state, const struct ff_view *view, uint32_t range) {
    (void)view;
    struct ff__profile *profile = state;
    *ff__profile_range(profile, range) =
        (struct ff__profile_range){.live = true, .serial = ++profile->serials};
    if (range >= profile->range_end)
        profile->range_end = range + 1;
}

void ff__profile_range_freed(void *state, uint32_t range) {
    *ff__profile_range(state, range) = (struct ff__profile_range){0};
}

static void advise_sampling(const struct ff_view *view, uint32_t range, uint32_t launch,
                            uint32_t tier, bool wanted, struct ff_advice_list *advice) {
    const struct ff_advice sample = {.action = FF_SAMPLE,
                                     .block = view->ranges[range].first_block,
                                     .tier = tier,
                                     .launch = launch,
                                     .until_ns = wanted ? UINT64_MAX : 0};
    ff_advice_add(advice, &sample);
}

static void start_range(const struct ff__profile *profile, const struct ff_view *view,
                        uint32_t range, const struct ff_launch_event *event,
                        struct ff_advice_list *advice) {
    struct ff__profile_range *known = ff__profile_range(profile, range);
    if (!known->live)
        return;
    known->launch = event->launch;
    known->pattern = FF__CLASS_LOW_COVERAGE;
    known->rounds = 0;
    known->found = false;
    if (!recall_class(profile, known))
        advise_sampling(view, range, event->launch, event->tier, true, advice);
}

/* A launch whose ranges are not known may use all that there are. */
void ff__profile_on_launch(void *state, const struct ff_view *view,
                           const struct ff_launch_event *event, struct ff_advice_list *advice) {
    struct ff__profile *profile = state;
    bool none = profile->fixed.span_pages > 0 || !event->begins;
    for (uint32_t i = 0; !none && event->operands && i < event->operand_count; i++)
        start_range(profile, view, event->operands[i].range, event, advice);
    for (uint32_t range = 0; !none && !event->operands && range < profile->range_end; range++)
        start_range(profile, view, range, event, advice);
}

/* ---- samples ---- */

static enum ff__class classify(const struct ff__profile *profile, const struct ff_view *view,
                               const struct ff_sample_round *round) {
    const struct ff_range *range = &view->ranges[round->range];
    const struct ff__class_range pages = {.first_block = range->first_block,
                                          .lead = view->blocks[range->first_block].lead,
                                          .page_count = range->page_count};
    return ff__classify(&profile->limits, &pages, round->items, round->count);
}

bool ff__profile_samples(struct ff__profile *profile, const struct ff_view *view,
                         const struct ff_sample_round *round, struct ff_advice_list *advice,
                         struct ff__tree_shape *before) {
    struct ff__profile_range *known = ff__profile_range(profile, round->range);
    bool late = !known->live || known->found || known->launch != round->launch;
    if (late || profile->fixed.span_pages > 0)
        return false;
    *before = ff__profile_shape(profile, round->range);
    known->pattern = (uint8_t)classify(profile, view, round);
    known->rounds++;
    if (known->pattern == FF__CLASS_LOW_COVERAGE && known->rounds < profile->rounds)
        return false;
    known->found = true;
    record_class(profile, round->range, known);
    advise_sampling(view, round->range, round->launch, round->tier, false, advice);
    return known->pattern != FF__CLASS_LOW_COVERAGE;
}
