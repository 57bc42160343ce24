/* Kernels of one's own, and the order in which they go through tensors. */
#include "workload/dnn/operation.h"

/* ---- loops ---- */

enum { FROM, RUN, TIMES, STEP };

/* Elements from the first to the last of what the loops touch, and of all that they go through;
 * false: beyond `most`. */
static bool measure(const struct ff__operand *nest, uint64_t most) {
    uint64_t end = nest->offset + nest->run, all = nest->run;
    for (int i = 0; i < FF__LOOPS; i++) {
        const struct ff__loop *loop = &nest->loop[i];
        if (all > FF__ELEMENTS_MAX * FF__FLOAT / loop->count ||
            (loop->count > 1 && loop->stride > most / (loop->count - 1)))
            return false;
        all *= loop->count;
        end += (loop->count - 1) * loop->stride;
    }
    return end <= most;
}

/* What the loops are around: a run, or the loops that the tensor has. */
static struct ff__operand inside(const struct ff__operation_call *call) {
    const struct ff__value *value = call->in[0];
    if (value->loops > 0)
        return value->nest;
    return ff__operand_of(0, ff__option(call, RUN, ff__width(value)) * FF__FLOAT);
}

static const char *fault_of(const struct ff__operation_call *call) {
    const struct ff__value *value = call->in[0];
    if (value->loops > 0 && ff__has(call, RUN))
        return "run is for the innermost loops";
    if (value->loops == FF__LOOPS)
        return "more than four loops in one another";
    if (ff__has(call, TIMES) != ff__has(call, STEP))
        return "times and step belong together";
    if (ff__option(call, RUN, 1) == 0 || ff__option(call, TIMES, 1) == 0)
        return "run and times must be at least 1";
    return NULL;
}

void ff__op_loops(struct ff__operation_call *call) {
    const struct ff__value *value = call->in[0];
    struct ff__tape *tape = call->tape;
    tape->wrong = fault_of(call);
    if (tape->wrong)
        return;
    struct ff__value *out = &call->out[0];
    *out = *value;
    out->nest = inside(call);
    out->nest.offset += ff__option(call, FROM, 0) * FF__FLOAT;
    out->nest.loop[FF__LOOPS - 1 - out->loops++] =
        (struct ff__loop){ff__option(call, TIMES, 1), ff__option(call, STEP, 0) * FF__FLOAT};
    if (!measure(&out->nest, tape->tensors[value->is.tensor].bytes))
        tape->wrong = "it would look beyond the tensor, or at more than 2^40 elements";
    ff__tensor_hold(tape, value->is.tensor);
}

/* ---- kernels ---- */

enum { FLOPS };

static void use(struct ff__tape *tape, const struct ff__value *value, bool write, double times) {
    if (value->loops > 0)
        ff__kernel_nest(tape, value->is.tensor, write, times, &value->nest);
    else
        ff__kernel_uses(tape, value->is.tensor, write, times);
}

/* What is read where it is written to, in the same order, is one use, whose bytes memory sees
 * twice. */
static bool is_in_place(const struct ff__value *out, const struct ff__value *in) {
    return in->is.tensor == out->is.tensor && in->loops == 0 && out->loops == 0;
}

void ff__op_kernel(struct ff__operation_call *call) {
    const struct ff__value *out = call->in[0];
    bool in_place = false;
    ff__kernel_begin(call->tape, call->name, (double)ff__option(call, FLOPS, 0));
    for (unsigned i = 1; i < call->in_count; i++) {
        in_place |= is_in_place(out, call->in[i]);
        if (!is_in_place(out, call->in[i]))
            use(call->tape, call->in[i], false, 1);
    }
    use(call->tape, out, true, in_place ? 2 : 1);
    ff__kernel_end(call->tape);
}
