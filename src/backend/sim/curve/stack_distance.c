#include "backend/sim/curve/stack_distance.h"

#include "base/lazy.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define WORD        64u
#define ROW         32u /* words */
#define SQUARE      32u /* rows */
#define CUBE        16u /* squares */
#define ROW_BITS    (ROW * WORD)
#define SQUARE_BITS (SQUARE * ROW_BITS)
#define CUBE_BITS   (CUBE * SQUARE_BITS)

#define NUMBERS                                                                                    \
    4u          /* for each page, so that moving all marks together is a small part of the work */
#define NEAR 8u /* accesses: the marks of their last uses are fetched */

/* ---- making ---- */

static uint64_t limit_of(uint64_t page_count) {
    uint64_t limit = CUBE_BITS;
    while (limit < NUMBERS * page_count)
        limit *= 2;
    return limit;
}

/* Arrays of a stack, each with its size. */
struct stack_part {
    void **array;
    size_t size;
};

#define PARTS 8u

static void parts_of(struct ff__stack *stack, struct stack_part parts[PARTS]) {
    size_t limit = limit_of(stack->page_count), pages = stack->page_count;
    const struct stack_part all[PARTS] = {
        {(void **)&stack->uses, (pages + 1) * sizeof *stack->uses},
        {(void **)&stack->last, pages * sizeof *stack->last},
        {(void **)&stack->marks, limit / WORD * sizeof *stack->marks},
        {(void **)&stack->in_row, limit / WORD * sizeof *stack->in_row},
        {(void **)&stack->in_square, limit / ROW_BITS * sizeof *stack->in_square},
        {(void **)&stack->in_cube, limit / SQUARE_BITS * sizeof *stack->in_cube},
        {(void **)&stack->in_all, limit / CUBE_BITS * sizeof *stack->in_all},
        {(void **)&stack->holes, limit / WORD * sizeof *stack->holes},
    };
    memcpy(parts, all, sizeof all);
}

int ff__stack_init(struct ff__stack *stack, uint64_t page_count) {
    struct stack_part parts[PARTS];
    *stack = (struct ff__stack){.page_count = page_count, .now = 1};
    if (page_count > FF__STACK_PAGES) {
        stack->page_count = 0;
        return -EFBIG;
    }
    stack->limit = (uint32_t)limit_of(page_count);
    parts_of(stack, parts);
    for (unsigned i = 0; i < PARTS; i++)
        if (!(*parts[i].array = ff__lazy_map_dense(parts[i].size)))
            return -ENOMEM;
    return 0;
}

void ff__stack_fini(struct ff__stack *stack) {
    struct stack_part parts[PARTS];
    parts_of(stack, parts);
    for (unsigned i = 0; i < PARTS; i++)
        if (*parts[i].array)
            ff__lazy_unmap(*parts[i].array, parts[i].size);
    *stack = (struct ff__stack){0};
}

/* ---- marks ---- */

static inline uint32_t marks_before(const struct ff__stack *stack, uint32_t number) {
    uint64_t earlier = (UINT64_C(1) << number % WORD) - 1;
    return stack->in_all[number / CUBE_BITS] + stack->in_cube[number / SQUARE_BITS] +
           stack->in_square[number / ROW_BITS] + stack->in_row[number / WORD] +
           (uint32_t)__builtin_popcountll(stack->marks[number / WORD] & earlier);
}

/* Whole rows are gone through, in a few vector instructions and without a branch. What lies behind
 * the latest number is set when its turn comes. */
static inline void unmark(struct ff__stack *stack, uint32_t number) {
    uint32_t word = number / WORD, row = number / ROW_BITS, square = number / SQUARE_BITS;
    uint16_t *in_row = &stack->in_row[word / ROW * ROW];
    uint16_t *in_square = &stack->in_square[row / SQUARE * SQUARE];
    uint32_t *in_cube = &stack->in_cube[square / CUBE * CUBE];
    stack->marks[word] &= ~(UINT64_C(1) << number % WORD);
    for (uint16_t i = 0, at = word % ROW; i < ROW; i++)
        in_row[i] = (uint16_t)(in_row[i] - (i > at));
    for (uint16_t i = 0, at = row % SQUARE; i < SQUARE; i++)
        in_square[i] = (uint16_t)(in_square[i] - (i > at));
    for (uint32_t i = 0, at = square % CUBE; i < CUBE; i++)
        in_cube[i] -= i > at;
    for (uint32_t i = number / CUBE_BITS + 1; i <= stack->now / CUBE_BITS; i++)
        stack->in_all[i]--;
}

