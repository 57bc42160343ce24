#include "study/repro/hlsh.h"

#include "base/checksum.h"
#include "base/new_file.h"
#include "learn/finetune.h"
#include "report/complain.h"
#include "report/file.h"
#include "study/find.h"
#include "study/repro/training_data.h"
#include "study/specs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISTANCE 30u

/* A quarter less memory than what is run, so that rows and strides are others. The order is that of
 * `pretrained_as` in the file. */
static const char corpus_list[] =
    "atax:n=1040,backprop:inputs=98304,bicg:n=1040,hotspot:n=896,nw:n=880";

struct training {
    const struct ff__repro_plan *plan;
    struct ff__pretrained *out;
    struct ff__gpu gpu;
    uint32_t steps;
};

static int learn(const struct training *work, struct ff__training_data *data,
                 struct ff__model *model) {
    struct ff__corpus corpus;
    struct ff_error error;
    int status = ff__training_data_record(data, 0, data->workloads.count, &corpus);
    if (status)
        return status;
    status = ff__finetune(model, &corpus, work->steps);
    ff__corpus_fini(&corpus);
    if (status)
        return ff__complain(FF__EXIT_FAILURE, "pre-training: %s", strerror(-status));
    snprintf(model->subject, sizeof model->subject, "%s", corpus_list);
    if (ff__model_write(model, work->out->file, &error))
        return ff__complain(FF__EXIT_FAILURE, "%s", error.message);
    return 0;
}

static int train_model(const struct training *work) {
    struct ff__training_data data = {
        .gpu = work->gpu, .seed = work->plan->study.seed, .distance = DISTANCE, .halvings = 1};
    struct ff__model model = {.distance = DISTANCE, .seed = work->plan->study.seed};
    struct ff_error error;
    if (ff__specs_split(corpus_list, &data.workloads, &error))
        return ff__complain(FF__EXIT_FAILURE, "%s", error.message);
    int status = learn(work, &data, &model);
    ff__model_fini(&model);
    ff__training_data_free(&data);
    return status;
}

static int write_model(const struct training *work, const void *start, size_t size) {
    const struct ff__file_bytes bytes = {start, size};
    int status = ff__file_write(work->out->file, ff__file_print_bytes, &bytes);
    return status ? ff__complain(FF__EXIT_FAILURE, "%s: %s", work->out->file, strerror(-status))
                  : 0;
}

/* Training takes minutes: the model is kept as runs are. */
static int train_or_take(const struct training *work) {
    struct ff__store *store = work->plan->study.store;
    const struct ff__store_key key = {.subject = corpus_list,
                                      .system = "hlsh, pre-trained",
                                      .device = work->gpu.name,
                                      .seed = work->plan->study.seed,
                                      .options = "",
                                      .data =
                                          ff__crc32c(work->steps, &work->gpu, sizeof work->gpu)};
    struct ff_error error;
    struct ff__file model = {NULL, 0};
    size_t size = 0;
    void *kept = store ? ff__store_find(store, &key, &size) : NULL;
    int status = kept ? write_model(work, kept, size) : train_model(work);
    if (!status)
        status = ff__file_read(work->out->file, &model);
    if (!status)
        work->out->checksum = ff__crc32c(0, model.bytes, model.size);
    if (!status && !kept && store &&
        ff__store_add(store, &key, (double)NAN, model.bytes, model.size, &error))
        ff__complain(0, "the pre-trained model could not be kept: %s", error.message);
    free(model.bytes);
    free(kept);
    return status;
}

int ff__hlsh_pretrain(const struct ff__repro_plan *plan, struct ff__pretrained *model) {
    json_int_t steps = json_integer_value(json_object_get(plan->published, "pretraining_steps"));
    struct training work = {.plan = plan, .out = model, .steps = (uint32_t)steps};
    if (model->file[0])
        return 0;
    if (steps < 1 || steps > UINT32_MAX)
        return ff__complain(FF__EXIT_FAILURE,
                            "published/hlsh.json: pretraining_steps: must be a number of steps");
    int status = ff__find_gpu(FF__HLSH_GPU, FF__EXIT_FAILURE, &work.gpu);
    if (status)
        return status;
    status = ff__file_temporary(model->file);
    return status ? ff__complain(FF__EXIT_FAILURE, "cannot make a temporary file: %s",
                                 strerror(-status))
                  : train_or_take(&work);
}

void ff__hlsh_pretrained_remove(const struct ff__pretrained *model) {
    if (model->file[0])
        remove(model->file);
}
