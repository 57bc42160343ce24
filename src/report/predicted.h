#ifndef FF_REPORT_PREDICTED_H
#define FF_REPORT_PREDICTED_H

#include "report/account.h"

/* A table of what was predicted of launches, by kernel, and of what came of it. Nothing where
 * nothing was looked for. */
void ff__predicted_print(const struct ff__account *account, FILE *file);

#endif
