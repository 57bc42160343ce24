#include "cli/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ff__summary_place(char path[PATH_MAX]) {
    const char *folder = getenv("TMPDIR");
    int length = snprintf(path, PATH_MAX, "%s/farfault-XXXXXX",
                          folder && folder[0] == '/' ? folder : "/tmp");
    if (length >= PATH_MAX)
        return -ENAMETOOLONG;
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

static uint64_t count_of(const json_t *all, const char *name) {
    double value = json_number_value(json_object_get(all, name));
    return value > 0 ? (uint64_t)value : 0;
}

int ff__summary_read(const char *path, struct ff__summary *out) {
    *out = (struct ff__summary){.hit_rate = (double)NAN};
    struct stat about;
    if (stat(path, &about) != 0 || about.st_size == 0)
        return -ENODATA;
    json_t *all = json_load_file(path, 0, NULL);
    if (!json_is_object(all) || !json_is_number(json_object_get(all, "seconds"))) {
        json_decref(all);
        return -EINVAL;
    }
    const json_t *hits = json_object_get(all, "hit_rate");
    const char *broken = json_string_value(json_object_get(all, "broken"));
    *out = (struct ff__summary){
        .seconds = json_number_value(json_object_get(all, "seconds")),
        .hit_rate = json_is_number(hits) ? json_number_value(hits) : (double)NAN,
        .footprint = count_of(all, "footprint"),
        .faults = count_of(all, "faults"),
        .bytes_in = count_of(all, "bytes_in"),
        .bytes_out = count_of(all, "bytes_out"),
        .broken = broken ? broken : "",
        .all = all,
    };
    if (out->hit_rate < 0) /* ff_stats_hit_rate(): no launch named operands */
        out->hit_rate = (double)NAN;
    return 0;
}

void ff__summary_free(struct ff__summary *summary) {
    json_decref(summary->all);
    summary->all = NULL;
}

uint64_t ff__summary_fallbacks(const struct ff__summary *summary) {
    json_t *fallbacks = json_object_get(summary->all, "fallbacks"), *value;
    const char *name;
    uint64_t sum = 0;
    json_object_foreach(fallbacks, name, value) sum += (uint64_t)json_number_value(value);
    return sum;
}
