#include "work.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_USAGE = 2 };

static const size_t KIB = 1024;
static const size_t SMALLEST_SIZE = 64 * (size_t)1024;
static const size_t LARGEST_SIZE = (size_t)256 << 30;
static const size_t DEFAULT_SIZE = (size_t)64 << 20;

/* ---- Command line ---- */

enum option_key { OPTION_SIZE = 256, OPTION_ITERATIONS, OPTION_CHECK, OPTION_TIMES, OPTION_SEED };

static const struct argp_option options[] = {
    {"size", OPTION_SIZE, "BYTES", 0,
     "Total size of all device buffers, about; K, M and G are understood (default: 64M)", 0},
    {"iterations", OPTION_ITERATIONS, "N", 0, "Iterations to run", 0},
    {"check", OPTION_CHECK, NULL, 0, "Compare the results with a CPU reference", 0},
    {"times", OPTION_TIMES, NULL, 0, "Wait after each iteration and print its time", 0},
    {"seed", OPTION_SEED, "N", 0, "Choose other input data (default: 1)", 0},
    {0},
};

/* One line, unlike argp_error(), which adds a second one. */
void bad_usage(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXIT_USAGE);
}

/* Reads decimal digits; false if there are none or too many. *rest is what follows them. */
static bool parse_digits(const char *text, uint64_t *value, const char **rest) {
    if (text[0] < '0' || text[0] > '9')
        return false;
    char *end = NULL;
    errno = 0;
    *value = strtoull(text, &end, 10);
    *rest = end;
    return errno == 0;
}

uint64_t parse_number(const char *option, const char *text, uint64_t smallest, uint64_t largest) {
    uint64_t value = 0;
    const char *rest = "";
    if (parse_digits(text, &value, &rest) && rest[0] == '\0' && value >= smallest &&
        value <= largest)
        return value;
    if (largest == UINT64_MAX)
        bad_usage("--%s: '%s' is not a whole number from %llu up", option, text,
                  (unsigned long long)smallest);
    bad_usage("--%s: '%s' is not a whole number from %llu to %llu", option, text,
              (unsigned long long)smallest, (unsigned long long)largest);
}

static size_t parse_size(const char *text) {
    uint64_t value = 0;
    const char *unit = "";
    bool valid = parse_digits(text, &value, &unit);
    static const char units[] = "KMG";
    size_t factor = 1;
    if (valid && unit[0] != '\0') {
        const char *known = strchr(units, unit[0]);
        valid = known != NULL && unit[1] == '\0';
        for (const char *each = units; valid && each <= known; ++each)
            factor *= KIB;
    }
    if (!valid)
        bad_usage("--size: '%s' is not a size; give bytes, or a number with K, M or G, as in 256M",
                  text);
    if (value > LARGEST_SIZE / factor || value * factor < SMALLEST_SIZE)
        bad_usage("--size: '%s' is out of range; give a size from %zuK to %zuG", text,
                  SMALLEST_SIZE / KIB, LARGEST_SIZE >> 30);
    return value * factor;
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    struct work *work = state->input;
    switch (key) {
    case OPTION_SIZE:
        work->size = parse_size(argument);
        return 0;
    case OPTION_ITERATIONS:
        work->iterations = parse_number("iterations", argument, 1, UINT64_MAX);
        return 0;
    case OPTION_CHECK:
        work->check = true;
        return 0;
    case OPTION_TIMES:
        work->times = true;
        return 0;
    case OPTION_SEED:
        work->seed = parse_number("seed", argument, 0, UINT64_MAX);
        return 0;
    case ARGP_KEY_ARG:
        bad_usage("'%s' is not an option; this program takes only options, see --help", argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *program_summary(const char *name) {
    static const struct {
        const char *name, *summary;
    } programs[] = {
#define FF_PROGRAM(name, interface, summary) {name, summary},
#include "../programs.def"
#undef FF_PROGRAM
    };
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); ++i)
        if (strcmp(programs[i].name, name) == 0)
            return programs[i].summary;
    return "";
}

static void parse_command_line(struct work *work, const struct argp *extras, int argc,
                               char **argv) {
    const struct problem *problem = work->problem;
    const char *name = program_invocation_short_name;
    char help[1024];
    snprintf(help, sizeof(help),
             "%s -- %s.\v"
             "One iteration is %s; the default is %zu.\n\n"
             "Example, which needs about 256 MiB on the device:\n  %s --size 256M --check",
             name, program_summary(name), problem->iteration_is, problem->default_iterations, name);

    const struct argp_child children[] = {{extras, 0, NULL, 0}, {0}};
    const struct argp argp = {options, parse_option, NULL, help, children, NULL, NULL};
    argp_err_exit_status = EXIT_USAGE;
    argv[0] = program_invocation_short_name; /* which messages about options begin with */
    argp_parse(&argp, argc, argv, 0, NULL, work);
}

void work_open(struct work *work, const struct problem *problem, const struct argp *extras,
               int argc, char **argv) {
    *work = (struct work){
        .problem = problem,
        .size = DEFAULT_SIZE,
        .iterations = problem->default_iterations,
        .seed = 1,
    };
    parse_command_line(work, extras, argc, argv);
}

/* ---- Time and verdict ---- */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void work_start_clock(struct work *work) {
    work->started = work->lap_started = now();
}

double work_lap(struct work *work) {
    const double ended = now();
    const double seconds = ended - work->lap_started;
    work->lap_started = ended;
    ++work->iterations_done;
    return seconds;
}

void work_end_iteration(struct work *work) {
    const double seconds = work_lap(work);
    printf("iteration %zu: %.6f s\n", work->iterations_done, seconds);
}

void work_stop_clock(struct work *work) {
    const double seconds = now() - work->started;
    printf("footprint: %zu\ndevice_seconds: %.6f\n", work->footprint, seconds);
    fflush(stdout);
}

void work_expect(struct work *work, size_t index, double got, double wanted, double allowed) {
    ++work->checked;
    const double error = fabs(got - wanted);
    if (error <= allowed)
        return;
    const bool worse = work->wrong == 0 || error > work->worst_error || isnan(error);
    ++work->wrong;
    if (worse && !isnan(work->worst_error)) {
        work->worst_error = error;
        work->worst_index = index;
    }
}

void work_expect_floats(struct work *work, const float *got, const float *wanted, size_t count,
                        double allowed) {
    for (size_t i = 0; i < count; ++i)
        work_expect(work, i, got[i], wanted[i], allowed);
}

static int print_verdict(const struct work *work) {
    /* A check that looked at nothing has verified nothing. */
    if (work->checked > 0 && work->wrong == 0) {
        puts("verified: yes");
        return EXIT_SUCCESS;
    }
    printf("verified: no (max error %g at %zu)\n", work->worst_error, work->worst_index);
    return EXIT_FAILURE;
}

int work_close(const struct work *work) {
    return work->check ? print_verdict(work) : EXIT_SUCCESS;
}
