/* Modules: directives, variables, functions. */
#include "ptx/read_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define UNUSED_REGISTERS 65536u /* that a module may declare beyond what its text has room for */

static void version(struct ff__ptx_reader *reader) {
    struct ff__ptx_token token = reader->token;
    ff__ptx_next(reader);
    double number = 0;
    if (token.kind == FF__PTX_NUMBER && token.number == FF__PTX_FLOAT64)
        memcpy(&number, &token.bits, sizeof number);
    if (!(number >= 1 && number < 100))
        ff__ptx_wrong(reader, ".version is not followed by a number such as 7.0");
    reader->module->version = (uint32_t)(number * 10 + 0.5);
}

static void target(struct ff__ptx_reader *reader) {
    struct ff__ptx_token name = ff__ptx_expect_name(reader);
    reader->module->target = ff__ptx_copy(reader, name.text, name.length);
    while (ff__ptx_take_sign(reader, ','))
        ff__ptx_expect_name(reader);
}

static void variable(struct ff__ptx_reader *reader, bool is_extern) {
    struct ff__ptx_module *module = reader->module;
    struct ff__ptx_variable made = ff__ptx_declaration(reader);
    made.is_extern |= is_extern;
    if (made.space == FF__PTX_GENERIC || made.space == FF__PTX_REG || made.space == FF__PTX_PARAM)
        ff__ptx_wrong(reader, "'%s' outside of functions is in no memory", made.name);
    if (ff__ptx_take_sign(reader, '='))
        ff__ptx_initial(reader, &made);
    ff__ptx_expect(reader, ';');
    struct ff__ptx_name *known = ff__ptx_lookup(reader, made.name, (uint32_t)strlen(made.name));
    if (known != NULL && known->kind == FF__PTX_NAMED_VARIABLE) { /* declared before */
        if (!made.is_extern)
            module->variables[known->index] = made;
        return;
    }
    uint32_t index = module->variable_count;
    *(struct ff__ptx_variable *)ff__ptx_append(reader, &module->variables, &module->variable_count,
                                               sizeof made) = made;
    ff__ptx_define(reader, made.name, (uint32_t)strlen(made.name), FF__PTX_NAMED_VARIABLE, index);
}

/* ---- functions ---- */

/* .maxntid 128, 1, 1 and the like. */
static void performance(struct ff__ptx_reader *reader) {
    struct ff__ptx_function *function = reader->function;
    while (reader->token.kind == FF__PTX_DOTTED) {
        bool threads = ff__ptx_is_dotted(reader, "maxntid") || ff__ptx_is_dotted(reader, "reqntid");
        bool pragma = ff__ptx_is_dotted(reader, "pragma");
        ff__ptx_next(reader);
        uint64_t product = 1;
        while (reader->token.kind == FF__PTX_NUMBER) {
            product *= ff__ptx_expect_integer(reader);
            if (!ff__ptx_take_sign(reader, ','))
                break;
        }
        if (threads)
            function->max_threads = (uint32_t)product;
        if (pragma)
            while (!ff__ptx_take_sign(reader, ';') && reader->token.kind != FF__PTX_END)
                ff__ptx_next(reader);
        if (ff__ptx_is_sign(reader, '('))
            ff__ptx_wrong(reader, "a directive that is not known");
    }
}

static void define_all(struct ff__ptx_reader *reader, const struct ff__ptx_variable *variables,
                       uint32_t count, enum ff__ptx_named kind) {
    for (uint32_t i = 0; i < count; i++)
        ff__ptx_define(reader, variables[i].name, (uint32_t)strlen(variables[i].name), kind, i);
}

static void place_parameters(struct ff__ptx_reader *reader) {
    struct ff__ptx_function *function = reader->function;
    function->parameter_offsets =
        ff__ptx_need(reader, function->parameter_count, sizeof *function->parameter_offsets);
    uint64_t at = 0;
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        const struct ff__ptx_variable *parameter = &function->parameters[i];
        if (parameter->space != FF__PTX_PARAM)
            ff__ptx_wrong(reader, "parameters in registers are not supported");
        at = (at + parameter->align - 1) / parameter->align * parameter->align;
        function->parameter_offsets[i] = (uint32_t)at;
        at += parameter->size;
        if (at > 1 << 20)
            ff__ptx_wrong(reader, "more than 1 MiB of parameters");
    }
    function->parameter_size = (uint32_t)at;
}

