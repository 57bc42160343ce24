#include "ptx/prelude.h"

const char *const ff__ptx_prelude[] = {
#include "ptx_prelude.inc"
};
const size_t ff__ptx_prelude_count = sizeof ff__ptx_prelude / sizeof *ff__ptx_prelude;
