/* ptx_programs mvt|hotspot|2dconv TRACE: a program of which the simulator has a model of the same
 * name and, where nothing else is said, size, in kernels of tests/ptx/kernels; every access is
 * recorded to TRACE. */
#include "ptx_side.h"

#include <stdio.h>
#include <string.h>

#define LAUNCHES 4

static const struct program {
    const char *name, *topic;
    int32_t n;
    const char *kernels[LAUNCHES]; /* in turn; with the data of the first */
    int from, to;                  /* buffers that are exchanged after each */
} programs[] = {
    {"mvt", "polybench", 1200, {"mvt_rows", "mvt_columns"}, 0, 0},
    {"hotspot", "stencil", 1024, {"hotspot", "hotspot", "hotspot", "hotspot"}, 0, 2},
    {"2dconv", "polybench", 1024, {"convolution"}, 0, 0},
};

static void run(const struct program *program, const char *path) {
    struct kernel_plan plan;
    struct side side = side_open(program->topic, path);
    kernel_plan_make(&plan, side_case(program->topic, program->kernels[0]), program->n);
    side_fill(&side, &plan);
    for (int i = 0; i < LAUNCHES && program->kernels[i] != NULL; i++) {
        side_launch(&side, program->kernels[i], &plan);
        void *from = side.buffers[program->from];
        side.buffers[program->from] = side.buffers[program->to];
        side.buffers[program->to] = from;
    }
    kernel_plan_free(&plan);
    side_close(&side);
}

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof programs / sizeof *programs && argc == 3; i++)
        if (strcmp(programs[i].name, argv[1]) == 0) {
            run(&programs[i], argv[2]);
            return 0;
        }
    fprintf(stderr, "usage: ptx_programs mvt|hotspot|2dconv TRACE\n");
    return 2;
}
