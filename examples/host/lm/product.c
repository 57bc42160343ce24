#include "product.h"

static struct product forward(struct linear linear) {
    return (struct product){false, linear.turned, linear.rows, linear.outputs, linear.inputs};
}

static struct product input_gradient(struct linear linear) {
    return (struct product){false, !linear.turned, linear.rows, linear.inputs, linear.outputs};
}

static struct product weight_gradient(struct linear linear) {
    if (linear.turned)
        return (struct product){true, false, linear.outputs, linear.inputs, linear.rows};
    return (struct product){true, false, linear.inputs, linear.outputs, linear.rows};
}

void multiply_forward(struct device *device, struct linear linear, memory in, memory weight,
                      memory out) {
    device_multiply(device, forward(linear), in, weight, true, out);
}

void multiply_input_gradient(struct device *device, struct linear linear, memory d_out,
                             memory weight, memory d_in) {
    device_multiply(device, input_gradient(linear), d_out, weight, false, d_in);
}

void multiply_weight_gradient(struct device *device, struct linear linear, memory in, memory d_out,
                              memory d_weight) {
    if (linear.turned)
        device_multiply(device, weight_gradient(linear), d_out, in, false, d_weight);
    else
        device_multiply(device, weight_gradient(linear), in, d_out, false, d_weight);
}

void product_list(struct linear linear, struct product products[PRODUCTS]) {
    products[0] = forward(linear);
    products[1] = input_gradient(linear);
    products[2] = weight_gradient(linear);
}

struct linear linear_of(const struct shape *shape, enum tensor_kind kind) {
    const struct tensor tensor = shape_tensor(shape, kind);
    if (kind == TOKENS)
        return (struct linear){shape_rows(shape), tensor.columns, tensor.rows, true};
    return (struct linear){shape_rows(shape), tensor.rows, tensor.columns, false};
}
