/*
 * What the OpenCL programs share beside host/work.h: the set-up and its error checks, buffers, and
 * one-line kernel launches.
 *
 * A program opens an `app`, makes its input data and creates its buffers. It uploads, launches its
 * kernels and downloads its results between app_start_clock() and app_stop_clock(). Then it checks
 * the downloaded results, and returns app_close(), which prints the verdict and gives the exit
 * status. So the time has the uploads, the kernels and the downloads in it, never the CPU
 * reference.
 */
#ifndef OPENCL_EXAMPLES_COMMON_H
#define OPENCL_EXAMPLES_COMMON_H

/* These are OpenCL 1.2 programs: they use calls which later versions of the headers deprecate. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "host/argument.h"
#include "host/work.h"

#include <assert.h>

/* Host variables of type size_t are passed to kernels as ulong. */
static_assert(sizeof(size_t) == sizeof(cl_ulong), "the example programs need a 64-bit host");

/*
 * Turns kernels written as plain code into the string clCreateProgramWithSource() wants. Host
 * macros are expanded first, so both sides share constants such as tile sizes.
 */
#define OPENCL_SOURCE(...)          OPENCL_SOURCE_EXPANDED(__VA_ARGS__)
#define OPENCL_SOURCE_EXPANDED(...) #__VA_ARGS__

struct program {
    const struct problem *problem;
    const struct argp *extras; /* options of this program alone, or NULL */
    const char *kernels;
    bool two_queues; /* the other one on a second device, where there is one */
};

struct app {
    const struct program *program;
    struct work work;

    cl_device_id device; /* of the queue at first; with one queue the only one */
    cl_context context;
    cl_command_queue queue; /* NULL once the clock has stopped: no command can come after it */
    cl_command_queue other_queue; /* NULL unless the program has two */
    cl_program binary;
    cl_mem *buffers;
    size_t buffer_count;
    cl_kernel *kernels;
    size_t kernel_count;
    void **results; /* host arrays of what was downloaded */
    size_t result_count;
};

/* Life of a program. */
void app_open(struct app *app, const struct program *program, int argc, char **argv);
void app_start_clock(struct app *app);
void app_stop_clock(struct app *app); /* waits for all queues, prints footprint and seconds */
int app_close(struct app *app);       /* prints the verdict of --check, returns the exit status */

/* With two queues: commands go to the other one from now on. */
void app_switch_queue(struct app *app);

/* Waits for all queues. */
void app_wait(const struct app *app);
/* With --times, waits and prints how long the iteration took. */
void app_end_iteration(struct app *app);

/* Exits with "PROGRAM: CALL: NAME (CODE)" unless the status is CL_SUCCESS. */
void require(cl_int status, const char *call);

/* Buffers. Those that app_buffer() creates count for the footprint; app_close() releases all. The
 * calls with `mapped` copy to and from a mapping of the buffer. */
cl_mem app_buffer(struct app *app, cl_mem_flags flags, size_t bytes, void *host);
cl_mem app_sub_buffer(struct app *app, cl_mem parent, size_t offset, size_t bytes);
size_t app_sub_buffer_alignment(const struct app *app);
void app_write(struct app *app, cl_mem buffer, size_t bytes, const void *from);
void app_read(struct app *app, cl_mem buffer, size_t bytes, void *to);
void app_fill(struct app *app, cl_mem buffer, size_t bytes, const void *word); /* 4 bytes wide */
void app_write_mapped(struct app *app, cl_mem buffer, size_t bytes, const void *from);

/* Results: each is a fresh host array, which app_close() releases. */
void *app_download(struct app *app, cl_mem buffer, size_t bytes);
void *app_download_mapped(struct app *app, cl_mem buffer, size_t bytes);
void *app_result(struct app *app, size_t bytes); /* to be filled by the program */

/* Kernels. */
cl_kernel app_kernel(struct app *app, const char *name);

struct range {
    cl_uint dimensions;
    size_t items[3]; /* app_launch() rounds them up to whole groups: kernels guard the rest */
    size_t group[3];
};

enum { GROUP_SIZE = 256 };
struct range over(size_t items);
struct range over_plane(size_t width, size_t height);
struct range over_volume(size_t width, size_t height, size_t depth);
struct range over_groups(size_t groups, size_t group_size);

/* A size of 0 is for a shared virtual memory pointer. */
#define SVM_ARG(pointer) ((struct argument){0, (pointer)})

/* app_launch(&app, kernel, over(n), ARG(a), ARG(n)) sets all arguments and enqueues the kernel. */
#define app_launch(app, kernel, range, ...) app_launch_with(app, kernel, range, ARGS(__VA_ARGS__))
void app_launch_with(struct app *app, cl_kernel kernel, struct range range,
                     const struct argument *arguments, size_t count);

#endif
