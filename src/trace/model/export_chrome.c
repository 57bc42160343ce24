#include "trace/model/export.h"

#include "base/error.h"
#include "base/grow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HOST_PROCESS 0u
#define SPACING_NS   10000u /* between two values of a counter, at least */
#define OPEN_MAX     1024u  /* launches at the same time; of more, the oldest is shown as ended */
#define DEVICES_MAX  256u   /* shown */

/* A launch that has begun. */
struct open_launch {
    uint64_t identity, began_ns, accesses;
    uint32_t device, lane, ctas, warps;
    char *name;
};

struct device_counters {
    bool named;
    bool due; /* the counters have changed since they were shown */
    uint64_t faults, shown_ns;
    int64_t resident; /* pages; a trace that begins late may take it below 0 */
};

struct exporter {
    FILE *out;
    bool any; /* an event has been written */
    struct device_counters devices[DEVICES_MAX];
    struct open_launch *open;
    size_t open_count;
    uint64_t now;
};

/* ---- JSON ---- */

static void begin_event(struct exporter *exporter, const char *phase, uint64_t time_ns,
                        uint32_t process, uint32_t thread) {
    fprintf(exporter->out, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%" PRIu64 ".%03u",
            exporter->any ? ",\n" : "", phase, process, thread, time_ns / 1000,
            (unsigned)(time_ns % 1000));
    exporter->any = true;
}

/* What is no ASCII is passed on only if it is well-formed UTF-8 of at least this shape. */
static size_t utf8_length(const unsigned char *at) {
    size_t length = at[0] >= 0xf0 && at[0] <= 0xf4   ? 4
                    : at[0] >= 0xe0 && at[0] <= 0xef ? 3
                    : at[0] >= 0xc2 && at[0] <= 0xdf ? 2
                                                     : 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xed && at[1] >= 0xa0;
    bool beyond = at[0] == 0xf4 && at[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : length;
}

static void put_string(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t length = *at >= 0x80 ? utf8_length(at) : 1;
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f || length == 0)
            fprintf(out, "\\u%04x", *at);
        else
            fwrite(at, 1, length, out);
        at += length ? length : 1;
    }
    fputc('"', out);
}

static void put_name(struct exporter *exporter, const char *name) {
    fputs(",\"name\":", exporter->out);
    put_string(exporter->out, name);
}

static void name_process(struct exporter *exporter, uint32_t process, const char *name) {
    begin_event(exporter, "M", 0, process, 0);
    fputs(",\"name\":\"process_name\",\"args\":{\"name\":", exporter->out);
    put_string(exporter->out, name);
    fputs("}}", exporter->out);
}

/* ---- devices ---- */

/* Devices past the last one that is shown share it. */
static uint32_t shown(uint32_t device) {
    return device < DEVICES_MAX ? device : DEVICES_MAX - 1;
}

static struct device_counters *device_of(struct exporter *exporter, uint32_t number) {
    struct device_counters *device = &exporter->devices[shown(number)];
    if (!device->named) {
        char name[32];
        snprintf(name, sizeof name, "device %u", shown(number));
        name_process(exporter, 1 + shown(number), name);
        device->named = true;
    }
    return device;
}

static void put_counters(struct exporter *exporter, uint32_t number, uint64_t time_ns) {
    struct device_counters *device = &exporter->devices[number];
    begin_event(exporter, "C", time_ns, 1 + number, 0);
    fprintf(exporter->out, ",\"name\":\"faults\",\"args\":{\"faults\":%" PRIu64 "}}",
            device->faults);
    begin_event(exporter, "C", time_ns, 1 + number, 0);
    fprintf(exporter->out, ",\"name\":\"resident\",\"args\":{\"pages\":%" PRId64 "}}",
            device->resident);
    device->shown_ns = time_ns;
    device->due = false;
}

/* A value that is not shown for being too close to the last one is shown with the next, or at the
 * end. */
