#include "base/clock.h"
#include "learn/predictor.h"
#include "learn/predictor_code.h"
#include "learn/train/page_context.h"

#include "learn.h"

#include <stdlib.h>
#include <string.h>

#define STREAMS 1792u
#define REPEATS 50u
#define COUNT   (STREAMS * REPEATS)

/* As large as backprop's, the largest of the paper's programs: docs/results/hlsh.md. */
static const struct ff__shape shape = {.classes = 363,
                                       .ids = {513, 364, 16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};

static int by_value(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double predict_once(const struct ff__predictor *predictor, struct ff__stream *stream,
                           struct ff__random *random) {
    const uint16_t ids[3] = {(uint16_t)(1 + ff__random_below(random, 512)),
                             (uint16_t)(1 + ff__random_below(random, 363)),
                             (uint16_t)(1 + ff__random_below(random, 15))};
    volatile uint32_t answer;
    uint64_t start = ff__clock_ns();
    ff__stream_push(predictor, stream, ids);
    answer = ff__stream_predict(predictor, stream, NULL);
    (void)answer;
    return (double)(ff__clock_ns() - start);
}

static double read_once(const struct ff__predictor *predictor, const struct ff__stream *stream) {
    uint64_t start = ff__clock_ns(), sum = 0, word;
    volatile uint64_t keep;
    const char *parts[] = {(const char *)stream, (const char *)predictor->to_classes};
    const size_t sizes[] = {sizeof *stream, predictor->class_blocks * FF__WIDE *
                                                (size_t)predictor->class_quads * FF__QUAD};
    for (int part = 0; part < 2; part++)
        for (size_t i = 0; i + sizeof word <= sizes[part]; i += sizeof word) {
            memcpy(&word, parts[part] + i, sizeof word);
            sum += word;
        }
    keep = sum;
    (void)keep;
    return (double)(ff__clock_ns() - start);
}

static void measure(const struct ff__predictor *predictor, struct ff__stream *streams,
                    double *times, struct predict_cost *cost) {
    struct ff__random random = ff__random_seeded(1);
    for (uint32_t i = 0; i < STREAMS; i++)
        ff__stream_start(predictor, &streams[i]);
    for (uint32_t i = 0; i < COUNT; i++)
        times[i] = predict_once(predictor, &streams[i % STREAMS], &random);
    qsort(times, COUNT, sizeof *times, by_value);
    cost->median = times[COUNT / 2];
    cost->slow = times[COUNT / 100 * 99];
    for (uint32_t i = 0; i < COUNT; i++)
        times[i] = read_once(predictor, &streams[i % STREAMS]);
    qsort(times, COUNT, sizeof *times, by_value);
    cost->bound = times[COUNT / 2];
}

const char *predict_code(unsigned index) {
    const struct ff__predictor_code *code;
    for (unsigned i = 0; (code = ff__predictor_code_at(i)); i++)
        if (code->works() && index-- == 0)
            return code->name;
    return NULL;
}

bool predict_cost(const char *code, struct predict_cost *cost) {
    struct ff__net net;
    struct ff__predictor predictor;
    if (ff__net_init(&net, &ff__net_hlsh, &shape, 1, 1))
        return false;
    if (ff__predictor_init(&predictor, &net)) {
        ff__net_fini(&net);
        return false;
    }
    ff__predictor_use(&predictor, code);
    struct ff__stream *streams = aligned_alloc(64, STREAMS * sizeof *streams);
    double *times = malloc(COUNT * sizeof *times);
    if (streams && times)
        measure(&predictor, streams, times, cost);
    bool good = streams && times;
    free(streams);
    free(times);
    ff__predictor_fini(&predictor);
    ff__net_fini(&net);
    return good;
}

/* ---- tables of contexts ---- */

#define CONTEXT_BITS 13u /* as farfault train --network context */

#define TURNS        60u

struct context_times {
    double row[TURNS / 2], teach[TURNS], single[TURNS / 2 * STREAMS];
};

struct walker {
    struct ff__page_history history;
    struct ff__page_keys keys;
};

/* Every stream walks over three arrays at different speeds; now and then it goes elsewhere. */
static struct ff__access access_at(uint32_t stream, uint32_t turn, struct ff__random *random) {
    uint32_t array = turn % 3, at = turn / 3 * (array + 1) + stream * 7;
    if (ff__random_below(random, 16) == 0)
        at += ff__random_below(random, 100);
    return (struct ff__access){
        .page = array * 100000 + at / 4, .pc = 8 * (turn % 15), .array = (uint16_t)array};
}

static void predict_page(struct ff__page_context *context, struct walker *walker,
                         const struct ff__access *access) {
    struct ff__context_guess guess = {0};
    volatile int32_t answer;
    ff__page_history_add(&walker->history, access);
    walker->keys = ff__page_context_keys(context, &walker->history, access);
    ff__page_context_look(context, &walker->keys, &guess);
    answer = guess.value;
    (void)answer;
}

static void teach_page(struct ff__page_context *context, const struct walker *walker,
                       const struct ff__access *access) {
    int64_t value = ff__trail_delta(&walker->history.trail, access->array, access->page);
    ff__page_context_teach(context, &walker->keys, value);
}

/* One access of each stream; in every second turn each prediction is timed by itself. */
static void take_turn(struct ff__page_context *context, struct walker *walkers, uint32_t turn,
                      struct ff__random *random, struct context_times *times) {
    static struct ff__access accesses[STREAMS];
    bool single = turn % 2;
    for (uint32_t s = 0; s < STREAMS; s++)
        accesses[s] = access_at(s, turn, random);
    uint64_t start = ff__clock_ns();
    for (uint32_t s = 0; s < STREAMS; s++)
        teach_page(context, &walkers[s], &accesses[s]);
    uint64_t middle = ff__clock_ns();
    for (uint32_t s = 0; s < STREAMS; s++) {
        uint64_t one = single ? ff__clock_ns() : 0;
        predict_page(context, &walkers[s], &accesses[s]);
        if (single)
            times->single[turn / 2 * STREAMS + s] = (double)(ff__clock_ns() - one);
    }
    times->teach[turn] = (double)(middle - start) / STREAMS;
    if (!single)
        times->row[turn / 2] = (double)(ff__clock_ns() - middle) / STREAMS;
}

static double median_of(double *times, uint32_t count) {
    qsort(times, count, sizeof *times, by_value);
    return times[count / 2];
}

static void measure_context(struct ff__page_context *context, struct walker *walkers,
                            struct context_times *times, struct context_cost *cost) {
    struct ff__random random = ff__random_seeded(1);
    for (uint32_t turn = 0; turn < TURNS; turn++)
        take_turn(context, walkers, turn, &random, times);
    cost->row = median_of(times->row, TURNS / 2);
    cost->teach = median_of(times->teach, TURNS);
    cost->single = median_of(times->single, TURNS / 2 * STREAMS);
    for (uint32_t i = 0; i < STREAMS; i++) {
        uint64_t start = ff__clock_ns();
        times->single[i] = (double)(ff__clock_ns() - start);
    }
    cost->clock = median_of(times->single, STREAMS);
}

bool context_cost(struct context_cost *cost) {
    struct ff__page_context *context = malloc(sizeof *context);
    struct walker *walkers = calloc(STREAMS, sizeof *walkers);
    void *memory = calloc(1, ff__context_size(CONTEXT_BITS));
    struct context_times *times = malloc(sizeof *times);
    bool good = context && walkers && memory && times;
    if (good) {
        ff__page_context_start(context, memory, CONTEXT_BITS);
        measure_context(context, walkers, times, cost);
    }
    free(context);
    free(walkers);
    free(memory);
    free(times);
    return good;
}
