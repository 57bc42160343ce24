/* farfault report: a page about a run. */
#include "report/page/page.h"

#include "cli/cli.h"
#include "cli/options.h"
#include "report/file.h"
#include "study/live/child.h"
#include "study/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Makes one HTML page of a run: charts, tables and tips. It needs no network.\n"
    "\n"
    "Examples:\n"
    "  farfault report run.trace --output page.html\n"
    "  farfault report results.json --output page.html\n"
    "  farfault report runs.study --text\v"
    "FILE is a trace (farfault record, sim --trace, import), the JSON of run, record, compare, sim "
    "or replay, or a file of runs: of that, what the last compare, sim or replay with this --study "
    "found, or of parts of it (--part) that are put together. A trace shows most.";

static const char trace_mark[] = "\x89"
                                 "FFT";

static const char store_mark[] = "SQLite format 3";

static bool begins(const struct ff__file *file, const char *mark) {
    return file->size >= strlen(mark) && memcmp(file->bytes, mark, strlen(mark)) == 0;
}

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int of_trace(const char *path, json_t **out) {
    struct ff__run_history *history;
    struct ff_error error;
    if (ff__history_read(path, &history, &error))
        return ff__complain(FF__EXIT_FAILURE, "%s", error.message);
    *out = ff__page_of_trace(history, name_of(path));
    ff__history_free(history);
    return 0;
}

/* Takes `results` over. */
static int of_results(const char *path, json_t *results, json_t **out) {
    const char *why;
    *out = ff__page_of_results(results, name_of(path), &why);
    json_decref(results);
    return *out ? 0 : ff__complain(FF__EXIT_FAILURE, "%s: %s", path, why);
}

static int of_json(const char *path, const struct ff__file *file, json_t **out) {
    json_error_t error;
    if (file->size == 0)
        return ff__complain(FF__EXIT_FAILURE, "%s: the file is empty", path);
    json_t *results = json_loadb(file->bytes, file->size, 0, &error);
    if (!results)
        return ff__complain(FF__EXIT_FAILURE, "%s: neither a trace nor JSON: line %d: %s", path,
                            error.line, error.text);
    return of_results(path, results, out);
}

static int load(const char *path, json_t **out, unsigned *alike) {
    struct ff__store *store;
    struct ff_error error;
    if (ff__store_open(path, false, &store, &error))
        return ff__complain(FF__EXIT_FAILURE, "%s", error.message);
    *out = ff__store_results(store, alike);
    ff__store_close(store);
    return 0;
}

/* Gives the command again whose parts the file has, so that it has the results, too. */
static int complete(const char *path, const json_t *words) {
    const size_t count = json_array_size(words);
    char **argv = ff__must(calloc(count + 4, sizeof *argv));
    struct ff__child child = {.argv = argv,
                              .environment = environ,
                              .output = open("/dev/null", O_WRONLY | O_CLOEXEC),
                              .errors = -1};
    struct ff__child_end end = {0};
    argv[0] = ff__text("/proc/self/exe");
    for (size_t i = 0; i < count; i++)
        argv[1 + i] = ff__text("%s", json_string_value(json_array_get(words, i)));
    argv[1 + count] = ff__text("--study");
    argv[2 + count] = ff__text("%s", path);
    int status = ff__child_run(&child, &end);
    for (size_t i = 0; argv[i]; i++)
        free(argv[i]);
    free(argv);
    close(child.output);
    return status ? ff__child_complain("farfault", status) : ff__child_exit_status(&end);
}

static int of_store(const char *path, json_t **out) {
    json_t *results = NULL;
    unsigned alike;
    int status = load(path, &results, &alike);
    const json_t *words = json_object_get(results, "arguments");
    if (words && alike == json_integer_value(json_object_get(results, "parts"))) {
        complete(path, words); /* its status is that of its runs */
        json_decref(results);
        status = load(path, &results, &alike);
    }
    if (status)
        return status;
    if (results && !json_object_get(results, "arguments"))
        return of_results(path, results, out);
    json_decref(results);
    return ff__complain(FF__EXIT_FAILURE,
                        "%s: no compare, sim or replay has ended; give its command again, with "
                        "--study %s",
                        path, path);
}

static int read_any(const char *path, json_t **out) {
    struct ff__file file = {0};
    int status = ff__file_read(path, &file);
    bool trace = !status && begins(&file, trace_mark), store = !status && begins(&file, store_mark);
    if (!status && !trace && !store)
        status = of_json(path, &file, out);
    free(file.bytes); /* a trace may be large */
    return trace ? of_trace(path, out) : store ? of_store(path, out) : status;
}

static int report(struct ff__options *options) {
    const char *to = options->text[FF__OPTION_OUTPUT];
    bool text = options->number[FF__OPTION_TEXT];
    json_t *data = NULL;
    if (options->word_count != 1)
        return ff__complain(
            FF__EXIT_USAGE,
            "give one trace, JSON file or file of runs: farfault report FILE --output "
            "PAGE.html");
    if (!to && !text)
        return ff__complain(FF__EXIT_USAGE,
                            "nowhere to write to: give --output PAGE.html or --text");
    if (to && !ff__page_available())
        return ff__complain(FF__EXIT_FAILURE, "this farfault is built without D3, which its pages "
                                              "need; build it where libjs-d3 is installed");
    int status = read_any(options->words[0], &data);
    if (status)
        return status;
    if (text)
        ff__page_print(data, stdout);
    int written = to ? ff__page_write(data, to) : 0;
    json_decref(data);
    return written ? ff__complain(FF__EXIT_FAILURE, "cannot write %s: %s", to, strerror(-written))
                   : 0;
}

const struct ff__command ff__command_report = {FF__COMMAND_REPORT, "FILE", help, report, 0};
