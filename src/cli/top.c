/* farfault top: devices that programs share through a broker, and these programs, as it happens. */
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "report/table.h"
#include "share/protocol.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define REFRESH_NS   UINT64_C(1000000000)
#define ANSWER_S     5
#define PROGRAMS_MAX 64u
#define CLEAR        "\033[H\033[2J"

static const char help[] =
    "Shows the devices that a broker (farfaultd) lets programs share, and these programs: what is "
    "lent and borrowed, far faults, and traffic; again every second.\n"
    "\n"
    "Examples:\n"
    "  farfault top --socket /run/user/1000/farfault\n"
    "  farfault top --socket /run/user/1000/farfault --json\v"
    "Every option can also be set in the environment, --socket as FARFAULT_SOCKET and so on; the "
    "command line wins. The exit status is 1 if there is no broker.";

struct broker_state {
    uint32_t device_count, program_count;
    struct ff__share_message devices[FF__SHARE_DEVICES], programs[PROGRAMS_MAX];
};

static int complain_of(const char *path, int status) {
    return ff__complain(FF__EXIT_FAILURE, "--socket %s: no broker: %s", path, strerror(-status));
}

static int hear_all(int socket, struct broker_state *seen) {
    struct ff__share_message message;
    int status;
    *seen = (struct broker_state){0};
    while ((status = ff__share_receive(socket, &message, NULL, NULL, true)) > 0) {
        if (message.kind == FF__SHARE_END)
            return 0;
        if (message.kind == FF__SHARE_DEVICE && seen->device_count < FF__SHARE_DEVICES)
            seen->devices[seen->device_count++] = message;
        if (message.kind == FF__SHARE_PROGRAM && seen->program_count < PROGRAMS_MAX)
            seen->programs[seen->program_count++] = message;
    }
    return status < 0 ? status : -EPROTO;
}

static int look(const char *path, struct broker_state *seen) {
    const struct timeval patience = {.tv_sec = ANSWER_S};
    const struct ff__share_message watch = ff__share_message(FF__SHARE_WATCH);
    int socket = ff__share_connect(path);
    if (socket < 0)
        return complain_of(path, socket);
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int status = ff__share_send(socket, &watch, NULL, 0, true);
    if (!status)
        status = hear_all(socket, seen);
    close(socket);
    return status ? complain_of(path, status) : 0;
}

/* ---- for people ---- */

static const char *name_of(const struct broker_state *seen, uint32_t device) {
    for (uint32_t i = 0; i < seen->device_count; i++)
        if (seen->devices[i].device == device)
            return seen->devices[i].text;
    return "?";
}

static void size_cell(struct ff__table *table, uint64_t bytes) {
    char text[FF__QUANTITY];
    ff__table_cell(table, "%s", ff__size_text(text, bytes));
}

static void show_devices(const struct broker_state *seen) {
    struct ff__table table;
    ff__table_init(&table, "lrrr");
    ff__table_cells(&table, "device", "memory", "own program", "lent", NULL);
    for (uint32_t i = 0; i < seen->device_count; i++) {
        ff__table_cell(&table, "%s", seen->devices[i].text);
        size_cell(&table, seen->devices[i].bytes);
        size_cell(&table, seen->devices[i].own);
        size_cell(&table, seen->devices[i].lent);
    }
    ff__table_print(&table, stdout, 0);
    ff__table_fini(&table);
}

static void show_programs(const struct broker_state *seen) {
    struct ff__table table;
    ff__table_init(&table, "lrlrrrrrr");
    ff__table_cells(&table, "program", "pid", "device", "own", "borrowed", "faults", "to lenders",
                    "back", "turns", NULL);
    for (uint32_t i = 0; i < seen->program_count; i++) {
        const struct ff__share_message *program = &seen->programs[i];
        ff__table_cell(&table, "%s", program->text);
        ff__table_cell(&table, "%u", program->pid);
        ff__table_cell(&table, "%s", name_of(seen, program->device));
        size_cell(&table, program->own);
        size_cell(&table, program->lent);
        ff__table_cell(&table, "%llu", (unsigned long long)program->counts.faults);
        size_cell(&table, program->counts.bytes_lent);
        size_cell(&table, program->counts.bytes_fetched);
        ff__table_cell(&table, "%s%llu", program->waits ? "waits, " : "",
                       (unsigned long long)program->turns);
    }
    ff__table_print(&table, stdout, 0);
    ff__table_fini(&table);
}

