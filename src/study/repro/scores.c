#include "study/repro/scores.h"

#include <stddef.h>

static const struct {
    const char *name;
    size_t offset;
} members[] = {
    {"top1", offsetof(struct ff__score, top1)},
    {"f1", offsetof(struct ff__score, f1)},
    {"top10", offsetof(struct ff__score, top10)},
    {"majority", offsetof(struct ff__score, majority)},
    {"unknown", offsetof(struct ff__score, escape)},
    {"no_page", offsetof(struct ff__score, no_page)},
};

#define MEMBERS (sizeof members / sizeof members[0])

static double value_of(const struct ff__score *score, size_t member) {
    return *(const double *)(const void *)((const char *)score + members[member].offset);
}

json_t *ff__score_json(const char *subject, const struct ff__score *score) {
    json_t *run = ff__must(json_object());
    ff__json_set(run, "subject", ff__json_text(subject));
    for (size_t i = 0; i < MEMBERS; i++)
        ff__json_set(run, members[i].name, ff__json_number(value_of(score, i)));
    return run;
}

void ff__score_cells(struct ff__table *table, const struct ff__score *score) {
    for (size_t i = 0; i < MEMBERS; i++)
        ff__table_value(table, 4, value_of(score, i), "");
}

void ff__score_add(struct ff__score *sum, const struct ff__score *score, double part) {
    for (size_t i = 0; i < MEMBERS; i++)
        *(double *)(void *)((char *)sum + members[i].offset) += part * value_of(score, i);
}

int ff__scores_write(const struct ff__outputs *outputs, const char *command, json_t *runs) {
    json_t *all = ff__results_new(command);
    ff__json_set(all, "runs", json_incref(runs));
    int status = ff__outputs_write(outputs, all);
    json_decref(all);
    return status;
}
