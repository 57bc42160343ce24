#include "cuda/driver/working_set.h"

#include "preload/working_set.h"
#include "runtime/stream.h"

#include <stdlib.h>
#include <string.h>

static void end(struct ff__predicted *predicted) {
    ff__working_set_judge(predicted);
    free(predicted);
}

/* NULL: nothing is known, or there is no memory. */
static struct ff__predicted *find(CUfunction function, CUstream stream,
                                  const struct ff__ptx_launch *launch) {
    struct ff__ptx_extent_launch seen = {.shared = launch->shared,
                                         .parameters = launch->parameters,
                                         .parameter_size = launch->parameter_size};
    struct ff__bringing found, *bringing;
    memcpy(seen.grid, launch->grid, sizeof seen.grid);
    memcpy(seen.block, launch->block, sizeof seen.block);
    if (!ff__working_set_find(function->working_set, ff__cuda_farfault(),
                              (uint32_t)stream->context->device, &seen, &found))
        return NULL;
    if ((bringing = malloc(sizeof *bringing)) == NULL)
        return NULL;
    *bringing = found;
    bringing->predicted.ends = end;
    return &bringing->predicted;
}

void ff__cuda_working_set_predict(CUfunction function, CUstream stream,
                                  const struct ff__ptx_launch *launch) {
    if (!function->module->brings)
        return;
    if (function->working_set == NULL)
        function->working_set = ff__working_set_make(function->code);
    if (function->working_set != NULL)
        ff__stream_expect(stream->queue, find(function, stream, launch));
}

void ff__cuda_working_set_forget(CUstream stream) {
    free(ff__stream_expect(stream->queue, NULL));
}
