#include "study/cells.h"

#include "base/checksum.h"
#include "report/complain.h"
#include "report/text.h"
#include "study/pool.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the file ---- */

/* Continues a checksum over a file's bytes. */
static int add_file(const char *path, uint32_t *sum) {
    unsigned char bytes[1 << 16];
    size_t size;
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    while ((size = fread(bytes, 1, sizeof bytes, file)) > 0)
        *sum = ff__crc32c(*sum, bytes, size);
    fclose(file);
    return 0;
}

int ff__study_add_files(const char *paths, uint32_t *sum) {
    int status = 0;
    for (const char *at = paths; at && !status; at = strchr(at, ':')) {
        at += *at == ':';
        char *path = ff__text("%.*s", (int)strcspn(at, ":"), at);
        status = add_file(path, sum);
        free(path);
    }
    return status;
}

/* In the folder for caches of the XDG base directory specification, which is made if it is missing.
 * NULL: there is none. */
static char *cache_of(const char *paper) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool has_cache = cache && cache[0] == '/';
    if (!has_cache && (!home || home[0] != '/'))
        return NULL;
    char *base = has_cache ? ff__text("%s", cache) : ff__text("%s/.cache", home);
    char *folder = ff__text("%s/farfault", base);
    char *path = ff__text("%s/%s.study", folder, paper);
    mkdir(base, 0700);
    mkdir(folder, 0777);
    free(base);
    free(folder);
    return path;
}

/* This very program's, and that of the policies that it has loaded. */
static int begin(struct ff__store *store, const char *policy, struct ff_error *error) {
    uint32_t build = 0;
    int status = add_file("/proc/self/exe", &build);
    if (!status && policy)
        status = add_file(policy, &build);
    if (status)
        snprintf(error->message, sizeof error->message, "%s", strerror(-status));
    return status ? status : ff__store_begin(store, build, error);
}

int ff__study_keep(struct ff__study *study, const char *paper, const char *path, bool fresh,
                   const char *policy) {
    struct ff_error error = {"there is no HOME; name a file: --study"};
    char *file = path ? ff__text("%s", path) : cache_of(paper);
    int status = file ? ff__store_open(file, true, &study->store, &error) : -ENOENT;
    if (!status)
        status = begin(study->store, policy, &error);
    if (!status && (fresh || !path)) /* a cache has no use for runs of other builds */
        status = ff__store_forget(study->store, !fresh, &error);
    free(file);
    if (!status)
        return 0;
    ff__store_close(study->store);
    study->store = NULL;
    return path ? ff__complain(FF__EXIT_FAILURE, "%s", error.message)
                : ff__complain(0, "runs are not kept: %s", error.message);
}

/* ---- the cells ---- */

/* What the pool runs: the cells that the store does not have. */
struct remaining {
    const struct ff__study *study;
    const struct ff__cells *cells;
    unsigned *indices, count;
    unsigned told; /* of the cells: `done` */
};

/* For people. */
static char *name_cell(const struct ff__cells *cells, unsigned cell) {
    struct ff__store_key key = {.options = NULL};
    char size[FF__QUANTITY];
    cells->key(cells->self, cell, &key);
    char *name = ff__text(
        "%s, %s%s%s%s%s: %s", key.subject, key.memory ? ff__size_text(size, key.memory) : "",
        key.memory ? " of " : "", key.device, *key.options ? ", " : "", key.options, key.system);
    free((char *)key.options);
    return name;
}

/* Whether the store has the cell, which then is as if it had just ended. */
static bool take(const struct remaining *rest, unsigned cell) {
    struct ff__store_key key = {.options = NULL};
    size_t size;
    void *text = NULL;
    if (rest->study->store && rest->cells->key(rest->cells->self, cell, &key))
        text = ff__store_find(rest->study->store, &key, &size);
    free((char *)key.options);
    json_t *result = text ? json_loadb(text, size, 0, NULL) : NULL;
    bool taken = result && rest->cells->restore(rest->cells->self, cell, result);
    json_decref(result);
    free(text);
    return taken;
}

static void keep(const struct remaining *rest, unsigned cell, double seconds) {
    struct ff__store_key key = {.options = NULL};
    struct ff_error error;
    if (rest->cells->key(rest->cells->self, cell, &key)) {
        json_t *result = rest->cells->result(rest->cells->self, cell);
        char *text = ff__must(json_dumps(result, JSON_COMPACT | JSON_REAL_PRECISION(17)));
        if (ff__store_add(rest->study->store, &key, seconds, text, strlen(text), &error))
            ff__complain(0, "a run could not be kept: %s", error.message);
        free(text);
        json_decref(result);
    }
    free((char *)key.options);
}

static void run_one(void *self, unsigned at) {
    const struct remaining *rest = self;
    unsigned cell = rest->indices[at];
    rest->cells->run(rest->cells->self, cell);
    const struct ff__found found = rest->cells->found(rest->cells->self, cell);
    if (rest->study->store && !found.failure)
        keep(rest, cell, found.seconds);
}

static char *name_of(const void *self, unsigned at) {
    const struct remaining *rest = self;
    return name_cell(rest->cells, rest->indices[at]);
}

static void show(const struct remaining *rest, unsigned at) {
    const struct ff__found found = rest->cells->found(rest->cells->self, rest->indices[at]);
    char *name = name_of(rest, at);
    if (found.failure)
        ff__complain(0, "%s failed: %s", name, found.failure);
    else if (rest->study->shows_runs && isnan(found.figure))
        printf("%u/%u  %s\n", at + 1, rest->count, name);
    else if (rest->study->shows_runs)
        printf("%u/%u  %s: %.6g %s\n", at + 1, rest->count, name, found.figure, found.unit);
    fflush(stdout);
    free(name);
}

/* Tells of all cells before `end`, which have ended. */
static void tell(struct remaining *rest, unsigned end) {
    for (; rest->told < end; rest->told++)
        rest->cells->done(rest->cells->self, rest->told);
}

static void done(void *self, unsigned at) {
    struct remaining *rest = self;
    if (rest->cells->done && !rest->study->parts)
        tell(rest, rest->indices[at] + 1);
    else
        show(rest, at);
}

static void say_kept(const struct remaining *rest, unsigned kept, unsigned wanted) {
    if (rest->study->shows_runs && kept > 0)
        printf("%u of %u runs were made earlier and kept (--fresh makes them again)\n", kept,
               wanted);
}

int ff__cells_run(const struct ff__study *study, const struct ff__cells *cells) {
    struct remaining rest = {.study = study, .cells = cells};
    unsigned wanted = 0;
    rest.indices = ff__must(calloc(cells->count + 1, sizeof *rest.indices));
    for (unsigned i = 0; i < cells->count; i++) {
        if (!ff__study_has(study, i))
            continue;
        wanted++;
        if (!take(&rest, i))
            rest.indices[rest.count++] = i;
    }
    say_kept(&rest, wanted - rest.count, wanted);
    const struct ff__job_pool pool = {rest.count, study->jobs, run_one, done, name_of, &rest};
    int status = ff__pool_run(&pool);
    if (!status && cells->done && !study->parts)
        tell(&rest, cells->count);
    if (study->shows_runs && rest.count > 0)
        putchar('\n');
    free(rest.indices);
    return status;
}
