/* farfault/trace.h - reading and writing traces: what happened, in order.
 *
 * A trace is the managed ranges, the launches, and either every page access (written by the
 * simulator, imported from NVBit), or the pages that each launch touches, in the order of their
 * first touch (recorded from a live run of which nothing stays resident), or only the far faults
 * (recorded from any live run, imported from driver logs and profiles) of one run. The format is
 * described in docs/trace-format.md: blocks of delta-coded events, each compressed with zstd and
 * protected by a checksum, and an end mark, so that a truncated or damaged file is recognized. */
#ifndef FARFAULT_TRACE_H
#define FARFAULT_TRACE_H

#include <farfault/farfault.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ff_trace_kind {
    FF_TRACE_RANGE,      /* range, bytes, device (its home): allocated */
    FF_TRACE_FREE,       /* range */
    FF_TRACE_LAUNCH,     /* device, identity, name, ctas, warps (of a CTA; 0, 0: unknown) */
    FF_TRACE_LAUNCH_END, /* device, identity */
    /* device, range, page, write, pc, cta, warp, instructions, bytes (of this page that the warp
     * accesses; 0: unknown). An instruction that accesses several pages is several consecutive
     * events of one warp: the first has the instructions, the others have 0. */
    FF_TRACE_ACCESS,
    /* device, range, page, write: a far fault as the backend saw it; and, as far as the source
     * knows them, gpu_ns, batch, instances, utlb, gpc */
    FF_TRACE_FAULT,
    FF_TRACE_HOST_READ, /* range, page, bytes: the host accesses so many bytes, from that page on */
    FF_TRACE_HOST_WRITE,
    FF_TRACE_MIGRATE, /* device, range, page, pages: they arrived on the device */
    FF_TRACE_EVICT,   /* device, range, page, pages: they left the device */
    /* device, cta, warp, instructions: the warp's instructions since its last access; it accesses
     * nothing after them for now */
    FF_TRACE_WORK,
    /* device, range, page, pages: their content has changed since they were last accessed, or by
     * that access */
    FF_TRACE_WRITTEN,
    FF_TRACE_BATCH, /* device, batch: the driver begins to handle it; its faults follow */
    FF_TRACE_BATCH_END,
    FF_TRACE_KINDS
};

struct ff_trace_event {
    enum ff_trace_kind kind;
    uint64_t time_ns; /* since the start of the run; never decreases */
    uint32_t device;
    uint32_t range; /* dense; a freed number may be used again */
    uint64_t page;  /* in the range */
    uint64_t pages, bytes;
    uint64_t identity;
    const char *name; /* of a kernel, or NULL; valid until the next call; the first 4095 bytes */
    uint32_t ctas, warps, cta, warp;
    uint32_t pc, instructions; /* instructions of the warp since its last access */
    bool write;
    /* Of a fault in a driver's log; 0: unknown. Entries of its batch that were merged into this
     * one; the device's clock; which batch it was in, counted from 1; what raised it */
    uint32_t instances;
    uint64_t gpu_ns, batch;
    uint32_t utlb, gpc;
};

/* Where a trace comes from. */
struct ff_trace_info {
    char source[32];  /* "sim", "live", or the format that it was imported from */
    char subject[96]; /* the workload or the command */
    bool accesses;    /* the trace has every access, not only faults */
    /* Its accesses are the first touches of each launch; an instruction is a nanosecond of the
     * thread's CPU time. A page that is touched again in the same launch is there again only if
     * other pages have filled the memory below meanwhile. Not with `accesses` */
    bool touches;
    uint64_t memory; /* bytes of device memory of the run; 0: unknown */
};

struct ff_trace_writer;
struct ff_trace_reader;

/* Starts a file. Its name is PATH.PID-N.part until ff_trace_finish() renames it to PATH, so that an
 * incomplete trace is never mistaken for a complete one. A killed process leaves the .part file,
 * which can be read up to where it breaks off. The functions of a writer return 0 or negative
 * errno; -ENOSPC: the disk is full; -EEXIST: PATH exists and is not a regular file; -E2BIG. One
 * thread at a time may use a writer. */
FF_API int ff_trace_create_sized(const char *path, const struct ff_trace_info *info, size_t size,
                                 struct ff_trace_writer **out);
static inline int ff_trace_create(const char *path, const struct ff_trace_info *info,
                                  struct ff_trace_writer **out) {
    return ff_trace_create_sized(path, info, sizeof *info, out);
}
/* -EINVAL: an unknown kind, or a time before the last one. -E2BIG. */
FF_API int ff_trace_write_sized(struct ff_trace_writer *writer, const struct ff_trace_event *event,
                                size_t size);
static inline int ff_trace_write(struct ff_trace_writer *writer,
                                 const struct ff_trace_event *event) {
    return ff_trace_write_sized(writer, event, sizeof *event);
}
/* Ends the file. The first error of any earlier call is returned again, and the file removed. */
FF_API int ff_trace_finish(struct ff_trace_writer *writer);
/* Ends the file and removes it. */
FF_API void ff_trace_abandon(struct ff_trace_writer *writer);

/* -ENOENT, -EACCES; -EBADMSG: not a trace, damaged or truncated (the message says which); -ENOTSUP:
 * a newer version. `info` may be NULL. */
FF_API int ff_trace_open_sized(const char *path, struct ff_trace_reader **out,
                               struct ff_trace_info *info, size_t size, struct ff_error *error);
static inline int ff_trace_open(const char *path, struct ff_trace_reader **out,
                                struct ff_trace_info *info, struct ff_error *error) {
    return ff_trace_open_sized(path, out, info, sizeof *info, error);
}
/* 1: an event; 0: the end; or negative errno as above, and again at every further call. Events
 * before a damaged place are read first. Needs no memory beyond what ff_trace_open() has
 * allocated. */
FF_API int ff_trace_read_sized(struct ff_trace_reader *reader, struct ff_trace_event *out,
                               size_t size, struct ff_error *error);
static inline int ff_trace_read(struct ff_trace_reader *reader, struct ff_trace_event *out,
                                struct ff_error *error) {
    return ff_trace_read_sized(reader, out, sizeof *out, error);
}
FF_API void ff_trace_close(struct ff_trace_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
