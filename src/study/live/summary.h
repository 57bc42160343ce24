/* What a program did, from the account of one of its processes. */
#ifndef FF_STUDY_LIVE_SUMMARY_H
#define FF_STUDY_LIVE_SUMMARY_H

#include "report/account.h"
#include "study/outputs.h"

struct ff__summary {
    struct ff__run_measures measures;
    uint64_t footprint; /* bytes */
    uint64_t fallbacks; /* calls that were not managed although they should have been */
    const char *broken; /* the first broken invariant, "": none was seen */
    json_t *all;        /* all of the account */
};

/* From the last account. 0; -ENODATA: there is none. -EINVAL: it has a name that is no UTF-8. */
int ff__summary_read(const struct ff__book *book, struct ff__summary *out);

/* From an account's JSON, which it takes over. -EINVAL: that is something else. */
int ff__summary_of(json_t *all, struct ff__summary *out);
void ff__summary_free(struct ff__summary *summary);

#endif
