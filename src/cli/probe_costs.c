/* farfault probe: this machine's software device as a device of the simulator. */
#include "base/new_file.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "engine/engine.h"
#include "report/json.h"
#include "report/table.h"
#include "study/live/costs.h"

#include <farfault/mask.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Measures what faults, migrations and evictions cost on this machine's software device, and "
    "writes them as a device for the simulator: what farfault record --touches has recorded can be "
    "replayed on it. Takes some seconds, in which nothing else should run.\n"
    "\n"
    "Examples:\n"
    "  farfault probe --output soft.json\n"
    "  farfault replay run.trace --gpu soft.json --systems nvidia,keep\v"
    "Each cost has its source beside it. A trace's work is in nanoseconds of this machine's CPUs, "
    "so that an instruction of the device takes one.";

/* ---- the device ---- */

/* What a fault costs whatever it brings, and a page more; both as in the smallest two sizes. */
struct fit {
    double fixed_ns, page_ns;
};

static struct fit fit(const double ns[FF__COST_SIZES]) {
    double pages = (double)(ff__cost_sizes[1] - ff__cost_sizes[0]) / FF_PAGE_SIZE;
    double page_ns = (ns[1] - ns[0]) / pages;
    page_ns = page_ns > 0 ? page_ns : 1;
    double fixed_ns = ns[0] - page_ns;
    return (struct fit){fixed_ns > 0 ? fixed_ns : 0, page_ns};
}

static double rate(uint64_t bytes, double ns) {
    return (double)bytes * 1e9 / (ns > 1 ? ns : 1);
}

static json_t *member(json_t *value, const char *source) {
    return json_pack("{s:o, s:s}", "value", value, "source", source);
}

static void put_whole(json_t *device, const char *name, double value, const char *source) {
    json_object_set_new(device, name, member(json_integer((json_int_t)(value + 0.5)), source));
}

static void put_word(json_t *device, const char *name, const char *value, const char *source) {
    json_object_set_new(device, name, member(json_string(value), source));
}

static void put_flag(json_t *device, const char *name, bool value, const char *source) {
    json_object_set_new(device, name, member(json_boolean(value), source));
}

static void put_real(json_t *device, const char *name, double value, const char *source) {
    json_object_set_new(device, name, member(json_real(value), source));
}

static double cpu_count(void) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus > 1 ? (double)cpus : 1;
}

static json_t *point(uint64_t bytes, double bytes_per_second) {
    return json_pack("[I, I]", (json_int_t)bytes, (json_int_t)bytes_per_second);
}

static void put_link(json_t *device, const char *name, json_t *curve, const char *source) {
    json_object_set_new(
        device, name,
        json_pack("{s:o, s:o}", "latency_ns",
                  member(json_integer(0), "ours: a part of what a fault costs whatever it brings"),
                  "curve", member(curve, source)));
}

/* Pages that come with a whole block come as one chunk; fewer come by copies of their own. */
static json_t *curve_in(const struct ff__costs *costs, double fixed_ns) {
    json_t *curve = json_array();
    for (unsigned i = 0; i < FF__COST_SIZES; i++) {
        double bytes_per_second = rate(ff__cost_sizes[i], costs->serve_ns[i] - fixed_ns);
        if (i == FF__COST_SIZES - 1) /* up to there as before */
            json_array_append_new(
                curve, point(FF_BLOCK_SIZE - FF_PAGE_SIZE,
                             rate(ff__cost_sizes[i - 1], costs->serve_ns[i - 1] - fixed_ns)));
        json_array_append_new(curve, point(ff__cost_sizes[i], bytes_per_second));
    }
    return curve;
}

