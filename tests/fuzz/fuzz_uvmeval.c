/* Any file is a fault log of uvm-eval, which becomes events in order, or refused with a reason. */
#include "fuzz/seen.h"

#include <sys/mman.h>
#include <unistd.h>

static int see(void *self, const struct ff_trace_event *event) {
    bool is_batch = event->kind == FF_TRACE_BATCH || event->kind == FF_TRACE_BATCH_END;
    see_event(self, event, !is_batch);
    FUZZ_EXPECT(event->kind != FF_TRACE_EVICT || event->pages > 0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct seen seen = {0, 0};
    struct ff_error error = {""};
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_EXPECT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int status = ff__import_uvmeval.run(path, &(struct ff__sink){see, &seen}, &error);
    FUZZ_EXPECT(status == 0 || (status == -EBADMSG && error.message[0]));
    close(fd);
    return 0;
}
