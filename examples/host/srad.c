#include "srad.h"

#include <math.h>
#include <stdlib.h>

const struct problem srad_problem = {
    .default_iterations = 6,
    .iteration_is = "one estimate of the speckle and one diffusion of the image",
};

size_t srad_side(const struct work *work) {
    return square_side(work->size, 6 * sizeof(float), 0);
}

float srad_speckle(const float region[REGION_SIDE * REGION_SIDE]) {
    const int pixels = REGION_SIDE * REGION_SIDE;
    double sum = 0, squares = 0;
    for (int i = 0; i < pixels; ++i) {
        sum += (double)region[i];
        squares += (double)region[i] * (double)region[i];
    }
    const double mean = sum / pixels;
    const double variance = squares / pixels - mean * mean;
    return (float)fmax(variance / (mean * mean), 1e-4);
}

/* Like ultrasound, whose intensities are an exponential of what was recorded: from 1 to e. */
float *srad_image(const struct work *work) {
    const size_t pixels = srad_side(work) * srad_side(work);
    const uint64_t key = random_key(work->seed, 'i');
    float *image = host_pages(pixels * sizeof(float));
    for (size_t i = 0; i < pixels; ++i)
        image[i] = expf(random_unit(key, i));
    return image;
}

static float image_speckle(const float *image, size_t side) {
    float region[REGION_SIDE * REGION_SIDE];
    for (size_t i = 0; i < REGION_SIDE * REGION_SIDE; ++i)
        region[i] = image[i / REGION_SIDE * side + i % REGION_SIDE];
    return srad_speckle(region);
}

struct derivatives {
    float north, south, west, east;
};

static struct derivatives derivatives_at(const float *image, size_t side, size_t x, size_t y) {
    const size_t here = y * side + x;
    const float pixel = image[here];
    return (struct derivatives){
        .north = (y > 0 ? image[here - side] : pixel) - pixel,
        .south = (y + 1 < side ? image[here + side] : pixel) - pixel,
        .west = (x > 0 ? image[here - 1] : pixel) - pixel,
        .east = (x + 1 < side ? image[here + 1] : pixel) - pixel,
    };
}

static float reference_coefficient(float pixel, struct derivatives to, float speckle) {
    const float gradient =
        (to.north * to.north + to.south * to.south + to.west * to.west + to.east * to.east) /
        (pixel * pixel);
    const float laplacian = (to.north + to.south + to.west + to.east) / pixel;
    const float spread = 1.0f + 0.25f * laplacian;
    const float variation = (0.5f * gradient - 0.0625f * laplacian * laplacian) / (spread * spread);
    const float excess = (variation - speckle) / (speckle * (1.0f + speckle));
    return fminf(fmaxf(1.0f / (1.0f + excess), 0.0f), 1.0f);
}

/* One iteration from one image into another; coefficient is scratch memory of the same size. */
static void reference_iteration(const float *from, float *to, float *coefficient, size_t side) {
    const float speckle = image_speckle(from, side);
    for (size_t y = 0; y < side; ++y)
        for (size_t x = 0; x < side; ++x)
            coefficient[y * side + x] = reference_coefficient(
                from[y * side + x], derivatives_at(from, side, x, y), speckle);

    for (size_t y = 0; y < side; ++y) {
        for (size_t x = 0; x < side; ++x) {
            const size_t here = y * side + x;
            const struct derivatives toward = derivatives_at(from, side, x, y);
            const float own = coefficient[here];
            const float below = y + 1 < side ? coefficient[here + side] : own;
            const float right = x + 1 < side ? coefficient[here + 1] : own;
            const float divergence =
                own * toward.north + below * toward.south + own * toward.west + right * toward.east;
            to[here] = from[here] + 0.25f * LAMBDA * divergence;
        }
    }
}

void srad_check(struct work *work, const float *got) {
    const size_t side = srad_side(work);
    const size_t pixels = side * side;
    float *from = srad_image(work);
    float *to = host_pages(pixels * sizeof(float));
    float *coefficient = host_pages(pixels * sizeof(float));
    for (size_t i = 0; i < work->iterations; ++i) {
        reference_iteration(from, to, coefficient, side);
        float *swap = from;
        from = to;
        to = swap;
    }
    work_expect_floats(work, got, from, pixels, 1e-4);
    free(coefficient);
    free(to);
    free(from);
}
