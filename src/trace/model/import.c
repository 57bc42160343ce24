#include "trace/model/import.h"

#include "base/error.h"
#include "trace/model/lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HEAD 4096

static const struct ff__import_format *const formats[] = {&ff__import_oracle, &ff__import_accelsim,
                                                          &ff__import_uvmeval, &ff__import_nsys};
#define FORMATS (sizeof formats / sizeof formats[0])

static void list_formats(char *text, size_t size) {
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < FORMATS && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", formats[i]->name);
}

static int find_by_name(const char *name, const struct ff__import_format **out,
                        struct ff_error *error) {
    char list[128];
    for (size_t i = 0; i < FORMATS; i++) {
        if (strcmp(formats[i]->name, name) == 0) {
            *out = formats[i];
            return 0;
        }
    }
    list_formats(list, sizeof list);
    return ff__fail(error, -EINVAL, "unknown format '%s'; there are %s", name, list);
}

int ff__import_find(const char *path, const char *format, const struct ff__import_format **out,
                    struct ff_error *error) {
    char head[HEAD], list[128];
    FILE *file;
    if (format)
        return find_by_name(format, out, error);
    int status = ff__open_regular(path, &file, error);
    if (status)
        return status;
    size_t size = fread(head, 1, sizeof head - 1, file);
    fclose(file);
    head[size] = '\0';
    for (size_t i = 0; i < FORMATS; i++) {
        if (formats[i]->guess(path, head, size)) {
            *out = formats[i];
            return 0;
        }
    }
    list_formats(list, sizeof list);
    return ff__fail(error, -EBADMSG, "%s: of no known format; name one of %s", path, list);
}

static int put_event(void *self, const struct ff_trace_event *event) {
    return ff_trace_write(self, event);
}

int ff__trace_import(const char *path, const char *format, const char *to, struct ff_error *error) {
    const struct ff__import_format *found;
    struct ff_error local = {""};
    struct ff_trace_writer *writer;
    int status = ff__import_find(path, format, &found, error);
    if (status)
        return status;
    struct ff_trace_info info = {.accesses = found->accesses};
    snprintf(info.source, sizeof info.source, "%s", found->name);
    const char *slash = strrchr(path, '/');
    snprintf(info.subject, sizeof info.subject, "%s", slash ? slash + 1 : path);
    status = ff_trace_create(to, &info, &writer);
    if (status)
        return ff__fail(error, status, "%s: %s", to, strerror(-status));
    status = found->run(path, &(struct ff__sink){put_event, writer}, &local);
    if (status) {
        ff_trace_abandon(writer);
        return ff__fail(error, status, "%s", *local.message ? local.message : strerror(-status));
    }
    status = ff_trace_finish(writer);
    return status ? ff__fail(error, status, "%s: %s", to, strerror(-status)) : 0;
}
