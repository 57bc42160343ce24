/* Launches: a thread block is an item of a launch of farfault.h. */
#include "ptx/exec.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/scratch.h"
#include "ptx/block.h"
#include "ptx/fault.h"
#include "ptx/heap.h"
#include "ptx/operands.h"
#include "ptx/program.h"
#include "ptx/record.h"
#include "ptx/services.h"

#define MOST_SHARED      (227u << 10) /* bytes of a block on recent devices */
#define MOST_COOPERATIVE ((size_t)1 << 30)

/* What the items of a launch find: name and arguments of a launch make its identity, so there is
 * nothing in it that another launch with the same parameters would not have. */
struct arguments {
    const struct ff__ptx_kernel *kernel;
    uint32_t blocks[3], threads[3];
    uint32_t shared;
    bool cooperative;
    enum ff__ptx_schedule schedule;
    struct ff_context *records; /* NULL: accesses are not recorded */
    struct ff__ptx_heap *heap;  /* NULL: malloc() has nothing to give */
    uint8_t parameters[];
};

/* ---- what translated code calls ---- */

static struct ff__ptx_running *running_of(const struct ff_ptx_block *block) {
    return (struct ff__ptx_running *)(uintptr_t)block; /* its first member */
}

static void failed(const struct ff_ptx_block *block, const char *message) {
    struct ff__ptx_running *running = running_of(block);
    ff__ptx_block_fail(running, "kernel '%s', block (%u, %u, %u): %s", running->grid->name,
                       block->ctaid[0], block->ctaid[1], block->ctaid[2], message);
}

static void asserted(const struct ff_ptx_block *block, const char *message, const char *file,
                     uint32_t line, const char *function) {
    struct ff__ptx_running *running = running_of(block);
    running->code = -ECANCELED;
    ff__ptx_block_fail(running, "%s:%u: %s: block (%u, %u, %u): assertion '%s' failed", file, line,
                       function, block->ctaid[0], block->ctaid[1], block->ctaid[2], message);
}

static void faulted(void *self, const void *address) {
    struct ff__ptx_running *running = self;
    const struct ff_ptx_block *block = &running->block;
    running->code = -EFAULT;
    ff__ptx_block_fail(
        running, "kernel '%s', block (%u, %u, %u): an access to %p, which is no memory",
        running->grid->name, block->ctaid[0], block->ctaid[1], block->ctaid[2], address);
}

static uint64_t taken(const struct ff_ptx_block *block, uint64_t size) {
    struct ff__ptx_heap *heap = running_of(block)->grid->heap;
    return heap != NULL ? (uint64_t)(uintptr_t)ff__ptx_heap_take(heap, size) : 0;
}

