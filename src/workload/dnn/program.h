/* A training program, and where PyTorch's allocator puts its tensors. */
#ifndef FF_WORKLOAD_DNN_PROGRAM_H
#define FF_WORKLOAD_DNN_PROGRAM_H

#include "workload/dnn/allocator.h"
#include "workload/dnn/network.h"

/* The tape has the first iteration, in which parameters, gradients and the optimizer's states are
 * made, and one of all later iterations. */
struct ff__network_program {
    struct ff__tape tape;
    uint32_t first_end; /* ops of the first iteration; the others are those of a later one */
};

int ff__program_make(const struct ff__network *network, uint64_t batch, uint64_t length,
                     bool workspaces, struct ff__network_program *out, struct ff_error *error);
void ff__program_free(struct ff__network_program *program);

/* ---- with addresses ---- */

struct ff__placed {
    enum ff__action_kind kind;
    uint32_t index; /* the array, or the tape's kernel */
    uint32_t first_operand;
    uint64_t offset, bytes; /* WORK: bytes are ns */
    uint64_t identity;
};

/* Iterations differ until the allocator's state is the same at the end of one as at its beginning.
 * All further iterations equal that one. */
struct ff__placement {
    struct ff__placed *steps;
    struct ff__operand *operands;
    uint32_t *iteration_end; /* steps so far */
    uint32_t step_count, operand_count, iteration_count;
    struct ff__caching pool;
};

/* `iterations`: how many there will be. */
int ff__placement_make(const struct ff__network_program *program, uint64_t iterations,
                       struct ff__placement *out, struct ff_error *error);
void ff__placement_free(struct ff__placement *placement);

#endif
