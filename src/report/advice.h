/* One line of advice, where what moved shows a pattern that explains it. */
#ifndef FF_REPORT_ADVICE_H
#define FF_REPORT_ADVICE_H

#include "report/account.h"

#define FF__ADVICE 384u

/* False, and "": nothing stands out. */
bool ff__advice_find(const struct ff__account *account, char out[FF__ADVICE]);

#endif
