/* Any text is a kernel trace of Accel-Sim, or refused with the line that is wrong. */
#include "fuzz/kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    unsigned kernels = 0;
    const struct ff__traceg_reader reader = {see_kernel, see_access, &kernels};
    struct ff_error error = {""};
    char *text = fuzz_text(data, size);
    FILE *file = size > 0 ? fmemopen(text, size, "r") : NULL;
    if (file) {
        int status = ff__traceg_read(file, "fuzz", &reader, &error);
        FUZZ_EXPECT(status == 0 || status == -EBADMSG || status == -ENOTSUP);
        FUZZ_EXPECT((status == 0) == (error.message[0] == '\0'));
        FUZZ_EXPECT(status || kernels == 1);
        fclose(file);
    }
    free(text);
    return 0;
}
