#include "study/live/summary.h"

#include "report/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE UINT64_C(4096)

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

static uint64_t count_fallbacks(const struct ff__account *account) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < FF__ACCOUNT_FALLBACKS; i++)
        sum += ff__account_fallbacks(account, i);
    return sum;
}

int ff__summary_read(const struct ff__book *book, struct ff__summary *out) {
    const struct ff__account *account = ff__book_last(book);
    *out = (struct ff__summary){.all = NULL};
    if (!account)
        return -ENODATA;
    struct ff__findings findings = ff__book_findings(book, account);
    json_t *all = all_of(account, &findings);
    free(findings.items);
    if (!all)
        return -EINVAL;
    double hit_rate = ff_stats_hit_rate(&account->stats);
    *out = (struct ff__summary){
        .measures = {.seconds = ff__account_seconds(account),
                     .slowdown = (double)NAN,
                     .faults = account->stats.faults,
                     .bytes_in = account->stats.pages_in * PAGE,
                     .bytes_out = account->stats.pages_out * PAGE,
                     /* negative: no launch named operands */
                     .hit_rate = hit_rate < 0 ? (double)NAN : hit_rate},
        .footprint = account->footprint,
        .fallbacks = count_fallbacks(account),
        .broken = json_string_value(json_object_get(all, "broken")),
        .all = all,
    };
    return 0;
}

void ff__summary_free(struct ff__summary *summary) {
    json_decref(summary->all);
    summary->all = NULL;
}
