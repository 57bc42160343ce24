#include "daemon/metrics.h"

#include "daemon/broker.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* One of a program: a member of struct ff__share_counts. */
struct program_counter {
    const char *name, *help;
    size_t member;
    bool is_time; /* ns, shown in seconds */
};

#define MEMBER(name) offsetof(struct ff__share_counts, name)

static const struct program_counter counters[] = {
    {"faults_total", "Far faults.", MEMBER(faults), false},
    {"refaults_total", "Far faults on pages that had been evicted before.", MEMBER(refaults),
     false},
    {"launches_total", "Kernels begun.", MEMBER(launches), false},
    {"in_bytes_total", "Bytes copied from the host to the device.", MEMBER(bytes_in), false},
    {"out_bytes_total", "Bytes copied from the device to the host.", MEMBER(bytes_out), false},
    {"lent_bytes_total", "Bytes evicted to other devices.", MEMBER(bytes_lent), false},
    {"fetched_bytes_total", "Bytes that came back from other devices.", MEMBER(bytes_fetched),
     false},
    {"stalled_seconds_total", "Time spent waiting for faults.", MEMBER(stalled_ns), true},
    {"waited_seconds_total", "Time that launches waited for the program's turn.", MEMBER(waited_ns),
     true},
};

static bool is_program(const struct ff__client *client) {
    return client->fd >= 0 && client->device != FF__SHARE_NOBODY;
}

/* A label's value, in quotes. Names are of printable ASCII. */
static void print_text(FILE *file, const char *text) {
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void print_head(FILE *file, const char *name, const char *type, const char *help) {
    fprintf(file, "# HELP farfault_%s %s\n# TYPE farfault_%s %s\n", name, help, name, type);
}

static void print_device(FILE *file, const char *name, const struct ff__broker_device *device) {
    fprintf(file, "farfault_%s{device=", name);
    print_text(file, device->name);
    fputs("} ", file);
}

static void print_program(FILE *file, const char *name, const struct ff__broker *broker,
                          const struct ff__client *client) {
    fprintf(file, "farfault_program_%s{program=", name);
    print_text(file, client->name);
    fprintf(file, ",pid=\"%u\",device=", client->pid);
    print_text(file, broker->devices[client->device].name);
    fputs("} ", file);
}

/* ---- devices ---- */

static void print_devices(const struct ff__broker *broker, FILE *file) {
    print_head(file, "device_memory_bytes", "gauge", "Memory of the device.");
    for (uint32_t d = 0; d < broker->device_count; d++) {
        print_device(file, "device_memory_bytes", &broker->devices[d]);
        fprintf(file, "%" PRIu64 "\n", broker->devices[d].slots * FF__SLOT_SIZE);
    }
    print_head(file, "device_programs", "gauge", "Programs that have the device.");
    for (uint32_t d = 0; d < broker->device_count; d++) {
        uint32_t count = 0;
        for (uint32_t c = 0; c < FF__CLIENTS; c++)
            count += is_program(&broker->clients[c]) && broker->clients[c].device == d;
        print_device(file, "device_programs", &broker->devices[d]);
        fprintf(file, "%u\n", count);
    }
    print_head(file, "device_takes_turns", "gauge", "Whether programs of the device take turns.");
    for (uint32_t d = 0; d < broker->device_count; d++) {
        print_device(file, "device_takes_turns", &broker->devices[d]);
        fprintf(file, "%d\n", broker->devices[d].turns.on);
    }
}

/* ---- programs ---- */

static uint64_t own_of(const struct ff__client *client) {
    return client->own * FF__SLOT_SIZE;
}

static uint64_t need_of(const struct ff__client *client) {
    return client->need * FF__SLOT_SIZE;
}

static uint64_t borrowed_of(const struct ff__client *client) {
    uint64_t slots = 0;
    for (uint32_t d = 0; d < FF__SHARE_DEVICES; d++)
        slots += client->grants[d].given;
    return slots * FF__SLOT_SIZE;
}

static uint64_t waits(const struct ff__client *client) {
    return client->turn == FF__TURN_WAITS;
}

static uint64_t turns_of(const struct ff__client *client) {
    return client->turns;
}

static const struct {
    const char *name, *type, *help;
    uint64_t (*value)(const struct ff__client *client);
} values[] = {
    {"own_bytes", "gauge", "Memory of its device that the program has.", own_of},
    {"need_bytes", "gauge", "Memory of its device that the program would use.", need_of},
    {"borrowed_bytes", "gauge", "Memory of other devices that the program has.", borrowed_of},
    {"waits", "gauge", "Whether the program's launches wait for its turn.", waits},
    {"turns_total", "counter", "Turns that the program has had.", turns_of},
};

#define FOR_EACH_PROGRAM(broker, client)                                                           \
    for (const struct ff__client *client = (broker)->clients;                                      \
         client < (broker)->clients + FF__CLIENTS; client++)                                       \
        if (is_program(client))

static void print_values(const struct ff__broker *broker, FILE *file) {
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "program_%s", values[i].name);
        print_head(file, name, values[i].type, values[i].help);
        FOR_EACH_PROGRAM(broker, client) {
            print_program(file, values[i].name, broker, client);
            fprintf(file, "%" PRIu64 "\n", values[i].value(client));
        }
    }
}

static void print_counters(const struct ff__broker *broker, FILE *file) {
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "program_%s", counters[i].name);
        print_head(file, name, "counter", counters[i].help);
        FOR_EACH_PROGRAM(broker, client) {
            uint64_t count =
                *(const uint64_t *)((const char *)&client->counts + counters[i].member);
            print_program(file, counters[i].name, broker, client);
            if (counters[i].is_time)
                fprintf(file, "%.9f\n", (double)count * 1e-9);
            else
                fprintf(file, "%" PRIu64 "\n", count);
        }
    }
}

void ff__metrics_print(const struct ff__broker *broker, FILE *file) {
    print_devices(broker, file);
    print_values(broker, file);
    print_counters(broker, file);
}

/* ---- the file ---- */

/* The collector reads what ends in .prom, and so not the new file before it has its name. */
int ff__metrics_write(const struct ff__broker *broker, const char *path) {
    char *other = NULL;
    if (asprintf(&other, "%s.new", path) < 0)
        return -ENOMEM;
    FILE *file = fopen(other, "we");
    int status = file ? 0 : -errno;
    if (file) {
        ff__metrics_print(broker, file);
        /* for everybody to read: the exporter is another user */
        status = fflush(file) || fchmod(fileno(file), 0644) ? -errno : 0;
        if (fclose(file) && !status)
            status = -errno;
        if (!status && rename(other, path))
            status = -errno;
        if (status)
            unlink(other);
    }
    free(other);
    return status;
}
