/* The members of a device preset: one row each. */
#ifndef FF_BACKEND_SIM_MACHINE_GPU_FIELDS_H
#define FF_BACKEND_SIM_MACHINE_GPU_FIELDS_H

#include "backend/sim/machine/gpu.h"

#include <stddef.h>

#define FF__GPU_NAME_SHOWN 48
#define FF__FIELD_WORDS    3u

enum ff__field_type {
    FF__FIELD_TEXT,
    FF__FIELD_COUNT, /* uint32_t */
    FF__FIELD_WHOLE, /* uint64_t */
    FF__FIELD_REAL,
    FF__FIELD_BOOL,
    FF__FIELD_WORD, /* an enum */
    FF__FIELD_CURVE,
};

/* For which fault_cost; flat stands for overlapped, too. */
enum ff__field_only { FF__ONLY_ANY, FF__ONLY_FLAT, FF__ONLY_BATCH };

struct ff__gpu_field {
    const char *name;
    enum ff__field_type type;
    size_t offset;
    double min, max; /* of a number; of a text, max is the size of its place */
    enum ff__field_only only;
    const char *words[FF__FIELD_WORDS]; /* of an enum, in its order; NULL: there are no more */
};

struct ff__gpu_link {
    const char *name;
    size_t offset;
};

/* All end with a NULL name. fault_cost comes before what depends on it. */
extern const struct ff__gpu_field ff__gpu_fields[], ff__gpu_link_fields[];
extern const struct ff__gpu_link ff__gpu_links[];

#endif
