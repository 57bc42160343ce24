/* Configuration from text: one table serves the command line, the environment and the library. */
#include "base/error.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/sized.h"
#include "engine/pipeline.h"
#include "runtime/context.h"

#include <errno.h>
#include <farfault/mask.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define PREFIX          "FARFAULT_"

#define MEMORY_DEFAULT  (UINT64_C(256) << 20)
#define ADDRESS_DEFAULT (UINT64_C(512) << 30)
#define SPIN_DEFAULT_NS 50000u /* ours: about what waking an idle virtual CPU costs */

#define LONGEST_NS      UINT64_C(1000000000)
#define THREADS_MAX     4096

/* Ours: beyond these no link is real, a slip of the finger (a forgotten unit) is likely, and
 * programs would not end. */
bool ff__link_is_possible(const struct ff_link *link) {
    return link->bytes_per_second >= 1e6 && link->bytes_per_second <= 1e15 &&
           link->latency_ns <= LONGEST_NS;
}

void ff_config_init_sized(struct ff_config *config, size_t size) {
    const struct ff_config initial = {
        .size = size,
        .system = "auto",
        .memory = MEMORY_DEFAULT,
        .granule = FF_BLOCK_SIZE,
        .devices = 1,
        .spin_ns = SPIN_DEFAULT_NS,
        .address_space = ADDRESS_DEFAULT,
        .seed = 1,
    };
    ff__sized_put(config, size, &initial, sizeof initial);
}

/* ---- one reader a kind of value ---- */

static int read_text(const char *text, void *field) {
    *(const char **)field = text;
    return *text ? 0 : -EINVAL;
}

static int read_size(const char *text, void *field) {
    return ff__parse_size(text, field);
}

static int read_granule(const char *text, void *field) {
    uint64_t bytes = 0;
    int status = ff__parse_size(text, &bytes);
    *(uint64_t *)field = bytes;
    bool known = bytes == FF_PAGE_SIZE || bytes == FF_LEAF_SIZE || bytes == FF_BLOCK_SIZE;
    return status || known ? status : -EINVAL;
}

static int read_ns(const char *text, void *field) {
    uint64_t ns;
    if (ff__parse_ns(text, &ns) || ns > LONGEST_NS)
        return -EINVAL;
    *(uint64_t *)field = ns;
    return 0;
}

static int read_count(const char *text, int64_t min, int64_t max, uint32_t *out) {
    int64_t value;
    if (ff__parse_int(text, &value) || value < min || value > max)
        return -EINVAL;
    *out = (uint32_t)value;
    return 0;
}

static int read_devices(const char *text, void *field) {
    return read_count(text, 1, FF_TIERS_MAX - 1, field);
}

static int read_workers(const char *text, void *field) {
    return read_count(text, 0, THREADS_MAX, field);
}

static int read_fault_workers(const char *text, void *field) {
    return read_count(text, 0, FF__FAULT_WORKERS_MAX, field);
}

static int read_seed(const char *text, void *field) {
    int64_t value;
    if (ff__parse_int(text, &value) || value < 0)
        return -EINVAL;
    *(uint64_t *)field = (uint64_t)value;
    return 0;
}

static int read_flag(const char *text, void *field) {
    int64_t value;
    int status = ff__parse_bool(text, &value);
    if (status == 0)
        *(bool *)field = value != 0;
    return status;
}

static int read_word(const char *text, const char *const words[], unsigned *out) {
    for (unsigned i = 0; words[i]; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *out = i;
            return 0;
        }
    }
    return -EINVAL;
}

static int read_mechanism(const char *text, void *field) {
    static const char *const words[] = {[FF_MECHANISM_AUTO] = "auto",
                                        [FF_MECHANISM_MOVE] = "move",
                                        [FF_MECHANISM_COPY] = "copy",
                                        NULL};
    unsigned word = 0;
    int status = read_word(text, words, &word);
    *(enum ff_mechanism *)field = (enum ff_mechanism)word;
    return status;
}

static int read_handler(const char *text, void *field) {
    static const char *const words[] = {[FF_HANDLER_ADAPTIVE] = "adaptive",
                                        [FF_HANDLER_SLEEP] = "sleep",
                                        [FF_HANDLER_SIGBUS] = "sigbus",
                                        NULL};
    unsigned word = 0;
    int status = read_word(text, words, &word);
    *(enum ff_handler *)field = (enum ff_handler)word;
    return status;
}

/* "12.3GB/s", "12.3GB/s,16.7us" */
static int read_speed(const char *text, void *field) {
    char rate[64];
    const char *comma = strchr(text, ',');
    size_t length = comma ? (size_t)(comma - text) : strlen(text);
    if (length >= sizeof rate)
        return -EINVAL;
    memcpy(rate, text, length);
    rate[length] = '\0';
    struct ff_link link = {0};
    if (ff__parse_rate(rate, &link.bytes_per_second) ||
        (comma && read_ns(comma + 1, &link.latency_ns)) || !ff__link_is_possible(&link))
        return -EINVAL;
    *(struct ff_link *)field = link;
    return 0;
}

