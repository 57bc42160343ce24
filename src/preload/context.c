/* What the preload is set to do, and its one context. */
#include "base/parse.h"
#include "preload/preload.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WARNINGS_MAX 8 /* lines of the library's own that we pass on */

static struct ff_config config;
static enum ff__mode mode;
static struct ff_context *context;
static bool required;
static pthread_once_t configured = PTHREAD_ONCE_INIT, opened = PTHREAD_ONCE_INIT;

void ff__say(const char *format, ...) {
    char line[512] = "farfault: ";
    size_t used = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + used, sizeof line - used - 1, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    if (write(STDERR_FILENO, line, strlen(line)) < 0)
        return; /* no callback is wanted */
}

static void log_line(void *user, enum ff_log_level level, const char *message) {
    static int said;
    (void)user;
    if (level == FF_LOG_WARNING && __atomic_fetch_add(&said, 1, __ATOMIC_RELAXED) < WARNINGS_MAX)
        ff__say("%s", message);
}

static void fail(const char *message) {
    __atomic_store_n(&mode, FF__UNMANAGED, __ATOMIC_RELAXED);
    ff__summary_mode(FF__UNMANAGED, message);
    ff__say("%s", message);
}

static void read_mode(void) {
    const char *text = getenv("FARFAULT_MODE");
    if (!text || strcmp(text, "managed") == 0)
        return;
    if (strcmp(text, "passive") == 0)
        ff__summary_mode(mode = FF__PASSIVE, "");
    else
        fail("FARFAULT_MODE must be managed or passive");
}

/* What is neither on nor off is taken for on: whoever sets it does not want to go on unmanaged. */
static void read_require(void) {
    const char *text = getenv("FARFAULT_REQUIRE");
    int64_t value = 1;
    if (text && ff__parse_bool(text, &value))
        fail("FARFAULT_REQUIRE must be on or off");
    required = text && value != 0;
}

static void configure(void) {
    struct ff_error error;
    ff__watch_forks();
    ff__summary_start();
    read_require();
    read_mode();
    ff_config_init(&config);
    if (ff_config_from_environment(&config, &error))
        fail(error.message);
    if (ff_environment_check(&error))
        ff__say("%s", error.message);
    config.log = log_line;
    /* the program may change its environment, and the summary wants the name */
    char *system = strdup(config.system);
    if (system)
        config.system = system;
    ff__summary_configured(&config);
}

static void open_context(void) {
    struct ff_error error;
    struct ff_context *made = NULL;
    if (ff__mode() != FF__MANAGED)
        return;
    ff__sigbus_opens(true);
    int status = ff_open(&config, &made, &error);
    ff__sigbus_opens(false);
    if (status) {
        fail(error.message);
        return;
    }
    ff__summary_opened(made);
    __atomic_store_n(&context, made, __ATOMIC_RELEASE);
}

const struct ff_config *ff__config(void) {
    pthread_once(&configured, configure);
    return &config;
}

enum ff__mode ff__mode(void) {
    pthread_once(&configured, configure);
    return __atomic_load_n(&mode, __ATOMIC_RELAXED);
}

struct ff_context *ff__context(void) {
    if (ff__in_child())
        return NULL;
    pthread_once(&configured, configure);
    pthread_once(&opened, open_context);
    if (ff__mode() == FF__UNMANAGED)
        ff__leave_if_required();
    return ff__context_if_open();
}

struct ff_context *ff__context_if_open(void) {
    return ff__in_child() ? NULL : __atomic_load_n(&context, __ATOMIC_ACQUIRE);
}

/* The context stays open to the end, because other threads may still use it; its trace must not. */
__attribute__((destructor)) static void finish_recording(void) {
    struct ff_context *open = ff__context_if_open();
    if (open)
        ff_record_finish(open);
}

void ff__no_memory(size_t size, int status) {
    static bool said;
    char line[256];
    const char *why = status == -ENOSPC   ? "the host file has no room left"
                      : status == -ENOMEM ? "FARFAULT_ADDRESS_SPACE is used up"
                                          : strerror(-status);
    snprintf(line, sizeof line, "no managed memory for %zu bytes: %s", size, why);
    if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED)) {
        ff__summary_mode(ff__mode(), line);
        ff__say("%s", line);
    }
}

void ff__leave_if_required(void) {
    static bool leaving;
    static _Thread_local bool leaving_here;
    if (!required || leaving_here || ff__in_child())
        return; /* exit() runs code of the program's, which may well come back here */
    leaving_here = true;
    ff__summary_cancel();
    if (!__atomic_exchange_n(&leaving, true, __ATOMIC_RELAXED))
        exit(EXIT_FAILURE);
    for (;;)
        pause(); /* another thread is ending the process */
}
