/* Loaded before libfarfault: every context that is opened begins with a broken invariant, one page too many counted. */
#include "runtime/context.h"

#include <dlfcn.h>

int ff_open(const struct ff_config *config, struct ff_context **out, struct ff_error *error) {
    __typeof__(&ff_open) real;
    *(void **)&real = dlsym(RTLD_NEXT, "ff_open");
    int status = real(config, out, error);
    if (status == 0)
        (*out)->engine.space.stats.allocated += FF_PAGE_SIZE;
    return status;
}
