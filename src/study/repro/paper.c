#include "study/repro/paper.h"

#include "base/parse.h"
#include "report/complain.h"
#include "study/find.h"

#include <stdlib.h>
#include <string.h>

struct ff__paper_device {
    const char *name;
    struct ff__gpu gpu;
    uint64_t memory;
};

struct ff__paper_program {
    char *workload;
    uint64_t footprint;
};

#define GROW(array, count) ff__must(realloc(array, ((count) + 1) * sizeof *(array)))

static int read_device(const struct ff__paper *paper, struct ff__paper_device *device) {
    const json_t *own =
        json_object_get(json_object_get(paper->plan->published, "devices"), device->name);
    const char *size = ff__json_text_of(own, "memory");
    if (*size && ff__parse_size(size, &device->memory))
        return ff__complain(FF__EXIT_FAILURE, "%s: device '%s': '%s' is no size", paper->plan->file,
                            device->name, size);
    return ff__find_gpu(own ? ff__json_text_of(own, "gpu") : device->name, FF__EXIT_FAILURE,
                        &device->gpu);
}

int ff__paper_device(struct ff__paper *paper, const char *name, const struct ff__gpu **gpu,
                     uint64_t *memory) {
    unsigned i = 0;
    int status = 0;
    while (i < paper->device_count && strcmp(paper->devices[i]->name, name) != 0)
        i++;
    if (i == paper->device_count) {
        paper->devices = GROW(paper->devices, i);
        paper->devices[i] = ff__must(calloc(1, sizeof **paper->devices));
        paper->devices[i]->name = name;
        paper->device_count++;
        status = read_device(paper, paper->devices[i]);
    }
    *gpu = &paper->devices[i]->gpu;
    *memory = paper->devices[i]->memory;
    return status;
}

int ff__paper_footprint(struct ff__paper *paper, const char *workload, uint64_t *out,
                        struct ff_error *error) {
    const struct ff__subject subject = {workload, false, paper->plan->study.seed};
    struct ff__workload *opened;
    for (unsigned i = 0; i < paper->program_count; i++)
        if (strcmp(paper->programs[i].workload, workload) == 0) {
            *out = paper->programs[i].footprint;
            return 0;
        }
    int status = ff__subject_open(&subject, &opened, error);
    if (status)
        return status;
    *out = ff__workload_footprint(opened);
    ff__workload_close(opened);
    paper->programs = GROW(paper->programs, paper->program_count);
    paper->programs[paper->program_count++] =
        (struct ff__paper_program){ff__text("%s", workload), *out};
    return 0;
}

void ff__paper_free(struct ff__paper *paper) {
    for (unsigned i = 0; i < paper->device_count; i++)
        free(paper->devices[i]);
    for (unsigned i = 0; i < paper->program_count; i++)
        free(paper->programs[i].workload);
    free(paper->devices);
    free(paper->programs);
    ff__simulations_free(&paper->runs);
}
