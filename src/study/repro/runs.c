#include "study/repro/runs.h"

#include "base/checksum.h"
#include "report/complain.h"
#include "report/text.h"
#include "study/find.h"
#include "study/pool.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
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

/* Over what a folder of the data holds. */
static int add_folder(const char *name, uint32_t *sum) {
    char folder[PATH_MAX];
    struct dirent **entries;
    int status = ff__find_data(name, folder);
    int count = status ? 0 : scandir(folder, &entries, NULL, alphasort);
    if (status || count < 0)
        return -ENOENT;
    for (int i = 0; i < count; i++) {
        char *path = ff__text("%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && !status)
            status = add_file(path, sum);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* Of this very program and what it knows of devices. */
static int identify(char identity[24]) {
    uint32_t program = 0, data = 0;
    int status = add_file("/proc/self/exe", &program);
    if (!status)
        status = add_folder("gpus", &data);
    if (!status)
        status = add_folder("machines", &data);
    snprintf(identity, 24, "%08" PRIx32 "%08" PRIx32, program, data);
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
    char *path = ff__text("%s/repro-%s", folder, paper);
    mkdir(base, 0700);
    mkdir(folder, 0777);
    free(base);
    free(folder);
    return path;
}

int ff__repro_keep(struct ff__repro_plan *plan, const char *paper, const char *path, bool fresh) {
    char identity[24];
    char *file = path ? ff__text("%s", path) : cache_of(paper);
    int status = file ? identify(identity) : -ENOENT;
    if (!status)
        status = ff__kept_open(file, identity, fresh, &plan->kept);
    if (status && path)
        status = ff__complain(FF__EXIT_FAILURE, "%s: %s", path,
                              status == -EEXIST ? "it exists, and is not a regular file"
                                                : strerror(-status));
    else if (status)
        status = ff__complain(0, "%s%sruns are not kept: %s", file ? file : "", file ? ": " : "",
                              file ? strerror(-status) : "there is no HOME; name a file: --resume");
    free(file);
    return status;
}

/* ---- the runs ---- */

/* What the pool runs: the runs that are not in the file. */
struct remaining_runs {
    const struct ff__repro_plan *plan;
    const struct ff__repro_runs *runs;
    unsigned *indices, count;
};

static char *key_of(const struct remaining_runs *rest, unsigned index) {
    char *name = rest->runs->name(rest->runs->self, index);
    char *key = ff__text("seed=%" PRIu64 " %s", rest->plan->seed, name);
    free(name);
    return key;
}

/* Whether the file has the run, which then is as if it had just ended. */
static bool take(const struct remaining_runs *rest, unsigned index) {
    size_t size = 0;
    char *key = key_of(rest, index);
    const void *bytes = ff__kept_find(rest->plan->kept, key, &size);
    struct ff__repro_found found = rest->runs->found(rest->runs->self, index);
    free(key);
    if (!bytes || size != found.size || size == 0)
        return false;
    memcpy(found.bytes, bytes, size);
    return true;
}

static void run_one(void *self, unsigned at) {
    const struct remaining_runs *rest = self;
    unsigned index = rest->indices[at];
    rest->runs->job(rest->runs->self, index);
    struct ff__repro_found found = rest->runs->found(rest->runs->self, index);
    if (found.failure || found.size == 0)
        return;
    char *key = key_of(rest, index);
    int status = ff__kept_add(rest->plan->kept, key, found.bytes, found.size);
    if (status)
        ff__complain(0, "a run could not be kept: %s", strerror(-status));
    free(key);
}

static char *name_of(const void *self, unsigned at) {
    const struct remaining_runs *rest = self;
    return rest->runs->name(rest->runs->self, rest->indices[at]);
}

static void show(void *self, unsigned at) {
    const struct remaining_runs *rest = self;
    const struct ff__repro_found found = rest->runs->found(rest->runs->self, rest->indices[at]);
    char *name = name_of(self, at);
    if (found.failure)
        ff__complain(0, "%s failed: %s", name, found.failure);
    else if (rest->plan->shows_runs && isnan(found.figure))
        printf("%u/%u  %s\n", at + 1, rest->count, name);
    else if (rest->plan->shows_runs)
        printf("%u/%u  %s: %.6g %s\n", at + 1, rest->count, name, found.figure, found.unit);
    fflush(stdout);
    free(name);
}

static void say_kept(const struct remaining_runs *rest) {
    if (rest->plan->shows_runs && rest->count < rest->runs->count)
        printf("%u of %u runs were made earlier and kept (--fresh makes them again)\n",
               rest->runs->count - rest->count, rest->runs->count);
}

int ff__repro_run_all(const struct ff__repro_plan *plan, const struct ff__repro_runs *runs) {
    struct remaining_runs rest = {.plan = plan, .runs = runs};
    rest.indices = ff__must(calloc(runs->count + 1, sizeof *rest.indices));
    for (unsigned i = 0; i < runs->count; i++)
        if (!take(&rest, i))
            rest.indices[rest.count++] = i;
    say_kept(&rest);
    const struct ff__job_pool pool = {rest.count, plan->jobs, run_one, show, name_of, &rest};
    int status = ff__pool_run(&pool);
    if (plan->shows_runs && rest.count > 0)
        putchar('\n');
    free(rest.indices);
    return status;
}

struct ff__repro_found ff__repro_simulated(struct ff__simulated *simulated) {
    return (struct ff__repro_found){.bytes = simulated,
                                    .size = offsetof(struct ff__simulated, findings),
                                    .failure = simulated->good ? NULL : simulated->reason,
                                    .figure = (double)simulated->result.time_ns * 1e-9,
                                    .unit = "s"};
}
