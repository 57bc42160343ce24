#include "trace/model/replay.h"

#include "base/error.h"
#include "base/grow.h"
#include "base/map.h"
#include "trace/model/steps.h"

#include <errno.h>
#include <farfault/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES         (FF_TIERS_MAX - 1)
#define SECTOR          32u
#define SECTORS_UNKNOWN 4u /* a full warp with 4 bytes a lane, side by side */
#define NO_LAUNCH       "(no launch)"
#define RUNNING_MAX     4096u /* launches at the same time */
/* a grid may have this many idle warps and still be kept as it was */
#define GRID_SLACK 65536u

/* The workload's own: the actions in their order, and all steps. */
struct replay {
    struct ff__action *actions;
    size_t action_count;
    struct ff__steps steps;
    char **names;
    size_t name_count;
};

/* ---- reading the trace ---- */

/* An action and its place: ties in `order` stay as they came. */
struct ordered_action {
    uint64_t order, number;
    struct ff__action action;
};

/* What is known of an array while the trace is read. */
struct array_state {
    uint64_t pages;
    uint64_t freed; /* number of the action that freed it last */
    bool live;
};

/* A launch that has begun. */
struct running {
    uint32_t device;
    uint64_t identity;
    size_t entry;
    bool outside; /* of accesses outside of every launch */
    struct ff__step_access *accesses;
    size_t count;
};

struct builder {
    struct ff__workload *workload;
    struct replay *replay;
    struct ff_trace_info info;
    struct ff_error *error;
    const char *path;
    struct ff__map array_of_range; /* the latest array of a range number */
    struct ff__map name_of_hash;
    struct ff__map touch_of_page; /* the latest access to a page: its index in its launch */
    struct array_state *states;   /* [array] */
    struct ordered_action *entries;
    size_t entry_count;
    struct running *running; /* in the order they began */
    size_t running_count;
    uint64_t window; /* entry of the first launch since nothing ran */
};

static int contradiction(struct builder *builder, const struct ff_trace_event *event,
                         const char *what) {
    return ff__fail(builder->error, -EBADMSG, "%s: at %llu ns: range %u %s", builder->path,
                    (unsigned long long)event->time_ns, event->range, what);
}

/* Appends an action. `early`: before the launches that run now. */
static int add_action(struct builder *builder, const struct ff__action *action, bool early) {
    if (ff__grow(&builder->entries, builder->entry_count, sizeof *builder->entries))
        return -ENOMEM;
    uint64_t number = builder->entry_count;
    builder->entries[builder->entry_count++] = (struct ordered_action){
        early ? 2 * builder->window : 2 * number + 1,
        number,
        *action,
    };
    return 0;
}

/* ---- names ---- */

static int add_name(struct builder *builder, uint64_t hash, const char *name, const char **out) {
    struct replay *replay = builder->replay;
    if (ff__grow(&replay->names, replay->name_count, sizeof *replay->names))
        return -ENOMEM;
    char *copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    replay->names[replay->name_count++] = copy;
    *out = copy;
    return ff__map_put(&builder->name_of_hash, hash, (uint32_t)(replay->name_count - 1));
}

static int find_name(struct builder *builder, const char *name, const char **out) {
    uint64_t hash = ff__hash_bytes(0, name, strlen(name));
    uint32_t index;
    if (ff__map_get(&builder->name_of_hash, hash, &index) &&
        strcmp(builder->replay->names[index], name) == 0) {
        *out = builder->replay->names[index];
        return 0;
    }
    return add_name(builder, hash, name, out);
}

/* ---- kernels ---- */

static bool step_of_trace(const struct ff__workload *workload, const struct ff__kernel *kernel,
                          uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct replay *replay = workload->data;
    if (!ff__steps_get(&replay->steps, (uint32_t)kernel->argument[0],
                       (enum ff__numbering)kernel->argument[1], cta, warp, index, out))
        return false;
    for (uint32_t i = 0; i < out->page_count; i++) {
        uint64_t page = out->page[i];
        out->page[i] = workload->arrays[page >> FF__ACCESS_PAGE_BITS].first_page +
                       (page & ((UINT64_C(1) << FF__ACCESS_PAGE_BITS) - 1));
    }
    return true;
}

