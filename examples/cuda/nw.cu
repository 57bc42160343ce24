/*
 * Needleman-Wunsch: the best alignment of two random protein-like sequences. A cell of the score
 * matrix needs its upper, left and upper-left neighbours, so tiles run diagonal by diagonal, and
 * inside a tile one thread per row runs one step behind the row above it.
 */
#include "common.h"

#include "host/nw.h"

/* Row 0 and column 0 align a beginning of one sequence with nothing. */
__global__ void start_borders(int *score, size_t pitch) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= pitch)
        return;
    score[i] = -(int)i * GAP;
    score[i * pitch] = -(int)i * GAP;
}

__global__ void align_tiles(int *score, const int *similarity, size_t side, size_t diagonal,
                            size_t first_tile_row) {
    __shared__ int cells[TILE + 1][TILE + 1];
    __shared__ int similar[TILE][TILE];
    const unsigned lane = threadIdx.x;
    const size_t tile_row = first_tile_row + blockIdx.x;
    const size_t tile_column = diagonal - tile_row;
    const size_t pitch = side + 1;
    int *tile = score + tile_row * TILE * pitch + tile_column * TILE;
    const int *similarities = similarity + tile_row * TILE * side + tile_column * TILE;

    for (unsigned row = 0; row < TILE; row++)
        similar[row][lane] = similarities[row * side + lane];
    cells[0][lane + 1] = tile[lane + 1];
    cells[lane + 1][0] = tile[(lane + 1) * pitch];
    if (lane == 0)
        cells[0][0] = tile[0];
    __syncthreads();

    for (unsigned step = 0; step < 2 * TILE - 1; step++) {
        const unsigned column = step - lane;
        if (step >= lane && column < TILE) {
            const int both = cells[lane][column] + similar[lane][column];
            const int gap = max(cells[lane][column + 1], cells[lane + 1][column]) - GAP;
            cells[lane + 1][column + 1] = max(both, gap);
        }
        __syncthreads();
    }

    for (unsigned row = 1; row <= TILE; row++)
        tile[row * pitch + lane + 1] = cells[row][lane + 1];
}

static void align(int *score, const int *similarity, size_t side) {
    const size_t tiles = side / TILE;
    for (size_t diagonal = 0; diagonal < 2 * tiles - 1; diagonal++) {
        const size_t first_row = diagonal < tiles ? 0 : diagonal - tiles + 1;
        const size_t last_row = min_size(diagonal, tiles - 1);
        align_tiles<<<(unsigned)(last_row - first_row + 1), TILE>>>(score, similarity, side,
                                                                    diagonal, first_row);
    }
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &nw_problem, NULL, argc, argv);
    struct alignment alignment;
    nw_open(&alignment, &work);
    const size_t side = alignment.side, pitch = alignment.pitch;
    int32_t *host_similarity = nw_similarities(&alignment);
    int32_t *score = device_array<int32_t>(&work, pitch * pitch);
    int32_t *similarity = device_array<int32_t>(&work, side * side);

    work_start_clock(&work);
    upload(similarity, host_similarity, side * side);
    free(host_similarity);
    for (size_t i = 0; i < work.iterations; i++) {
        start_borders<<<blocks(pitch), THREADS>>>(score, pitch);
        align(score, similarity, side);
        end_iteration(&work);
    }
    int32_t *got = download(score, pitch * pitch);
    stop_clock(&work);

    if (work.check)
        nw_check(&work, got, &alignment);
    free(got);
    nw_close(&alignment);
    CHECK(cudaFree(similarity));
    CHECK(cudaFree(score));
    return work_close(&work);
}
