/* Any file is requests of oracleGeneral, packed or not, which become events in order, or refused
 * with a reason. */
#include "fuzz/seen.h"

#include <sys/mman.h>
#include <unistd.h>

#define EVENTS_MAX 100000u /* a few bytes can ask for billions of pages */

struct oracle_seen {
    struct seen seen;
    unsigned events;
};

static int see(void *self, const struct ff_trace_event *event) {
    struct oracle_seen *seen = self;
    bool is_about_range = event->kind == FF_TRACE_RANGE || event->kind == FF_TRACE_ACCESS;
    see_event(&seen->seen, event, is_about_range);
    FUZZ_EXPECT(event->kind != FF_TRACE_ACCESS || (event->bytes > 0 && event->bytes <= 4096));
    return seen->events++ < EVENTS_MAX ? 0 : -ECANCELED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct oracle_seen seen = {{0, 0}, 0};
    struct ff_error error = {""};
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_EXPECT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int status = ff__import_oracle.run(path, &(struct ff__sink){see, &seen}, &error);
    FUZZ_EXPECT(status == 0 || (status == -EBADMSG && error.message[0]) ||
                (status == -ECANCELED && seen.events > EVENTS_MAX));
    close(fd);
    return 0;
}
