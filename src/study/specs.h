/* Lists of names with parameters, of systems and of workloads:
 * "demand,nvidia:threshold=25,thrashing=0,nvidia-1". */
#ifndef FF_STUDY_SPECS_H
#define FF_STUDY_SPECS_H

#include "report/text.h"

#include <farfault/farfault.h>

/* Splits the list: a piece with '=' but no ':' before it is one more parameter of the name before
 * it. -EINVAL, with a line: an empty piece, a parameter without a name, the same thing twice. *out
 * is freed with ff__words_free() after success. */
int ff__specs_split(const char *list, struct ff__words *out, struct ff_error *error);

/* As ff__specs_split(), but a thing may be there twice. */
int ff__specs_split_all(const char *list, struct ff__words *out, struct ff_error *error);

#endif
