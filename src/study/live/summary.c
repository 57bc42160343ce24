#include "study/live/summary.h"

#include "report/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The account as JSON; NULL: it is none. */
static json_t *all_of(const struct ff__account *account, const struct ff__findings *findings) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = ff__must(open_memstream(&text, &size));
    ff__account_print_json(account, findings, file);
    fclose(file);
    json_t *all = json_loadb(ff__must(text), size, 0, NULL);
    free(text);
    return all;
}

static uint64_t count_fallbacks(const json_t *all) {
    json_t *fallbacks = json_object_get(all, "fallbacks"), *count;
    const char *name;
    uint64_t sum = 0;
    json_object_foreach(fallbacks, name, count) sum += (uint64_t)json_integer_value(count);
    return sum;
}

int ff__summary_of(json_t *all, struct ff__summary *out) {
    double hit_rate = ff__json_number_of(all, "hit_rate");
    *out = (struct ff__summary){
        .measures = {.seconds = ff__json_number_of(all, "seconds"),
                     .slowdown = (double)NAN,
                     .faults = ff__json_count_of(all, "faults"),
                     .bytes_in = ff__json_count_of(all, "bytes_in"),
                     .bytes_out = ff__json_count_of(all, "bytes_out"),
                     /* negative: no launch named operands */
                     .hit_rate = hit_rate < 0 ? (double)NAN : hit_rate},
        .footprint = ff__json_count_of(all, "footprint"),
        .fallbacks = count_fallbacks(all),
        .broken = ff__json_text_of(all, "broken"),
        .all = all,
    };
    return json_is_object(json_object_get(all, "fallbacks")) ? 0 : -EINVAL;
}

int ff__summary_read(const struct ff__book *book, struct ff__summary *out) {
    const struct ff__account *account = ff__book_last(book);
    *out = (struct ff__summary){.all = NULL};
    if (!account)
        return -ENODATA;
    struct ff__findings findings = ff__book_findings(book, account);
    json_t *all = all_of(account, &findings);
    free(findings.items);
    return all ? ff__summary_of(all, out) : -EINVAL;
}

void ff__summary_free(struct ff__summary *summary) {
    json_decref(summary->all);
    summary->all = NULL;
}
