/* Rodinia's dwt2d (cuda/dwt2d): the 5/3 wavelet transform of a picture with three colours, level by
 * level.
 *
 * One kernel splits the picture into its colours. Then, colour by colour: a copy of it is kept;
 * each level goes through the colour and writes four bands, one behind the other, each a quarter of
 * its size; and the band of low frequencies is copied to where the colour was, as the next level's
 * input. A CTA is as wide as its window and goes down 8 rows at a time: each thread loads its
 * column, and writes a column of the bands. Half of the warps write the bands of even columns, half
 * those of odd ones.
 *
 * Left out: the three threads of each CTA that also load a column beside the window, and threads
 * beyond the right edge, which load what others do. Instructions between memory accesses are ours,
 * estimated from the source. The host reads the bands at the end. */
#include "workload/model.h"

#define COLOURS    3u
#define LEVELS_MAX 4u
#define UNIT       (1u << LEVELS_MAX) /* no level has an odd number of rows */
#define ROWS       8u                 /* of a window */
#define WINDOWS    15u                /* CTAs from top to bottom, about */
#define EARLY      3u                 /* rows that are loaded before the first window */

enum { SOURCE, IN, OUT = IN + COLOURS, BACKUP = OUT + COLOURS, ARRAYS };
enum {
    N,
    FROM,
    TO,
    STEPS
}; /* arguments: the side, or the elements to copy; arrays; windows of a CTA */

struct dwt2d {
    uint64_t size, n, levels; /* the parameters */
};

static uint32_t arrays(const struct ff__workload_type *type, const void *values,
                       struct ff__array_spec *out) {
    const struct dwt2d *model = values;
    const uint64_t pixels = model->n * model->n, colour = 4 * pixels;
    const struct ff__array_spec all[ARRAYS] = {[SOURCE] = {"source", COLOURS * pixels},
                                               [IN] = {"red", colour},
                                               [IN + 1] = {"green", colour},
                                               [IN + 2] = {"blue", colour},
                                               [OUT] = {"red_bands", colour},
                                               [OUT + 1] = {"green_bands", colour},
                                               [OUT + 2] = {"blue_bands", colour},
                                               [BACKUP] = {"backup", colour}};
    (void)type;
    memcpy(out, all, sizeof all);
    return ARRAYS;
}

/* ---- colours ---- */

/* A CTA's 256 pixels are 768 bytes, which six of its eight warps load. */
static bool step_split(const struct ff__workload *workload, const struct ff__kernel *kernel,
                       uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__array *arrays = workload->arrays;
    uint64_t first = (uint64_t)cta * FF__ELEMENT_CTA + (uint64_t)warp * FF__WARP;
    uint32_t loads = warp < 6 ? 1 : 0, colour = index - loads;
    (void)kernel;
    if (index < loads)
        return ff__step_coalesced(out, FF__LOAD, ff__pc(1, 0), 12, &arrays[SOURCE],
                                  (uint64_t)cta * FF__ELEMENT_CTA * COLOURS +
                                      (uint64_t)warp * FF__WARP * 4,
                                  (uint64_t)FF__WARP * 4);
    return colour < COLOURS &&
           ff__step_coalesced(out, FF__STORE, ff__pc(1, 1 + colour), 8, &arrays[IN + colour],
                              first * 4, (uint64_t)FF__WARP * 4);
}

/* ---- copies ---- */

static bool step_copy(const struct ff__workload *workload, const struct ff__kernel *kernel,
                      uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    uint64_t first = (uint64_t)cta * FF__ELEMENT_CTA + (uint64_t)warp * FF__WARP;
    uint64_t lanes = ff__lanes(kernel->argument[N], first);
    const struct ff__array *array = &workload->arrays[kernel->argument[index == 0 ? FROM : TO]];
    return index < 2 && lanes > 0 &&
           ff__step_coalesced(out, index == 0 ? FF__LOAD : FF__STORE, ff__pc(2, index), 6, array,
                              first * 4, lanes * 4);
}

/* ---- a level ---- */

static uint32_t width_of(uint64_t n) {
    return n >= 960 ? 192 : n >= 480 ? 128 : 64;
}

/* Where a warp is. */
struct dwt2d_warp {
    uint64_t n, top, left; /* its CTA's rows and columns begin there */
    uint32_t warp, warps;
    const struct ff__array *in, *out;
};

/* Rows below the picture are those above its edge, in turn. */
static bool load(const struct dwt2d_warp *at, struct ff__step *out, int64_t row,
                 uint32_t instructions, enum ff__direction direction) {
    uint64_t x = at->left + (uint64_t)at->warp * FF__WARP;
    uint64_t y = (uint64_t)(row < 0 ? -row : row);
    if (y >= at->n)
        y = y < 2 * at->n - 2 ? 2 * at->n - 2 - y : 0;
    return ff__step_coalesced(out, direction, ff__pc(3, 0), instructions, at->in,
                              (y * at->n + x) * 4, ff__lanes(at->n, x) * 4);
}

/* Even rows go to the upper bands, odd ones to the lower ones. What lies below the picture is not
 * written. */
