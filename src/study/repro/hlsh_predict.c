/* Long, Gong, Zhou and Zhang, arXiv 2203.12672, Tables 1 to 8 and Figures 5, 6 and 9: predictors of
 * pages, each trained on one modelled program and tested on accesses that it was not trained on. */
#include "study/repro/experiments.h"

#include "base/checksum.h"
#include "learn/predictor.h"
#include "learn/train/nets.h"
#include "learn/train/score.h"
#include "report/complain.h"
#include "report/json.h"
#include "study/find.h"
#include "study/repro/hlsh.h"
#include "study/repro/training_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS     (28 * 64) /* its warps, at most */
#define SHORT_TESTS 5000u     /* of a Transformer that was trained for a shorter time */
#define MB          1e6

/* ---- predictors ---- */

/* A network and a program that a row of a table asks for; several rows may ask for the same. */
struct measured_network {
    const char *program;
    const struct ff__net_type *type;
    enum ff__cluster by;
    uint32_t distance;
    const char *only; /* the feature that tokens have; "": all of the network's */
    bool shuffled;    /* windows */
    struct network_quality {
        bool good;
        struct ff__score score;
        double params, work; /* MB */
    } found;
};

struct hlsh_predict_repro {
    struct ff__gpu gpu;
    const struct ff__repro_plan *plan;
    struct measured_network *candidates;
    unsigned count;
};

static enum ff__cluster cluster_of(const json_t *row) {
    const char *name = ff__json_text_of(row, "cluster");
    for (unsigned i = 0; i < FF__CLUSTERS; i++)
        if (strcmp(name, ff__cluster_name((enum ff__cluster)i)) == 0)
            return (enum ff__cluster)i;
    return FF__CLUSTER_SM_WARP;
}

/* By the names of the paper's Figure 3. */
static const char *const features[FF__FEATURES] = {
    [FF__FEATURE_PAGE] = "page",
    [FF__FEATURE_DELTA] = "page delta",
    [FF__FEATURE_PC] = "PC",
    [FF__FEATURE_MISS] = "hit/miss",
    [FF__FEATURE_WARP] = "warp",
    [FF__FEATURE_SM] = "SM",
    [FF__FEATURE_TPC] = "TPC",
    [FF__FEATURE_CTA] = "CTA",
    [FF__FEATURE_LEAF] = "block",
    [FF__FEATURE_ROOT] = "root",
    [FF__FEATURE_INPUTS] = "inputs",
    [FF__FEATURE_LEAF_DELTA] = "block delta",
    [FF__FEATURE_ROOT_DELTA] = "root delta",
};

/* All but the one; none if there is no such name. */
static uint32_t hidden_without(const char *only) {
    for (uint32_t f = 0; f < FF__FEATURES; f++)
        if (strcmp(features[f], only) == 0)
            return ((UINT32_C(1) << FF__FEATURES) - 1) & ~(UINT32_C(1) << f);
    return 0;
}

/* The candidate that the row asks for, added if it is new. */
static struct measured_network *candidate_of(struct hlsh_predict_repro *work, const json_t *row) {
    const json_t *distance = json_object_get(row, "distance");
    const struct measured_network asked = {
        .program = ff__json_text_of(row, "program"),
        .type = ff__net_type_find(ff__all_nets, ff__json_text_of(row, "network")),
        .by = cluster_of(row),
        .distance = distance ? (uint32_t)json_integer_value(distance) : 1,
        .only = ff__json_text_of(row, "only"),
        .shuffled = json_is_true(json_object_get(row, "shuffled")),
    };
    for (unsigned i = 0; i < work->count; i++) {
        struct measured_network *known = &work->candidates[i];
        if (strcmp(known->program, asked.program) == 0 && known->type == asked.type &&
            known->by == asked.by && known->distance == asked.distance &&
            strcmp(known->only, asked.only) == 0 && known->shuffled == asked.shuffled)
            return known;
    }
    work->candidates =
        ff__must(realloc(work->candidates, (work->count + 1) * sizeof *work->candidates));
    work->candidates[work->count] = asked;
    return &work->candidates[work->count++];
}

