/* What the sub-commands share, and their arguments. */
#ifndef FF_CLI_CLI_H
#define FF_CLI_CLI_H

#include "report/complain.h"

#include <argp.h>

#define FF__VERSION_LINE "farfault " FARFAULT_VERSION

/* argp_parse(), except that a mistake is one line, with the name nearest to an option that does not
 * exist. argv[0] is the name of the command. Returns 0 or an exit status. */
int ff__arguments_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
                        void *input);

/* The sub-commands. */
struct ff__options;
enum ff__command_id {
#define FF_COMMAND(ID, name, summary) FF__COMMAND_##ID,
#include "cli/commands.def"
};

struct ff__command {
    enum ff__command_id id;
    const char *arguments; /* what follows the options, for the help; NULL: nothing */
    const char *help;      /* before the options and, after "\v", behind them */
    int (*run)(struct ff__options *options); /* returns an exit status */
    unsigned flags;                          /* of argp_parse() */
};

#define FF_COMMAND(ID, name, summary) extern const struct ff__command ff__command_##name;
#include "cli/commands.def"

#endif
