/* test_summary LIBRARY FOLDER [messages]: what the preload counts while its threads work; with
 * `messages`, how it says it, and what it does when it cannot do its work. FOLDER has the other
 * clients, which are run for it. */
#include <farfault/farfault.h>

#include <jansson.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "locks.h"

enum { EXIT_SKIP = 77 };

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\nthe program said: %s\n", __FILE__, __LINE__, #condition,   \
                    said);                                                                         \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

static const char *library, *folder;
static char scratch[] = "/tmp/farfault-summary-XXXXXX";
static char said[8192]; /* what the last program wrote on stderr */
static int said_lines;

static void set_environment(const char *const variables[]) {
    static const char *const standard[] = {"FARFAULT_MEMORY=4M", "FARFAULT_SYSTEM=nvidia", NULL};
    const char *const *lists[] = {standard, variables};
    for (size_t list = 0; list < 2; list++)
        for (size_t i = 0; lists[list][i]; i++)
            putenv((char *)(uintptr_t)lists[list][i]);
    setenv("LD_PRELOAD", library, 1);
}

/* ASan does not follow how faults get another stack (src/backend/soft/room.c), and says so once for
 * each thread that meets its first at the same time. */
static void drop_words_of_asan(void) {
    char *line;
    while ((line = strstr(said, "==WARNING: ASan doesn't fully support makecontext"))) {
        char *end = strchr(line, '\n');
        if (!end)
            return;
        while (line > said && line[-1] != '\n')
            line--;
        memmove(line, end + 1, strlen(end + 1) + 1);
    }
}

static void collect(int from) {
    size_t used = 0;
    ssize_t got;
    while ((got = read(from, said + used, sizeof said - 1 - used)) > 0)
        used += (size_t)got;
    said[used] = '\0';
    drop_words_of_asan();
    said_lines = 0;
    for (const char *c = said; *c; c++)
        said_lines += *c == '\n';
}

/* Runs a program in the scratch folder and returns its exit status. */
static int run(const char *program, const char *const variables[]) {
    int ends[2], status = 0;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        set_environment(variables);
        if (chdir(scratch) == 0)
            execl(program, program, (char *)NULL);
        _exit(126);
    }
    close(ends[1]);
    collect(ends[0]);
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static const char *client(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/preload_%s", folder, name);
    return path;
}

#define RUN(program, ...) run(program, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static bool take_away(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    return unlink(path) == 0;
}

