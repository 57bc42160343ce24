#include "conv2d.h"

#include <stdlib.h>

const struct problem conv2d_problem = {
    .default_iterations = 10,
    .iteration_is = "one convolution of the whole image",
};

size_t conv2d_side(const struct work *work) {
    return square_side(work->size, 2 * sizeof(float), 0);
}

void conv2d_start(const struct work *work, float *in, float *out) {
    const size_t pixels = conv2d_side(work) * conv2d_side(work);
    fill_digits(in, pixels, random_key(work->seed, 'i'), 0);
    for (size_t i = 0; i < pixels; ++i)
        out[i] = 0.0f;
}

/* Makes one row of the input again; three rows are kept, so a row replaces the one three above. */
static float *input_row(float *window, size_t side, size_t y, uint64_t key) {
    float *row = window + (y % 3) * side;
    fill_digits(row, side, key, y * side);
    return row;
}

static float convolve_pixel(const float *above, const float *middle, const float *below) {
    return NORTH_WEST * above[-1] + NORTH * above[0] + NORTH_EAST * above[1] + WEST * middle[-1] +
           CENTER * middle[0] + EAST * middle[1] + SOUTH_WEST * below[-1] + SOUTH * below[0] +
           SOUTH_EAST * below[1];
}

/* The kernel leaves the border of the output alone, so it must still hold what the host put. */
static void check_border(struct work *work, const float *out, size_t side) {
    for (size_t i = 0; i < side; ++i) {
        const size_t border[] = {i, (side - 1) * side + i, i * side, i * side + side - 1};
        for (size_t j = 0; j < sizeof(border) / sizeof(border[0]); ++j)
            work_expect(work, border[j], out[border[j]], 0, 0);
    }
}

void conv2d_check(struct work *work, const float *out) {
    const size_t side = conv2d_side(work);
    const uint64_t key = random_key(work->seed, 'i');
    float *window = host_array(3 * side, sizeof(float));
    const float *above = input_row(window, side, 0, key);
    const float *middle = input_row(window, side, 1, key);
    for (size_t y = 1; y + 1 < side; ++y) {
        const float *below = input_row(window, side, y + 1, key);
        for (size_t x = 1; x + 1 < side; ++x)
            work_expect(work, y * side + x, out[y * side + x],
                        convolve_pixel(above + x, middle + x, below + x), 0);
        above = middle;
        middle = below;
    }
    free(window);
    check_border(work, out, side);
}
