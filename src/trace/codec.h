/* Events to bytes and back, a block at a time: docs/trace-format.md, "Blocks".
 *
 * Every field has a column of its own, because equal things side by side compress best: of a
 * million accesses of the same device to the same range, these two columns are zeros. */
#ifndef FF_TRACE_CODEC_H
#define FF_TRACE_CODEC_H

#include <farfault/farfault.h>
#include <farfault/trace.h>
#include <stddef.h>

#define FF__TRACE_EVENTS_MAX 16384u       /* a block */
#define FF__TRACE_NAME_MAX   4095u        /* bytes of a name */
#define FF__TRACE_NAMES_MAX  (256u << 10) /* bytes of all names of a block, with their ends */
#define FF__TRACE_RAW_MAX    (2u << 20)   /* bytes of a block before compression */

/* In the order of the file. A column is decoded after those its prediction depends on: PC comes
 * before everything that is predicted from it. */
enum ff__trace_column {
    FF__COLUMN_HEAD, /* kind, and two flags */
    FF__COLUMN_NAME,
    FF__COLUMN_TIME,
    FF__COLUMN_DEVICE,
    FF__COLUMN_PC,
    FF__COLUMN_CTA,
    FF__COLUMN_WARP,
    FF__COLUMN_RANGE,
    FF__COLUMN_PAGE,
    FF__COLUMN_PAGES,
    FF__COLUMN_BYTES,
    FF__COLUMN_INSTRUCTIONS,
    FF__COLUMN_IDENTITY,
    FF__COLUMN_CTAS,
    FF__COLUMN_WARPS,
    FF__TRACE_COLUMNS_1, /* so many in version 1 of the format */
    FF__COLUMN_GPU_TIME = FF__TRACE_COLUMNS_1,
    FF__COLUMN_BATCH,
    FF__COLUMN_INSTANCES,
    FF__COLUMN_UTLB,
    FF__COLUMN_GPC,
    FF__TRACE_COLUMNS
};

#define FF__TRACE_PC_SLOTS 64u

/* What numbers are predicted from; all zero at the start of a block. */
struct ff__trace_history {
    uint64_t time;
    uint64_t of_kind[FF_TRACE_KINDS][FF__TRACE_COLUMNS];
    uint64_t of_pc[FF__TRACE_PC_SLOTS][FF__TRACE_COLUMNS];
};

struct ff__trace_encoder {
    struct ff__trace_history history;
    uint8_t *memory;
    uint8_t *start[FF__TRACE_COLUMNS], *at[FF__TRACE_COLUMNS];
    uint32_t events;
};

/* 0 or -ENOMEM. */
int ff__trace_encoder_init(struct ff__trace_encoder *encoder);
void ff__trace_encoder_fini(struct ff__trace_encoder *encoder);

/* There must be room, the kind known, and the time not before the last one. */
void ff__trace_encode(struct ff__trace_encoder *encoder, const struct ff_trace_event *event);

/* Where the page of an access is. */
struct ff__trace_place {
    uint64_t page;
    uint32_t range;
};

/* The same as FF_TRACE_ACCESS events, all of them at this time and of this device. There must be
 * room for all. */
void ff__trace_encode_accesses(struct ff__trace_encoder *encoder, uint64_t time_ns, uint32_t device,
                               const struct ff_warp_access *accesses,
                               const struct ff__trace_place *places, uint32_t count);

/* Forgets the block. */
void ff__trace_encoder_reset(struct ff__trace_encoder *encoder);

static inline size_t ff__trace_column_size(const struct ff__trace_encoder *encoder, int column) {
    return (size_t)(encoder->at[column] - encoder->start[column]);
}

/* Whether the block has room for another event. */
static inline bool ff__trace_encoder_has_room(const struct ff__trace_encoder *encoder) {
    return encoder->events < FF__TRACE_EVENTS_MAX &&
           ff__trace_column_size(encoder, FF__COLUMN_NAME) + FF__TRACE_NAME_MAX + 1 <=
               FF__TRACE_NAMES_MAX;
}

struct ff__trace_decoder {
    struct ff__trace_history history;
    const uint8_t *at[FF__TRACE_COLUMNS], *end[FF__TRACE_COLUMNS];
    uint32_t left;  /* events */
    int columns;    /* of the file's version */
    unsigned kinds; /* likewise */
};

/* Takes up a block of `events` events in a file of that version of the format. False: it is no
 * block. The bytes are borrowed until the last event has been used. */
bool ff__trace_decoder_start(struct ff__trace_decoder *decoder, uint32_t version,
                             const uint8_t *bytes, size_t size, uint32_t events);

/* The next event, of which there must be one left. False: the block is damaged. */
bool ff__trace_decode(struct ff__trace_decoder *decoder, struct ff_trace_event *out);

#endif
