/* What the parts of the reader share: tokens, names in scopes, growing arrays. */
#ifndef FF_PTX_READ_INTERNAL_H
#define FF_PTX_READ_INTERNAL_H

#include "ptx/arena.h"
#include "ptx/read.h"
#include <setjmp.h>

enum ff__ptx_token_kind {
    FF__PTX_END,
    FF__PTX_NAME,   /* identifiers and registers: letters, digits, _ $ % */
    FF__PTX_DOTTED, /* .word, also .L1::evict_last; text is without the dot */
    FF__PTX_NUMBER, /* bits; kind of operand in `number` */
    FF__PTX_STRING, /* text is without the quotes */
    FF__PTX_SIGN    /* one character */
};

struct ff__ptx_token {
    enum ff__ptx_token_kind kind;
    const char *text;
    uint32_t length;
    uint32_t line;
    char sign;
    uint8_t number; /* FF__PTX_INTEGER, FF__PTX_FLOAT32, FF__PTX_FLOAT64 */
    uint64_t bits;
};

enum ff__ptx_named {
    FF__PTX_NAMED_REGISTER,
    FF__PTX_NAMED_VARIABLE, /* of the module */
    FF__PTX_NAMED_OWN,
    FF__PTX_NAMED_PARAMETER,
    FF__PTX_NAMED_RESULT,
    FF__PTX_NAMED_LABEL,
    FF__PTX_NAMED_FUNCTION
};

struct ff__ptx_name {
    struct ff__ptx_name *next; /* in its bucket: inner scopes first */
    const char *text;
    uint32_t length, hash;
    uint8_t kind;
    uint32_t scope, index;
};

#define FF__PTX_BUCKETS 4096u

struct ff__ptx_label_name { /* labels may be used before they are defined: a table of their own */
    struct ff__ptx_label_name *next;
    const char *text;
    uint32_t length, index;
};
#define FF__PTX_LABEL_BUCKETS 256u

/* The state of one reading. An error leaves by longjmp: to the function that is being read, which
 * is then refused, or to the end. */
struct ff__ptx_reader {
    const char *at, *end;
    uint32_t line;
    struct ff__ptx_token token; /* the next one */
    struct ff__ptx_module *module;
    struct ff__ptx_arena *arena;
    struct ff__ptx_name *buckets[FF__PTX_BUCKETS];
    uint32_t scope;
    struct ff__ptx_name **undo; /* names in the order of their definition, for leaving scopes */
    uint32_t undo_count;
    struct ff__ptx_label_name *labels[FF__PTX_LABEL_BUCKETS];
    struct ff__ptx_function *function; /* that is being read */
    const char *instruction;           /* where the present one begins, or NULL: for messages */
    uint32_t nested;                   /* how deep its operand is that is being read */
    uint64_t registers_left;           /* how many more the module may declare */
    int code;
    char message[256];
    jmp_buf *leave;
};

_Noreturn void ff__ptx_wrong(struct ff__ptx_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void ff__ptx_no_memory(struct ff__ptx_reader *reader);

/* lex.c */
void ff__ptx_next(struct ff__ptx_reader *reader);
void ff__ptx_skip_line(struct ff__ptx_reader *reader);   /* up to its end, then the next token */
void ff__ptx_skip_braces(struct ff__ptx_reader *reader); /* from before { to behind its } */
bool ff__ptx_is_sign(const struct ff__ptx_reader *reader, char sign);
bool ff__ptx_is_dotted(const struct ff__ptx_reader *reader, const char *word);
bool ff__ptx_take_sign(struct ff__ptx_reader *reader, char sign);
bool ff__ptx_take_dotted(struct ff__ptx_reader *reader, const char *word);
void ff__ptx_expect(struct ff__ptx_reader *reader, char sign);
struct ff__ptx_token ff__ptx_expect_name(struct ff__ptx_reader *reader);
uint64_t ff__ptx_expect_integer(struct ff__ptx_reader *reader);

/* names.c */
struct ff__ptx_name *ff__ptx_lookup(struct ff__ptx_reader *reader, const char *text,
                                    uint32_t length);
struct ff__ptx_name *ff__ptx_define(struct ff__ptx_reader *reader, const char *text,
                                    uint32_t length, enum ff__ptx_named kind, uint32_t index);
void ff__ptx_enter(struct ff__ptx_reader *reader);
void ff__ptx_leave(struct ff__ptx_reader *reader);
/* Memory of the module; leaves if there is none. */
void *ff__ptx_need(struct ff__ptx_reader *reader, size_t count, size_t size);
char *ff__ptx_copy(struct ff__ptx_reader *reader, const char *text, size_t length);
/* Appends a zeroed element to `*array` of `*count` elements, whose room doubles, and returns it. */
void *ff__ptx_append(struct ff__ptx_reader *reader, void *array, uint32_t *count, size_t size);

/* declare.c */
/* A declaration's directives, name and dimensions, up to what ends it: `, ) ; =`. */
struct ff__ptx_variable ff__ptx_declaration(struct ff__ptx_reader *reader);
/* A value behind `=`. */
void ff__ptx_initial(struct ff__ptx_reader *reader, struct ff__ptx_variable *variable);
struct ff__ptx_variable *ff__ptx_parameters(struct ff__ptx_reader *reader, uint32_t *count);
bool ff__ptx_debugging(struct ff__ptx_reader *reader); /* skips one such directive */

/* body.c: from { to behind } */
void ff__ptx_body(struct ff__ptx_reader *reader);

uint32_t ff__ptx_find_special(const char *name, size_t length);
enum ff__ptx_type ff__ptx_special_type(enum ff__ptx_special special);

#endif
