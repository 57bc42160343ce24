/* Batches of faults as CSV. */
#include "base/error.h"
#include "trace/model/batches.h"
#include "trace/model/export.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void put_batch(void *self, const struct ff__fault_batch *batch) {
    fprintf(self,
            "%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
            ",%" PRIu64 ",%" PRIu64 "\n",
            batch->number, batch->device, batch->began_ns, batch->took_ns, batch->entries,
            batch->pages, batch->blocks, batch->entries - batch->pages, batch->pages_in,
            batch->pages_out);
}

int ff__trace_export_batches(struct ff_trace_reader *reader, const struct ff_trace_info *info,
                             FILE *out, struct ff_error *error) {
    struct ff__batches batches;
    struct ff_trace_event event;
    (void)info;
    int status = ff__batches_init(&batches, put_batch, out), got = 1;
    fputs("batch,device,began_ns,took_ns,entries,pages,blocks,duplicates,pages_in,pages_out\n",
          out);
    while (!status && (got = ff_trace_read(reader, &event, error)) > 0)
        status = ff__batches_take(&batches, &event);
    ff__batches_fini(&batches);
    if (status)
        return ff__fail(error, status, "no memory to export");
    if (got == 0 && (fflush(out) || ferror(out)))
        return ff__fail(error, errno ? -errno : -EIO, "cannot export: %s", strerror(errno));
    return got;
}
