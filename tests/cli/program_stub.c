/* Stands in for the bundled programs: what it does depends on the name it was copied to. */
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One line a run, for the test to look at: what the program was told. With STUB_KILL, whoever has
 * started it is killed instead when there are so many lines. */
static void note(int argc, char **argv) {
    const char *path = getenv("STUB_LOG"), *most = getenv("STUB_KILL");
    FILE *log = path ? fopen(path, "a+") : NULL;
    if (!log)
        return;
    long lines = 0;
    for (int c; (c = getc(log)) != EOF;)
        lines += c == '\n';
    if (most && atol(most) == lines) {
        kill(getppid(), SIGKILL);
        exit(EXIT_FAILURE);
    }
    static const char *const names[] = {"FARFAULT_MODE", "FARFAULT_SYSTEM", "FARFAULT_MEMORY",
                                        "POCL_DEVICES"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        fprintf(log, "%s|", getenv(names[i]) ? getenv(names[i]) : "-");
    for (int i = 1; i < argc; i++)
        fprintf(log, " %s", argv[i]);
    fputc('\n', log);
    fclose(log);
}

static int managed_by(const char *system) {
    const char *mode = getenv("FARFAULT_MODE"), *ours = getenv("FARFAULT_SYSTEM");
    return !mode && ours && strcmp(ours, system) == 0;
}

int main(int argc, char **argv) {
    const char *name = basename(argv[0]);
    note(argc, argv);
    if (strcmp(name, "bicg") == 0 && managed_by("nvidia")) {
        puts("verified: no (max error 1 at 2)");
        return EXIT_FAILURE;
    }
    if (strcmp(name, "bfs") == 0 && managed_by("nvidia"))
        kill(getpid(), SIGKILL);
    if (strcmp(name, "cg") == 0) {
        fputs("something broke\n\n", stderr);
        return 3;
    }
    if (strcmp(name, "mvt") == 0)
        return EXIT_SUCCESS; /* and no word on its results */
    if (strcmp(name, "nw") == 0)
        pause();
    puts("footprint: 104857600\nverified: yes");
    return EXIT_SUCCESS;
}
