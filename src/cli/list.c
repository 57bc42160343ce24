/* farfault list: what there is to choose from. */
#include "backend/sim/gpu.h"
#include "cli/cli.h"
#include "cli/find.h"
#include "cli/options.h"
#include "cli/program.h"
#include "policy/registry.h"
#include "report/table.h"
#include "workload/workload.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char help[] = "Shows the systems, the policies that they are made of, the bundled "
                           "programs, the workloads and "
                           "the devices that can be modelled.\v"
                           "Examples:\n"
                           "  farfault list\n"
                           "  farfault list policies\n"
                           "  farfault list systems --json";

/* ---- systems ---- */

static void show_systems(void) {
    const struct ff__system_row *row;
    struct ff__table table;
    ff__table_init(&table, "lllllll");
    ff__table_cells(&table, "system", "prefetch", "evict", "place", "discard", "parameters",
                    "summary", NULL);
    for (unsigned i = 0; (row = ff__system_at(i)); i++)
        ff__table_cells(&table, row->name, row->policy[FF__PREFETCH], row->policy[FF__EVICT],
                        row->policy[FF__PLACE], row->policy[FF__DISCARD],
                        row->params[0] ? row->params : "-", row->summary, NULL);
    ff__table_print(&table, stdout, 0);
    ff__table_fini(&table);
}

static json_t *systems_json(void) {
    const struct ff__system_row *row;
    json_t *list = ff__must(json_array());
    for (unsigned i = 0; (row = ff__system_at(i)); i++) {
        json_t *policies = ff__must(json_object());
        for (int slot = 0; slot < FF__SLOTS; slot++)
            json_object_set_new(policies, ff__slot_name((enum ff__slot)slot),
                                ff__must(json_string(row->policy[slot])));
        json_array_append_new(list, ff__must(json_pack("{s:s, s:o, s:s, s:s}", "name", row->name,
                                                       "policies", policies, "parameters",
                                                       row->params, "summary", row->summary)));
    }
    return list;
}

/* ---- policies ---- */

static const char *value_text(char out[FF__QUANTITY], const struct ff_param *param, int64_t value) {
    switch (param->type) {
    case FF_PARAM_BOOL:
        return value ? "on" : "off";
    case FF_PARAM_SIZE:
        return ff__size_text(out, (uint64_t)value);
    case FF_PARAM_NS:
        return ff__time_text(out, (uint64_t)value);
    case FF_PARAM_TEXT:
        return "-";
    case FF_PARAM_INT:
    default:
        snprintf(out, FF__QUANTITY, "%lld", (long long)value);
        return out;
    }
}

static void show_params(const struct ff_param *params) {
    struct ff__table table;
    ff__table_init(&table, "lrll");
    ff__table_cells(&table, "parameter", "default", "range", "meaning", NULL);
    for (const struct ff_param *param = params; param->name; param++) {
        char text[FF__QUANTITY], low[FF__QUANTITY], high[FF__QUANTITY];
        ff__table_cells(&table, param->name, value_text(text, param, param->initial), NULL);
        ff__table_cell(&table, "%s%s%s", value_text(low, param, param->min),
                       param->type == FF_PARAM_BOOL ? ", " : " to ",
                       value_text(high, param, param->max));
        ff__table_cell(&table, "%s", param->help);
    }
    ff__table_print(&table, stdout, 4);
    ff__table_fini(&table);
}

static void show_policies(void) {
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        const struct ff_policy *policy;
        printf("%s%s policies\n", slot ? "\n" : "", ff__slot_name((enum ff__slot)slot));
        for (unsigned i = 0; (policy = ff__policy_at((enum ff__slot)slot, i)); i++) {
            printf("  %s: %s\n", policy->name, policy->summary);
            if (policy->params && policy->params->name)
                show_params(policy->params);
        }
    }
}

