#include "ptx/services.h"

#include "base/clock.h"
#include "ptx/print.h"
#include "ptx/texture.h"

const struct ff_ptx_services ff__ptx_services = {
    .print = ff__ptx_print,
    .clock = ff__clock_ns,
    .texture = ff__ptx_texture_sample,
    .fetch = ff__ptx_texture_fetch,
    .surface_load = ff__ptx_surface_load,
    .surface_store = ff__ptx_surface_store,
};
