/* Kernels in CUDA C++ (*.cu), what each is launched with, and the same work in plain C (*.c). */
#ifndef FF_TESTS_PTX_KERNELS_H
#define FF_TESTS_PTX_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KERNEL_BUFFERS = 6, KERNEL_INTS = 4, KERNEL_FLOATS = 4 };

enum kernel_type { KERNEL_WORDS, KERNEL_LONGS, KERNEL_HALVES, KERNEL_REALS, KERNEL_DOUBLES };

struct kernel_buffer {
    enum kernel_type type;
    size_t size; /* bytes */
    void *data;  /* owned */
};

/* A launch. The kernel's parameters are pointers to the buffers, then the integers, then the
 * floating-point numbers. */
struct kernel_plan {
    uint32_t grid[3], block[3];
    uint32_t shared; /* bytes of dynamic shared memory */
    int buffer_count, int_count, float_count;
    struct kernel_buffer buffers[KERNEL_BUFFERS];
    int32_t ints[KERNEL_INTS];
    float floats[KERNEL_FLOATS];
    uint32_t seed;
};

struct kernel_case {
    const char *name;
    void (*plan)(struct kernel_plan *plan, int32_t n);
    void (*twin)(const struct kernel_plan *plan); /* changes the buffers as the kernel does */
    int32_t n;                                    /* of the tests */
    int32_t large;                                /* of benchmarks; 0: not one of them */
    /* Floating-point results differ by at most this times the larger of 1 and the result. 0: they
     * are equal. */
    double tolerance;
};

struct kernel_topic {
    const char *name; /* of the .cu file */
    const struct kernel_case *cases;
    int count;
};
extern const struct kernel_topic *const kernel_topics[];
extern const int kernel_topic_count;

/* Ends the process where there is no memory. */
void kernel_plan_make(struct kernel_plan *plan, const struct kernel_case *kernel, int32_t n);
void kernel_plan_free(struct kernel_plan *plan);

/* Lays out the parameters, with these buffers in place of the plan's; returns their size, at most
 * sizeof(struct kernel_parameters). */
struct kernel_parameters {
    uint64_t words[KERNEL_BUFFERS + (KERNEL_INTS + KERNEL_FLOATS) / 2];
};
size_t kernel_plan_parameters(const struct kernel_plan *plan, void *const *buffers,
                              struct kernel_parameters *parameters);

/* Where the first difference is: the number of an element; -1: nowhere. */
long kernel_difference(const struct kernel_buffer *buffer, const void *found, double tolerance);
double kernel_element(enum kernel_type type, const void *data, size_t at);

/* ---- for the topics ---- */

void plan_shape(struct kernel_plan *plan, uint32_t grid, uint32_t block);
void plan_shape_2(struct kernel_plan *plan, uint32_t grid_x, uint32_t grid_y, uint32_t block_x,
                  uint32_t block_y);
uint32_t plan_blocks(int32_t n, uint32_t block); /* that have n threads together, or more */
void plan_int(struct kernel_plan *plan, int32_t value);
void plan_float(struct kernel_plan *plan, float value);

/* Buffers, in the order of the parameters. The plan owns them. */
float *plan_zeros(struct kernel_plan *plan, size_t count);
uint16_t *plan_halves(struct kernel_plan *plan, size_t count); /* -1 to 1, as f16 */
float *plan_reals(struct kernel_plan *plan, size_t count);     /* -1 to 1 */
double *plan_doubles(struct kernel_plan *plan, size_t count);
int32_t *plan_words(struct kernel_plan *plan, size_t count, uint32_t below); /* 0: zeros */
int64_t *plan_longs(struct kernel_plan *plan, size_t count, uint32_t below);

uint32_t plan_random(struct kernel_plan *plan);

/* The bits of f16, and what they stand for; both below 65520. */
uint16_t half_of(double value);
double half_value(uint16_t half);

#define KERNEL_TOPIC(topic)                                                                        \
    const struct kernel_topic topic##_topic = {#topic, cases, (int)(sizeof cases / sizeof *cases)}

#endif
