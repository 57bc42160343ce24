/* Tokens of PTX. */
#include "ptx/read_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
static bool is_word(char c) {
    return is_letter(c) || is_digit(c);
}

static char look(const struct ff__ptx_reader *reader, size_t ahead) {
    return (size_t)(reader->end - reader->at) > ahead ? reader->at[ahead] : '\0';
}

static void skip_to_newline(struct ff__ptx_reader *reader) {
    const char *newline = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    reader->at = newline != NULL ? newline : reader->end;
}

static void skip_comment(struct ff__ptx_reader *reader) {
    uint32_t line = reader->line;
    reader->at += 2;
    while (look(reader, 0) != '*' || look(reader, 1) != '/') {
        if (reader->at == reader->end) {
            reader->line = line;
            ff__ptx_wrong(reader, "a comment that does not end");
        }
        if (*reader->at++ == '\n')
            reader->line++;
    }
    reader->at += 2;
}

static void skip_space(struct ff__ptx_reader *reader) {
    for (;; reader->at++) {
        char c = look(reader, 0);
        if (c == '/' && look(reader, 1) == '*') {
            skip_comment(reader);
            reader->at--;
        } else if ((c == '/' || c == '@') && look(reader, 1) == c) { /* @@DWARF, as once written */
            skip_to_newline(reader);
            reader->at--;
        } else if (c == '\n') {
            reader->line++;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
    }
}

static uint64_t hexadecimal(struct ff__ptx_reader *reader, const char *text, uint32_t digits) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < digits; i++) {
        char c = text[i];
        uint32_t digit = is_digit(c)            ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                : 16;
        if (digit == 16)
            ff__ptx_wrong(reader, "not a hexadecimal number: %.*s", (int)digits, text);
        bits = bits << 4 | digit;
    }
    return bits;
}

static void decimal_fraction(struct ff__ptx_reader *reader, struct ff__ptx_token *token,
                             const char *start) {
    while (is_digit(look(reader, 0)) || look(reader, 0) == '.')
        reader->at++;
    if ((look(reader, 0) | 32) == 'e') {
        reader->at++;
        if (look(reader, 0) == '+' || look(reader, 0) == '-')
            reader->at++;
        while (is_digit(look(reader, 0)))
            reader->at++;
    }
    char text[64];
    size_t length = (size_t)(reader->at - start);
    if (length >= sizeof text)
        ff__ptx_wrong(reader, "a number of more than %zu characters", sizeof text - 1);
    memcpy(text, start, length);
    text[length] = '\0';
    double value = strtod(text, NULL);
    memcpy(&token->bits, &value, sizeof value);
    token->number = FF__PTX_FLOAT64;
}

static void integer(struct ff__ptx_reader *reader, struct ff__ptx_token *token, uint32_t length) {
    if (token->text[length - 1] == 'U')
        length--;
    char text[80];
    if (length >= sizeof text)
        ff__ptx_wrong(reader, "a number of more than %zu characters", sizeof text - 1);
    memcpy(text, token->text, length);
    text[length] = '\0';
    bool binary = length > 2 && text[0] == '0' && (text[1] | 32) == 'b';
    char *end;
    errno = 0;
    token->bits = strtoull(binary ? text + 2 : text, &end, binary ? 2 : 0);
    if (*end != '\0' || errno != 0)
        ff__ptx_wrong(reader, "not a number: %s", text);
    token->number = FF__PTX_INTEGER;
}

static void number(struct ff__ptx_reader *reader, struct ff__ptx_token *token) {
    const char *start = reader->at;
    while (is_word(look(reader, 0)))
        reader->at++;
    uint32_t length = (uint32_t)(reader->at - start);
    char second = length > 1 && start[0] == '0' ? start[1] : '\0';
    token->kind = FF__PTX_NUMBER;
    if ((second == 'f' || second == 'F') && length == 10) {
        token->number = FF__PTX_FLOAT32;
        token->bits = hexadecimal(reader, start + 2, 8);
    } else if ((second == 'd' || second == 'D') && length == 18) {
        token->number = FF__PTX_FLOAT64;
        token->bits = hexadecimal(reader, start + 2, 16);
    } else if (look(reader, 0) == '.' && is_digit(look(reader, 1))) {
        decimal_fraction(reader, token, start);
    } else {
        integer(reader, token, length);
    }
}