/* A table without a part is of `predictors`. */
static bool is_asked_for(const struct ff__repro_plan *plan, const json_t *table) {
    const char *part = ff__json_text_of(table, "part");
    return ff__repro_has_word(plan->parts ? plan->parts : "predictors",
                              part[0] ? part : "predictors");
}

static int check_row(struct hlsh_predict_repro *work, const json_t *table, const json_t *row) {
    const char *only = ff__json_text_of(row, "only");
    const char *wrong = !candidate_of(work, row)->type         ? "network"
                        : only[0] && hidden_without(only) == 0 ? "feature"
                                                               : NULL;
    return wrong ? ff__complain(FF__EXIT_FAILURE, "published/hlsh_predict.json: %s: unknown %s",
                                ff__json_text_of(table, "id"), wrong)
                 : 0;
}

static int plan_all(struct hlsh_predict_repro *work, const json_t *published) {
    size_t i, j;
    const json_t *table, *row;
    int status = 0;
    json_array_foreach(json_object_get(published, "tables"), i, table) json_array_foreach(
        json_object_get(table, "rows"), j, row) if (!status && is_asked_for(work->plan, table))
        status = check_row(work, table, row);
    return status;
}

/* ---- training ---- */

/* Memory for inference: that of the integer code for the revised predictor, and of others the
 * floats of the reference code for a batch. */
static int weigh(struct measured_network *candidate, const struct ff__net *net) {
    struct ff__predictor predictor;
    candidate->found.params = (double)(net->param_count * sizeof(float)) / MB;
    candidate->found.work =
        (double)(net->type->work(net->type, &net->shape, net->capacity) * sizeof(float)) / MB;
    if (net->type != &ff__net_hlsh)
        return 0;
    int status = ff__predictor_init(&predictor, net);
    if (status)
        return status;
    candidate->found.params = (double)ff__predictor_size(&predictor) / MB;
    candidate->found.work = (double)(STREAMS * sizeof(struct ff__stream)) / MB;
    ff__predictor_fini(&predictor);
    return 0;
}

/* A model's file says nothing of what its windows hide. */
static char *file_of(const struct hlsh_predict_repro *work,
                     const struct measured_network *candidate) {
    bool plain = !candidate->only[0] && !candidate->shuffled;
    return work->plan->models && plain
               ? ff__text("%s/%s-%s-%s-%u.model", work->plan->models, candidate->program,
                          candidate->type->name, ff__cluster_name(candidate->by),
                          candidate->distance)
               : NULL;
}

static void train(const struct hlsh_predict_repro *work, struct measured_network *candidate,
                  const struct ff__training_data *data, const struct ff__corpus *corpus) {
    struct ff__model model = {0};
    struct ff__dataset dataset = {0};
    struct ff_error error;
    uint32_t batches = 0;
    bool whole = work->plan->models || candidate->type != &ff__net_transformer;
    char *output = file_of(work, candidate);
    const struct ff__training_job job = {
        .data = data,
        .type = candidate->type,
        .steps = whole ? candidate->type->steps : candidate->type->steps / FF__HLSH_SHORTER,
        .subject = candidate->program,
        .output = output,
        .reuse = true,
    };
    if (ff__training_job_run(&job, corpus, &model, &dataset, &batches, &error))
        ff__complain(0, "%s", error.message);
    else
        candidate->found.good =
            ff__net_score(&model.net, &dataset, whole ? FF__TEST_SAMPLES_MAX : SHORT_TESTS,
                          &candidate->found.score) == 0 &&
            weigh(candidate, &model.net) == 0;
    ff__dataset_fini(&dataset);
    ff__model_fini(&model);
    free(output);
}