/* The latest number is the first one of a word: all marks are before it. */
static void begin_word(struct ff__stack *stack) {
    uint32_t now = stack->now, before = stack->depth;
    uint32_t *in_all = &stack->in_all[now / CUBE_BITS],
             *in_cube = &stack->in_cube[now / SQUARE_BITS];
    uint16_t *in_square = &stack->in_square[now / ROW_BITS];
    if (now % CUBE_BITS == 0)
        *in_all = before;
    before -= *in_all;
    if (now % SQUARE_BITS == 0)
        *in_cube = before;
    before -= *in_cube;
    if (now % ROW_BITS == 0)
        *in_square = (uint16_t)before;
    stack->in_row[now / WORD] = (uint16_t)(before - *in_square);
    stack->marks[now / WORD] = 0;
}

static inline void mark_now(struct ff__stack *stack) {
    if (stack->now % WORD == 0)
        begin_word(stack);
    stack->marks[stack->now / WORD] |= UINT64_C(1) << stack->now % WORD;
}

/* ---- holes ---- */

static void add_hole(struct ff__stack *stack, uint32_t number) {
    uint32_t word = number / WORD;
    stack->holes[word] |= UINT64_C(1) << number % WORD;
    stack->hole_word =
        stack->hole_count++ == 0 || word > stack->hole_word ? word : stack->hole_word;
}

/* The latest one, of which there must be one. */
static uint32_t find_hole(struct ff__stack *stack) {
    while (stack->holes[stack->hole_word] == 0)
        stack->hole_word--;
    return stack->hole_word * WORD + WORD - 1 -
           (uint32_t)__builtin_clzll(stack->holes[stack->hole_word]);
}

/* The page whose last use had this number, 0 if it has none, comes to the top. False: no hole is
 * above it. */
static bool fill_hole(struct ff__stack *stack, uint32_t number) {
    uint32_t hole = stack->hole_count > 0 ? find_hole(stack) : 0;
    if (hole <= number)
        return false;
    stack->holes[hole / WORD] &= ~(UINT64_C(1) << hole % WORD);
    stack->hole_count--;
    unmark(stack, hole);
    if (number)
        add_hole(stack, number);
    return true;
}

/* ---- numbers ---- */

static void renumber_holes(struct ff__stack *stack) {
    uint32_t end = stack->hole_count > 0 ? stack->hole_word + 1 : 0;
    stack->hole_count = 0;
    for (uint32_t word = 0; word < end; word++) { /* a hole only moves to an earlier place */
        uint64_t left = stack->holes[word];
        for (stack->holes[word] = 0; left; left &= left - 1) {
            uint32_t number = word * WORD + (uint32_t)__builtin_ctzll(left);
            add_hole(stack, marks_before(stack, number) + 1);
        }
    }
}

/* Moves all marks together. */
static void renumber(struct ff__stack *stack) {
    uint32_t count = stack->depth;
    for (uint64_t page = 0; page < stack->page_count; page++)
        if (stack->last[page])
            stack->last[page] = marks_before(stack, stack->last[page]) + 1;
    renumber_holes(stack);
    stack->marks[0] = 0;
    for (stack->now = 1; stack->now <= count; stack->now++) {
        stack->depth = stack->now - 1;
        mark_now(stack);
    }
    stack->depth = count;
}

/* ---- uses ---- */

static inline uint32_t use(struct ff__stack *stack, uint32_t page) {
    uint32_t number = stack->last[page], distance = 0;
    if (number)
        distance = stack->depth - marks_before(stack, number);
    mark_now(stack);
    if (stack->hole_count == 0 || !fill_hole(stack, number)) {
        if (number)
            unmark(stack, number);
        else
            stack->depth++;
    }
    stack->last[page] = stack->now++;
    return distance;
}

void ff__stack_use(struct ff__stack *stack, const uint32_t *pages, uint32_t count,
                   uint32_t *distances) {
    if (stack->limit - stack->now < count)
        renumber(stack);
    for (uint32_t i = 0; i < count; i++) {
        if (i + FF__STACK_AHEAD < count)
            __builtin_prefetch(&stack->last[pages[i + FF__STACK_AHEAD]], 1);
        if (i + NEAR < count)
            __builtin_prefetch(&stack->marks[stack->last[pages[i + NEAR]] / WORD], 1);
        distances[i] = use(stack, pages[i]);
        __builtin_prefetch(&stack->uses[distances[i]], 1);
    }
    for (uint32_t i = 0; i < count; i++)
        stack->uses[distances[i]]++;
}

void ff__stack_remove(struct ff__stack *stack, uint32_t page) {
    if (stack->last[page])
        add_hole(stack, stack->last[page]);
    stack->last[page] = 0;
}
