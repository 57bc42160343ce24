#include "integral.h"

#include <stdlib.h>

const struct problem integral_problem = {
    .default_iterations = 1,
    .iteration_is = "one pass along the rows and one down the columns, over what the last one left",
};

size_t integral_side(const struct work *work) {
    return square_side(work->size, sizeof(uint32_t), 0) / COLUMNS_PER_ITEM * COLUMNS_PER_ITEM;
}

uint32_t *integral_image(const struct work *work) {
    const size_t pixels = integral_side(work) * integral_side(work);
    const uint64_t key = random_key(work->seed, 'i');
    uint32_t *image = host_pages(pixels * sizeof(uint32_t));
    for (size_t i = 0; i < pixels; ++i)
        image[i] = (uint32_t)(random_bits(key, i) >> 56);
    return image;
}

/* Both passes at once: what is left of a pixel has been summed when its turn comes. */
static void reference(uint32_t *image, size_t side) {
    for (size_t row = 0; row < side; ++row) {
        uint32_t sum = 0;
        for (size_t column = 0; column < side; ++column) {
            uint32_t *here = &image[row * side + column];
            sum += *here;
            *here = sum + (row > 0 ? here[-(ptrdiff_t)side] : 0);
        }
    }
}

void integral_check(struct work *work, const uint32_t *got) {
    const size_t side = integral_side(work);
    const size_t pixels = side * side;
    uint32_t *wanted = integral_image(work);
    for (size_t i = 0; i < work->iterations; ++i)
        reference(wanted, side);
    for (size_t i = 0; i < pixels; ++i)
        work_expect(work, i, got[i], wanted[i], 0);
    free(wanted);
}
