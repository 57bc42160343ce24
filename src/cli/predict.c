/* farfault predict: how good a trained predictor is on a program, and how fast. */
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/train.h"
#include "learn/predictor.h"
#include "learn/train/nets.h"
#include "report/table.h"
#include "study/repro/scores.h"
#include "study/specs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TIMINGS 200000u /* predictions timed, at most */
#define BATCH   128u

static const char predict_help[] =
    "Predicts the accesses of simulated programs with a model from farfault train.\n"
    "\n"
    "Examples:\n"
    "  farfault predict hotspot.model hotspot --bench\v"
    "A workload may be a trace, as with farfault train. "
    "Scores are over the accesses that training keeps for testing. --bench times each prediction "
    "on its own, from a new access to the answer, in the order of the program.";

/* ---- time ---- */

static int by_value(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* What looking at the clock twice adds to a timing. */
static uint64_t clock_cost(void) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        uint64_t start = ff__clock_ns(), cost = ff__clock_ns() - start;
        least = cost < least ? cost : least;
    }
    return least;
}

/* Pushes every token through its stream, all streams in turn as warps take turns, and times each.
 */
static uint32_t time_all(const struct ff__predictor *predictor, const struct ff__dataset *dataset,
                         const struct ff__corpus *corpus, struct ff__stream *streams,
                         uint64_t *times) {
    uint32_t count = 0;
    uint64_t cost = clock_cost();
    for (uint64_t turn = 0; count < TIMINGS; turn++) {
        uint32_t before = count;
        for (uint32_t s = 0; s < corpus->streams && count < TIMINGS; s++) {
            uint64_t at = corpus->first[s] + turn;
            if (at >= corpus->first[s + 1])
                continue;
            const uint16_t ids[3] = {dataset->ids[at][0], dataset->ids[at][1], dataset->ids[at][2]};
            uint64_t start = ff__clock_ns();
            ff__stream_push(predictor, &streams[s], ids);
            ff__stream_predict(predictor, &streams[s], NULL);
            uint64_t took = ff__clock_ns() - start;
            times[count++] = took > cost ? took - cost : 0;
        }
        if (count == before)
            break;
    }
    qsort(times, count, sizeof *times, by_value);
    return count;
}

static void show_times(const struct ff__predictor *predictor, uint32_t streams,
                       const uint64_t *times, uint32_t count) {
    size_t state = streams * sizeof(struct ff__stream);
    printf("%s: one prediction %llu ns (median of %u), 99th percentile %llu ns; parameters %zu "
           "bytes, state of %u streams %zu bytes\n",
           ff__predictor_code_name(predictor), (unsigned long long)times[count / 2], count,
           (unsigned long long)times[(uint64_t)count * 99 / 100], ff__predictor_size(predictor),
           streams, state);
}

static int bench(const struct ff__model *model, const struct ff__dataset *dataset,
                 const struct ff__corpus *corpus) {
    struct ff__predictor predictor;
    int made = ff__predictor_init(&predictor, &model->net);
    struct ff__stream *streams =
        made ? NULL : aligned_alloc(64, (corpus->streams + 1) * sizeof *streams);
    uint64_t *times = calloc(TIMINGS, sizeof *times);
    int status = 0;
    if (streams && times) {
        for (uint32_t s = 0; s < corpus->streams; s++)
            ff__stream_start(&predictor, &streams[s]);
        uint32_t count = time_all(&predictor, dataset, corpus, streams, times);
        if (count > 0)
            show_times(&predictor, corpus->streams, times, count);
    } else {
        status = ff__complain(FF__EXIT_FAILURE, "%s", strerror(ENOMEM));
    }
    free(times);
    free(streams);
    if (!made)
        ff__predictor_fini(&predictor);
    return status;
}

/* ---- one program ---- */

static void show(const char *name, const struct ff__score *score) {
    struct ff__table table;
    ff__table_init(&table, "lrrrrrr");
    ff__table_cells(&table, "", "top-1", "F1", "top-10", "majority", "unknown", "no page", NULL);
    ff__table_cell(&table, "%s", name);
    ff__score_cells(&table, score);
    ff__table_print(&table, stdout, 0);
    ff__table_fini(&table);
}

