/* Instructions that compute a value from values: what there is of them (forms.def), and the names
 * of the C functions that compute it. */
#ifndef FF_PTX_FORMS_H
#define FF_PTX_FORMS_H

#include "ptx/ptx.h"

#define FF__PTX_MOST_VALUES 5u

struct ff__ptx_form {
    enum ff__ptx_type result;
    enum ff__ptx_type operands[FF__PTX_MOST_VALUES];
    uint32_t count;
    char function[64]; /* of the prelude */
    bool flush;        /* .ftz: floating operands and result pass through ftz_TYPE() */
    bool saturate;     /* the result passes through sat_TYPE() */
};

/* False: no such form. */
bool ff__ptx_form(const struct ff__ptx_instruction *instruction, struct ff__ptx_form *out);
/* Whether there is such a form of an instruction that has rows of FF_PTX_CHECKED. */
bool ff__ptx_checked(const struct ff__ptx_instruction *instruction);

#endif
