#include "nw.h"

#include <stdlib.h>

const struct problem nw_problem = {
    .default_iterations = 1,
    .iteration_is = "one alignment of the whole sequences",
};

static uint8_t *make_sequence(size_t length, uint64_t key) {
    uint8_t *sequence = host_array(length, 1);
    for (size_t i = 0; i < length; ++i)
        sequence[i] = (uint8_t)(random_bits(key, i) % RESIDUES);
    return sequence;
}

/* Like the usual substitution tables: symmetric, and a residue is most similar to itself. */
static void make_table(struct alignment *alignment, uint64_t key) {
    for (size_t i = 0; i < RESIDUES; ++i)
        for (size_t j = 0; j <= i; ++j) {
            const int similarity = (int)(random_bits(key, i * RESIDUES + j) % 8) - 4;
            alignment->table[i][j] = alignment->table[j][i] = i == j ? similarity + 8 : similarity;
        }
}

void nw_open(struct alignment *alignment, const struct work *work) {
    const uint64_t seed = work->seed;
    const size_t side = square_side(work->size, 2 * sizeof(int32_t), 2 * sizeof(int32_t));
    alignment->side = side / TILE * TILE;
    alignment->pitch = alignment->side + 1;
    alignment->down = make_sequence(alignment->side, random_key(seed, 'd'));
    alignment->across = make_sequence(alignment->side, random_key(seed, 'a'));
    make_table(alignment, random_key(seed, 't'));
}

void nw_close(struct alignment *alignment) {
    free(alignment->across);
    free(alignment->down);
}

static int similarity_at(const struct alignment *alignment, size_t row, size_t column) {
    return alignment->table[alignment->down[row]][alignment->across[column]];
}

int32_t *nw_similarities(const struct alignment *alignment) {
    const size_t side = alignment->side;
    int32_t *similarities = host_pages(side * side * sizeof(int32_t));
    for (size_t row = 0; row < side; ++row)
        for (size_t column = 0; column < side; ++column)
            similarities[row * side + column] = similarity_at(alignment, row, column);
    return similarities;
}

static int larger(int a, int b) {
    return a > b ? a : b;
}

/* Makes row `row` of the scores from the one above it. */
static void reference_row(const struct alignment *alignment, size_t row, const int *above,
                          int *out) {
    out[0] = -(int)row * GAP;
    for (size_t column = 1; column < alignment->pitch; ++column) {
        const int both = above[column - 1] + similarity_at(alignment, row - 1, column - 1);
        out[column] = larger(both, larger(above[column], out[column - 1]) - GAP);
    }
}

void nw_check(struct work *work, const int32_t *got, const struct alignment *alignment) {
    const size_t pitch = alignment->pitch;
    int *above = host_array(pitch, sizeof(int));
    int *row = host_array(pitch, sizeof(int));
    for (size_t column = 0; column < pitch; ++column)
        row[column] = -(int)column * GAP;
    for (size_t i = 0; i < pitch; ++i) {
        if (i > 0)
            reference_row(alignment, i, above, row);
        for (size_t column = 0; column < pitch; ++column)
            work_expect(work, i * pitch + column, got[i * pitch + column], row[column], 0);
        int *swap = above;
        above = row;
        row = swap;
    }
    free(row);
    free(above);
}
