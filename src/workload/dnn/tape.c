#include "workload/dnn/tape.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

void ff__tape_free(struct ff__tape *tape) {
    free(tape->tensors);
    free(tape->ops);
    free(tape->kernels);
    free(tape->uses);
    free(tape->unread);
    free(tape->nodes);
    free(tape->params);
    memset(tape, 0, sizeof *tape);
}

/* Whether there is room for one more item. */
static bool has_room(struct ff__tape *tape, void *array, uint32_t count, size_t size) {
    tape->failed = tape->failed || ff__grow(array, count, size);
    return !tape->failed;
}

#define APPEND(tape, array, count, ...)                                                            \
    do {                                                                                           \
        if (has_room(tape, &(tape)->array, (tape)->count, sizeof *(tape)->array))                  \
            (tape)->array[(tape)->count++] = __VA_ARGS__;                                          \
    } while (0)

/* ---- tensors ---- */

uint32_t ff__tensor_bytes(struct ff__tape *tape, uint64_t bytes) {
    if (tape->tensor_count == FF__NO_TENSOR)
        APPEND(tape, tensors, tensor_count, (struct ff__tensor){.param = true});
    uint32_t tensor = tape->tensor_count;
    APPEND(tape, tensors, tensor_count,
           (struct ff__tensor){bytes ? bytes : 1, 1, .grad = FF__NO_TENSOR});
    APPEND(tape, ops, op_count, (struct ff__op){FF__OP_NEW, tensor, 0});
    return tape->failed ? 0 : tensor;
}

uint32_t ff__tensor_new(struct ff__tape *tape, uint64_t elements) {
    return ff__tensor_bytes(tape, elements * FF__FLOAT);
}

void ff__tensor_hold(struct ff__tape *tape, uint32_t tensor) {
    if (!tape->failed)
        tape->tensors[tensor].holders++;
}

void ff__tensor_drop(struct ff__tape *tape, uint32_t tensor) {
    if (tape->failed || --tape->tensors[tensor].holders > 0)
        return;
    APPEND(tape, ops, op_count, (struct ff__op){FF__OP_FREE, tensor, 0});
}

uint32_t ff__tape_param(struct ff__tape *tape, uint64_t elements) {
    if (tape->param_next < tape->param_count) {
        uint32_t param = tape->params[tape->param_next++];
        if (tape->tensors[param].bytes != elements * FF__FLOAT)
            tape->wrong = "its weights have another size here than before";
        return param;
    }
    if (tape->param_count == FF__PARAMS_MAX)
        tape->wrong = "more than 4096 tensors of weights";
    uint32_t tensor = ff__tensor_new(tape, elements);
    if (!tape->failed)
        tape->tensors[tensor].param = true;
    APPEND(tape, params, param_count, tensor);
    tape->param_next = tape->param_count;
    tape->weights += elements;
    return tensor;
}

/* ---- kernels ---- */

void ff__kernel_begin(struct ff__tape *tape, const char *name, double flops) {
    struct ff__op op = {FF__OP_KERNEL, tape->kernel_count, 0};
    APPEND(tape, ops, op_count, op);
    APPEND(tape, kernels, kernel_count,
           (struct ff__tape_kernel){.name = name, .flops = flops, .first_use = tape->use_count});
}

static uint64_t nest_bytes(const struct ff__operand *nest) {
    return ff__operand_runs(nest) * nest->run;
}

void ff__kernel_nest(struct ff__tape *tape, uint32_t tensor, bool write, double times,
                     const struct ff__operand *nest) {
    uint64_t end = nest->offset + nest->run;
    for (int i = 0; i < FF__LOOPS; i++)
        end += (nest->loop[i].count - 1) * nest->loop[i].stride;
    if (!tape->failed && !tape->wrong && end > tape->tensors[tensor].bytes)
        tape->wrong = "sizes do not fit together: it would look beyond a tensor";
    struct ff__tensor_use use = {tensor, *nest};
    use.nest.write = write;
    APPEND(tape, uses, use_count, use);
    if (!tape->failed)
        tape->kernels[tape->kernel_count - 1].traffic +=
            times * (double)nest_bytes(nest) / FF__STREAM_SHARE;
}

void ff__kernel_uses(struct ff__tape *tape, uint32_t tensor, bool write, double times) {
    if (tape->failed)
        return;
    struct ff__operand whole = ff__operand_of(0, tape->tensors[tensor].bytes);
    ff__kernel_nest(tape, tensor, write, times, &whole);
}

