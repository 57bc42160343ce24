/* Patterns of pages on one array: what policies are good and bad at, one at a time. Any number of
 * warps shares out one sequence of accesses, each of one page; ctas=1,warps=1 is a single thread.
 */
#include "workload/model.h"

#include <math.h>
#include <stdlib.h>

/* The parameters that every pattern has, in this order, before its own. */
enum { SIZE, PAGES, CTAS, WARPS, WRITES, INSTRUCTIONS, OWN };

struct zipf {
    double exponent, low, high, cut; /* of the rejection-inversion below */
    uint64_t scatter;                /* odd and prime to the number of pages */
};

struct synthetic {
    uint64_t pages, launches, accesses; /* accesses of one launch */
    uint64_t seed, writes;              /* percent */
    uint32_t ctas, warps, instructions;
    uint64_t own[3]; /* the pattern's parameters, in the order of its rows */
    struct zipf zipf;
    const char *kernel;
    /* Page of access `at` of a launch. */
    uint64_t (*page)(const struct synthetic *model, const struct ff__kernel *kernel, uint64_t at);
    /* What distinguishes launch `which` from others. */
    uint64_t (*argument)(const struct synthetic *model, uint64_t which);
};

static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct synthetic *model = workload->data;
    uint64_t warps = (uint64_t)model->ctas * model->warps;
    uint64_t at = index * warps + (uint64_t)cta * model->warps + warp;
    if (at >= model->accesses)
        return false;
    uint64_t page = model->page(model, kernel, at);
    bool write = ff__mix(model->seed ^ ~at) % 100 < model->writes;
    return ff__step_coalesced(out, write ? FF__STORE : FF__LOAD, ff__pc(1, write),
                              model->instructions, workload->arrays, page * FF__PAGE_BYTES, 128);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    const struct synthetic *model = workload->data;
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which;
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, 0);
    if (ff__script_turn(&script, model->launches, &which)) {
        out->kind = FF__ACTION_LAUNCH;
        ff__kernel_set(&out->kernel, model->kernel, model->ctas, model->warps, step);
        out->kernel.argument[0] = model->argument ? model->argument(model, which) : 0;
        ff__kernel_seal(&out->kernel);
    }
    ff__script_synchronize(&script);
    ff__script_free_all(&script);
    return script.found;
}

static uint64_t bytes(const struct ff__workload *workload, const int64_t *params, uint64_t pages) {
    (void)workload, (void)params;
    return pages * FF__PAGE_BYTES;
}

/* What makes a pattern of the model that `open_pattern` has filled in. 0 or negative errno. */
typedef int prepare_pattern(struct synthetic *model, struct ff_error *error);

static int open_pattern(struct ff__workload *workload, const int64_t *params,
                        prepare_pattern *prepare, struct ff_error *error) {
    uint64_t pages;
    int status = ff__model_size(workload, params, bytes, (uint64_t)params[PAGES], 1, UINT32_MAX,
                                &pages, error);
    if (status)
        return status;
    struct synthetic *model = workload->data = calloc(1, sizeof *model);
    if (!model)
        return ff__fail(error, -ENOMEM, "no memory for workload %s", workload->type->name);
    *model = (struct synthetic){
        .pages = pages,
        .launches = 1,
        .accesses = pages,
        .seed = ff__mix(workload->seed),
        .writes = (uint64_t)params[WRITES],
        .ctas = (uint32_t)params[CTAS],
        .warps = (uint32_t)params[WARPS],
        .instructions = (uint32_t)params[INSTRUCTIONS],
        .own = {(uint64_t)params[OWN], (uint64_t)params[OWN + 1], (uint64_t)params[OWN + 2]},
        .kernel = workload->type->name};
    const struct ff__array_spec data = {"data", pages * FF__PAGE_BYTES};
    status = ff__model_arrays(workload, &data, 1, error);
    return status ? status : prepare(model, error);
}

/* A step's index has 32 bits: no warp may have more accesses. */
static int set_accesses(struct synthetic *model, uint64_t accesses, struct ff_error *error) {
    if (accesses / model->ctas / model->warps >= UINT32_MAX)
        return ff__fail(error, -EINVAL, "%s: %llu accesses are too many for %u x %u warps",
                        model->kernel, (unsigned long long)accesses, model->ctas, model->warps);
    model->accesses = accesses;
    return 0;
}

