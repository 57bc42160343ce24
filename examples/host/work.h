/*
 * What every example program shares, whichever interface it uses: the command line, the clock, and
 * the comparison with a CPU reference.
 */
#ifndef EXAMPLES_HOST_WORK_H
#define EXAMPLES_HOST_WORK_H

#include "data.h"

#include <argp.h>
#include <stdbool.h>

HOST_BEGIN

/* What a program computes, in each of its versions. */
struct problem {
    size_t default_iterations;
    const char *iteration_is; /* what one iteration does, for --help */
};

struct work {
    const struct problem *problem;

    /* From the command line. */
    size_t size;
    size_t iterations;
    bool check;
    bool times;
    uint64_t seed;

    size_t footprint; /* bytes of device memory, which the program adds up */
    double started;
    double lap_started;
    size_t iterations_done;

    /* What work_expect() has seen so far. */
    size_t checked;
    size_t wrong;
    double worst_error;
    size_t worst_index;
};

/* Reads the command line, with options of this program alone where `extras` is not NULL. Bad usage
 * ends the program with one line on stderr. */
void work_open(struct work *work, const struct problem *problem, const struct argp *extras,
               int argc, char **argv);
void work_start_clock(struct work *work);
/* The device is to have nothing left to do; prints footprint and seconds. */
void work_stop_clock(struct work *work);
/* Prints the verdict of --check, and returns the exit status. */
int work_close(const struct work *work);

/* Ends an iteration, for which the device is to have nothing left to do: gives the seconds since
 * the last one ended. */
double work_lap(struct work *work);
/* The same with a line for --times. */
void work_end_iteration(struct work *work);

/* For options of a program alone. Bad usage ends the program with one line on stderr. */
__attribute__((noreturn, format(printf, 1, 2))) void bad_usage(const char *format, ...);
uint64_t parse_number(const char *option, const char *text, uint64_t smallest, uint64_t largest);

/* Counts one element as checked, and as wrong if |got - wanted| is over `allowed` or not a number.
 */
void work_expect(struct work *work, size_t index, double got, double wanted, double allowed);
/* The same for two whole arrays of floats, which may differ by `allowed`. */
void work_expect_floats(struct work *work, const float *got, const float *wanted, size_t count,
                        double allowed);

HOST_END

#endif
