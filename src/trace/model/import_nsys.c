/* Nsight Systems' SQLite exports (nsys export --type sqlite): kernels, unified-memory migrations
 * and page faults, allocations. Which tables there are depends on what was recorded, and which
 * columns on the version; what is missing is left out.
 *
 * One query brings everything into the order of time; it runs twice, first to find which memory is
 * used. */
#include "base/error.h"
#include "base/map.h"
#include "trace/model/import.h"
#include "trace/model/lines.h"
#include "trace/model/spans.h"

#include <errno.h>
#include <farfault/mask.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUERY_MAX 16384
#define KERNEL    "CUPTI_ACTIVITY_KIND_KERNEL"
#define MEMCPY    "CUPTI_ACTIVITY_KIND_MEMCPY"
#define GPU_FAULT "CUDA_UM_GPU_PAGE_FAULT_EVENTS"
#define CPU_FAULT "CUDA_UM_CPU_PAGE_FAULT_EVENTS"
#define USAGE     "CUDA_GPU_MEMORY_USAGE_EVENTS"
#define STRINGS   "StringIds"

/* What a row is; at the same time, in this order. */
enum row_kind {
    ROW_ALLOCATE,
    ROW_END,
    ROW_BEGIN,
    ROW_GPU_FAULT,
    ROW_CPU_FAULT,
    ROW_IN,
    ROW_OUT,
    ROW_ACROSS,
    ROW_FREE
};

/* Columns of the query. Meaning of v1..v6, by row: address and bytes; of kernels the launch's
 * numbers below. */
enum { AT, ROW, DEVICE, PID, V1, V2, V3, V4, V5, V6, NAME };

struct nsys_import {
    const char *path;
    const struct ff__sink *sink;
    struct ff_error *error;
    sqlite3 *db;
    char query[QUERY_MAX];
    size_t used;
    struct ff__spans spans;
    struct ff__map process; /* ID -> space */
    int64_t start;
    uint64_t now;
    bool started, exploring;
};

/* ---- errors ---- */

static int database_error(struct nsys_import *import) {
    int code = sqlite3_errcode(import->db);
    int status = code == SQLITE_NOMEM                              ? -ENOMEM
                 : code == SQLITE_FULL                             ? -ENOSPC
                 : code == SQLITE_IOERR || code == SQLITE_CANTOPEN ? -EIO
                 : code == SQLITE_BUSY || code == SQLITE_LOCKED    ? -EBUSY
                                                                   : -EBADMSG;
    return ff__fail(import->error, status, "%s: %s", import->path, sqlite3_errmsg(import->db));
}

/* ---- what there is ---- */

/* A column of a table, or NULL if the table (a real one: a view could run anything) lacks it. */
static const char *column(struct nsys_import *import, const char *table, const char *name) {
    sqlite3_stmt *statement;
    const char *found = NULL;
    static const char query[] = "SELECT 1 FROM sqlite_master m, pragma_table_info(m.name) c "
                                "WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND "
                                "m.name = ?1 AND c.name = ?2";
    if (sqlite3_prepare_v2(import->db, query, -1, &statement, NULL) != SQLITE_OK)
        return NULL;
    sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, name, -1, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW)
        found = name;
    sqlite3_finalize(statement);
    return found;
}

/* Whether a table has all of some columns, up to a NULL. */
static bool has(struct nsys_import *import, const char *table, const char *const *names) {
    for (; *names; names++)
        if (!column(import, table, *names))
            return false;
    return true;
}

/* The column if the table has it, else a constant. */
static const char *or_else(struct nsys_import *import, const char *table, const char *name,
                           const char *instead) {
    return column(import, table, name) ? name : instead;
}

/* ---- the query ---- */

__attribute__((format(printf, 2, 3))) static void add(struct nsys_import *import,
                                                      const char *format, ...) {
    va_list args;
    size_t left = sizeof import->query - import->used;
    va_start(args, format);
    int size = vsnprintf(import->query + import->used, left, format, args);
    va_end(args);
    import->used += size >= 0 && (size_t)size < left ? (size_t)size : left - 1;
}

static void begin_select(struct nsys_import *import) {
    add(import, "%s", import->used ? " UNION ALL " : "");
}

/* globalPid: hardware, machine, process and thread, 8, 8, 24 and 24 bits */
static const char *process_of(struct nsys_import *import, const char *table) {
    return column(import, table, "globalPid") ? "globalPid / 0x1000000 % 0x1000000" : "0";
}