/* With or without a leading "host=", or "peer=". */
static int read_link(const char *text, void *field) {
    return read_speed(strncmp(text, "host=", 5) == 0 ? text + 5 : text, field);
}

static int read_peer_link(const char *text, void *field) {
    return read_speed(strncmp(text, "peer=", 5) == 0 ? text + 5 : text, field);
}

/* ---- the table ---- */

struct entry {
    const char *name;
    size_t offset;
    int (*read)(const char *text, void *field);
    const char *expected;
};

#define ENTRY(name, field, read, expected)                                                         \
    { name, offsetof(struct ff_config, field), read, expected }

static const struct entry entries[] = {
    ENTRY("system", system, read_text, "a system's name (see: farfault list systems)"),
    ENTRY("policy", policy_file, read_text, "a shared object"),
    ENTRY("memory", memory, read_size, "a size, such as 256M"),
    ENTRY("granule", granule, read_granule, "4K, 64K or 2M"),
    ENTRY("devices", devices, read_devices, "a number, 1 to 8"),
    ENTRY("workers", workers, read_workers, "a number of threads, at most 4096, 0 for one a CPU"),
    ENTRY("fault_workers", fault_workers, read_fault_workers,
          "a number of threads, at most 8, 0 for as many as CPUs"),
    ENTRY("mechanism", mechanism, read_mechanism, "auto, move or copy"),
    ENTRY("handler", handler, read_handler, "adaptive, sleep or sigbus"),
    ENTRY("spin", spin_ns, read_ns, "a time up to 1s, such as 50us"),
    ENTRY("host_file", host_file, read_text, "a path that does not exist yet"),
    ENTRY("address_space", address_space, read_size, "a size, such as 512G"),
    ENTRY("link", link, read_link,
          "a rate and a latency, such as 12.3GB/s,16.7us (1MB/s to 1000TB/s, up to 1s)"),
    ENTRY("peer_link", peer_link, read_peer_link,
          "a rate and a latency, such as 40.1GB/s,5.1us (1MB/s to 1000TB/s, up to 1s)"),
    ENTRY("share", share, read_text, "the socket of a broker"),
    ENTRY("share_device", share_device, read_text, "the name of a device of the broker"),
    ENTRY("seed", seed, read_seed, "a whole number, 0 to 9223372036854775807"),
    ENTRY("record", record, read_text, "a path to write a trace to"),
    ENTRY("touches", touches, read_flag, "on or off"),
    ENTRY("check", check, read_flag, "on or off"),
    ENTRY("explain", explain, read_flag, "on or off"),
};

#define ENTRY_COUNT (sizeof entries / sizeof entries[0])

int ff_config_set(struct ff_config *config, const char *name, const char *value,
                  struct ff_error *error) {
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        if (strcmp(entries[i].name, name) != 0)
            continue;
        if (entries[i].offset >= config->size)
            return ff__fail(error, -EINVAL,
                            "%s=%s: not known to this program, which was compiled against an older "
                            "farfault.h; compile it again",
                            name, value);
        if (entries[i].read(value, (char *)config + entries[i].offset) == 0)
            return 0;
        return ff__fail(error, -EINVAL, "%s=%s: must be %s", name, value, entries[i].expected);
    }
    return ff__fail(error, -EINVAL, "unknown setting '%s'", name);
}

/* ---- the environment ---- */

int ff_config_from_environment(struct ff_config *config, struct ff_error *error) {
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        char variable[64] = PREFIX;
        size_t used = strlen(variable);
        for (const char *c = entries[i].name; *c; c++)
            variable[used++] = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
        variable[used] = '\0';
        const char *value = getenv(variable);
        int status = value ? ff_config_set(config, entries[i].name, value, error) : 0;
        if (status)
            return status;
    }
    return 0;
}

/* The variable, given without the prefix, that is this one or most like it. */
static struct ff__nearest nearest_variable(const char *name) {
    static const char *const variables[] = {
#define FF_VARIABLE(name) name,
#include "base/variables.def"
#undef FF_VARIABLE
    };
    struct ff__nearest nearest = {.word = name};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        ff__nearest_offer(&nearest, variables[i]);
    return nearest;
}

int ff_environment_check(struct ff_error *error) {
    for (char **item = environ; item && *item; item++) {
        char name[64];
        if (strncmp(*item, PREFIX, strlen(PREFIX)) != 0)
            continue;
        const char *rest = *item + strlen(PREFIX);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(rest, "="), rest);
        struct ff__nearest nearest = nearest_variable(name);
        char text[FF__NEAREST_TEXT];
        ff__nearest_text(&nearest, PREFIX, text);
        if (strcmp(nearest.best[0], name) != 0)
            return ff__fail(error, -EINVAL,
                            "the environment has " PREFIX "%s, which is not a setting%s%s", name,
                            text[0] ? "; " : "", text);
    }
    return 0;
}
