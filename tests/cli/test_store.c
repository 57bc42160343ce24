/* Files of runs: what is found again, by whom, and what becomes of files that are damaged, of
 * something else, written by several processes, or by one that is killed. */
#include "study/store.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WRITERS 4
#define RUNS    40
#define KILLS   20

static char path[64];

static int name_file(void **state) {
    (void)state;
    snprintf(path, sizeof path, "store-%d.study", (int)getpid());
    return 0;
}

/* And what lies beside it: of writers that were killed, too. */
static int remove_file(void **state) {
    char pattern[80];
    glob_t found = {.gl_pathc = 0};
    (void)state;
    snprintf(pattern, sizeof pattern, "%s*", path);
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            unlink(found.gl_pathv[i]);
    globfree(&found);
    return 0;
}

static struct ff__store *open_as(uint32_t build) {
    struct ff__store *store;
    struct ff_error error = {""};
    if (ff__store_open(path, true, &store, &error) || ff__store_begin(store, build, &error))
        fail_msg("%s", error.message);
    return store;
}

static struct ff__store_key key_of(const char *subject) {
    return (struct ff__store_key){.subject = subject,
                                  .system = "nvidia",
                                  .device = "v100-16g",
                                  .memory = 1 << 20,
                                  .seed = 1,
                                  .options = "",
                                  .data = 7};
}

static void add(struct ff__store *store, const struct ff__store_key *key, const char *result) {
    struct ff_error error;
    if (ff__store_add(store, key, 0.5, result, strlen(result), &error))
        fail_msg("%s", error.message);
}

/* "": there is none. */
static void expect(struct ff__store *store, const struct ff__store_key *key, const char *result) {
    size_t size = 0;
    char *found = ff__store_find(store, key, &size);
    assert_string_equal(found ? found : "", result);
    free(found);
}

/* ---- what is found ---- */

static void test_found(void **state) {
    struct ff__store *store = open_as(1);
    struct ff__store_key key = key_of("bfs");
    (void)state;
    add(store, &key, "{\"a\":1}");
    ff__store_close(store);
    store = open_as(1);
    expect(store, &key, "{\"a\":1}");
    key.data++; /* another device of that name */
    expect(store, &key, "");
    key = key_of("bfs");
    key.seed++;
    expect(store, &key, "");
    key = key_of("bfs");
    key.options = "settle";
    expect(store, &key, "");
    expect(store, &(struct ff__store_key){.subject = "", .system = "", .device = "", .options = ""},
           "");
    ff__store_close(store);
}

/* Bytes that are no text, too. */
static void test_bytes(void **state) {
    static const char bytes[] = {1, 0, 2, 0, 3};
    struct ff__store *store = open_as(1);
    const struct ff__store_key key = key_of("model");
    struct ff_error error;
    size_t size = 0;
    (void)state;
    assert_int_equal(ff__store_add(store, &key, (double)NAN, bytes, sizeof bytes, &error), 0);
    char *found = ff__store_find(store, &key, &size);
    assert_int_equal(size, sizeof bytes);
    assert_memory_equal(found, bytes, sizeof bytes);
    free(found);
    ff__store_close(store);
}

static json_int_t count_runs(struct ff__store *store) {
    json_t *rows;
    struct ff_error error;
    assert_int_equal(ff__store_query(store, "SELECT count(*) AS n FROM run", 0, &rows, &error), 0);
    json_int_t count = json_integer_value(json_object_get(json_array_get(rows, 0), "n"));
    json_decref(rows);
    return count;
}

static void test_builds(void **state) {
    struct ff__store *one = open_as(1), *two = open_as(2);
    const struct ff__store_key key = key_of("bfs");
    struct ff_error error;
    (void)state;
    add(one, &key, "1");
    expect(two, &key, "");
    add(two, &key, "2");
    expect(one, &key, "1");
    expect(two, &key, "2");
    assert_int_equal(count_runs(one), 2);
    assert_int_equal(ff__store_forget(two, true, &error), 0);
    expect(one, &key, "");
    expect(two, &key, "2");
    assert_int_equal(ff__store_forget(two, false, &error), 0);
    expect(two, &key, "");
    add(two, &key, "3");
    expect(two, &key, "3");
    ff__store_close(one);
    ff__store_close(two);
}

/* Modelled runs are the same on every machine, measured ones are not. */
static void test_machines(void **state) {
    struct ff__store *store = open_as(1);
    struct ff__store_key key = key_of("bfs");
    sqlite3 *db;
    (void)state;
    key.measured = true;
    add(store, &key, "1");
    expect(store, &key, "1");
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE build SET machine = '{}'", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    expect(store, &key, "");
    key.measured = false;
    expect(store, &key, "1");
    ff__store_close(store);
}