static void kernel_query(struct nsys_import *import) {
    static const char *const needed[] = {"start", "end", "deviceId", NULL};
    static const char *const strings[] = {"id", "value", NULL};
    if (!has(import, KERNEL, needed))
        return;
    const char *name =
        or_else(import, KERNEL, "demangledName",
                or_else(import, KERNEL, "shortName", or_else(import, KERNEL, "mangledName", NULL)));
    static const char *const sizes[] = {"gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"};
    for (int end = 0; end < 2; end++) {
        begin_select(import);
        add(import, "SELECT %s, %d, deviceId, %s", end ? "\"end\"" : "start",
            end ? ROW_END : ROW_BEGIN, process_of(import, KERNEL));
        for (int i = 0; i < 6; i++)
            add(import, ", %s", or_else(import, KERNEL, sizes[i], "1"));
        if (name && has(import, STRINGS, strings))
            add(import, ", (SELECT value FROM " STRINGS " WHERE id = %s)", name);
        else
            add(import, ", NULL");
        add(import, " FROM " KERNEL " WHERE \"end\" >= start");
    }
}

/* copyKind 11, 12, 13: unified memory, host to device, device to host, device to device */
static void migration_query(struct nsys_import *import) {
    static const char *const needed[] = {"start",          "end", "deviceId", "bytes", "copyKind",
                                         "virtualAddress", NULL};
    if (!has(import, MEMCPY, needed))
        return;
    begin_select(import);
    add(import,
        "SELECT \"end\", copyKind - 11 + %d, deviceId, %s, virtualAddress, bytes, %s, %s, 0, 0, "
        "NULL "
        "FROM " MEMCPY " WHERE copyKind BETWEEN 11 AND 13 AND virtualAddress > 0 AND bytes > 0",
        ROW_IN, process_of(import, MEMCPY), or_else(import, MEMCPY, "srcDeviceId", "deviceId"),
        or_else(import, MEMCPY, "dstDeviceId", "deviceId"));
}

/* faultAccessType 1 read, 2 write, 3 atomic, 4 prefetch */
static void fault_query(struct nsys_import *import) {
    static const char *const gpu[] = {"start", "deviceId", "address", NULL};
    static const char *const cpu[] = {"start", "address", NULL};
    if (has(import, GPU_FAULT, gpu)) {
        begin_select(import);
        add(import, "SELECT start, %d, deviceId, %s, address, 1, %s, 0, 0, 0, NULL FROM " GPU_FAULT,
            ROW_GPU_FAULT, process_of(import, GPU_FAULT),
            or_else(import, GPU_FAULT, "faultAccessType", "1"));
    }
    if (has(import, CPU_FAULT, cpu)) {
        begin_select(import);
        add(import, "SELECT start, %d, 0, %s, address, 1, 0, 0, 0, 0, NULL FROM " CPU_FAULT,
            ROW_CPU_FAULT, process_of(import, CPU_FAULT));
    }
}

/* Only what is used is ever announced, so that memory of other kinds, whose numbers differ between
 * versions, need not be told apart. memoryOperationType 0: allocated, 1: freed */
static void usage_query(struct nsys_import *import) {
    static const char *const needed[] = {"start", "address", "bytes", "memoryOperationType", NULL};
    if (!has(import, USAGE, needed))
        return;
    begin_select(import);
    add(import,
        "SELECT start, CASE memoryOperationType WHEN 0 THEN %d ELSE %d END, %s, %s, address, "
        "bytes, "
        "0, 0, 0, 0, NULL FROM " USAGE
        " WHERE memoryOperationType IN (0, 1) AND address > 0 AND bytes > 0",
        ROW_ALLOCATE, ROW_FREE, or_else(import, USAGE, "deviceId", "0"), process_of(import, USAGE));
}

static int make_query(struct nsys_import *import) {
    bool legacy = column(import, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "start") ||
                  column(import, "CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER", "start");
    if (legacy)
        return ff__fail(import->error, -ENOTSUP,
                        "%s: a profile of nvprof; record it with nsys instead", import->path);
    kernel_query(import);
    migration_query(import);
    fault_query(import);
    size_t before = import->used;
    usage_query(import);
    if (before == 0)
        return ff__fail(import->error, -EBADMSG,
                        "%s: no kernels, migrations or page faults in it; is it an export of "
                        "nsys, recorded with --cuda-um-gpu-page-faults=true?",
                        import->path);
    add(import, " ORDER BY 1, 2");
    return 0;
}

