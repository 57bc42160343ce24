/* A network as a text: one iteration of its training, or of inference. docs/dnn.md describes the
 * language; data/networks has the built-in ones, which are compiled in. */
#ifndef FF_WORKLOAD_DNN_NETWORK_H
#define FF_WORKLOAD_DNN_NETWORK_H

#include "base/map.h"

#include "workload/dnn/operation.h"
#include "workload/model.h"

#define FF__NETWORK_WORD  64 /* characters of a word and its end */
#define FF__NETWORK_TEXTS 8  /* the network's own, and those that it includes */

/* ---- words ---- */

enum ff__word_kind {
    FF__WORD_NAME,   /* or any other word */
    FF__WORD_NUMBER, /* such as 12 or 4*64 */
    FF__WORD_WRONG,  /* begins as a number does, and is none */
    FF__WORD_BOUND,  /* $NAME */
    FF__WORD_PASTED, /* $NAME is a part of it */
};

#define FF__NO_SYMBOL UINT32_MAX

struct ff__word {
    enum ff__word_kind kind;
    int option;      /* of the operation, of which the text is the value; -1: none */
    uint32_t symbol; /* of a name, and of what is bound; FF__NO_SYMBOL: the text has no such name */
    uint64_t number;
    const char *text;
};

/* Of the letters, digits and _ that it begins with. */
size_t ff__name_length(const char *text);

/* Whether it may be the name of a tensor or a block. */
bool ff__is_name(const char *text);

/* Symbols: numbers of names, in the order in which they are added. */
struct ff__symbols {
    struct ff__map map;
    char (*names)[FF__NETWORK_WORD];
    uint32_t count;
};

/* FF__NO_SYMBOL: there is none. */
uint32_t ff__symbol_find(const struct ff__symbols *symbols, const char *name);
/* Finds it, or makes it. FF__NO_SYMBOL: no memory. */
uint32_t ff__symbol_add(struct ff__symbols *symbols, const char *name);
void ff__symbols_free(struct ff__symbols *symbols);

/* ---- lines ---- */

enum ff__line_kind { FF__LINE_CALL, FF__LINE_BLOCK, FF__LINE_REPEAT, FF__LINE_END };

struct ff__network_line {
    const char *file;
    const char *text; /* where it begins in its text; its words lie behind */
    uint32_t number;
    enum ff__line_kind kind;
    uint32_t first, count; /* words */
    uint32_t outs, callee; /* of a call: words before =, the index of the word that is called */
    uint32_t end;          /* block and repeat: index of the line that ends it; 0: another line */
};

/* What a name calls. */
struct ff__callee {
    const struct ff__operation *operation; /* NULL: it calls a block, or nothing */
    const struct ff__network_line *block;
};

/* Parameters of each network, in this order. */
enum ff__network_param {
    FF__NETWORK_BATCH,
    FF__NETWORK_LENGTH,
    FF__NETWORK_ITERATIONS,
    FF__NETWORK_WORKSPACES,
    FF__NETWORK_PARAMS
};

struct ff__network {
    struct ff__workload_type type; /* the first: a workload's type leads to its network */
    struct ff_param params[FF__NETWORK_PARAMS + 1];
    char name[FF__NETWORK_WORD];
    bool infers; /* in evaluation mode, under torch.no_grad() */
    struct ff__network_line *lines;
    struct ff__word *words;
    struct ff__symbols symbols;
    struct ff__callee *callees; /* [symbol] */
    uint32_t line_count, word_count, text_count;
    char *texts[FF__NETWORK_TEXTS]; /* what words of lines lie in */
};

/* As ff__network_read(), of a text in memory. */
int ff__network_parse(const char *file, const char *text, size_t length, struct ff__network **out,
                      struct ff_error *error);

/* Finds what the words of all lines name. -EINVAL: says what is wrong with a line; -ENOMEM. */
int ff__network_resolve(struct ff__network *network, struct ff_error *error);

/* What a word that does not lie in the text means. */
struct ff__word ff__word_resolve(const struct ff__network *network, const char *text);

/* The option of the operation that a word is, with its value. False: it is none. */
bool ff__option_resolve(const struct ff__network *network, const struct ff__operation *operation,
                        const char *text, struct ff__word *out);

/* NULL: the name calls nothing. */
const struct ff__callee *ff__network_callee(const struct ff__network *network,
                                            const struct ff__word *name);

/* Says that the name calls nothing. `at` as below. Returns -EINVAL. */
int ff__network_unknown(const struct ff__network_line *line, const char *at, const char *name,
                        struct ff_error *error);

/* Writes one iteration on the tape. -EINVAL: the line, and what is wrong with it; -ENOMEM. */
int ff__network_run(const struct ff__network *network, const struct ff__iteration *iteration,
                    struct ff__tape *tape, struct ff_error *error);

/* Says in which line and column something is wrong; `at` is a place in the line, NULL: its first
 * word. Returns -EINVAL. */
__attribute__((format(printf, 4, 5))) int ff__network_refuse(const struct ff__network_line *line,
                                                             const char *at, struct ff_error *error,
                                                             const char *format, ...);

#endif
