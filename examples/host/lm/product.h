/* The products of matrices in a fully connected layer. */
#ifndef EXAMPLES_HOST_LM_PRODUCT_H
#define EXAMPLES_HOST_LM_PRODUCT_H

#include "device.h"

HOST_BEGIN

/* A layer's matrices: in is rows x inputs, weight inputs x outputs. The head's weight is stored the
 * other way around, because it is the table of tokens. */
struct linear {
    size_t rows, inputs, outputs;
    bool turned;
};

struct linear linear_of(const struct shape *shape, enum tensor_kind kind);

/* out += in weight; d_weight = in^T d_out; d_in = d_out weight^T */
void multiply_forward(struct device *device, struct linear linear, memory in, memory weight,
                      memory out);
void multiply_weight_gradient(struct device *device, struct linear linear, memory in, memory d_out,
                              memory d_weight);
void multiply_input_gradient(struct device *device, struct linear linear, memory d_out,
                             memory weight, memory d_in);

/* Those three, for libraries that want to know before. */
enum { PRODUCTS = 3 };
void product_list(struct linear linear, struct product products[PRODUCTS]);

HOST_END

#endif
