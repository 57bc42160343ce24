#include "learn/train/score.h"

#include <errno.h>
#include <stdlib.h>

static void count_row(struct ff__tally *tally, const float *logits, uint32_t label,
                      bool names_page) {
    uint32_t best = 0, above = 0;
    for (uint32_t c = 1; c < tally->classes; c++)
        best = logits[c] > logits[best] ? c : best;
    for (uint32_t c = 0; c < tally->classes; c++)
        above += logits[c] > logits[label];
    ff__tally_count(tally, label, best, names_page);
    tally->top10 += above < 10 && label != FF__ESCAPE;
}

static void run_tests(struct ff__net *net, const struct ff__dataset *dataset, uint32_t count,
                      struct ff__batch *batch, float *logits, struct ff__tally *tally) {
    for (uint32_t first = 0; first < count; first += net->capacity) {
        uint32_t here = count - first < net->capacity ? count - first : net->capacity;
        ff__batch_fill(batch, dataset, dataset->test + first, here);
        net->type->forward(net, batch, logits);
        for (uint32_t i = 0; i < here; i++)
            count_row(tally, logits + (size_t)i * tally->classes, batch->label[i],
                      dataset->names_page[dataset->test[first + i]]);
    }
}

int ff__net_score(struct ff__net *net, const struct ff__dataset *dataset, uint32_t limit,
                  struct ff__score *score) {
    uint32_t count = dataset->test_count < limit ? dataset->test_count : limit;
    struct ff__batch batch;
    struct ff__tally tally;
    int status = ff__tally_init(&tally, net->shape.classes);
    if (status)
        return status;
    float *logits = malloc((size_t)net->capacity * tally.classes * sizeof *logits);
    status = ff__batch_init(&batch, net->capacity);
    if (!status && !logits)
        status = -ENOMEM;
    if (!status) {
        run_tests(net, dataset, count, &batch, logits, &tally);
        ff__tally_conclude(&tally, score);
    }
    free(logits);
    ff__tally_fini(&tally);
    ff__batch_fini(&batch);
    return status;
}
