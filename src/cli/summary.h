/* What the preload wrote when a program ended. */
#ifndef FF_CLI_SUMMARY_H
#define FF_CLI_SUMMARY_H

#include <jansson.h>
#include <limits.h>
#include <stdint.h>

struct ff__summary {
    double seconds;  /* first command to last completion */
    double hit_rate; /* NaN: unknown */
    uint64_t footprint, faults, bytes_in, bytes_out;
    const char *broken; /* the first broken invariant, "": none was seen */
    json_t *all;        /* everything it wrote */
};

/* A file of its own for one run. Returns 0 or a negative errno. */
int ff__summary_place(char path[PATH_MAX]);

/* -ENODATA: the program wrote none. -EINVAL: something else. */
int ff__summary_read(const char *path, struct ff__summary *out);
void ff__summary_free(struct ff__summary *summary);

/* How many calls the preload handed to plain OpenCL although it should have managed them. */
uint64_t ff__summary_fallbacks(const struct ff__summary *summary);

#endif