static json_t *params_json(const struct ff_param *params) {
    static const char *const types[] = {
        [FF_PARAM_INT] = "int", [FF_PARAM_BOOL] = "bool", [FF_PARAM_SIZE] = "size",
        [FF_PARAM_NS] = "ns",   [FF_PARAM_TEXT] = "text",
    };
    json_t *list = ff__must(json_array());
    for (const struct ff_param *param = params; param && param->name; param++)
        json_array_append_new(
            list, ff__must(json_pack("{s:s, s:s, s:I, s:I, s:I, s:s}", "name", param->name, "type",
                                     types[param->type], "default", (json_int_t)param->initial,
                                     "min", (json_int_t)param->min, "max", (json_int_t)param->max,
                                     "help", param->help)));
    return list;
}

static json_t *needs_json(const struct ff_policy *policy) {
    static const char *const names[] = {"faults", "launches", "accesses", "instructions"};
    json_t *list = ff__must(json_array());
    for (unsigned bit = 0; bit < sizeof names / sizeof names[0]; bit++)
        if (policy->sees & 1u << bit)
            json_array_append_new(list, ff__must(json_string(names[bit])));
    return list;
}

static json_t *policies_json(void) {
    json_t *list = ff__must(json_array());
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        const struct ff_policy *policy;
        for (unsigned i = 0; (policy = ff__policy_at((enum ff__slot)slot, i)); i++)
            json_array_append_new(
                list, ff__must(json_pack(
                          "{s:s, s:s, s:s, s:o, s:o}", "kind", ff__slot_name((enum ff__slot)slot),
                          "name", policy->name, "summary", policy->summary ? policy->summary : "",
                          "needs", needs_json(policy), "parameters", params_json(policy->params))));
    }
    return list;
}

/* ---- programs ---- */

static void show_programs(void) {
    const struct ff__program_row *row;
    struct ff__table table;
    ff__table_init(&table, "ll");
    ff__table_cells(&table, "program", "summary", NULL);
    for (unsigned i = 0; (row = ff__program_at(i)); i++)
        ff__table_cells(&table, row->name, row->summary, NULL);
    ff__table_print(&table, stdout, 0);
    ff__table_fini(&table);
}

static json_t *programs_json(void) {
    const struct ff__program_row *row;
    json_t *list = ff__must(json_array());
    for (unsigned i = 0; (row = ff__program_at(i)); i++)
        json_array_append_new(
            list, ff__must(json_pack("{s:s, s:s}", "name", row->name, "summary", row->summary)));
    return list;
}

/* ---- workloads ---- */

static void show_workloads(void) {
    const struct ff__workload_type *type;
    puts("workloads");
    for (unsigned i = 0; (type = ff__workload_at(i)); i++) {
        printf("  %s: %s\n", type->name, type->summary);
        if (type->takes_file)
            printf("    %s=PATH: %s\n", type->file_key, type->file_help);
        if (type->params && type->params->name)
            show_params(type->params);
    }
}

static json_t *workloads_json(void) {
    const struct ff__workload_type *type;
    json_t *list = ff__must(json_array());
    for (unsigned i = 0; (type = ff__workload_at(i)); i++) {
        json_t *workload =
            ff__must(json_pack("{s:s, s:s, s:o}", "name", type->name, "summary", type->summary,
                               "parameters", params_json(type->params)));
        if (type->takes_file)
            json_object_set_new(workload, "file", ff__must(json_string(type->file_key)));
        json_array_append_new(list, workload);
    }
    return list;
}

/* ---- devices ---- */

#define GPUS_MAX 64

/* The presets, read; those that cannot be are complained of and left out. */
static unsigned read_gpus(struct ff__gpu out[GPUS_MAX]) {
    char folder[PATH_MAX], names[GPUS_MAX][32];
    struct ff_error error;
    unsigned count = 0;
    if (ff__find_data("gpus", folder))
        return 0;
    unsigned found = ff__gpu_names(folder, names, GPUS_MAX);
    for (unsigned i = 0; i < found; i++) {
        if (ff__gpu_read(names[i], folder, &out[count], &error))
            ff__complain(0, "%s", error.message);
        else
            count++;
    }
    return count;
}

/* Bytes per second of the largest transfer that a link's curve knows. */
static double rate_of(const struct ff__link_model *link) {
    return link->rate[link->point_count - 1];
}

