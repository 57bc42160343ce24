/*
 * The text that the model learns: little sentences which a small grammar makes up, so that nothing
 * has to be downloaded and there is something to learn at once (letters), soon (words) and late
 * (what follows what).
 */
#ifndef EXAMPLES_HOST_LM_TEXT_H
#define EXAMPLES_HOST_LM_TEXT_H

#include "shape.h"

struct text {
    uint8_t *bytes;
    size_t length;
    uint64_t key;
};

struct text text_make(uint64_t key, size_t length);
void text_free(struct text *text);

/* A step's input, `batch` pieces of the text of `context` bytes, and what comes after each byte. */
void text_batch(const struct text *text, const struct shape *shape, size_t step, uint8_t *inputs,
                uint8_t *targets);

#endif
