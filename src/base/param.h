/* Values of declared parameters: policies, workloads and whatever else takes "NAME:key=value,...".
 */
#ifndef FF_BASE_PARAM_H
#define FF_BASE_PARAM_H

#include <farfault/farfault.h>
#include <farfault/policy.h>

/* Reads `text` by the parameter's type and range. -EINVAL: what would be right; *out is left alone.
 */
int ff__param_set(const struct ff_param *param, const char *text, int64_t *out,
                  struct ff_error *error);

#endif
