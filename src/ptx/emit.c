/* Modules: which functions are written, the places of shared memory, the table of kernels. */
#include "ptx/emit_internal.h"

#include "base/error.h"
#include "ptx/inline.h"
#include "ptx/prelude.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

bool ff__ptx_text_open(struct ff__ptx_text *text) {
    *text = (struct ff__ptx_text){0};
    text->file = open_memstream(&text->text, &text->size);
    return text->file != NULL;
}

void ff__ptx_text_close(struct ff__ptx_text *text) {
    if (text->file != NULL)
        fclose(text->file);
    text->file = NULL;
}

void ff__ptx_line(struct ff__ptx_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(text->file, format, arguments);
    va_end(arguments);
    fputc('\n', text->file);
}

const char *ff__ptx_format(struct ff__ptx_emit *emit, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = ff__ptx_emit_need(emit, (size_t)length + 1, 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

void *ff__ptx_emit_need(struct ff__ptx_emit *emit, size_t count, size_t size) {
    void *memory = ff__ptx_arena_alloc(emit->arena, count + 1, size);
    if (memory == NULL)
        ff__ptx_refuse(emit, "not enough memory");
    return memory;
}

/* The instruction as it was written, as far as its parts are kept. */
static void describe(const struct ff__ptx_instruction *instruction, char *out, size_t size) {
    size_t used = (size_t)snprintf(out, size, "%s", ff__ptx_opcode_name(instruction->opcode));
    for (uint32_t m = 0; m < FF__PTX_MODIFIERS && used < size; m++)
        if (ff__ptx_has(instruction, m))
            used += (size_t)snprintf(out + used, size - used, ".%s", ff__ptx_modifier_name(m));
    for (uint32_t i = 0; i < instruction->type_count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, ".%s",
                                 ff__ptx_type_name(instruction->types[i]));
}

_Noreturn void ff__ptx_refuse(struct ff__ptx_emit *emit, const char *format, ...) {
    char *out = emit->function->refused;
    size_t size = sizeof emit->function->refused, used;
    if (emit->instruction != NULL) {
        char instruction[128];
        describe(emit->instruction, instruction, sizeof instruction);
        used = (size_t)snprintf(out, size, "line %u: %s: ", emit->instruction->line, instruction);
    } else {
        used = (size_t)snprintf(out, size, "line %u: ", emit->function->line);
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + used, size - used, format, arguments);
    va_end(arguments);
    longjmp(*emit->leave, 1);
}

void ff__ptx_need_length(struct ff__ptx_emit *emit) {
    if (emit->function->instruction_count > FF__PTX_MOST_INSTRUCTIONS)
        ff__ptx_refuse(emit, "more than %u instructions", FF__PTX_MOST_INSTRUCTIONS);
}

/* ---- shared and local memory ---- */

#define MOST_LOCAL      ((uint64_t)512 << 10) /* of a thread, as for GPUs */
#define MOST_SHARED     ((uint64_t)1 << 30)   /* of a kernel; what a launch may have is less */
#define MOST_PARAMETERS ((uint64_t)1 << 20)   /* of a call: buffers lie on the stack */

static uint64_t place(uint64_t *end, const struct ff__ptx_variable *variable) {
    uint64_t at = (*end + variable->align - 1) / variable->align * variable->align;
    *end = at + variable->size;
    return at;
}

/* Which of the module's shared variables a function's instructions name. */
static void place_named(struct ff__ptx_emit *emit, const struct ff__ptx_function *function,
                        uint64_t *offsets, uint64_t *end) {
    for (uint32_t i = 0; i < function->operand_count; i++) {
        const struct ff__ptx_operand *operand = &function->operands[i];
        if (operand->kind != FF__PTX_VARIABLE || offsets[operand->index] != UINT64_MAX)
            continue;
        const struct ff__ptx_variable *variable = &emit->module->variables[operand->index];
        if (variable->space == FF__PTX_SHARED && variable->size != 0)
            offsets[operand->index] = place(end, variable);
    }
}

static void place_own(struct ff__ptx_emit *emit, uint64_t *shared, uint64_t *local) {
    const struct ff__ptx_function *function = emit->function;
    emit->own_offsets =
        ff__ptx_emit_need(emit, function->variable_count, sizeof *emit->own_offsets);
    for (uint32_t i = 0; i < function->variable_count; i++) {
        const struct ff__ptx_variable *variable = &function->variables[i];
        if (variable->space == FF__PTX_SHARED)
            emit->own_offsets[i] = place(shared, variable);
        else if (variable->space == FF__PTX_LOCAL)
            emit->own_offsets[i] = place(local, variable);
        if (variable->space == FF__PTX_PARAM && variable->size > MOST_PARAMETERS)
            ff__ptx_refuse(emit, "more than 1 MiB for '%s'", variable->name);
    }
    if (*local > MOST_LOCAL)
        ff__ptx_refuse(emit, "more than 512 KiB of local memory for a thread");
}

/* ---- which functions ---- */

static bool is_wanted(const struct ff__ptx_emit *emit, uint32_t number) {
    const struct ff__ptx_function *function = &emit->module->functions[number];
    return function->is_entry && !function->is_declaration && function->refused[0] == '\0' &&
           (emit->options->count == 0 || number - emit->options->first < emit->options->count);
}

static bool is_callable(const struct ff__ptx_function *function) {
    return !function->is_entry && !function->inlined && !function->is_declaration &&
           function->refused[0] == '\0';
}

static void take_from_values(struct ff__ptx_emit *emit, const struct ff__ptx_function *function) {
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ff__ptx_instruction *instruction = &function->instructions[i];
        const struct ff__ptx_operand *operands = &function->operands[instruction->operands];
        for (uint32_t k = 0; k < instruction->operand_count; k++)
            if (operands[k].kind == FF__PTX_FUNCTION && instruction->opcode != FF__PTX_OP_call)
                emit->is_taken[operands[k].index] = true;
    }
}

/* Those whose address is anywhere in the module: any kernel may call them. */
static void find_taken(struct ff__ptx_emit *emit) {
    const struct ff__ptx_module *module = emit->module;
    for (uint32_t i = 0; i < module->function_count; i++)
        take_from_values(emit, &module->functions[i]);
    for (uint32_t i = 0; i < module->variable_count; i++)
        for (uint32_t k = 0; k < module->variables[i].reference_count; k++)
            if (module->variables[i].references[k].is_function)
                emit->is_taken[module->variables[i].references[k].index] = true;
}

/* Marks what a function calls that is not marked yet, and puts it on the stack. */
static void add_called(struct ff__ptx_emit *emit, const struct ff__ptx_function *function,
                       uint32_t *stack, uint32_t *depth) {
    for (uint32_t i = 0; i < function->operand_count; i++) {
        uint32_t number = function->operands[i].index;
        if (function->operands[i].kind != FF__PTX_FUNCTION || emit->has_function[number] ||
            !is_callable(&emit->module->functions[number]))
            continue;
        emit->has_function[number] = true;
        stack[(*depth)++] = number;
    }
}

/* Those that the wanted kernels may call; all if they are all kernels. */
static void find_functions(struct ff__ptx_emit *emit, uint32_t *stack) {
    const struct ff__ptx_module *module = emit->module;
    uint32_t depth = 0;
    find_taken(emit);
    for (uint32_t i = 0; i < module->function_count; i++) {
        if (is_wanted(emit, i))
            add_called(emit, &module->functions[i], stack, &depth);
        if ((!emit->is_taken[i] && emit->options->count != 0) || emit->has_function[i] ||
            !is_callable(&module->functions[i]))
            continue;
        emit->has_function[i] = true;
        stack[depth++] = i;
    }
    while (depth != 0)
        add_called(emit, &module->functions[stack[--depth]], stack, &depth);
}

/* ---- functions ---- */

static bool translated(struct ff__ptx_emit *emit, uint32_t number,
                       void (*translate)(struct ff__ptx_emit *, uint32_t)) {
    jmp_buf leave;
    emit->function = &emit->module->functions[number];
    emit->function_number = number;
    emit->instruction = NULL;
    emit->leave = &leave;
    bool done = false;
    if (setjmp(leave) == 0) {
        translate(emit, number);
        done = true;
    }
    emit->leave = NULL;
    return done;
}

/* All functions of the module have their shared variables, whether they are written or not: one
 * that is called by its address may be another shared object's. */
static void place_shared(struct ff__ptx_emit *emit, uint32_t number) {
    uint64_t local = 0;
    emit->shared_starts[number] = emit->shared_size;
    place_own(emit, &emit->shared_size, &local);
    place_named(emit, emit->function, emit->shared_offsets, &emit->shared_size);
}

static void place_functions(struct ff__ptx_emit *emit) {
    const struct ff__ptx_module *module = emit->module;
    memset(emit->shared_offsets, 0xff, module->variable_count * sizeof *emit->shared_offsets);
    for (uint32_t i = 0; i < module->function_count; i++)
        if (is_callable(&module->functions[i]))
            translated(emit, i, place_shared);
}

static void device_function(struct ff__ptx_emit *emit, uint32_t number) {
    uint64_t shared = emit->shared_starts[number];
    emit->local_size = 0;
    place_own(emit, &shared, &emit->local_size);
    if (!ff__ptx_text_open(&emit->body))
        ff__ptx_refuse(emit, "not enough memory");
    ff__ptx_emit_function(emit, number);
}

/* A function that calls a refused one is refused, too: so all are written anew until no more are
 * refused. */
static void write_functions(struct ff__ptx_emit *emit) {
    struct ff__ptx_module *module = emit->module;
    char **texts = calloc(module->function_count + 1ul, sizeof *texts);
    for (bool again = texts != NULL; again;) {
        again = false;
        for (uint32_t i = 0; i < module->function_count; i++) {
            if (!emit->has_function[i])
                continue;
            bool done = translated(emit, i, device_function);
            ff__ptx_text_close(&emit->body);
            free(texts[i]);
            texts[i] = emit->body.text;
            emit->body.text = NULL;
            emit->has_function[i] = done;
            again |= !done;
        }
    }
    for (uint32_t i = 0; i < module->function_count; i++)
        if (emit->has_function[i])
            ff__ptx_line(&emit->out,
                         "static void F%u(const struct ff_lane *t, u64 param, u64 result);", i);
    for (uint32_t i = 0; texts != NULL && i < module->function_count; i++) {
        if (emit->has_function[i])
            fputs(texts[i], emit->out.file);
        free(texts[i]);
    }
    free(texts);
}

static bool has_calls(const struct ff__ptx_function *function) {
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (function->instructions[i].opcode == FF__PTX_OP_call)
            return true;
    return false;
}

static void kernel(struct ff__ptx_emit *emit, uint32_t number) {
    struct ff__ptx_module *module = emit->module;
    emit->kernel_shared =
        ff__ptx_emit_need(emit, module->variable_count, sizeof *emit->kernel_shared);
    bool calls = has_calls(emit->function);
    memset(emit->kernel_shared, 0xff, module->variable_count * sizeof *emit->kernel_shared);
    emit->static_shared = 0;
    if (calls) { /* what functions use lies where they find it */
        memcpy(emit->kernel_shared, emit->shared_offsets,
               module->variable_count * sizeof *emit->kernel_shared);
        emit->static_shared = emit->shared_size;
    }
    place_named(emit, emit->function, emit->kernel_shared, &emit->static_shared);
    emit->local_size = 0;
    place_own(emit, &emit->static_shared, &emit->local_size);
    emit->function->shared_size = emit->static_shared;
    emit->static_shared = (emit->static_shared + 15) / 16 * 16;
    if (emit->static_shared > MOST_SHARED)
        ff__ptx_refuse(emit, "more than 1 GiB of shared memory");
    emit->local_size = (emit->local_size + 15) / 16 * 16;
    ff__ptx_emit_kernel(emit, number);
}

/* A refused kernel's text does not reach the module's. */
static bool write_kernel(struct ff__ptx_emit *emit, uint32_t number, struct ff__ptx_text *rows) {
    struct ff__ptx_kernel_emit state = {0};
    struct ff__ptx_text module_text = emit->out;
    struct ff__ptx_arena *arena = emit->arena, *own = ff__ptx_arena_new();
    emit->arena = own;
    emit->kernel = &state;
    bool opened = own != NULL && ff__ptx_text_open(&emit->out);
    bool done = opened && translated(emit, number, kernel);
    if (opened)
        ff__ptx_text_close(&emit->out);
    if (done) {
        fputs(emit->out.text, module_text.file);
        ff__ptx_line(rows, "{\"%s\", K%u_regions, %u, %u, sizeof(struct K%u_state), %llu, %llu},",
                     emit->function->name, number, state.regions.count, ff__ptx_lanes_of(emit),
                     number, (unsigned long long)emit->local_size,
                     (unsigned long long)emit->static_shared);
    }
    if (opened)
        free(emit->out.text);
    ff__ptx_free_texts(&state);
    ff__ptx_text_close(&emit->body);
    free(emit->body.text);
    emit->body = (struct ff__ptx_text){0};
    if (emit->arena != own) /* that of the region in which it was refused */
        ff__ptx_arena_free(emit->arena);
    ff__ptx_arena_free(own);
    emit->arena = arena;
    emit->out = module_text;
    emit->kernel = NULL;
    return done;
}

/* ---- the table ---- */

static void write_image(struct ff__ptx_emit *emit, const char *rows, uint32_t kernels) {
    struct ff__ptx_text *out = &emit->out;
    uint32_t functions = 0;
    ff__ptx_line(out, "static const struct ff_ptx_code kernels[] = {%s{0}};", rows);
    ff__ptx_line(out, "static const struct ff_ptx_function functions[] = {");
    for (uint32_t i = 0; i < emit->module->function_count; i++)
        if (emit->is_taken[i] && emit->has_function[i]) {
            ff__ptx_line(out, "{%u, F%u},", i, i);
            functions++;
        }
    ff__ptx_line(out, "{0}};");
    ff__ptx_line(out,
                 "__attribute__((visibility(\"default\"))) const struct ff_ptx_image ff_ptx_image "
                 "= {FF_PTX_ABI, %u, %u, %u, kernels, functions, variables};",
                 kernels, functions, emit->module->memory_count);
}

static bool write_module(struct ff__ptx_emit *emit) {
    struct ff__ptx_module *module = emit->module;
    struct ff__ptx_text rows;
    if (!ff__ptx_text_open(&rows))
        return false;
    for (size_t i = 0; i < ff__ptx_prelude_count; i++)
        fputs(ff__ptx_prelude[i], emit->out.file);
    ff__ptx_line(&emit->out, "static u8 *variables[%u];", module->memory_count + 1);
    place_functions(emit);
    write_functions(emit);
    uint32_t kernels = 0;
    for (uint32_t i = 0; i < module->function_count; i++)
        if (is_wanted(emit, i))
            kernels += write_kernel(emit, i, &rows);
    ff__ptx_text_close(&rows);
    write_image(emit, rows.text, kernels);
    free(rows.text);
    return true;
}

/* Tables by function and variable, and what is in the text. */
static bool prepare(struct ff__ptx_emit *emit) {
    const struct ff__ptx_module *module = emit->module;
    size_t functions = module->function_count + 1ul, variables = module->variable_count + 1ul;
    struct ff__ptx_arena *arena = emit->arena;
    uint32_t *stack = ff__ptx_arena_alloc(arena, functions, sizeof *stack);
    emit->shared_offsets = ff__ptx_arena_alloc(arena, variables, sizeof *emit->shared_offsets);
    emit->shared_starts = ff__ptx_arena_alloc(arena, functions, sizeof *emit->shared_starts);
    emit->has_function = ff__ptx_arena_alloc(arena, functions, sizeof *emit->has_function);
    emit->is_taken = ff__ptx_arena_alloc(arena, functions, sizeof *emit->is_taken);
    if (stack == NULL || emit->shared_offsets == NULL || emit->shared_starts == NULL ||
        emit->has_function == NULL || emit->is_taken == NULL)
        return false;
    find_functions(emit, stack);
    return true;
}

int ff__ptx_emit(struct ff__ptx_module *module, const struct ff__ptx_emit_options *options,
                 char **out, size_t *size, struct ff_error *error) {
    struct ff__ptx_emit emit = {.module = module, .options = options};
    emit.arena = ff__ptx_arena_new();
    bool done = emit.arena != NULL && ff__ptx_inline(module) == 0 && ff__ptx_text_open(&emit.out);
    if (done) {
        done = prepare(&emit) && write_module(&emit) && ferror(emit.out.file) == 0;
        ff__ptx_text_close(&emit.out);
    }
    ff__ptx_arena_free(emit.arena);
    if (!done) {
        free(emit.out.text);
        return ff__fail(error, -ENOMEM, "not enough memory to translate a PTX module");
    }
    *out = emit.out.text;
    *size = emit.out.size;
    return 0;
}