static void given(const struct ff_ptx_block *block, uint64_t address) {
    struct ff__ptx_heap *heap = running_of(block)->grid->heap;
    void *piece = (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
    if (heap != NULL ? !ff__ptx_heap_give(heap, piece) : address != 0)
        failed(block, "free() of what malloc() has not given out");
}

static void accessed(const struct ff_ptx_block *block, const struct ff_ptx_lanes *lanes,
                     const struct ff_ptx_access *access) {
    struct ff__ptx_running *running = running_of(block);
    if (running->recording != NULL)
        ff__ptx_record(running->recording, running, lanes, access);
}

/* ---- failures ---- */

static void fail(struct ff__ptx_program *program, int code, const char *message) {
    ff__lock_acquire(&program->lock);
    if (program->failure == 0)
        program->failure = ff__fail(&program->failed, code, "%s", message);
    ff__lock_release(&program->lock);
}

static bool has_failed(struct ff__ptx_program *program) {
    ff__lock_acquire(&program->lock);
    bool failed = program->failure != 0;
    ff__lock_release(&program->lock);
    return failed;
}

int ff__ptx_failure(struct ff__ptx_program *program, struct ff_error *error) {
    ff__lock_acquire(&program->lock);
    int code = program->failure;
    if (code != 0 && error != NULL)
        *error = program->failed;
    program->failure = 0;
    ff__lock_release(&program->lock);
    return code;
}

/* ---- running blocks ---- */

/* A block that spins has to let others of the machine run. */
#define ROUNDS_BETWEEN_YIELDS 1024u

static void stuck(struct ff__ptx_running *running) {
    char message[sizeof running->failure];
    ff__ptx_block_describe(running, message, sizeof message);
    running->code = -EDEADLK;
    ff__ptx_block_fail(running, "%s", message);
}

static bool run_round(struct ff__ptx_running *running) {
    ff__ptx_fault_may_come(faulted, running);
    bool any = ff__ptx_block_round(running);
    if (running->recording != NULL)
        ff__ptx_record_round(running->recording, running);
    return any;
}

static void run_block(struct ff__ptx_running *running, uint64_t number) {
    ff__ptx_block_start(running, number);
    for (uint32_t rounds = 1; !ff__ptx_block_has_ended(running); rounds++) {
        if (!run_round(running))
            stuck(running);
        if (rounds % ROUNDS_BETWEEN_YIELDS == 0)
            sched_yield();
    }
}

/* Whether threads may spin until another block has done something: then blocks begin in order. */
static bool may_spin(const struct ff_ptx_code *code) {
    for (uint32_t i = 1; i < code->region_count; i++)
        if (code->regions[i].wait == FF_PTX_NONE)
            return true;
    return false;
}

static void run_blocks(struct ff__ptx_running *running, const struct ff_work *work) {
    bool backwards = running->grid->schedule == FF__PTX_SERIAL && !may_spin(running->grid->code);
    for (size_t i = work->first; i < work->end; i++)
        run_block(running, backwards ? work->count - 1 - i : i);
}

/* All blocks of the grid, in turns. */
static void run_together(struct ff__ptx_running **running, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        ff__ptx_block_start(running[i], i);
    for (bool any = true; any;) {
        struct ff__ptx_running *left = NULL;
        any = false;
        for (uint64_t i = 0; i < count; i++) {
            if (ff__ptx_block_has_ended(running[i]))
                continue;
            left = running[i];
            any |= run_round(running[i]);
        }
        if (left != NULL && !any)
            stuck(left);
    }
}

static uint64_t block_count(const uint32_t blocks[3]) {
    return (uint64_t)blocks[0] * blocks[1] * blocks[2];
}

/* Memory of an item: its blocks, pointers to them, the parameters where they are aligned. */
struct memory {
    uint64_t blocks;
    size_t pointers, parameters, workspace, size; /* offsets */
};

static size_t rounded(size_t size) {
    return (size + 255) / 256 * 256;
}

static struct memory memory_of(const struct ff__ptx_grid *grid, bool cooperative,
                               size_t parameter_size) {
    struct memory memory = {.blocks = cooperative ? block_count(grid->blocks) : 1};
    memory.pointers = memory.blocks * ff__ptx_block_size(grid);
    memory.parameters = memory.pointers + rounded(memory.blocks * sizeof(void *));
    memory.workspace = memory.parameters + rounded(parameter_size);
    memory.size = memory.workspace + (cooperative ? FF_PTX_WORKSPACE : 0);
    return memory;
}

static struct ff__ptx_grid grid_of(const struct arguments *arguments) {
    struct ff__ptx_grid grid = {.code = arguments->kernel->code,
                                .name = arguments->kernel->name,
                                .dynamic_shared = arguments->shared,
                                .schedule = arguments->schedule,
                                .heap = arguments->heap};
    memcpy(grid.blocks, arguments->blocks, sizeof grid.blocks);
    memcpy(grid.threads, arguments->threads, sizeof grid.threads);
    return grid;
}

static void run_in(uint8_t *memory, const struct memory *layout, struct ff__ptx_grid *grid,
                   const struct ff_work *work, const struct arguments *arguments,
                   struct ff__ptx_recording *recording) {
    struct ff__ptx_running **running = (void *)(memory + layout->pointers);
    struct ff_ptx_services services = ff__ptx_services;
    jmp_buf leave;
    services.fail = failed;
    services.assertion = asserted;
    services.access = accessed;
    services.take = taken;
    services.give = given;
    grid->services = &services;
    grid->parameters = memory + layout->parameters;
    memcpy(memory + layout->parameters, arguments->parameters, arguments->kernel->parameter_size);
    if (arguments->cooperative)
        memset(memory + layout->workspace, 0, FF_PTX_WORKSPACE);
    for (uint64_t i = 0; i < layout->blocks; i++) {
        running[i] = ff__ptx_block_place(memory + i * ff__ptx_block_size(grid), grid);
        running[i]->recording = recording;
        running[i]->leave = &leave;
        running[i]->block.worker = work->worker;
        if (arguments->cooperative)
            running[i]->block.workspace = memory + layout->workspace;
    }
    if (setjmp(leave) == 0) {
        if (arguments->cooperative)
            run_together(running, layout->blocks);
        else
            run_blocks(running[0], work);
        ff__ptx_fault_may_come(NULL, NULL);
        return;
    }
    ff__ptx_fault_may_come(NULL, NULL);
    for (uint64_t i = 0; i < layout->blocks; i++)
        if (running[i]->failure[0] != '\0')
            fail(arguments->kernel->program,
                 running[i]->code != 0 ? running[i]->code : -ENOTRECOVERABLE, running[i]->failure);
}

/* After a failure what is left of the program's launches does nothing, as on a device. */
static void run(const struct ff_work *work, void *argument) {
    const struct arguments *arguments = argument;
    struct ff__ptx_program *program = arguments->kernel->program;
    if (has_failed(program))
        return;
    struct ff__ptx_grid grid = grid_of(arguments);
    struct memory layout =
        memory_of(&grid, arguments->cooperative, arguments->kernel->parameter_size);
    uint8_t *memory = ff__scratch(layout.size);
    struct ff__ptx_recording *recording = NULL;
    if (arguments->records != NULL)
        recording = ff__ptx_record_begin(arguments->records, work->device, grid.code);
    if (memory == NULL || (arguments->records != NULL && recording == NULL))
        fail(program, -ENOMEM, "not enough memory for the threads of a block");
    else
        run_in(memory, &layout, &grid, work, arguments, recording);
    ff__ptx_record_end(recording);
}

/* ---- launching ---- */

bool ff__ptx_allocates(const struct ff__ptx_program *program) {
    const struct ff__ptx_module *module = program->module;
    for (uint32_t i = 0; i < module->function_count; i++)
        if (module->functions[i].is_declaration && strcmp(module->functions[i].name, "malloc") == 0)
            return true;
    return false;
}

static int check_sizes(const struct ff__ptx_kernel *kernel, const struct ff__ptx_launch *launch,
                       struct ff_error *error) {
    uint64_t threads = block_count(launch->block), blocks = block_count(launch->grid);
    if (threads == 0 || blocks == 0)
        return ff__fail(error, -EINVAL, "kernel '%s': a grid or block of no threads", kernel->name);
    uint64_t most = kernel->max_threads != 0 ? kernel->max_threads : FF_PTX_MAX_LANES;
    if (launch->block[0] > FF_PTX_MAX_LANES || launch->block[1] > FF_PTX_MAX_LANES ||
        launch->block[2] > FF_PTX_MAX_LANES || threads > most || threads > FF_PTX_MAX_LANES)
        return ff__fail(error, -EINVAL, "kernel '%s': a block of %u x %u x %u threads; at most %u",
                        kernel->name, launch->block[0], launch->block[1], launch->block[2],
                        (unsigned)(most < FF_PTX_MAX_LANES ? most : FF_PTX_MAX_LANES));
    if (launch->grid[0] > INT32_MAX || launch->grid[1] > UINT16_MAX || launch->grid[2] > UINT16_MAX)
        return ff__fail(error, -EINVAL,
                        "kernel '%s': a grid of %u x %u x %u blocks; at most 2147483647 x 65535 x "
                        "65535",
                        kernel->name, launch->grid[0], launch->grid[1], launch->grid[2]);
    if (launch->shared > MOST_SHARED || kernel->code->static_shared > MOST_SHARED - launch->shared)
        return ff__fail(error, -EINVAL,
                        "kernel '%s': %u bytes of shared memory and %u dynamic ones; at most %u",
                        kernel->name, kernel->code->static_shared, launch->shared, MOST_SHARED);
    if (launch->parameter_size < kernel->parameter_size)
        return ff__fail(error, -EINVAL, "kernel '%s': %zu bytes of parameters instead of %u",
                        kernel->name, launch->parameter_size, kernel->parameter_size);
    return 0;
}

static struct arguments *make_arguments(struct ff_context *context,
                                        const struct ff__ptx_kernel *kernel,
                                        const struct ff__ptx_launch *launch, size_t *size) {
    *size = sizeof(struct arguments) + kernel->parameter_size;
    struct arguments *arguments = calloc(1, *size);
    if (arguments == NULL)
        return NULL;
    arguments->kernel = kernel;
    memcpy(arguments->blocks, launch->grid, sizeof arguments->blocks);
    memcpy(arguments->threads, launch->block, sizeof arguments->threads);
    arguments->shared = launch->shared;
    arguments->cooperative = launch->cooperative;
    arguments->schedule = launch->schedule;
    arguments->heap = launch->heap;
    if (ff_records_accesses(context))
        arguments->records = context;
    memcpy(arguments->parameters, launch->parameters, kernel->parameter_size);
    return arguments;
}

static int submit(struct ff_context *context, struct ff_stream *stream,
                  const struct arguments *arguments, size_t size, struct ff_error *error) {
    const struct ff__ptx_kernel *kernel = arguments->kernel;
    const void *operands[FF__PTX_OPERANDS];
    struct ff__ptx_grid grid = grid_of(arguments);
    if (arguments->cooperative &&
        block_count(grid.blocks) > MOST_COOPERATIVE / ff__ptx_block_size(&grid))
        return ff__fail(error, -E2BIG,
                        "kernel '%s': a cooperative grid of %llu blocks; at most %zu", kernel->name,
                        (unsigned long long)block_count(grid.blocks),
                        MOST_COOPERATIVE / ff__ptx_block_size(&grid));
    struct ff_launch launch = {
        .name = kernel->name,
        .kernel = run,
        .grid = arguments->cooperative ? 1 : block_count(grid.blocks),
        .arguments = arguments,
        .argument_size = size,
        .operands = operands,
        .ctas = (uint32_t)block_count(grid.blocks),
        .warps = (uint32_t)((block_count(grid.threads) + FF_PTX_WARP - 1) / FF_PTX_WARP),
        .operand_count = ff__ptx_find_operands(context, arguments->parameters,
                                               kernel->parameter_size, operands)};
    int code = ff_kernel_launch(stream, &launch);
    return code == 0 ? 0
                     : ff__fail(error, code, "kernel '%s' can not be launched: %s", kernel->name,
                                strerror(-code));
}

int ff__ptx_launch(struct ff_context *context, struct ff_stream *stream,
                   struct ff__ptx_kernel *kernel, const struct ff__ptx_launch *launch,
                   struct ff_error *error) {
    int code = check_sizes(kernel, launch, error);
    if (code != 0)
        return code;
    size_t size;
    struct arguments *arguments = make_arguments(context, kernel, launch, &size);
    if (arguments == NULL)
        return ff__fail(error, -ENOMEM, "not enough memory");
    code = submit(context, stream, arguments, size, error);
    free(arguments);
    return code;
}
