#include "base/param.h"

#include "base/error.h"
#include "base/parse.h"

#include <errno.h>

static int parse_value(const struct ff_param *param, const char *text, int64_t *out) {
    uint64_t wide = 0;
    int status;
    switch (param->type) {
    case FF_PARAM_BOOL:
        return ff__parse_bool(text, out);
    case FF_PARAM_SIZE:
        status = ff__parse_size(text, &wide);
        break;
    case FF_PARAM_NS:
        status = ff__parse_ns(text, &wide);
        break;
    case FF_PARAM_INT:
    case FF_PARAM_TEXT: /* registry.c */
    default:
        return ff__parse_int(text, out);
    }
    if (status == 0)
        *out = (int64_t)wide;
    return status;
}

int ff__param_set(const struct ff_param *param, const char *text, int64_t *out,
                  struct ff_error *error) {
    int64_t parsed = 0;
    if (parse_value(param, text, &parsed) || parsed < param->min || parsed > param->max)
        return ff__fail(error, -EINVAL, "%s=%s: must be %lld to %lld", param->name, text,
                        (long long)param->min, (long long)param->max);
    *out = parsed;
    return 0;
}