/* Which of the programs that the model was trained on this is; the first, if none. */
static uint16_t find_program(const struct ff__model *model, const char *name) {
    struct ff__words words;
    struct ff_error error;
    uint16_t found = 0;
    if (ff__specs_split(model->subject, &words, &error))
        return 0;
    for (unsigned i = 0; i < words.count; i++)
        if (strcmp(words.items[i], name) == 0)
            found = (uint16_t)i;
    ff__words_free(&words);
    return found;
}

/* What is wanted of each program. */
struct wanted_results {
    bool timed, tables;
    json_t *runs;
};

static int predict_one(struct ff__model *model, struct ff__training_data *data, unsigned which,
                       const struct wanted_results *wanted) {
    struct ff__corpus corpus;
    struct ff__dataset dataset;
    struct ff__score score;
    data->program = find_program(model, data->workloads.items[which]);
    int status = ff__training_data_record(data, which, 1, &corpus);
    if (status)
        return status;
    if (ff__dataset_build(&dataset, &model->features, &corpus, model->distance, model->split,
                          data->seed) ||
        ff__net_score(&model->net, &dataset, FF__TEST_SAMPLES_MAX, &score))
        status = ff__complain(FF__EXIT_FAILURE, "%s", strerror(ENOMEM));
    else
        json_array_append_new(wanted->runs, ff__score_json(data->workloads.items[which], &score));
    if (!status && wanted->tables)
        show(data->workloads.items[which], &score);
    if (!status && wanted->timed)
        status = bench(model, &dataset, &corpus);
    ff__dataset_fini(&dataset);
    ff__corpus_fini(&corpus);
    return status;
}

/* ---- the command ---- */

static int predict_all(struct ff__model *model, struct ff__training_data *data,
                       const struct wanted_results *wanted) {
    int status = 0;
    if (wanted->timed && !ff__predictor_takes(model->net.type))
        return ff__complain(FF__EXIT_FAILURE,
                            "only hlsh of four bits has a fast path; this model is %s",
                            model->net.type->name);
    data->by = model->by;
    for (unsigned i = 0; i < data->workloads.count && !status; i++)
        status = predict_one(model, data, i, wanted);
    return status;
}

/* Times are for people alone. */
static int read_wanted(const struct ff__options *options, struct ff__outputs *outputs,
                       struct wanted_results *wanted) {
    int status = ff__options_outputs(options, outputs);
    wanted->timed = options->number[FF__OPTION_BENCH];
    wanted->tables = ff__outputs_leave_tables(outputs);
    if (!status && wanted->timed && !wanted->tables)
        status = ff__complain(FF__EXIT_USAGE, "--bench shows times on standard output: give --json "
                                              "or --csv a file, such as --json=FILE");
    return status;
}

static int predict(struct ff__options *options) {
    struct ff__model model;
    struct ff__training_data data = {0};
    struct ff__outputs outputs = {NULL, NULL};
    struct wanted_results wanted = {.runs = ff__must(json_array())};
    struct ff_error error;
    ff__training_begin();
    int status =
        options->word_count == 2
            ? read_wanted(options, &outputs, &wanted)
            : ff__complain(FF__EXIT_USAGE,
                           "name a model and the workloads: farfault predict MODEL WORKLOAD");
    if (!status)
        status = ff__training_data_read(options, options->words[1], &data);
    if (!status && ff__model_read(&model, options->words[0], ff__all_nets, BATCH, &error)) {
        status = ff__complain(FF__EXIT_FAILURE, "%s", error.message);
    } else if (!status) {
        status = predict_all(&model, &data, &wanted);
        ff__model_fini(&model);
    }
    if (!status)
        status = ff__scores_write(&outputs, "predict", wanted.runs);
    ff__training_data_free(&data);
    json_decref(wanted.runs);
    return status;
}

const struct ff__command ff__command_predict = {FF__COMMAND_PREDICT, "MODEL WORKLOAD[,WORKLOAD...]",
                                                predict_help, predict, 0};