static void test_merge(void **state) {
    char other[80];
    struct ff__store *store = open_as(1);
    const struct ff__store_key first = key_of("first"), second = key_of("second");
    struct ff_error error;
    (void)state;
    add(store, &first, "1");
    ff__store_close(store);
    snprintf(other, sizeof other, "%s.other", path);
    assert_int_equal(rename(path, other), 0);
    store = open_as(1);
    add(store, &second, "2");
    for (int i = 0; i < 2; i++) /* twice is once */
        assert_int_equal(ff__store_merge(store, other, &error), 0);
    assert_int_equal(count_runs(store), 2);
    expect(store, &first, "1");
    expect(store, &second, "2");
    assert_int_equal(ff__store_merge(store, "/no/such/file", &error), -ENOENT);
    assert_string_equal(error.message, "/no/such/file: No such file or directory");
    ff__store_close(store);
}

/* ---- files that are something else ---- */

static void write_file(const char *bytes, size_t size) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

static void expect_refused(int status, const char *message) {
    struct ff__store *store;
    struct ff_error error = {""};
    assert_int_equal(ff__store_open(path, true, &store, &error), status);
    assert_null(store);
    if (!strstr(error.message, message) || strncmp(error.message, path, strlen(path)) != 0)
        fail_msg("not '%s', but: %s", message, error.message);
}

static void test_foreign(void **state) {
    static const char text[] = "some text that is longer than the header of a database is, which "
                               "has a hundred bytes at the beginning of its file";
    sqlite3 *db;
    (void)state;
    write_file(text, sizeof text);
    expect_refused(-EBADMSG, "is no file of runs");
    remove_file(NULL);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE theirs(a)", NULL, NULL, NULL), SQLITE_OK);
    expect_refused(-EBADMSG, "is a database of something else");
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA application_id = 0x66667374; PRAGMA user_version = 99",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    expect_refused(-EBADMSG, "is of another version of farfault");
    sqlite3_close(db);
    remove_file(NULL);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refused(-EEXIST, "it exists, and is not a regular file");
}

/* Any page of it full of something else. */
static void test_damaged(void **state) {
    struct ff__store *store = open_as(1);
    struct ff_error error;
    char subject[16], page[4096];
    (void)state;
    for (int i = 0; i < 200; i++) {
        snprintf(subject, sizeof subject, "s%d", i);
        const struct ff__store_key key = key_of(subject);
        add(store, &key, "{\"a\": 1}");
    }
    ff__store_close(store);
    memset(page, 0x5a, sizeof page);
    int fd = open(path, O_WRONLY);
    for (int i = 1; i < 5; i++)
        assert_int_equal(pwrite(fd, page, sizeof page, i * 4096), sizeof page);
    close(fd);
    int status = ff__store_open(path, true, &store, &error);
    if (!status)
        status = ff__store_begin(store, 1, &error);
    json_t *rows = NULL;
    if (!status)
        status = ff__store_query(store, "SELECT * FROM run", 0, &rows, &error);
    json_decref(rows);
    assert_int_equal(status, -EBADMSG);
    assert_non_null(strstr(error.message, "is damaged: remove it"));
    ff__store_close(store);
}

/* ---- several processes ---- */

/* Tells through the pipe of every run that is added. */
static void add_many(int writer, int told) {
    struct ff__store *store = open_as(1);
    char subject[32];
    for (int i = 0; i < RUNS; i++) {
        snprintf(subject, sizeof subject, "%d-%d", writer, i);
        const struct ff__store_key key = key_of(subject);
        add(store, &key, "{}");
        if (write(told, "+", 1) != 1)
            break;
    }
    ff__store_close(store);
    _exit(0);
}

static pid_t start(int writer, int told[2]) {
    pid_t process = fork();
    if (process == 0)
        add_many(writer, told[1]);
    return process;
}

static void test_side_by_side(void **state) {
    int told[2];
    (void)state;
    assert_int_equal(pipe(told), 0);
    for (int i = 0; i < WRITERS; i++)
        assert_true(start(i, told) > 0);
    for (int i = 0, status; i < WRITERS; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    struct ff__store *store = open_as(1);
    assert_int_equal(count_runs(store), WRITERS * RUNS);
    ff__store_close(store);
    close(told[0]);
    close(told[1]);
}

/* However early it is killed: what it has told of is there, and the next one goes on. */
static void test_killed(void **state) {
    json_int_t count = 0;
    (void)state;
    srand((unsigned)getpid());
    for (int i = 0; i < KILLS; i++) {
        int told[2];
        char all[RUNS];
        assert_int_equal(pipe(told), 0);
        pid_t process = start(i, told);
        close(told[1]);
        usleep((useconds_t)(rand() % 15000));
        kill(process, SIGKILL);
        waitpid(process, NULL, 0);
        ssize_t added = 0, size;
        while ((size = read(told[0], all, sizeof all)) > 0)
            added += size;
        close(told[0]);
        struct ff__store *store = open_as(1);
        json_int_t now = count_runs(store);
        if (now < count + added || now > count + added + 1)
            fail_msg("seed %d: %lld runs, not %lld", (int)getpid(), (long long)now,
                     (long long)(count + added));
        count = now;
        ff__store_close(store);
    }
    assert_true(count > 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, name_file, remove_file)
    const struct CMUnitTest tests[] = {
        TEST(found),   TEST(bytes),   TEST(builds),       TEST(machines), TEST(merge),
        TEST(foreign), TEST(damaged), TEST(side_by_side), TEST(killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
