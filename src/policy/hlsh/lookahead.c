#include "policy/hlsh/lookahead.h"

#include "policy/common/neighbours.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BACKLOG 64u /* predictions that may wait for the core; ours */

struct ff__lookahead_stream {
    struct ff__stream window;
    struct ff__trail trail;
};

/* ---- starting ---- */

static size_t version_bytes(uint32_t streams) {
    return ((size_t)streams * sizeof(uint32_t) + 63) / 64 * 64;
}

size_t ff__lookahead_arena(uint32_t streams) {
    return version_bytes(streams) + streams * sizeof(struct ff__lookahead_stream);
}

static void use(struct ff__lookahead *ahead, struct ff__tuned *tuned) {
    ahead->tuned = tuned;
    if (!tuned)
        return;
    ahead->now_version++;
    ff__stream_start(&tuned->predictor, ahead->fresh);
    if (ahead->measured && ahead->virtual_time)
        ahead->latency_ns = ff__tuned_measure(tuned, ahead->fresh, ahead->tuner.background);
}

static struct ff__stream *new_window(void) {
    return aligned_alloc(64, (sizeof(struct ff__stream) + 63) / 64 * 64);
}

int ff__lookahead_start(struct ff__lookahead *ahead, const struct ff_policy_env *env,
                        uint32_t streams) {
    const int64_t *value = env->params;
    const struct ff__tuner_plan plan = {
        .path = env->text ? env->text + value[FF__LOOKAHEAD_MODEL] : NULL,
        .distance = (uint32_t)value[FF__LOOKAHEAD_DISTANCE],
        .steps = (uint32_t)value[FF__LOOKAHEAD_STEPS],
        .seed = env->seed,
        .background = env->background,
    };
    struct ff__tuned *first;
    ahead->virtual_time = env->model != NULL;
    ahead->latency_ns = (uint64_t)value[FF__LOOKAHEAD_LATENCY];
    ahead->learning_ns = (uint64_t)value[FF__LOOKAHEAD_LEARNING];
    ahead->measured = value[FF__LOOKAHEAD_MEASURED] != 0;
    ahead->bring = (enum ff__bring)value[FF__LOOKAHEAD_BRING];
    ahead->request = value[FF__LOOKAHEAD_REQUEST] != 0;
    ahead->fresh = new_window();
    if (!ahead->fresh)
        return -ENOMEM;
    int status = ff__tuner_init(&ahead->tuner, &plan, &first, env->error);
    if (status) {
        free(ahead->fresh);
        return status;
    }
    ahead->version = env->arena;
    ahead->streams = (void *)((char *)env->arena + version_bytes(streams));
    ahead->stream_count = streams;
    use(ahead, first);
    return 0;
}

void ff__lookahead_stop(struct ff__lookahead *ahead) {
    ff__tuner_fini(&ahead->tuner);
    ff__tuned_free(ahead->tuned);
    free(ahead->fresh);
}

/* ---- streams ---- */

/* The stream in the numbers of the present predictor. */
static struct ff__lookahead_stream *stream_of(struct ff__lookahead *ahead, uint32_t number) {
    struct ff__lookahead_stream *stream = &ahead->streams[number % ahead->stream_count];
    uint32_t *version = &ahead->version[number % ahead->stream_count];
    if (*version != ahead->now_version) {
        stream->window = *ahead->fresh;
        *version = ahead->now_version;
    }
    return stream;
}

void ff__lookahead_note(struct ff__lookahead *ahead, uint32_t number,
                        const struct ff__access *access) {
    ff__tuner_note(&ahead->tuner, access);
    if (!ahead->tuned)
        return;
    struct ff__lookahead_stream *stream = stream_of(ahead, number);
    uint16_t ids[FF__FEATURES];
    ff__features_of(&ahead->tuned->features, &stream->trail, access, ids);
    ff__trail_move(&stream->trail, access->array, access->page);
    ff__stream_push(&ahead->tuned->predictor, &stream->window, ids);
}

/* ---- what comes ---- */

static enum ff__neighbour_kind neighbours_of(const struct ff__lookahead *ahead) {
    return ahead->bring == FF__BRING_TREE ? FF__NEIGHBOURS_TREE : FF__NEIGHBOURS_SEQUENTIAL;
}

void ff__lookahead_fault(const struct ff__lookahead *ahead, const struct ff_view *view,
                         const struct ff_fault_group *group, struct ff_fault_advice *advice) {
    ff__neighbours_advise(neighbours_of(ahead), view, group, NULL, advice);
    advice->one_request = ahead->request;
}

/* ---- predictions ---- */

/* When the core has it; false: it has too much to do. */
static bool take_time(struct ff__lookahead *ahead, uint64_t now_ns, uint64_t *ready_ns) {
    uint64_t start = ahead->free_ns > now_ns ? ahead->free_ns : now_ns;
    *ready_ns = now_ns;
    if (!ahead->virtual_time)
        return true; /* it takes what it takes */
    if (start - now_ns > BACKLOG * ahead->latency_ns)
        return false;
    *ready_ns = ahead->free_ns = start + ahead->latency_ns;
    return true;
}

bool ff__lookahead_place(const struct ff__lookahead *ahead, const struct ff_view *view,
                         const struct ff__guess *guess, struct ff_advice *advice) {
    int64_t page = guess->page;
    if (page < 0 || page / FF_BLOCK_PAGES >= view->block_limit)
        return false;
    uint32_t block = (uint32_t)(page / FF_BLOCK_PAGES), index = (uint32_t)(page % FF_BLOCK_PAGES);
    uint32_t count = view->blocks[block].page_count;
    bool in_array = ahead->any_array || view->blocks[block].range % FF__ARRAYS == guess->array;
    if (!in_array || index >= count)
        return false;
    advice->block = block;
    advice->ready_ns = guess->ready_ns;
    advice->joins = ahead->request && ahead->bring == FF__BRING_PAGE;
    advice->pages = ff_mask_of_page(index);
    if (ahead->bring == FF__BRING_PAGE)
        return true;
    struct ff_mask there = ff_view_expected(view, advice->tier, block);
    struct ff_mask more =
        ff__neighbours_of(neighbours_of(ahead), &advice->pages, &there, count, NULL);
    advice->pages = ff_mask_or(&advice->pages, &more);
    return true;
}

bool ff__lookahead_predict(struct ff__lookahead *ahead, uint32_t number, uint64_t now_ns,
                           struct ff__guess *guess) {
    if (!ahead->tuned || !take_time(ahead, now_ns, &guess->ready_ns))
        return false;
    const struct ff__lookahead_stream *stream = stream_of(ahead, number);
    const struct ff__tuned *tuned = ahead->tuned;
    uint32_t class = ff__stream_predict(&tuned->predictor, &stream->window, NULL);
    if (class == FF__ESCAPE || class >= tuned->features.classes.size)
        return false;
    int64_t value = tuned->features.classes.value[class];
    guess->page = ff__trail_page(&stream->trail, value);
    guess->array = (uint32_t)((uint64_t)value % FF__ARRAYS);
    return true;
}

/* ---- learning ---- */

void ff__lookahead_tune(struct ff__lookahead *ahead, uint64_t now_ns) {
    if (ff__tuner_begin(&ahead->tuner))
        ahead->tuned_ns = now_ns + ahead->learning_ns;
}

void ff__lookahead_adopt(struct ff__lookahead *ahead, uint64_t now_ns) {
    if (ahead->virtual_time && now_ns < ahead->tuned_ns)
        return;
    struct ff__tuned *made = ff__tuner_take(&ahead->tuner, ahead->tuned);
    if (made)
        use(ahead, made);
}
