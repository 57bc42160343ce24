#include "workload/graph/call.h"

#define BUCKETS 256u
#define STREAK  65536u /* bytes that go to one bucket at a time; ours */
#define DIGITS  4u     /* bytes of a number */
#define TILE    2048u  /* elements that a merge sort begins with; ours: of the order of thrust's */

static void fail(struct ff__call *call, int status) {
    if (call->status == 0)
        call->status = status;
}

struct ff__pool_block ff__call_take(struct ff__call *call, uint64_t bytes) {
    struct ff__pool_block buffer = {0, 0};
    fail(call, ff__pool_take(&call->pool, bytes, &buffer));
    return buffer;
}

void ff__call_give(struct ff__call *call, const struct ff__pool_block *buffer) {
    fail(call, ff__pool_give(&call->pool, buffer));
}

void ff__call_begin(struct ff__call *call, const char *name) {
    if (call->kernel_count == FF__CALL_KERNELS)
        fail(call, -ENOSPC);
    else
        call->kernels[call->kernel_count++] =
            (struct ff__call_kernel){.name = name, .first = call->operand_count};
}

void ff__call_use(struct ff__call *call, bool write, struct ff__operand operand) {
    struct ff__call_kernel *kernel = &call->kernels[call->kernel_count - 1];
    if (operand.run == 0)
        return;
    if (call->operand_count == FF__CALL_OPERANDS) {
        fail(call, -ENOSPC);
        return;
    }
    operand.write = write;
    call->operands[call->operand_count++] = operand;
    kernel->count++;
    kernel->traffic += (double)operand.run * (double)ff__operand_runs(&operand);
}

void ff__call_part(struct ff__call *call, const struct ff__pool_block *buffer, bool write,
                   uint64_t offset, uint64_t bytes) {
    ff__call_use(call, write, ff__operand_of(buffer->offset + offset, bytes));
}

void ff__call_stream(struct ff__call *call, const struct ff__pool_block *buffer, bool write) {
    ff__call_part(call, buffer, write, 0, buffer->bytes);
}

void ff__call_copy(struct ff__call *call, const char *name, const struct ff__pool_block *from,
                   const struct ff__pool_block *to, uint64_t bytes, bool by_engine) {
    ff__call_begin(call, name);
    call->kernels[call->kernel_count - 1].copies = by_engine;
    ff__call_part(call, from, false, 0, bytes);
    ff__call_part(call, to, true, 0, bytes);
}

void ff__call_scatter(struct ff__call *call, const struct ff__pool_block *buffer) {
    uint64_t bucket = buffer->bytes / BUCKETS, rounds = ff__ceil_div(bucket, STREAK);
    uint64_t streak = bucket / (rounds ? rounds : 1);
    if (streak == 0) {
        ff__call_stream(call, buffer, true);
        return;
    }
    struct ff__operand operand = ff__operand_of(buffer->offset, streak);
    operand.loop[FF__LOOPS - 2].count = rounds;
    operand.loop[FF__LOOPS - 2].stride = streak;
    operand.loop[FF__LOOPS - 1].count = BUCKETS;
    operand.loop[FF__LOOPS - 1].stride = bucket;
    ff__call_use(call, true, operand);
}

void ff__call_sort_radix(struct ff__call *call, const char *name,
                         const struct ff__pool_block *buffer) {
    struct ff__pool_block other = ff__call_take(call, buffer->bytes);
    for (uint32_t digit = 0; digit < DIGITS; digit++) {
        ff__call_begin(call, name);
        ff__call_stream(call, digit % 2 ? &other : buffer, false);
        ff__call_scatter(call, digit % 2 ? buffer : &other);
    }
    ff__call_give(call, &other);
}

static uint32_t merges_of(uint64_t count) {
    uint32_t passes = 0;
    for (uint64_t sorted = TILE; sorted < count; sorted *= 2)
        passes++;
    return passes;
}

void ff__call_sort_merge(struct ff__call *call, const char *name,
                         const struct ff__pool_block *const *buffers, uint32_t buffer_count,
                         uint64_t count) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < buffer_count; i++)
        bytes += buffers[i]->bytes;
    struct ff__pool_block other = ff__call_take(call, bytes);
    for (uint32_t pass = 0; pass < merges_of(count) / 2 * 2; pass++) {
        ff__call_begin(call, name);
        for (uint32_t i = 0; i < buffer_count; i++)
            ff__call_stream(call, buffers[i], pass % 2);
        ff__call_stream(call, &other, !(pass % 2));
    }
    ff__call_give(call, &other);
}