static void count(struct exporter *exporter, uint32_t number, uint64_t time_ns) {
    struct device_counters *device = device_of(exporter, number);
    device->due = true;
    if (time_ns - device->shown_ns >= SPACING_NS)
        put_counters(exporter, shown(number), time_ns);
}

/* ---- launches ---- */

/* Slices of one thread must not overlap, so that launches at the same time get a thread each. */
static uint32_t free_lane(const struct exporter *exporter, uint32_t device) {
    uint32_t lane = 1;
    for (size_t i = 0; i < exporter->open_count; i++) {
        if (exporter->open[i].device == device && exporter->open[i].lane == lane) {
            lane++;
            i = (size_t)-1; /* from the start again */
        }
    }
    return lane;
}

static void end_launch(struct exporter *exporter, size_t index, uint64_t end_ns);

static int begin_launch(struct exporter *exporter, const struct ff_trace_event *event) {
    if (exporter->open_count == OPEN_MAX)
        end_launch(exporter, 0, event->time_ns);
    if (ff__grow(&exporter->open, exporter->open_count, sizeof *exporter->open))
        return -ENOMEM;
    char *name = strdup(event->name && *event->name ? event->name : "kernel");
    if (!name)
        return -ENOMEM;
    device_of(exporter, event->device);
    exporter->open[exporter->open_count] =
        (struct open_launch){event->identity,
                             event->time_ns,
                             0,
                             shown(event->device),
                             free_lane(exporter, shown(event->device)),
                             event->ctas,
                             event->warps,
                             name};
    exporter->open_count++;
    return 0;
}

static void put_launch(struct exporter *exporter, const struct open_launch *launch,
                       uint64_t end_ns) {
    uint64_t took = end_ns - launch->began_ns;
    begin_event(exporter, "X", launch->began_ns, 1 + launch->device, launch->lane);
    fprintf(exporter->out, ",\"dur\":%" PRIu64 ".%03u", took / 1000, (unsigned)(took % 1000));
    put_name(exporter, launch->name);
    fprintf(exporter->out,
            ",\"args\":{\"identity\":\"%016" PRIx64
            "\",\"ctas\":%u,\"warps\":%u,\"accesses\":%" PRIu64 "}}",
            launch->identity, launch->ctas, launch->warps, launch->accesses);
}

static void end_launch(struct exporter *exporter, size_t index, uint64_t end_ns) {
    struct open_launch *launch = &exporter->open[index];
    put_launch(exporter, launch, end_ns);
    free(launch->name);
    memmove(launch, launch + 1, (exporter->open_count - index - 1) * sizeof *launch);
    exporter->open_count--;
}

/* Whose end it is: of launches that look the same, the first. */
static void find_and_end(struct exporter *exporter, const struct ff_trace_event *event) {
    for (size_t i = 0; i < exporter->open_count; i++) {
        const struct open_launch *launch = &exporter->open[i];
        if (launch->device == shown(event->device) && launch->identity == event->identity) {
            end_launch(exporter, i, event->time_ns);
            return;
        }
    }
}

static void count_access(struct exporter *exporter, const struct ff_trace_event *event) {
    for (size_t i = exporter->open_count; i-- > 0;) {
        if (exporter->open[i].device == shown(event->device)) {
            exporter->open[i].accesses++;
            return;
        }
    }
}

/* ---- events ---- */

static void put_instant(struct exporter *exporter, const struct ff_trace_event *event,
                        const char *name) {
    device_of(exporter, event->device);
    begin_event(exporter, "i", event->time_ns, 1 + shown(event->device), 0);
    fprintf(exporter->out, ",\"s\":\"t\",\"name\":\"%s\",\"args\":{\"range\":%u,\"page\":%" PRIu64,
            name, event->range, event->page);
    if (event->kind == FF_TRACE_FAULT)
        fprintf(exporter->out, ",\"write\":%s}}", event->write ? "true" : "false");
    else
        fprintf(exporter->out, ",\"pages\":%" PRIu64 "}}", event->pages);
}

