/* Products of a matrix of 16-bit pairs; no header of its own but text for predictor_code.c, which
 * includes it once for each kind of vector, with CODE and TARGET as in predictor_steps.h and
 *
 *   VECTOR, LANES         the type and how many 32-bit numbers it holds
 *   LOAD, STORE, SPREAD   whole vectors; one number in all lanes
 *   ADD(sum, row, both)   sum + the products of each lane's two pairs of numbers
 *   PLUS(a, b)            a + b */

/* `blocks` vectors of outputs at a time, `chains` pairs side by side, so that additions do not wait for
 * each other; both are constants where it is called, and the loops over them disappear. */
TARGET static inline __attribute__((always_inline)) void
CODE(multiply)(int32_t *y, const int16_t *w, uint32_t stride, const int16_t *x, uint32_t pairs,
               uint32_t blocks, uint32_t chains) {
    VECTOR sum[4][4];
    uint32_t p = 0;
    for (uint32_t b = 0; b < blocks; b++)
        for (uint32_t c = 0; c < chains; c++)
            sum[c][b] = c ? SPREAD(0) : LOAD(y + b * LANES);
    for (; p + chains <= pairs; p += chains)
        for (uint32_t c = 0; c < chains; c++) {
            VECTOR both = SPREAD(pair_at(x + 2 * (p + c)));
            const int16_t *row = w + (size_t)(p + c) * stride * 2;
            for (uint32_t b = 0; b < blocks; b++)
                sum[c][b] = ADD(sum[c][b], LOAD(row + 2 * b * LANES), both);
        }
    for (; p < pairs; p++) {
        VECTOR both = SPREAD(pair_at(x + 2 * p));
        const int16_t *row = w + (size_t)p * stride * 2;
        for (uint32_t b = 0; b < blocks; b++)
            sum[0][b] = ADD(sum[0][b], LOAD(row + 2 * b * LANES), both);
    }
    for (uint32_t b = 0; b < blocks; b++) {
        for (uint32_t c = 1; c < chains; c++)
            sum[0][b] = PLUS(sum[0][b], sum[c][b]);
        STORE(y + b * LANES, sum[0][b]);
    }
}

TARGET static inline __attribute__((always_inline)) void
CODE(products)(int32_t *y, const int16_t *w, uint32_t stride, const int16_t *x, uint32_t pairs,
               uint32_t outs) {
    uint32_t o = 0;
    for (; o + 4 * LANES <= outs; o += 4 * LANES)
        CODE(multiply)(y + o, w + 2 * (size_t)o, stride, x, pairs, 4, 2);
    for (; o + 2 * LANES <= outs; o += 2 * LANES)
        CODE(multiply)(y + o, w + 2 * (size_t)o, stride, x, pairs, 2, 4);
    for (; o < outs; o += LANES)
        CODE(multiply)(y + o, w + 2 * (size_t)o, stride, x, pairs, 1, 4);
}
