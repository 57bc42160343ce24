#include "workload/dnn/program.h"

#include "base/grow.h"

#include "workload/model.h"

#include <stdlib.h>

/* ---- writing it down ---- */

int ff__program_make(const struct ff__network *network, uint64_t batch, uint64_t length,
                     bool workspaces, struct ff__network_program *out, struct ff_error *error) {
    struct ff__tape *tape = &out->tape;
    uint32_t *states = calloc(2 * FF__PARAMS_MAX, sizeof *states); /* FF__NO_TENSOR */
    int status = states ? 0 : ff__fail(error, -ENOMEM, "no memory for a network");
    memset(out, 0, sizeof *out);
    tape->infers = network->infers;
    tape->workspaces = workspaces;
    const struct ff__iteration iteration = {batch, length, states};
    for (int i = 0; i < 2 && !status; i++) {
        status = ff__network_run(network, &iteration, tape, error);
        out->first_end = i == 0 ? tape->op_count : out->first_end;
    }
    free(states);
    if (status)
        ff__program_free(out);
    return status;
}

void ff__program_free(struct ff__network_program *program) {
    ff__tape_free(&program->tape);
}

/* ---- placing it ---- */

struct placing {
    const struct ff__tape *tape;
    struct ff__placement *out;
    uint32_t *blocks; /* [tensor] */
    int status;
};

static void add_step(struct placing *placing, const struct ff__placed *step) {
    struct ff__placement *out = placing->out;
    if (!placing->status)
        placing->status = ff__grow(&out->steps, out->step_count, sizeof *out->steps);
    if (!placing->status)
        out->steps[out->step_count++] = *step;
}

static void on_segment(void *self, uint32_t segment, bool live) {
    const struct ff__placed step = {.kind = live ? FF__ACTION_ALLOCATE : FF__ACTION_FREE,
                                    .index = segment};
    add_step(self, &step);
}

static void on_block(void *self, uint32_t block, bool active) {
    struct placing *placing = self;
    const struct ff__caching *pool = &placing->out->pool;
    const struct ff__caching_block *b = &pool->blocks[block];
    const struct ff__placed step = {.kind = active ? FF__ACTION_ACTIVE : FF__ACTION_INACTIVE,
                                    .index = b->segment,
                                    .offset = b->address - pool->segments[b->segment].address,
                                    .bytes = b->size};
    add_step(self, &step);
}

static uint64_t identify(uint64_t identity, const struct ff__operand *operand) {
    identity = ff__mix(identity ^ operand->array);
    identity = ff__mix(identity ^ operand->offset);
    identity = ff__mix(identity ^ operand->run);
    for (int i = 0; i < FF__LOOPS; i++)
        identity = ff__mix(identity ^ operand->loop[i].count);
    return identity;
}

static bool is_behind(const struct ff__operand *a, const struct ff__operand *b) {
    return a->array != b->array ? a->array > b->array : a->offset > b->offset;
}

/* Operands of a kernel are in the order of their addresses: faults then come in that order, too. */
static void place_use(struct placing *placing, uint32_t first, const struct ff__tensor_use *use) {
    struct ff__placement *out = placing->out;
    const struct ff__caching_block *block = &out->pool.blocks[placing->blocks[use->tensor]];
    placing->status = ff__grow(&out->operands, out->operand_count, sizeof *out->operands);
    if (placing->status)
        return;
    struct ff__operand operand = use->nest;
    operand.array = block->segment;
    operand.offset += block->address - out->pool.segments[block->segment].address;
    uint32_t at = out->operand_count++;
    for (; at > first && is_behind(&out->operands[at - 1], &operand); at--)
        out->operands[at] = out->operands[at - 1];
    out->operands[at] = operand;
}

static void place_kernel(struct placing *placing, uint32_t index) {
    const struct ff__tape_kernel *kernel = &placing->tape->kernels[index];
    struct ff__placement *out = placing->out;
    struct ff__placed step = {
        .kind = FF__ACTION_LAUNCH, .index = index, .first_operand = out->operand_count};
    for (const char *c = kernel->name; *c; c++)
        step.identity = ff__mix(step.identity ^ (unsigned char)*c);
    for (uint32_t i = 0; i < kernel->use_count && !placing->status; i++)
        place_use(placing, step.first_operand, &placing->tape->uses[kernel->first_use + i]);
    for (uint32_t i = step.first_operand; i < out->operand_count && !placing->status; i++)
        step.identity = identify(step.identity, &out->operands[i]);
    add_step(placing, &step);
}

static void place_op(struct placing *placing, const struct ff__op *op) {
    struct ff__caching *pool = &placing->out->pool;
    switch (op->kind) {
    case FF__OP_NEW:
        placing->status = ff__caching_allocate(pool, placing->tape->tensors[op->index].bytes,
                                               &placing->blocks[op->index]);
        break;
    case FF__OP_FREE:
        ff__caching_release(pool, placing->blocks[op->index]);
        break;
    case FF__OP_KERNEL:
        place_kernel(placing, op->index);
        break;
    case FF__OP_WORK:
    default:
        add_step(placing, &(struct ff__placed){.kind = FF__ACTION_WORK, .bytes = op->ns});
        break;
    }
}

static void place_round(struct placing *placing, uint32_t first, uint32_t end) {
    struct ff__placement *out = placing->out;
    for (uint32_t i = first; i < end && !placing->status; i++)
        place_op(placing, &placing->tape->ops[i]);
    add_step(placing, &(struct ff__placed){.kind = FF__ACTION_ITERATION});
    uint32_t *ends = realloc(out->iteration_end, (out->iteration_count + 1) * sizeof *ends);
    if (!ends)
        placing->status = -ENOMEM;
    else
        out->iteration_end = ends;
    if (!placing->status)
        out->iteration_end[out->iteration_count++] = out->step_count;
}

static void place_iterations(struct placing *placing, const struct ff__network_program *program,
                             uint64_t iterations) {
    struct ff__caching *pool = &placing->out->pool;
    uint64_t before = 0, state = 0;
    for (uint64_t i = 0; i < iterations && !placing->status; i++) {
        place_round(placing, i ? program->first_end : 0,
                    i ? program->tape.op_count : program->first_end);
        before = state;
        state = ff__caching_state(pool);
        if (i > 0 && state == before)
            break;
    }
}

int ff__placement_make(const struct ff__network_program *program, uint64_t iterations,
                       struct ff__placement *out, struct ff_error *error) {
    struct placing placing = {.tape = &program->tape, .out = out};
    memset(out, 0, sizeof *out);
    ff__caching_init(&out->pool, 0);
    out->pool.on_segment = on_segment;
    out->pool.on_block = on_block;
    out->pool.self = &placing;
    placing.blocks = malloc(program->tape.tensor_count * sizeof *placing.blocks);
    if (placing.blocks)
        place_iterations(&placing, program, iterations);
    else
        placing.status = -ENOMEM;
    free(placing.blocks);
    if (!placing.status)
        return 0;
    ff__placement_free(out);
    return ff__fail(error, placing.status, "no memory for the program of a network");
}

void ff__placement_free(struct ff__placement *placement) {
    ff__caching_fini(&placement->pool);
    free(placement->steps);
    free(placement->operands);
    free(placement->iteration_end);
    memset(placement, 0, sizeof *placement);
}
