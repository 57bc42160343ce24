#include "addvectors.h"

const struct problem addvectors_problem = {
    .default_iterations = 10,
    .iteration_is = "one addition of the whole vectors",
};

size_t addvectors_count(const struct work *work) {
    return work->size / (3 * sizeof(float));
}

float *addvectors_input(const struct work *work, char name) {
    const size_t count = addvectors_count(work);
    float *vector = host_pages(count * sizeof(float));
    fill_units(vector, count, random_key(work->seed, (uint64_t)name), 0);
    return vector;
}

/* One addition of two floats rounds in one way only, so the sums must be equal. */
void addvectors_check(struct work *work, const float *sums) {
    const uint64_t a_key = random_key(work->seed, 'a');
    const uint64_t b_key = random_key(work->seed, 'b');
    for (size_t i = 0; i < addvectors_count(work); ++i)
        work_expect(work, i, sums[i], random_unit(a_key, i) + random_unit(b_key, i), 0);
}
