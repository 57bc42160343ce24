/* Runs in an SQLite file, so that an experiment that was interrupted goes on where it was, and so
 * that what two builds or two machines have measured can be compared.
 *
 * A run is added as a whole as soon as it ends: whoever is killed meanwhile, the file has the run
 * or has it not. Several processes may add to one file. A file holds runs of any builds and
 * machines; a program finds those of its own build. */
#ifndef FF_STUDY_STORE_H
#define FF_STUDY_STORE_H

#include <farfault/farfault.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct ff__store;

/* What decides a run's result, beside the program that makes it. */
struct ff__store_key {
    const char *subject, *system, *device;
    uint64_t memory; /* bytes of each device; 0: enough for everything */
    uint64_t seed;
    const char *options; /* all else, as text */
    uint32_t data;       /* checksum of what the names stand for, such as a device's numbers */
    bool measured;       /* another machine finds something else */
};

/* Opens the file, which is made if it is missing and `makes`. 0, or a negative errno with a line
 * that names the file: among others -EBADMSG, it is damaged or no file of runs; -EEXIST, it is no
 * regular file. The caller closes it. */
int ff__store_open(const char *path, bool makes, struct ff__store **out, struct ff_error *error);
void ff__store_close(struct ff__store *store); /* NULL: nothing */

/* Says who adds: `build` is a checksum of the program. 0 or a negative errno, as all below. */
int ff__store_begin(struct ff__store *store, uint32_t build, struct ff_error *error);

/* Forgets all runs; or only those of other builds than the one that has begun. */
int ff__store_forget(struct ff__store *store, bool of_others, struct ff_error *error);

/* The result of this build's run; NULL: there is none. From any thread; the caller frees it. */
void *ff__store_find(struct ff__store *store, const struct ff__store_key *key, size_t *size);

/* Adds a run, from any thread. The result is bytes that only this build must understand, or JSON
 * text. `seconds`: NaN: it has none. */
int ff__store_add(struct ff__store *store, const struct ff__store_key *key, double seconds,
                  const void *result, size_t size, struct ff_error *error);

/* Adds the runs of another file that this one lacks, and its whole results if they are newer. */
int ff__store_merge(struct ff__store *store, const char *path, struct ff_error *error);

/* Keeps the results of a whole command (data/schema/results.json), in place of the last ones of the
 * same command and build. Of a part of one, `command` "sim 1/3", they are its `arguments`, words,
 * and `parts`, how many there are. */
int ff__store_set_results(struct ff__store *store, const char *command, const char *results,
                          struct ff_error *error);

/* The newest of any, and how many are the same as these; the caller owns them. NULL: there are
 * none.
 */
json_t *ff__store_results(struct ff__store *store, unsigned *alike);

/* The rows of a query, as an array of objects with its columns; the caller owns it. `build`: what
 * ?1 stands for. The tables are
 *   build   id, program, version, machine (JSON)
 *   run     id, build, made (seconds since 1970), subject, system, device, memory, seed, options,
 *           data, seconds, result
 *   whole   build, command, made, results (JSON) */
int ff__store_query(struct ff__store *store, const char *query, int64_t build, json_t **rows,
                    struct ff_error *error);

#endif
