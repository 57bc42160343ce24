/* The variables of a loaded module in global and constant space: all that its kernels were compiled
 * to, in as many shared objects as it may be, finds them in the same places. */
#ifndef FF_PTX_VARIABLES_H
#define FF_PTX_VARIABLES_H

#include "ptx/device/abi.h"
#include "ptx/ptx.h"

struct ff__ptx_variables {
    uint8_t *memory; /* of all */
    size_t size;
    uint8_t **places; /* by ff__ptx_variable.number */
    /* Those that the text has outside of functions, in any space. The translator gives its module
     * others. */
    const struct ff__ptx_variable *all;
    uint32_t count;
    bool has_functions;   /* addresses of functions are among their values */
    bool knows_functions; /* a shared object has told them */
};

/* With their initial values. Before the module is translated. 0 or -ENOMEM; then, too, it is to be
 * freed. */
int ff__ptx_variables_make(const struct ff__ptx_module *module, struct ff__ptx_variables *out);
void ff__ptx_variables_free(struct ff__ptx_variables *variables);

/* Tells a shared object where they lie, and takes from the first one where functions do. False: it
 * is not of this module. */
bool ff__ptx_variables_use(struct ff__ptx_variables *variables, const struct ff__ptx_module *module,
                           const struct ff_ptx_image *image);

/* The variable of this name that is outside of functions, or NULL. */
const struct ff__ptx_variable *ff__ptx_variables_find(const struct ff__ptx_variables *variables,
                                                      const char *name);

#endif
