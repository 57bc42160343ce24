#include "ptx/opencl.h"

#include "base/error.h"
#include "ptx/compile.h"
#include "ptx/inline.h"
#include "ptx/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const headers[] = {
#include "ptx_opencl.inc"
};

/* Loops as they are: copies of their bodies tell the analysis less. The program's options follow,
 * and the language, unless they name it. */
static const char *const first_flags[] = {"-x",
                                          "cl",
                                          "-target",
                                          "nvptx64-nvidia-cuda",
                                          "-Xclang",
                                          "-finclude-default-header",
                                          "-S",
                                          "-O2",
                                          "-fno-unroll-loops",
                                          "-fno-vectorize",
                                          "-fno-slp-vectorize",
                                          "-w",
                                          "-Qunused-arguments",
                                          "-cl-std=CL1.2"};
static const char *const last_flags[] = {"-", NULL};
#define FIRST (sizeof first_flags / sizeof *first_flags)
#define LAST  (sizeof last_flags / sizeof *last_flags)

/* ---- options ---- */

/* The next word, without its quotes, which ends with a zero then; NULL: there is none. */
static char *next_word(char **at) {
    char *from = *at + strspn(*at, " \t\n"), *to = from, *word = from;
    char quote = '\0';
    if (*from == '\0')
        return NULL;
    for (; *from != '\0' && (quote != '\0' || strchr(" \t\n", *from) == NULL); from++) {
        if (*from == '\\' && (from[1] == '"' || from[1] == '\\'))
            *to++ = *++from;
        else if (quote == '\0' && (*from == '"' || *from == '\''))
            quote = *from;
        else if (*from == quote)
            quote = '\0';
        else
            *to++ = *from;
    }
    *at = *from != '\0' ? from + 1 : from;
    *to = '\0';
    return word;
}

/* What changes which code a kernel has. */
static bool counts(const char *word) {
    return strncmp(word, "-D", 2) == 0 || strncmp(word, "-I", 2) == 0 ||
           strncmp(word, "-U", 2) == 0 || strncmp(word, "-cl-", 4) == 0;
}

/* `options` is changed, and holds the words. The caller frees the list. */
static const char **make_flags(char *options) {
    size_t most = FIRST + strlen(options) / 2 + 1 + LAST, count = FIRST;
    const char **flags = calloc(most, sizeof *flags);
    if (flags == NULL)
        return NULL;
    memcpy(flags, first_flags, sizeof first_flags);
    for (char *word; (word = next_word(&options)) != NULL;) {
        if (!counts(word))
            continue;
        flags[count++] = word;
        bool is_apart = word[0] == '-' && word[1] != 'c' && word[2] == '\0';
        char *value = is_apart ? next_word(&options) : NULL;
        if (value != NULL)
            flags[count++] = value;
    }
    memcpy(flags + count, last_flags, sizeof last_flags);
    return flags;
}

/* ---- clang's result ---- */

/* Names are mangled as in C++: _Z, the length of the name, the name, the types of parameters. */
static bool takes_no_pointer(const char *name) {
    char *types;
    if (strncmp(name, "_Z", 2) != 0)
        return false;
    unsigned long length = strtoul(name + 2, &types, 10);
    return length < strlen(types) && strchr(types + length, 'P') == NULL;
}

static bool is_plain(const struct ff__ptx_module *module, const struct ff__ptx_function *function,
                     const struct ff__ptx_instruction *call) {
    for (uint32_t i = 0; i < call->operand_count; i++) {
        const struct ff__ptx_operand *operand = &function->operands[call->operands + i];
        if (operand->kind == FF__PTX_FUNCTION)
            return module->functions[operand->index].is_declaration &&
                   takes_no_pointer(module->functions[operand->index].name);
    }
    return false;
}

static void mark_plain_calls(const struct ff__ptx_module *module,
                             struct ff__ptx_function *function) {
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        struct ff__ptx_instruction *instruction = &function->instructions[i];
        instruction->is_plain =
            instruction->opcode == FF__PTX_OP_call && is_plain(module, function, instruction);
    }
}

static int read_module(int object, struct ff__ptx_module **out, struct ff_error *error) {
    struct stat about;
    if (fstat(object, &about) != 0)
        return ff__fail(error, -errno, "PTX that clang made cannot be read: %s", strerror(errno));
    size_t size = (size_t)about.st_size;
    char *text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, object, 0);
    if (text == MAP_FAILED)
        return ff__fail(error, -errno, "PTX that clang made cannot be read: %s", strerror(errno));
    int code = ff__ptx_read(text, size, out, error);
    munmap(text, size);
    if (code != 0)
        return code;
    for (uint32_t i = 0; i < (*out)->function_count; i++)
        mark_plain_calls(*out, &(*out)->functions[i]);
    code = ff__ptx_inline(*out);
    if (code != 0)
        ff__ptx_module_free(*out);
    return code == 0 ? 0 : ff__fail(error, code, "not enough memory for a module in PTX");
}

static int compile(const char *text, size_t size, const char *const *flags,
                   struct ff__ptx_module **out, struct ff_error *error) {
    struct ff__ptx_compiler clang;
    int code = ff__ptx_clang_find(&clang, error);
    if (code != 0)
        return code;
    clang.flags = flags;
    int object = ff__ptx_compile(&clang, text, size, error);
    ff__ptx_compiler_free(&clang);
    if (object < 0)
        return object;
    code = read_module(object, out, error);
    close(object);
    return code;
}

int ff__ptx_from_opencl(const char *source, size_t size, const char *options,
                        struct ff__ptx_module **out, struct ff_error *error) {
    char *text = NULL, *words = strdup(options);
    const char **flags = words != NULL ? make_flags(words) : NULL;
    int code = -ENOMEM;
    int length = asprintf(&text, "%s#line 1\n%.*s", headers[0], (int)size, source);
    if (length >= 0 && flags != NULL) {
        code = compile(text, (size_t)length, flags, out, error);
    } else {
        ff__fail(error, code, "not enough memory to compile");
    }
    free(flags);
    free(words);
    if (length >= 0)
        free(text);
    return code;
}
