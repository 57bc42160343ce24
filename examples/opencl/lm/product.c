#include "model.h"

#include <clblast_c.h>

#include <stdio.h>
#include <stdlib.h>

/* c = a b, or c += a b, where c is m x n and either operand may be stored transposed. */
struct product {
    CLBlastTranspose turn_a, turn_b;
    size_t m, n, k;
};

static CLBlastTranspose turn(bool turned) {
    return turned ? CLBlastTransposeYes : CLBlastTransposeNo;
}

/* Elements from one row to the next, as stored. */
static size_t pitch_a(const struct product *product) {
    return product->turn_a == CLBlastTransposeYes ? product->m : product->k;
}

static size_t pitch_b(const struct product *product) {
    return product->turn_b == CLBlastTransposeYes ? product->k : product->n;
}

static void require_clblast(CLBlastStatusCode status) {
    if (status == CLBlastSuccess)
        return;
    fprintf(stderr, "lm: CLBlast: error %d\n", status);
    exit(EXIT_FAILURE);
}

static void multiply(struct model *model, struct product product, cl_mem a, cl_mem b, bool add,
                     cl_mem c) {
    require_clblast(CLBlastSgemmWithTempBuffer(
        CLBlastLayoutRowMajor, product.turn_a, product.turn_b, product.m, product.n, product.k,
        1.0f, a, 0, pitch_a(&product), b, 0, pitch_b(&product), add ? 1.0f : 0.0f, c, 0, product.n,
        &model->app->queue, NULL, model->workspace));
}

static size_t workspace_of(const struct model *model, struct product product) {
    size_t bytes = 0;
    require_clblast(CLBlastSGemmTempBufferSize(
        CLBlastLayoutRowMajor, product.turn_a, product.turn_b, product.m, product.n, product.k, 0,
        pitch_a(&product), 0, pitch_b(&product), 0, product.n, &model->app->queue, &bytes));
    return bytes;
}

/* ---- The three products of a linear layer ---- */

static struct product forward(struct linear linear) {
    return (struct product){turn(false), turn(linear.turned), linear.rows, linear.outputs,
                            linear.inputs};
}

static struct product input_gradient(struct linear linear) {
    return (struct product){turn(false), turn(!linear.turned), linear.rows, linear.inputs,
                            linear.outputs};
}

static struct product weight_gradient(struct linear linear) {
    if (linear.turned)
        return (struct product){turn(true), turn(false), linear.outputs, linear.inputs,
                                linear.rows};
    return (struct product){turn(true), turn(false), linear.inputs, linear.outputs, linear.rows};
}

void product_forward(struct model *model, struct linear linear, cl_mem in, cl_mem weight,
                     cl_mem out) {
    multiply(model, forward(linear), in, weight, true, out);
}

void product_input_gradient(struct model *model, struct linear linear, cl_mem d_out, cl_mem weight,
                            cl_mem d_in) {
    multiply(model, input_gradient(linear), d_out, weight, false, d_in);
}

void product_weight_gradient(struct model *model, struct linear linear, cl_mem in, cl_mem d_out,
                             cl_mem d_weight) {
    if (linear.turned)
        multiply(model, weight_gradient(linear), d_out, in, false, d_weight);
    else
        multiply(model, weight_gradient(linear), in, d_out, false, d_weight);
}

struct linear linear_of(const struct model *model, enum tensor_kind kind) {
    const struct tensor tensor = shape_tensor(&model->shape, kind);
    if (kind == TOKENS)
        return (struct linear){model->rows, tensor.columns, tensor.rows, true};
    return (struct linear){model->rows, tensor.rows, tensor.columns, false};
}

size_t product_workspace(const struct model *model) {
    static const enum tensor_kind kinds[] = {QKV_WEIGHT, PROJECT_WEIGHT, EXPAND_WEIGHT,
                                             CONTRACT_WEIGHT, TOKENS};
    size_t most = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
        const struct linear linear = linear_of(model, kinds[i]);
        const struct product products[] = {forward(linear), input_gradient(linear),
                                           weight_gradient(linear)};
        for (size_t j = 0; j < 3; ++j) {
            const size_t bytes = workspace_of(model, products[j]);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}
