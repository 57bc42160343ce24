#include "cuda/driver/working_set.h"

#include "preload/working_set.h"
#include "runtime/stream.h"

#include <string.h>

static void follow(const struct ff_work *work, void *order) {
    (void)work;
    ff__bring(order);
}

void ff__cuda_working_set_bring(CUfunction function, CUstream stream,
                                const struct ff__ptx_launch *launch) {
    struct ff__bringing order;
    if (!function->module->brings)
        return;
    if (function->working_set == NULL)
        function->working_set = ff__working_set_make(function->code);
    struct ff__ptx_extent_launch seen = {.shared = launch->shared,
                                         .parameters = launch->parameters,
                                         .parameter_size = launch->parameter_size};
    memcpy(seen.grid, launch->grid, sizeof seen.grid);
    memcpy(seen.block, launch->block, sizeof seen.block);
    if (function->working_set == NULL ||
        !ff__working_set_find(function->working_set, ff__cuda_farfault(),
                              (uint32_t)stream->context->device, &seen, &order))
        return;
    const struct ff_launch what = {
        .kernel = follow, .grid = 1, .arguments = &order, .argument_size = sizeof order};
    ff__stream_run(stream->queue, &what); /* without it, the launch faults */
}
