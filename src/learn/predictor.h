/* The revised predictor, fast: one prediction in well under a microsecond, without allocation.
 *
 * All numbers are whole: a value is a count of steps (quant.h). Every product of a matrix is one of
 * four bytes by four bytes, an unsigned one of activations by a signed one of weights, which CPUs
 * add up in one instruction or two; activations that can be negative are kept 8 too high, and what
 * that adds to the sums is taken off where they start. The results are those of the reference in
 * hlsh.c, to the bit.
 *
 * A stream is the state of one cluster of warps: for each token of the window its embedding, key,
 * value and hash. A new token takes the slot of the oldest; the others' stay as they are, because
 * positions go round with the slots. */
#ifndef FF_LEARN_PREDICTOR_H
#define FF_LEARN_PREDICTOR_H

#include "learn/hlsh.h"

#define FF__SLOTS_WIDE  32u                    /* the window, in whole vectors */
#define FF__WIDE        16u                    /* a token, likewise */
#define FF__QUAD        4u                     /* bytes that are multiplied and added up together */
#define FF__TOKEN_QUADS (FF__WIDTH / FF__QUAD) /* one for each feature */
#define FF__OFFSET      8u                     /* what makes four bits with a sign positive */
#define FF__LSH_ALONG   (FF__LSH_VECTORS * FF__LSH_ROUNDS)

struct ff__stream {
    _Alignas(64) int8_t key[FF__TOKEN_QUADS][FF__SLOTS_WIDE][FF__QUAD];
    int8_t value[FF__SLOTS_WIDE / FF__QUAD][FF__WIDE][FF__QUAD]; /* quads of slots */
    uint8_t query[FF__SLOTS_WIDE][FF__WIDE];                     /* + FF__OFFSET */
    uint64_t hash[FF__SLOTS_WIDE];                               /* see ff__hash_at() */
    int16_t far[FF__SLOTS_WIDE];  /* sums of logarithms of distances to the chosen half */
    int16_t lean[FF__SLOTS_WIDE]; /* FF__OFFSET times the sum of the key */
    uint16_t delta[FF__SLOTS_WIDE];
    /* + FF__OFFSET; twice, so that a window is in one piece, and room for whole vectors */
    uint8_t token[2 * FF__WINDOW + 1][FF__WIDTH];
    uint32_t newest; /* slot */
};

/* Hashes of neighbouring slots lie in neighbouring vectors: four vectors of distances, one shifted
 * by 16 bits more than the other, are then one in the order of slots. */
static inline uint32_t ff__hash_at(uint32_t slot) {
    return slot % 4 * 8 + slot / 4;
}

struct ff__predictor_code;

/* "start": where sums begin, which takes the offsets off (and adds what does not change); "scale"
 * and "bias": from sums to steps of the result. Matrices are [quads][outputs][FF__QUAD]. */
struct ff__predictor {
    const struct ff__predictor_code *code; /* for this CPU */
    uint32_t classes, class_blocks;        /* blocks of FF__WIDE */
    /* Tables of features, + FF__OFFSET, in steps of their own, which are 2^shift of the common
     * unit. */
    uint8_t (*page)[FF__PART], (*delta)[FF__PART], (*pc)[FF__PART];
    uint32_t pages, deltas, pcs;
    uint32_t shift[FF__TOKEN_QUADS], answer_shift; /* of FF__STEP_TOKEN */
    int32_t token_start[FF__WIDE];
    _Alignas(64) int8_t to_key[FF__TOKEN_QUADS][FF__WIDE][FF__QUAD];
    int8_t to_query[FF__TOKEN_QUADS][FF__WIDE][FF__QUAD]; /* with full attention */
    int8_t to_value[FF__TOKEN_QUADS][FF__WIDE][FF__QUAD];
    int8_t direction[FF__TOKEN_QUADS][FF__LSH_ALONG][FF__QUAD];
    int8_t to_inner[FF__TOKEN_QUADS][FF__INNER][FF__QUAD];
    int8_t to_outer[FF__INNER / FF__QUAD][FF__WIDE][FF__QUAD];
    int8_t mix[FF__OUTPUTS / FF__QUAD][FF__HIDDEN][FF__QUAD];
    int32_t key_start[FF__WINDOW][FF__WIDE]; /* with the slot's position */
    int32_t query_start[FF__WINDOW][FF__WIDE];
    int32_t value_start[FF__WIDE], direction_start[FF__LSH_ALONG];
    int32_t inner_start[FF__INNER], mix_start[FF__HIDDEN];
    float inner_bias[FF__INNER], outer_bias[FF__WIDE], mix_bias[FF__HIDDEN];
    float key_scale, query_scale, value_scale, weight_scale, inner_scale, outer_scale, mix_scale;
    uint32_t class_quads; /* of what the classes see */
    int8_t *to_classes;   /* [class_blocks][class_quads][FF__WIDE][FF__QUAD] */
    /* Logits are in steps of FF__STEP_LOGIT, times FF__CLASSES_MAX, plus a number for the class.
     * class_name: where the sum starts, with that number. class_shift: the scale of a sum. */
    int32_t *class_name;
    uint32_t class_shift;
    int16_t chosen[FF__SLOTS_WIDE];
    int16_t far[FF__SLOTS_WIDE], close[FF__SLOTS_WIDE]; /* bounds for sums of logarithms */
    int16_t logs[FF__SLOTS_WIDE];                       /* ff__lsh_log */
    uint32_t converged; /* so many equal deltas bypass attention; 0: always */
    bool encodes;       /* not `window` */
    bool has_queries;   /* keys are no queries */
};

/* Whether networks of this type can be made predictors of. */
bool ff__predictor_takes(const struct ff__net_type *type);

/* Makes one of a trained network. 0, -ENOMEM, or -EINVAL: no hlsh network of four bits. */
int ff__predictor_init(struct ff__predictor *predictor, const struct ff__net *net);
void ff__predictor_fini(struct ff__predictor *predictor);

/* Code for other CPUs, for tests and benchmarks: "portable", "avx2", "avx512". -ENOENT: there is no
 * such code; -ENOTSUP: not on this CPU. */
int ff__predictor_use(struct ff__predictor *predictor, const char *code);
const char *ff__predictor_code_name(const struct ff__predictor *predictor);

/* Bytes of parameters. */
size_t ff__predictor_size(const struct ff__predictor *predictor);

/* A stream without accesses. */
void ff__stream_start(const struct ff__predictor *predictor, struct ff__stream *stream);

/* One more access: its page, delta and PC numbers. */
void ff__stream_push(const struct ff__predictor *predictor, struct ff__stream *stream,
                     const uint16_t ids[3]);

/* The most likely class. `margin` (may be NULL): by how much its logit beats that of the escape. */
uint32_t ff__stream_predict(const struct ff__predictor *predictor, const struct ff__stream *stream,
                            float *margin);

#endif
