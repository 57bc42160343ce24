#include "preload/opencl/source/tokens.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The longest first. */
static const char *const marks[] = {
    "<<=", ">>=", "...", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=",  "==",  "!=",  "<=", ">=", "&&", "||", "<<", ">>", "->", "##"};

struct scan {
    const char *at, *end;
    bool line_start; /* nothing but white space has come since the line began */
    struct ff__token *tokens;
    uint32_t count;
};

bool ff__token_is(const struct ff__token *token, const char *text) {
    return strlen(text) == token->length && memcmp(token->text, text, token->length) == 0;
}

bool ff__tokens_equal(const struct ff__token *a, const struct ff__token *b) {
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

static bool has(const struct scan *scan, const char *text) {
    size_t length = strlen(text);
    return (size_t)(scan->end - scan->at) >= length && memcmp(scan->at, text, length) == 0;
}

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static void put(struct scan *scan, const char *from, enum ff__token_kind kind) {
    scan->tokens[scan->count++] = (struct ff__token){
        .text = from, .length = (uint32_t)(scan->at - from), .kind = (uint8_t)kind};
}

/* ---- what is left out ---- */

static void skip_line(struct scan *scan) {
    while (scan->at < scan->end && *scan->at != '\n')
        scan->at += *scan->at == '\\' && scan->at + 1 < scan->end ? 2 : 1;
}

static int skip_comment(struct scan *scan) {
    for (scan->at += 2; scan->at < scan->end; scan->at++)
        if (has(scan, "*/")) {
            scan->at += 2;
            return 0;
        }
    return -EINVAL;
}

static int skip_space(struct scan *scan) {
    int status = 0;
    while (!status && scan->at < scan->end) {
        if (has(scan, "//")) {
            skip_line(scan);
        } else if (has(scan, "/*")) {
            status = skip_comment(scan);
        } else if (has(scan, "\\\n")) {
            scan->at += 2;
        } else if (isspace((unsigned char)*scan->at)) {
            scan->line_start |= *scan->at == '\n';
            scan->at++;
        } else {
            break;
        }
    }
    return status;
}

/* ---- tokens ---- */

static const char *take_name(struct scan *scan) {
    const char *from = scan->at;
    while (scan->at < scan->end && is_name(*scan->at))
        scan->at++;
    return from;
}

static void skip_blanks(struct scan *scan) {
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t'))
        scan->at++;
}

static int take_directive(struct scan *scan) {
    scan->at++;
    skip_blanks(scan);
    const char *from = take_name(scan);
    const struct ff__token directive = {.text = from, .length = (uint32_t)(scan->at - from)};
    bool defines = ff__token_is(&directive, "define");
    if (!defines && !ff__token_is(&directive, "pragma"))
        return -EINVAL;
    skip_blanks(scan);
    from = take_name(scan);
    if (defines && scan->at > from)
        put(scan, from, FF__TOKEN_MACRO);
    skip_line(scan);
    return 0;
}

static int take_quoted(struct scan *scan) {
    const char *from = scan->at++;
    while (scan->at < scan->end && *scan->at != *from && *scan->at != '\n')
        scan->at += *scan->at == '\\' && scan->at + 1 < scan->end ? 2 : 1;
    if (scan->at >= scan->end || *scan->at != *from)
        return -EINVAL;
    scan->at++;
    put(scan, from, FF__TOKEN_OTHER);
    return 0;
}

/* A number with a point or an exponent is not whole. */
static void take_number(struct scan *scan) {
    const char *from = scan->at;
    bool whole = true, is_hex = has(scan, "0x") || has(scan, "0X");
    for (; scan->at < scan->end && (is_name(*scan->at) || *scan->at == '.'); scan->at++)
        whole &= *scan->at != '.' && (is_hex || !strchr("eEfF", *scan->at));
    put(scan, from, whole ? FF__TOKEN_WHOLE : FF__TOKEN_OTHER);
}

static void take_mark(struct scan *scan) {
    const char *from = scan->at++;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        size_t length = strlen(marks[i]);
        if ((size_t)(scan->end - from) >= length && memcmp(from, marks[i], length) == 0) {
            scan->at = from + length;
            break;
        }
    }
    put(scan, from, FF__TOKEN_MARK);
}

static int take(struct scan *scan) {
    bool line_start = scan->line_start;
    scan->line_start = false;
    if (*scan->at == '#' && line_start)
        return take_directive(scan);
    if (*scan->at == '"' || *scan->at == '\'')
        return take_quoted(scan);
    if (isdigit((unsigned char)*scan->at))
        take_number(scan);
    else if (is_name(*scan->at))
        put(scan, take_name(scan), FF__TOKEN_NAME);
    else
        take_mark(scan);
    return 0;
}

/* ---- brackets ---- */

static bool is_mark(const struct ff__token *token, const char *set) {
    return token->kind == FF__TOKEN_MARK && token->length == 1 && *token->text != '\0' &&
           strchr(set, *token->text);
}

/* Open brackets are a list by their `partner` until they have one. Of a bracket that closes another
 * kind nothing is known. */
static void find_partners(struct ff__token *tokens, uint32_t count) {
    uint32_t open = 0; /* index of the innermost one, plus one */
    for (uint32_t i = 0; i < count; i++) {
        if (is_mark(&tokens[i], "([{")) {
            tokens[i].partner = open;
            open = i + 1;
        } else if (is_mark(&tokens[i], ")]}") && open > 0) {
            uint32_t other = open - 1;
            open = tokens[other].partner;
            bool fits = strchr("()[]{}", *tokens[other].text)[1] == *tokens[i].text;
            tokens[other].partner = fits ? i : 0;
            tokens[i].partner = fits ? other : 0;
        }
    }
    while (open > 0) {
        uint32_t other = open - 1;
        open = tokens[other].partner;
        tokens[other].partner = 0;
    }
}

static void mark(struct ff__token *tokens, uint32_t from, uint32_t end,
                 enum ff__token_place place) {
    for (uint32_t i = from; i < end; i++)
        tokens[i].place = (uint8_t)place;
}

/* Of the loop whose head's bracket this is. */
static void mark_head(struct ff__token *tokens, uint32_t open) {
    uint32_t parts[2], count = 0, end = tokens[open].partner;
    for (uint32_t i = open + 1; i < end && count < 2; i++) {
        if (is_mark(&tokens[i], "([{") && tokens[i].partner > i)
            i = tokens[i].partner;
        else if (is_mark(&tokens[i], ";"))
            parts[count++] = i;
    }
    if (count < 2)
        return;
    mark(tokens, open + 1, parts[0], FF__PLACE_INIT);
    mark(tokens, parts[1] + 1, end, FF__PLACE_STEP);
}

static void mark_loops(struct ff__token *tokens, uint32_t count) {
    for (uint32_t i = 0; i + 1 < count; i++)
        if (ff__token_is(&tokens[i], "for") && is_mark(&tokens[i + 1], "("))
            mark_head(tokens, i + 1);
}

/* ---- public to the preload ---- */

int ff__tokens_read(const char *source, size_t length, struct ff__token **out, uint32_t *count) {
    struct scan scan = {.at = source, .end = source + length, .line_start = true};
    scan.tokens = calloc(length + 1, sizeof *scan.tokens);
    if (!scan.tokens)
        return -ENOMEM;
    int status = skip_space(&scan);
    while (!status && scan.at < scan.end) {
        status = take(&scan);
        if (!status)
            status = skip_space(&scan);
    }
    if (status) {
        free(scan.tokens);
        return status;
    }
    scan.tokens[scan.count].text = scan.end;
    find_partners(scan.tokens, scan.count);
    mark_loops(scan.tokens, scan.count);
    *out = scan.tokens;
    *count = scan.count;
    return 0;
}
