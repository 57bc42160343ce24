/* What a translated kernel and the executor know of each other. The translator puts this text in
 * front of every module's C code, so it needs no other header of ours. */
#ifndef FF_PTX_DEVICE_ABI_H
#define FF_PTX_DEVICE_ABI_H

#include <stdint.h>

enum {
    FF_PTX_ABI = 6,          /* of these structures; a cached module with another one is not used */
    FF_PTX_WARP = 32,        /* lanes of a warp */
    FF_PTX_MAX_LANES = 1024, /* threads of a block */
    FF_PTX_WORKSPACE = 256,  /* bytes for the barriers of a cooperative grid */
    FF_PTX_EXITED = 0xffffffff, /* in place of a region's number: the thread has ended */
    FF_PTX_MIXED = 0xfffffffe   /* threads are at several places */
};

/* What threads wait for at the start of a region. The comment lists the operands that each thread
 * has left in `in`, row by row, and the results it finds in `out`. */
enum ff_ptx_wait {
    FF_PTX_NONE,      /* nothing: the first region, and cuts that only give others a turn */
    FF_PTX_BARRIER,   /* in: number, threads (0: the whole block) */
    FF_PTX_ARRIVE,    /* in: number, threads; does not wait */
    FF_PTX_BAR_POPC,  /* in: number, threads, predicate; out: how many threads' predicate holds */
    FF_PTX_BAR_AND,   /* in: as BAR_POPC; out: whether it holds in all */
    FF_PTX_BAR_OR,    /* in: as BAR_POPC; out: whether it holds in any */
    FF_PTX_WARP_SYNC, /* in: lane mask */
    /* in: lane mask, value, b, c of the instruction; out: value, whether the source was in range */
    FF_PTX_SHFL_UP,
    FF_PTX_SHFL_DOWN,
    FF_PTX_SHFL_BFLY,
    FF_PTX_SHFL_IDX,
    /* in: lane mask, predicate; out: result */
    FF_PTX_VOTE_ALL,
    FF_PTX_VOTE_ANY,
    FF_PTX_VOTE_UNI,
    FF_PTX_VOTE_BALLOT,
    /* in: lane mask, value (low, high word); out: mask of the lanes with that value; for ALL also
     * whether all have it */
    FF_PTX_MATCH_ANY,
    FF_PTX_MATCH_ALL,
    /* in: lane mask, value; out: result */
    FF_PTX_REDUX_ADD,
    FF_PTX_REDUX_MIN_U32,
    FF_PTX_REDUX_MAX_U32,
    FF_PTX_REDUX_MIN_S32,
    FF_PTX_REDUX_MAX_S32,
    FF_PTX_REDUX_AND,
    FF_PTX_REDUX_OR,
    FF_PTX_REDUX_XOR,
    FF_PTX_ACTIVEMASK, /* out: mask of the lanes that are here */
    /* in: shared or generic address (low, high word); out: 1, 2 or 4 words. The number is in
     * `shape` of the region: 1, 2, 4, and 8 more for .trans */
    FF_PTX_LDMATRIX,
    /* in: as LDMATRIX, then 1, 2 or 4 words */
    FF_PTX_STMATRIX,
    FF_PTX_MOVMATRIX, /* in: word; out: word */
    /* in: words of A, B, C as the instruction lists them; out: words of D. `shape` tells which
     * product */
    FF_PTX_MMA,
    FF_PTX_WAITS
};

enum { FF_PTX_IN = 24, FF_PTX_OUT = 8 }; /* rows of words for operands and results */

/* Threads that advance together: a warp, or the whole block where a kernel has no operation of
 * warps. Arrays have one element for each lane. */
struct ff_ptx_lanes {
    uint32_t *at;   /* the region each thread runs next, or FF_PTX_EXITED */
    uint8_t *state; /* the kernel's own structure of registers that live across regions */
    uint8_t *local; /* local memory, `local_size` bytes a lane */
    uint32_t *in;   /* [FF_PTX_IN][lanes] */
    uint32_t *out;  /* [FF_PTX_OUT][lanes] */
    uint32_t first; /* linear number in the block of lane 0 */
    uint32_t count; /* lanes in use */
};

/* What is accessed of a page of 4 KiB: bit 0 of sectors[0] is for its first 32 bytes. */
struct ff_ptx_page {
    uint64_t number; /* the address / 4096 */
    uint64_t sectors[2];
};

/* An access to global memory, as a recorded kernel reports it: one instruction of lanes of a warp
 * that lie in one row of the block. Threads that end report that, too, with no pages. */
struct ff_ptx_access {
    uint32_t pc;           /* number of the instruction in its kernel's PTX; of an end, of all */
    uint32_t lanes;        /* mask of those that have come here */
    uint32_t instructions; /* of a lane since its last report, this one included; the most */
    uint32_t write;        /* it may read as well */
    uint32_t page_count;   /* at most one for each lane */
    const struct ff_ptx_page *pages; /* in the order of the lanes */
};

