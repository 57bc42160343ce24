/* Exports, from file to file. */
#include "trace/model/export.h"

#include "base/error.h"
#include "trace/place.h"

#include <errno.h>
#include <string.h>

static const struct ff__export_format formats[] = {{"perfetto", ff__trace_export_chrome},
                                                   {"batches", ff__trace_export_batches}};

const struct ff__export_format *ff__export_format(const char *name) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (!name || strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

static int export_to(struct ff__place *place, const struct ff__export_format *format,
                     struct ff_trace_reader *reader, const struct ff_trace_info *info,
                     const char *to, struct ff_error *error) {
    FILE *out = fdopen(place->fd, "w");
    if (!out)
        return ff__fail(error, -ENOMEM, "no memory to write %s", to);
    place->fd = -1;
    int status = format->write(reader, info, out, error);
    if (fclose(out) && !status)
        status = ff__fail(error, -errno, "%s: %s", to, strerror(errno));
    return status;
}

int ff__trace_export(const char *path, const struct ff__export_format *format, const char *to,
                     struct ff_error *error) {
    struct ff_trace_reader *reader;
    struct ff_trace_info info;
    struct ff__place place;
    int status = ff_trace_open(path, &reader, &info, error);
    if (status)
        return status;
    status = ff__place_open(&place, to);
    if (status) {
        ff_trace_close(reader);
        return ff__fail(error, status, "%s: %s", to, strerror(-status));
    }
    status = export_to(&place, format, reader, &info, to, error);
    ff_trace_close(reader);
    if (status) {
        ff__place_drop(&place);
        return status;
    }
    status = ff__place_keep(&place);
    return status ? ff__fail(error, status, "%s: %s", to, strerror(-status)) : 0;
}
