/* Stands in for libfarfault-opencl.so: programs in a folder called "programs" leave an account made
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

/* With STUB_TURN, the lines that a turn has, each turn after the run before all takes twice as long
 * as the one before it. */
static double slowness(void) {
    int in_turn = atoi(variable("STUB_TURN")), runs = 0;
    FILE *log = in_turn ? fopen(variable("STUB_LOG"), "r") : NULL;
    for (int c; log && (c = getc(log)) != EOF;)
        runs += c == '\n';
    if (log)
        fclose(log);
    return runs > 1 ? 1 << (runs - 2) / in_turn : 1;
}

/* demand takes 4 s, nvidia 2 s, everything else 1 s. */
static double seconds(int passive) {
    const char *system = variable("FARFAULT_SYSTEM");
    if (passive)
        return slowness();
    return slowness() * (strcmp(system, "demand") == 0 ? 4 : strcmp(system, "nvidia") == 0 ? 2 : 1);
}

/* Of the pages that launches named, half faulted. */
static void fill(struct ff__account *account, int passive) {
    account->mode = passive ? FF__PASSIVE : FF__MANAGED;
    account->managed = !passive;
    snprintf(account->system, sizeof account->system, "%s", variable("FARFAULT_SYSTEM"));
    account->memory = passive ? 0 : strtoull(variable("FARFAULT_MEMORY"), NULL, 10);
    account->footprint = FOOTPRINT;
    account->first_ns = 1;
    account->last_ns = 1 + (uint64_t)seconds(passive) * 1000000000u;
    account->stats.faults = passive ? 0 : 1000;
    account->stats.demanded = passive ? 0 : 2000;
    account->stats.pages_in = 512;
    account->stats.pages_out = 256;
    account->fallbacks[0] = strtoull(variable("STUB_FALLBACKS"), NULL, 10);
    strcpy(account->fallback_names[0], "clSomething");
    account->reported_ns = 1;
}

__attribute__((destructor)) static void report(void) {
    int passive = strcmp(variable("FARFAULT_MODE"), "passive") == 0;
    if (!uses_opencl())
        return;
    struct ff__account *account = ff__account_open(variable("FARFAULT_ACCOUNTS"));
    if (account)
        fill(account, passive);
    if (strcmp(variable("FARFAULT_SUMMARY"), "text") == 0)
        fprintf(stderr, "the stub's summary: %s\n", variable("FARFAULT_SYSTEM"));
    if (strcmp(variable("FARFAULT_TOUCHES"), "on") == 0 && variable("STUB_TRACE")[0])
        copy_trace();
}