/* Reads the summary and takes it away; it must be the only file that is left. */
static json_t *summary(const char *name) {
    char path[4096];
    json_error_t error;
    int files = 0;
    DIR *directory = opendir(scratch);
    CHECK(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        files += entry->d_name[0] != '.';
    closedir(directory);
    CHECK(files == 1);
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
    CHECK(root && take_away(name));
    return root;
}

static json_int_t integer(const json_t *root, const char *name) {
    const json_t *value = json_object_get(root, name);
    if (!json_is_integer(value))
        fprintf(stderr, "%s\n", name);
    CHECK(json_is_integer(value) && json_integer_value(value) >= 0);
    return json_integer_value(value);
}

static double real(const json_t *root, const char *name) {
    const json_t *value = json_object_get(root, name);
    CHECK(json_is_real(value));
    return json_real_value(value);
}

static bool says(const json_t *root, const char *name, const char *wanted) {
    const char *text = json_string_value(json_object_get(root, name));
    return text && strcmp(text, wanted) == 0;
}

static void test_json(void) {
    CHECK(RUN(client("maps"), "FARFAULT_REQUIRE=1", "FARFAULT_SUMMARY=out.json") == 0);
    CHECK(said_lines == 0);
    json_t *managed = summary("out.json");
    CHECK(json_object_size(managed) == 38);
    CHECK(says(managed, "mode", "managed") && says(managed, "system", "nvidia"));
    CHECK(integer(managed, "memory") == 4 << 20 && integer(managed, "devices") == 1);
    CHECK(json_is_string(json_object_get(managed, "description")));
    CHECK(real(managed, "seconds") > 0 && real(managed, "fault_seconds") > 0);
    CHECK(real(managed, "hit_rate") >= 0 && real(managed, "hit_rate") <= 1);
    static const char *const active[] = {"footprint",      "faults",          "batches",
                                         "bytes_in",       "bytes_out",       "bytes_dropped",
                                         "evictions",      "populated_bytes", "launches",
                                         "demanded_bytes", "resident_peak",   "refaults"};
    for (size_t i = 0; i < sizeof active / sizeof active[0]; i++)
        CHECK(integer(managed, active[i]) > 0);
    CHECK(integer(managed, "resident_peak") <= integer(managed, "memory"));
    integer(managed, "prefetched_bytes");
    integer(managed, "advice_dropped");
    CHECK(integer(managed, "borrowed_peak") == 0 && integer(managed, "lent_peak") == 0);
    CHECK(integer(managed, "bytes_lent") == 0 && integer(managed, "bytes_fetched") == 0);
    CHECK(real(managed, "waited_seconds") == 0);
    CHECK(integer(managed, "bytes_remote") == 0);
    CHECK(json_object_size(json_object_get(managed, "fallbacks")) == 0);

    CHECK(RUN(client("maps"), "FARFAULT_MODE=passive", "FARFAULT_SUMMARY=out.json") == 0);
    CHECK(said_lines == 0);
    json_t *passive = summary("out.json");
    CHECK(says(passive, "mode", "passive") && says(passive, "system", "none"));
    CHECK(integer(passive, "faults") == 0 && integer(passive, "bytes_in") == 0);
    CHECK(integer(passive, "launches") == integer(managed, "launches"));
    /* PoCL may hold a released buffer until after the next is made, so not quite equal */
    CHECK(integer(passive, "footprint") >= 6 << 20 && integer(managed, "footprint") >= 6 << 20);
    CHECK(real(passive, "seconds") > 0);
    CHECK(json_object_size(json_object_get(passive, "fallbacks")) == 0);
    json_decref(managed);
    json_decref(passive);
}

/* 8 MiB are replaced eight times on a device of 4 MiB, and read once. */
static void test_traffic(void) {
    CHECK(RUN(client("overwrites"), "FARFAULT_REQUIRE=1", "FARFAULT_SUMMARY=out.json",
              "TEST_TRAFFIC=1") == 0);
    json_t *root = summary("out.json");
    CHECK(integer(root, "bytes_in") <= 12 << 20);
    json_decref(root);
}

/* Data that a buffer is created with are copied then: that is in the time. */
static void test_clock(void) {
    static const char *const modes[] = {"FARFAULT_MODE=managed", "FARFAULT_MODE=passive"};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        CHECK(RUN(client("buffers"), modes[i], "FARFAULT_SUMMARY=out.json", "TEST_CLOCK=1") == 0);
        json_t *root = summary("out.json");
        CHECK(real(root, "seconds") >= 0.1);
        json_decref(root);
    }
}

static void test_fallbacks(void) {
    CHECK(RUN(client("images"), "FARFAULT_REQUIRE=1", "FARFAULT_SUMMARY=out.json") == 0);
    json_t *root = summary("out.json"), *fallbacks = json_object_get(root, "fallbacks");
    CHECK(integer(fallbacks, "clCreateImage") > 0 && json_object_size(fallbacks) == 1);
    json_decref(root);
}

/* What came of launches of which all is known: nothing that was not predicted. PoCL's one thread
 * has told the end of each before it takes up another command. */
static void check_extents_by_kernel(const json_t *root, size_t kernels) {
    const json_t *list = json_object_get(root, "extents"), *of;
    json_int_t known = 0, orders = 0;
    size_t i;
    CHECK(json_array_size(list) == kernels);
    json_array_foreach(list, i, of) {
        CHECK(json_object_size(of) == 12);
        CHECK(integer(of, "launches") >= integer(of, "known"));
        CHECK(integer(of, "known") == integer(of, "alone"));
        CHECK(integer(of, "faults_outside") == 0);
        CHECK((integer(of, "predicted_bytes") > 0) == (integer(of, "known") > 0));
        CHECK(integer(of, "orders") >= integer(of, "orders_dropped"));
        CHECK(integer(of, "orders") > 0 || integer(of, "brought_bytes") == 0);
        known += integer(of, "known");
        orders += integer(of, "brought_for");
    }
    CHECK(known == integer(root, "launches_known"));
    CHECK((orders > 0) == (kernels > 0));
}

/* Of slices of 1 MiB each. */
static void check_slices(const json_t *root) {
    const json_t *add = json_array_get(json_object_get(root, "extents"), 0);
    CHECK(says(add, "kernel", "add"));
    CHECK(integer(add, "launches") == 64 && integer(add, "known") == 64);
    CHECK(integer(add, "predicted_bytes") == 64 << 20);
    CHECK(integer(add, "faults") > 0);
}

