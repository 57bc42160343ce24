/* Tables 3 and 7: the largest batches that the host's memory holds, and that LMS runs. */
#include "study/repro/experiments.h"

#include "backend/sim/lms/lms.h"
#include "report/text.h"
#include "study/repro/paper.h"
#include "workload/dnn/dnn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DLRM_UNIT  16384u /* of batches: those that are multiples of it are tried */
#define ITERATIONS 100u   /* some runs fail only after many, because LMS fragments memory */

/* What a batch must fit. */
struct limit {
    uint64_t seed;
    const struct ff__gpu *gpu;
    uint64_t memory, host; /* bytes of the device's and the host's: Table 1, and section 6.4 */
    bool lms;              /* LMS must run it, too */
    bool workspaces;
};

/* Without a time limit. */
static bool lms_runs(const struct limit *limit, const struct ff__workload *workload) {
    const struct ff__lms_config config = {limit->gpu, limit->memory, false};
    struct ff__sim_result result;
    struct ff_error error;
    return ff__lms_run(&config, workload, ITERATIONS, &result, &error) == 0;
}

static bool fits(const struct limit *limit, const char *network, uint64_t batch) {
    char *name = ff__text("%s%sbatch=%llu,iterations=%u,workspaces=%d", network,
                          strchr(network, ':') ? "," : ":", (unsigned long long)batch, ITERATIONS,
                          limit->workspaces);
    struct ff__workload *workload;
    struct ff_error error;
    bool good = ff__workload_open(name, limit->seed, &workload, &error) == 0;
    free(name);
    if (!good)
        return false;
    good = ff__dnn_placement(workload)->pool.reserved_peak <= limit->host &&
           (!limit->lms || lms_runs(limit, workload));
    ff__workload_close(workload);
    return good;
}

static double largest(const struct limit *limit, const char *network, uint64_t unit) {
    uint64_t low = 0, high = (UINT64_C(1) << 20) / unit;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (fits(limit, network, middle * unit))
            low = middle;
        else
            high = middle - 1;
    }
    return (double)(low * unit);
}

/* With workspaces only the networks that have them. */
static void add_column(const struct limit *limit, const json_t *rows, const char *number,
                       json_t *tables) {
    const char *system = limit->lms ? "lms" : "deepum";
    char *id = ff__text("%s.%s%s", number, system, limit->workspaces ? ".workspaces" : "");
    char *what = ff__text("the largest batch of %s, %s workspaces of convolutions", system,
                          limit->workspaces ? "with" : "without");
    json_t *table = ff__repro_table(tables, id, what), *row;
    size_t i;
    json_array_foreach(rows, i, row) if (!limit->workspaces ||
                                         json_is_true(json_object_get(row, "workspaces")))
        ff__repro_row(table, ff__json_text_of(row, "config"), ff__json_number_of(row, system),
                      largest(limit, ff__json_text_of(row, "network"),
                              ff__json_number_of(row, "unit") > 1 ? DLRM_UNIT : 1));
    free(id);
    free(what);
}

int ff__repro_deepum_batches(const struct ff__repro_plan *plan, json_t *tables) {
    static const struct {
        const char *set, *table, *device;
        uint64_t host;
    } hosts[] = {{"largest", "3", "v100-32g", UINT64_C(512) << 30},
                 {"tensorflow", "7", "v100-16g", UINT64_C(128) << 30}};
    const json_t *sets = json_object_get(plan->published, "sets");
    struct ff__paper paper = {.plan = plan};
    int status = 0;
    for (int i = 0; i < 8 && !status; i++) {
        struct limit limit = {.seed = plan->study.seed,
                              .host = hosts[i % 2].host,
                              .lms = i / 2 % 2 == 0,
                              .workspaces = i >= 4};
        status = ff__paper_device(&paper, hosts[i % 2].device, &limit.gpu, &limit.memory);
        if (!status)
            add_column(&limit, json_object_get(sets, hosts[i % 2].set), hosts[i % 2].table, tables);
    }
    ff__paper_free(&paper);
    return status;
}
