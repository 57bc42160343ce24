/* vprintf() of device code. */
#ifndef FF_PTX_PRINT_H
#define FF_PTX_PRINT_H

#include <stdint.h>

struct ff_ptx_block;

/* Writes to stdout, all in one piece. The arguments lie one behind the other, each at a multiple of
 * its size: 8 bytes for reals, pointers and integers with l, ll, j, z or t, and 4 for others. A
 * conversion that CUDA does not have, %n for one, is written as it stands and takes no argument.
 *
 * Returns how many arguments it took; -1: `format` is NULL; -2: nothing was written, because
 * memory or stdout failed or a width or precision is above 1 MiB. */
int ff__ptx_print(const struct ff_ptx_block *block, const char *format, const uint8_t *arguments);

#endif
