/* The steps of a prediction for any CPU, in vectors of 16 bytes: compilers have their instructions
 * for them, or do without. */
#define VECTOR 16
#define CHAINS 1
#define TARGET

#include "learn/predictor_vector.h"

#if defined(__clang__)
#define QUAD(x, which)                                                                             \
    ((vector)__builtin_shufflevector((vector)(x), (vector)(x), which, which, which, which))
#else
#define QUAD(x, which) __builtin_shuffle((vector)(x), (vector){which, which, which, which})
#endif

typedef shorts sums;

/* Bytes of x at even and at odd places, and those of w, as numbers of 16 bits. */
INLINE sums dot(sums start, vector x, const void *w) {
    const shorts row = (shorts)load(w);
    const shorts even = (shorts)x & 0xFF, odd = (shorts)((unsigned_shorts)x >> 8);
    return start + even * (row << 8 >> 8) + odd * (row >> 8);
}

INLINE vector joined(sums sum) {
    return ((vector)sum << 16 >> 16) + ((vector)sum >> 16);
}

INLINE sixteen narrow(struct wide x) {
    sixteen y;
    for (uint32_t i = 0; i < FF__WIDE; i++)
        y[i] = (int8_t)x.at[i / LANES][i % LANES];
    return y;
}

INLINE vector smaller(vector a, vector b) {
    vector less = a < b;
    return (a & less) | (b & ~less);
}

INLINE vector larger(vector a, vector b) {
    vector more = a > b;
    return (a & more) | (b & ~more);
}

/* The lower bits of a sum, of which the lowest is worth 1; for what is below 2^22. */
INLINE vector rounded(vector x, float scale, floats bias) {
    const floats magic = (floats){0} + 12582912.0f; /* 1.5 * 2^23 */
    return (vector)(__builtin_convertvector(x, floats) * scale + bias + magic) - (vector)magic;
}

INLINE int32_t sum_of(vector x) {
    return x[0] + x[1] + x[2] + x[3];
}

INLINE int32_t most_of(vector x) {
    int32_t a = x[0] > x[1] ? x[0] : x[1], b = x[2] > x[3] ? x[2] : x[3];
    return a > b ? a : b;
}

INLINE hashes sum_bytes(hashes x) {
    x += x >> 8;
    x += x >> 16;
    return (x + (x >> 32)) & 0xFF;
}

INLINE uint32_t count_equal(const uint16_t *to, uint16_t x) {
    shorts count = {0};
    for (uint32_t i = 0; i < SLOT_PARTS; i++)
        count -= (shorts)load(to + SHORTS * i) == all_shorts((int16_t)x);
    return (uint32_t)sum_of(joined(count));
}

/* Mostly there are none. */
INLINE uint32_t not_greater(const int16_t *a, const int16_t *b) {
    shorts any = {0};
    uint32_t set = 0;
    for (uint32_t i = 0; i < SLOT_PARTS; i++)
        any |= (shorts)load(a + SHORTS * i) <= (shorts)load(b + SHORTS * i);
    if (sum_of((vector)(any & 1)) == 0)
        return 0;
    for (uint32_t i = 0; i < FF__SLOTS_WIDE; i++)
        set |= (uint32_t)(a[i] <= b[i]) << i;
    return set;
}

INLINE shorts look_up_logs(const struct ff__predictor *p, shorts numbers) {
    for (uint32_t i = 0; i < SHORTS; i++)
        numbers[i] = p->logs[numbers[i]];
    return numbers;
}

INLINE vector weigh(const struct ff__predictor *p, vector below) {
    below &= below > 0;
    for (uint32_t i = 0; i < LANES; i++)
        below[i] = ff__weight((float)below[i] * p->weight_scale);
    return below;
}

#include "learn/predictor_body.h"

static bool works(void) {
    return true;
}

const struct ff__predictor_code ff__predictor_portable = {"portable", works, push, predict};
