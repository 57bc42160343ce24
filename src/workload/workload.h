/* Models of programs for the simulator: what the host does in turn, and what each warp of a kernel
 * does, step by step.  A model is a description, not a run: everything is a pure function of a
 * position (the index of an action, the index of a step of a warp), so that a workload needs no
 * memory for what it has already said, may be asked in any order, and says the same to every
 * simulation. Data that the program itself would depend on (a graph and its frontiers, a network's
 * tensors and where they are) is made when the workload is opened. */
#ifndef FF_WORKLOAD_WORKLOAD_H
#define FF_WORKLOAD_WORKLOAD_H

#include <farfault/farfault.h>
#include <farfault/policy.h>

#define FF__STEP_PAGES 32 /* the most pages one instruction of a warp can touch: one a lane */

struct ff__array {
    char name[32];
    uint64_t bytes;
    /* Number of its first page, set by the runner of the workload: page p of the array is page
     * first_page + p of the managed address space, (block id * 512 + page in the block). */
    uint64_t first_page;
};

/* A few instructions of one warp, the last of which may touch memory. */
struct ff__step {
    uint32_t instructions; /* at least 1 */
    uint32_t pc;           /* of the memory instruction: the same for the same code */
    uint16_t sectors;      /* 32-byte pieces of memory it touches */
    bool write;
    /* The warp does not wait for its data: a store, or a load whose value is not needed yet; the
     * next load that it does wait for, it waits for with all those before */
    bool goes_on;
    uint8_t page_count;            /* 0: no memory instruction */
    uint64_t page[FF__STEP_PAGES]; /* distinct page numbers, in the order of lanes */
};

struct ff__workload;

#define FF__LOOPS 4

/* What a kernel in bulk reads or writes, as an affine nest: runs of consecutive bytes, at `offset`
 * plus the sum of index times stride over the loops, the first of which is the outermost. Nobody
 * enumerates what is in place already. */
struct ff__operand {
    uint32_t array;
    bool write;
    uint32_t readers; /* SMs that touch the same bytes at the same time; 0: each its own */
    uint64_t part; /* bytes of it that one SM has before it at a time; 0: as many as it can load */
    uint64_t offset, run;
    struct ff__loop {
        uint64_t count, stride; /* at least 1; bytes */
    } loop[FF__LOOPS];
};

/* Consecutive bytes. */
static inline struct ff__operand ff__operand_of(uint64_t offset, uint64_t bytes) {
    struct ff__operand operand = {.offset = offset, .run = bytes};
    for (int i = 0; i < FF__LOOPS; i++)
        operand.loop[i].count = 1;
    return operand;
}

static inline uint32_t ff__operand_readers(const struct ff__operand *operand) {
    return operand->readers ? operand->readers : 1;
}

static inline uint64_t ff__operand_runs(const struct ff__operand *operand) {
    uint64_t runs = 1;
    for (int i = 0; i < FF__LOOPS; i++)
        runs *= operand->loop[i].count;
    return runs;
}

/* What a compiler can tell of the arrays of a kernel, as bits by array; all zero: nothing is said.
 */
struct ff__kernel_known {
    uint64_t uses;    /* it has no other arrays */
    uint64_t strided; /* of these: their index has a fixed stride */
    uint64_t alike;   /* of these: they are indexed by one variable, whose stride is not fixed */
};

/* Two kinds. Warp by warp: `step` says what each does. Or in bulk, `step` NULL, for kernels of
 * which only the data and the time matter: all operands are gone through together, each in its
 * order and at its share of the time, which is that of the work at the device's peak rates. */
struct ff__kernel {
    const char *name;
    uint64_t identity;    /* the same for the same name and arguments: DeepUM's execution ID */
    uint32_t ctas, warps; /* warps of each CTA */
    uint64_t argument[8]; /* the model's own */
    /* Step `index` of a warp. False: the warp has ended before it. */
    bool (*step)(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out);
    struct ff__kernel_known known;      /* of a kernel warp by warp */
    const struct ff__operand *operands; /* in bulk; they live as long as the workload */
    uint32_t operand_count;
    bool copies;           /* no kernel, but a copy by a copy engine */
    double flops, traffic; /* operations and bytes of device memory that take as long at its peak */
};

enum ff__action_kind {
    FF__ACTION_ALLOCATE,   /* array */
    FF__ACTION_FREE,       /* array */
    FF__ACTION_LAUNCH,     /* kernel, device; launches on one device run in order */
    FF__ACTION_HOST_READ,  /* array, offset, bytes; waits for the device first */
    FF__ACTION_HOST_WRITE, /* the same */
    /* the host waits for all devices: cudaDeviceSynchronize and nothing less */
    FF__ACTION_SYNCHRONIZE,
    FF__ACTION_PREFETCH, /* array, offset, bytes, device: an explicit hint of the program */
    /* array, offset, bytes, device: an allocator in the program has taken the memory back, or
     * handed it out again; takes effect between the launches before and after it */
    FF__ACTION_INACTIVE,
    FF__ACTION_ACTIVE,
    FF__ACTION_WORK, /* the host itself is at work for work_ns, and then the device goes on */
    /* waits as SYNCHRONIZE does; one of several equal iterations of the program has ended */
    FF__ACTION_ITERATION,
};

/* What the host does next. */
struct ff__action {
    enum ff__action_kind kind;
    uint32_t array, device;
    uint64_t offset, bytes, work_ns;
    struct ff__kernel kernel;
};

struct ff__workload_type {
    const char *name, *summary;
    const struct ff_param *params; /* ends with a NULL name */
    bool takes_file;               /* "graph=PATH" and the like: `file` is set */
    const char *file_key, *file_help;
    /* Fills in arrays and what else it needs; `file` NULL if none was named. */
    int (*open)(struct ff__workload *workload, const int64_t *params, const char *file,
                struct ff_error *error);
    void (*close)(struct ff__workload *workload); /* NULL: nothing to release */
    /* Action `index` of the program. False: it has ended before it. Allocations of arrays come
     * first; an array may be allocated and freed several times. */
    bool (*action)(const struct ff__workload *workload, uint64_t index, struct ff__action *out);
    const struct ff__model_shape *shape; /* of a model that is opened by it (model.h) */
    const void *description;             /* the model's own, for several types by one model */
};

struct ff__workload {
    const struct ff__workload_type *type;
    char name[96]; /* as it was asked for */
    uint64_t seed;
    struct ff__array *arrays;
    uint32_t array_count;
    uint64_t peak_by; /* actions by whose end the most memory has been allocated; 0: not known */
    void *data;       /* the model's own */
    struct ff__network *own; /* the user's network that it is; NULL: a built-in workload */
};

/* "NAME[:key=value,...]", where a name with a slash, or that ends in .txt, is the path of a
 * network's text (docs/dnn.md). Every model has a size parameter in its own terms and takes
 * `size=BYTES` for its whole footprint; but networks, whose size is a batch. -ENOENT: unknown
 * workload (the message names the nearest or all); -EINVAL: unknown key or bad value, with what is
 * valid; -ENOMEM; errors of reading a file. */
int ff__workload_open(const char *spec, uint64_t seed, struct ff__workload **out,
                      struct ff_error *error);
void ff__workload_close(struct ff__workload *workload);

/* Bytes of all arrays that are allocated at the same time, at most. */
uint64_t ff__workload_footprint(const struct ff__workload *workload);

/* The built-in types; NULL past the end. */
const struct ff__workload_type *ff__workload_at(unsigned index);

#endif
