/* Figure 13: DeepUM, LMS and all kernels alone against UM on a V100 with 16 GB, with the
 * networks of the approaches that are based on TensorFlow. The text gives neither batches nor
 * values; here each network has the largest batch that Table 7 gives for Sentinel. */
#include "study/repro/deepum.h"

#include "report/text.h"
#include "study/repro/deepum_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const systems[] = {FF__DEEPUM, FF__DEEPUM_LMS, FF__DEEPUM_RESIDENT,
                                      FF__DEEPUM_UM};

enum { COMPARED = 3 };

static char *workload_of(const json_t *row) {
    return ff__text("%s,batch=%d", ff__repro_text(row, "network"),
                    (int)ff__repro_number(row, "sentinel"));
}

static void add_table(struct ff__deepum_runs *work, const json_t *rows, const char *system,
                      json_t *tables) {
    char *id = ff__text("13.%.*s", (int)strcspn(system, ": "), system);
    char *what = ff__text("%s, times as fast as UM on a V100 with 16 GB", system);
    json_t *table = ff__repro_table(tables, id, what), *row;
    size_t i;
    json_array_foreach(rows, i, row) {
        char *workload = workload_of(row);
        ff__repro_row(
            table, ff__repro_text(row, "config"), (double)NAN,
            ff__deepum_seconds(ff__deepum_run(work, workload, FF__DEEPUM_UM, FF__DEEPUM_SMALL)) /
                ff__deepum_seconds(ff__deepum_run(work, workload, system, FF__DEEPUM_SMALL)));
        free(workload);
    }
    free(id);
    free(what);
}

int ff__repro_deepum_tensorflow(const struct ff__repro_plan *plan, json_t *tables) {
    const json_t *rows = json_object_get(plan->published, "tensorflow");
    struct ff__deepum_runs work;
    int status = ff__deepum_runs_open(&work, plan);
    size_t i, j;
    json_t *row;
    json_array_foreach(rows, i, row) {
        char *workload = workload_of(row);
        for (j = 0; j < sizeof systems / sizeof systems[0]; j++)
            ff__deepum_runs_add(&work, workload, systems[j], FF__DEEPUM_SMALL);
        free(workload);
    }
    if (!status)
        status = ff__deepum_runs_make(&work, plan);
    for (j = 0; j < COMPARED && !status; j++)
        add_table(&work, rows, systems[j], tables);
    ff__deepum_runs_close(&work);
    return status;
}