static void show(const struct broker_state *seen) {
    show_devices(seen);
    putchar('\n');
    show_programs(seen);
    fflush(stdout);
}

/* ---- for machines ---- */

static json_t *json_of_device(const struct ff__share_message *device) {
    json_t *object = json_object();
    ff__json_set(object, "name", ff__json_text(device->text));
    ff__json_set(object, "memory", ff__json_count(device->bytes));
    ff__json_set(object, "own", ff__json_count(device->own));
    ff__json_set(object, "lent", ff__json_count(device->lent));
    return object;
}

static json_t *json_of_program(const struct broker_state *seen,
                               const struct ff__share_message *program) {
    json_t *object = json_object();
    ff__json_set(object, "name", ff__json_text(program->text));
    ff__json_set(object, "pid", ff__json_count(program->pid));
    ff__json_set(object, "device", ff__json_text(name_of(seen, program->device)));
    ff__json_set(object, "own", ff__json_count(program->own));
    ff__json_set(object, "borrowed", ff__json_count(program->lent));
    const struct ff__share_counts *counts = &program->counts;
    ff__json_set(object, "faults", ff__json_count(counts->faults));
    ff__json_set(object, "refaults", ff__json_count(counts->refaults));
    ff__json_set(object, "launches", ff__json_count(counts->launches));
    ff__json_set(object, "bytes_in", ff__json_count(counts->bytes_in));
    ff__json_set(object, "bytes_out", ff__json_count(counts->bytes_out));
    ff__json_set(object, "bytes_lent", ff__json_count(counts->bytes_lent));
    ff__json_set(object, "bytes_fetched", ff__json_count(counts->bytes_fetched));
    ff__json_set(object, "priority", ff__json_count(program->number));
    ff__json_set(object, "turns", ff__json_count(program->turns));
    ff__json_set(object, "waits", json_boolean(program->waits));
    ff__json_set(object, "waited_seconds", json_real((double)counts->waited_ns * 1e-9));
    return object;
}

static int write_json(const struct broker_state *seen, const struct ff__outputs *outputs) {
    json_t *all = ff__results_new("top"), *devices = json_array(), *programs = json_array();
    for (uint32_t i = 0; i < seen->device_count; i++)
        json_array_append_new(devices, json_of_device(&seen->devices[i]));
    for (uint32_t i = 0; i < seen->program_count; i++)
        json_array_append_new(programs, json_of_program(seen, &seen->programs[i]));
    ff__json_set(all, "devices", devices);
    ff__json_set(all, "programs", programs);
    int status = ff__outputs_write(outputs, all);
    json_decref(all);
    return status;
}

/* ---- */

static int watch(const char *path, bool once) {
    struct broker_state seen;
    bool clears = !once && isatty(STDOUT_FILENO);
    for (;;) {
        int status = look(path, &seen);
        if (status)
            return status;
        if (clears)
            fputs(CLEAR, stdout);
        show(&seen);
        if (once)
            return 0;
        ff__clock_sleep(REFRESH_NS);
    }
}

static int run(struct ff__options *options) {
    const char *path = options->text[FF__OPTION_SOCKET];
    struct broker_state seen;
    struct ff__outputs outputs;
    if (options->word_count > 0)
        return ff__complain(FF__EXIT_USAGE, "'%s' is no option", options->words[0]);
    int status = ff__options_outputs(options, &outputs);
    if (status)
        return status;
    if (!path)
        return ff__complain(FF__EXIT_USAGE, "which broker? name its socket: --socket PATH");
    if (!outputs.json)
        return watch(path, options->number[FF__OPTION_ONCE]);
    status = look(path, &seen);
    return status ? status : write_json(&seen, &outputs);
}

const struct ff__command ff__command_top = {FF__COMMAND_TOP, NULL, help, run, 0};