static void run_job(void *self, unsigned index) {
    struct hlsh_predict_repro *work = self;
    struct measured_network *candidate = &work->candidates[index];
    struct ff__corpus corpus;
    char *name = ff__text("%s", candidate->program);
    const struct ff__training_data data = {
        .workloads = {.items = &name, .count = 1},
        .gpu = work->gpu,
        .seed = work->plan->study.seed,
        .distance = candidate->distance,
        .by = candidate->by,
        .hidden = hidden_without(candidate->only),
        .shuffled = candidate->shuffled,
    };
    if (ff__training_data_record(&data, 0, 1, &corpus) == 0) {
        train(work, candidate, &data, &corpus);
        ff__corpus_fini(&corpus);
    }
    free(name);
}

/* What is known of a predictor, all of it numbers. */
static const struct {
    const char *name;
    size_t offset;
} qualities[] = {
#define QUALITY(name, member)                                                                      \
    { name, offsetof(struct network_quality, member) }
    QUALITY("f1", score.f1),         QUALITY("top1", score.top1),
    QUALITY("top10", score.top10),   QUALITY("majority", score.majority),
    QUALITY("escape", score.escape), QUALITY("no_page", score.no_page),
    QUALITY("params", params),       QUALITY("work", work),
#undef QUALITY
};

#define QUALITIES (sizeof qualities / sizeof qualities[0])

static double quality_of(const struct network_quality *found, size_t which) {
    return *(const double *)(const void *)((const char *)found + qualities[which].offset);
}

/* What a folder for models has is kept by that. */
static bool key_of(const void *self, unsigned index, struct ff__store_key *out) {
    const struct hlsh_predict_repro *work = self;
    const struct measured_network *candidate = &work->candidates[index];
    *out = (struct ff__store_key){
        .subject = candidate->program,
        .system = candidate->type->name,
        .device = work->gpu.name,
        .seed = work->plan->study.seed,
        .options = ff__text("%s, %u ahead%s%s%s", ff__cluster_name(candidate->by),
                            candidate->distance, candidate->only[0] ? ", only " : "",
                            candidate->only, candidate->shuffled ? ", shuffled" : ""),
        .data = ff__crc32c(0, &work->gpu, sizeof work->gpu)};
    return !work->plan->models;
}

static struct ff__found found_by(const void *self, unsigned index) {
    const struct network_quality *found =
        &((const struct hlsh_predict_repro *)self)->candidates[index].found;
    return (struct ff__found){.failure = found->good ? NULL : "it could not be trained",
                              .seconds = (double)NAN,
                              .figure = 100 * found->score.top1,
                              .unit = "% top-1"};
}

static json_t *result_of(const void *self, unsigned index) {
    const struct network_quality *found =
        &((const struct hlsh_predict_repro *)self)->candidates[index].found;
    json_t *all = ff__must(json_object());
    for (size_t i = 0; i < QUALITIES; i++)
        ff__json_set(all, qualities[i].name, ff__json_number(quality_of(found, i)));
    ff__json_set(all, "good", json_boolean(found->good));
    return all;
}

static bool restore(void *self, unsigned index, const json_t *all) {
    struct network_quality *found = &((struct hlsh_predict_repro *)self)->candidates[index].found;
    for (size_t i = 0; i < QUALITIES; i++)
        *(double *)(void *)((char *)found + qualities[i].offset) =
            ff__json_number_of(all, qualities[i].name);
    return found->good = json_is_true(json_object_get(all, "good"));
}

static int run_all(struct hlsh_predict_repro *work) {
    const struct ff__cells cells = {.count = work->count,
                                    .run = run_job,
                                    .key = key_of,
                                    .found = found_by,
                                    .result = result_of,
                                    .restore = restore,
                                    .self = work};
    ff__training_begin();
    return ff__cells_run(&work->plan->study, &cells);
}

/* ---- tables ---- */

