/* What translated code calls, as far as it needs nothing of the executor. */
#ifndef FF_PTX_SERVICES_H
#define FF_PTX_SERVICES_H

#include "ptx/device/abi.h"

/* All but `fail`, `assertion` and `access`: the executor sets them in its copy. */
extern const struct ff_ptx_services ff__ptx_services;

#endif