struct ff_ptx_block;

/* What translated code calls. */
struct ff_ptx_services {
    void (*access)(const struct ff_ptx_block *block, const struct ff_ptx_lanes *lanes,
                   const struct ff_ptx_access *access);
    /* vprintf(format, arguments); returns the number of arguments, as CUDA's does */
    int (*print)(const struct ff_ptx_block *block, const char *format, const uint8_t *arguments);
    /* trap, __assertfail: the launch ends with an error; they do not return */
    void (*fail)(const struct ff_ptx_block *block, const char *message);
    void (*assertion)(const struct ff_ptx_block *block, const char *message, const char *file,
                      uint32_t line, const char *function);
    uint64_t (*clock)(void); /* nanoseconds */
    /* tex.DIMENSIONS: coordinates as floats; four components are written */
    void (*texture)(const struct ff_ptx_block *block, uint64_t object, uint32_t dimensions,
                    const float *coordinates, float level, uint32_t *out);
    /* tex with integer coordinates */
    void (*fetch)(const struct ff_ptx_block *block, uint64_t object, uint32_t dimensions,
                  const int32_t *coordinates, uint32_t *out);
    /* suld, sust of `size` bytes; x in bytes. `clamp`: 0 trap, 1 clamp, 2 zero */
    void (*surface_load)(const struct ff_ptx_block *block, uint64_t object, uint32_t dimensions,
                         const int32_t *coordinates, uint32_t clamp, uint32_t size, void *out);
    void (*surface_store)(const struct ff_ptx_block *block, uint64_t object, uint32_t dimensions,
                          const int32_t *coordinates, uint32_t clamp, uint32_t size,
                          const void *in);
    /* malloc(), free() */
    uint64_t (*take)(const struct ff_ptx_block *block, uint64_t size);
    void (*give)(const struct ff_ptx_block *block, uint64_t address);
};

/* A thread block while it runs. */
struct ff_ptx_block {
    const uint8_t *parameters; /* aligned to 16 bytes */
    uint8_t *shared;           /* static, then dynamic; aligned to 256 bytes */
    uint32_t shared_size, dynamic_size;
    uint32_t ctaid[3], nctaid[3], ntid[3];
    uint32_t worker; /* stands for the multiprocessor, %smid */
    /* FF_PTX_WORKSPACE bytes that all blocks share, zeros at first; NULL: no cooperative launch */
    uint8_t *workspace;
    const struct ff_ptx_services *services;
};

/* Runs the lanes [first, first + count) from the start of one region until each waits or has
 * exited. They lie in one row of the block: thread x, y, z is the first one's place. Returns the
 * region they all run next or FF_PTX_EXITED, and then has not set lanes->at; or sets that of each
 * lane and returns FF_PTX_MIXED. */
typedef uint32_t ff_ptx_region_fn(struct ff_ptx_lanes *lanes, const struct ff_ptx_block *block,
                                  uint32_t first, uint32_t count, uint32_t x, uint32_t y,
                                  uint32_t z);

/* The same without those lanes whose bit is set in `absent`, bit 0 for lane `first`. The first and
 * the last one are there. Sets lanes->at of each that is. */
typedef void ff_ptx_apart_fn(struct ff_ptx_lanes *lanes, const struct ff_ptx_block *block,
                             uint32_t first, uint32_t count, uint32_t x, uint32_t y, uint32_t z,
                             uint32_t absent);

struct ff_ptx_region {
    ff_ptx_region_fn *run;
    ff_ptx_apart_fn *apart; /* of recorded kernels, where a warp's lanes may have parted; or NULL */
    uint32_t wait;          /* enum ff_ptx_wait: what precedes it */
    uint32_t shape;         /* of LDMATRIX, STMATRIX, MMA */
    uint32_t line;          /* of the module's PTX, for messages */
};

/* Exported by each shared object: kernels in the module's order. */
struct ff_ptx_code {
    const char *name;
    const struct ff_ptx_region *regions; /* [0]: the start */
    uint32_t region_count;
    uint32_t lanes; /* FF_PTX_WARP or FF_PTX_MAX_LANES: that many may advance together */
    uint32_t state_size, local_size; /* bytes: of a structure; of one lane's local memory */
    uint32_t static_shared;
};

/* A device function whose address the module's variables may hold. */
struct ff_ptx_function {
    uint32_t number; /* in the module */
    void *address;
};

struct ff_ptx_image { /* symbol "ff_ptx_image" of the shared object */
    uint32_t abi;
    uint32_t kernel_count, function_count, variable_count;
    const struct ff_ptx_code *kernels;
    const struct ff_ptx_function *functions;
    uint8_t **variables; /* where those in global or constant space lie: the executor says it */
};

#endif
