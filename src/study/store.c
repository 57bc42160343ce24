#include "study/store.h"

#include "base/error.h"
#include "report/json.h"
#include "report/machine.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define APPLICATION 0x66667374 /* "ffst", what the file says that it is of */
#define FORMAT      1          /* of the tables below */
#define PATIENCE_MS 60000      /* for another process that writes */

#define WHOLE                                                                                      \
    "CREATE TABLE IF NOT EXISTS whole(build INTEGER NOT NULL REFERENCES build,"                    \
    " command TEXT NOT NULL, made INTEGER NOT NULL, results TEXT NOT NULL,"                        \
    " UNIQUE(build, command));"

/* The last line is for readers and a writer side by side. Before it, all is in the file itself. */
static const char tables[] =
    "BEGIN;"
    "CREATE TABLE build(id INTEGER PRIMARY KEY, program TEXT NOT NULL,"
    " version TEXT NOT NULL, machine TEXT NOT NULL, UNIQUE(program, machine));"
    "CREATE TABLE run(id INTEGER PRIMARY KEY,"
    " build INTEGER NOT NULL REFERENCES build, made INTEGER NOT NULL, subject TEXT NOT NULL,"
    " system TEXT NOT NULL, device TEXT NOT NULL, memory INTEGER NOT NULL, seed INTEGER NOT NULL,"
    " options TEXT NOT NULL, data INTEGER NOT NULL, seconds REAL, result NOT NULL,"
    " UNIQUE(build, subject, system, device, memory, seed, options, data));" WHOLE
    "PRAGMA application_id = 0x66667374; PRAGMA user_version = 1;"
    "COMMIT;"
    "PRAGMA journal_mode = WAL";

#define SAME                                                                                       \
    "run.subject = ?1 AND run.system = ?2 AND run.device = ?3 AND run.memory = ?4 AND "            \
    "run.seed = ?5 AND run.options = ?6 AND run.data = ?7"

struct ff__store {
    char *path, *machine; /* JSON */
    sqlite3 *db;
    pthread_mutex_t lock; /* of one use of the file after the other */
    int64_t build;        /* who adds */
    char program[16];
};

/* ---- errors ---- */

static int fail(const struct ff__store *store, struct ff_error *error) {
    int code = sqlite3_errcode(store->db);
    switch (code) {
    case SQLITE_NOTADB:
        return ff__fail(error, -EBADMSG, "%s: is no file of runs", store->path);
    case SQLITE_CORRUPT:
        return ff__fail(error, -EBADMSG, "%s: is damaged: remove it, and runs are made again",
                        store->path);
    case SQLITE_BUSY:
        return ff__fail(error, -EBUSY, "%s: another process has it for itself", store->path);
    case SQLITE_NOMEM:
        return ff__fail(error, -ENOMEM, "out of memory");
    case SQLITE_FULL:
        return ff__fail(error, -ENOSPC, "%s: %s", store->path, strerror(ENOSPC));
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
        code = sqlite3_system_errno(store->db) ? sqlite3_system_errno(store->db) : EIO;
        return ff__fail(error, -code, "%s: %s", store->path, strerror(code));
    default:
        return ff__fail(error, -EIO, "%s: %s", store->path, sqlite3_errmsg(store->db));
    }
}

static int run(struct ff__store *store, const char *sql, struct ff_error *error) {
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(store, error);
}

/* ---- opening ---- */

