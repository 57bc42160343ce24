/* Pages that a predictor expects: what the policies `learned` and `learned-faults` share.
 *
 * A stream is what one cluster of warps, or one thread, accesses. Its state is that of the
 * predictor's window and its trail through the arrays; all streams lie in the policy's arena, by
 * number, and cost what is touched. A new predictor starts every stream anew: what windows hold of
 * the past is in the old one's numbers.
 *
 * Predictions are made one after the other, as by one core. Where time is modelled, each takes
 * `latency`, and one that would have to wait for too many others is not made at all. */
#ifndef FF_POLICY_HLSH_LOOKAHEAD_H
#define FF_POLICY_HLSH_LOOKAHEAD_H

#include "learn/tuner.h"

#include <farfault/model.h>

struct ff__lookahead_stream;

/* What comes: the first is the paper's, the others are ours. */
enum ff__bring {
    FF__BRING_PAGE, /* with a fault its leaf; what is predicted, a page */
    FF__BRING_LEAF, /* the predicted page's leaf, too */
    FF__BRING_TREE, /* with both, what UVMSmart's tree fills up */
    FF__BRINGS
};

struct ff__lookahead {
    struct ff__tuner tuner;
    struct ff__tuned *tuned;  /* NULL: nothing is known yet */
    struct ff__stream *fresh; /* a stream without accesses, to copy */
    struct ff__lookahead_stream *streams;
    uint32_t *version; /* [stream] of the predictor that its state is of */
    uint32_t stream_count, now_version;
    uint64_t latency_ns, free_ns; /* the predictor is at work until then */
    uint64_t tuned_ns;            /* when what is being learned takes effect; virtual time */
    uint64_t learning_ns;
    bool virtual_time, measured;
    bool request;   /* a leaf and what is predicted cross the link as one request */
    bool any_array; /* accesses do not say their array: what is predicted may lie in any */
    enum ff__bring bring;
};

/* Parameters that both policies have, first in their tables. */
enum ff__lookahead_param {
    FF__LOOKAHEAD_MODEL,
    FF__LOOKAHEAD_DISTANCE,
    FF__LOOKAHEAD_LATENCY,
    FF__LOOKAHEAD_MEASURED,
    FF__LOOKAHEAD_STEPS,
    FF__LOOKAHEAD_LEARNING,
    FF__LOOKAHEAD_BRING,
    FF__LOOKAHEAD_REQUEST,
    FF__LOOKAHEAD_PARAMS
};

#define FF__LOOKAHEAD_ROW(which, ...) [FF__LOOKAHEAD_##which] = {__VA_ARGS__}
#define FF__LOOKAHEAD_ROWS                                                                         \
    FF__LOOKAHEAD_ROW(                                                                             \
        MODEL, "model", FF_PARAM_TEXT, 0, 0, 400,                                                  \
        "a file written by farfault train; without one, the model learns from the run"),           \
        FF__LOOKAHEAD_ROW(DISTANCE, "distance", FF_PARAM_INT, 0, 0, 1000,                          \
                          "accesses to predict ahead; 0: the model's, or 30 without a model"),     \
        FF__LOOKAHEAD_ROW(LATENCY, "latency", FF_PARAM_NS, 1000, 0, 1000000000,                    \
                          "modelled time of one prediction"),                                      \
        FF__LOOKAHEAD_ROW(MEASURED, "measured", FF_PARAM_BOOL, 0, 0, 1,                            \
                          "charge what a prediction takes on this machine instead of latency"),    \
        FF__LOOKAHEAD_ROW(STEPS, "steps", FF_PARAM_INT, 25, 0, 1000000,                            \
                          "batches of one fine-tuning step; 0: no fine-tuning"),                   \
        FF__LOOKAHEAD_ROW(LEARNING, "learning", FF_PARAM_NS, 0, 0, 1000000000000,                  \
                          "modelled time of one fine-tuning step; the paper charges none"),        \
        FF__LOOKAHEAD_ROW(BRING, "bring", FF_PARAM_INT, FF__BRING_PAGE, 0, FF__BRINGS - 1,         \
                          "for a prediction: 0 a page, 1 its leaf, 2 its tree; for a fault: "      \
                          "its leaf, or tree"),                                                    \
        FF__LOOKAHEAD_ROW(REQUEST, "request", FF_PARAM_BOOL, 1, 0, 1,                              \
                          "what a fault and its prediction bring crosses the link as one "         \
                          "request; 0: in runs that end at faulting pages, as UVMSmart's")

/* Bytes of the arena for so many streams. */
size_t ff__lookahead_arena(uint32_t streams);

int ff__lookahead_start(struct ff__lookahead *ahead, const struct ff_policy_env *env,
                        uint32_t streams);
void ff__lookahead_stop(struct ff__lookahead *ahead);

/* What a fault brings, whatever is predicted. */
void ff__lookahead_fault(const struct ff__lookahead *ahead, const struct ff_view *view,
                         const struct ff_fault_group *group, struct ff_fault_advice *advice);

/* One more access of a stream. */
void ff__lookahead_note(struct ff__lookahead *ahead, uint32_t stream,
                        const struct ff__access *access);

/* A predicted access. */
struct ff__guess {
    int64_t page;      /* block * FF_BLOCK_PAGES + page; any number */
    uint32_t array;    /* that it should lie in */
    uint64_t ready_ns; /* when the prediction is known; 0: no time was spent on one */
};

/* What the stream is expected to access `distance` accesses from now. False: nothing. */
bool ff__lookahead_predict(struct ff__lookahead *ahead, uint32_t stream, uint64_t now_ns,
                           struct ff__guess *guess);

/* Adds the pages to bring for it to advice whose tier is set. False: there is no such page in the
 * array. */
bool ff__lookahead_place(const struct ff__lookahead *ahead, const struct ff_view *view,
                         const struct ff__guess *guess, struct ff_advice *advice);

/* Fine-tuning begins with all that was noted since the last one; its result counts from the first
 * ff__lookahead_adopt() on that finds it. */
void ff__lookahead_tune(struct ff__lookahead *ahead, uint64_t now_ns);
void ff__lookahead_adopt(struct ff__lookahead *ahead, uint64_t now_ns);

#endif
