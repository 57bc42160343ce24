/* Arrays that are only appended to: they double when they are full, which is at every power of two
 * from the first capacity on, so that nobody has to keep how much there is room for. */
#ifndef FF_BASE_GROW_H
#define FF_BASE_GROW_H

#include <stddef.h>

#define FF__GROW_FIRST 16u /* elements: the first capacity */

/* To FF__GROW_FIRST elements, or to twice as many as there are. 0 or -ENOMEM. */
int ff__grow_full(void *array, size_t count, size_t size);

/* Makes room for one more element at the end of `*array`, a pointer to `count` elements of `size`
 * bytes that nothing but this function has made grow. 0 or -ENOMEM. */
static inline int ff__grow(void *array, size_t count, size_t size) {
    if (count != 0 && (count < FF__GROW_FIRST || (count & (count - 1)) != 0))
        return 0;
    return ff__grow_full(array, count, size);
}

#endif