static void resolve_labels(struct ff__ptx_reader *reader) {
    const struct ff__ptx_function *function = reader->function;
    for (uint32_t i = 0; i < function->label_count; i++)
        if (function->labels[i].instruction == FF__PTX_NONE)
            ff__ptx_wrong(reader, "'%s' is not declared", function->labels[i].name);
}

/* What is wrong in a body refuses the function; the reader goes on behind its last brace. */
static void definition(struct ff__ptx_reader *reader) {
    struct ff__ptx_function *function = reader->function;
    const char *at = reader->at;
    uint32_t line = reader->line;
    struct ff__ptx_token token = reader->token;
    jmp_buf *outside = reader->leave;
    jmp_buf here;
    reader->leave = &here;
    if (setjmp(here) == 0) {
        ff__ptx_enter(reader);
        place_parameters(reader);
        define_all(reader, function->parameters, function->parameter_count,
                   FF__PTX_NAMED_PARAMETER);
        define_all(reader, function->results, function->result_count, FF__PTX_NAMED_RESULT);
        ff__ptx_body(reader);
        resolve_labels(reader);
        ff__ptx_leave(reader);
        reader->leave = outside;
        return;
    }
    reader->leave = outside;
    if (reader->code != -EINVAL)
        longjmp(*outside, 1);
    memcpy(function->refused, reader->message, sizeof function->refused);
    function->instruction_count = 0;
    while (reader->scope != 0)
        ff__ptx_leave(reader);
    reader->instruction = NULL;
    reader->code = 0;
    reader->at = at;
    reader->line = line;
    reader->token = token;
    ff__ptx_skip_braces(reader);
}

/* A function may be declared, before it is defined and after; its number stays. */
static uint32_t function_number(struct ff__ptx_reader *reader, const struct ff__ptx_token *name) {
    struct ff__ptx_module *module = reader->module;
    const struct ff__ptx_name *known = ff__ptx_lookup(reader, name->text, name->length);
    if (known != NULL && known->kind != FF__PTX_NAMED_FUNCTION)
        ff__ptx_wrong(reader, "'%.*s' is defined twice", (int)name->length, name->text);
    if (known != NULL)
        return known->index;
    uint32_t index = module->function_count;
    struct ff__ptx_function *added =
        ff__ptx_append(reader, &module->functions, &module->function_count, sizeof *added);
    added->name = ff__ptx_copy(reader, name->text, name->length);
    added->is_declaration = true;
    ff__ptx_define(reader, added->name, name->length, FF__PTX_NAMED_FUNCTION, index);
    return index;
}

static void function(struct ff__ptx_reader *reader, bool is_entry) {
    struct ff__ptx_function made = {.is_entry = is_entry};
    if (ff__ptx_take_dotted(reader, "attribute"))
        while (!ff__ptx_take_sign(reader, ')') && reader->token.kind != FF__PTX_END)
            ff__ptx_next(reader);
    if (ff__ptx_is_sign(reader, '('))
        made.results = ff__ptx_parameters(reader, &made.result_count);
    made.line = reader->token.line;
    struct ff__ptx_token name = ff__ptx_expect_name(reader);
    if (ff__ptx_is_sign(reader, '('))
        made.parameters = ff__ptx_parameters(reader, &made.parameter_count);
    uint32_t index = function_number(reader, &name);
    const struct ff__ptx_function before = reader->module->functions[index];
    made.name = before.name;
    reader->module->functions[index] = made;
    reader->function = &reader->module->functions[index];
    performance(reader);
    reader->function->is_declaration = ff__ptx_take_sign(reader, ';');
    if (!before.is_declaration && !reader->function->is_declaration)
        ff__ptx_wrong(reader, "'%s' is defined twice", made.name);
    if (!before.is_declaration)
        *reader->function = before;
    else if (!reader->function->is_declaration)
        definition(reader);
}

