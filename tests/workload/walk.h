/* Going through a workload, for the tests of this folder. */
#ifndef FF_TESTS_WORKLOAD_WALK_H
#define FF_TESTS_WORKLOAD_WALK_H

#include "base/cases.h"

#include "workload/workload.h"

#define PAGE 4096

static inline struct ff__workload *open_workload(const char *spec) {
    struct ff__workload *workload;
    struct ff_error error = {{0}};
    int status = ff__workload_open(spec, 1, &workload, &error);
    if (status)
        fail_msg("%s: %d, %s", spec, status, error.message);
    return workload;
}

static inline uint64_t pages_of(const struct ff__array *array) {
    return (array->bytes + PAGE - 1) / PAGE;
}

/* The array that a page is in; arrays are placed as allocations are, 2 MiB apart or more. */
static inline uint32_t array_of(const struct ff__workload *workload, uint64_t page) {
    for (uint32_t i = 0; i < workload->array_count; i++)
        if (page >= workload->arrays[i].first_page &&
            page - workload->arrays[i].first_page < pages_of(&workload->arrays[i]))
            return i;
    fail_msg("%s: page %llu is in no array", workload->name, (unsigned long long)page);
    return 0;
}

static inline bool find_launch(const struct ff__workload *workload, uint64_t which,
                               struct ff__kernel *out) {
    struct ff__action action;
    for (uint64_t i = 0; workload->type->action(workload, i, &action); i++) {
        if (action.kind == FF__ACTION_LAUNCH && which-- == 0) {
            *out = action.kernel;
            return true;
        }
    }
    return false;
}

#endif
