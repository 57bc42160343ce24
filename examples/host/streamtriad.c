#include "streamtriad.h"

const struct problem streamtriad_problem = {
    .default_iterations = 10,
    .iteration_is = "one pass over the three arrays",
};

size_t streamtriad_count(const struct work *work) {
    return work->size / (3 * sizeof(float));
}

float *streamtriad_input(const struct work *work, char name) {
    const size_t count = streamtriad_count(work);
    float *stream = host_pages(count * sizeof(float));
    fill_digits(stream, count, random_key(work->seed, (uint64_t)name), 0);
    return stream;
}

void streamtriad_check(struct work *work, const float *a) {
    const uint64_t b_key = random_key(work->seed, 'b');
    const uint64_t c_key = random_key(work->seed, 'c');
    for (size_t i = 0; i < streamtriad_count(work); ++i)
        work_expect(work, i, a[i], random_digit(b_key, i) + SCALAR * random_digit(c_key, i), 0);
}
