/* What all papers of a file run: their devices, what their workloads need, and their simulations,
 * which several tables may show. */
#ifndef FF_STUDY_REPRO_PAPER_H
#define FF_STUDY_REPRO_PAPER_H

#include "study/repro/repro.h"
#include "study/sim/simulations.h"

struct ff__paper {
    const struct ff__repro_plan *plan;
    struct ff__simulations runs;
    struct ff__paper_device **devices; /* each by its own allocation, as runs point to them */
    struct ff__paper_program *programs;
    unsigned device_count, program_count;
};

/* A device by its name in the file's `devices`, or as --gpu has it, read once; and the bytes of it
 * that a program gets, 0 if the file does not say. 0 or, with one line on stderr, an exit status.
 */
int ff__paper_device(struct ff__paper *paper, const char *name, const struct ff__gpu **gpu,
                     uint64_t *memory);

/* Bytes that a workload needs. 0 or negative errno with one line. */
int ff__paper_footprint(struct ff__paper *paper, const char *workload, uint64_t *out,
                        struct ff_error *error);

void ff__paper_free(struct ff__paper *paper);

#endif
