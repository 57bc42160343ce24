/* Lists of systems: "demand,nvidia:threshold=25,thrashing=0,nvidia-1". */
#ifndef FF_CLI_SYSTEMS_H
#define FF_CLI_SYSTEMS_H

#include "report/text.h"

#include <farfault/farfault.h>

/* Splits the list: a piece with '=' but no ':' before it is one more parameter of the system before
 * it. -EINVAL, with a line: an empty piece, a parameter without a system, the same system twice.
 * *out is freed with ff__words_free() after success. */
int ff__systems_split(const char *list, struct ff__words *out, struct ff_error *error);

#endif
