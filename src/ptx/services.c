#include "ptx/services.h"

#include "base/clock.h"
#include "ptx/print.h"

const struct ff_ptx_services ff__ptx_services = {
    .print = ff__ptx_print,
    .clock = ff__clock_ns,
};