static double metric_of(const struct measured_network *candidate, const char *metric) {
    const struct network_quality *found = &candidate->found;
    for (size_t i = 0; found->good && i < QUALITIES; i++)
        if (strcmp(qualities[i].name, metric) == 0)
            return quality_of(found, i);
    return found->good && strcmp(metric, "memory") == 0 ? found->params + found->work : (double)NAN;
}

static char *name_of(const json_t *row, const struct measured_network *candidate) {
    char *name = ff__text("%s %s", candidate->program, candidate->type->name);
    if (json_object_get(row, "cluster"))
        name = ff__text_add(name, ", %s", ff__cluster_name(candidate->by));
    if (json_object_get(row, "distance"))
        name = ff__text_add(name, ", %u ahead", candidate->distance);
    if (candidate->only[0])
        name = ff__text_add(name, ", only %s", candidate->only);
    return candidate->shuffled ? ff__text_add(name, ", shuffled") : name;
}

static void make_table(json_t *tables, struct hlsh_predict_repro *work, const json_t *published,
                       const char *metric) {
    char *id = ff__text("%s.%s", ff__json_text_of(published, "id"), metric);
    char *what = ff__text("%s: %s", ff__json_text_of(published, "what"), metric);
    json_t *table = ff__repro_table(tables, id, what), *row;
    size_t i;
    json_array_foreach(json_object_get(published, "rows"), i, row) {
        const struct measured_network *candidate = candidate_of(work, row);
        char *name = name_of(row, candidate);
        ff__repro_row(table, name, ff__json_number_of(row, metric), metric_of(candidate, metric));
        free(name);
    }
    free(id);
    free(what);
}

/* Means over the programs of a network, as the paper states them: arithmetic. */
static void make_mean(json_t *means, struct hlsh_predict_repro *work, const json_t *rows,
                      const char *network, const char *metric) {
    double paper = 0, ours = 0;
    unsigned count = 0;
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row) {
        if (strcmp(ff__json_text_of(row, "network"), network) != 0)
            continue;
        paper += ff__json_number_of(row, metric);
        ours += metric_of(candidate_of(work, row), metric);
        count++;
    }
    char *name = ff__text("%s %s", network, metric);
    if (count > 0)
        ff__repro_row(means, name, paper / count, ours / count);
    free(name);
}

static void make_tables(struct hlsh_predict_repro *work, const json_t *published, json_t *tables) {
    static const char *const mean_of[] = {"f1", "top1", "majority", "no_page"};
    size_t i, j;
    json_t *table, *metric, *means = NULL;
    json_array_foreach(json_object_get(published, "tables"), i, table) {
        const json_t *rows = json_object_get(table, "rows");
        if (!is_asked_for(work->plan, table))
            continue;
        json_array_foreach(json_object_get(table, "metrics"), j, metric)
            make_table(tables, work, table, json_string_value(metric));
        if (strcmp(ff__json_text_of(table, "id"), "table8") != 0)
            continue;
        means = ff__repro_table(tables, "table8.mean", "arithmetic means of Table 8");
        for (ff__net_types type = ff__all_nets; *type; type++)
            for (size_t m = 0; m < sizeof mean_of / sizeof mean_of[0]; m++)
                make_mean(means, work, rows, (*type)->name, mean_of[m]);
    }
}

int ff__repro_hlsh_predict(const struct ff__repro_plan *plan, json_t *tables) {
    struct hlsh_predict_repro work = {.plan = plan};
    json_t *published = NULL;
    int status = ff__repro_published("hlsh_predict", &published);
    if (!status)
        status = ff__find_gpu(FF__HLSH_GPU, FF__EXIT_FAILURE, &work.gpu);
    if (!status)
        status = plan_all(&work, published);
    if (!status)
        status = run_all(&work);
    if (!status)
        make_tables(&work, published, tables);
    free(work.candidates);
    json_decref(published);
    return status;
}
