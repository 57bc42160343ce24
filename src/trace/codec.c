#include "trace/codec.h"

#include "trace/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_KIND  0x0fu
#define HEAD_NAMED 0x40u
#define HEAD_WRITE 0x80u

/* ---- which kind has which fields ---- */

#define BIT(column) (1u << FF__COLUMN_##column)

static const uint32_t fields[FF_TRACE_KINDS] = {
    [FF_TRACE_RANGE] = BIT(RANGE) | BIT(BYTES) | BIT(DEVICE),
    [FF_TRACE_FREE] = BIT(RANGE),
    [FF_TRACE_LAUNCH] = BIT(DEVICE) | BIT(IDENTITY) | BIT(CTAS) | BIT(WARPS),
    [FF_TRACE_LAUNCH_END] = BIT(DEVICE) | BIT(IDENTITY),
    [FF_TRACE_ACCESS] = BIT(DEVICE) | BIT(PC) | BIT(CTA) | BIT(WARP) | BIT(RANGE) | BIT(PAGE) |
                        BIT(BYTES) | BIT(INSTRUCTIONS),
    [FF_TRACE_FAULT] = BIT(DEVICE) | BIT(RANGE) | BIT(PAGE) | BIT(GPU_TIME) | BIT(BATCH) |
                       BIT(INSTANCES) | BIT(UTLB) | BIT(GPC),
    [FF_TRACE_HOST_READ] = BIT(RANGE) | BIT(PAGE) | BIT(BYTES),
    [FF_TRACE_HOST_WRITE] = BIT(RANGE) | BIT(PAGE) | BIT(BYTES),
    [FF_TRACE_MIGRATE] = BIT(DEVICE) | BIT(RANGE) | BIT(PAGE) | BIT(PAGES),
    [FF_TRACE_EVICT] = BIT(DEVICE) | BIT(RANGE) | BIT(PAGE) | BIT(PAGES),
    [FF_TRACE_WORK] = BIT(DEVICE) | BIT(CTA) | BIT(WARP) | BIT(INSTRUCTIONS),
    [FF_TRACE_WRITTEN] = BIT(DEVICE) | BIT(RANGE) | BIT(PAGE) | BIT(PAGES),
    [FF_TRACE_BATCH] = BIT(DEVICE) | BIT(BATCH),
    [FF_TRACE_BATCH_END] = BIT(DEVICE) | BIT(BATCH),
};

/* What one instruction does next is best guessed from what the same instruction did last. */
#define BY_PC (BIT(RANGE) | BIT(PAGE) | BIT(BYTES) | BIT(INSTRUCTIONS))