/* The grid stays as it was if that is known and most of it did something. */
static void shape(const struct ff__steps *steps, uint32_t launch, struct ff__kernel *kernel) {
    struct ff__grid_extent extent = ff__steps_extent(steps, launch);
    bool known = kernel->ctas > extent.last_cta && kernel->warps > extent.last_warp;
    uint64_t warps = (uint64_t)kernel->ctas * kernel->warps;
    kernel->argument[0] = launch;
    kernel->argument[1] = FF__NUMBERED;
    if (extent.streams > 0 && known && warps <= 64 * (uint64_t)extent.streams + GRID_SLACK)
        return;
    kernel->argument[1] = FF__DENSE;
    kernel->ctas = steps->launches[launch].cta_count;
    kernel->warps = extent.warps;
    if (kernel->ctas == 0)
        kernel->ctas = kernel->warps = 1;
}

static int begin(struct builder *builder, const struct ff_trace_event *event, bool outside) {
    struct ff__action action = {.kind = FF__ACTION_LAUNCH, .device = event->device};
    if (builder->running_count >= RUNNING_MAX)
        return ff__fail(builder->error, -EBADMSG, "%s: %u launches run and do not end",
                        builder->path, RUNNING_MAX);
    const char *name = outside ? NO_LAUNCH : event->name ? event->name : "";
    action.kernel.identity = outside ? ff__hash_bytes(0, name, strlen(name)) : event->identity;
    action.kernel.ctas = outside ? 0 : event->ctas;
    action.kernel.warps = outside ? 0 : event->warps;
    action.kernel.step = step_of_trace;
    if (find_name(builder, name, &action.kernel.name) ||
        ff__grow(&builder->running, builder->running_count, sizeof *builder->running))
        return -ENOMEM;
    builder->running[builder->running_count] = (struct running){
        event->device, action.kernel.identity, builder->entry_count, outside, NULL, 0};
    if (add_action(builder, &action, false))
        return -ENOMEM;
    if (builder->running_count++ == 0)
        builder->window = builder->entry_count - 1;
    return 0;
}

static int end(struct builder *builder, size_t index) {
    struct running running = builder->running[index];
    struct ff__steps *steps = &builder->replay->steps;
    memmove(&builder->running[index], &builder->running[index + 1],
            (builder->running_count - index - 1) * sizeof running);
    builder->running_count--;
    int status = ff__steps_add_launch(steps, running.accesses, running.count);
    free(running.accesses);
    if (!status)
        shape(steps, (uint32_t)(steps->launch_count - 1),
              &builder->entries[running.entry].action.kernel);
    return status;
}

/* Ends the launches that stand for accesses outside of launches: of one device, or (DEVICES) of
 * all. */
static int end_outside(struct builder *builder, uint32_t device) {
    int status = 0;
    for (size_t i = builder->running_count; i-- > 0 && !status;)
        if (builder->running[i].outside &&
            (device == DEVICES || builder->running[i].device == device))
            status = end(builder, i);
    return status;
}

/* The end of a launch whose begin was not recorded is ignored. */
static int end_launch(struct builder *builder, const struct ff_trace_event *event) {
    for (size_t i = builder->running_count; i-- > 0;) {
        const struct running *running = &builder->running[i];
        if (!running->outside && running->device == event->device &&
            running->identity == event->identity)
            return end(builder, i);
    }
    return 0;
}

/* Kernels may overlap. An access is then attributed to the latest one. */
static int find_running(struct builder *builder, const struct ff_trace_event *event,
                        struct running **out) {
    for (size_t i = builder->running_count; i-- > 0;) {
        *out = &builder->running[i];
        if ((*out)->device == event->device)
            return 0;
    }
    int status = begin(builder, event, true);
    *out = &builder->running[builder->running_count - 1];
    return status;
}

/* ---- arrays ---- */

