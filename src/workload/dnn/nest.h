/* In which order kernels go through their operands. What matters is which pages are first touched at
 * about the same time, so steps below a page are left out. A wave is what all SMs do at once: 160 CTAs
 * of 128 x 128 results, two on each of 80 SMs, as CUTLASS and cuDNN tile products on V100. */
#ifndef FF_WORKLOAD_DNN_NEST_H
#define FF_WORKLOAD_DNN_NEST_H

#include "workload/dnn/tape.h"

/* All of `rows` x `width` elements. A wave goes down many rows at once and along them panel by panel;
 * the wider the result (`across`), the fewer rows it has. */
struct ff__operand ff__nest_rows(uint64_t rows, uint64_t width, uint64_t across);

/* All of n images of c planes of `plane` elements. A wave takes many images and goes through their
 * channels `step` at a time; `across` is the number of results for each pixel. */
struct ff__operand ff__nest_planes(uint64_t n, uint64_t c, uint64_t plane, uint64_t step,
                                   uint64_t across);

/* How many SMs read the same part of an operand of a convolution: one a tile of its results. */
uint32_t ff__nest_readers(uint64_t across);

/* Some planes of all images, then the next ones: a CTA a channel, as batch normalisation has. */
struct ff__operand ff__nest_channels(uint64_t n, uint64_t c, uint64_t plane);

/* `count` rows of `width` out of `entries`: random ones, for which evenly spread ones stand. */
struct ff__operand ff__nest_gather(uint64_t entries, uint64_t width, uint64_t count);

#endif
