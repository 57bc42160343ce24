/* Long, Gong, Zhou and Zhang, arXiv 2203.12672, Figure 7: which tokens of a window the Transformer
 * looks at. The text does not say of which program and tokens: these are the newest of the first
 * whole window for testing, of the programs of Table 4 that need attention there. */
#include "base/error.h"
#include "learn/train/nets.h"
#include "report/complain.h"
#include "study/find.h"
#include "study/repro/experiments.h"
#include "study/repro/hlsh.h"
#include "study/repro/training_job.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS  4u /* that are drawn, the newest ones */
#define HEAVY   3u /* of the tokens: how much of the weight have the heaviest of them? */
#define SAMPLES 1024u

struct attention_found {
    double weight[TOKENS][FF__WINDOW]; /* of one window, mean of heads; the newest token last */
    double heavy; /* the heaviest tokens' share, mean of heads, tokens and windows */
};

static double share_of_heaviest(const float weights[FF__WINDOW]) {
    float left[FF__WINDOW];
    double sum = 0;
    memcpy(left, weights, sizeof left);
    for (uint32_t i = 0; i < HEAVY; i++) {
        uint32_t most = 0;
        for (uint32_t t = 1; t < FF__WINDOW; t++)
            most = left[t] > left[most] ? t : most;
        sum += (double)left[most];
        left[most] = 0;
    }
    return sum;
}

/* Positions of samples for testing whose windows are whole, at most `limit`; their number. */
static uint32_t find_whole(const struct ff__dataset *dataset, uint32_t *positions, uint32_t limit) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < dataset->test_count && count < limit; i++)
        if (dataset->age[dataset->test[i]] + 1 >= FF__WINDOW)
            positions[count++] = dataset->test[i];
    return count;
}

/* One head of one window: `drawn`, and it is one of so many. */
static void take(struct attention_found *found, const float weights[FF__WINDOW][FF__WINDOW],
                 bool drawn, uint32_t heads, uint32_t windows) {
    for (uint32_t t = 0; t < FF__WINDOW; t++)
        found->heavy += share_of_heaviest(weights[t]) / FF__WINDOW / heads / windows;
    for (uint32_t t = 0; drawn && t < TOKENS; t++)
        for (uint32_t i = 0; i < FF__WINDOW; i++)
            found->weight[t][i] += (double)weights[FF__WINDOW - TOKENS + t][i] / heads;
}

static void look(struct ff__net *net, const struct ff__dataset *dataset, struct ff__batch *batch,
                 float *logits, struct attention_found *found) {
    uint32_t positions[SAMPLES], count = find_whole(dataset, positions, SAMPLES);
    uint32_t heads = net->type->heads;
    float weights[FF__WINDOW][FF__WINDOW];
    for (uint32_t first = 0; first < count; first += net->capacity) {
        uint32_t here = count - first < net->capacity ? count - first : net->capacity;
        ff__batch_fill(batch, dataset, positions + first, here);
        net->type->forward(net, batch, logits);
        for (uint32_t i = 0; i < here * heads; i++) {
            net->type->attention(net, i / heads, i % heads, weights);
            take(found, weights, first + i / heads == 0, heads, count);
        }
    }
}

static int look_at_model(struct ff__net *net, const struct ff__dataset *dataset,
                         struct attention_found *found) {
    struct ff__batch batch;
    float *logits = malloc((size_t)net->capacity * net->shape.classes * sizeof *logits);
    int status = ff__batch_init(&batch, net->capacity);
    if (!status && !logits)
        status = -ENOMEM;
    if (!status)
        look(net, dataset, &batch, logits, found);
    free(logits);
    ff__batch_fini(&batch);
    return status;
}

static int find_attention(const struct ff__training_data *data, bool whole,
                          struct attention_found *found) {
    struct ff__corpus corpus;
    struct ff__model model = {0};
    struct ff__dataset dataset = {0};
    struct ff_error error;
    uint32_t batches = 0, steps = ff__net_transformer.steps;
    const struct ff__training_job job = {.data = data,
                                         .type = &ff__net_transformer,
                                         .steps = whole ? steps : steps / FF__HLSH_SHORTER,
                                         .subject = data->workloads.items[0]};
    int status = ff__training_data_record(data, 0, 1, &corpus);
    if (status)
        return status;
    status = ff__training_job_run(&job, &corpus, &model, &dataset, &batches, &error);
    if (status)
        ff__complain(0, "%s", error.message);
    else
        status = look_at_model(&model.net, &dataset, found);
    ff__dataset_fini(&dataset);
    ff__model_fini(&model);
    ff__corpus_fini(&corpus);
    return status ? ff__complain(FF__EXIT_FAILURE, "%s: %s", job.subject, strerror(-status)) : 0;
}

static void draw(json_t *tables, const char *program, const struct attention_found *found,
                 json_t *shares) {
    char *id = ff__text("figure7.%s", program);
    char *what = ff__text("%s: attention weights of the newest tokens", program);
    json_t *table = ff__repro_table(tables, id, what);
    for (uint32_t t = 0; t < TOKENS; t++)
        for (uint32_t i = 0; i < FF__WINDOW; i++) {
            char *name = ff__text("%u, token %u", i + 1, FF__WINDOW - TOKENS + t + 1);
            ff__repro_row(table, name, (double)NAN, found->weight[t][i]);
            free(name);
        }
    ff__repro_row(shares, program, (double)NAN, found->heavy);
    free(what);
    free(id);
}

int ff__repro_hlsh_attention(const struct ff__repro_plan *plan, json_t *tables) {
    const json_t *programs = json_object_get(plan->published, "attention_programs");
    struct ff__training_data data = {.seed = plan->study.seed, .distance = 1};
    json_t *shares = ff__repro_table(
        tables, "figure7.share", "the three heaviest of 30 weights, mean share; all alike: 0.100");
    size_t i;
    json_t *program;
    int status = ff__find_gpu(FF__HLSH_GPU, FF__EXIT_FAILURE, &data.gpu);
    ff__training_begin();
    json_array_foreach(programs, i, program) {
        struct attention_found found = {0};
        char *name = ff__text("%s", json_string_value(program));
        data.workloads = (struct ff__words){.items = &name, .count = 1};
        if (!status)
            status = find_attention(&data, plan->models, &found);
        if (!status)
            draw(tables, name, &found, shares);
        free(name);
    }
    return status;
}
