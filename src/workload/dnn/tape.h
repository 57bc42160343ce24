/* A training program as tensors and kernels: what PyTorch's eager mode allocates, launches and
 * frees, in order, without any address. Layers write it down as they would run, forward and
 * backward. */
#ifndef FF_WORKLOAD_DNN_TAPE_H
#define FF_WORKLOAD_DNN_TAPE_H

#include "workload/workload.h"

#define FF__NO_TENSOR  0 /* the first tensor stands for none */
#define FF__FLOAT      4 /* bytes */
#define FF__INDEX      8 /* bytes: torch.long */

#define FF__PARAMS_MAX 4096 /* parameter tensors of a network */

/* Efficiencies, as shares of a device's peak rates; for every network and device the same. */
#define FF__GEMM_SHARE                                                                             \
    0.85 /* of operations; ours: cuBLAS is at 80 to 95 % on V100 for large matrices */
#define FF__CONV_SHARE                                                                             \
    0.75 /* ours: cuDNN without Winograd's savings, between GEMM's and half of peak */
#define FF__STREAM_SHARE                                                                           \
    0.85 /* of bandwidth; ours: 750 to 790 of 900 GB/s are commonly measured on V100 */

/* ---- the program ---- */

enum ff__op_kind { FF__OP_NEW, FF__OP_FREE, FF__OP_KERNEL, FF__OP_WORK };

struct ff__op {
    enum ff__op_kind kind;
    uint32_t index; /* of the tensor, or of the kernel */
    uint64_t ns;    /* WORK: of the host */
};

struct ff__tensor {
    uint64_t bytes;
    uint32_t holders;
    uint32_t grad; /* the tensor of its gradient, or FF__NO_TENSOR */
    uint64_t rows; /* of a sparse gradient: it has so many of the table's; 0: all */
    bool param;
};

/* As struct ff__operand, with a tensor for the place. */
struct ff__tensor_use {
    uint32_t tensor;
    struct ff__operand nest; /* offset is that in the tensor; array is unused */
};

struct ff__tape_kernel {
    const char *name;
    double flops, traffic;
    uint32_t first_use, use_count;
    uint32_t first_unread, unread_count;
    bool goes_on; /* launched by the same operation as the kernel before it */
};

struct ff__node;
struct ff__tape;
typedef void (*ff__backward)(struct ff__tape *tape, const struct ff__node *node);

#define FF__SAVED 6

/* What one layer needs for its backward pass. */
struct ff__node {
    ff__backward backward;
    const char *name;
    uint32_t in[3], out;       /* tensors whose gradients it makes, takes */
    uint32_t saved[FF__SAVED]; /* held until then */
    uint64_t size[10];         /* the layer's own */
};

struct ff__tape {
    struct ff__tensor *tensors;
    struct ff__op *ops;
    struct ff__tape_kernel *kernels;
    struct ff__tensor_use *uses;
    uint32_t *unread; /* tensors that operations take and their kernels do not look at */
    struct ff__node *nodes;
    uint32_t *params; /* in the order in which they were made */
    uint32_t tensor_count, op_count, kernel_count, use_count, unread_count, node_count, param_count;
    uint32_t param_next; /* of the iteration that is being written down */
    uint32_t first_node; /* where backward passes end: nodes before it are detached */
    uint64_t weights;    /* elements of all parameters */
    uint32_t grad;       /* of the output of the node whose backward pass runs */
    bool infers;         /* nothing is kept for a backward pass */
    bool workspaces;     /* convolutions take memory for themselves (images.c) */
    bool failed;         /* out of memory: everything after it is void */
    const char *wrong;   /* what a layer cannot be: so is that; NULL: nothing */
};

void ff__tape_free(struct ff__tape *tape);

/* ---- tensors ---- */

uint32_t ff__tensor_new(struct ff__tape *tape, uint64_t elements); /* held once */
uint32_t ff__tensor_bytes(struct ff__tape *tape, uint64_t bytes);
void ff__tensor_hold(struct ff__tape *tape, uint32_t tensor);
void ff__tensor_drop(struct ff__tape *tape, uint32_t tensor); /* the last holder frees it */

/* The next parameter: made the first time, the same one in later iterations. */
uint32_t ff__tape_param(struct ff__tape *tape, uint64_t elements);

/* ---- kernels: begin, uses, end ---- */

void ff__kernel_begin(struct ff__tape *tape, const char *name, double flops);
/* Whole, from the first byte to the last; `times`: how often memory sees its bytes. */
void ff__kernel_uses(struct ff__tape *tape, uint32_t tensor, bool write, double times);
void ff__kernel_nest(struct ff__tape *tape, uint32_t tensor, bool write, double times,
                     const struct ff__operand *nest);
void ff__kernel_end(struct ff__tape *tape);
/* Of the last kernel: its operation takes this tensor, too, and only asks for its shape or type. */
void ff__kernel_unread(struct ff__tape *tape, uint32_t tensor);
/* The last kernel is of the same operation as the one before it. */
void ff__kernel_goes_on(struct ff__tape *tape);

void ff__tape_work(struct ff__tape *tape, uint64_t ns);

/* An elementwise kernel of up to three inputs; FF__NO_TENSOR: fewer. The output may be one of them.
 */
void ff__kernel_map(struct ff__tape *tape, const char *name, uint32_t a, uint32_t b, uint32_t c,
                    uint32_t out);

/* ---- autograd ---- */

/* Keeps the node, and its saved tensors; nothing if the tape infers. */
void ff__tape_node(struct ff__tape *tape, const struct ff__node *node);

/* Hands a gradient on, and gives up hold of it: the tensor's first, or added to what it has. */
void ff__grad_give(struct ff__tape *tape, uint32_t tensor, uint32_t grad);

/* From the loss, the last node's output, back, to the first node or to where the tape is detached.
 */
void ff__tape_backward(struct ff__tape *tape, uint32_t loss);

/* Ends an iteration: what nodes of no backward pass still hold is dropped. */
void ff__tape_forget(struct ff__tape *tape);

#endif
