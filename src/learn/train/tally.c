#include "learn/train/tally.h"

#include "learn/vocab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ff__tally_init(struct ff__tally *tally, uint32_t classes) {
    *tally = (struct ff__tally){.classes = classes};
    tally->actual = calloc(3 * (size_t)classes, sizeof *tally->actual);
    if (!tally->actual)
        return -ENOMEM;
    tally->predicted = tally->actual + classes;
    tally->right = tally->predicted + classes;
    return 0;
}

void ff__tally_fini(struct ff__tally *tally) {
    free(tally->actual);
    ff__map_fini(&tally->numbers);
    memset(tally, 0, sizeof *tally);
}

uint32_t ff__tally_number(struct ff__tally *tally, int64_t value) {
    uint32_t number, next = tally->numbers.count + tally->numbers.has_zero + FF__ESCAPE + 1;
    if (ff__map_get(&tally->numbers, (uint64_t)value, &number))
        return number;
    bool added = next < tally->classes && ff__map_put(&tally->numbers, (uint64_t)value, next) == 0;
    return added ? next : FF__ESCAPE;
}

void ff__tally_count(struct ff__tally *tally, uint32_t actual, uint32_t predicted,
                     bool names_page) {
    bool right = actual == predicted && actual != FF__ESCAPE;
    tally->samples++;
    tally->actual[actual]++;
    tally->predicted[predicted]++;
    tally->right[actual] += right;
    tally->no_page += right && !names_page;
}

void ff__tally_conclude(const struct ff__tally *tally, struct ff__score *score) {
    uint64_t right = 0, most = 0;
    double f1 = 0, samples = (double)tally->samples;
    for (uint32_t c = 0; c < tally->classes; c++) {
        double both = (double)(tally->actual[c] + tally->predicted[c]);
        right += tally->right[c];
        most = c != FF__ESCAPE && tally->actual[c] > most ? tally->actual[c] : most;
        if (both > 0)
            f1 += 2 * (double)tally->right[c] / both * (double)tally->actual[c];
    }
    *score = (struct ff__score){.samples = tally->samples};
    if (tally->samples == 0)
        return;
    score->top1 = (double)right / samples;
    score->top10 = (double)tally->top10 / samples;
    score->f1 = f1 / samples;
    score->majority = (double)most / samples;
    score->no_page = (double)tally->no_page / samples;
    score->escape = (double)tally->actual[FF__ESCAPE] / samples;
}
