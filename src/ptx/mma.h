/* Matrices of a whole warp: D = A * B + C.
 *
 * Sums of real numbers: products are exact, they are added to C in double precision in the order of
 * A's columns, and the sum is rounded to D's type once, to nearest even. PTX leaves order and
 * rounding open, so hardware differs in the last bits. NaN is the one that PTX calls canonical.
 * Operands of tf32 lose their 13 last bits.
 *
 * A *fragment* is what one lane has of a matrix. That of mma is laid out as PTX says. That of wmma
 * is left to us: lanes have the elements in turn, by rows, of B by columns, each lane as many as
 * the next; where the registers have room for more, those that follow hold the same again. */
#ifndef FF_PTX_MMA_H
#define FF_PTX_MMA_H

#include "ptx/device/abi.h"
#include "ptx/ptx.h"

/* Types of elements that nothing but matrices has: integers of four bits. */
enum { FF__PTX_S4 = FF__PTX_TYPES, FF__PTX_U4 };

enum ff__ptx_matrix { FF__PTX_D, FF__PTX_A, FF__PTX_B, FF__PTX_C, FF__PTX_MATRICES };

struct ff__ptx_mma {
    uint16_t shape; /* enum ff__ptx_modifier */
    uint8_t rows, columns, depth;
    bool wmma;
    uint8_t types[FF__PTX_MATRICES]; /* enum ff__ptx_type, or of the above */
};

/* mma.def, in its order. */
extern const struct ff__ptx_mma ff__ptx_mmas[];
extern const uint32_t ff__ptx_mma_count;

/* Elements of a lane, without those that wmma's registers hold again. */
uint32_t ff__ptx_mma_elements(const struct ff__ptx_mma *mma, enum ff__ptx_matrix which);
/* Words of 32 bits of the registers of a lane. */
uint32_t ff__ptx_mma_words(const struct ff__ptx_mma *mma, enum ff__ptx_matrix which);
uint32_t ff__ptx_mma_bits(uint8_t type); /* of an element */

/* Added to the number of a product: .satfinite of the integer forms. */
#define FF__PTX_SATURATE 256u

/* `shape` is that of the region: of a product its number in ff__ptx_mmas. Operands and results lie
 * in `in` and `out` as enum ff_ptx_wait says. */
void ff__ptx_mma(uint32_t shape, struct ff_ptx_lanes *lanes);
void ff__ptx_ldmatrix(uint32_t shape, struct ff_ptx_lanes *lanes);
void ff__ptx_stmatrix(uint32_t shape, struct ff_ptx_lanes *lanes);
void ff__ptx_movmatrix(struct ff_ptx_lanes *lanes);

#endif