static void put_host(struct exporter *exporter, const struct ff_trace_event *event,
                     const char *name) {
    begin_event(exporter, "i", event->time_ns, HOST_PROCESS, 0);
    fprintf(exporter->out,
            ",\"s\":\"t\",\"name\":\"%s\",\"args\":{\"range\":%u,\"page\":%" PRIu64
            ",\"bytes\":%" PRIu64 "}}",
            name, event->range, event->page, event->bytes);
}

static int64_t pages_of(const struct ff_trace_event *event) {
    return (int64_t)(event->pages & INT32_MAX);
}

static int put_event(struct exporter *exporter, const struct ff_trace_event *event) {
    exporter->now = event->time_ns;
    switch (event->kind) {
    case FF_TRACE_RANGE:
        put_host(exporter, event, "allocate");
        break;
    case FF_TRACE_FREE:
        put_host(exporter, event, "free");
        break;
    case FF_TRACE_HOST_READ:
        put_host(exporter, event, "host reads");
        break;
    case FF_TRACE_HOST_WRITE:
        put_host(exporter, event, "host writes");
        break;
    case FF_TRACE_LAUNCH:
        return begin_launch(exporter, event);
    case FF_TRACE_LAUNCH_END:
        find_and_end(exporter, event);
        break;
    case FF_TRACE_ACCESS:
        count_access(exporter, event);
        break;
    case FF_TRACE_FAULT:
        put_instant(exporter, event, "fault");
        device_of(exporter, event->device)->faults++;
        count(exporter, event->device, event->time_ns);
        break;
    case FF_TRACE_MIGRATE:
        device_of(exporter, event->device)->resident += pages_of(event);
        put_instant(exporter, event, "migrate");
        count(exporter, event->device, event->time_ns);
        break;
    case FF_TRACE_WORK:
    case FF_TRACE_WRITTEN:
    case FF_TRACE_BATCH:
    case FF_TRACE_BATCH_END:
        break;
    default:
        device_of(exporter, event->device)->resident -= pages_of(event);
        put_instant(exporter, event, "evict");
        count(exporter, event->device, event->time_ns);
    }
    return 0;
}

static void put_rest(struct exporter *exporter) {
    while (exporter->open_count > 0)
        end_launch(exporter, 0, exporter->now);
    for (uint32_t i = 0; i < DEVICES_MAX; i++)
        if (exporter->devices[i].due)
            put_counters(exporter, i, exporter->now);
}

static int put_all(struct exporter *exporter, struct ff_trace_reader *reader,
                   struct ff_error *error) {
    struct ff_trace_event event;
    int status;
    while ((status = ff_trace_read(reader, &event, error)) > 0) {
        status = put_event(exporter, &event);
        if (!status && ferror(exporter->out))
            status = -EIO;
        if (status)
            return ff__fail(error, status, "cannot export: %s", strerror(-status));
    }
    return status;
}

int ff__trace_export_chrome(struct ff_trace_reader *reader, const struct ff_trace_info *info,
                            FILE *out, struct ff_error *error) {
    struct exporter *exporter = calloc(1, sizeof *exporter);
    if (!exporter)
        return ff__fail(error, -ENOMEM, "no memory to export");
    exporter->out = out;
    fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"source\":", out);
    put_string(out, info->source);
    fputs(",\"subject\":", out);
    put_string(out, info->subject);
    fprintf(out, ",\"memory\":%" PRIu64 "},\n\"traceEvents\":[\n", info->memory);
    name_process(exporter, HOST_PROCESS, "host");
    int status = put_all(exporter, reader, error);
    put_rest(exporter);
    fputs("\n]}\n", out);
    for (size_t i = 0; i < exporter->open_count; i++)
        free(exporter->open[i].name);
    free(exporter->open);
    free(exporter);
    if (!status && (fflush(out) || ferror(out)))
        status = ff__fail(error, errno ? -errno : -EIO, "cannot export: %s", strerror(errno));
    return status;
}
