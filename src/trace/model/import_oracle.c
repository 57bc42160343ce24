/* libCacheSim's oracleGeneral: requests for objects. An object is pages of its own, side by side in
 * one range, in the order of first requests; a request reads all of them, in one warp of one
 * launch. How large an object becomes is not known before the end, so that the file is read twice.
 */
#include "base/error.h"
#include "base/grow.h"
#include "base/map.h"
#include "trace/model/import.h"
#include "trace/model/oracle.h"
#include "trace/model/unpack.h"

#include <errno.h>
#include <farfault/mask.h>
#include <stdlib.h>
#include <string.h>

#define STEP_PAGES 32u                 /* of one instruction of a warp: one a lane */
#define BYTES_MAX  (UINT64_C(1) << 40) /* of all objects: as much as can be simulated */
#define PAGES_MAX  (UINT64_C(1) << 32) /* of all requests; ours: beyond it a trace is no use */
#define NEXT_MAX   (INT64_C(1) << 48)  /* ours: no trace has so many requests, and texts look so */
#define SECOND_NS  UINT64_C(1000000000)

struct oracle_object {
    uint64_t first_page;
    uint32_t pages;
};

struct oracle_import {
    const struct ff__sink *sink;
    struct ff_error *error;
    const char *path;
    struct ff__map numbers; /* of objects */
    struct oracle_object *objects;
    uint32_t object_count;
    uint64_t requests, asked_pages;
    uint32_t start; /* seconds */
    uint64_t now;
};

static int refuse(struct oracle_import *import, const char *what) {
    return ff__fail(import->error, -EBADMSG, "%s: request %llu: %s", import->path,
                    (unsigned long long)import->requests, what);
}

static uint32_t pages_of(uint32_t bytes) {
    return (uint32_t)(((uint64_t)bytes + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE);
}

/* ---- the first time ---- */

static int add_object(struct oracle_import *import, uint64_t name, uint32_t pages) {
    if (import->object_count == UINT32_MAX)
        return refuse(import, "more than 2^32 objects");
    if (ff__grow(&import->objects, import->object_count, sizeof *import->objects) ||
        ff__map_put(&import->numbers, name, import->object_count))
        return -ENOMEM;
    import->objects[import->object_count++] = (struct oracle_object){.pages = pages};
    return 0;
}

/* The format has no mark of its own: that requests name later ones is what tells it from others. */
static int explore(struct oracle_import *import, const struct ff__oracle *request) {
    bool never = request->next == FF__ORACLE_NEVER || request->next == INT64_MAX;
    uint32_t pages = pages_of(request->bytes), number;
    if (!never && (request->next <= (int64_t)import->requests || request->next > NEXT_MAX))
        return refuse(import, "its object is asked for next by no later request: this is no "
                              "oracleGeneral");
    import->asked_pages += pages;
    if (import->asked_pages > PAGES_MAX)
        return refuse(import, "more than 2^32 pages of 4 KiB are asked for up to here");
    if (pages == 0)
        return 0;
    if (!ff__map_get(&import->numbers, request->object, &number))
        return add_object(import, request->object, pages);
    if (import->objects[number].pages < pages)
        import->objects[number].pages = pages;
    return 0;
}

/* Returns how many pages there are. */
static uint64_t place_objects(struct oracle_import *import) {
    uint64_t pages = 0;
    for (uint32_t i = 0; i < import->object_count; i++) {
        import->objects[i].first_page = pages;
        pages += import->objects[i].pages;
    }
    return pages;
}

/* ---- the second time ---- */

static int put(struct oracle_import *import, struct ff_trace_event *event) {
    event->time_ns = import->now;
    return import->sink->put(import->sink->self, event);
}

/* Clocks of logs may step back. */
static void go_on(struct oracle_import *import, uint32_t seconds) {
    uint64_t at = seconds > import->start ? (seconds - import->start) * SECOND_NS : 0;
    import->now = at > import->now ? at : import->now;
}

static int put_request(struct oracle_import *import, const struct ff__oracle *request) {
    uint32_t number, pages = pages_of(request->bytes);
    int status = 0;
    if (!ff__map_get(&import->numbers, request->object, &number))
        return 0; /* of no bytes in every request */
    go_on(import, request->seconds);
    for (uint32_t page = 0; page < pages && !status; page++) {
        uint64_t left = request->bytes - (uint64_t)page * FF_PAGE_SIZE;
        struct ff_trace_event event = {.kind = FF_TRACE_ACCESS,
                                       .page = import->objects[number].first_page + page,
                                       .instructions = page % STEP_PAGES == 0,
                                       .bytes = left < FF_PAGE_SIZE ? left : FF_PAGE_SIZE};
        status = put(import, &event);
    }
    return status;
}

/* ---- both ---- */

typedef int see_request(struct oracle_import *import, const struct ff__oracle *request);

static int read_all(struct oracle_import *import, see_request *see) {
    unsigned char record[FF__ORACLE_BYTES];
    struct ff__unpack file;
    size_t got = 0;
    int status = ff__unpack_open(import->path, &file, import->error);
    if (status)
        return status;
    for (import->requests = 0; !status;) {
        status = ff__unpack_read(&file, record, sizeof record, &got);
        if (status || got == 0)
            break;
        import->requests++;
        struct ff__oracle request = ff__oracle_decode(record);
        if (import->requests == 1)
            import->start = request.seconds;
        status = got == sizeof record ? see(import, &request)
                                      : refuse(import, "ends within its 24 bytes");
    }
    ff__unpack_close(&file);
    return status;
}

static int put_all(struct oracle_import *import, uint64_t pages) {
    static const char name[] = "requests";
    const uint64_t identity = ff__hash_bytes(0, name, strlen(name));
    struct ff_trace_event range = {.kind = FF_TRACE_RANGE, .bytes = pages * FF_PAGE_SIZE},
                          launch = {.kind = FF_TRACE_LAUNCH,
                                    .identity = identity,
                                    .name = name,
                                    .ctas = 1,
                                    .warps = 1},
                          end = {.kind = FF_TRACE_LAUNCH_END, .identity = identity};
    int status = put(import, &range);
    if (!status)
        status = put(import, &launch);
    if (!status)
        status = read_all(import, put_request);
    return status ? status : put(import, &end);
}

static int run(const char *path, const struct ff__sink *sink, struct ff_error *error) {
    struct oracle_import import = {.sink = sink, .error = error, .path = path};
    uint64_t pages = 0;
    int status = read_all(&import, explore);
    if (!status)
        pages = place_objects(&import);
    if (!status && pages == 0)
        status = ff__fail(error, -EBADMSG, "%s: no request of any byte", path);
    if (!status && pages > BYTES_MAX / FF_PAGE_SIZE)
        status = ff__fail(error, -EBADMSG, "%s: objects of more than 1 TiB together", path);
    if (!status)
        status = put_all(&import, pages);
    ff__map_fini(&import.numbers);
    free(import.objects);
    return status;
}

/* By the name alone, which is NAME.oracleGeneral, .oracleGeneral.bin or .oracleGeneral.zst. */
static bool guess(const char *path, const char *head, size_t size) {
    (void)head, (void)size;
    const char *slash = strrchr(path, '/');
    return strstr(slash ? slash : path, "." FF__ORACLE_NAME) != NULL;
}

const struct ff__import_format ff__import_oracle = {
    .name = FF__ORACLE_NAME,
    .summary = "requests for objects, libCacheSim's; also packed with zstd",
    .accesses = true,
    .guess = guess,
    .run = run,
};
