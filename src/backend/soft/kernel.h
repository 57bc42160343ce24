/* What is known to be wrong with UFFDIO_MOVE in a kernel, by its version. */
#ifndef FF_SOFT_KERNEL_H
#define FF_SOFT_KERNEL_H

/* A sentence that says what can happen with mechanism MOVE under the kernel of this release (as
 * uname(2) names it, "6.12.43+deb12-amd64"), where that is fixed, and what to do; NULL: nothing is
 * known. Distributions fix kernels without another version, so the sentence is a warning and no
 * more. */
const char *ff__kernel_move_warning(const char *release);

#endif
