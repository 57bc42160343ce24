/* Kernel traces of Accel-Sim's NVBit tracer, versions 1 to 6 (accel-sim-framework:
 * util/tracer_nvbit/tracer_tool/tracer_tool.cu writes them,
 * traces-processing/post-traces-processing.cpp groups them by thread block,
 * gpu-simulator/trace-parser/trace_parser.cc reads them): as text, `.traceg`, or packed, `.tracez`
 * (tracez.c). */
#ifndef FF_TRACE_MODEL_TRACEG_H
#define FF_TRACE_MODEL_TRACEG_H

#include "trace/model/lines.h"

#define FF__TRACEG_LANES 32

struct ff__traceg_kernel {
    char name[4096];
    uint64_t grid[3], block[3]; /* each product below 2^32 */
    uint64_t version;           /* of the tracer; 0: a very old one */
    uint64_t lineinfo;
    uint64_t shared_base, local_base; /* addresses of windows that are no memory; 0: none */
    uint32_t ctas, warps;             /* of a CTA */
};

/* A memory instruction of a warp. */
struct ff__traceg_access {
    uint32_t cta, warp;
    uint64_t pc;
    uint32_t instructions; /* of the warp since its last access, this one included */
    uint32_t width;        /* bytes a lane */
    bool write;
    uint32_t lanes; /* active ones: so many addresses */
    uint64_t address[FF__TRACEG_LANES];
};

struct ff__traceg_reader {
    /* Called once, before any access. Negative errno stops. */
    int (*kernel)(void *self, const struct ff__traceg_kernel *kernel);
    int (*access)(void *self, const struct ff__traceg_kernel *kernel,
                  const struct ff__traceg_access *access);
    void *self;
};

#define FF__TRACEG_VERSION 6 /* the newest that can be read */

/* Accesses to device memory only. -EBADMSG: the message names the line; -ENOTSUP; or what a
 * callback has returned. */
int ff__traceg_read(FILE *file, const char *name, const struct ff__traceg_reader *reader,
                    struct ff_error *error);

/* The same of a packed one, whose lines are those that it has as text. -ENOMEM. */
int ff__tracez_read(FILE *file, const char *name, const struct ff__traceg_reader *reader,
                    struct ff_error *error);

/* ---- line by line ---- */

struct ff__traceg_parser;

/* NULL: no memory, and the error says so. */
struct ff__traceg_parser *ff__traceg_begin(const char *name, const struct ff__traceg_reader *reader,
                                           struct ff_error *error);

/* The line that comes next: to be written into its text, whose number is to be counted. */
struct ff__lines *ff__traceg_lines(struct ff__traceg_parser *parser);

/* Takes the line in there; after the last one, says whether the trace is whole. */
int ff__traceg_line(struct ff__traceg_parser *parser);
int ff__traceg_end(struct ff__traceg_parser *parser);

#endif
