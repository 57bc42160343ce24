/* farfault list: what there is to choose from. */
#include "backend/sim/machine/gpu.h"
#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "policy/registry.h"
#include "report/table.h"
#include "study/find.h"
#include "study/live/program.h"
#include "study/outputs.h"
#include "workload/workload.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Shows the systems, the policies that they are made of, the bundled programs, the workloads "
    "and the devices that can be modelled.\n"
    "\n"
    "Examples:\n"
    "  farfault list\n"
    "  farfault list systems\n"
    "  farfault list policies tree\n"
    "  farfault list systems --json\v"
    "Without arguments only the names are shown. After a list, the names of some of its items show "
    "these alone; policies and workloads then with their parameters.\n"
    "\n"
    "Constants of our policies are chosen on the programs of the set choose; figures are of the "
    "set "
    "report. 'used' says whether constants were chosen on a program before there were sets.";

/* Items of a list that are asked for by their names; none: all are. */
struct names {
    char **items;
    int count;
};

static bool has(const struct names *names, const char *name) {
    for (int i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return names->count == 0;
}

/* ---- systems ---- */

static const char *system_name(unsigned index) {
    const struct ff__system_row *row = ff__system_at(index);
    return row ? row->name : NULL;
}

static void show_systems(const struct names *names) {
    const struct ff__system_row *row;
    struct ff__table table;
    ff__table_init(&table, "lllllll");
    ff__table_cells(&table, "system", "prefetch", "evict", "place", "discard", "parameters",
                    "summary", NULL);
    for (unsigned i = 0; (row = ff__system_at(i)); i++)
        if (has(names, row->name))
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

/* By kind, one after the other. */
static const char *policy_name(unsigned index) {
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        unsigned count = 0;
        while (ff__policy_at((enum ff__slot)slot, count))
            count++;
        if (index < count)
            return ff__policy_at((enum ff__slot)slot, index)->name;
        index -= count;
    }
    return NULL;
}

static void show_kind(enum ff__slot slot, const struct names *names) {
    const struct ff_policy *policy;
    bool begun = false;
    for (unsigned i = 0; (policy = ff__policy_at(slot, i)); i++) {
        if (!has(names, policy->name))
            continue;
        if (!begun)
            printf("%s policies\n", ff__slot_name(slot));
        begun = true;
        printf("  %s: %s\n", policy->name, policy->summary);
        if (names->count && policy->params && policy->params->name)
            show_params(policy->params);
    }
}

static void show_policies(const struct names *names) {
    for (int slot = 0; slot < FF__SLOTS; slot++)
        show_kind((enum ff__slot)slot, names);
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
    json_t *list = ff__must(json_array());
    for (unsigned bit = 0; bit < FF__VISIBILITIES; bit++)
        if (policy->sees & 1u << bit)
            json_array_append_new(list, ff__must(json_string(ff__visibility_names[bit])));
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

static const char *program_name(unsigned index) {
    const struct ff__program_row *row = ff__program_at(index);
    return row ? row->name : NULL;
}

static const char *set_of(const char *program) {
    return ff__program_is_reported(program) ? "report" : "choose";
}

static void show_programs(const struct names *names) {
    const struct ff__program_row *row;
    struct ff__table table;
    ff__table_init(&table, "lllll");
    ff__table_cells(&table, "program", "interface", "set", "used", "summary", NULL);
    for (unsigned i = 0; (row = ff__program_at(i)); i++)
        if (has(names, row->name))
            ff__table_cells(&table, row->name, row->interface, set_of(row->name),
                            ff__program_was_used(row->name) ? "yes" : "-", row->summary, NULL);
    ff__table_print(&table, stdout, 0);
    ff__table_fini(&table);
}

static json_t *programs_json(void) {
    const struct ff__program_row *row;
    json_t *list = ff__must(json_array());
    for (unsigned i = 0; (row = ff__program_at(i)); i++)
        json_array_append_new(
            list, ff__must(json_pack("{s:s, s:s, s:s, s:b, s:s}", "name", row->name, "interface",
                                     row->interface, "set", set_of(row->name), "used_before_sets",
                                     ff__program_was_used(row->name), "summary", row->summary)));
    return list;
}

/* ---- workloads ---- */

static const char *workload_name(unsigned index) {
    const struct ff__workload_type *type = ff__workload_at(index);
    return type ? type->name : NULL;
}

static void show_workloads(const struct names *names) {
    const struct ff__workload_type *type;
    puts("workloads");
    for (unsigned i = 0; (type = ff__workload_at(i)); i++) {
        if (!has(names, type->name))
            continue;
        printf("  %s: %s\n", type->name, type->summary);
        if (names->count && type->takes_file)
            printf("    %s=PATH: %s\n", type->file_key, type->file_help);
        if (names->count && type->params && type->params->name)
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

static struct ff__gpu gpus[GPUS_MAX];
static unsigned gpu_count;

/* Reads the presets once; those that cannot be are complained of and left out. */
static void read_gpus(void) {
    static bool done;
    char folder[PATH_MAX], names[GPUS_MAX][32];
    struct ff_error error;
    if (done)
        return;
    done = true;
    if (ff__find_data("gpus", folder))
        return;
    unsigned found = ff__gpu_names(folder, names, GPUS_MAX);
    for (unsigned i = 0; i < found; i++) {
        if (ff__gpu_read(names[i], folder, &gpus[gpu_count], &error))
            ff__complain(0, "%s", error.message);
        else
            gpu_count++;
    }
}

static const char *gpu_name(unsigned index) {
    read_gpus();
    return index < gpu_count ? gpus[index].name : NULL;
}

/* Bytes per second of the largest transfer that a link's curve knows. */
static double rate_of(const struct ff__link_model *link) {
    return link->rate[link->point_count - 1];
}

static void show_gpus(const struct names *names) {
    struct ff__table table;
    char size[FF__QUANTITY];
    read_gpus();
    ff__table_init(&table, "lrrrll");
    ff__table_cells(&table, "device", "memory", "host GB/s", "peer GB/s", "faults", "summary",
                    NULL);
    for (unsigned i = 0; i < gpu_count; i++) {
        if (!has(names, gpus[i].name))
            continue;
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
    json_t *list = ff__must(json_array());
    read_gpus();
    for (unsigned i = 0; i < gpu_count; i++)
        json_array_append_new(
            list, ff__must(json_pack("{s:s, s:s, s:I}", "name", gpus[i].name, "summary",
                                     gpus[i].summary, "memory", (json_int_t)gpus[i].memory)));
    return list;
}

/* ---- the command ---- */

static const struct {
    const char *name, *one; /* its name, and what one item of it is called */
    const char *(*name_at)(unsigned index);
    void (*show)(const struct names *names);
    json_t *(*json)(void);
} lists[] = {
    {"systems", "system", system_name, show_systems, systems_json},
    {"policies", "policy", policy_name, show_policies, policies_json},
    {"programs", "program", program_name, show_programs, programs_json},
    {"workloads", "workload", workload_name, show_workloads, workloads_json},
    {"gpus", "device", gpu_name, show_gpus, gpus_json},
};

#define LIST_COUNT (sizeof lists / sizeof lists[0])

/* A list that is wanted, with the names that follow it. */
struct wanted_list {
    bool listed;
    struct names names;
};

static size_t find_list(const char *name) {
    size_t i = 0;
    while (i < LIST_COUNT && strcmp(lists[i].name, name) != 0)
        i++;
    return i;
}

/* Of the first item with this name; past the end if there is none. */
static unsigned position(size_t list, const char *name) {
    const char *other;
    unsigned i = 0;
    while ((other = lists[list].name_at(i)) && strcmp(other, name) != 0)
        i++;
    return i;
}

static int complain_name(size_t list, const char *name) {
    struct ff__nearest nearest = {.word = name};
    const char *other;
    for (unsigned i = 0; (other = lists[list].name_at(i)); i++)
        ff__nearest_offer(&nearest, other);
    struct ff_error error;
    char command[32];
    snprintf(command, sizeof command, "farfault list %s", lists[list].name);
    ff__nearest_fail(&nearest, lists[list].one, command, &error);
    return ff__complain(FF__EXIT_USAGE, "%s", error.message);
}

static int check_names(const struct wanted_list wanted[LIST_COUNT]) {
    for (size_t list = 0; list < LIST_COUNT; list++) {
        for (int i = 0; i < wanted[list].names.count; i++) {
            const char *name = wanted[list].names.items[i];
            if (!lists[list].name_at(position(list, name)))
                return complain_name(list, name);
        }
    }
    return 0;
}

/* The words of the command line, which may be lists themselves. */
static struct ff__words split_all(const struct ff__options *options) {
    struct ff__words all = {0};
    for (int word = 0; word < options->word_count; word++) {
        struct ff__words some = ff__words_split(options->words[word]);
        for (unsigned i = 0; i < some.count; i++)
            ff__words_add(&all, ff__text("%s", some.items[i]));
        ff__words_free(&some);
    }
    return all;
}

/* Which lists are wanted, and what of them. */
static int choose(const struct ff__words *words, struct wanted_list wanted[LIST_COUNT]) {
    size_t last = LIST_COUNT;
    for (size_t i = 0; i < LIST_COUNT; i++)
        wanted[i] = (struct wanted_list){.listed = words->count == 0};
    for (unsigned word = 0; word < words->count; word++) {
        size_t list = find_list(words->items[word]);
        if (list < LIST_COUNT) {
            wanted[list] = (struct wanted_list){true, {words->items + word + 1, 0}};
            last = list;
        } else if (last < LIST_COUNT) {
            wanted[last].names.count++;
        } else {
            return ff__complain(FF__EXIT_USAGE,
                                "there is no list '%s'; there are: systems, policies, programs, "
                                "workloads, gpus",
                                words->items[word]);
        }
    }
    return check_names(wanted);
}

static void show(const struct wanted_list wanted[LIST_COUNT]) {
    bool first = true;
    for (size_t i = 0; i < LIST_COUNT; i++) {
        if (!wanted[i].listed)
            continue;
        if (!first)
            putchar('\n');
        first = false;
        lists[i].show(&wanted[i].names);
    }
}

#define WIDTH 79u /* of a line of names */

/* A program that is there in OpenCL and in CUDA. */
static bool has_twin(const char *name, const char *next) {
    size_t length = strlen(name);
    return next && strncmp(name, next, length) == 0 && strcmp(next + length, "-cuda") == 0;
}

/* All names, for a screen of 24 lines. */
static void show_short(void) {
    for (size_t list = 0; list < LIST_COUNT; list++) {
        const char *name;
        size_t used = 0;
        for (unsigned i = 0; (name = lists[list].name_at(i)); i++) {
            if (position(list, name) < i)
                continue; /* a policy of two kinds */
            char text[80];
            bool twin = has_twin(name, lists[list].name_at(i + 1));
            snprintf(text, sizeof text, "%s%s", name, twin ? "*" : "");
            i += twin;
            if (used == 0 || used + strlen(text) + 1 > WIDTH)
                used = (size_t)printf("%s%-10s", used ? "\n" : "", used ? "" : lists[list].name);
            used += (size_t)printf(" %s", text);
        }
        putchar('\n');
    }
    puts("* also in CUDA: NAME-cuda. More: farfault list systems [NAME], and so on.");
}

static int write_json(const struct wanted_list wanted[LIST_COUNT],
                      const struct ff__outputs *outputs) {
    json_t *all = ff__results_new("list");
    for (size_t i = 0; i < LIST_COUNT; i++)
        if (wanted[i].listed)
            ff__json_set(all, lists[i].name, lists[i].json());
    int status = ff__outputs_write(outputs, all);
    json_decref(all);
    return status;
}

/* A variable does not turn a list into JSON. */
static int list(const struct ff__options *options, const struct ff__words *words) {
    struct wanted_list wanted[LIST_COUNT];
    struct ff__outputs outputs = {.json = NULL};
    int status = choose(words, wanted);
    if (options->from_environment[FF__OPTION_JSON])
        ff__outputs_expect(NULL);
    else if (!status)
        status = ff__options_outputs(options, &outputs);
    if (status)
        return status;
    if (outputs.json)
        return write_json(wanted, &outputs);
    if (words->count == 0)
        show_short();
    else
        show(wanted);
    return 0;
}

static int split_and_list(struct ff__options *options) {
    struct ff__words words = split_all(options);
    int status = list(options, &words);
    ff__words_free(&words);
    return status;
}

const struct ff__command ff__command_list = {
    FF__COMMAND_LIST, "[systems|policies|programs|workloads|gpus...] [NAME...]", help,
    split_and_list, 0};
