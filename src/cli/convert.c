/* farfault import and export: traces from and to other formats. */
#include "cli/cli.h"
#include "cli/options.h"
#include "trace/model/export.h"
#include "trace/model/import.h"

#include <errno.h>
#include <string.h>

static const char import_help[] =
    "Converts a recording of another tool to a trace, for farfault replay.\n"
    "\n"
    "Examples:\n"
    "  farfault import auto run.sqlite --output run.trace\n"
    "  farfault import accel-sim kernelslist.g --output bfs.trace\n"
    "  farfault import auto w01.oracleGeneral.zst --output w01.trace\v"
    "auto detects the format from the file.";

static const char export_help[] =
    "Converts a trace to a file for another tool.\n"
    "\n"
    "Examples:\n"
    "  farfault export atax.trace --format perfetto --output atax.json\n"
    "  farfault export atax.trace --format batches --output batches.csv\n"
    "  farfault export atax.trace --format oracleGeneral --output a.oracleGeneral";

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

static int import(struct ff__options *options) {
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

static int export(struct ff__options *options) {
    struct ff_error error = {""};
    const struct ff__export_format *format =
        ff__export_format(ff__options_text(options, FF__OPTION_FORMAT));
    if (options->word_count != 1)
        return ff__complain(FF__EXIT_USAGE, "give one trace: farfault export TRACE --output FILE");
    if (!format)
        return ff__options_complain(options, FF__OPTION_FORMAT, NULL);
    int status = need_output(options);
    if (status)
        return status;
    status = ff__trace_export(options->words[0], format, options->text[FF__OPTION_OUTPUT], &error);
    return status ? complain(status, &error) : 0;
}

const struct ff__command ff__command_import = {
    FF__COMMAND_IMPORT, "auto|accel-sim|uvm-eval|nsys|oracleGeneral FILE", import_help, import, 0};
const struct ff__command ff__command_export = {FF__COMMAND_EXPORT, "TRACE", export_help, export, 0};
