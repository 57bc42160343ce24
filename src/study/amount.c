#include "study/amount.h"

#include "base/parse.h"

#include <errno.h>
#include <farfault/mask.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_SHARE 1000.0 /* of the footprint; more is a slip of the finger */

int ff__amount_parse(const char *text, struct ff__amount *out) {
    *out = (struct ff__amount){0};
    double share = 0;
    if (!strchr(text, '%'))
        return ff__parse_size(text, &out->bytes);
    if (ff__parse_share(text, &share) || share > LARGEST_SHARE)
        return -EINVAL;
    out->share = share;
    return 0;
}

uint64_t ff__amount_of(const struct ff__amount *amount, uint64_t footprint) {
    if (amount->share <= 0)
        return amount->bytes < FF_BLOCK_SIZE ? amount->bytes
                                             : amount->bytes - amount->bytes % FF_BLOCK_SIZE;
    double exact = amount->share * (double)footprint;
    if (exact < FF_BLOCK_SIZE)
        return (uint64_t)exact;
    return (uint64_t)(exact / FF_BLOCK_SIZE + 0.5) * FF_BLOCK_SIZE;
}
