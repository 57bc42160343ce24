#include "study/cells.h"

#include "base/checksum.h"
#include "report/complain.h"
#include "report/json.h"
#include "report/text.h"
#include "study/jobs/pool.h"
#include "study/jobs/ranks.h"

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

/* Of a run that failed `result` is NULL, and it has one member, `failure`. Takes `result` over. */
static void put(struct ff__store *store, const struct ff__store_key *key, double seconds,
                json_t *result, const char *failure) {
    struct ff_error error;
    json_t *all = result ? result : ff__must(json_object());
    if (!result)
        ff__json_set(all, "failure", ff__json_text(failure));
    char *text = ff__must(json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(17)));
    if (ff__store_add(store, key, seconds, text, strlen(text), &error))
        ff__complain(0, "a run could not be kept: %s", error.message);
    free(text);
    json_decref(all);
}

/* What the run has found, if it is kept and has not failed; else NULL. */
static json_t *get(struct ff__store *store, const struct ff__store_key *key) {
    size_t size;
    char *text = ff__store_find(store, key, &size);
    json_t *result = text ? json_loadb(text, size, 0, NULL) : NULL;
    free(text);
    if (!json_object_get(result, "failure"))
        return result;
    json_decref(result);
    return NULL;
}

void ff__study_put_results(struct ff__store *store, const char *command, const json_t *results) {
    struct ff_error error;
    if (!store)
        return;
    char *text = ff__must(json_dumps(results, JSON_COMPACT | JSON_REAL_PRECISION(17)));
    if (ff__store_set_results(store, command, text, &error))
        ff__complain(0, "the results could not be kept: %s", error.message);
    free(text);
}

/* ---- the cells ---- */

/* What the pool runs: the cells that the store does not have. */
struct remaining {
    const struct ff__study *study;
    const struct ff__cells *cells;
    unsigned *indices, count;
    unsigned told;                  /* of the cells: `done` */
    struct ff__shared_cells shared; /* among the ranks, if there are several */
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
    json_t *result = NULL;
    if (rest->study->store && rest->cells->key(rest->cells->self, cell, &key))
        result = get(rest->study->store, &key);
    free((char *)key.options);
    bool taken = result && rest->cells->restore(rest->cells->self, cell, result);
    json_decref(result);
    return taken;
}

static void keep(const struct remaining *rest, unsigned cell) {
    struct ff__store_key key = {.options = NULL};
    const struct ff__cells *cells = rest->cells;
    if (!rest->study->store)
        return;
    const struct ff__found found = cells->found(cells->self, cell);
    if (cells->key(cells->self, cell, &key))
        put(rest->study->store, &key, found.seconds,
            found.failure ? NULL : cells->result(cells->self, cell), found.failure);
    free((char *)key.options);
}

static void run_one(void *self, unsigned at) {
    const struct remaining *rest = self;
    unsigned cell = rest->indices[at];
    rest->cells->run(rest->cells->self, cell);
    keep(rest, cell);
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

/* ---- among ranks ---- */

/* Of what decides the result of any cell. */
static uint32_t sum_of(const struct ff__cells *cells) {
    uint32_t sum = 0;
    add_file("/proc/self/exe", &sum);
    for (unsigned i = 0; i < cells->count; i++) {
        struct ff__store_key key = {.options = NULL};
        cells->key(cells->self, i, &key);
        char *text = ff__text("%s %s %s %llu %llu %s %u", key.subject, key.system, key.device,
                              (unsigned long long)key.memory, (unsigned long long)key.seed,
                              key.options, key.data);
        sum = ff__crc32c(sum, text, strlen(text));
        free(text);
        free((char *)key.options);
    }
    return sum;
}

/* What cannot be kept cannot be sent either. */
static bool is_shared(const struct ff__cells *cells, unsigned cell) {
    struct ff__store_key key = {.options = NULL};
    bool shared = cells->key(cells->self, cell, &key);
    free((char *)key.options);
    return shared;
}

static bool share_cell(const void *self, unsigned at, uint32_t *out) {
    const struct remaining *rest = self;
    *out = rest->indices[at];
    return is_shared(rest->cells, *out);
}

static bool take_result(void *self, unsigned at, const char *text, size_t size) {
    const struct remaining *rest = self;
    unsigned cell = rest->indices[at];
    json_t *result = json_loadb(text, size, 0, NULL);
    bool taken = result && rest->cells->restore(rest->cells->self, cell, result);
    json_decref(result);
    if (taken)
        keep(rest, cell);
    return taken;
}

static void open_ranks(void *self, struct ff__jobs *pool) {
    struct remaining *rest = self;
    rest->shared =
        (struct ff__shared_cells){sum_of(rest->cells), share_cell, take_result, run_one, rest};
    ff__ranks_open(&rest->shared, pool);
}

static void close_ranks(void *self) {
    (void)self;
    ff__ranks_close();
}

static char *run_for_rank_0(void *self, uint32_t cell) {
    const struct ff__cells *cells = self;
    if (cell >= cells->count)
        return ff__text("null");
    cells->run(cells->self, cell);
    json_t *result = cells->result(cells->self, cell);
    char *text = ff__must(json_dumps(result, JSON_COMPACT | JSON_REAL_PRECISION(17)));
    json_decref(result);
    return text;
}

static int follow(const struct ff__study *study, struct ff__cells cells) {
    ff__ranks_serve(sum_of(&cells), study->jobs, run_for_rank_0, &cells);
    return 0;
}

/* ---- all of it ---- */

static void say_kept(const struct remaining *rest, unsigned kept, unsigned wanted) {
    if (rest->study->shows_runs && kept > 0)
        printf("%u of %u runs were made earlier and kept (--fresh makes them again)\n", kept,
               wanted);
}

int ff__cells_run(const struct ff__study *study, const struct ff__cells *cells) {
    struct remaining rest = {.study = study, .cells = cells};
    bool several = ff__ranks_count() > 1;
    unsigned wanted = 0;
    if (ff__ranks_number() > 0)
        return follow(study, *cells);
    rest.indices = ff__must(calloc(cells->count + 1, sizeof *rest.indices));
    for (unsigned i = 0; i < cells->count; i++) {
        if (!ff__study_has(study, i))
            continue;
        wanted++;
        if (!take(&rest, i))
            rest.indices[rest.count++] = i;
    }
    say_kept(&rest, wanted - rest.count, wanted);
    const struct ff__job_pool pool = {.count = rest.count,
                                      .threads = study->jobs,
                                      .job = run_one,
                                      .done = done,
                                      .name = name_of,
                                      .begin = several ? open_ranks : NULL,
                                      .end = several ? close_ranks : NULL,
                                      .self = &rest};
    int status = ff__pool_run(&pool);
    if (!status && cells->done && !study->parts)
        tell(&rest, cells->count);
    if (study->shows_runs && rest.count > 0)
        putchar('\n');
    free(rest.indices);
    return status;
}
