#include "policy/forest/profile.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RECORDS      32768u /* (kernel, range) that are known, at most; ours */
#define PLACES       65536u /* of the hash table; a power of two */
#define PROBES       16u    /* places of the table that are looked at for one; ours */

#define PAGES(bytes) ((uint32_t)((bytes) / FF_PAGE_SIZE))

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
    return RECORDS * sizeof(struct ff__profile_record) + PLACES * sizeof(uint32_t);
}

int ff__profile_start(struct ff__profile *profile, const struct ff_policy_env *env, size_t stride) {
    const int64_t *params = env->params;
    profile->ranges = env->range_state;
    profile->stride = stride;
    profile->records = env->arena;
    profile->index = (uint32_t *)(void *)(profile->records + RECORDS);
    profile->limits = (struct ff__class_limits){
        (uint32_t)params[FF__PROFILE_LINEAR], (uint32_t)params[FF__PROFILE_COVERAGE],
        (uint32_t)params[FF__PROFILE_INTENSITY], params[FF__PROFILE_WITHIN] != 0,
        params[FF__PROFILE_ACCESSES] != 0};
    profile->threshold = (uint32_t)params[FF__PROFILE_THRESHOLD];
    profile->rounds = (uint32_t)params[FF__PROFILE_ROUNDS];
    profile->agree = (uint32_t)params[FF__PROFILE_AGREE];
    profile->keep = params[FF__PROFILE_KEEP] != 0;
    profile->record = params[FF__PROFILE_RECORD] != 0;
    profile->declared = params[FF__PROFILE_DECLARED] != 0;
    profile->similar = params[FF__PROFILE_SIMILAR] != 0;
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

static const char *const names[FF__CLASSES] = {
    [FF__CLASS_LOW_COVERAGE] = "low coverage, or no pattern",
    [FF__CLASS_LINEAR] = "linear",
    [FF__CLASS_HIGH_INTENSITY] = "high coverage, high intensity",
    [FF__CLASS_LOW_INTENSITY] = "high coverage, low intensity",
};

/* The record of a kernel and a range; NULL: there is none. Then *place is where its number can be
 * put, or NULL. */
static struct ff__profile_record *find_record(const struct ff__profile *profile, uint32_t launch,
                                              uint32_t serial, uint32_t **place) {
    uint64_t mixed = ((uint64_t)launch << 32 | serial) * UINT64_C(0x9E3779B97F4A7C15);
    for (uint32_t i = 0; i < PROBES; i++) {
        *place = &profile->index[((uint32_t)(mixed >> 32) + i) % PLACES];
        if (**place == 0)
            return NULL;
        struct ff__profile_record *record = &profile->records[**place - 1];
        if (record->serial == serial && record->launch == launch)
            return record;
    }
    *place = NULL;
    return NULL;
}

/* What is not true any more of the range under this kernel is replaced. */
static void record_class(struct ff__profile *profile, uint32_t range,
                         enum ff__class_source source) {
    const struct ff__profile_range *known = ff__profile_range(profile, range);
    uint32_t *place;
    struct ff__profile_record *record = find_record(profile, known->launch, known->serial, &place);
    if (!record && (!place || profile->record_count == RECORDS))
        return;
    if (!record) {
        record = &profile->records[profile->record_count++];
        *place = profile->record_count;
    }
    record->launch = known->launch;
    record->serial = known->serial;
    record->range = range;
    record->pattern = known->pattern;
    record->rounds = source == FF__SOURCE_RECORD ? record->rounds : known->rounds;
    record->launches[source]++;
}

static void set_class(struct ff__profile *profile, uint32_t range, uint8_t pattern,
                      enum ff__class_source source) {
    struct ff__profile_range *known = ff__profile_range(profile, range);
    known->pattern = pattern;
    known->found = true;
    profile->classes[source]++;
    record_class(profile, range, source);
}

/* Appends where classes came from; what gave none is left out. */
static void append_sources(char *text, size_t size, const uint64_t *counts) {
    static const char *const sources[FF__SOURCES] = {
        [FF__SOURCE_RECORD] = "recorded",
        [FF__SOURCE_SIMILAR] = "similar",
        [FF__SOURCE_DECLARED + FF_STRIDE_MODEL] = "declared by models",
        [FF__SOURCE_DECLARED + FF_STRIDE_HINT] = "declared by hints",
        [FF__SOURCE_DECLARED + FF_STRIDE_SOURCE] = "declared by sources"};
    for (uint32_t i = 0; i < FF__SOURCES; i++) {
        size_t length = strlen(text);
        if (sources[i] && counts[i] > 0)
            snprintf(text + length, size - length, ", %s %" PRIu64, sources[i], counts[i]);
    }
}

/* The last finding: how many of the ranges of all launches got a class, and from where. */
static void report_shares(const struct ff__profile *profile, struct ff_finding *finding) {
    *finding = (struct ff_finding){.launch = FF_NONE, .range = FF_NONE};
    snprintf(finding->text, sizeof finding->text,
             "%" PRIu64 " ranges of launches: profiled %" PRIu64, profile->uses,
             profile->classes[FF__SOURCE_PROFILE]);
    append_sources(finding->text, sizeof finding->text, profile->classes);
}

bool ff__profile_report(const void *state, uint32_t index, struct ff_finding *finding) {
    const struct ff__profile *profile = state;
    if (index == profile->record_count && profile->uses > 0) {
        report_shares(profile, finding);
        return true;
    }
    if (index >= profile->record_count)
        return false;
    const struct ff__profile_record *record = &profile->records[index];
    finding->launch = record->launch;
    finding->range = record->range;
    snprintf(finding->text, sizeof finding->text, "%s; launches: profiled %" PRIu64 " (%u rounds)",
             names[record->pattern], record->launches[FF__SOURCE_PROFILE], record->rounds);
    append_sources(finding->text, sizeof finding->text, record->launches);
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
                                     .ceases = !wanted};
    ff_advice_add(advice, &sample);
}

