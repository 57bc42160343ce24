/* What the parts of the translator share. */
#ifndef FF_PTX_EMIT_INTERNAL_H
#define FF_PTX_EMIT_INTERNAL_H

#include "ptx/arena.h"
#include "ptx/emit.h"
#include "ptx/flow.h"
#include "ptx/forms.h"
#include "ptx/regions.h"
#include <setjmp.h>
#include <stdio.h>

/* How a register is named where an instruction is written. */
enum ff__ptx_place {
    FF__PTX_IN_LANE, /* in the loop over lanes, or in a device function */
    FF__PTX_AHEAD,   /* before the loop: a uniform register, or an affine one's base */
    FF__PTX_STEP     /* before the loop: an affine register's step; 0 of a uniform one */
};

struct ff__ptx_text {
    FILE *file;
    char *text;
    size_t size;
};

/* Of the module. */
struct ff__ptx_emit {
    struct ff__ptx_module *module;
    const struct ff__ptx_emit_options *options;
    struct ff__ptx_arena *arena; /* of one function's translation */
    struct ff__ptx_text out;
    uint64_t *shared_offsets; /* by variable of the module: where device functions find it */
    uint64_t *shared_starts;  /* by function: where its own shared variables lie */
    uint64_t shared_size;     /* of those */
    bool *has_function;       /* by function: its C code is there */
    bool *is_taken;           /* by function: its address is used */

    /* Of the function that is being written. */
    struct ff__ptx_function *function;
    uint32_t function_number;
    const struct ff__ptx_instruction *instruction;
    uint64_t *own_offsets;   /* by variable of the function: in shared or local memory */
    uint64_t *kernel_shared; /* by variable of the module: in this kernel; UINT64_MAX: not in it */
    uint64_t local_size, static_shared;
    struct ff__ptx_text body;
    struct ff__ptx_kernel_emit *kernel; /* NULL: a device function */
    jmp_buf *leave;                     /* of ff__ptx_refuse() */
};

#define FF__PTX_NO_TARGET 0xfffffffdu /* nothing leaves the region yet */
#define FF__PTX_NO_COUNT  UINT32_MAX  /* lanes may have run different numbers of instructions */

/* Of the kernel and region that is being written. */
struct ff__ptx_kernel_emit {
    struct ff__ptx_flow flow;
    struct ff__ptx_shapes shapes;
    struct ff__ptx_regions regions;
    uint32_t region;
    bool repeats;                /* it is a uniform loop, all of whose rounds run at once */
    bool apart;                  /* it may run without some of a row's lanes */
    bool *has_apart;             /* by region */
    uint32_t *placed;            /* by number of a variable in memory: 1 + the region that has G */
    struct ff__ptx_text enter;   /* before the rounds: what registers hold at the start */
    struct ff__ptx_text check;   /* conditions under which threads are at the same place */
    struct ff__ptx_text flush;   /* brings the state up to what a round begins with */
    struct ff__ptx_text carry;   /* after a round: what the next one begins with */
    struct ff__ptx_text ahead;   /* before the loop over lanes */
    struct ff__ptx_text top;     /* first in the loop: what the lane has of it */
    struct ff__ptx_text guard;   /* finds how many lanes fit: affine registers are what they seem */
    struct ff__ptx_text reports; /* behind the loop: recorded accesses */
    bool *demanded;              /* by register: computed again in this region */
    uint8_t *hoisted;            /* by register: enum ff__ptx_shape of what it is set to ahead */
    bool *named;                 /* by register: its value at the start has a name ahead */
    uint64_t *entry, *after; /* sets: has the value it had at the start; that it is set to ahead */
    bool *saved;             /* by register: has a place in the state */
    bool *stored;            /* by register: this region sets it there */
    uint32_t target;         /* the region to which all leave; FF_PTX_MIXED: there are several */
    uint32_t sites;          /* accesses that are recorded in this region */
    uint32_t logs;           /* calls in it whose accesses are recorded */
    uint32_t counted;        /* instructions that the lane's count does not have yet */
    bool all_here;           /* all lanes come to the block that is written */
    uint32_t count;      /* that count, the same in all lanes, which are all here; or NO_COUNT */
    uint32_t site_count; /* what it was at the last of the sites */
};

