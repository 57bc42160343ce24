/* Optimizers, parameter by parameter, as PyTorch 1.8 and Hugging Face run them: no fused kernels.
 */
#include "workload/dnn/operation.h"

#include "workload/dnn/nest.h"

#define NONE FF__NO_TENSOR

/* States are made at the first step, zeroed. */
static uint32_t state_of(struct ff__tape *tape, uint32_t *state, uint32_t param) {
    if (*state == NONE) {
        *state = ff__tensor_bytes(tape, tape->tensors[param].bytes);
        ff__kernel_map(tape, "zeros_like", NONE, NONE, NONE, *state);
    }
    return *state;
}

/* transformers.AdamW: exp_avg, exp_avg_sq, one temporary, decoupled weight decay. */
static void adam_step(struct ff__tape *tape, uint32_t param, uint32_t *state) {
    uint32_t grad = tape->tensors[param].grad;
    uint32_t average = state_of(tape, &state[0], param), square = state_of(tape, &state[1], param);
    ff__kernel_map(tape, "mul_", average, NONE, NONE, average);
    ff__kernel_map(tape, "add_", average, grad, NONE, average);
    ff__kernel_map(tape, "mul_", square, NONE, NONE, square);
    ff__kernel_map(tape, "addcmul_", square, grad, NONE, square);
    uint32_t denominator = ff__tensor_bytes(tape, tape->tensors[param].bytes);
    ff__kernel_map(tape, "sqrt", square, NONE, NONE, denominator);
    ff__kernel_map(tape, "add_", denominator, NONE, NONE, denominator);
    ff__kernel_map(tape, "addcdiv_", param, average, denominator, param);
    ff__kernel_map(tape, "add_", param, NONE, NONE, param);
    ff__tensor_drop(tape, denominator);
}

/* torch.optim.SGD with momentum and weight decay. */
static void sgd_step(struct ff__tape *tape, uint32_t param, uint32_t *state) {
    uint32_t buffer = state_of(tape, state, param);
    uint32_t step = ff__tensor_bytes(tape, tape->tensors[param].bytes);
    ff__kernel_map(tape, "add", tape->tensors[param].grad, param, NONE, step);
    ff__kernel_map(tape, "mul_", buffer, NONE, NONE, buffer);
    ff__kernel_map(tape, "add_", buffer, step, NONE, buffer);
    ff__kernel_map(tape, "add_", param, buffer, NONE, param);
    ff__tensor_drop(tape, step);
}

/* A table's gradient is sorted and summed up by row, into a copy, and added to these rows. */
static void add_rows(struct ff__tape *tape, uint32_t param, uint32_t grad) {
    uint64_t rows = tape->tensors[grad].rows, width = tape->tensors[grad].bytes / rows / FF__FLOAT;
    uint32_t sums = ff__tensor_bytes(tape, tape->tensors[grad].bytes);
    struct ff__operand some =
        ff__nest_gather(tape->tensors[param].bytes / FF__FLOAT / width, width, rows);
    ff__kernel_map(tape, "coalesce", grad, NONE, NONE, sums);
    ff__kernel_begin(tape, "index_add", 0);
    ff__kernel_uses(tape, sums, false, 1);
    ff__kernel_nest(tape, param, true, 2, &some);
    ff__kernel_end(tape);
    ff__tensor_drop(tape, sums);
    ff__tensor_drop(tape, grad);
    tape->tensors[param].grad = NONE;
}

/* torch.optim.SGD without momentum. */
static void plain_step(struct ff__tape *tape, uint32_t param, uint32_t *state) {
    uint32_t grad = tape->tensors[param].grad;
    (void)state;
    if (tape->tensors[grad].rows)
        add_rows(tape, param, grad);
    else
        ff__kernel_map(tape, "add_", param, grad, NONE, param);
}

static void each_param(struct ff__tape *tape, uint32_t *states,
                       void (*step)(struct ff__tape *, uint32_t, uint32_t *)) {
    for (uint32_t i = 0; i < tape->param_count && !tape->failed && !tape->wrong; i++)
        if (tape->tensors[tape->params[i]].grad != NONE)
            step(tape, tape->params[i], &states[2 * (size_t)i]);
}

void ff__op_adam(struct ff__operation_call *call) {
    each_param(call->tape, call->iteration->states, adam_step);
}

void ff__op_sgd(struct ff__operation_call *call) {
    each_param(call->tape, call->iteration->states, ff__has(call, 0) ? sgd_step : plain_step);
}

/* torch.nn.utils.clip_grad_norm_() of 1.8, which Hugging Face's Trainer calls: it reads all
 * gradients, and writes them if they are large, which is left out. */
void ff__op_grad_norm(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    for (uint32_t i = 0; i < tape->param_count && !tape->failed; i++) {
        uint32_t grad = tape->tensors[tape->params[i]].grad, norm;
        if (grad == NONE)
            continue;
        norm = ff__tensor_new(tape, 1);
        ff__kernel_map(tape, "norm", grad, NONE, NONE, norm);
        ff__tensor_drop(tape, norm);
    }
}

/* zero_grad(): in place, the gradients stay. */
void ff__op_zero_grad(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    for (uint32_t i = 0; i < tape->param_count && !tape->failed; i++) {
        uint32_t grad = tape->tensors[tape->params[i]].grad;
        if (grad != NONE)
            ff__kernel_map(tape, "zero_", NONE, NONE, NONE, grad);
    }
}

void ff__op_backward(struct ff__operation_call *call) {
    ff__tape_backward(call->tape, ff__in(call, 0));
}

/* Until it is attached, what was made so far gets no gradient. */
void ff__op_detach(struct ff__operation_call *call) {
    call->in[0]->data = true;
    call->tape->first_node = call->tape->node_count;
}

void ff__op_attach(struct ff__operation_call *call) {
    call->in[0]->data = false;
    call->tape->first_node = 0;
}
