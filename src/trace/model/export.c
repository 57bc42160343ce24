/* Exports, from file to file. */
#include "trace/model/export.h"

#include "base/error.h"
#include "base/new_file.h"
#include "trace/model/oracle.h"

#include <string.h>

static const struct ff__export_format formats[] = {{"perfetto", ff__trace_export_chrome},
                                                   {"batches", ff__trace_export_batches},
                                                   {FF__ORACLE_NAME, ff__trace_export_oracle}};

const struct ff__export_format *ff__export_format(const char *name) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (!name || strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

struct export_job {
    const struct ff__export_format *format;
    struct ff_trace_reader *reader;
    const struct ff_trace_info *info;
    struct ff_error *error;
};

static int print(FILE *out, const void *self) {
    const struct export_job *job = self;
    return job->format->write(job->reader, job->info, out, job->error);
}

int ff__trace_export(const char *path, const struct ff__export_format *format, const char *to,
                     struct ff_error *error) {
    struct ff_trace_reader *reader;
    struct ff_trace_info info;
    struct ff_error found = {""};
    int status = ff_trace_open(path, &reader, &info, error);
    if (status)
        return status;
    const struct export_job job = {format, reader, &info, &found};
    status = ff__file_write(to, print, &job);
    ff_trace_close(reader);
    if (!status)
        return 0;
    return found.message[0] ? ff__fail(error, status, "%s", found.message)
                            : ff__fail(error, status, "%s: %s", to, strerror(-status));
}
