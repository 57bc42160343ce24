/* In which order kernels go through their operands. What matters is which pages are first touched
 * at about the same time, so steps below a page are left out. A wave is what all SMs do at once:
 * 160 CTAs of 128 x 128 results, two on each of 80 SMs, as CUTLASS and cuDNN tile products on V100.
 */
#ifndef FF_WORKLOAD_DNN_NEST_H
#define FF_WORKLOAD_DNN_NEST_H

#include "workload/dnn/tape.h"

/* All of `rows` x `width` elements. A wave goes down many rows at once and along them panel by
 * panel; the wider the result (`across`), the fewer rows it has. */
struct ff__operand ff__nest_rows(uint64_t rows, uint64_t width, uint64_t across);

/* Convolutions, as implicit GEMMs: n images of c planes of `plane` elements. The tiles of 128
 * pixels of all images come first, those of output channels after (volta_scudnn_128x64 has a grid
 * of 5476 x 1 x 1 for 128 images of 74 x 74: public nvprof trace of PyTorch on a V100; that
 * channels come second is ours). ff__nest_conv_in: a wave reads its pixels of 8 channels at a
 * time. */
struct ff__operand ff__nest_conv_in(uint64_t n, uint64_t c, uint64_t plane);

/* The result of such a convolution: a wave writes 128 channels of its pixels, so that there are as
 * many passes over the result as it has tiles of channels. */
struct ff__operand ff__nest_conv_out(uint64_t n, uint64_t c, uint64_t plane);

/* What a weight gradient reads: `tiles` CTAs on the same slice of pixels, `readers` of them the
 * same channels; then the next slice (wgrad_alg0_engine: 1408 slices of 128 images of 74 x 74, same
 * trace). */
struct ff__operand ff__nest_conv_weights(uint64_t n, uint64_t c, uint64_t plane, uint64_t tiles,
                                         uint64_t readers);

/* Tiles of 128. */
uint64_t ff__nest_tiles(uint64_t across);

/* Some planes of all images, then the next ones: a CTA of 512 threads a channel, as cuDNN's
 * bn_fw_tr_1C11_kernel_NCHW<.., 512, ..> has; four of them an SM (ours: registers may allow fewer),
 * with a float a thread at a time. */
struct ff__operand ff__nest_channels(uint64_t n, uint64_t c, uint64_t plane);

/* `count` rows of `width` out of `entries`: random ones, for which evenly spread ones stand. */
struct ff__operand ff__nest_gather(uint64_t entries, uint64_t width, uint64_t count);

#endif