/* ---- modules ---- */

static void linkage(struct ff__ptx_reader *reader, bool *is_extern) {
    for (;;) {
        if (ff__ptx_take_dotted(reader, "extern"))
            *is_extern = true;
        else if (!ff__ptx_take_dotted(reader, "visible") && !ff__ptx_take_dotted(reader, "weak") &&
                 !ff__ptx_take_dotted(reader, "common"))
            return;
    }
}

static void item(struct ff__ptx_reader *reader) {
    bool is_extern = false;
    linkage(reader, &is_extern);
    if (ff__ptx_take_dotted(reader, "entry")) {
        function(reader, true);
    } else if (ff__ptx_take_dotted(reader, "func")) {
        function(reader, false);
    } else if (ff__ptx_take_dotted(reader, "version")) {
        version(reader);
    } else if (ff__ptx_take_dotted(reader, "target")) {
        target(reader);
    } else if (ff__ptx_take_dotted(reader, "address_size")) {
        if (ff__ptx_expect_integer(reader) != 64)
            ff__ptx_wrong(reader, "only modules with addresses of 64 bits are supported");
    } else if (ff__ptx_take_dotted(reader, "pragma") || ff__ptx_take_dotted(reader, "alias")) {
        while (!ff__ptx_take_sign(reader, ';') && reader->token.kind != FF__PTX_END)
            ff__ptx_next(reader);
    } else if (!ff__ptx_debugging(reader)) {
        if (reader->token.kind != FF__PTX_DOTTED)
            ff__ptx_wrong(reader, "'%.*s' where a directive should be", (int)reader->token.length,
                          reader->token.text);
        variable(reader, is_extern);
    }
}

static void number_variables(struct ff__ptx_module *module, struct ff__ptx_variable *variables,
                             uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (ff__ptx_in_memory(&variables[i]))
            variables[i].number = module->memory_count++;
}

static void number_all(struct ff__ptx_module *module) {
    number_variables(module, module->variables, module->variable_count);
    for (uint32_t i = 0; i < module->function_count; i++)
        number_variables(module, module->functions[i].variables,
                         module->functions[i].variable_count);
}

static void module(struct ff__ptx_reader *reader) {
    ff__ptx_next(reader);
    if (!ff__ptx_is_dotted(reader, "version"))
        ff__ptx_wrong(reader, "this is not PTX: it does not begin with .version");
    while (reader->token.kind != FF__PTX_END)
        item(reader);
    number_all(reader->module);
}

int ff__ptx_read(const char *text, size_t size, struct ff__ptx_module **out,
                 struct ff_error *error) {
    struct ff__ptx_arena *arena = ff__ptx_arena_new();
    struct ff__ptx_reader *reader = calloc(1, sizeof *reader);
    struct ff__ptx_module *made =
        arena == NULL ? NULL : ff__ptx_arena_alloc(arena, 1, sizeof *made);
    if (reader == NULL || made == NULL) {
        free(reader);
        ff__ptx_arena_free(arena);
        return ff__fail(error, -ENOMEM, "not enough memory for a PTX module");
    }
    made->arena = arena;
    jmp_buf leave;
    reader->at = text;
    reader->end = text + size;
    reader->registers_left = size + UNUSED_REGISTERS;
    reader->line = 1;
    reader->arena = arena;
    reader->module = made;
    reader->leave = &leave;
    if (setjmp(leave) == 0)
        module(reader);
    int code = reader->code;
    if (code != 0) {
        ff__fail(error, code, "%s", reader->message);
        ff__ptx_arena_free(arena);
    } else {
        *out = made;
    }
    free(reader);
    return code;
}

void ff__ptx_module_free(struct ff__ptx_module *module) {
    if (module != NULL)
        ff__ptx_arena_free(module->arena);
}
