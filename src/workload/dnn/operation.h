/* Layers as PyTorch 1.8 runs them in eager mode and single precision, as operations that statements
 * of a network call: the kernels of the way there and back, and which tensors are kept in between.
 * None takes over its input. All sizes are in elements. */
#ifndef FF_WORKLOAD_DNN_OPERATION_H
#define FF_WORKLOAD_DNN_OPERATION_H

#include "workload/dnn/tape.h"

#define FF__NETWORK_WORDS 40                  /* of a line */
#define FF__ELEMENTS_MAX  (UINT64_C(1) << 40) /* of a tensor that is no image */

struct ff__iteration {
    uint64_t batch, length; /* length: tokens of a sample, or the side of an image */
    uint32_t *states;       /* the optimizer's: two tensors for each parameter */
};

/* n x c x h x w */
struct ff__images {
    uint32_t tensor;
    uint64_t n, c, h, w;
};

/* A tensor and its shape: rows are n, and c x h x w elements each. Or, without a tensor, a place
 * in the list of parameters, which is n. */
struct ff__value {
    struct ff__images is;
    bool data; /* needs no gradient */
    /* In which order kernels go through it: so many loops of `nest`, the last ones; 0: as a whole.
     */
    unsigned loops;
    struct ff__operand nest;
};

struct ff__operation_call {
    struct ff__tape *tape;
    const struct ff__iteration *iteration;
    const char *name; /* a kernel's */
    struct ff__value *in[FF__NETWORK_WORDS];
    uint64_t number[4], option[8];
    uint32_t given; /* options, as bits */
    unsigned in_count, number_count;
    struct ff__value out[3];
};

/* Flags. Loops: of a tensor that has some; other operations take tensors as a whole. */
enum { FF__TAKES_NAME = 1, FF__TAKES_PLACE = 2, FF__TAKES_LOOPS = 4 };

struct ff__operation {
    const char *name;
    uint8_t outs, least, most, numbers, flags;
    const char *usage;
    void (*run)(struct ff__operation_call *call); /* NULL: it only gives and takes names */
};

#define FF_OPERATION(name, ...) void ff__op_##name(struct ff__operation_call *call);
#define FF_NAMING(name, ...)
#include "workload/dnn/operations.def"
#undef FF_OPERATION
#undef FF_NAMING

/* ---- for operations ---- */

static inline bool ff__has(const struct ff__operation_call *call, unsigned option) {
    return call->given >> option & 1;
}

static inline uint64_t ff__option(const struct ff__operation_call *call, unsigned option,
                                  uint64_t initial) {
    return ff__has(call, option) ? call->option[option] : initial;
}

static inline uint64_t ff__width(const struct ff__value *value) {
    return value->is.c * value->is.h * value->is.w;
}

static inline uint32_t ff__in(const struct ff__operation_call *call, unsigned i) {
    return i < call->in_count ? call->in[i]->is.tensor : FF__NO_TENSOR;
}

/* Whether a tensor may have a x b elements. */
static inline bool ff__fits(struct ff__tape *tape, uint64_t a, uint64_t b) {
    if (a == 0 || b == 0)
        tape->wrong = "a size of zero";
    else if (a > FF__ELEMENTS_MAX / b)
        tape->wrong = "a tensor of more than 2^40 elements";
    return !tape->wrong;
}

static inline void ff__give(struct ff__operation_call *call, uint32_t tensor, uint64_t rows,
                            uint64_t width) {
    call->out[0].is = (struct ff__images){tensor, rows, width, 1, 1};
}

/* A tensor of the shape of the first one that it takes. */
static inline void ff__give_alike(struct ff__operation_call *call, uint32_t tensor) {
    call->out[0].is = call->in[0]->is;
    call->out[0].is.tensor = tensor;
}

#endif