/* ---- rows ---- */

static uint64_t unsigned_at(sqlite3_stmt *row, int at) {
    return (uint64_t)sqlite3_column_int64(row, at);
}

static uint32_t clamp(uint64_t value) {
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static int space_of(struct nsys_import *import, uint64_t process, uint32_t *space) {
    if (ff__map_get(&import->process, process, space))
        return 0;
    *space = import->process.count + import->process.has_zero;
    return ff__map_put(&import->process, process, *space);
}

/* Arguments are not in the export: name, grid and block must do for the execution ID. */
static uint64_t identify(sqlite3_stmt *row, const char *name) {
    uint64_t hash = name ? ff__hash_bytes(0, name, strlen(name)) : 0;
    for (int i = V1; i <= V6; i++) {
        uint64_t size = unsigned_at(row, i);
        hash = ff__hash_bytes(hash, &size, sizeof size);
    }
    return hash;
}

static int put_kernel(struct nsys_import *import, sqlite3_stmt *row, struct ff_trace_event *event) {
    const char *name = (const char *)sqlite3_column_text(row, NAME);
    uint64_t ctas = 1, threads = 1;
    bool huge = false;
    for (int i = 0; i < 3; i++) {
        huge |= __builtin_mul_overflow(ctas, unsigned_at(row, V1 + i), &ctas);
        huge |= __builtin_mul_overflow(threads, unsigned_at(row, V4 + i), &threads);
    }
    event->identity = identify(row, name);
    if (event->kind == FF_TRACE_LAUNCH && !huge && ctas <= UINT32_MAX && threads <= UINT32_MAX) {
        event->ctas = (uint32_t)ctas;
        event->warps = (uint32_t)((threads + 31) / 32);
    }
    event->name = event->kind == FF_TRACE_LAUNCH ? name : NULL;
    return import->sink->put(import->sink->self, event);
}

/* The event for the part of [address, address + bytes) that lies in one range. */
static int put_piece(struct nsys_import *import, struct ff_trace_event *event, uint32_t space,
                     uint64_t address, uint64_t bytes) {
    int status = ff__spans_use(&import->spans, import->sink, event, space, address, &event->range,
                               &event->page);
    if (status)
        return status;
    uint64_t left = ff__spans_left(&import->spans, space, address);
    event->pages = (address % FF_PAGE_SIZE + bytes + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE;
    event->pages = event->pages < left ? event->pages : left;
    return import->sink->put(import->sink->self, event);
}

static int put_migration(struct nsys_import *import, sqlite3_stmt *row, enum row_kind kind,
                         struct ff_trace_event *event, uint32_t space) {
    uint64_t address = unsigned_at(row, V1), bytes = unsigned_at(row, V2);
    int status = 0;
    if (kind == ROW_OUT || kind == ROW_ACROSS) {
        event->kind = FF_TRACE_EVICT;
        event->device = clamp(unsigned_at(row, kind == ROW_ACROSS ? V3 : DEVICE));
        status = put_piece(import, event, space, address, bytes);
    }
    if (!status && kind != ROW_OUT) {
        event->kind = FF_TRACE_MIGRATE;
        event->device = clamp(unsigned_at(row, kind == ROW_ACROSS ? V4 : DEVICE));
        status = put_piece(import, event, space, address, bytes);
    }
    return status;
}

static int put_fault(struct nsys_import *import, sqlite3_stmt *row, enum row_kind kind,
                     struct ff_trace_event *event, uint32_t space) {
    uint64_t access = unsigned_at(row, V3);
    event->kind = kind == ROW_GPU_FAULT ? FF_TRACE_FAULT : FF_TRACE_HOST_READ;
    event->write = kind == ROW_GPU_FAULT && (access == 2 || access == 3);
    event->bytes = kind == ROW_GPU_FAULT ? 0 : FF_PAGE_SIZE;
    int status = ff__spans_use(&import->spans, import->sink, event, space, unsigned_at(row, V1),
                               &event->range, &event->page);
    return status ? status : import->sink->put(import->sink->self, event);
}

static int put_row(struct nsys_import *import, sqlite3_stmt *row, enum row_kind kind,
                   uint32_t space) {
    int64_t at = sqlite3_column_int64(row, AT);
    uint64_t since = at > import->start ? (uint64_t)at - (uint64_t)import->start : 0;
    import->now = since > import->now ? since : import->now; /* not so if a time is no number */
    struct ff_trace_event event = {.time_ns = import->now,
                                   .device = clamp(unsigned_at(row, DEVICE))};
    switch (kind) {
    case ROW_BEGIN:
    case ROW_END:
        event.kind = kind == ROW_BEGIN ? FF_TRACE_LAUNCH : FF_TRACE_LAUNCH_END;
        return put_kernel(import, row, &event);
    case ROW_GPU_FAULT:
    case ROW_CPU_FAULT:
        return put_fault(import, row, kind, &event, space);
    case ROW_IN:
    case ROW_OUT:
    case ROW_ACROSS:
        return put_migration(import, row, kind, &event, space);
    case ROW_FREE:
        return ff__spans_free(&import->spans, import->sink, event.time_ns, space,
                              unsigned_at(row, V1));
    default:
        return 0;
    }
}

static int explore_row(struct nsys_import *import, sqlite3_stmt *row, enum row_kind kind,
                       uint32_t space) {
    uint64_t address = unsigned_at(row, V1), bytes = unsigned_at(row, V2);
    if (kind == ROW_ALLOCATE)
        return ff__spans_know(&import->spans, space, address, bytes);
    if (kind == ROW_BEGIN || kind == ROW_END || kind == ROW_FREE)
        return 0;
    return ff__spans_touch(&import->spans, space, address, bytes);
}

static int handle_row(struct nsys_import *import, sqlite3_stmt *row) {
    uint32_t space;
    enum row_kind kind = (enum row_kind)sqlite3_column_int(row, ROW);
    if (!import->started)
        import->start = sqlite3_column_int64(row, AT);
    import->started = true;
    int status = space_of(import, unsigned_at(row, PID), &space);
    if (!status)
        status = import->exploring ? explore_row(import, row, kind, space)
                                   : put_row(import, row, kind, space);
    if (status == -ERANGE)
        return ff__fail(import->error, -EBADMSG, "%s: address %#llx: none memory could have",
                        import->path, (unsigned long long)unsigned_at(row, V1));
    return status;
}

static int read_rows(struct nsys_import *import, bool exploring) {
    sqlite3_stmt *statement;
    int status = 0, step = SQLITE_DONE;
    import->exploring = exploring;
    if (sqlite3_prepare_v2(import->db, import->query, -1, &statement, NULL) != SQLITE_OK)
        return database_error(import);
    while (!status && (step = sqlite3_step(statement)) == SQLITE_ROW)
        status = handle_row(import, statement);
    if (!status && step != SQLITE_DONE)
        status = database_error(import);
    sqlite3_finalize(statement);
    return status;
}

/* ---- the file ---- */

/* The file is opened only for reading, and what its schema says is not trusted. */
static int open_database(struct nsys_import *import) {
    FILE *file;
    int status = ff__open_regular(import->path, &file, import->error);
    if (status)
        return status;
    fclose(file);
    if (sqlite3_open_v2(import->path, &import->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        return import->db ? database_error(import) : -ENOMEM;
    sqlite3_db_config(import->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(import->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (sqlite3_exec(import->db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) !=
        SQLITE_OK)
        return database_error(import);
    return 0;
}

static int run(const char *path, const struct ff__sink *sink, struct ff_error *error) {
    struct nsys_import *import = calloc(1, sizeof *import);
    if (!import)
        return -ENOMEM;
    import->path = path;
    import->sink = sink;
    import->error = error;
    int status = open_database(import);
    if (!status)
        status = make_query(import);
    if (!status)
        status = read_rows(import, true);
    if (!status)
        status = ff__spans_settle(&import->spans);
    if (!status)
        status = read_rows(import, false);
    sqlite3_close(import->db);
    ff__spans_fini(&import->spans);
    ff__map_fini(&import->process);
    free(import);
    return status;
}

static bool guess(const char *path, const char *head, size_t size) {
    (void)path;
    return size >= 16 && memcmp(head, "SQLite format 3", 16) == 0;
}

const struct ff__import_format ff__import_nsys = {
    .name = "nsys",
    .summary = "SQLite export of an Nsight Systems profile",
    .guess = guess,
    .run = run,
};