static void put_faults(json_t *device, const struct ff__costs *costs,
                       const struct ff_config *config) {
    static const char none[] = "ours: the software device has no such cost of its own";
    struct fit serving = fit(costs->serve_ns);
    double waking_ns = costs->fault_ns[0] - costs->serve_ns[0];
    waking_ns = waking_ns > 0 ? waking_ns : 0;
    put_word(device, "fault_cost", "batch",
             "src/engine/fault_workers.c: faults are read in batches");
    put_whole(device, "batch_faults", 256, "src/engine/fault_workers.c: BATCH_MAX");
    put_whole(device, "delivery_ns", waking_ns / 2,
              "measured: half of what a thread waits longer for a page than serving it takes");
    put_whole(device, "replay_ns", waking_ns / 2, "measured: the other half of it");
    put_whole(device, "spin_ns", (double)config->spin_ns, "as configured (--spin)");
    put_whole(device, "wake_ns", costs->wake_ns > 0 ? costs->wake_ns : 0,
              "measured: a fault after a pause, less one right after another");
    put_whole(device, "reserve_share", FF__RESERVE_SHARE, "src/engine/engine.h: FF__RESERVE_SHARE");
    put_whole(device, "reserve_most", FF__RESERVE_MAX, "src/engine/engine.h: FF__RESERVE_MAX");
    put_whole(device, "movers", 1, "src/engine/migration.c: one thread prefetches and pre-evicts");
    put_real(device, "mover_share", 1 / cpu_count(), "ours: a thread more than there are CPUs");
    put_whole(device, "batch_ns", 0, none);
    put_whole(device, "entry_ns", 0, none);
    put_whole(device, "duplicate_ns", 0, none);
    put_whole(device, "flush_ns", 0, none);
    put_whole(
        device, "block_ns", serving.fixed_ns > 1 ? serving.fixed_ns : 1,
        "measured: serving a fault, less its bytes: what is left of faults that bring one and "
        "16 pages for none");
    put_whole(device, "page_ns", 0, "ours: a part of the link's time");
    put_whole(device, "evict_ns", costs->clean_ns,
              "measured: evicting a block that was not written to");
    put_link(device, "in", curve_in(costs, serving.fixed_ns),
             "measured: faults that bring so much, less block_ns");
    double copy_ns = costs->dirty_ns - costs->clean_ns,
           least_ns = FF_BLOCK_SIZE * 1e9 / costs->copy_rate;
    json_t *out = json_array();
    json_array_append_new(
        out, point(FF_BLOCK_SIZE, rate(FF_BLOCK_SIZE, copy_ns > least_ns ? copy_ns : least_ns)));
    put_link(device, "out", out,
             "measured: evicting a block that was written to, less one that was not");
}

static void put_processors(json_t *device, const struct ff__costs *costs) {
    static const char in_trace[] = "ours: the work of a recorded thread contains it";
    static const char in_ns[] = "ours: an instruction of a recorded thread is a nanosecond";
    double count = cpu_count();
    put_whole(device, "sms", count, "this machine: CPUs");
    put_whole(device, "warps_per_sm", 1, "ours: a thread a CPU");
    put_whole(device, "ctas_per_sm", 1, "ours: a thread a CPU");
    put_whole(device, "clock_hz", 1e9, in_ns);
    put_whole(device, "instructions_per_cycle", 1, in_ns);
    put_whole(device, "flops", 8e9 * count, "ours: not measured, and of analytical kernels alone");
    put_whole(device, "memory_rate", costs->copy_rate * count, "measured: copies in memory");
    put_whole(device, "memory_latency_ns", 0, in_trace);
    put_whole(device, "tlb_entries", 64, in_trace);
    put_whole(device, "tlb_page", FF_PAGE_SIZE, in_trace);
    put_whole(device, "walk_ns", 0, in_trace);
    put_whole(device, "launch_ns", costs->launch_ns, "measured: an empty kernel in C");
}