static void string(struct ff__ptx_reader *reader, struct ff__ptx_token *token) {
    token->kind = FF__PTX_STRING;
    token->text = ++reader->at;
    const char *quote = memchr(reader->at, '"', (size_t)(reader->end - reader->at));
    if (quote == NULL)
        ff__ptx_wrong(reader, "a string that does not end");
    token->length = (uint32_t)(quote - reader->at);
    reader->at = quote + 1;
}

void ff__ptx_next(struct ff__ptx_reader *reader) {
    skip_space(reader);
    struct ff__ptx_token *token = &reader->token;
    *token = (struct ff__ptx_token){.text = reader->at, .line = reader->line};
    char c = look(reader, 0);
    if (reader->at == reader->end || c == '\0') {
        token->kind = FF__PTX_END;
        return;
    }
    if (is_digit(c)) {
        number(reader, token);
    } else if (c == '"') {
        string(reader, token);
        return;
    } else if (is_letter(c)) {
        token->kind = FF__PTX_NAME;
        while (is_word(look(reader, 0)))
            reader->at++;
    } else if (c == '.' && is_word(look(reader, 1))) {
        token->kind = FF__PTX_DOTTED;
        token->text = ++reader->at;
        while (is_word(look(reader, 0)) ||
               (look(reader, 0) == ':' && look(reader, 1) == ':' && is_word(look(reader, 2))))
            reader->at += look(reader, 0) == ':' ? 2 : 1;
    } else {
        token->kind = FF__PTX_SIGN;
        token->sign = c;
        reader->at++;
    }
    token->length = (uint32_t)(reader->at - token->text);
}

void ff__ptx_skip_line(struct ff__ptx_reader *reader) {
    skip_to_newline(reader);
    ff__ptx_next(reader);
}

/* By characters: what stands between the braces need not be made of tokens. */
void ff__ptx_skip_braces(struct ff__ptx_reader *reader) {
    if (!ff__ptx_is_sign(reader, '{'))
        ff__ptx_wrong(reader, "'{' is missing before '%.*s'", (int)reader->token.length,
                      reader->token.text);
    for (uint32_t depth = 1; depth != 0;) {
        skip_space(reader);
        struct ff__ptx_token token;
        switch (look(reader, 0)) {
        case '\0':
            ff__ptx_wrong(reader, "a brace that is not closed");
        case '"':
            string(reader, &token);
            continue;
        case '{':
            depth++;
            break;
        case '}':
            depth--;
            break;
        default:
            break;
        }
        reader->at++;
    }
    ff__ptx_next(reader);
}

bool ff__ptx_is_sign(const struct ff__ptx_reader *reader, char sign) {
    return reader->token.kind == FF__PTX_SIGN && reader->token.sign == sign;
}

bool ff__ptx_is_dotted(const struct ff__ptx_reader *reader, const char *word) {
    return reader->token.kind == FF__PTX_DOTTED && strlen(word) == reader->token.length &&
           memcmp(reader->token.text, word, reader->token.length) == 0;
}

bool ff__ptx_take_sign(struct ff__ptx_reader *reader, char sign) {
    if (!ff__ptx_is_sign(reader, sign))
        return false;
    ff__ptx_next(reader);
    return true;
}

bool ff__ptx_take_dotted(struct ff__ptx_reader *reader, const char *word) {
    if (!ff__ptx_is_dotted(reader, word))
        return false;
    ff__ptx_next(reader);
    return true;
}

void ff__ptx_expect(struct ff__ptx_reader *reader, char sign) {
    if (!ff__ptx_take_sign(reader, sign))
        ff__ptx_wrong(reader, "'%c' is missing before '%.*s'", sign, (int)reader->token.length,
                      reader->token.text);
}

struct ff__ptx_token ff__ptx_expect_name(struct ff__ptx_reader *reader) {
    struct ff__ptx_token token = reader->token;
    if (token.kind != FF__PTX_NAME)
        ff__ptx_wrong(reader, "a name is missing before '%.*s'", (int)token.length, token.text);
    ff__ptx_next(reader);
    return token;
}

uint64_t ff__ptx_expect_integer(struct ff__ptx_reader *reader) {
    struct ff__ptx_token token = reader->token;
    if (token.kind != FF__PTX_NUMBER || token.number != FF__PTX_INTEGER)
        ff__ptx_wrong(reader, "a whole number is missing before '%.*s'", (int)token.length,
                      token.text);
    ff__ptx_next(reader);
    return token.bits;
}
