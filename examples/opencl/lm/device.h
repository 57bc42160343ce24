/* The device of lm's network in OpenCL. */
#ifndef OPENCL_EXAMPLES_LM_DEVICE_H
#define OPENCL_EXAMPLES_LM_DEVICE_H

#include "../common.h"
#include "host/lm/train.h"

extern const char lm_kernels[];

struct device {
    struct app app;
    cl_kernel kernels[LM_KERNEL_COUNT];
    cl_mem workspace; /* CLBlast's */
};

void device_open(struct device *device, int argc, char **argv);

#endif
