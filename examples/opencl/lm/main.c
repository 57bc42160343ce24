/* The language model in OpenCL. The products of matrices are CLBlast's, everything else is in
 * kernels.c. */
#include "device.h"

int main(int argc, char **argv) {
    struct device device = {.workspace = NULL};
    device_open(&device, argc, argv);
    lm_train(&device.app.work, &device);
    return app_close(&device.app);
}
