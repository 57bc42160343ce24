#include "learn/predictor_code.h"

static const struct ff__predictor_code *const codes[] = {
#if defined(__x86_64__)
    &ff__predictor_avx512, &ff__predictor_avx2,
#endif
    &ff__predictor_portable};

const struct ff__predictor_code *ff__predictor_code_at(unsigned index) {
    return index < sizeof codes / sizeof codes[0] ? codes[index] : NULL;
}
