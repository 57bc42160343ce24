#include "study/live/result.h"

#include <stdio.h>
#include <stdlib.h>

void ff__result_fail(struct ff__result *result, const char *reason) {
    result->failed = true;
    snprintf(result->reason, sizeof result->reason, "%s", reason);
}

void ff__result_add(struct ff__result *result, struct ff__trial *trial) {
    if (!trial->good || result->count == FF__RUNS_MAX) {
        ff__result_fail(result, trial->reason);
        ff__summary_free(&trial->summary);
        return;
    }
    result->turns[result->count] = trial->summary.measures.seconds;
    unsigned place = result->count++;
    for (; place > 0 && result->runs[place - 1].measures.seconds > trial->summary.measures.seconds;
         place--)
        result->runs[place] = result->runs[place - 1];
    result->runs[place] = trial->summary;
    trial->summary = (struct ff__summary){0};
}

void ff__result_free(struct ff__result *result) {
    for (unsigned i = 0; i < result->count; i++)
        ff__summary_free(&result->runs[i]);
    result->count = 0;
}

double ff__result_median(const struct ff__result *result) {
    return (result->runs[(result->count - 1) / 2].measures.seconds +
            result->runs[result->count / 2].measures.seconds) /
           2;
}

double ff__result_min(const struct ff__result *result) {
    return result->runs[0].measures.seconds;
}

double ff__result_max(const struct ff__result *result) {
    return result->runs[result->count - 1].measures.seconds;
}

const struct ff__summary *ff__result_typical(const struct ff__result *result) {
    return &result->runs[(result->count - 1) / 2];
}

bool ff__result_usable(const struct ff__result *result) {
    return !result->failed && result->count > 0 && ff__result_median(result) > 0;
}
