/* Any text is a kernel trace of Accel-Sim, or refused with the line that is wrong. */
#include "fuzz/fuzz.h"

#include "trace/model/traceg.h"

static int see_kernel(void *self, const struct ff__traceg_kernel *kernel) {
    unsigned *kernels = self;
    FUZZ_EXPECT((*kernels)++ == 0);
    FUZZ_EXPECT(kernel->ctas > 0 && kernel->warps > 0 && kernel->version <= 5);
    FUZZ_EXPECT(memchr(kernel->name, '\0', sizeof kernel->name));
    return 0;
}

static int see_access(void *self, const struct ff__traceg_kernel *kernel,
                      const struct ff__traceg_access *access) {
    FUZZ_EXPECT(*(unsigned *)self == 1);
    FUZZ_EXPECT(access->cta < kernel->ctas && access->warp < kernel->warps);
    FUZZ_EXPECT(access->lanes > 0 && access->lanes <= FF__TRACEG_LANES);
    FUZZ_EXPECT(access->width > 0 && access->width <= 32 && access->instructions > 0);
    return 0;
}

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
