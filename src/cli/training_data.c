#include "cli/training_data.h"

#include "backend/sim/sim.h"
#include "cli/cli.h"
#include "cli/find.h"
#include "cli/options.h"
#include "cli/specs.h"
#include "learn/blas/blas.h"

#include <errno.h>
#include <string.h>

#define DEFAULT_GPU "gtx1080ti" /* the paper's device (its Table 9) */
#define ACCESSES    2000000u    /* kept of a corpus: whole streams, chosen by hash; ours */

/* ---- options ---- */

static int read_gpu(const struct ff__options *options, struct ff__gpu *gpu) {
    const char *name = options->text[FF__OPTION_GPU];
    return ff__find_gpu(name ? name : DEFAULT_GPU, FF__EXIT_USAGE, gpu);
}

static int read_cluster(const struct ff__options *options, enum ff__cluster *by) {
    const char *name = options->text[FF__OPTION_CLUSTER];
    if (!name)
        return 0;
    for (unsigned i = 0; i < FF__CLUSTERS; i++)
        if (strcmp(name, ff__cluster_name((enum ff__cluster)i)) == 0) {
            *by = (enum ff__cluster)i;
            return 0;
        }
    return ff__options_complain(options, FF__OPTION_CLUSTER,
                                "must be sm+warp, sm, pc, kernel, cta or warp");
}

static int read_split(const struct ff__options *options, enum ff__split *split) {
    const char *name = options->text[FF__OPTION_SPLIT];
    if (!name || strcmp(name, "streams") == 0)
        return 0;
    if (strcmp(name, "time") != 0)
        return ff__options_complain(options, FF__OPTION_SPLIT, "must be streams or time");
    *split = FF__SPLIT_TIME;
    return 0;
}

static int read_delta(const struct ff__options *options, bool *by_access) {
    const char *name = options->text[FF__OPTION_DELTA];
    *by_access = name && strcmp(name, "access") == 0;
    if (name && !*by_access && strcmp(name, "array") != 0)
        return ff__options_complain(options, FF__OPTION_DELTA, "must be array or access");
    return 0;
}

int ff__training_data_read(const struct ff__options *options, const char *list,
                           struct ff__training_data *data) {
    struct ff_error error;
    *data = (struct ff__training_data){.seed = 1, .distance = 1};
    if (ff__specs_split(list, &data->workloads, &error))
        return ff__complain(FF__EXIT_USAGE, "%s", error.message);
    int status = read_gpu(options, &data->gpu);
    if (!status)
        status = ff__options_seed(options, FF__OPTION_SEED, &data->seed);
    if (!status)
        status = ff__options_number(options, FF__OPTION_DISTANCE, 1, 1000, &data->distance);
    if (!status)
        status = read_cluster(options, &data->by);
    if (!status)
        status = read_delta(options, &data->by_access);
    return status ? status : read_split(options, &data->split);
}

void ff__training_data_free(struct ff__training_data *data) {
    ff__words_free(&data->workloads);
}

/* ---- recording ---- */

struct recorder {
    struct ff__corpus *corpus;
    bool by_access;
    uint16_t program;
    uint32_t launch; /* counted from 1 */
    int status;
};

static void take(void *self, const struct ff_trace_event *event, const struct ff_access *seen) {
    struct recorder *recorder = self;
    recorder->launch += event->kind == FF_TRACE_LAUNCH;
    if (!seen)
        return;
    const struct ff__access kept = {
        .page = seen->block * FF_BLOCK_PAGES + seen->page,
        .pc = seen->pc,
        .cta = event->cta,
        .launch = recorder->launch,
        .sm = seen->sm,
        .warp = seen->warp,
        .array = recorder->by_access ? 0 : (uint16_t)event->range,
        .program = recorder->program,
        .missed = seen->flags & FF_ACCESS_MISS,
    };
    if (!recorder->status)
        recorder->status = ff__corpus_add(recorder->corpus, &kept);
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
    int status = ff__workload_open(name, data->seed, &workload, error);
    if (status)
        return status;
    status = ff__system_parse("demand", &config.system, error);
    if (!status)
        status = ff__sim_run(&config, workload, &result, error);
    ff__workload_close(workload);
    return status ? status : recorder->status;
}

int ff__training_data_record(const struct ff__training_data *data, unsigned first, unsigned count,
                             struct ff__corpus *corpus) {
    struct ff_error error = {""};
    struct recorder recorder = {.corpus = corpus, .by_access = data->by_access};
    int status = 0;
    ff__corpus_init(corpus, data->by, ACCESSES);
    corpus->threshold >>= data->halvings;
    for (unsigned i = 0; i < count && !status; i++) {
        recorder.program = (uint16_t)(data->program + i);
        status = record(data, data->workloads.items[first + i], &recorder, &error);
    }
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
