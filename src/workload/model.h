/* What models share: their arrays, their size, the program as a list of actions, and steps. */
#ifndef FF_WORKLOAD_MODEL_H
#define FF_WORKLOAD_MODEL_H

#include "workload/workload.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

#define FF__PAGE_BYTES   4096
#define FF__SECTOR_BYTES 32 /* what a GPU's caches and memory move at least */
#define FF__WARP         32 /* lanes */
/* Bytes of a program at most; ours: the simulator takes up to 1 % of it for what it knows of each
 * block. */
#define FF__SIZE_MAX (INT64_C(1) << 40)

/* Networks are texts that are read when they are asked for, by workload/dnn: a built-in one, NULL
 * past the end; one of the user's, *out is NULL on error. ff__network_free() takes NULL. */
const struct ff__network *ff__network_at(unsigned index);
int ff__network_read(const char *path, struct ff__network **out, struct ff_error *error);
void ff__network_free(struct ff__network *network);
const struct ff__workload_type *ff__network_type(const struct ff__network *network);

/* The first parameter of every model. */
#define FF__PARAM_SIZE                                                                             \
    {                                                                                              \
        "size", FF_PARAM_SIZE, 0, 0, FF__SIZE_MAX,                                                 \
            "bytes of all arrays together; 0: by the other parameters"                             \
    }

struct ff__array_spec {
    const char *name;
    uint64_t bytes;
};

/* Makes the workload's arrays. -EINVAL: more than FF__SIZE_MAX bytes. -ENOMEM. */
int ff__model_arrays(struct ff__workload *workload, const struct ff__array_spec *specs,
                     uint32_t count, struct ff_error *error);

/* How many bytes a model needs at the native size `n`; grows with n. */
typedef uint64_t (*ff__model_bytes)(const struct ff__workload *workload, const int64_t *params,
                                    uint64_t n);

/* The native size: `n` (whole units of it, at least one) or, if params[0] asks for a footprint, the
 * largest one that fits in it. -EINVAL: not even one unit fits, or more than `most` is asked for.
 */
int ff__model_size(const struct ff__workload *workload, const int64_t *params,
                   ff__model_bytes bytes, uint64_t n, uint64_t unit, uint64_t most, uint64_t *out,
                   struct ff_error *error);

/* A model whose data are the values of its parameters, in their order, and whose arrays follow from
 * them: the type's `shape`. */
#define FF__MODEL_ARRAYS_MAX 16u
struct ff__model_shape {
    unsigned scaled;     /* index of the parameter that is the native size */
    uint64_t unit, most; /* of that */
    /* Fills in the arrays, all zero at first, and returns how many there are. */
    uint32_t (*arrays)(const struct ff__workload_type *type, const void *values,
                       struct ff__array_spec *out);
};

/* Values of parameters, where `n` is the second of them. */
struct ff__sized {
    uint64_t size, n;
};

/* `open` of such a model. Errors of the two above. */
int ff__model_open(struct ff__workload *workload, const int64_t *params, const char *file,
                   struct ff_error *error);

#define FF__VECTOR_LENGTH (UINT64_C(1) << 39) /* elements at most */

/* Makes a copy of these bytes the workload's data. -ENOMEM. */
int ff__model_keep(struct ff__workload *workload, const void *data, size_t size,
                   struct ff_error *error);

/* Fills in a kernel but for its arguments; ff__kernel_seal() then gives it its identity. */
void ff__kernel_set(struct ff__kernel *kernel, const char *name, uint64_t ctas, uint32_t warps,
                    bool (*step)(const struct ff__workload *, const struct ff__kernel *, uint32_t,
                                 uint32_t, uint32_t, struct ff__step *));

/* Arrays as bits. */
#define FF__ARRAY(array) (UINT64_C(1) << (array))

/* The kernel has all of the first `count` arrays, with fixed strides. */
static inline struct ff__kernel_known ff__known_strided(uint32_t count) {
    const uint64_t all = FF__ARRAY(count) - 1;
    return (struct ff__kernel_known){.uses = all, .strided = all};
}

/* The identity is that of the name and all arguments, as DeepUM's execution IDs are. */
void ff__kernel_seal(struct ff__kernel *kernel);

/* ---- the program: each call below stands for some actions, in order ---- */

/* Finds the action with one index; everything before it is counted off. */
struct ff__script {
    const struct ff__workload *workload;
    struct ff__action *out;
    uint64_t left; /* actions to count off */
    bool found;
};

struct ff__script ff__script_begin(const struct ff__workload *workload, uint64_t index,
                                   struct ff__action *out);

/* True if the wanted action is one of the next `count`, which the caller then fills in; *which is
 * its index among them. */
static inline bool ff__script_turn(struct ff__script *script, uint64_t count, uint64_t *which) {
    if (script->found)
        return false;
    if (script->left >= count) {
        script->left -= count;
        return false;
    }
    *which = script->left;
    script->found = true;
    return true;
}