static int make_array(struct builder *builder, const struct ff_trace_event *event,
                      uint32_t *array) {
    struct ff__workload *workload = builder->workload;
    uint32_t count = workload->array_count;
    if (count >= FF__ACCESS_ARRAY_MAX)
        return -EFBIG;
    if (ff__grow(&workload->arrays, count, sizeof *workload->arrays) ||
        ff__grow(&builder->states, count, sizeof *builder->states))
        return -ENOMEM;
    struct ff__array *made = &workload->arrays[count];
    memset(made, 0, sizeof *made);
    snprintf(made->name, sizeof made->name, "range %u", event->range);
    made->bytes = event->bytes;
    builder->states[count] = (struct array_state){
        event->bytes / FF_PAGE_SIZE + (event->bytes % FF_PAGE_SIZE > 0), 0, false};
    workload->array_count++;
    *array = count;
    return 0;
}

/* A range that comes back with the same size is the same array, unless a kernel that still runs may
 * use both: launches are replayed as a whole, where they began. */
static bool may_return(const struct builder *builder, uint32_t array, uint64_t bytes) {
    return builder->workload->arrays[array].bytes == bytes &&
           (builder->running_count == 0 || builder->states[array].freed < builder->window);
}

static int allocate(struct builder *builder, const struct ff_trace_event *event) {
    uint32_t array;
    bool known = ff__map_get(&builder->array_of_range, event->range, &array);
    if (known && builder->states[array].live)
        return contradiction(builder, event, "is allocated twice");
    if (event->bytes == 0 || event->bytes >> (FF__ACCESS_PAGE_BITS + 12))
        return contradiction(builder, event, "has an impossible size");
    if (!known || !may_return(builder, array, event->bytes)) {
        int status = make_array(builder, event, &array);
        if (status)
            return status;
    }
    builder->states[array].live = true;
    struct ff__action action = {
        .kind = FF__ACTION_ALLOCATE, .array = array, .device = event->device};
    if (add_action(builder, &action, builder->running_count > 0))
        return -ENOMEM;
    return ff__map_put(&builder->array_of_range, event->range, array);
}

/* The live array of the event's range. */
static int find_array(struct builder *builder, const struct ff_trace_event *event,
                      uint32_t *array) {
    if (!ff__map_get(&builder->array_of_range, event->range, array) ||
        !builder->states[*array].live)
        return contradiction(builder, event, "is used, but not allocated");
    if (event->page >= builder->states[*array].pages)
        return contradiction(builder, event, "is used beyond its end");
    return 0;
}

static int release(struct builder *builder, const struct ff_trace_event *event) {
    struct ff__action action = {.kind = FF__ACTION_FREE};
    int status = find_array(builder, event, &action.array);
    if (status)
        return status;
    builder->states[action.array].live = false;
    builder->states[action.array].freed = builder->entry_count;
    return add_action(builder, &action, false);
}

static int host_use(struct builder *builder, const struct ff_trace_event *event) {
    bool write = event->kind == FF_TRACE_HOST_WRITE;
    struct ff__action action = {.kind = write ? FF__ACTION_HOST_WRITE : FF__ACTION_HOST_READ,
                                .offset = event->page * FF_PAGE_SIZE};
    int status = find_array(builder, event, &action.array);
    if (status || event->bytes == 0)
        return status;
    uint64_t left = builder->workload->arrays[action.array].bytes - action.offset;
    action.bytes = event->bytes < left ? event->bytes : left;
    return add_action(builder, &action, false);
}

/* ---- events ---- */

static uint16_t sectors_of(uint64_t bytes) {
    uint64_t sectors = bytes / SECTOR + (bytes % SECTOR > 0);
    if (sectors == 0)
        return SECTORS_UNKNOWN;
    return (uint16_t)(sectors < UINT16_MAX ? sectors : UINT16_MAX);
}