/* `setting` and `test` go to preload_extents. Under `demand` all advice is what the working sets
 * ask for: pages came so, or the request was dropped, because the kernel was there first. */
static void check_extents(const char *setting, const char *test, json_int_t known, size_t kernels) {
    CHECK(RUN(client("extents"), "FARFAULT_REQUIRE=1", "FARFAULT_SUMMARY=out.json",
              "FARFAULT_SYSTEM=demand", "POCL_MAX_PTHREAD_COUNT=1", setting, test) == 0);
    CHECK(said_lines == 0);
    json_t *root = summary("out.json");
    CHECK(integer(root, "launches_known") == known);
    CHECK((integer(root, "prefetched_bytes") + integer(root, "advice_dropped") > 0) ==
          (kernels > 0));
    check_extents_by_kernel(root, kernels);
    if (kernels == 1)
        check_slices(root);
    json_decref(root);
}

/* What launches access is known from sources, and where it is a slice of a buffer asked for. */
static void test_extents(void) {
    check_extents("FARFAULT_EXTENTS=off", "TEST_SLICES=1", 0, 0);
    check_extents("FARFAULT_EXTENTS=on", "TEST_SLICES=1", 64, 1);
    check_extents("FARFAULT_EXTENTS=on", "TEST=", 6, 3);
}

/* Where each launch finds an empty device, and nothing is brought, it faults on what it accesses:
 * all that was predicted, and nothing else. */
static void test_touches(void) {
    CHECK(RUN(client("extents"), "FARFAULT_REQUIRE=1", "FARFAULT_SUMMARY=out.json",
              "FARFAULT_SYSTEM=demand", "POCL_MAX_PTHREAD_COUNT=1", "FARFAULT_EXTENTS=on",
              "TEST_SLICES=1", "FARFAULT_TOUCHES=on", "FARFAULT_RECORD=run.trace") == 0);
    CHECK(take_away("run.trace"));
    json_t *root = summary("out.json"), *add = json_array_get(json_object_get(root, "extents"), 0);
    CHECK(integer(add, "alone") == 64 && integer(add, "faults_outside") == 0);
    CHECK(integer(add, "faults") * 4096 == integer(add, "predicted_bytes"));
    CHECK(integer(add, "brought_for") == 0 && integer(add, "orders") == 0);
    json_decref(root);
}

static void test_text(void) {
    CHECK(RUN(client("buffers"), "FARFAULT_REQUIRE=1") == 0);
    CHECK(strncmp(said, "farfault: nvidia on 1 x 4 MiB", 29) == 0 && said_lines > 4);
    CHECK(RUN(client("buffers"), "FARFAULT_REQUIRE=1", "FARFAULT_SUMMARY=text") == 0);
    CHECK(strncmp(said, "farfault: nvidia on 1 x 4 MiB", 29) == 0 && said_lines > 4);
    CHECK(RUN(client("buffers"), "FARFAULT_MODE=passive") == 0);
    CHECK(strncmp(said, "farfault: passive\n", 18) == 0);
    CHECK(RUN(client("buffers"), "FARFAULT_REQUIRE=1", "FARFAULT_SUMMARY=none") == 0);
    CHECK(said_lines == 0);
    CHECK(RUN("/bin/true", "FARFAULT_REQUIRE=1") == 0); /* never comes near OpenCL */
    CHECK(said_lines == 0);
}

/* What is not done as the program wants it is said once. */
static void test_memory_calls(void) {
    CHECK(RUN(client("memory_calls"), "FARFAULT_REQUIRE=1", "FARFAULT_SUMMARY=none") == 0);
    CHECK(said_lines == (LOCKS ? 2 : 1) && strstr(said, "farfault: mremap"));
    CHECK(!LOCKS || strstr(said, "mlock"));
}

static void test_unwritable(void) {
    CHECK(RUN(client("buffers"), "FARFAULT_REQUIRE=1", "FARFAULT_SUMMARY=/nowhere/out.json") == 0);
    CHECK(said_lines == 1 && strstr(said, "farfault: ") && strstr(said, "/nowhere/out.json"));
}

