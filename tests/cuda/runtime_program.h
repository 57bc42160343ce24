/* What a compiler makes of a program in CUDA C++, by hand: an image of PTX, and host symbols that
 * stand for its kernels and variables. */
#ifndef TEST_CUDA_RUNTIME_PROGRAM_H
#define TEST_CUDA_RUNTIME_PROGRAM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs them first */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/runtime/registration.h"
#include "ptx/fatbin.h"
#include <cuda_runtime_api.h>

#define GOOD(call)     assert_int_equal(call, cudaSuccess)
#define FAILS(e, call) assert_int_equal(call, cudaError##e)

static const char text[] = ".version 6.4\n.target sm_70\n.address_size 64\n"
                           ".visible .global .align 4 .u32 shift = 5;\n"
                           ".visible .entry add(.param .u64 add_a, .param .u32 add_b) {\n"
                           ".reg .b32 %r<8>; .reg .b64 %d<4>;\n"
                           "ld.param.u64 %d1, [add_a];\nld.param.u32 %r1, [add_b];\n"
                           "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"
                           "mad.lo.u32 %r5, %r2, %r3, %r4;\n"
                           "mul.wide.u32 %d2, %r5, 4;\nadd.u64 %d3, %d1, %d2;\n"
                           "ld.global.u32 %r6, [%d3];\nadd.u32 %r6, %r6, %r1;\n"
                           "ld.global.u32 %r7, [shift];\nadd.u32 %r6, %r6, %r7;\n"
                           "st.global.u32 [%d3], %r6;\nret;\n}\n";

/* The addresses stand for them. */
static char add, missing, shift;

static struct {
    uint32_t magic, version;
    const void *data, *more;
} wrapper = {.magic = 0x466243b1, .version = 1};

static char *image;
static void **handle;

static int register_program(void **state) {
    size_t size;
    struct ff_error error;
    (void)state;
    if (ff__fatbin_make(text, strlen(text), &image, &size, &error))
        return -1;
    wrapper.data = image;
    handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, &add, &add, "add", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, &missing, &missing, "gone", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(handle, &shift, &shift, "shift", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    return 0;
}

static int unregister_program(void **state) {
    (void)state;
    __cudaUnregisterFatBinary(handle);
    free(image);
    return 0;
}

#endif
