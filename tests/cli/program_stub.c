/* Stands in for the bundled programs: what it does depends on the name it was copied to. */
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One line a run, for the test to look at: what the program was told. */
static void note(int argc, char **argv) {
    const char *path = getenv("STUB_LOG");
    FILE *log = path ? fopen(path, "a") : NULL;
    if (!log)
        return;
    static const char *const names[] = {"FARFAULT_MODE", "FARFAULT_SYSTEM", "FARFAULT_MEMORY",
                                        "POCL_DEVICES"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        fprintf(log, "%s|", getenv(names[i]) ? getenv(names[i]) : "-");
    for (int i = 1; i < argc; i++)
        fprintf(log, " %s", argv[i]);
    fputc('\n', log);
    fclose(log);
}

/* As the library does: the file must be new, and nobody removes it here. */
static int make_host_file(void) {
    const char *path = getenv("FARFAULT_HOST_FILE");
    if (!path || getenv("FARFAULT_MODE"))
        return 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        perror(path);
    return fd < 0 ? -1 : close(fd);
}

static int managed_by(const char *system) {
    const char *mode = getenv("FARFAULT_MODE"), *ours = getenv("FARFAULT_SYSTEM");
    return !mode && ours && strcmp(ours, system) == 0;
}

int main(int argc, char **argv) {
    const char *name = basename(argv[0]);
    note(argc, argv);
    if (make_host_file())
        return EXIT_FAILURE;
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
