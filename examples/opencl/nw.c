/*
 * Needleman-Wunsch: the best alignment of two random protein-like sequences. A cell of the score
 * matrix needs its upper, left and upper-left neighbours, so tiles run diagonal by diagonal, and
 * inside a tile one work-item per row runs one step behind the row above it.
 */
#include "common.h"

#include "host/nw.h"

#include <stdlib.h>

static const char kernels[] = OPENCL_SOURCE(
    /* Row 0 and column 0 align a beginning of one sequence with nothing. */
    __kernel void start_borders(__global int *score, ulong pitch) {
        const ulong i = get_global_id(0);
        if (i >= pitch)
            return;
        score[i] = -(int)i * GAP;
        score[i * pitch] = -(int)i * GAP;
    }

    __kernel void align_tiles(__global int *score, __global const int *similarity, ulong side,
                              ulong diagonal, ulong first_tile_row) {
        __local int cells[TILE + 1][TILE + 1];
        __local int similar[TILE][TILE];
        const uint lane = get_local_id(0);
        const ulong tile_row = first_tile_row + get_group_id(0);
        const ulong tile_column = diagonal - tile_row;
        const ulong pitch = side + 1;
        __global int *tile = score + tile_row * TILE * pitch + tile_column * TILE;
        __global const int *similarities = similarity + tile_row * TILE * side + tile_column * TILE;

        for (uint row = 0; row < TILE; ++row)
            similar[row][lane] = similarities[row * side + lane];
        cells[0][lane + 1] = tile[lane + 1];
        cells[lane + 1][0] = tile[(lane + 1) * pitch];
        if (lane == 0)
            cells[0][0] = tile[0];
        barrier(CLK_LOCAL_MEM_FENCE);

        for (uint step = 0; step < 2 * TILE - 1; ++step) {
            const uint column = step - lane;
            if (step >= lane && column < TILE) {
                const int both = cells[lane][column] + similar[lane][column];
                const int gap = max(cells[lane][column + 1], cells[lane + 1][column]) - GAP;
                cells[lane + 1][column + 1] = max(both, gap);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        for (uint row = 1; row <= TILE; ++row)
            tile[row * pitch + lane + 1] = cells[row][lane + 1];
    });

static const struct program program = {
    .problem = &nw_problem,
    .kernels = kernels,
};

static void align(struct app *app, cl_kernel align_tiles, cl_mem score, cl_mem similarity,
                  size_t side) {
    const size_t tiles = side / TILE;
    for (size_t diagonal = 0; diagonal < 2 * tiles - 1; ++diagonal) {
        const size_t first_row = diagonal < tiles ? 0 : diagonal - tiles + 1;
        const size_t last_row = min_size(diagonal, tiles - 1);
        app_launch(app, align_tiles, over_groups(last_row - first_row + 1, TILE), ARG(score),
                   ARG(similarity), ARG(side), ARG(diagonal), ARG(first_row));
    }
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel start_borders = app_kernel(&app, "start_borders");
    cl_kernel align_tiles = app_kernel(&app, "align_tiles");

    struct alignment alignment;
    nw_open(&alignment, &app.work);
    const size_t side = alignment.side;
    const size_t pitch = alignment.pitch;
    const size_t score_bytes = pitch * pitch * sizeof(cl_int);
    const size_t similarity_bytes = side * side * sizeof(cl_int);
    cl_int *host_similarity = nw_similarities(&alignment);

    cl_mem score = app_buffer(&app, CL_MEM_READ_WRITE, score_bytes, NULL);
    cl_mem similarity = app_buffer(&app, CL_MEM_READ_ONLY, similarity_bytes, NULL);

    app_start_clock(&app);
    app_write(&app, similarity, similarity_bytes, host_similarity);
    free(host_similarity);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        app_launch(&app, start_borders, over(pitch), ARG(score), ARG(pitch));
        align(&app, align_tiles, score, similarity, side);
        app_end_iteration(&app);
    }
    const cl_int *got = app_download(&app, score, score_bytes);
    app_stop_clock(&app);

    if (app.work.check)
        nw_check(&app.work, got, &alignment);
    nw_close(&alignment);
    return app_close(&app);
}
