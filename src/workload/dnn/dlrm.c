/* DLRM (Naumov et al., 2019), with the sizes of MLPerf's (128 columns) and the tables of Criteo's
 * Kaggle data set: 13 numbers through the bottom MLP, 26 look-ups, products of all pairs, the top MLP.
 * SGD; tables get sparse gradients, and are updated where they were read. */
#include "workload/dnn/nest.h"
#include "workload/dnn/network.h"

#define NUMBERS 13u
#define TABLES  26u
#define WIDTH   128u
#define VECTORS (TABLES + 1)
#define PAIRS   (VECTORS * (VECTORS - 1) / 2)

/* The reference's reader makes a batch in the main process while the device waits: torch.tensor() of a
 * list of rows, one array a sample of numbers and one of categories. What that costs has been published:
 * 62 ns a value in PyTorch 1.8.1 (pytorch issue 57467, rows of 1024), and 1.8 us for rows of three (issue
 * 30460, an older version), of which 1.6 us are left for the row itself. */
#define VALUE_NS  62u
#define ROW_NS    1600u
#define SAMPLE_NS (2 * ROW_NS + (NUMBERS + TABLES) * VALUE_NS)

/* Distinct values of the 26 categories: dlrm_data_pytorch.py prints them for the Kaggle set. */
static const uint32_t entries[TABLES] = {
    1460, 583,   10131227, 2202608, 305,  24,   12517, 633,     3,  93145, 5683,   8351593, 3194,
    27,   14992, 5461306,  10,      5652, 2173, 4,     7046547, 18, 15,    286181, 105,     142572};

static const uint64_t bottom[] = {NUMBERS, 512, 256, WIDTH};
static const uint64_t top[] = {WIDTH + PAIRS, 1024, 1024, 512, 256, 1};

/* Linear layers with ReLU (the last one's stands for the sigmoid). Drops x. */
static uint32_t perceptron(struct ff__tape *tape, uint32_t x, uint64_t rows, const uint64_t *sizes,
                           size_t count, bool data) {
    for (size_t i = 0; i + 1 < count; i++) {
        uint32_t y = ff__layer_linear(tape, x, rows, sizes[i], sizes[i + 1], true, data && i == 0);
        ff__tensor_drop(tape, x);
        x = ff__layer_map(tape, "relu", y, FF__KEEPS_OUT, 0);
        ff__tensor_drop(tape, y);
    }
    return x;
}

/* The vectors' products, below the diagonal, behind the first vector. Drops all. */
static uint32_t interact(struct ff__tape *tape, const uint32_t *vectors, uint64_t rows) {
    uint32_t all = ff__layer_cat(tape, vectors, VECTORS);
    uint32_t z = ff__layer_bmm(tape, all, all, rows, VECTORS, WIDTH, VECTORS);
    ff__tensor_drop(tape, all);
    uint32_t pairs = ff__layer_map(tape, "index", z, FF__KEEPS_NOTHING, rows * PAIRS);
    ff__tensor_drop(tape, z);
    uint32_t out = ff__layer_cat(tape, (const uint32_t[]){vectors[0], pairs}, 2);
    ff__tensor_drop(tape, pairs);
    for (unsigned i = 0; i < VECTORS; i++)
        ff__tensor_drop(tape, vectors[i]);
    return out;
}

/* A table's gradient is sorted and summed up by row, into a copy, and added to these rows. */
static void update_table(struct ff__tape *tape, uint32_t table, uint64_t rows, uint64_t lookups) {
    uint32_t grad = tape->tensors[table].grad;
    uint32_t sums = ff__tensor_bytes(tape, tape->tensors[grad].bytes);
    struct ff__operand some = ff__nest_gather(rows, WIDTH, lookups);
    ff__kernel_map(tape, "coalesce", grad, FF__NO_TENSOR, FF__NO_TENSOR, sums);
    ff__kernel_begin(tape, "index_add", 0);
    ff__kernel_uses(tape, sums, false, 1);
    ff__kernel_nest(tape, table, true, 2, &some);
    ff__kernel_end(tape);
    ff__tensor_drop(tape, sums);
    ff__tensor_drop(tape, grad);
    tape->tensors[table].grad = FF__NO_TENSOR;
}

/* torch.optim.SGD without momentum. */
static void update(struct ff__tape *tape, uint32_t first_table, uint64_t lookups) {
    for (uint32_t i = 0; i < tape->param_count && !tape->failed; i++) {
        uint32_t param = tape->params[i];
        if (i >= first_table && i < first_table + TABLES)
            update_table(tape, param, entries[i - first_table], lookups);
        else
            ff__kernel_map(tape, "add_", param, tape->tensors[param].grad, FF__NO_TENSOR, param);
    }
}

static void train(struct ff__tape *tape, const struct ff__network *network,
                  const struct ff__iteration *iteration) {
    (void)network;
    uint64_t rows = iteration->batch;
    uint32_t first_table, vectors[VECTORS];
    ff__tape_work(tape, rows * SAMPLE_NS);
    uint32_t x = ff__layer_data(tape, rows * NUMBERS * FF__FLOAT);
    struct ff__lookups lookups = {.rows = rows};
    lookups.offsets = ff__layer_data(tape, TABLES * rows * FF__INDEX);
    lookups.indices = ff__layer_data(tape, TABLES * rows * FF__INDEX);
    vectors[0] = perceptron(tape, x, rows, bottom, sizeof bottom / sizeof bottom[0], true);
    first_table = tape->param_next;
    for (unsigned i = 0; i < TABLES; i++) {
        uint32_t table = ff__tape_param(tape, (uint64_t)entries[i] * WIDTH);
        lookups.part = i;
        vectors[i + 1] = ff__layer_embedding_bag(tape, table, entries[i], WIDTH, &lookups);
    }
    ff__tensor_drop(tape, lookups.offsets);
    ff__tensor_drop(tape, lookups.indices);
    x = interact(tape, vectors, rows);
    x = perceptron(tape, x, rows, top, sizeof top / sizeof top[0], false);
    uint32_t loss = ff__layer_map(tape, "binary_cross_entropy", x, FF__KEEPS_IN, 1);
    ff__tensor_drop(tape, x);
    ff__zero_grad(tape);
    ff__tape_backward(tape, loss);
    ff__tensor_drop(tape, loss);
    update(tape, first_table, rows);
}

const struct ff__network ff__dlrm = {
    .run = train,
};
