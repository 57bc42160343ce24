/* Products of quads by AVX2; see predictor_steps.h. */

/* Four bytes, in all lanes. */
TARGET static inline __attribute__((always_inline)) __m256i spread(const uint8_t *x) {
    int32_t quad;
    memcpy(&quad, x, sizeof quad);
    return _mm256_set1_epi32(quad);
}

/* sum + the products of each lane's four bytes; sums of two fit in 16 bits, as weights have four. */
TARGET static inline __attribute__((always_inline)) __m256i dot(__m256i sum, __m256i x, __m256i w) {
    return _mm256_add_epi32(sum,
                            _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), _mm256_set1_epi16(1)));
}

/* `blocks` and `chains` are constants where it is called, and the loops over them disappear. */
TARGET static inline __attribute__((always_inline)) void
products_avx2(int32_t *y, const int8_t *w, uint32_t stride, const uint8_t *x, uint32_t quads,
              uint32_t blocks, uint32_t chains) {
    const uint32_t lanes = 8, vectors = blocks * FF__WIDE / lanes;
    __m256i sum[12];
    for (uint32_t i = 0; i < chains * vectors; i++)
        sum[i] = _mm256_loadu_si256((const void *)(y + i * lanes));
    for (uint32_t q = 0; q < quads; q += chains)
        for (uint32_t c = 0; c < chains; c++) {
            __m256i both = spread(x + (size_t)(q + c) * FF__QUAD);
            const int8_t *row = w + (size_t)(q + c) * stride * FF__QUAD;
            for (uint32_t v = 0; v < vectors; v++) {
                __m256i weights = _mm256_loadu_si256((const void *)(row + v * sizeof weights));
                sum[c * vectors + v] = dot(sum[c * vectors + v], both, weights);
            }
        }
    for (uint32_t i = 0; i < chains * vectors; i++)
        _mm256_storeu_si256((void *)(y + i * lanes), sum[i]);
}
