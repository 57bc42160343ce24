/* Stands in for libfarfault-opencl.so: programs in a folder called "programs" leave a summary made
 * up from their environment, as if they had used OpenCL; all others leave none. */
#include "report/account.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOOTPRINT (100u << 20)

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static int uses_opencl(void) {
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = '\0';
    return strcmp(basename(dirname(path)), "programs") == 0;
}

/* Instead of a recording of the run, the one that the test has. */
static void copy_trace(void) {
    char command[2 * PATH_MAX + 16];
    snprintf(command, sizeof command, "cp '%s' '%s'", variable("STUB_TRACE"),
             variable("FARFAULT_RECORD"));
    unsetenv("LD_PRELOAD");
    if (system(command))
        abort();
}

/* demand takes 4 s, nvidia 2 s, everything else 1 s. */
static double seconds(int passive) {
    const char *system = variable("FARFAULT_SYSTEM");
    if (passive)
        return 1;
    return strcmp(system, "demand") == 0 ? 4 : strcmp(system, "nvidia") == 0 ? 2 : 1;
}

__attribute__((destructor)) static void write_summary(void) {
    const char *path = variable("FARFAULT_SUMMARY");
    int passive = strcmp(variable("FARFAULT_MODE"), "passive") == 0;
    if (!uses_opencl())
        return;
    struct ff__account *account = ff__account_open(variable("FARFAULT_ACCOUNTS"));
    if (account && !passive)
        account->managed = account->reported = 1;
    if (strcmp(path, "none") == 0)
        return;
    if (strcmp(variable("FARFAULT_TOUCHES"), "on") == 0 && variable("STUB_TRACE")[0])
        copy_trace();
    FILE *file = path[0] == '/' ? fopen(path, "w") : stderr;
    if (!file)
        return;
    fprintf(file,
            "{\"mode\": \"%s\", \"system\": \"%s\", \"memory\": %s, \"seconds\": %.1f,\n"
            " \"footprint\": %u, \"faults\": %d, \"bytes_in\": 2097152, \"bytes_out\": 1048576,\n"
            " \"hit_rate\": %s, \"fallbacks\": {%s}}\n",
            passive ? "passive" : "managed", variable("FARFAULT_SYSTEM"),
            passive ? "0" : variable("FARFAULT_MEMORY"), seconds(passive), FOOTPRINT,
            passive ? 0 : 1000, passive ? "-1.0" : "0.25", variable("STUB_FALLBACKS"));
    if (file != stderr)
        fclose(file);
}
