/* In place of import_nsys.c, where farfault is built without SQLite. */
#include "base/error.h"
#include "trace/model/import.h"

#include <errno.h>
#include <string.h>

static int run(const char *path, const struct ff__sink *sink, struct ff_error *error) {
    (void)sink;
    return ff__fail(error, -ENOTSUP,
                    "%s: an SQLite database, which this farfault is built without reading", path);
}

static bool guess(const char *path, const char *head, size_t size) {
    (void)path;
    return size >= 16 && memcmp(head, "SQLite format 3", 16) == 0;
}

const struct ff__import_format ff__import_nsys = {
    .name = "nsys",
    .summary = "SQLite export of an Nsight Systems profile (this farfault is built without)",
    .guess = guess,
    .run = run,
};