static void put_rest(json_t *device, const struct ff__costs *costs,
                     const struct ff_config *config) {
    static const char unused[] = "ours: the software device has none";
    json_t *peer = json_array();
    put_whole(device, "memory", (double)(config->memory & ~(FF_BLOCK_SIZE - 1)),
              "ours: the default of farfault run");
    put_whole(device, "granule", (double)config->granule, "as configured (--granule)");
    put_word(device, "host", "faults", "a page is where it was last accessed");
    put_word(device, "ranges", "exact", "docs/architecture.md: blocks are clipped to their ranges");
    put_flag(device, "write_back_clean", false,
             "docs/architecture.md: pages whose content has not changed are not copied");
    put_flag(device, "ends_when_idle", false, "ours: a thread ends when its work has");
    put_flag(device, "copies_empty", false,
             "src/backend/soft/in.c: pages without content are zeroed");
    put_whole(device, "remote_ns", 0, unused);
    put_whole(device, "remote_link_ns", 0, unused);
    put_word(device, "tracker_sees", "accesses", unused);
    put_whole(device, "sample_interval", 10000, unused);
    put_whole(device, "sample_ns", 0, unused);
    put_whole(device, "sample_page_ns", 0, unused);
    json_array_append_new(peer, point(FF_BLOCK_SIZE, costs->copy_rate));
    put_link(device, "peer", peer, "ours: as fast as copies in memory");
}

static json_t *describe(const struct ff__costs *costs, const struct ff_config *config) {
    json_t *device = json_pack("{s:s, s:s}", "name", "soft", "summary",
                               "the software device of the machine that farfault probe ran on");
    put_processors(device, costs);
    put_faults(device, costs, config);
    put_rest(device, costs, config);
    return device;
}

/* ---- for people ---- */

static void show(const struct ff__costs *costs) {
    struct ff__table table;
    ff__table_init(&table, "lrrr");
    ff__table_cells(&table, "a fault that brings", "us", "of it to serve it, us", "GB/s", NULL);
    for (unsigned i = 0; i < FF__COST_SIZES; i++) {
        ff__table_cell(&table, "%llu KiB", (unsigned long long)(ff__cost_sizes[i] >> 10));
        ff__table_cell(&table, "%.1f", costs->fault_ns[i] / 1e3);
        ff__table_cell(&table, "%.1f", costs->serve_ns[i] / 1e3);
        ff__table_cell(&table, "%.2f", (double)ff__cost_sizes[i] / costs->fault_ns[i]);
    }
    ff__table_print(&table, stdout, 0);
    ff__table_fini(&table);
    printf("a fault after a pause: %.1f us longer\n", costs->wake_ns / 1e3);
    printf("evicting 2 MiB: %.1f us, written to %.1f us; an empty kernel: %.1f us; copies: %.1f "
           "GB/s\n",
           costs->clean_ns / 1e3, costs->dirty_ns / 1e3, costs->launch_ns / 1e3,
           costs->copy_rate / 1e9);
}

/* ---- the command ---- */

/* Each measurement opens a context of its own, and each says the same. */
static void warn_once(void *user, enum ff_log_level level, const char *message) {
    struct ff_error *said = user;
    if (level != FF_LOG_WARNING || strncmp(said->message, message, sizeof said->message - 1) == 0)
        return;
    snprintf(said->message, sizeof said->message, "%s", message);
    fprintf(stderr, "farfault probe: %s\n", message);
}

static int measure(struct ff__options *options, const struct ff_config *config) {
    const char *path = options->text[FF__OPTION_OUTPUT];
    struct ff__costs costs;
    struct ff_error error;
    if (ff__costs_measure(config, &costs, &error))
        return ff__options_translate(options, FF__EXIT_FAILURE, error.message);
    show(&costs);
    json_t *device = describe(&costs, config);
    int status = path ? ff__json_write(device, path) : 0;
    json_decref(device);
    return status ? ff__complain(FF__EXIT_FAILURE, "cannot write %s: %s", path, strerror(-status))
                  : 0;
}

static int probe(struct ff__options *options) {
    const char *path = options->text[FF__OPTION_OUTPUT];
    struct ff_config config;
    struct ff_error said = {{0}};
    if (options->word_count > 0)
        return ff__complain(FF__EXIT_USAGE, "'%s' is one word too many", options->words[0]);
    int status = ff__options_apply(options, &config);
    if (status)
        return status;
    config.log = warn_once;
    config.log_user = &said;
    status = path ? ff__file_check(path) : 0; /* before anything takes time */
    return status ? ff__complain(FF__EXIT_FAILURE, "cannot write %s: %s", path, strerror(-status))
                  : measure(options, &config);
}

const struct ff__command ff__command_probe = {FF__COMMAND_PROBE, NULL, help, probe, 0};
