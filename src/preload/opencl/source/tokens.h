/* The tokens of a kernel's source, in OpenCL C. Comments, white space and #pragma are left out. */
#ifndef FF_PRELOAD_OPENCL_SOURCE_TOKENS_H
#define FF_PRELOAD_OPENCL_SOURCE_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ff__token_kind {
    FF__TOKEN_END,   /* after the last one; its text is empty */
    FF__TOKEN_NAME,  /* and keywords */
    FF__TOKEN_WHOLE, /* a whole number */
    FF__TOKEN_OTHER, /* a number that is not whole, a character, a string */
    FF__TOKEN_MARK,  /* an operator, a bracket and so on */
    FF__TOKEN_MACRO, /* the name that a #define defines; the rest of its line is left out */
};

/* Where a token is in the head of a for loop. */
enum ff__token_place { FF__PLACE_NONE, FF__PLACE_INIT, FF__PLACE_STEP };

struct ff__token {
    const char *text; /* in the source */
    uint32_t length;
    uint8_t kind, place; /* enum ff__token_kind, enum ff__token_place */
    uint32_t partner;    /* of a bracket: the index of the other one; 0: it has none */
};

/* 0: *out has all tokens, and one of FF__TOKEN_END behind them; the caller frees it. -EINVAL: the
 * source has a directive other than #pragma and #define, or a comment or string without an end.
 * -ENOMEM. */
int ff__tokens_read(const char *source, size_t length, struct ff__token **out, uint32_t *count);

/* Whether the token's text is this. */
bool ff__token_is(const struct ff__token *token, const char *text);

bool ff__tokens_equal(const struct ff__token *a, const struct ff__token *b);

#endif
