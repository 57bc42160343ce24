/* Tries in this process what the program will meet, so that whatever is missing is one clear line
 * before anything starts. All return 0 or, after that line, an exit status. */
#ifndef FF_CLI_PROBE_H
#define FF_CLI_PROBE_H

#include "cli/options.h"

#define FF__PROBE_TEXT 200

/* That the policies load and the system exists with these parameters. */
int ff__probe_system(const struct ff_config *config);

/* That a context opens; `description` then says with what. */
int ff__probe_device(const struct ff__options *options, const struct ff_config *config,
                     char description[FF__PROBE_TEXT]);

/* That there is PoCL; `version` then is its version. */
int ff__probe_opencl(char version[FF__PROBE_TEXT]);

#endif
