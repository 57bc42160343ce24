/* farfault import and export: traces from and to other formats. */
#include "cli/cli.h"
#include "cli/options.h"
#include "trace/model/export.h"
#include "trace/model/import.h"

#include <errno.h>
#include <string.h>

static const struct argp_option import_options[] = {
    SHORT_OPTION("output", 'o', "TRACE", "the trace to write"),
    {0},
};

static const struct argp_option export_options[] = {
    OPTION("format", FORMAT, "perfetto|batches",
           "the format to write (default: perfetto, which Chrome reads, too); batches: a driver's "
           "batches of faults as CSV"),
    SHORT_OPTION("output", 'o', "FILE", "the file to write"),
    {0},
};

static const char import_help[] =
    "Converts a recording of another tool to a trace, for farfault replay.\n"
    "\n"
    "Examples:\n"
    "  farfault import auto run.sqlite --output run.trace\n"
    "  farfault import accel-sim kernelslist.g --output bfs.trace\v"
    "auto detects the format from the file.";

static const char export_help[] =
    "Converts a trace to a file for another tool.\n"
    "\n"
    "Examples:\n"
    "  farfault export atax.trace --format perfetto --output atax.json\n"
    "  farfault export atax.trace --format batches --output batches.csv";

/* Invalid names are bad usage; everything else is about files. */
static int complain(int status, const struct ff_error *error) {
    return ff__complain(status == -EINVAL ? FF__EXIT_USAGE : FF__EXIT_FAILURE, "%s",
                        error->message[0] ? error->message : strerror(-status));
}

static int need_output(const struct ff__options *options) {
    if (options->text[FF__OPTION_OUTPUT])
        return 0;
    return ff__complain(FF__EXIT_USAGE, "nowhere to write to; name a file: --output FILE");
}

static int import(const struct ff__options *options) {
    struct ff_error error = {""};
    if (options->word_count != 2)
        return ff__complain(FF__EXIT_USAGE, "give a format, or auto, and one file: farfault import "
                                            "auto FILE --output TRACE");
    int status = need_output(options);
    if (status)
        return status;
    bool look = strcmp(options->words[0], "auto") == 0;
    status = ff__trace_import(options->words[1], look ? NULL : options->words[0],
                              options->text[FF__OPTION_OUTPUT], &error);
    return status ? complain(status, &error) : 0;
}

static int export(const struct ff__options *options) {
    struct ff_error error = {""};
    const struct ff__export_format *format = ff__export_format(options->text[FF__OPTION_FORMAT]);
    if (options->word_count != 1)
        return ff__complain(FF__EXIT_USAGE, "give one trace: farfault export TRACE --output FILE");
    if (!format)
        return ff__options_complain(options, FF__OPTION_FORMAT, "must be perfetto or batches");
    int status = need_output(options);
    if (status)
        return status;
    status = ff__trace_export(options->words[0], format, options->text[FF__OPTION_OUTPUT], &error);
    return status ? complain(status, &error) : 0;
}

static int convert(const struct argp *argp, int (*act)(const struct ff__options *), int argc,
                   char **argv) {
    struct ff__options options;
    int status = ff__options_parse(argp, argc, argv, 0, &options);
    if (status)
        return status;
    status = act(&options);
    ff__options_free(&options);
    return status;
}

int ff__import(int argc, char **argv) {
    const struct argp argp = {import_options,
                              ff__options_take,
                              "auto|accel-sim|uvm-eval|nsys FILE",
                              import_help,
                              NULL,
                              NULL,
                              NULL};
    return convert(&argp, import, argc, argv);
}

int ff__export(int argc, char **argv) {
    const struct argp argp = {
        export_options, ff__options_take, "TRACE", export_help, NULL, NULL, NULL};
    return convert(&argp, export, argc, argv);
}
