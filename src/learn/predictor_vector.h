/* Vectors for predictor_body.h, by GCC's vector extension. A file that includes this has defined
 * VECTOR, the bytes of one, and TARGET, the attribute that lets a function use what its CPU has. */
#include "learn/predictor_code.h"

#include "learn/quant.h"
#include "learn/weight.h"

#include <string.h>

#define INLINE     TARGET static inline __attribute__((always_inline))
#define OF(bytes)  __attribute__((vector_size(bytes)))

#define LANES      (VECTOR / 4)              /* numbers of 32 bits in a vector */
#define SHORTS     (VECTOR / 2)              /* numbers of 16 bits */
#define PARTS      (FF__WIDE / LANES)        /* vectors of 16 numbers of 32 bits */
#define SLOT_PARTS (FF__SLOTS_WIDE / SHORTS) /* vectors of a number of 16 bits for each slot */
#define SLOTS      ((UINT32_C(1) << FF__WINDOW) - 1)

typedef int32_t vector OF(VECTOR);
typedef int16_t shorts OF(VECTOR);
typedef uint16_t unsigned_shorts OF(VECTOR);
typedef int8_t bytes OF(VECTOR);
typedef uint64_t hashes OF(VECTOR);
typedef float floats OF(VECTOR);
typedef int8_t sixteen OF(16); /* a token, a key, ...: a byte for each number */

/* 16 numbers of 32 bits. */
struct wide {
    vector at[PARTS];
};

INLINE vector load(const void *at) {
    vector x;
    memcpy(&x, at, sizeof x);
    return x;
}

INLINE void store(void *at, vector x) {
    memcpy(at, &x, sizeof x);
}

INLINE vector all(int32_t x) {
    return x - (vector){0};
}

INLINE shorts all_shorts(int16_t x) {
    return x - (shorts){0};
}
