/* Linked into a farfault whose engines all begin with a broken invariant: the linker sends calls of
 * ff__engine_open() here (--wrap). */
#include "engine/internal.h"

int __real_ff__engine_open(struct ff__engine **engine, const struct ff__engine_config *config,
                           struct ff_error *error);
int __wrap_ff__engine_open(struct ff__engine **engine, const struct ff__engine_config *config,
                           struct ff_error *error);

int __wrap_ff__engine_open(struct ff__engine **engine, const struct ff__engine_config *config,
                           struct ff_error *error) {
    int status = __real_ff__engine_open(engine, config, error);
    if (status == 0)
        (*engine)->space.stats.allocated += FF_PAGE_SIZE;
    return status;
}