static int add_access(struct builder *builder, const struct ff_trace_event *event, uint64_t page) {
    struct running *running;
    int status = find_running(builder, event, &running);
    if (!status)
        status = ff__grow(&running->accesses, running->count, sizeof *running->accesses);
    if (!status && builder->info.touches && page != FF__ACCESS_NONE)
        status = ff__map_put(&builder->touch_of_page, page, (uint32_t)running->count);
    if (status)
        return status;
    bool fault = event->kind == FF_TRACE_FAULT;
    /* a launch that writes what was there before has not written, as far as a software device can
     * tell; what the host writes has hardly ever been there before, and may be told of only after
     * its launch, which is none, has ended */
    bool decides_later = builder->info.touches && !running->outside;
    running->accesses[running->count++] = (struct ff__step_access){
        .page = page,
        .cta = event->cta,
        .warp = event->warp,
        .pc = event->pc,
        .instructions = fault ? 1 : event->instructions,
        .sectors = sectors_of(event->bytes),
        .write = event->write && !decides_later,
    };
    return 0;
}

static uint64_t key_of(uint32_t array, uint64_t page) {
    return (uint64_t)array << FF__ACCESS_PAGE_BITS | page;
}

static int use(struct builder *builder, const struct ff_trace_event *event) {
    uint32_t array;
    int status = find_array(builder, event, &array);
    return status ? status : add_access(builder, event, key_of(array, event->page));
}

/* The latest access to the page was a write, whatever it began with. */
static void mark_written(struct builder *builder, uint64_t page) {
    uint32_t index;
    if (!ff__map_get(&builder->touch_of_page, page, &index))
        return;
    for (size_t i = builder->running_count; i-- > 0;) {
        const struct running *running = &builder->running[i];
        if (index < running->count && running->accesses[index].page == page) {
            running->accesses[index].write = true;
            return;
        }
    }
}

/* Its launch has not ended yet: what is resident leaves before that is told. */
static int note_written(struct builder *builder, const struct ff_trace_event *event) {
    uint32_t array;
    int status = find_array(builder, event, &array);
    if (status)
        return status;
    if (event->pages > builder->states[array].pages - event->page)
        return contradiction(builder, event, "is used beyond its end");
    if (event->pages > FF_BLOCK_PAGES)
        return contradiction(builder, event, "is written to in several blocks at once");
    for (uint64_t i = 0; i < event->pages && builder->running_count > 0; i++)
        mark_written(builder, key_of(array, event->page + i));
    return 0;
}

/* What the host does comes after whatever the devices have done outside of launches. */
static int host_event(struct builder *builder, const struct ff_trace_event *event,
                      int (*handle)(struct builder *, const struct ff_trace_event *)) {
    int status = end_outside(builder, DEVICES);
    return status ? status : handle(builder, event);
}

static bool has_accesses(const struct builder *builder) {
    return builder->info.accesses || builder->info.touches;
}

static int handle_event(struct builder *builder, const struct ff_trace_event *event) {
    int status;
    if (event->device >= DEVICES)
        return ff__fail(builder->error, -ENOTSUP, "%s: device %u; only %u are possible",
                        builder->path, event->device, DEVICES);
    switch (event->kind) {
    case FF_TRACE_RANGE: /* logs announce ranges with their first faults: one launch all the same */
        return allocate(builder, event);
    case FF_TRACE_FREE:
        return host_event(builder, event, release);
    case FF_TRACE_HOST_READ:
    case FF_TRACE_HOST_WRITE:
        return host_event(builder, event, host_use);
    case FF_TRACE_LAUNCH:
        status = end_outside(builder, event->device);
        return status ? status : begin(builder, event, false);
    case FF_TRACE_LAUNCH_END:
        return end_launch(builder, event);
    case FF_TRACE_ACCESS:
        return has_accesses(builder) ? use(builder, event) : 0;
    case FF_TRACE_WORK:
        return has_accesses(builder) && event->instructions > 0
                   ? add_access(builder, event, FF__ACCESS_NONE)
                   : 0;
    case FF_TRACE_WRITTEN:
        return builder->info.touches ? note_written(builder, event) : 0;
    case FF_TRACE_FAULT:
        return has_accesses(builder) ? 0 : use(builder, event);
    default: /* moves: the simulation's own business */
        return 0;
    }
}