/* What is no regular file is written to, not replaced. */
static void test_special_file(void) {
    char path[4096], text[8192];
    json_error_t error;
    struct stat about;
    snprintf(path, sizeof path, "%s/pipe", scratch);
    CHECK(mkfifo(path, 0600) == 0);
    CHECK(RUN(client("buffers"), "FARFAULT_REQUIRE=1", "FARFAULT_SUMMARY=pipe") == 0);
    CHECK(said_lines == 1 && strstr(said, "farfault: ") && strstr(said, "/pipe: ")); /* no reader */

    int fd = open(path, O_RDONLY | O_NONBLOCK);
    CHECK(fd >= 0);
    CHECK(RUN(client("buffers"), "FARFAULT_REQUIRE=1", "FARFAULT_SUMMARY=pipe") == 0);
    CHECK(said_lines == 0);
    ssize_t size = read(fd, text, sizeof text);
    CHECK(size > 0 && close(fd) == 0);
    json_t *root = json_loadb(text, (size_t)size, 0, &error);
    CHECK(root && says(root, "mode", "managed"));
    json_decref(root);
    CHECK(lstat(path, &about) == 0 && S_ISFIFO(about.st_mode) && unlink(path) == 0);
}

/* Of a link, it is what it leads to that is replaced. */
static void test_link(void) {
    char path[4096], target[4096];
    struct stat about;
    snprintf(path, sizeof path, "%s/link", scratch);
    snprintf(target, sizeof target, "%s/target", scratch);
    FILE *file = fopen(target, "w");
    CHECK(file && fclose(file) == 0 && symlink("target", path) == 0);
    CHECK(RUN(client("buffers"), "FARFAULT_REQUIRE=1", "FARFAULT_SUMMARY=link") == 0);
    CHECK(lstat(path, &about) == 0 && S_ISLNK(about.st_mode));
    CHECK(stat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0);
    CHECK(unlink(path) == 0 && unlink(target) == 0);
}

/* With FARFAULT_REQUIRE=1 that is the end; without, the program runs, and the summary says how. */
static void test_failure(const char *setting, const char *about) {
    CHECK(RUN(client("buffers"), "FARFAULT_REQUIRE=1", setting) == 1);
    CHECK(said_lines == 1 && strncmp(said, "farfault: ", 10) == 0 && strstr(said, about));
    unsetenv("FARFAULT_REQUIRE");
    CHECK(RUN(client("buffers"), "FARFAULT_SUMMARY=out.json", setting) == 0);
    CHECK(said_lines == 1 && strncmp(said, "farfault: ", 10) == 0 && strstr(said, about));
    json_t *root = summary("out.json"), *fallbacks = json_object_get(root, "fallbacks");
    CHECK(says(root, "mode", "unmanaged"));
    CHECK(integer(fallbacks, "clCreateBuffer") > 0);
    CHECK(integer(fallbacks, "clEnqueueNDRangeKernel") == integer(root, "launches"));
    json_decref(root);
}

/* Without clang the program runs, and that nothing is known is said once. */
static void test_no_clang(void) {
    CHECK(RUN(client("extents"), "FARFAULT_REQUIRE=1", "FARFAULT_SUMMARY=out.json",
              "FARFAULT_EXTENTS=on", "PATH=/nowhere") == 0);
    CHECK(said_lines == 1 && strstr(said, "clang"));
    json_t *root = summary("out.json");
    CHECK(integer(root, "launches_known") == 0);
    CHECK(integer(json_object_get(root, "fallbacks"), "working sets of programs") > 1);
    json_decref(root);
}

static bool can_manage(void) {
    struct ff_config config;
    struct ff_context *context;
    ff_config_init(&config);
    config.memory = 4 << 20;
    int status = ff_open(&config, &context, NULL);
    if (status == 0)
        ff_close(context);
    return status != -EPERM && status != -ENOSYS;
}

static void test_counts(void) {
    test_json();
    test_traffic();
    test_clock();
    test_fallbacks();
    test_extents();
    test_touches();
    test_memory_calls();
}

static void test_messages(void) {
    test_text();
    test_unwritable();
    test_special_file();
    test_link();
    test_no_clang();
    test_failure("FARFAULT_SYSTEM=nonesuch", "nonesuch");
    test_failure("FARFAULT_MEMORY=many", "many");
    test_failure("FARFAULT_MEMORY=1000000G", "memory");
    test_failure("FARFAULT_MODE=sideways", "FARFAULT_MODE");
}

int main(int argc, char **argv) {
    bool messages = argc == 4 && strcmp(argv[3], "messages") == 0;
    CHECK(argc == 3 || messages);
    if (!can_manage())
        return EXIT_SKIP;
    library = argv[1];
    folder = argv[2];
    CHECK(mkdtemp(scratch));
    if (messages)
        test_messages();
    else
        test_counts();
    CHECK(rmdir(scratch) == 0);
    return 0;
}