static int64_t number_of(struct ff__store *store, const char *query) {
    sqlite3_stmt *statement = NULL;
    int64_t number = -1;
    if (sqlite3_prepare_v2(store->db, query, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

/* Ours; someone else's stays as it is. */
static int check_format(struct ff__store *store, struct ff_error *error) {
    int64_t held = number_of(store, "SELECT count(*) FROM sqlite_master");
    int64_t application = held < 0 ? held : number_of(store, "PRAGMA application_id");
    if (application < 0)
        return fail(store, error);
    if (held == 0)
        return ff__fail(error, -EBADMSG, "%s: is no file of runs", store->path);
    if (application != APPLICATION)
        return ff__fail(error, -EBADMSG, "%s: is a database of something else", store->path);
    if (number_of(store, "PRAGMA user_version") != FORMAT)
        return ff__fail(error, -EBADMSG, "%s: is of another version of farfault", store->path);
    /* a run does not wait for the disk */
    return run(store, "PRAGMA synchronous = NORMAL", error);
}

static int connect_to(struct ff__store *store, const char *path, int flags,
                      struct ff_error *error) {
    flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &store->db, flags, NULL) != SQLITE_OK)
        return fail(store, error);
    sqlite3_busy_timeout(store->db, PATIENCE_MS);
    return 0;
}

static void disconnect(struct ff__store *store) {
    sqlite3_close(store->db);
    store->db = NULL;
}

/* Also what a database has beside it. */
static void remove_part(const char *part) {
    static const char *const endings[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        char *path = ff__text("%s%s", part, endings[i]);
        unlink(path);
        free(path);
    }
}

/* The name is for the whole file, so that nobody meets half of one. Two processes may make it at
 * the same time: the first one's stays. */
static int make_file(struct ff__store *store, struct ff_error *error) {
    char *part = ff__text("%s.%d.part", store->path, (int)getpid());
    remove_part(part);
    int status = connect_to(store, part, SQLITE_OPEN_CREATE, error);
    if (!status)
        status = run(store, tables, error);
    disconnect(store);
    if (!status && link(part, store->path) && errno != EEXIST)
        status = ff__fail(error, -errno, "%s: %s", store->path, strerror(errno));
    remove_part(part);
    free(part);
    return status;
}

static int open_file(struct ff__store *store, bool makes, struct ff_error *error) {
    struct stat about;
    bool missing = stat(store->path, &about) != 0;
    if (!missing && !S_ISREG(about.st_mode))
        return ff__fail(error, -EEXIST, "%s: it exists, and is not a regular file", store->path);
    int status = missing && makes ? make_file(store, error) : 0;
    if (!status)
        status = connect_to(store, store->path, 0, error);
    return status ? status : check_format(store, error);
}

int ff__store_open(const char *path, bool makes, struct ff__store **out, struct ff_error *error) {
    struct ff__store *store = ff__must(calloc(1, sizeof *store));
    store->path = ff__text("%s", path);
    pthread_mutex_init(&store->lock, NULL);
    int status = open_file(store, makes, error);
    if (status) {
        ff__store_close(store);
        store = NULL;
    }
    *out = store;
    return status;
}

void ff__store_close(struct ff__store *store) {
    if (!store)
        return;
    disconnect(store);
    pthread_mutex_destroy(&store->lock);
    free(store->machine);
    free(store->path);
    free(store);
}

/* ---- who adds ---- */

int ff__store_begin(struct ff__store *store, uint32_t build, struct ff_error *error) {
    sqlite3_stmt *statement = NULL;
    json_t *facts = ff__machine_facts();
    store->machine = ff__must(json_dumps(facts, JSON_COMPACT));
    json_decref(facts);
    snprintf(store->program, sizeof store->program, "%08x", (unsigned)build);
    bool good = sqlite3_prepare_v2(store->db,
                                   "INSERT INTO build(program, version, machine) VALUES(?1, ?2, ?3)"
                                   " ON CONFLICT DO UPDATE SET version = ?2 RETURNING id",
                                   -1, &statement, NULL) == SQLITE_OK;
    if (good) {
        sqlite3_bind_text(statement, 1, store->program, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, FARFAULT_VERSION, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, store->machine, -1, SQLITE_STATIC);
        good = sqlite3_step(statement) == SQLITE_ROW;
        store->build = good ? sqlite3_column_int64(statement, 0) : 0;
    }
    good = sqlite3_finalize(statement) == SQLITE_OK && good;
    return good ? 0 : fail(store, error);
}

int ff__store_forget(struct ff__store *store, bool of_others, struct ff_error *error) {
    char *which =
        of_others ? ff__text(" WHERE program != '%s'", store->program) : ff__text("%s", "");
    char *sql = ff__text("BEGIN IMMEDIATE; " WHOLE
                         "DELETE FROM whole WHERE build IN (SELECT id FROM build%s);"
                         "DELETE FROM run WHERE build IN (SELECT id FROM build%s);"
                         "DELETE FROM build WHERE id NOT IN (SELECT build FROM run) AND id != %lld;"
                         "COMMIT",
                         which, which, (long long)store->build);
    int status = run(store, sql, error);
    free(sql);
    free(which);
    return status;
}

/* ---- runs ---- */

static void bind_key(sqlite3_stmt *statement, const struct ff__store_key *key) {
    sqlite3_bind_text(statement, 1, key->subject, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, key->system, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 3, key->device, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 4, (int64_t)key->memory);
    sqlite3_bind_int64(statement, 5, (int64_t)key->seed);
    sqlite3_bind_text(statement, 6, key->options, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 7, key->data);
}

static void *copy_of(sqlite3_stmt *statement, size_t *size) {
    const void *bytes = sqlite3_column_blob(statement, 0);
    *size = (size_t)sqlite3_column_bytes(statement, 0);
    char *copy = ff__must(malloc(*size + 1));
    memcpy(copy, bytes ? bytes : "", *size);
    copy[*size] = '\0';
    return copy;
}

void *ff__store_find(struct ff__store *store, const struct ff__store_key *key, size_t *size) {
    void *found = NULL;
    sqlite3_stmt *statement = NULL;
    pthread_mutex_lock(&store->lock);
    if (sqlite3_prepare_v2(store->db,
                           "SELECT result FROM build JOIN run ON run.build = build.id"
                           " WHERE program = ?8 AND (machine = ?9 OR ?9 IS NULL) AND " SAME
                           " LIMIT 1",
                           -1, &statement, NULL) == SQLITE_OK) {
        bind_key(statement, key);
        sqlite3_bind_text(statement, 8, store->program, -1, SQLITE_STATIC);
        if (key->measured)
            sqlite3_bind_text(statement, 9, store->machine, -1, SQLITE_STATIC);
        if (sqlite3_step(statement) == SQLITE_ROW)
            found = copy_of(statement, size);
    }
    sqlite3_finalize(statement);
    pthread_mutex_unlock(&store->lock);
    return found;
}

static int add(struct ff__store *store, const struct ff__store_key *key, double seconds,
               const void *result, size_t size, struct ff_error *error) {
    sqlite3_stmt *statement = NULL;
    bool good = sqlite3_prepare_v2(store->db,
                                   "INSERT OR REPLACE INTO run(subject, system, device, memory,"
                                   " seed, options, data, build, made, seconds, result)"
                                   " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                                   -1, &statement, NULL) == SQLITE_OK;
    if (good) {
        bind_key(statement, key);
        sqlite3_bind_int64(statement, 8, store->build);
        sqlite3_bind_int64(statement, 9, time(NULL));
        if (!isnan(seconds))
            sqlite3_bind_double(statement, 10, seconds);
        if (memchr(result, '\0', size)) /* no text */
            sqlite3_bind_blob64(statement, 11, result, size, SQLITE_STATIC);
        else
            sqlite3_bind_text64(statement, 11, result, size, SQLITE_STATIC, SQLITE_UTF8);
        good = sqlite3_step(statement) == SQLITE_DONE;
    }
    int status = good ? 0 : fail(store, error);
    sqlite3_finalize(statement);
    return status;
}

int ff__store_add(struct ff__store *store, const struct ff__store_key *key, double seconds,
                  const void *result, size_t size, struct ff_error *error) {
    pthread_mutex_lock(&store->lock);
    int status = add(store, key, seconds, result, size, error);
    pthread_mutex_unlock(&store->lock);
    return status;
}

/* ---- whole results ---- */

int ff__store_set_results(struct ff__store *store, const char *command, const char *results,
                          struct ff_error *error) {
    sqlite3_stmt *statement = NULL;
    int status = run(store, WHOLE, error); /* files of older versions lack it */
    bool good = !status && sqlite3_prepare_v2(store->db,
                                              "INSERT OR REPLACE INTO whole(build, command, made,"
                                              " results) VALUES(?1, ?2, ?3, ?4)",
                                              -1, &statement, NULL) == SQLITE_OK;
    if (good) {
        sqlite3_bind_int64(statement, 1, store->build);
        sqlite3_bind_text(statement, 2, command, -1, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 3, time(NULL));
        sqlite3_bind_text(statement, 4, results, -1, SQLITE_STATIC);
        good = sqlite3_step(statement) == SQLITE_DONE;
    }
    if (!status && !good)
        status = fail(store, error);
    sqlite3_finalize(statement);
    return status;
}

json_t *ff__store_results(struct ff__store *store, unsigned *alike) {
    static const char newest[] = "SELECT results, (SELECT count(*) FROM whole AS other"
                                 " WHERE other.results = whole.results) AS alike"
                                 " FROM whole ORDER BY made DESC, rowid DESC LIMIT 1";
    json_t *rows, *results = NULL;
    struct ff_error error;
    if (ff__store_query(store, newest, 0, &rows, &error))
        return NULL;
    const json_t *row = json_array_get(rows, 0);
    const char *text = json_string_value(json_object_get(row, "results"));
    if (text)
        results = json_loads(text, 0, NULL);
    *alike = (unsigned)json_integer_value(json_object_get(row, "alike"));
    json_decref(rows);
    return results;
}

/* ---- other files ---- */

static int attach(struct ff__store *store, const char *path, struct ff_error *error) {
    sqlite3_stmt *statement = NULL;
    bool good =
        sqlite3_prepare_v2(store->db, "ATTACH ?1 AS other", -1, &statement, NULL) == SQLITE_OK;
    if (good) {
        sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
        good = sqlite3_step(statement) == SQLITE_DONE;
    }
    int status = good ? 0 : fail(store, error);
    sqlite3_finalize(statement);
    return status;
}

int ff__store_merge(struct ff__store *store, const char *path, struct ff_error *error) {
    static const char sql[] =
        "BEGIN IMMEDIATE;"
        "INSERT OR IGNORE INTO build(program, version, machine)"
        " SELECT program, version, machine FROM other.build;"
        "INSERT OR IGNORE INTO run(build, made, subject, system, device, memory, seed, options,"
        " data, seconds, result)"
        " SELECT own.id, made, subject, system, device, memory, seed, options, data, seconds,"
        " result"
        " FROM other.run JOIN other.build AS theirs ON other.run.build = theirs.id"
        " JOIN main.build AS own ON own.program = theirs.program AND own.machine = theirs.machine"
        " ORDER BY other.run.id;"
        "COMMIT";
    static const char results[] =
        WHOLE "INSERT INTO whole(build, command, made, results)"
              " SELECT own.id, command, made, results"
              " FROM other.whole JOIN other.build AS theirs ON other.whole.build = theirs.id"
              " JOIN main.build AS own ON own.program = theirs.program"
              " AND own.machine = theirs.machine WHERE true"
              " ON CONFLICT(build, command) DO UPDATE SET made = excluded.made,"
              " results = excluded.results WHERE excluded.made > whole.made";
    struct ff_error none;
    struct ff__store *other; /* whatever is wrong with it, in a line with its name */
    int status = ff__store_open(path, false, &other, error);
    if (status)
        return status;
    status = attach(store, path, error);
    if (!status)
        status = run(store, sql, error);
    if (!status)
        run(store, results, &none); /* which files of older versions lack */
    if (!status)
        status = run(store, "DETACH other", error);
    ff__store_close(other);
    return status;
}

static json_t *value_of(sqlite3_stmt *statement, int column) {
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
        return json_null();
    case SQLITE_INTEGER:
        return json_integer(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
        return ff__json_number(sqlite3_column_double(statement, column));
    default:
        return ff__json_text((const char *)sqlite3_column_text(statement, column));
    }
}

int ff__store_query(struct ff__store *store, const char *query, int64_t build, json_t **rows,
                    struct ff_error *error) {
    sqlite3_stmt *statement = NULL;
    *rows = ff__must(json_array());
    int code = sqlite3_prepare_v2(store->db, query, -1, &statement, NULL);
    if (code == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 0)
        sqlite3_bind_int64(statement, 1, build);
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        json_t *row = ff__must(json_object());
        for (int i = 0; i < sqlite3_column_count(statement); i++)
            ff__json_set(row, sqlite3_column_name(statement, i), value_of(statement, i));
        json_array_append_new(*rows, row);
    }
    int status =
        sqlite3_finalize(statement) == SQLITE_OK && code == SQLITE_OK ? 0 : fail(store, error);
    if (status) {
        json_decref(*rows);
        *rows = NULL;
    }
    return status;
}
