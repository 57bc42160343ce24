/* farfaultd: lets programs under farfault share the memory of devices. */
#include "base/file_limit.h"
#include "base/parse.h"
#include "daemon/broker.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2, NO_TURNS = 256, METRICS };

#define LIMIT_NS UINT64_C(5000000000) /* ours */

static struct ff__broker broker;
static const char *path;

static const struct argp_option options[] = {
    {"socket", 's', "PATH", 0, "the socket to listen at; it is made for its owner alone", 0},
    {"device", 'd', "NAME:SIZE", 0, "a device and its memory, such as gpu0:256M; up to 8", 0},
    {"limit", 'l', "TIME", 0,
     "how long a program may take to give memory back that others need (default: 5s)", 0},
    {"no-turns", NO_TURNS, NULL, 0,
     "programs of a device that thrash take no turns: each has its part of the memory", 0},
    {"metrics", METRICS, "FILE.prom", 0,
     "keep counters in this file, in Prometheus' text format, anew every 5 s", 0},
    {0},
};

static int complain(int status, const char *text, const char *what) {
    fprintf(stderr, "farfaultd: %s: %s\n", text, what);
    return status;
}

static void say(void *user, enum ff_log_level level, const char *line) {
    (void)user, (void)level;
    fprintf(stderr, "farfaultd: %s\n", line);
}

static bool is_name(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return length > 0 && length < FF__SHARE_NAME;
}

static const char *add_device(const char *text) {
    const char *colon = strrchr(text, ':');
    uint64_t bytes = 0;
    size_t length = colon ? (size_t)(colon - text) : 0;
    if (!colon || !is_name(text, length) || ff__parse_size(colon + 1, &bytes))
        return "must be a name and a size, such as gpu0:256M";
    if (bytes < (FF__KEEP + 1) * FF__SLOT_SIZE || bytes > FF__SHARE_BYTES)
        return "a device has at least 6M";
    if (broker.device_count == FF__SHARE_DEVICES)
        return "that is one device more than 8";
    struct ff__broker_device *device = &broker.devices[broker.device_count++];
    memcpy(device->name, text, length);
    device->slots = (uint32_t)(bytes / FF__SLOT_SIZE);
    for (uint32_t d = 0; d + 1 < broker.device_count; d++)
        if (strcmp(broker.devices[d].name, device->name) == 0)
            return "there is a device of that name already";
    return NULL;
}

static error_t take(int key, char *argument, struct argp_state *state) {
    const char *wrong = NULL;
    switch (key) {
    case 's':
        path = argument;
        return 0;
    case 'd':
        wrong = add_device(argument);
        break;
    case 'l':
        if (ff__parse_ns(argument, &broker.limit_ns) || broker.limit_ns == 0)
            wrong = "must be a time, such as 5s";
        break;
    case NO_TURNS:
        broker.has_no_turns = true;
        return 0;
    case METRICS:
        broker.metrics = argument;
        return 0;
    case ARGP_KEY_ARG:
        wrong = "not an option";
        break;
    case ARGP_KEY_END:
        if (!path || broker.device_count == 0)
            exit(complain(EXIT_USAGE, "what is shared, and where",
                          "farfaultd --socket PATH --device NAME:SIZE"));
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    (void)state;
    if (wrong)
        exit(complain(EXIT_USAGE, argument, wrong));
    return 0;
}

static const struct argp argp = {
    options,
    take,
    "--socket=PATH --device=NAME:SIZE...",
    "Lends idle memory of devices to programs that run under farfault run --share.\v"
    "Who may connect is a matter of the socket's permissions. A program gets a device; what it "
    "does not need of it, others borrow, until it does. Programs whose data does not fit the same "
    "device together have a part each; if they thrash, they take turns.\n"
    "\n"
    "Example:\n"
    "  farfaultd --socket /run/user/1000/farfault --device gpu0:256M --device gpu1:256M",
    NULL,
    NULL,
    NULL};

static void end(int signal) {
    (void)signal;
    __atomic_store_n(&broker.stop, true, __ATOMIC_RELAXED);
}

int main(int argc, char **argv) {
    struct ff_error error = {""};
    const struct sigaction ends = {.sa_handler = end};
    broker.limit_ns = LIMIT_NS;
    broker.log.write = say;
    argp_err_exit_status = EXIT_USAGE;
    argp_program_version = "farfaultd " FARFAULT_VERSION;
    ff__file_limit_is_error();
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    sigaction(SIGINT, &ends, NULL);
    sigaction(SIGTERM, &ends, NULL);
    if (ff__broker_open(&broker, path, &error)) {
        fprintf(stderr, "farfaultd: %s\n", error.message);
        return 1;
    }
    int status = ff__broker_run(&broker);
    ff__broker_close(&broker);
    return status ? complain(1, "cannot wait for programs", strerror(-status)) : 0;
}
