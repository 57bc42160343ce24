/* A network as a text: one iteration of its training, or of inference. docs/dnn.md describes the
 * language; data/networks has the built-in ones, which are compiled in. */
#ifndef FF_WORKLOAD_DNN_NETWORK_H
#define FF_WORKLOAD_DNN_NETWORK_H

#include "workload/dnn/operation.h"
#include "workload/model.h"

#define FF__NETWORK_WORD  64 /* characters of a word and its end */
#define FF__NETWORK_TEXTS 8  /* the network's own, and those that it includes */

struct ff__network_line {
    const char *file;
    uint32_t number, count;
    uint32_t end; /* block and repeat: index of the line that ends it; 0: another line */
    const char *words[FF__NETWORK_WORDS];
};

/* Parameters of each network, in this order. */
enum ff__network_param { FF__NETWORK_BATCH, FF__NETWORK_LENGTH, FF__NETWORK_ITERATIONS };

struct ff__network {
    struct ff__workload_type type; /* the first: a workload's type leads to its network */
    struct ff_param params[4];
    char name[FF__NETWORK_WORD];
    bool infers; /* in evaluation mode, under torch.no_grad() */
    struct ff__network_line *lines;
    uint32_t line_count, text_count;
    char *texts[FF__NETWORK_TEXTS]; /* what words of lines lie in */
};

/* As ff__network_read(), of a text in memory. */
int ff__network_parse(const char *file, const char *text, size_t length, struct ff__network **out,
                      struct ff_error *error);

/* Writes one iteration on the tape. -EINVAL: the line, and what is wrong with it; -ENOMEM. */
int ff__network_run(const struct ff__network *network, const struct ff__iteration *iteration,
                    struct ff__tape *tape, struct ff_error *error);

/* Says where in the text something is wrong. Returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int ff__network_refuse(const struct ff__network_line *line,
                                                             struct ff_error *error,
                                                             const char *format, ...);

#endif
