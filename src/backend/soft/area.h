/* Areas of address space of the software device: aligned to a block, hidden from forked children
 * and core files, and paid for as touched. */
#ifndef FF_SOFT_AREA_H
#define FF_SOFT_AREA_H

#include <stdbool.h>
#include <stddef.h>

struct ff_error;

enum ff__area_kind {
    FF__AREA_SHUT,  /* without access at first */
    FF__AREA_HUGE,  /* allocated when touched, in huge pages where the system has them */
    FF__AREA_SMALL, /* allocated when touched, in pages of 4 KiB */
};

/* NULL: there are no such addresses. */
char *ff__area_reserve(size_t size, enum ff__area_kind kind);

/* Reserves addresses that map a file of that size, shared. */
char *ff__area_reserve_file(size_t size, int fd);

/* Without access, at this very place, in huge pages when it is opened. False: something else is
 * there. */
bool ff__area_reserve_at(char *place, size_t size);

/* Says that an area of this size could not be reserved. Returns the status. */
int ff__area_fail(struct ff_error *error, int status, size_t size);

/* NULL is allowed. */
void ff__area_release(char *area, size_t size);

#endif