/* Refuses the function if it has more instructions than one may have. */
void ff__ptx_need_length(struct ff__ptx_emit *emit);
_Noreturn void ff__ptx_refuse(struct ff__ptx_emit *emit, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Text in the translation's arena. */
const char *ff__ptx_format(struct ff__ptx_emit *emit, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ff__ptx_line(struct ff__ptx_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool ff__ptx_text_open(struct ff__ptx_text *text);
void ff__ptx_text_close(struct ff__ptx_text *text);
void *ff__ptx_emit_need(struct ff__ptx_emit *emit, size_t count, size_t size);

static inline const struct ff__ptx_operand *ff__ptx_operand_of(const struct ff__ptx_emit *emit,
                                                               uint32_t index) {
    return &emit->function->operands[emit->instruction->operands + index];
}
static inline enum ff__ptx_type ff__ptx_last_type(const struct ff__ptx_instruction *instruction) {
    return instruction->type_count != 0 ? instruction->types[instruction->type_count - 1] : 0;
}

/* emit_value.c: operands and results as C expressions. */
const char *ff__ptx_c_type(enum ff__ptx_type type);     /* in which values of it are computed */
const char *ff__ptx_c_register(enum ff__ptx_type type); /* in which registers of it are held */
/* An operand's value as of this type. */
const char *ff__ptx_value(struct ff__ptx_emit *emit, const struct ff__ptx_operand *operand,
                          enum ff__ptx_type type, enum ff__ptx_place place);
/* An expression of this type as what the register holds; wider ones are extended by its sign. */
const char *ff__ptx_held(struct ff__ptx_emit *emit, uint32_t reg, enum ff__ptx_type type,
                         const char *expression);
/* Sets a result in the loop; `_` takes none. */
void ff__ptx_assign(struct ff__ptx_emit *emit, const struct ff__ptx_operand *result,
                    enum ff__ptx_type type, const char *expression);
/* Refuses the present instruction if forms.def does not have it as one that is checked. */
void ff__ptx_check(struct ff__ptx_emit *emit);
/* Whether what set or setp compares holds, before it is combined with a predicate. Of pairs: the
 * half with this number; of others `half` is 0. */
const char *ff__ptx_compared(struct ff__ptx_emit *emit, enum ff__ptx_place place, uint32_t half);
/* `holds` combined with the last operand of set or setp, if there is one. */
const char *ff__ptx_combined(struct ff__ptx_emit *emit, enum ff__ptx_place place,
                             const char *holds);
bool ff__ptx_is_pair(enum ff__ptx_type type); /* f16x2, bf16x2 */
/* What a pure instruction computes, and its type. */
const char *ff__ptx_computed(struct ff__ptx_emit *emit, enum ff__ptx_place place,
                             enum ff__ptx_type *type);
const char *ff__ptx_register_name(struct ff__ptx_emit *emit, uint32_t reg,
                                  enum ff__ptx_place place);

/* emit_memory.c */
const char *ff__ptx_address(struct ff__ptx_emit *emit, const struct ff__ptx_operand *operand,
                            enum ff__ptx_space space, enum ff__ptx_place place);
enum ff__ptx_space ff__ptx_space_of(const struct ff__ptx_instruction *instruction);
bool ff__ptx_emit_memory(struct ff__ptx_emit *emit); /* false: not such an instruction */
bool ff__ptx_emit_texture(struct ff__ptx_emit *emit);
bool ff__ptx_emit_wmma(struct ff__ptx_emit *emit); /* loads and stores */
/* Whether accesses are recorded, and the present instruction accesses what may be global memory. */
bool ff__ptx_is_recorded(const struct ff__ptx_emit *emit);
/* A place from which lanes report, its number: here each leaves how many instructions it has run;
 * its address in struct ff_site S<number> is 0 unless it is set. The report stands behind the loop.
 */
uint32_t ff__ptx_record_site(struct ff__ptx_emit *emit);
void ff__ptx_record_report(struct ff__ptx_emit *emit, uint32_t site, uint32_t pc, uint32_t size,
                           bool write);
/* The present instruction accesses `size` bytes at this address, if it is recorded. */
void ff__ptx_record_address(struct ff__ptx_emit *emit, const char *address, uint32_t size,
                            bool write);

/* emit_call.c */
void ff__ptx_emit_call(struct ff__ptx_emit *emit);
void ff__ptx_emit_function(struct ff__ptx_emit *emit, uint32_t number);

/* emit_instruction.c: all that need no region. */
void ff__ptx_emit_instruction(struct ff__ptx_emit *emit);

/* ahead.c: what is computed before the loop over lanes. */
enum ff__ptx_shape ff__ptx_shape_here(struct ff__ptx_emit *emit, uint32_t reg);
void ff__ptx_demand(struct ff__ptx_emit *emit, uint32_t reg);
/* Sets what it can of the present instruction's result ahead, and says what the result is. */
enum ff__ptx_shape ff__ptx_hoist(struct ff__ptx_emit *emit);
/* Whether the value fits when it is widened; adds the condition where it is affine. */
void ff__ptx_need_fit(struct ff__ptx_emit *emit, uint32_t reg, bool is_signed);

/* emit_wait.c: a suspend point's operands and results. */
/* Refuses a list, or a single register, that does not have `count` members. */
void ff__ptx_need_registers(struct ff__ptx_emit *emit, const struct ff__ptx_operand *list,
                            uint32_t count);
const struct ff__ptx_operand *ff__ptx_member(struct ff__ptx_emit *emit,
                                             const struct ff__ptx_operand *list, uint32_t index);
void ff__ptx_emit_wait(struct ff__ptx_emit *emit);
void ff__ptx_emit_waited(struct ff__ptx_emit *emit);
/* Its enum ff_ptx_wait and `shape` (device/abi.h). */
uint32_t ff__ptx_wait_kind(struct ff__ptx_emit *emit, uint32_t *shape);

/* emit_kernel.c */
/* How many lanes advance together. Recorded kernels go by warps, which is what is recorded. */
uint32_t ff__ptx_lanes_of(const struct ff__ptx_emit *emit);
void ff__ptx_emit_kernel(struct ff__ptx_emit *emit, uint32_t number);
void ff__ptx_free_texts(struct ff__ptx_kernel_emit *kernel);

/* The parameters of a region's C function, but for the closing parenthesis. */
#define FF__PTX_REGION                                                                             \
    "(struct ff_ptx_lanes *lanes, const struct ff_ptx_block *block, u32 first, u32 count, u32 x, " \
    "u32 y, u32 z"

/* emit_table.c: what the module exports of a kernel's regions. */
void ff__ptx_emit_table(struct ff__ptx_emit *emit);

#endif
