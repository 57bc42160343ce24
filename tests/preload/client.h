/* What the OpenCL clients under test share. Each runs plainly, which shows that it asks for what
 * OpenCL promises and PoCL does, and again under the preload with less device memory than it uses,
 * which must make no difference. */
#ifndef FF_TESTS_PRELOAD_CLIENT_H
#define FF_TESTS_PRELOAD_CLIENT_H

#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

/* Ends the test with one line unless the condition holds. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            client_fail(__FILE__, __LINE__, #condition, 0);                                        \
    } while (0)

/* The same for the status of an OpenCL call. */
#define EXPECT(wanted, call)                                                                       \
    do {                                                                                           \
        cl_int status_of_call = (call);                                                            \
        if (status_of_call != (wanted))                                                            \
            client_fail(__FILE__, __LINE__, #call, status_of_call);                                \
    } while (0)
#define OK(call) EXPECT(CL_SUCCESS, call)

__attribute__((noreturn)) void client_fail(const char *file, int line, const char *what,
                                           cl_int status);

struct client {
    cl_platform_id platform;
    cl_device_id devices[8];
    cl_uint device_count;
    cl_device_id device; /* the first one */
    cl_context context;  /* of all of them */
    cl_command_queue queue;
    cl_program program; /* the kernels below */
};

/* Kernels that every client has:
 *   add(int *data, int value)                           data[i] += value
 *   sum(const int *a, const int *b, int *c)             c[i] = a[i] + b[i]
 *   scaled(int *data, int value, local int *scratch)    data[i] = i * value, through local memory
 *   chase(int **pointers, int value)                    pointers[0][i] = value + i
 *   where(int *data)                                    data[global id of 3] = linear id */
void client_open(struct client *client, cl_command_queue_properties properties);
void client_close(struct client *client);

cl_kernel client_kernel(const struct client *client, const char *name);
cl_command_queue client_queue(const struct client *client, cl_device_id device,
                              cl_command_queue_properties properties);
cl_mem client_buffer(const struct client *client, cl_mem_flags flags, size_t size, void *host);

/* Sets buffer and value as the first arguments and runs the kernel over `items`. */
void client_launch(cl_command_queue queue, cl_kernel kernel, cl_mem buffer, cl_int value,
                   size_t items);

/* int[count], with element i being first + i * step; free() it. */
cl_int *client_numbers(size_t count, cl_int first, cl_int step);
bool client_is_series(const cl_int *numbers, size_t count, cl_int first, cl_int step);
bool client_buffer_is_series(cl_command_queue queue, cl_mem buffer, size_t count, cl_int first,
                             cl_int step);

/* Whether this runs under the preload. */
bool client_is_preloaded(void);

#endif
