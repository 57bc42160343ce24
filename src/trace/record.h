/* Recording a live run: what a backend sees, written to a trace from any of its threads.
 *
 * One lock orders the events and their times. It is never held while anybody's memory is touched
 * that could be managed, because the fault could only be served by a thread that wants the lock.
 *
 * Events are coded into a block in memory, which is all that happens in a faulting thread's signal
 * handler (`handler=sigbus`): a thread of the recorder's own, to which no signal comes, compresses
 * and writes blocks. When it cannot keep up, events wait for an empty block; none is left out. */
#ifndef FF_TRACE_RECORD_H
#define FF_TRACE_RECORD_H

#include "base/log.h"
#include "engine/backend.h"

#include <farfault/trace.h>

struct ff__recorder;

struct ff__recorder_config {
    const char *path; /* "%p" in it becomes the process ID */
    uint64_t address_space, memory;
    /* faults are touches: nothing is resident when a launch begins, or comes unasked */
    bool touches;
    bool accesses; /* ff__record_accesses() has them all */
    struct ff__log log;
};

/* Errors of ff_trace_create. */
int ff__recorder_open(const struct ff__recorder_config *config, struct ff__recorder **out,
                      struct ff_error *error);

/* Ends the trace, which gets its name; what happens after that is not recorded. The first error of
 * writing, which was logged as a warning when it occurred, with no trace left. */
int ff__recorder_finish(struct ff__recorder *recorder);

/* Finishes the recording, and frees the recorder. NULL is fine. */
void ff__recorder_close(struct ff__recorder *recorder);

/* No trace stays. NULL is fine. */
void ff__recorder_abandon(struct ff__recorder *recorder);

/* All below take offsets into the managed addresses. A range begins at a block. */
void ff__record_range(struct ff__recorder *recorder, uint32_t range, uint64_t offset,
                      uint64_t bytes, uint32_t device);
void ff__record_free(struct ff__recorder *recorder, uint64_t offset, uint64_t bytes);
void ff__record_home(struct ff__recorder *recorder, uint64_t offset, uint32_t device);
/* Of a launch that begins its name, CTAs and warps; NULL: it has ended. */
void ff__record_launch(struct ff__recorder *recorder, uint32_t device, uint64_t identity,
                       const struct ff_launch *begins);

/* Only with `accesses`: as ff_record_accesses() describes them, `base` being the managed area. */
void ff__record_accesses(struct ff__recorder *recorder, uint32_t device,
                         const struct ff_warp_access *accesses, size_t count, uint64_t base);

/* Only with `touches`: what threads have done on the device since their last touches. */
void ff__record_work(struct ff__recorder *recorder, uint32_t device);

/* The program has written to the host's copies of these pages, of a block whose first page is at
 * `offset`, and not through a device. */
void ff__record_host_write(struct ff__recorder *recorder, uint64_t offset,
                           const struct ff_mask *pages);

/* Faults by their addresses, `base` being the managed area. */
void ff__record_faults(struct ff__recorder *recorder, const struct ff__fault *faults,
                       uint32_t count, uint64_t base);

/* Pages of a block whose first page is at `offset` have come to the device (FF_TRACE_MIGRATE), have
 * left it (FF_TRACE_EVICT), or have left it with another content than they came with
 * (FF_TRACE_WRITTEN). */
void ff__record_moves(struct ff__recorder *recorder, enum ff_trace_kind kind, uint32_t device,
                      uint64_t offset, const struct ff_mask *pages);

#endif
