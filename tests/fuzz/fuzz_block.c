/* Any bytes are a block of events or refused; and the events of a block, encoded again, are the
 * same events. */
#include "fuzz/fuzz.h"

#include "trace/codec.h"
#include "trace/file.h"

#define EVENTS_MAX 64u

/* Lays the encoder's columns side by side, as they are in a file. */
static size_t lay_out(const struct ff__trace_encoder *encoder, uint8_t *out) {
    size_t used = FF__TRACE_COLUMNS * 4;
    for (int column = 0; column < FF__TRACE_COLUMNS; column++) {
        size_t size = ff__trace_column_size(encoder, column);
        for (int i = 0; i < 4; i++)
            out[4 * column + i] = (uint8_t)(size >> 8 * i);
        memcpy(out + used, encoder->start[column], size);
        used += size;
    }
    return used;
}

static void check_again(const struct ff_trace_event *events, uint32_t count) {
    static uint8_t laid_out[FF__TRACE_RAW_MAX];
    static struct ff__trace_encoder encoder;
    struct ff__trace_decoder decoder;
    struct ff_trace_event event;
    if (!encoder.memory)
        FUZZ_EXPECT(ff__trace_encoder_init(&encoder) == 0);
    ff__trace_encoder_reset(&encoder);
    for (uint32_t i = 0; i < count; i++) {
        FUZZ_EXPECT(ff__trace_encoder_has_room(&encoder));
        ff__trace_encode(&encoder, &events[i]);
    }
    size_t size = lay_out(&encoder, laid_out);
    FUZZ_EXPECT(ff__trace_decoder_start(&decoder, FF__TRACE_VERSION, laid_out, size, count));
    for (uint32_t i = 0; i < count; i++) {
        FUZZ_EXPECT(ff__trace_decode(&decoder, &event));
        FUZZ_EXPECT(!event.name == !events[i].name);
        event.name = events[i].name; /* compared by length only: long ones are cut */
        FUZZ_EXPECT(memcmp(&event, &events[i], sizeof event) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ff__trace_decoder decoder;
    static struct ff_trace_event events[EVENTS_MAX];
    uint32_t count = size > 0 ? data[0] % EVENTS_MAX + 1 : 0, done = 0;
    uint32_t version = size > 0 && data[0] < 128 ? 1 : FF__TRACE_VERSION;
    uint8_t *copy = (uint8_t *)fuzz_text(data, size);
    bool fine = size > 0 && ff__trace_decoder_start(&decoder, version, copy + 1, size - 1, count);
    while (fine && done < count && ff__trace_decode(&decoder, &events[done]))
        done++;
    if (done > 0)
        check_again(events, done);
    free(copy);
    return 0;
}