static int read_events(struct builder *builder) {
    struct ff_trace_reader *reader;
    struct ff_trace_event event;
    int status = ff_trace_open(builder->path, &reader, &builder->info, builder->error);
    if (status)
        return status;
    builder->replay->steps.waits = builder->info.touches;
    while ((status = ff_trace_read(reader, &event, builder->error)) > 0) {
        status = handle_event(builder, &event);
        if (status)
            break;
    }
    ff_trace_close(reader);
    while (builder->running_count > 0 && !status)
        status = end(builder, 0);
    return status;
}

/* ---- finishing ---- */

static int by_order(const void *a, const void *b) {
    const struct ordered_action *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int finish(struct builder *builder) {
    struct replay *replay = builder->replay;
    replay->actions = malloc((builder->entry_count + 1) * sizeof *replay->actions);
    if (!replay->actions)
        return -ENOMEM;
    if (builder->entry_count > 0)
        qsort(builder->entries, builder->entry_count, sizeof *builder->entries, by_order);
    for (size_t i = 0; i < builder->entry_count; i++)
        replay->actions[i] = builder->entries[i].action;
    replay->action_count = builder->entry_count;
    return 0;
}

static void fini_builder(struct builder *builder) {
    ff__map_fini(&builder->array_of_range);
    ff__map_fini(&builder->name_of_hash);
    ff__map_fini(&builder->touch_of_page);
    free(builder->states);
    free(builder->entries);
    for (size_t i = 0; i < builder->running_count; i++)
        free(builder->running[i].accesses);
    free(builder->running);
}

/* ---- the workload ---- */

static void close_replay(struct ff__workload *workload) {
    struct replay *replay = workload->data;
    if (!replay)
        return;
    ff__steps_fini(&replay->steps);
    for (size_t i = 0; i < replay->name_count; i++)
        free(replay->names[i]);
    free(replay->names);
    free(replay->actions);
    free(replay);
    workload->data = NULL;
}

static int open_replay(struct ff__workload *workload, const int64_t *params, const char *file,
                       struct ff_error *error) {
    struct ff_error unwanted = {""};
    (void)params;
    if (!file)
        return ff__fail(error, -EINVAL, "a trace to replay is needed: trace:file=PATH");
    struct builder builder = {.workload = workload,
                              .replay = calloc(1, sizeof(struct replay)),
                              .error = error ? error : &unwanted,
                              .path = file};
    builder.error->message[0] = '\0';
    workload->data = builder.replay;
    int status = builder.replay ? read_events(&builder) : -ENOMEM;
    if (!status)
        status = finish(&builder);
    fini_builder(&builder);
    if (status && !builder.error->message[0])
        ff__fail(error, status, "%s: %s", file,
                 status == -EFBIG ? "more than can be replayed" : strerror(-status));
    if (status) {
        close_replay(workload);
        free(workload->arrays);
        workload->arrays = NULL;
        workload->array_count = 0;
    }
    return status;
}

static bool action_of_replay(const struct ff__workload *workload, uint64_t index,
                             struct ff__action *out) {
    const struct replay *replay = workload->data;
    if (index >= replay->action_count)
        return false;
    *out = replay->actions[index];
    return true;
}

static const struct ff_param no_params[] = {{.name = NULL}};

static const struct ff__workload_type trace_type = {
    .name = "trace",
    .summary = "the launches and accesses of a recorded or imported trace",
    .params = no_params,
    .takes_file = true,
    .file_key = "file",
    .file_help = "the trace",
    .open = open_replay,
    .close = close_replay,
    .action = action_of_replay,
};

int ff__trace_workload(const char *path, struct ff__workload **out, struct ff_error *error) {
    struct ff__workload *workload = calloc(1, sizeof *workload);
    if (!workload)
        return ff__fail(error, -ENOMEM, "no memory to replay %s", path);
    workload->type = &trace_type;
    snprintf(workload->name, sizeof workload->name, "trace:file=%s", path);
    int status = open_replay(workload, NULL, path, error);
    if (status)
        free(workload);
    else
        *out = workload;
    return status;
}
