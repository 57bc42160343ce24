#include "learn/train/online.h"

#include "learn/train/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct ff__online_type *const types[] = {&ff__online_context, &ff__online_last,
                                                      &ff__online_order1,  &ff__online_order2,
                                                      &ff__online_order12, &ff__online_order29};

const struct ff__online_type *ff__online_type_at(unsigned index) {
    return index < sizeof types / sizeof types[0] ? types[index] : NULL;
}

const struct ff__online_type *ff__online_type_find(const char *name) {
    const struct ff__online_type *type;
    for (unsigned i = 0; (type = ff__online_type_at(i)); i++)
        if (strcmp(type->name, name) == 0)
            return type;
    return NULL;
}

/* ---- samples in the order of the program ---- */

enum sample_kind { NO_SAMPLE, TRAIN, TEST, SCORED };

/* What was predicted at a position, until it is known what came. */
struct prediction {
    union ff__online_keys keys;
    int64_t value;
    bool found;
};

/* `then`: where the stream was in each array as many accesses ago as the distance. */
struct online_stream {
    struct ff__page_history history;
    struct ff__trail then;
    uint64_t next;           /* position */
    struct prediction *made; /* [room] a ring */
    uint32_t room;
};

struct online_run {
    const struct ff__online_type *type;
    const struct ff__corpus *corpus;
    const struct ff__dataset *dataset;
    void *self;
    struct ff__moment *order; /* [accesses] */
    uint8_t *kind;            /* [accesses] */
    struct online_stream *streams;
    struct prediction *made;
    bool goes_on, tests; /* whether this pass is for testing */
    struct ff__tally tally;
};

static void sort_samples(struct online_run *run, uint32_t limit) {
    const struct ff__dataset *dataset = run->dataset;
    for (uint32_t i = 0; i < dataset->train_count; i++)
        run->kind[dataset->train[i]] = TRAIN;
    for (uint32_t i = 0; i < dataset->test_count; i++)
        run->kind[dataset->test[i]] = i < limit ? SCORED : TEST;
}

static void restart_streams(struct online_run *run) {
    const struct ff__corpus *corpus = run->corpus;
    struct prediction *made = run->made;
    for (uint32_t s = 0; s < corpus->streams; s++) {
        uint64_t length = corpus->first[s + 1] - corpus->first[s],
                 distance = run->dataset->distance;
        run->streams[s] = (struct online_stream){.next = corpus->first[s], .made = made};
        run->streams[s].room = (uint32_t)(length < distance ? length : distance);
        made += run->streams[s].room;
    }
}

/* ---- one access ---- */

/* The access tells what should have been predicted `distance` accesses before it. */
static int resolve(struct online_run *run, struct online_stream *stream,
                   const struct ff__access *access) {
    uint64_t at = stream->next - run->dataset->distance;
    const struct ff__access *before = &run->corpus->accesses[at];
    const struct prediction *made = &stream->made[at % stream->room];
    enum sample_kind kind = (enum sample_kind)run->kind[at];
    ff__trail_move(&stream->then, before->array, before->page);
    int64_t value = ff__trail_delta(&stream->then, access->array, access->page);
    if (kind == SCORED && run->tests)
        ff__tally_count(&run->tally, ff__tally_number(&run->tally, value),
                        made->found ? ff__tally_number(&run->tally, made->value) : FF__ESCAPE,
                        ff__trail_has(&stream->then, access->array));
    bool teaches = run->tests ? run->goes_on && kind != TRAIN : kind == TRAIN;
    return teaches ? run->type->teach(run->self, &made->keys, value) : 0;
}

static int take(struct online_run *run, const struct ff__moment *moment) {
    struct online_stream *stream = &run->streams[moment->stream];
    const struct ff__access *access = &run->corpus->accesses[moment->at];
    int status = 0;
    if (moment->at >= run->corpus->first[moment->stream] + run->dataset->distance)
        status = resolve(run, stream, access);
    struct prediction *made = &stream->made[moment->at % stream->room];
    ff__page_history_add(&stream->history, access);
    made->keys = run->type->keys(run->self, &stream->history, access, moment->stream);
    made->found = run->type->look(run->self, &made->keys, &made->value);
    stream->next = moment->at + 1;
    return status;
}

/* ---- all of them ---- */

static int pass(struct online_run *run, bool tests) {
    int status = 0;
    run->tests = tests;
    restart_streams(run);
    for (uint64_t i = 0; i < run->dataset->count && !status; i++)
        status = take(run, &run->order[i]);
    return status;
}

/* Rings are no longer than their streams, all of them no longer than all accesses. */
static int allocate(struct online_run *run, uint32_t limit) {
    uint64_t room = 0;
    for (uint32_t s = 0; s < run->corpus->streams; s++) {
        uint64_t length = run->corpus->first[s + 1] - run->corpus->first[s];
        room += length < run->dataset->distance ? length : run->dataset->distance;
    }
    run->order = ff__corpus_order(run->corpus);
    run->kind = calloc(run->dataset->count + 1, sizeof *run->kind);
    run->streams = malloc((run->corpus->streams + 1u) * sizeof *run->streams);
    run->made = malloc((room + 1) * sizeof *run->made);
    run->self = run->type->make(run->type);
    /* a sample adds two values at most */
    int status = ff__tally_init(&run->tally, 2 * limit + 1);
    return run->order && run->kind && run->streams && run->made && run->self ? status : -ENOMEM;
}

static void release(struct online_run *run) {
    if (run->self)
        run->type->release(run->self);
    free(run->order);
    free(run->kind);
    free(run->streams);
    free(run->made);
    ff__tally_fini(&run->tally);
}

int ff__online_score(const struct ff__online_type *type, const struct ff__corpus *corpus,
                     const struct ff__dataset *dataset, bool goes_on, uint32_t limit,
                     struct ff__score *score) {
    struct online_run run = {
        .type = type, .corpus = corpus, .dataset = dataset, .goes_on = goes_on};
    int status = allocate(&run, limit);
    if (!status) {
        sort_samples(&run, limit);
        status = pass(&run, false);
    }
    if (!status)
        status = pass(&run, true);
    if (!status) {
        ff__tally_conclude(&run.tally, score);
        score->top10 = (double)NAN;
    }
    release(&run);
    return status;
}
