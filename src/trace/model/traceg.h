/* Kernel traces of Accel-Sim's NVBit tracer, `.traceg`, versions 1 to 5 (accel-sim-framework:
 * util/tracer_nvbit/tracer_tool/tracer_tool.cu writes them,
 * traces-processing/post-traces-processing.cpp groups them by thread block,
 * gpu-simulator/trace-parser/trace_parser.cc reads them). */
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

/* Accesses to device memory only. -EBADMSG: the message names the line; -ENOTSUP; or what a
 * callback has returned. */
int ff__traceg_read(FILE *file, const char *name, const struct ff__traceg_reader *reader,
                    struct ff_error *error);

#endif
