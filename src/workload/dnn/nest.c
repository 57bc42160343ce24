#include "workload/dnn/nest.h"

#include "workload/model.h"

#define WAVE 160u
#define TILE 128u
#define SMS  80u

static uint64_t between(uint64_t low, uint64_t x, uint64_t high) {
    return x < low ? low : x > high ? high : x;
}

/* Tiles of one column of results that are in a wave. */
static uint64_t wave_tiles(uint64_t across) {
    return between(1, WAVE / ff__ceil_div(across, TILE), WAVE);
}

struct ff__operand ff__nest_rows(uint64_t rows, uint64_t width, uint64_t across) {
    uint64_t bytes = width * FF__FLOAT, panels = ff__ceil_div(bytes, FF__PAGE_BYTES);
    uint64_t waves = between(1, rows / (wave_tiles(across) * TILE), rows);
    uint64_t tall = rows / waves, panel = bytes / panels;
    if (panels == 1) /* nothing but consecutive bytes */
        return (struct ff__operand){.run = rows * bytes, .loop = {{1, 0}, {1, 0}, {1, 0}}};
    return (struct ff__operand){.run = panel,
                                .loop = {{waves, tall * bytes}, {panels, panel}, {tall, bytes}}};
}

struct ff__operand ff__nest_planes(uint64_t n, uint64_t c, uint64_t plane, uint64_t step,
                                   uint64_t across) {
    uint64_t bytes = plane * FF__FLOAT, image = c * bytes;
    uint64_t pixels = wave_tiles(across) * TILE;
    uint64_t wide = between(1, pixels / plane, n), waves = between(1, n / wide, n);
    uint64_t steps = between(1, c / step, c);
    return (struct ff__operand){
        .part = c / steps * TILE * FF__FLOAT,
        .run = c / steps * bytes,
        .loop = {{waves, n / waves * image}, {steps, c / steps * bytes}, {n / waves, image}}};
}

uint32_t ff__nest_readers(uint64_t across) {
    return (uint32_t)between(1, ff__ceil_div(across, TILE), SMS);
}

struct ff__operand ff__nest_channels(uint64_t n, uint64_t c, uint64_t plane) {
    uint64_t bytes = plane * FF__FLOAT, waves = between(1, c / SMS, c);
    return (struct ff__operand){.part = bytes,
                                .run = c / waves * bytes,
                                .loop = {{waves, c / waves * bytes}, {n, c * bytes}, {1, 0}}};
}

struct ff__operand ff__nest_gather(uint64_t entries, uint64_t width, uint64_t count) {
    uint64_t bytes = width * FF__FLOAT, rows = between(1, count, entries);
    return (struct ff__operand){.run = bytes,
                                .loop = {{rows, entries / rows * bytes}, {1, 0}, {1, 0}}};
}