static bool store(const struct dwt2d_warp *at, struct ff__step *out, uint64_t row) {
    uint64_t half = at->n / 2, band = half * half;
    uint32_t is_odd = at->warp >= at->warps / 2;
    uint64_t x = at->left / 2 + (uint64_t)(at->warp - is_odd * at->warps / 2) * FF__WARP;
    uint64_t lanes = ff__lanes(half, x);
    if (row >= at->n || lanes == 0)
        return ff__step_compute(out, ff__pc(3, 2), 4);
    return ff__step_coalesced(out, FF__STORE, ff__pc(3, 1), 4, at->out,
                              (2 * band * (row % 2) + band * is_odd + row / 2 * half + x) * 4,
                              lanes * 4);
}

static bool step_level(const struct ff__workload *workload, const struct ff__kernel *kernel,
                       uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const uint64_t n = kernel->argument[N], steps = kernel->argument[STEPS];
    const uint32_t width = width_of(n), across = (uint32_t)ff__ceil_div(n, width);
    const struct dwt2d_warp at = {.n = n,
                                  .top = cta / across * ROWS * steps,
                                  .left = (uint64_t)(cta % across) * width,
                                  .warp = warp,
                                  .warps = width / FF__WARP,
                                  .in = &workload->arrays[kernel->argument[FROM]],
                                  .out = &workload->arrays[kernel->argument[TO]]};
    const bool is_inside = ff__lanes(n, at.left + (uint64_t)warp * FF__WARP) > 0;
    if (index < EARLY)
        return is_inside ? load(&at, out, (int64_t)(at.top + index) - 2, 6, FF__LOAD_AHEAD)
                         : ff__step_compute(out, ff__pc(3, 3), 6);
    const uint64_t window = (index - EARLY) / (2 * ROWS), top = at.top + window * ROWS;
    const uint32_t turn = (index - EARLY) % (2 * ROWS);
    if (window >= steps || top >= n)
        return false;
    if (turn >= ROWS)
        return store(&at, out, top + turn - ROWS);
    return is_inside ? load(&at, out, (int64_t)(top + turn + 1), 6,
                            turn + 1 < ROWS ? FF__LOAD_AHEAD : FF__LOAD)
                     : ff__step_compute(out, ff__pc(3, 3), 6);
}

/* ---- the program ---- */

static void launch_split(const struct dwt2d *model, struct ff__kernel *kernel) {
    ff__kernel_set(kernel, "c_CopySrcToComponents",
                   ff__ceil_div(model->n * model->n, FF__ELEMENT_CTA), FF__ELEMENT_CTA / FF__WARP,
                   step_split);
    kernel->known.uses = kernel->known.strided = FF__ARRAY(OUT) - 1;
}

static void launch_copy(struct ff__kernel *kernel, uint64_t elements, uint64_t from, uint64_t to) {
    ff__kernel_set(kernel, "copy", ff__ceil_div(elements, FF__ELEMENT_CTA),
                   FF__ELEMENT_CTA / FF__WARP, step_copy);
    kernel->argument[N] = elements;
    kernel->argument[FROM] = from;
    kernel->argument[TO] = to;
    kernel->known.uses = kernel->known.strided = FF__ARRAY(from) | FF__ARRAY(to);
}

/* Its indices turn round at the lower edge: no compiler tells that they have a fixed stride. */
static void launch_level(struct ff__kernel *kernel, uint64_t n, uint64_t colour) {
    uint64_t steps = ff__ceil_div(n, WINDOWS * ROWS);
    uint32_t width = width_of(n);
    ff__kernel_set(kernel, "fdwt53Kernel", ff__ceil_div(n, width) * ff__ceil_div(n, ROWS * steps),
                   width / FF__WARP, step_level);
    kernel->argument[N] = n;
    kernel->argument[FROM] = IN + colour;
    kernel->argument[TO] = OUT + colour;
    kernel->argument[STEPS] = steps;
    kernel->known.uses = FF__ARRAY(IN + colour) | FF__ARRAY(OUT + colour);
}

/* Launch number `which` of a colour: its copy, then levels with copies between them. */
static void launch_of_colour(const struct dwt2d *model, uint64_t colour, uint64_t which,
                             struct ff__kernel *kernel) {
    uint64_t n = model->n >> which / 2;
    if (which == 0)
        launch_copy(kernel, n * n, IN + colour, BACKUP);
    else if (which % 2 == 1)
        launch_level(kernel, n, colour);
    else
        launch_copy(kernel, n * n, OUT + colour, IN + colour);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    const struct dwt2d *model = workload->data;
    const uint64_t launches = 2 * model->levels;
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which;
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, SOURCE);
    if (ff__script_turn(&script, 1 + COLOURS * launches, &which)) {
        out->kind = FF__ACTION_LAUNCH;
        if (which == 0)
            launch_split(model, &out->kernel);
        else
            launch_of_colour(model, (which - 1) / launches, (which - 1) % launches, &out->kernel);
        ff__kernel_seal(&out->kernel);
    }
    ff__script_synchronize(&script);
    for (uint32_t colour = 0; colour < COLOURS; colour++)
        ff__script_read_all(&script, OUT + colour);
    ff__script_free_all(&script);
    return script.found;
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"n", FF_PARAM_INT, 1024, UNIT, 1 << 19, "rows and columns of the picture"},
    {"levels", FF_PARAM_INT, 3, 1, LEVELS_MAX, "levels of the transform"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_dwt2d = {
    .name = "dwt2d",
    .summary = "5/3 wavelet transform of a picture (Rodinia): streaming, four bands at once",
    .params = params,
    .open = ff__model_open,
    .shape = &(const struct ff__model_shape){1, UNIT, 1 << 19, arrays},
    .action = action,
};