void ff__kernel_end(struct ff__tape *tape) {
    if (tape->failed)
        return;
    struct ff__tape_kernel *kernel = &tape->kernels[tape->kernel_count - 1];
    kernel->use_count = tape->use_count - kernel->first_use;
}

void ff__kernel_unread(struct ff__tape *tape, uint32_t tensor) {
    uint32_t at = tape->unread_count;
    APPEND(tape, unread, unread_count, tensor);
    if (tape->failed)
        return;
    struct ff__tape_kernel *kernel = &tape->kernels[tape->kernel_count - 1];
    kernel->first_unread = kernel->unread_count ? kernel->first_unread : at;
    kernel->unread_count++;
}

void ff__kernel_goes_on(struct ff__tape *tape) {
    if (!tape->failed)
        tape->kernels[tape->kernel_count - 1].goes_on = true;
}

void ff__kernel_map(struct ff__tape *tape, const char *name, uint32_t a, uint32_t b, uint32_t c,
                    uint32_t out) {
    const uint32_t in[] = {a, b, c};
    ff__kernel_begin(tape, name, 0);
    for (int i = 0; i < 3; i++)
        if (in[i] != FF__NO_TENSOR && in[i] != out)
            ff__kernel_uses(tape, in[i], false, 1);
    bool in_place = out == a || out == b || out == c;
    ff__kernel_uses(tape, out, true, in_place ? 2 : 1);
    ff__kernel_end(tape);
}

void ff__tape_work(struct ff__tape *tape, uint64_t ns) {
    APPEND(tape, ops, op_count, (struct ff__op){FF__OP_WORK, 0, ns});
}

/* ---- autograd ---- */

void ff__tape_node(struct ff__tape *tape, const struct ff__node *node) {
    if (tape->infers)
        return;
    for (int i = 0; i < FF__SAVED; i++)
        if (node->saved[i] != FF__NO_TENSOR)
            ff__tensor_hold(tape, node->saved[i]);
    APPEND(tape, nodes, node_count, *node);
}

void ff__grad_give(struct ff__tape *tape, uint32_t tensor, uint32_t grad) {
    if (tape->failed)
        return;
    uint32_t *has = &tape->tensors[tensor].grad;
    if (*has == FF__NO_TENSOR) {
        *has = grad;
        return;
    }
    if (tape->tensors[*has].holders == 1) {
        ff__kernel_map(tape, "add_grad", *has, grad, FF__NO_TENSOR, *has);
    } else { /* shared with another tensor's gradient */
        uint32_t old = *has, sum = ff__tensor_bytes(tape, tape->tensors[old].bytes);
        ff__kernel_map(tape, "add_grad", old, grad, FF__NO_TENSOR, sum);
        ff__tensor_drop(tape, old);
        if (!tape->failed)
            tape->tensors[tensor].grad = sum;
    }
    ff__tensor_drop(tape, grad);
}

static void drop_saved(struct ff__tape *tape, const struct ff__node *node) {
    for (int i = 0; i < FF__SAVED; i++)
        if (node->saved[i] != FF__NO_TENSOR)
            ff__tensor_drop(tape, node->saved[i]);
}

void ff__tape_backward(struct ff__tape *tape, uint32_t loss) {
    uint32_t one = ff__tensor_new(tape, 1);
    ff__kernel_map(tape, "ones_like", FF__NO_TENSOR, FF__NO_TENSOR, FF__NO_TENSOR, one);
    ff__grad_give(tape, loss, one);
    while (tape->node_count > tape->first_node && !tape->failed) {
        struct ff__node node = tape->nodes[--tape->node_count];
        tape->grad = tape->tensors[node.out].grad;
        if (tape->grad != FF__NO_TENSOR) {
            uint32_t taken = tape->grad;
            tape->tensors[node.out].grad = FF__NO_TENSOR;
            node.backward(tape, &node);
            ff__tensor_drop(tape, taken);
        }
        drop_saved(tape, &node);
    }
}

void ff__tape_forget(struct ff__tape *tape) {
    while (tape->node_count > 0)
        drop_saved(tape, &tape->nodes[--tape->node_count]);
    for (uint32_t i = 0; i < tape->tensor_count; i++) {
        struct ff__tensor *tensor = &tape->tensors[i];
        if (tensor->param || tensor->grad == FF__NO_TENSOR)
            continue;
        ff__tensor_drop(tape, tensor->grad);
        tensor->grad = FF__NO_TENSOR;
    }
    tape->first_node = 0;
}
