/* Any file is a packed kernel trace of Accel-Sim, or refused with a reason. */
#include "fuzz/kernel.h"

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    unsigned kernels = 0;
    const struct ff__traceg_reader reader = {see_kernel, see_access, &kernels};
    struct ff_error error = {""};
    FILE *file = fdopen(memfd_create("fuzz", MFD_CLOEXEC), "w+");
    FUZZ_EXPECT(file && fwrite(data, 1, size, file) == size && fflush(file) == 0);
    int status = ff__tracez_read(file, "fuzz", &reader, &error);
    FUZZ_EXPECT(status == 0 || status == -EBADMSG || status == -ENOTSUP);
    FUZZ_EXPECT((status == 0) == (error.message[0] == '\0'));
    FUZZ_EXPECT(status || kernels == 1);
    fclose(file);
    return 0;
}
