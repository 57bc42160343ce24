#include "ra.h"

#include <stdlib.h>

const struct problem ra_problem = {
    .default_iterations = 10,
    .iteration_is = "--updates updates of words anywhere",
};

enum option_key { OPTION_UPDATES = 512 };

static const struct argp_option options[] = {
    {"updates", OPTION_UPDATES, "N", 0, "Updates an iteration (default: 2048)", 0},
    {0},
};

uint64_t ra_updates = 2048;

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    (void)state;
    if (key != OPTION_UPDATES)
        return ARGP_ERR_UNKNOWN;
    ra_updates = parse_number("--updates", argument, UPDATES, UINT64_C(1) << 40);
    return 0;
}

const struct argp ra_extras = {options, parse_option, NULL, NULL, NULL, NULL, NULL};

void ra_check(struct work *work, const uint32_t *got) {
    const size_t words = work->size / sizeof(uint32_t);
    const size_t items = (size_t)ra_updates / UPDATES;
    uint32_t *wanted = host_array(words, sizeof(uint32_t));
    for (size_t iteration = 0; iteration < work->iterations; ++iteration) {
        const uint64_t key = random_key(work->seed, iteration);
        for (size_t i = 0; i < items * UPDATES; ++i) {
            const uint64_t bits = random_bits(key, i);
            wanted[(bits >> 32) % words] ^= (uint32_t)bits;
        }
    }
    for (size_t i = 0; i < words; ++i)
        work_expect(work, i, got[i], wanted[i], 0);
    free(wanted);
}
