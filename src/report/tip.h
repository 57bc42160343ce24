/* The tip of a run: one line for the author of the program, where counters show a pattern that
 * explains what moved. */
#ifndef FF_REPORT_TIP_H
#define FF_REPORT_TIP_H

#include "report/account.h"

#define FF__TIP 384u

/* False, and "": there is none. */
bool ff__tip_find(const struct ff__account *account, char out[FF__TIP]);

#endif
