/* Any file, and any database made by SQL, is an export of Nsight Systems that becomes events in
 * order, or it is refused with a reason. */
#include "fuzz/seen.h"

#include <sqlite3.h>
#include <unistd.h>

static int see(void *self, const struct ff_trace_event *event) {
    bool launch = event->kind == FF_TRACE_LAUNCH || event->kind == FF_TRACE_LAUNCH_END;
    see_event(self, event, !launch);
    FUZZ_EXPECT((event->kind != FF_TRACE_EVICT && event->kind != FF_TRACE_MIGRATE) ||
                event->pages > 0);
    return 0;
}

static void check(const uint8_t *data, size_t size) {
    struct seen seen = {0, 0};
    struct ff_error error = {""};
    char path[] = "/tmp/farfault-fuzz-XXXXXX"; /* SQLite opens no file that has no name */
    int fd = mkstemp(path);
    FUZZ_EXPECT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    int status = ff__import_nsys.run(path, &(struct ff__sink){see, &seen}, &error);
    FUZZ_EXPECT((status == 0) == (error.message[0] == '\0'));
    FUZZ_EXPECT(status == 0 || status == -EBADMSG || status == -ENOTSUP);
    close(fd);
    unlink(path);
}

static int stop(void *unused) {
    (void)unused;
    return 1;
}

/* Runs the SQL in memory, for a while, where it can reach no file. */
static void check_made(const char *sql) {
    sqlite3 *db;
    sqlite3_int64 size = 0;
    FUZZ_EXPECT(sqlite3_open(":memory:", &db) == SQLITE_OK);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 100000);
    sqlite3_progress_handler(db, 20000, stop, NULL);
    sqlite3_exec(db, sql, NULL, NULL, NULL);
    unsigned char *file = sqlite3_serialize(db, "main", &size, 0);
    if (file)
        check(file, (size_t)size);
    sqlite3_free(file);
    sqlite3_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *copy = fuzz_text(data, size);
    if (size >= 6 && memcmp(copy, "SQLite", 6) == 0)
        check((uint8_t *)copy, size);
    else
        check_made(copy);
    free(copy);
    return 0;
}
