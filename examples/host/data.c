#include "data.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void *require_memory(void *memory, const char *call) {
    if (memory != NULL)
        return memory;
    fprintf(stderr, "%s: %s: out of host memory\n", program_invocation_short_name, call);
    exit(EXIT_FAILURE);
}

void *host_array(size_t count, size_t element_size) {
    return require_memory(calloc(count, element_size), "calloc");
}

void *host_pages(size_t bytes) {
    static const size_t page = 4096;
    return require_memory(aligned_alloc(page, divide_up(bytes, page) * page), "aligned_alloc");
}

void *host_grow(void *array, size_t count, size_t element_size) {
    if ((count & (count - 1)) != 0)
        return array;
    const size_t room = count == 0 ? 1 : 2 * count;
    return require_memory(realloc(array, room * element_size), "realloc");
}

size_t square_side(size_t bytes, size_t bytes_per_cell, size_t bytes_per_side) {
    size_t side = (size_t)sqrt((double)bytes / (double)bytes_per_cell);
    while (side > 1 && side * (side * bytes_per_cell + bytes_per_side) > bytes)
        --side;
    return side;
}

size_t cube_side(size_t cells) {
    size_t side = 1;
    while ((side + 1) * (side + 1) * (side + 1) <= cells)
        ++side;
    return side;
}

size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

size_t divide_up(size_t dividend, size_t divisor) {
    return (dividend + divisor - 1) / divisor;
}

void fill_units(float *array, size_t count, uint64_t key, size_t first) {
    for (size_t i = 0; i < count; ++i)
        array[i] = random_unit(key, first + i);
}

void fill_digits(float *array, size_t count, uint64_t key, size_t first) {
    for (size_t i = 0; i < count; ++i)
        array[i] = random_digit(key, first + i);
}