void ff__script_allocate_all(struct ff__script *script);
void ff__script_free_all(struct ff__script *script);
void ff__script_synchronize(struct ff__script *script);
void ff__script_read(struct ff__script *script, uint32_t array, uint64_t offset, uint64_t bytes);
void ff__script_write(struct ff__script *script, uint32_t array, uint64_t offset, uint64_t bytes);
void ff__script_read_all(struct ff__script *script, uint32_t array);
void ff__script_write_all(struct ff__script *script, uint32_t array);

/* A launch with a thread for each of `n` elements, in CTAs of FF__ELEMENT_CTA; argument 0 is `n`.
 */
#define FF__ELEMENT_CTA 256u
void ff__script_elements(struct ff__script *script, const char *name, uint64_t n,
                         bool (*step)(const struct ff__workload *, const struct ff__kernel *,
                                      uint32_t, uint32_t, uint32_t, struct ff__step *));

/* ---- steps ---- */

/* A load ahead is one whose value the warp needs no sooner than that of the next FF__LOAD; steps
 * that need it come after that. */
enum ff__direction { FF__LOAD, FF__STORE, FF__LOAD_AHEAD };

/* `instructions` of which the last is the memory instruction at `pc`; no page yet. */
static inline void ff__step_begin(struct ff__step *out, enum ff__direction direction, uint32_t pc,
                                  uint32_t instructions) {
    out->instructions = instructions;
    out->pc = pc;
    out->sectors = 0;
    out->write = direction == FF__STORE;
    out->goes_on = direction != FF__LOAD;
    out->page_count = 0;
}

/* Some instructions without memory. */
static inline bool ff__step_compute(struct ff__step *out, uint32_t pc, uint32_t instructions) {
    ff__step_begin(out, FF__LOAD, pc, instructions);
    return true;
}

/* Lanes that touch `bytes` > 0 consecutive bytes of the array. Spans of one step ascend: that is
 * what makes looking at the last page enough to keep pages distinct. */
static inline void ff__step_span(struct ff__step *out, const struct ff__array *array,
                                 uint64_t offset, uint64_t bytes) {
    uint64_t end = offset + bytes - 1;
    uint64_t page = array->first_page + offset / FF__PAGE_BYTES;
    uint64_t last = array->first_page + end / FF__PAGE_BYTES;
    uint32_t count = out->page_count;
    if (count > 0 && out->page[count - 1] == page)
        page++;
    for (; page <= last && count < FF__STEP_PAGES; page++)
        out->page[count++] = page;
    out->page_count = (uint8_t)count;
    out->sectors =
        (uint16_t)(out->sectors + end / FF__SECTOR_BYTES - offset / FF__SECTOR_BYTES + 1);
}

/* One lane's element, anywhere: compared with every page so far. `sector` remembers that of the
 * lane before and starts as UINT64_MAX. */
static inline void ff__step_lane(struct ff__step *out, const struct ff__array *array,
                                 uint64_t offset, uint64_t *sector) {
    uint64_t page = array->first_page + offset / FF__PAGE_BYTES;
    if (offset / FF__SECTOR_BYTES != *sector)
        out->sectors++;
    *sector = offset / FF__SECTOR_BYTES;
    for (uint32_t i = out->page_count; i-- > 0;)
        if (out->page[i] == page)
            return;
    out->page[out->page_count++] = page;
}

/* A whole coalesced memory instruction: consecutive lanes on consecutive elements. */
static inline bool ff__step_coalesced(struct ff__step *out, enum ff__direction direction,
                                      uint32_t pc, uint32_t instructions,
                                      const struct ff__array *array, uint64_t offset,
                                      uint64_t bytes) {
    ff__step_begin(out, direction, pc, instructions);
    ff__step_span(out, array, offset, bytes);
    return true;
}

/* Two-dimensional CTAs: `rows` rows of lanes, each on `bytes` consecutive bytes, `stride` apart. */
static inline bool ff__step_rows(struct ff__step *out, enum ff__direction direction, uint32_t pc,
                                 uint32_t instructions, const struct ff__array *array,
                                 uint64_t offset, uint64_t bytes, uint32_t rows, uint64_t stride) {
    ff__step_begin(out, direction, pc, instructions);
    for (uint32_t row = 0; row < rows; row++)
        ff__step_span(out, array, offset + row * stride, bytes);
    return true;
}

/* A number for a pc: kernel and place in it. */
static inline uint32_t ff__pc(uint32_t kernel, uint32_t place) {
    return kernel << 12 | place << 3; /* GPGPU-Sim, too, numbers instructions in steps of 8 */
}

static inline uint64_t ff__ceil_div(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

/* How many of the warp's lanes are below `n`, if the first is number `first`. */
static inline uint64_t ff__lanes(uint64_t n, uint64_t first) {
    uint64_t left = n > first ? n - first : 0;
    return left < FF__WARP ? left : FF__WARP;
}

/* splitmix64: a random number that depends on its position only. */
static inline uint64_t ff__mix(uint64_t x) {
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

#endif
