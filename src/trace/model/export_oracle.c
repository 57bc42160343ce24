/* libCacheSim's oracleGeneral: a request for each access to a page, an object a page. What asks for
 * a page next is known when it does, so that all requests are held until the end: 24 bytes each. */
#include "base/error.h"
#include "base/grow.h"
#include "base/map.h"
#include "trace/model/export.h"
#include "trace/model/oracle.h"

#include <errno.h>
#include <farfault/mask.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

struct oracle_export {
    struct ff__map ranges; /* number -> index in `bases` */
    uint64_t *bases;       /* the first object of a range */
    uint32_t range_count;
    uint64_t next_base;  /* objects are numbered from 1 */
    struct ff__map last; /* object -> its latest request */
    struct ff__oracle *requests;
    uint32_t request_count;
    struct ff_error *error;
};

/* A number that comes again is another range. */
static int add_range(struct oracle_export *export, const struct ff_trace_event *event) {
    if (ff__grow(&export->bases, export->range_count, sizeof *export->bases) ||
        ff__map_put(&export->ranges, event->range, export->range_count))
        return -ENOMEM;
    export->bases[export->range_count++] = export->next_base;
    export->next_base += event->bytes / FF_PAGE_SIZE + 1;
    return 0;
}

static int add_request(struct oracle_export *export, const struct ff_trace_event *event) {
    uint32_t range, before;
    if (!ff__map_get(&export->ranges, event->range, &range))
        return ff__fail(export->error, -EBADMSG, "an access to range %u, which is not there",
                        event->range);
    if (export->request_count == UINT32_MAX)
        return ff__fail(export->error, -EFBIG, "more than 2^32 accesses");
    uint64_t object = export->bases[range] + event->page, seconds = event->time_ns / SECOND_NS;
    if (ff__grow(&export->requests, export->request_count, sizeof *export->requests))
        return -ENOMEM;
    if (ff__map_get(&export->last, object, &before))
        export->requests[before].next = (int64_t) export->request_count + 1;
    export->requests[export->request_count] =
        (struct ff__oracle){object, FF__ORACLE_NEVER,
                            seconds < UINT32_MAX ? (uint32_t)seconds : UINT32_MAX, FF_PAGE_SIZE};
    return ff__map_put(&export->last, object, export->request_count++);
}

static int take(struct oracle_export *export, const struct ff_trace_event *event) {
    return event->kind == FF_TRACE_RANGE    ? add_range(export, event)
           : event->kind == FF_TRACE_ACCESS ? add_request(export, event)
                                            : 0;
}

static int write_requests(const struct oracle_export *export, FILE *out) {
    unsigned char record[FF__ORACLE_BYTES];
    for (uint32_t i = 0; i < export->request_count; i++) {
        ff__oracle_encode(&export->requests[i], record);
        fwrite(record, sizeof record, 1, out);
    }
    if (fflush(out) || ferror(out))
        return ff__fail(export->error, errno ? -errno : -EIO, "cannot export: %s", strerror(errno));
    return 0;
}

int ff__trace_export_oracle(struct ff_trace_reader *reader, const struct ff_trace_info *info,
                            FILE *out, struct ff_error *error) {
    struct oracle_export export = {.next_base = 1, .error = error};
    struct ff_trace_event event;
    int status = 0, got = 1;
    if (!info->accesses && !info->touches)
        return ff__fail(error, -ENOTSUP,
                        "a trace of faults has no accesses, of which requests could be made");
    while (!status && (got = ff_trace_read(reader, &event, error)) > 0)
        status = take(&export, &event);
    if (status == -ENOMEM)
        ff__fail(error, status, "no memory to export");
    if (!status)
        status = got ? got : write_requests(&export, out);
    ff__map_fini(&export.ranges);
    ff__map_fini(&export.last);
    free(export.bases);
    free(export.requests);
    return status;
}