/* What is known without samples. */
static void guess_class(struct ff__profile *profile, uint32_t range,
                        const struct ff_operand *operand) {
    const struct ff__profile_range *known = ff__profile_range(profile, range);
    uint32_t *place;
    const struct ff__profile_record *record =
        profile->record ? find_record(profile, known->launch, known->serial, &place) : NULL;
    if (record)
        set_class(profile, range, record->pattern, FF__SOURCE_RECORD);
    else if (profile->declared && operand->stride != FF_STRIDE_UNKNOWN &&
             operand->stride < FF_STRIDES)
        set_class(profile, range, FF__CLASS_LINEAR, FF__SOURCE_DECLARED + operand->stride);
}

/* Whether an operand before this one is sampled for both. */
static bool is_similar(const struct ff__profile *profile, const struct ff_launch_event *event,
                       const struct ff_operand *operand) {
    for (uint32_t i = 0; profile->similar && operand->group && i < event->operand_count; i++) {
        const struct ff_operand *other = &event->operands[i];
        if (other->range == operand->range)
            return false;
        if (other->group == operand->group && !ff__profile_range(profile, other->range)->found)
            return true;
    }
    return false;
}

static void start_range(struct ff__profile *profile, const struct ff_view *view,
                        const struct ff_operand *operand, const struct ff_launch_event *event,
                        struct ff_advice_list *advice) {
    const uint32_t range = operand->range;
    struct ff__profile_range *known = ff__profile_range(profile, range);
    if (!known->live)
        return;
    known->launch = event->launch;
    if (!profile->keep)
        known->pattern = FF__CLASS_LOW_COVERAGE;
    known->rounds = known->alike = 0;
    known->found = false;
    known->group = operand->group;
    profile->uses++;
    guess_class(profile, range, operand);
    if (!known->found && !is_similar(profile, event, operand))
        advise_sampling(view, range, event->launch, event->tier, true, advice);
}

/* A launch whose ranges are not known may use all that there are. */
void ff__profile_on_launch(void *state, const struct ff_view *view,
                           const struct ff_launch_event *event, struct ff_advice_list *advice) {
    struct ff__profile *profile = state;
    bool none = profile->fixed.span_pages > 0 || !event->begins;
    for (uint32_t i = 0; !none && event->operands && i < event->operand_count; i++)
        start_range(profile, view, &event->operands[i], event, advice);
    for (uint32_t range = 0; !none && !event->operands && range < profile->range_end; range++) {
        const struct ff_operand unknown = {.range = range, .reads = true, .writes = true};
        start_range(profile, view, &unknown, event, advice);
    }
}

/* ---- samples ---- */

static enum ff__class classify(const struct ff__profile *profile, const struct ff_view *view,
                               const struct ff_sample_round *round) {
    const struct ff_range *range = &view->ranges[round->range];
    const struct ff__class_range pages = {.first_block = range->first_block,
                                          .lead = view->blocks[range->first_block].lead,
                                          .page_count = range->page_count,
                                          .accesses = round->accesses};
    return ff__classify(&profile->limits, &pages, round->items, round->count);
}

/* To the operands of the launch that are indexed by the same variable. Their leaves are completed
 * by their next faults. */
static void spread_class(struct ff__profile *profile, uint32_t range) {
    const struct ff__profile_range *known = ff__profile_range(profile, range);
    for (uint32_t i = 0; profile->similar && known->group && i < profile->range_end; i++) {
        const struct ff__profile_range *other = ff__profile_range(profile, i);
        if (other->live && !other->found && other->group == known->group &&
            other->launch == known->launch)
            set_class(profile, i, known->pattern, FF__SOURCE_SIMILAR);
    }
}

bool ff__profile_samples(struct ff__profile *profile, const struct ff_view *view,
                         const struct ff_sample_round *round, struct ff_advice_list *advice,
                         struct ff__tree_shape *before) {
    struct ff__profile_range *known = ff__profile_range(profile, round->range);
    bool late = !known->live || known->found || known->launch != round->launch;
    if (late || profile->fixed.span_pages > 0)
        return false;
    *before = ff__profile_shape(profile, round->range);
    uint8_t pattern = (uint8_t)classify(profile, view, round);
    known->rounds++;
    known->alike = known->shown == pattern ? known->alike + 1 : 1;
    known->shown = pattern;
    bool settled = pattern != FF__CLASS_LOW_COVERAGE && known->alike >= profile->agree;
    if (!settled && known->rounds < profile->rounds)
        return false;
    set_class(profile, round->range, pattern, FF__SOURCE_PROFILE);
    spread_class(profile, round->range);
    advise_sampling(view, round->range, round->launch, round->tier, false, advice);
    return pattern != FF__CLASS_LOW_COVERAGE;
}

static void on_samples(void *state, const struct ff_view *view, const struct ff_sample_round *round,
                       struct ff_advice_list *advice) {
    struct ff__tree_shape before;
    ff__profile_samples(state, view, round, advice, &before);
}

const struct ff_sample_hooks ff__profile_samples_only = {.on_samples = on_samples};
