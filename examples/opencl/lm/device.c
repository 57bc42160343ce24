#include "device.h"

#include "host/lm/product.h"

#include <clblast_c.h>

#include <stdio.h>
#include <stdlib.h>

static const struct program program = {
    .problem = &lm_problem,
    .extras = &lm_extras,
    .kernels = lm_kernels,
};

void device_open(struct device *device, int argc, char **argv) {
    static const char *const names[] = {
#define KERNEL(name) #name,
        LM_KERNELS(KERNEL)
#undef KERNEL
    };
    app_open(&device->app, &program, argc, argv);
    for (size_t i = 0; i < LM_KERNEL_COUNT; ++i)
        device->kernels[i] = app_kernel(&device->app, names[i]);
}

memory device_memory(struct device *device, size_t bytes) {
    return app_buffer(&device->app, CL_MEM_READ_WRITE, bytes, NULL);
}

void device_write(struct device *device, memory to, size_t bytes, const void *from) {
    app_write(&device->app, to, bytes, from);
}

void device_read(struct device *device, memory from, size_t bytes, void *to) {
    app_read(&device->app, from, bytes, to);
}

void device_clear(struct device *device, memory to, size_t bytes) {
    const float zero = 0;
    app_fill(&device->app, to, bytes, &zero);
}

void device_launch(struct device *device, enum lm_kernel kernel, size_t columns, size_t rows,
                   const struct argument *arguments, size_t count) {
    const struct range range = rows == 1 ? over(columns) : over_plane(columns, rows);
    app_launch_with(&device->app, device->kernels[kernel], range, arguments, count);
}

void device_wait(struct device *device) {
    app_wait(&device->app);
}

/* ---- products, by CLBlast ---- */

static CLBlastTranspose turn(bool turned) {
    return turned ? CLBlastTransposeYes : CLBlastTransposeNo;
}

/* Elements from one row to the next, as stored. */
static size_t pitch_a(const struct product *product) {
    return product->turn_a ? product->m : product->k;
}

static size_t pitch_b(const struct product *product) {
    return product->turn_b ? product->k : product->n;
}

static void require_clblast(CLBlastStatusCode status) {
    if (status == CLBlastSuccess)
        return;
    fprintf(stderr, "lm: CLBlast: error %d\n", status);
    exit(EXIT_FAILURE);
}

void device_multiply(struct device *device, struct product product, memory a, memory b, bool add,
                     memory c) {
    require_clblast(CLBlastSgemmWithTempBuffer(
        CLBlastLayoutRowMajor, turn(product.turn_a), turn(product.turn_b), product.m, product.n,
        product.k, 1.0f, a, 0, pitch_a(&product), b, 0, pitch_b(&product), add ? 1.0f : 0.0f, c, 0,
        product.n, &device->app.queue, NULL, device->workspace));
}

static size_t workspace_of(struct device *device, struct product product) {
    size_t bytes = 0;
    require_clblast(CLBlastSGemmTempBufferSize(
        CLBlastLayoutRowMajor, turn(product.turn_a), turn(product.turn_b), product.m, product.n,
        product.k, 0, pitch_a(&product), 0, pitch_b(&product), 0, product.n, &device->app.queue,
        &bytes));
    return bytes;
}

/* Left to itself, CLBlast would create and release a buffer in every product. */
void device_prepare(struct device *device, const struct shape *shape) {
    static const enum tensor_kind kinds[] = {QKV_WEIGHT, PROJECT_WEIGHT, EXPAND_WEIGHT,
                                             CONTRACT_WEIGHT, TOKENS};
    size_t most = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
        struct product products[PRODUCTS];
        product_list(linear_of(shape, kinds[i]), products);
        for (size_t j = 0; j < PRODUCTS; ++j) {
            const size_t bytes = workspace_of(device, products[j]);
            most = bytes > most ? bytes : most;
        }
    }
    if (most > 0)
        device->workspace = device_memory(device, most);
}