static const struct {
    size_t offset;
    bool wide; /* 64 bits, else 32 */
} members[FF__TRACE_COLUMNS] = {
#define MEMBER(column, name, is_wide)                                                              \
    [FF__COLUMN_##column] = {offsetof(struct ff_trace_event, name), is_wide}
    MEMBER(DEVICE, device, false),
    MEMBER(PC, pc, false),
    MEMBER(CTA, cta, false),
    MEMBER(WARP, warp, false),
    MEMBER(RANGE, range, false),
    MEMBER(PAGE, page, true),
    MEMBER(PAGES, pages, true),
    MEMBER(BYTES, bytes, true),
    MEMBER(IDENTITY, identity, true),
    MEMBER(INSTRUCTIONS, instructions, false),
    MEMBER(CTAS, ctas, false),
    MEMBER(WARPS, warps, false),
    MEMBER(GPU_TIME, gpu_ns, true),
    MEMBER(BATCH, batch, true),
    MEMBER(INSTANCES, instances, false),
    MEMBER(UTLB, utlb, false),
    MEMBER(GPC, gpc, false),
#undef MEMBER
};

static uint64_t get(const struct ff_trace_event *event, int column) {
    const char *at = (const char *)event + members[column].offset;
    return members[column].wide ? *(const uint64_t *)(const void *)at
                                : *(const uint32_t *)(const void *)at;
}

/* False: the value does not fit. */
static bool set(struct ff_trace_event *event, int column, uint64_t value) {
    char *at = (char *)event + members[column].offset;
    if (members[column].wide)
        *(uint64_t *)(void *)at = value;
    else
        *(uint32_t *)(void *)at = (uint32_t)value;
    return members[column].wide || value <= UINT32_MAX;
}

static uint32_t slot_of(uint32_t pc) {
    return pc * 2654435769u >> 26;
}

/* Where the prediction of a column of this event is kept; the PC is known by then. */
static uint64_t *predict(struct ff__trace_history *history, const struct ff_trace_event *event,
                         int column) {
    if (event->kind == FF_TRACE_ACCESS && BY_PC >> column & 1)
        return &history->of_pc[slot_of(event->pc)][column];
    return &history->of_kind[event->kind][column];
}

/* ---- numbers ---- */

static uint8_t *put_long_number(uint8_t *at, uint64_t value) {
    for (; value >= 128; value >>= 7)
        *at++ = (uint8_t)(value | 128);
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *put_number(uint8_t *at, uint64_t value) {
    if (__builtin_expect(value >= 128, 0)) /* nearly all have one byte */
        return put_long_number(at, value);
    *at = (uint8_t)value;
    return at + 1;
}

/* The same where it is hard to predict whether there is a second byte. Two are written, of which
 * the number may need but one. */
static inline uint8_t *put_spread(uint8_t *at, uint64_t value) {
    if (__builtin_expect(value >> 14 != 0, 0))
        return put_long_number(at, value);
    bool more = value >= 128;
    at[0] = (uint8_t)((value & 127) | (uint32_t)more << 7);
    at[1] = (uint8_t)(value >> 7);
    return at + 1 + more;
}

static bool take_long_number(const uint8_t **at, const uint8_t *end, uint64_t *out) {
    const uint8_t *from = *at;
    uint64_t value = 0;
    for (unsigned shift = 0; from < end && shift < 64; shift += 7) {
        uint64_t bits = *from & 127;
        if (shift == 63 && bits > 1)
            return false;
        value |= bits << shift;
        if (*from++ < 128) {
            *at = from;
            *out = value;
            return true;
        }
    }
    return false;
}

/* False: it goes past the end, or past 64 bits. */
static inline bool take_number(const uint8_t **at, const uint8_t *end, uint64_t *out) {
    if (*at == end || **at >= 128) /* nearly all have one byte */
        return take_long_number(at, end, out);
    *out = *(*at)++;
    return true;
}

/* Small steps either way become small numbers. */
static uint64_t fold(uint64_t difference) {
    return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unfold(uint64_t folded) {
    return folded >> 1 ^ (0 - (folded & 1));
}

/* ---- encoding ---- */

/* Columns grow at the same pace, and would share a set of the cache. put_spread() writes past the
 * end of a number. */
#define GAP 192u

static size_t capacity_of(int column) {
    if (column == FF__COLUMN_HEAD)
        return FF__TRACE_EVENTS_MAX;
    if (column == FF__COLUMN_NAME)
        return FF__TRACE_NAMES_MAX;
    bool wide = column == FF__COLUMN_TIME || members[column].wide;
    return FF__TRACE_EVENTS_MAX * (wide ? 10u : 5u); /* a folded 32-bit difference has 33 bits */
}

int ff__trace_encoder_init(struct ff__trace_encoder *encoder) {
    size_t size = 0;
    for (int column = 0; column < FF__TRACE_COLUMNS; column++)
        size += capacity_of(column) + GAP;
    uint8_t *at = malloc(size);
    if (!at)
        return -ENOMEM;
    encoder->memory = at;
    for (int column = 0; column < FF__TRACE_COLUMNS; column++) {
        encoder->start[column] = at;
        at += capacity_of(column) + GAP;
    }
    ff__trace_encoder_reset(encoder);
    return 0;
}

void ff__trace_encoder_fini(struct ff__trace_encoder *encoder) {
    free(encoder->memory);
}

void ff__trace_encoder_reset(struct ff__trace_encoder *encoder) {
    memset(&encoder->history, 0, sizeof encoder->history);
    memcpy(encoder->at, encoder->start, sizeof encoder->at);
    encoder->events = 0;
}

static void put_name(struct ff__trace_encoder *encoder, const char *name) {
    size_t length = strnlen(name, FF__TRACE_NAME_MAX);
    memcpy(encoder->at[FF__COLUMN_NAME], name, length);
    encoder->at[FF__COLUMN_NAME] += length;
    *encoder->at[FF__COLUMN_NAME]++ = '\0';
}

void ff__trace_encode(struct ff__trace_encoder *encoder, const struct ff_trace_event *event) {
    struct ff__trace_history *history = &encoder->history;
    bool named = event->kind == FF_TRACE_LAUNCH && event->name;
    uint8_t **at = encoder->at;
    *at[FF__COLUMN_HEAD]++ = (uint8_t)((unsigned)event->kind | (named ? HEAD_NAMED : 0) |
                                       (event->write ? HEAD_WRITE : 0));
    if (named)
        put_name(encoder, event->name);
    at[FF__COLUMN_TIME] = put_number(at[FF__COLUMN_TIME], event->time_ns - history->time);
    history->time = event->time_ns;
    encoder->events++;
    for (uint32_t left = fields[event->kind]; left; left &= left - 1) {
        int column = __builtin_ctz(left);
        uint64_t value = get(event, column), *before = predict(history, event, column);
        at[column] = put_number(at[column], fold(value - *before));
        *before = value;
    }
}

/* ---- encoding accesses together, column by column ---- */

/* One number, as often as there are accesses. */
static void put_equal(struct ff__trace_encoder *encoder, int column, uint64_t difference,
                      uint32_t count) {
    uint8_t *at = put_number(encoder->at[column], difference);
    memset(at, 0, count - 1);
    encoder->at[column] = at + count - 1;
}

/* One member of them all; `value` is the first one's. */
static inline void put_member(struct ff__trace_encoder *encoder, int column, const uint32_t *value,
                              uint32_t count) {
    uint64_t before = encoder->history.of_kind[FF_TRACE_ACCESS][column];
    uint8_t *at = encoder->at[column];
    for (uint32_t i = 0; i < count; i++) {
        at = put_number(at, fold(*value - before));
        before = *value;
        value += sizeof(struct ff_warp_access) / sizeof *value;
    }
    encoder->at[column] = at;
    encoder->history.of_kind[FF_TRACE_ACCESS][column] = before;
}

/* Nearly always those of one warp. */
static void put_warps(struct ff__trace_encoder *encoder, const struct ff_warp_access *accesses,
                      uint32_t count) {
    const uint64_t *before = encoder->history.of_kind[FF_TRACE_ACCESS];
    uint32_t cta = (uint32_t)before[FF__COLUMN_CTA], warp = (uint32_t)before[FF__COLUMN_WARP],
             differ = 0;
    for (uint32_t i = 0; i < count; i++)
        differ |= (accesses[i].cta ^ cta) | (accesses[i].warp ^ warp);
    if (differ == 0) {
        put_equal(encoder, FF__COLUMN_CTA, 0, count);
        put_equal(encoder, FF__COLUMN_WARP, 0, count);
        return;
    }
    put_member(encoder, FF__COLUMN_CTA, &accesses->cta, count);
    put_member(encoder, FF__COLUMN_WARP, &accesses->warp, count);
}

/* Where the columns that are predicted by the PC end. */
struct by_pc {
    uint8_t *range, *page, *bytes, *instructions;
};

/* Those of one instruction, from the first on; returns how many. */
static inline uint32_t put_instruction(struct by_pc *at, uint64_t *before,
                                       const struct ff_warp_access *accesses,
                                       const struct ff__trace_place *places, uint32_t count) {
    uint64_t range = before[FF__COLUMN_RANGE], page = before[FF__COLUMN_PAGE],
             bytes = before[FF__COLUMN_BYTES], instructions = before[FF__COLUMN_INSTRUCTIONS];
    uint32_t i = 0;
    do {
        at->range = put_number(at->range, fold(places[i].range - range));
        at->page = put_spread(at->page, fold(places[i].page - page));
        at->bytes = put_spread(at->bytes, fold(accesses[i].bytes - bytes));
        at->instructions =
            put_number(at->instructions, fold(accesses[i].instructions - instructions));
        range = places[i].range;
        page = places[i].page;
        bytes = accesses[i].bytes;
        instructions = accesses[i].instructions;
    } while (++i < count && accesses[i].pc == accesses[0].pc);
    before[FF__COLUMN_RANGE] = range;
    before[FF__COLUMN_PAGE] = page;
    before[FF__COLUMN_BYTES] = bytes;
    before[FF__COLUMN_INSTRUCTIONS] = instructions;
    return i;
}

static void put_by_pc(struct ff__trace_encoder *encoder, const struct ff_warp_access *accesses,
                      const struct ff__trace_place *places, uint32_t count) {
    struct by_pc at = {encoder->at[FF__COLUMN_RANGE], encoder->at[FF__COLUMN_PAGE],
                       encoder->at[FF__COLUMN_BYTES], encoder->at[FF__COLUMN_INSTRUCTIONS]};
    for (uint32_t i = 0; i < count;)
        i += put_instruction(&at, encoder->history.of_pc[slot_of(accesses[i].pc)], accesses + i,
                             places + i, count - i);
    encoder->at[FF__COLUMN_RANGE] = at.range;
    encoder->at[FF__COLUMN_PAGE] = at.page;
    encoder->at[FF__COLUMN_BYTES] = at.bytes;
    encoder->at[FF__COLUMN_INSTRUCTIONS] = at.instructions;
}

void ff__trace_encode_accesses(struct ff__trace_encoder *encoder, uint64_t time_ns, uint32_t device,
                               const struct ff_warp_access *accesses,
                               const struct ff__trace_place *places, uint32_t count) {
    struct ff__trace_history *history = &encoder->history;
    uint64_t *last_device = &history->of_kind[FF_TRACE_ACCESS][FF__COLUMN_DEVICE];
    if (count == 0)
        return;
    for (uint32_t i = 0; i < count; i++)
        encoder->at[FF__COLUMN_HEAD][i] =
            (uint8_t)(FF_TRACE_ACCESS | (accesses[i].write ? HEAD_WRITE : 0));
    encoder->at[FF__COLUMN_HEAD] += count;
    put_equal(encoder, FF__COLUMN_TIME, time_ns - history->time, count);
    history->time = time_ns;
    put_equal(encoder, FF__COLUMN_DEVICE, fold(device - *last_device), count);
    *last_device = device;
    put_member(encoder, FF__COLUMN_PC, &accesses->pc, count);
    put_warps(encoder, accesses, count);
    put_by_pc(encoder, accesses, places, count);
    encoder->events += count;
}

/* ---- decoding ---- */

bool ff__trace_decoder_start(struct ff__trace_decoder *decoder, uint32_t version,
                             const uint8_t *bytes, size_t size, uint32_t events) {
    decoder->columns = version == 1 ? FF__TRACE_COLUMNS_1 : FF__TRACE_COLUMNS;
    decoder->kinds = version == 1 ? FF_TRACE_WORK : FF_TRACE_KINDS;
    decoder->left = 0;
    size_t used = (size_t)decoder->columns * sizeof(uint32_t);
    if (size < used)
        return false;
    memset(&decoder->history, 0, sizeof decoder->history);
    for (int column = 0; column < decoder->columns; column++) {
        uint32_t length = ff__get_u32(bytes + (size_t)column * sizeof length);
        if (length > size - used)
            return false;
        decoder->at[column] = bytes + used;
        used += length;
        decoder->end[column] = bytes + used;
    }
    decoder->left = events;
    return used == size && events > 0;
}

static bool take_name(struct ff__trace_decoder *decoder, struct ff_trace_event *out) {
    const uint8_t *at = decoder->at[FF__COLUMN_NAME];
    size_t left = (size_t)(decoder->end[FF__COLUMN_NAME] - at);
    const uint8_t *end = left ? memchr(at, '\0', left) : NULL;
    if (!end || out->kind != FF_TRACE_LAUNCH)
        return false;
    out->name = (const char *)at;
    decoder->at[FF__COLUMN_NAME] = end + 1;
    return true;
}

static bool take_head(struct ff__trace_decoder *decoder, struct ff_trace_event *out) {
    uint64_t step;
    if (decoder->at[FF__COLUMN_HEAD] == decoder->end[FF__COLUMN_HEAD])
        return false;
    unsigned head = *decoder->at[FF__COLUMN_HEAD]++, kind = head & HEAD_KIND;
    if (kind >= decoder->kinds || head & ~(HEAD_KIND | HEAD_NAMED | HEAD_WRITE))
        return false;
    memset(out, 0, sizeof *out);
    out->kind = (enum ff_trace_kind)kind;
    out->write = head & HEAD_WRITE;
    if (head & HEAD_NAMED && !take_name(decoder, out))
        return false;
    if (!take_number(&decoder->at[FF__COLUMN_TIME], decoder->end[FF__COLUMN_TIME], &step) ||
        step > UINT64_MAX - decoder->history.time)
        return false;
    out->time_ns = decoder->history.time += step;
    return true;
}

static bool all_used(const struct ff__trace_decoder *decoder) {
    for (int column = 0; column < decoder->columns; column++)
        if (decoder->at[column] != decoder->end[column])
            return false;
    return true;
}

bool ff__trace_decode(struct ff__trace_decoder *decoder, struct ff_trace_event *out) {
    if (!take_head(decoder, out))
        return false;
    uint32_t known = (UINT32_C(1) << decoder->columns) - 1;
    for (uint32_t left = fields[out->kind] & known; left; left &= left - 1) {
        int column = __builtin_ctz(left);
        uint64_t folded;
        if (!take_number(&decoder->at[column], decoder->end[column], &folded))
            return false;
        uint64_t *before = predict(&decoder->history, out, column);
        *before += unfold(folded);
        if (!set(out, column, *before))
            return false;
    }
    decoder->left--;
    return decoder->left > 0 || all_used(decoder);
}
