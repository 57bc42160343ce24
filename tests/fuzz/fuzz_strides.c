/* Any text is a source or none, and what is said of one kernel does not depend on what comes after
 * the text. */
#include "fuzz/fuzz.h"

#include "preload/opencl/source/strides.h"

#define ARGUMENTS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size), *longer = malloc(size + 4);
    bool fixed[ARGUMENTS], again[ARGUMENTS];
    for (uint32_t count = 0; longer && count <= ARGUMENTS; count++) {
        memcpy(longer, text, size);
        memcpy(longer + size, "a[x", 4);
        ff__strides_read(text, size, "k", fixed, count);
        ff__strides_read(longer, size, "k", again, count);
        FUZZ_EXPECT(memcmp(fixed, again, count * sizeof *fixed) == 0);
    }
    free(longer);
    free(text);
    return 0;
}