#define PARAMS(...)                                                                                \
    {                                                                                              \
        FF__PARAM_SIZE,                                                                            \
            {"pages", FF_PARAM_INT, 16384, 1, UINT32_MAX, "pages of the array, if size is 0"},     \
            {"ctas", FF_PARAM_INT, 64, 1, 1 << 20, "CTAs"},                                        \
            {"warps", FF_PARAM_INT, 8, 1, 32, "warps of a CTA"},                                   \
            {"writes", FF_PARAM_INT, 25, 0, 100, "percent of the accesses that write"},            \
            {"instructions", FF_PARAM_INT, 20, 1, 1000000, "instructions of one access"},          \
            __VA_ARGS__, {                                                                         \
            NULL, FF_PARAM_INT, 0, 0, 0, NULL                                                      \
        }                                                                                          \
    }

#define ACCESSES                                                                                   \
    { "accesses", FF_PARAM_INT, 0, 0, INT64_C(1) << 40, "accesses; 0: four times the pages" }

/* The workload `id`, with the rows of its own parameters; prepare_id() makes its pattern. */
#define PATTERN(id, says, ...)                                                                     \
    static const struct ff_param id##_params[] = PARAMS(__VA_ARGS__);                              \
    static int open_##id(struct ff__workload *workload, const int64_t *params, const char *file,   \
                         struct ff_error *error) {                                                 \
        (void)file;                                                                                \
        return open_pattern(workload, params, prepare_##id, error);                                \
    }                                                                                              \
    const struct ff__workload_type ff__workload_##id = {                                           \
        .name = #id,                                                                               \
        .summary = says,                                                                           \
        .params = id##_params,                                                                     \
        .open = open_##id,                                                                         \
        .action = action,                                                                          \
    };

/* By the row ACCESSES. */
static uint64_t accesses_of(const struct synthetic *model) {
    return model->own[0] ? model->own[0] : model->pages * 4;
}

/* ---- stream, cyclic: every page in turn ---- */

static uint64_t page_in_turn(const struct synthetic *model, const struct ff__kernel *kernel,
                             uint64_t at) {
    (void)kernel;
    return at / model->own[0] % model->pages;
}

static int prepare_stream(struct synthetic *model, struct ff_error *error) {
    model->page = page_in_turn;
    return set_accesses(model, model->pages * model->own[0] * model->own[1], error);
}

static int prepare_cyclic(struct synthetic *model, struct ff_error *error) {
    model->page = page_in_turn;
    model->launches = model->own[1];
    return set_accesses(model, model->pages * model->own[0], error);
}

PATTERN(stream, "every page in order, once",
        {"repeat", FF_PARAM_INT, 1, 1, 1 << 20, "consecutive accesses to each page"},
        {"passes", FF_PARAM_INT, 1, 1, 1 << 20, "passes over the array, in one kernel"})

PATTERN(cyclic, "every page in order, repeatedly: the worst case of least recently used",
        {"repeat", FF_PARAM_INT, 1, 1, 1 << 20, "consecutive accesses to each page"},
        {"passes", FF_PARAM_INT, 10, 1, 1 << 20, "passes over the array, one kernel each"})

/* ---- stride ---- */

/* Passes over the array, `stride` pages apart, each starting one page after the one before. */
static uint64_t page_strided(const struct synthetic *model, const struct ff__kernel *kernel,
                             uint64_t at) {
    (void)kernel;
    uint64_t stride = model->own[0], per_pass = ff__ceil_div(model->pages, stride);
    return (at % per_pass * stride + at / per_pass) % model->pages;
}

static int prepare_stride(struct synthetic *model, struct ff_error *error) {
    model->page = page_strided;
    return set_accesses(model, ff__ceil_div(model->pages, model->own[0]) * model->own[1], error);
}

PATTERN(stride, "pages at a fixed distance",
        {"stride", FF_PARAM_INT, 16, 1, UINT32_MAX, "pages from one access to the next"},
        {"passes", FF_PARAM_INT, 4, 1, 1 << 20, "passes over the array, each shifted by one page"})

/* ---- random ---- */

static uint64_t page_random(const struct synthetic *model, const struct ff__kernel *kernel,
                            uint64_t at) {
    return ff__mix(model->seed + at + kernel->argument[0]) % model->pages;
}

static int prepare_random(struct synthetic *model, struct ff_error *error) {
    model->page = page_random;
    return set_accesses(model, accesses_of(model), error);
}

