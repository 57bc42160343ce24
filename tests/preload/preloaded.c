/* preloaded LIBRARY PROGRAM [ARGUMENT...]: runs a program under the preload, or exits with 77 where
 * this machine cannot manage memory. A launcher, so that nothing but the program is preloaded.
 * PRELOAD_AFTER names a library to preload after it. */
#include <farfault/farfault.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { EXIT_SKIP = 77 };

int main(int argc, char **argv) {
    struct ff_config config;
    struct ff_context *context;
    struct ff_error error;
    if (argc < 3) {
        fprintf(stderr, "preloaded LIBRARY PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    ff_config_init(&config);
    int status = ff_config_from_environment(&config, &error);
    if (status == 0)
        status = ff_open(&config, &context, &error);
    if (status == -EPERM || status == -ENOSYS) {
        fprintf(stderr, "skipped: %s\n", error.message);
        return EXIT_SKIP;
    }
    if (status) {
        fprintf(stderr, "%s\n", error.message);
        return EXIT_FAILURE;
    }
    ff_close(context);
    char libraries[8192];
    const char *after = getenv("PRELOAD_AFTER"), *others = getenv("LD_PRELOAD");
    snprintf(libraries, sizeof libraries, "%s:%s:%s", argv[1], after ? after : "",
             others ? others : "");
    setenv("LD_PRELOAD", libraries, 1);
    setenv("FARFAULT_REQUIRE", "1", 1);
    execv(argv[2], argv + 2);
    perror(argv[2]);
    return EXIT_FAILURE;
}
