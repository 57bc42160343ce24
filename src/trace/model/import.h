/* Traces from what other tools have recorded. One file a format: import_NAME.c. */
#ifndef FF_TRACE_MODEL_IMPORT_H
#define FF_TRACE_MODEL_IMPORT_H

#include <farfault/trace.h>
#include <stddef.h>

/* Where an importer's events go, in the order of time. Negative errno stops it. */
struct ff__sink {
    int (*put)(void *self, const struct ff_trace_event *event);
    void *self;
};

struct ff__import_format {
    const char *name, *summary;
    bool accesses; /* as in struct ff_trace_info */
    /* Whether a file that begins with these bytes is one; `path` for its name. */
    bool (*guess)(const char *path, const char *head, size_t size);
    int (*run)(const char *path, const struct ff__sink *sink, struct ff_error *error);
};

/* NULL `format`: guessed from the file. -EINVAL: unknown format (the message lists them); -ENOENT
 * and others of reading; -EBADMSG: not in that format, or damaged: the message names the line;
 * -ENOTSUP: packed, or a variant that cannot be read. */
int ff__import_find(const char *path, const char *format, const struct ff__import_format **out,
                    struct ff_error *error);

/* Reads `path` and writes the trace `to`, which appears only if all went well. */
int ff__trace_import(const char *path, const char *format, const char *to, struct ff_error *error);

extern const struct ff__import_format ff__import_accelsim, ff__import_uvmeval, ff__import_nsys,
    ff__import_oracle;

#endif