PATTERN(random, "random pages, all equally likely", ACCESSES)

/* ---- zipf ---- */

/* Sampling by rejection-inversion (Hoermann and Derflinger, ACM TOMACS 6(3), 1996): no table, so
 * that any number of pages costs nothing. The integral of x^-s and its inverse, s = 1 included. */
static double integral(double s, double x) {
    double logarithm = log(x), t = (1 - s) * logarithm;
    return fabs(t) > 1e-8 ? expm1(t) / t * logarithm : (1 + t / 2) * logarithm;
}

static double integral_inverse(double s, double x) {
    double t = x * (1 - s);
    if (t < -1)
        t = -1; /* only by rounding */
    return exp(fabs(t) > 1e-8 ? log1p(t) / t * x : (1 - t / 2) * x);
}

static void zipf_prepare(struct zipf *zipf, uint64_t pages, double exponent) {
    zipf->exponent = exponent;
    zipf->low = integral(exponent, 1.5) - 1;
    zipf->high = integral(exponent, (double)pages + 0.5);
    zipf->cut = 2 - integral_inverse(exponent, integral(exponent, 2.5) - pow(2, -exponent));
}

/* 1: the most frequent. */
static uint64_t zipf_rank(const struct zipf *zipf, uint64_t pages, uint64_t random) {
    for (;;) {
        double share = (double)(random >> 11) * 0x1p-53;
        double u = zipf->high + share * (zipf->low - zipf->high);
        double x = integral_inverse(zipf->exponent, u);
        double rank = x + 0.5 < 1 ? 1 : floor(x + 0.5);
        if (rank > (double)pages)
            rank = (double)pages;
        if (rank - x <= zipf->cut ||
            u >= integral(zipf->exponent, rank + 0.5) - pow(rank, -zipf->exponent))
            return (uint64_t)rank;
        random = ff__mix(random);
    }
}

static uint64_t page_zipf(const struct synthetic *model, const struct ff__kernel *kernel,
                          uint64_t at) {
    (void)kernel;
    uint64_t rank = zipf_rank(&model->zipf, model->pages, ff__mix(model->seed + at));
    return (rank - 1) * model->zipf.scatter % model->pages;
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int prepare_zipf(struct synthetic *model, struct ff_error *error) {
    zipf_prepare(&model->zipf, model->pages, (double)model->own[1] / 100);
    /* frequent pages are not neighbours: the golden ratio of 2^32 spreads them */
    model->zipf.scatter = UINT64_C(2654435769);
    while (common_divisor(model->zipf.scatter, model->pages) != 1)
        model->zipf.scatter += 2;
    model->page = page_zipf;
    return set_accesses(model, accesses_of(model), error);
}

PATTERN(zipf, "a few pages often, many rarely (Zipf's law)", ACCESSES,
        {"alpha", FF_PARAM_INT, 100, 1, 1000, "the exponent, in hundredths"})

/* ---- phase ---- */

#define PHASE_KINDS 3

/* Launches alternate between three behaviours, each in a third of the array: in turn, at random,
 * and strided by 16 pages. */
static uint64_t page_of_phase(const struct synthetic *model, const struct ff__kernel *kernel,
                              uint64_t at) {
    uint64_t kind = kernel->argument[0], third = ff__ceil_div(model->pages, PHASE_KINDS);
    uint64_t per_pass = ff__ceil_div(third, 16), page;
    if (kind == 0)
        page = at % third;
    else if (kind == 1)
        page = ff__mix(model->seed + at) % third;
    else
        page = (at % per_pass * 16 + at / per_pass) % third;
    return (kind * third + page) % model->pages;
}

static uint64_t phase_kind(const struct synthetic *model, uint64_t which) {
    return which / model->own[1] % PHASE_KINDS;
}

static int prepare_phase(struct synthetic *model, struct ff_error *error) {
    model->page = page_of_phase;
    model->argument = phase_kind;
    model->launches = model->own[1] * model->own[2];
    return set_accesses(model, model->own[0] ? model->own[0] : model->pages, error);
}

PATTERN(phase, "alternating phases: in order, random, strided",
        {"accesses", FF_PARAM_INT, 0, 0, INT64_C(1) << 40,
         "accesses of a launch; 0: one for each page"},
        {"launches", FF_PARAM_INT, 3, 1, 4096, "launches of one phase"},
        {"phases", FF_PARAM_INT, 9, 1, 4096, "number of phases, of three alternating kinds"})
