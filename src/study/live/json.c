/* What only programs have in results. */
#include "study/live/compare.h"

#include <math.h>

const char *ff__compare_measures(const void *self, unsigned cell, struct ff__run_measures *out) {
    const struct ff__result *result = ff__compare_result(self, cell);
    *out = (struct ff__run_measures){.seconds = (double)NAN};
    if (result->failed)
        return result->reason;
    *out = ff__result_typical(result)->measures;
    out->seconds = ff__result_median(result);
    return NULL;
}

/* null: its exit status is 0, and that is all that is known. */
static json_t *verified(const struct ff__comparison *comparison, unsigned program,
                        const struct ff__result *result) {
    bool looked = comparison->programs.items[program].bundled || comparison->same_output;
    return result->failed || looked ? json_boolean(!result->failed) : json_null();
}

void ff__compare_add_run(const void *self, unsigned cell, json_t *run) {
    const struct ff__comparison *comparison = self;
    const struct ff__result *result = ff__compare_result(comparison, cell);
    const struct ff__matrix_place place = ff__matrix_place(&comparison->matrix, cell);
    ff__json_set(run, "verified", verified(comparison, place.subject, result));
    ff__json_set(run, "runs", ff__json_count(result->count));
    if (result->failed)
        return;
    ff__json_set(run, "min", ff__json_number(ff__result_min(result)));
    ff__json_set(run, "max", ff__json_number(ff__result_max(result)));
    if (place.of_system)
        ff__json_set(run, "paired",
                     ff__matrix_paired_json(&comparison->matrix,
                                            ff__matrix_paired(&comparison->matrix, place.subject,
                                                              place.subject + 1, &place)));
    ff__json_set(run, "summary", json_incref(ff__result_typical(result)->all));
}

void ff__compare_add_mean(const void *self, const struct ff__matrix_place *place, json_t *mean) {
    const struct ff__comparison *comparison = self;
    const struct ff__matrix *matrix = &comparison->matrix;
    struct ff__mean above = ff__limits_above(comparison, place);
    ff__json_set(mean, "paired",
                 ff__matrix_paired_json(
                     matrix, ff__matrix_paired(matrix, 0, matrix->subjects.count, place)));
    if (comparison->bound)
        ff__json_set(mean, "above_bound", ff__json_number(ff__mean_value(&above)));
}

json_t *ff__compare_results(const struct ff__comparison *comparison) {
    json_t *all = ff__results_new("compare");
    ff__json_set(all, "opencl",
                 comparison->opencl[0] ? ff__json_text(comparison->opencl) : json_null());
    ff__matrix_add_results(&comparison->matrix, all);
    if (comparison->bound)
        ff__json_set(all, "bounds", ff__limits_results(comparison));
    return all;
}
