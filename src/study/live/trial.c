#include "study/live/trial.h"

#include "report/text.h"
#include "study/live/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what it prints ---- */

struct capture {
    int output, errors; /* files in memory: nobody needs to read while the program writes */
};

static int capture_open(struct capture *capture, bool keep_output) {
    capture->errors = memfd_create("errors", MFD_CLOEXEC);
    capture->output =
        keep_output ? memfd_create("output", MFD_CLOEXEC) : open("/dev/null", O_WRONLY | O_CLOEXEC);
    return capture->output < 0 || capture->errors < 0 ? -errno : 0;
}

static void capture_close(const struct capture *capture) {
    if (capture->output >= 0)
        close(capture->output);
    if (capture->errors >= 0)
        close(capture->errors);
}

static FILE *open_copy(int fd) {
    int copy = dup(fd);
    FILE *file = copy < 0 ? NULL : fdopen(copy, "r");
    if (!file && copy >= 0)
        close(copy);
    if (file)
        rewind(file);
    return file;
}

/* Copies the last line that begins with `start`, if there is one. */
static bool last_line(int fd, const char *start, char out[FF__REASON]) {
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    FILE *file = open_copy(fd);
    while (file && getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '\0' || strncmp(line, start, strlen(start)) != 0)
            continue;
        snprintf(out, FF__REASON, "%s", line);
        found = true;
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

/* The number of the first line in which two files differ, from 1; 0: they are equal. */
static unsigned long first_difference(int one, int other) {
    FILE *files[] = {open_copy(one), open_copy(other)};
    char *lines[] = {NULL, NULL};
    size_t rooms[] = {0, 0};
    ssize_t lengths[] = {0, 0};
    unsigned long number = 0;
    bool same = files[0] && files[1];
    while (same && lengths[0] >= 0) {
        number++;
        for (int i = 0; i < 2; i++)
            lengths[i] = getline(&lines[i], &rooms[i], files[i]);
        same = lengths[0] == lengths[1] &&
               (lengths[0] < 0 || memcmp(lines[0], lines[1], (size_t)lengths[0]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        free(lines[i]);
        if (files[i])
            fclose(files[i]);
    }
    return same ? 0 : number;
}

/* ---- how it ended ---- */

__attribute__((format(printf, 2, 3))) static void fail(struct ff__trial *trial, const char *format,
                                                       ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(trial->reason, sizeof trial->reason, format, args);
    va_end(args);
    trial->good = false;
}

static void judge_end(const struct ff__trial_plan *plan, const struct capture *capture,
                      struct ff__trial *trial) {
    char line[FF__REASON] = "";
    int wait_status = trial->end.wait_status;
    if (trial->end.interrupted)
        fail(trial, "interrupted");
    else if (trial->end.timed_out)
        fail(trial, "ran longer than %.3g s", (double)plan->limit_ns / 1e9);
    else if (WIFSIGNALED(wait_status))
        fail(trial, "killed by signal %d (%s)", WTERMSIG(wait_status),
             strsignal(WTERMSIG(wait_status)));
    else if (plan->program->bundled && last_line(capture->output, "verified: ", line) &&
             strcmp(line, "verified: yes") != 0)
        fail(trial, "wrong results: %.150s", line);
    else if (WEXITSTATUS(wait_status) != 0 && last_line(capture->errors, "", line))
        fail(trial, "status %d: %.150s", WEXITSTATUS(wait_status), line);
    else if (WEXITSTATUS(wait_status) != 0)
        fail(trial, "status %d", WEXITSTATUS(wait_status));
    else if (plan->program->bundled && !line[0])
        fail(trial, "did not say whether its results are right");
    else
        trial->good = true;
    if (!trial->good || plan->expected_output < 0)
        return;
    unsigned long number = first_difference(plan->expected_output, capture->output);
    if (number)
        fail(trial, "its output differs from that of the first run in line %lu", number);
}

static void judge_summary(const struct ff__book *book, struct ff__trial *trial) {
    int status = ff__summary_read(book, &trial->summary);
    if (!trial->good)
        return;
    if (status == -ENODATA)
        fail(trial, "left no measurements: does it use OpenCL, through libOpenCL.so?");
    else if (status)
        fail(trial, "left measurements that cannot be read");
    else if (trial->summary.broken[0])
        fail(trial, "an invariant broke: %.170s", trial->summary.broken);
}

/* ---- running it ---- */

static void set_default(struct ff__environment *environment, const char *name, const char *value) {
    if (!ff__environment_get(environment, name))
        ff__environment_set(environment, name, "%s", value);
}

/* As farfault record --touches does, with memory that a page takes less of than 2 MiB: programs
 * with more streams than the memory has chunks of those would evict each other's pages with every
 * touch. */
static void record_touches(const struct ff__trial_plan *plan, struct ff__environment *out) {
    ff__environment_set(out, "FARFAULT_RECORD", "%s", plan->touches);
    ff__environment_set(out, "FARFAULT_TOUCHES", "on");
    set_default(out, "FARFAULT_HANDLER", "sigbus");
    set_default(out, "FARFAULT_GRANULE", "64K");
}

static void set_environment(const struct ff__trial_plan *plan, const struct ff__book *book,
                            struct ff__environment *out) {
    ff__environment_copy(out);
    ff__environment_manage(out, plan->preload, plan->devices, book, "none");
    if (!plan->system) {
        ff__environment_set(out, "FARFAULT_MODE", "passive");
        return;
    }
    ff__environment_unset(out, "FARFAULT_MODE");
    ff__environment_set(out, "FARFAULT_SYSTEM", "%s", plan->system);
    ff__environment_set(out, "FARFAULT_MEMORY", "%llu", (unsigned long long)plan->memory);
    if (plan->touches)
        record_touches(plan, out);
}

static void run(const struct ff__trial_plan *plan, const struct capture *capture,
                const struct ff__book *book, struct ff__trial *trial) {
    struct ff__environment environment;
    set_environment(plan, book, &environment);
    struct ff__child child = {
        .argv = plan->program->argv,
        .environment = environment.items,
        .output = capture->output,
        .errors = capture->errors,
        .apart = true,
        .limit_ns = plan->limit_ns,
    };
    trial->start_status = ff__child_run(&child, &trial->end);
    ff__environment_free(&environment);
    if (trial->start_status) {
        fail(trial, "cannot start %s: %s", plan->program->argv[0], strerror(-trial->start_status));
        return;
    }
    judge_end(plan, capture, trial);
    judge_summary(book, trial);
}

void ff__trial_run(const struct ff__trial_plan *plan, struct ff__trial *out) {
    *out = (struct ff__trial){.output = -1};
    struct capture capture = {-1, -1};
    struct ff__book book;
    int status = ff__book_make(&book, false);
    if (!status)
        status = capture_open(&capture, plan->program->bundled || plan->keeps_output ||
                                            plan->expected_output >= 0);
    if (status)
        fail(out, "cannot make files in memory: %s", strerror(-status));
    else
        run(plan, &capture, &book, out);
    if (plan->keeps_output) {
        out->output = capture.output;
        capture.output = -1;
    }
    capture_close(&capture);
    ff__book_close(&book);
}
