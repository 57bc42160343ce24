#include "workload/dnn/nest.h"

#include "workload/model.h"

#define WAVE     160u
#define TILE     128u
#define SMS      80u
#define STEP     8u    /* channels in a step of an implicit GEMM's inner loop */
#define SLICE    512u  /* pixels over which a CTA of a weight gradient sums */
#define CHANNELS 320u  /* CTAs of batch normalisation at a time */
#define CHUNK    2048u /* bytes that one of them loads at a time */

static uint64_t between(uint64_t low, uint64_t x, uint64_t high) {
    return x < low ? low : x > high ? high : x;
}

uint64_t ff__nest_tiles(uint64_t across) {
    return ff__ceil_div(across, TILE);
}

/* Tiles of one column of results that are in a wave. */
static uint64_t wave_tiles(uint64_t across) {
    return between(1, WAVE / ff__nest_tiles(across), WAVE);
}

struct ff__operand ff__nest_rows(uint64_t rows, uint64_t width, uint64_t across) {
    uint64_t bytes = width * FF__FLOAT, panels = ff__ceil_div(bytes, FF__PAGE_BYTES);
    uint64_t waves = between(1, rows / (wave_tiles(across) * TILE), rows);
    uint64_t tall = rows / waves, panel = bytes / panels;
    if (panels == 1) /* nothing but consecutive bytes */
        return ff__operand_of(0, rows * bytes);
    return (struct ff__operand){
        .run = panel, .loop = {{waves, tall * bytes}, {panels, panel}, {tall, bytes}, {1, 0}}};
}

/* Images that so many pixels at once are of. */
static uint64_t images_at_once(uint64_t n, uint64_t plane, uint64_t pixels) {
    return between(1, pixels / plane, n);
}

/* The first `slab` bytes of each image: `wide` images at a time, in `steps` along the slab. */
static struct ff__operand slabs_of(uint64_t n, uint64_t image, uint64_t wide, uint64_t slab,
                                   uint64_t steps) {
    uint64_t waves = between(1, n / wide, n);
    return (struct ff__operand){
        .run = slab / steps,
        .loop = {{1, 0}, {waves, n / waves * image}, {steps, slab / steps}, {n / waves, image}}};
}

struct ff__operand ff__nest_conv_in(uint64_t n, uint64_t c, uint64_t plane) {
    uint64_t bytes = plane * FF__FLOAT, steps = between(1, c / STEP, c);
    uint64_t wide = images_at_once(n, plane, WAVE * TILE);
    struct ff__operand nest = slabs_of(n, c * bytes, wide, c * bytes, steps);
    nest.part = TILE * FF__FLOAT;
    return nest;
}

struct ff__operand ff__nest_conv_out(uint64_t n, uint64_t c, uint64_t plane) {
    uint64_t bytes = plane * FF__FLOAT, tiles = ff__nest_tiles(c), tile = c / tiles;
    uint64_t wide = images_at_once(n, plane, WAVE * TILE);
    struct ff__operand nest = slabs_of(n, c * bytes, wide, tile * bytes, tile);
    nest.loop[0] = (struct ff__loop){tiles, tile * bytes};
    nest.part = TILE * FF__FLOAT;
    return nest;
}

struct ff__operand ff__nest_conv_weights(uint64_t n, uint64_t c, uint64_t plane, uint64_t tiles,
                                         uint64_t readers) {
    uint64_t bytes = plane * FF__FLOAT, slabs = ff__nest_tiles(c), tile = c / slabs;
    uint64_t steps = between(1, tile / STEP, tile);
    uint64_t wide = images_at_once(n, plane, between(1, WAVE / tiles, WAVE) * SLICE);
    struct ff__operand nest = slabs_of(n * slabs, tile * bytes, wide * slabs, tile * bytes, steps);
    nest.part = plane > SLICE ? SLICE * FF__FLOAT : tile / steps * bytes;
    nest.readers = (uint32_t)between(1, readers, SMS);
    return nest;
}

struct ff__operand ff__nest_channels(uint64_t n, uint64_t c, uint64_t plane) {
    uint64_t bytes = plane * FF__FLOAT, waves = between(1, c / CHANNELS, c);
    uint64_t chunks = between(1, bytes / CHUNK, bytes), wide = c / waves;
    if (chunks == 1)
        return (struct ff__operand){
            .part = bytes,
            .run = wide * bytes,
            .loop = {{waves, wide * bytes}, {n, c * bytes}, {1, 0}, {1, 0}}};
    return (struct ff__operand){
        .part = CHUNK,
        .run = bytes / chunks,
        .loop = {{waves, wide * bytes}, {n, c * bytes}, {chunks, bytes / chunks}, {wide, bytes}}};
}

struct ff__operand ff__nest_gather(uint64_t entries, uint64_t width, uint64_t count) {
    uint64_t bytes = width * FF__FLOAT, rows = between(1, count, entries);
    return (struct ff__operand){.run = bytes,
                                .loop = {{rows, entries / rows * bytes}, {1, 0}, {1, 0}, {1, 0}}};
}
