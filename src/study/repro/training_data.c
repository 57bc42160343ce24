#include "study/repro/training_data.h"

#include "backend/sim/sim.h"
#include "base/grow.h"
#include "learn/blas/blas.h"
#include "report/complain.h"
#include "study/find.h"
#include "study/specs.h"
#include "trace/model/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ACCESSES 2000000u /* kept of a corpus: whole streams, chosen by hash; ours */

void ff__training_data_free(struct ff__training_data *data) {
    ff__words_free(&data->workloads);
}

/* ---- recording ---- */

struct recorder {
    struct ff__corpus *corpus;
    bool by_access, by_array;
    uint16_t program;
    uint32_t launch;  /* counted from 1; 0: before the first */
    uint64_t *arrays; /* [launch] that it accesses, a bit each, modulo 64 */
    int status;
};

static void next_launch(struct recorder *recorder) {
    recorder->launch++;
    if (!recorder->status)
        recorder->status = ff__grow(&recorder->arrays, recorder->launch, sizeof *recorder->arrays);
    if (!recorder->status)
        recorder->arrays[recorder->launch] = 0;
}

static void take(void *self, const struct ff_trace_event *event, const struct ff_access *seen) {
    struct recorder *recorder = self;
    if (event->kind == FF_TRACE_LAUNCH)
        next_launch(recorder);
    if (!seen || recorder->status)
        return;
    recorder->arrays[recorder->launch] |= UINT64_C(1) << event->range % 64;
    const struct ff__access kept = {
        .page = seen->block * FF_BLOCK_PAGES + seen->page,
        .pc = seen->pc,
        .cta = event->cta,
        .launch = recorder->launch,
        .sm = seen->sm,
        .warp = seen->warp,
        .array = recorder->by_access ? 0 : (uint16_t)event->range,
        .inputs = (uint16_t)event->range,
        .program = recorder->program,
        .missed = seen->flags & FF_ACCESS_MISS,
    };
    recorder->status = ff__corpus_add(recorder->corpus, &kept);
}

/* The paper's "In" (Figure 3) is what the kernel's array arguments are, the same in all of a
 * launch's tokens. A model's base addresses are as many numbers as it has arrays, and mean nothing
 * else: sets of arrays are numbered instead, in the order of their launches. */
static void show_inputs(const struct recorder *recorder) {
    uint64_t sets[FF__INPUTS];
    uint32_t count = 0;
    for (uint64_t i = 0; i < recorder->corpus->count; i++) {
        struct ff__access *access = &recorder->corpus->accesses[i];
        if (access->program != recorder->program)
            continue;
        uint32_t number = 0;
        while (number < count && sets[number] != recorder->arrays[access->launch])
            number++;
        if (number == count && count < FF__INPUTS)
            sets[count++] = recorder->arrays[access->launch];
        access->inputs = (uint16_t)number;
    }
}

/* A recorded program is known by its name as a file. */
static int open_program(const char *name, uint64_t seed, struct ff__workload **out,
                        struct ff_error *error) {
    size_t length = strlen(name);
    bool recorded = strchr(name, '/') || (length > 6 && strcmp(name + length - 6, ".trace") == 0);
    return recorded ? ff__trace_workload(name, out, error)
                    : ff__workload_open(name, seed, out, error);
}

static int record(const struct ff__training_data *data, const char *name, struct recorder *recorder,
                  struct ff_error *error) {
    struct ff__workload *workload;
    struct ff__sim_result result;
    struct ff__sim_config config = {
        .gpu = &data->gpu,
        .devices = 1,
        .seed = data->seed,
        .observe = take,
        .observer = recorder,
    };
    recorder->launch = 0;
    recorder->arrays[0] = 0;
    int status = open_program(name, data->seed, &workload, error);
    if (status)
        return status;
    status = ff__system_parse("demand", &config.system, error);
    if (!status)
        status = ff__sim_run(&config, workload, &result, error);
    ff__workload_close(workload);
    if (!status)
        status = recorder->status;
    if (!status && !recorder->by_array)
        show_inputs(recorder);
    return status;
}

int ff__training_data_record(const struct ff__training_data *data, unsigned first, unsigned count,
                             struct ff__corpus *corpus) {
    struct ff_error error = {""};
    struct recorder recorder = {
        .corpus = corpus, .by_access = data->by_access, .by_array = data->by_array};
    int status = ff__grow(&recorder.arrays, 0, sizeof *recorder.arrays);
    ff__corpus_init(corpus, data->by, ACCESSES);
    corpus->threshold >>= data->halvings;
    for (unsigned i = 0; i < count && !status; i++) {
        recorder.program = (uint16_t)(data->program + i);
        status = record(data, data->workloads.items[first + i], &recorder, &error);
    }
    free(recorder.arrays);
    if (!status)
        status = ff__corpus_close(corpus);
    if (!status)
        return 0;
    ff__corpus_fini(corpus);
    return ff__complain(status == -ENOENT || status == -EINVAL ? FF__EXIT_USAGE : FF__EXIT_FAILURE,
                        "%s", error.message[0] ? error.message : strerror(-status));
}

void ff__training_begin(void) {
    if (!ff__blas_use())
        ff__complain(0, "this farfault is built without OpenBLAS: training takes much longer");
}