static void show_gpus(void) {
    struct ff__gpu gpus[GPUS_MAX];
    struct ff__table table;
    unsigned count = read_gpus(gpus);
    char size[FF__QUANTITY];
    ff__table_init(&table, "lrrrll");
    ff__table_cells(&table, "device", "memory", "host GB/s", "peer GB/s", "faults", "summary",
                    NULL);
    for (unsigned i = 0; i < count; i++) {
        ff__table_cells(&table, gpus[i].name, ff__size_text(size, gpus[i].memory), NULL);
        ff__table_cell(&table, "%.1f", rate_of(&gpus[i].in) / 1e9);
        ff__table_cell(&table, "%.1f", rate_of(&gpus[i].peer) / 1e9);
        ff__table_cells(&table,
                        gpus[i].fault_cost == FF__FAULT_BATCH  ? "batch"
                        : gpus[i].fault_cost == FF__FAULT_FLAT ? "flat"
                                                               : "overlapped",
                        gpus[i].summary, NULL);
    }
    ff__table_print(&table, stdout, 0);
    ff__table_fini(&table);
}

static json_t *gpus_json(void) {
    struct ff__gpu gpus[GPUS_MAX];
    unsigned count = read_gpus(gpus);
    json_t *list = ff__must(json_array());
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(
            list, ff__must(json_pack("{s:s, s:s, s:I}", "name", gpus[i].name, "summary",
                                     gpus[i].summary, "memory", (json_int_t)gpus[i].memory)));
    return list;
}

/* ---- the command ---- */

static const struct {
    const char *name;
    void (*show)(void);
    json_t *(*json)(void);
} lists[] = {
    {"systems", show_systems, systems_json},
    {"policies", show_policies, policies_json},
    {"programs", show_programs, programs_json},
    {"workloads", show_workloads, workloads_json},
    {"gpus", show_gpus, gpus_json},
};

#define LIST_COUNT (sizeof lists / sizeof lists[0])

static const struct argp_option list_options[] = {
    {"json", FF__OPTION_KEY(FF__OPTION_JSON), NULL, 0, "as JSON", 0},
    {0},
};

/* Which lists are wanted, by the words of the command line. */
static int choose(const struct ff__options *options, bool wanted[LIST_COUNT]) {
    for (size_t i = 0; i < LIST_COUNT; i++)
        wanted[i] = options->word_count == 0;
    for (int word = 0; word < options->word_count; word++) {
        size_t i = 0;
        while (i < LIST_COUNT && strcmp(lists[i].name, options->words[word]) != 0)
            i++;
        if (i == LIST_COUNT)
            return ff__complain(FF__EXIT_USAGE,
                                "there is no list '%s'; there are: systems, policies, programs, "
                                "workloads, gpus",
                                options->words[word]);
        wanted[i] = true;
    }
    return 0;
}

static void show(const bool wanted[LIST_COUNT]) {
    bool first = true;
    for (size_t i = 0; i < LIST_COUNT; i++) {
        if (!wanted[i])
            continue;
        if (!first)
            putchar('\n');
        first = false;
        lists[i].show();
    }
}

static void show_json(const bool wanted[LIST_COUNT]) {
    json_t *all = ff__must(json_object());
    for (size_t i = 0; i < LIST_COUNT; i++)
        if (wanted[i])
            json_object_set_new(all, lists[i].name, lists[i].json());
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

int ff__list(int argc, char **argv) {
    const struct argp argp = {list_options,
                              ff__options_take,
                              "[systems] [policies] [programs] [workloads] [gpus]",
                              help,
                              NULL,
                              NULL,
                              NULL};
    struct ff__options options;
    int status = ff__options_parse(&argp, argc, argv, 0, &options);
    if (status)
        return status;
    bool wanted[LIST_COUNT],
        json = options.text[FF__OPTION_JSON] != NULL && !options.from_environment[FF__OPTION_JSON];
    status = choose(&options, wanted);
    if (!status)
        (json ? show_json : show)(wanted);
    ff__options_free(&options);
    return status;
}
