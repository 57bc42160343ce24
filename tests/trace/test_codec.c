/* Accesses that are encoded together become the bytes that each would by itself. */
#include "trace/fixture.h"

#include "trace/codec.h"

enum { TOGETHER = 300, TIMES = 40 };

/* Up to 1, 7, ... 31 bits: numbers of one byte and of more, and many that are equal. */
static uint32_t small_number(struct ff__random *random) {
    return ff__random_below(random, UINT32_C(2) << ff__random_below(random, 6) * 6);
}

static void make_accesses(struct ff__random *random, struct ff_warp_access *accesses,
                          struct ff__trace_place *places, uint32_t count) {
    bool one_warp = ff__random_below(random, 2) == 0;
    for (uint32_t i = 0; i < count; i++) {
        accesses[i] = (struct ff_warp_access){.cta = one_warp ? 5 : small_number(random),
                                              .warp = one_warp ? 3 : small_number(random),
                                              .pc = small_number(random),
                                              .instructions = small_number(random),
                                              .bytes = small_number(random),
                                              .write = ff__random_below(random, 2)};
        if (i > 0 && ff__random_below(random, 2) == 0)
            accesses[i].pc = accesses[i - 1].pc;
        places[i] = (struct ff__trace_place){.page = (uint64_t)small_number(random)
                                                     << ff__random_below(random, 34),
                                             .range = small_number(random)};
    }
}

static struct ff_trace_event event_of(const struct ff_warp_access *access,
                                      const struct ff__trace_place *place, uint64_t time_ns) {
    return (struct ff_trace_event){.kind = FF_TRACE_ACCESS,
                                   .time_ns = time_ns,
                                   .device = 1 + time_ns % 2,
                                   .cta = access->cta,
                                   .warp = access->warp,
                                   .pc = access->pc,
                                   .instructions = access->instructions,
                                   .bytes = access->bytes,
                                   .write = access->write,
                                   .page = place->page,
                                   .range = place->range};
}

static void assert_equal_columns(const struct ff__trace_encoder *a,
                                 const struct ff__trace_encoder *b) {
    assert_int_equal(a->events, b->events);
    for (int column = 0; column < FF__TRACE_COLUMNS; column++) {
        size_t size = ff__trace_column_size(a, column);
        assert_int_equal(size, ff__trace_column_size(b, column));
        assert_memory_equal(a->start[column], b->start[column], size);
    }
}

static void test_together(void **state) {
    static struct ff_warp_access accesses[TOGETHER];
    static struct ff__trace_place places[TOGETHER];
    static struct ff__trace_encoder together, alone;
    struct ff__random random = ff__random_seeded(7);
    (void)state;
    assert_int_equal(ff__trace_encoder_init(&together), 0);
    assert_int_equal(ff__trace_encoder_init(&alone), 0);
    for (uint64_t time = 0; time < TIMES; time++) {
        uint32_t count = ff__random_below(&random, TOGETHER + 1);
        const struct ff_trace_event between = {
            .kind = FF_TRACE_WORK, .time_ns = time, .instructions = small_number(&random)};
        make_accesses(&random, accesses, places, count);
        ff__trace_encode_accesses(&together, time, 1 + time % 2, accesses, places, count);
        for (uint32_t i = 0; i < count; i++) {
            struct ff_trace_event event = event_of(&accesses[i], &places[i], time);
            ff__trace_encode(&alone, &event);
        }
        ff__trace_encode(&together, &between);
        ff__trace_encode(&alone, &between);
    }
    assert_equal_columns(&together, &alone);
    ff__trace_encoder_fini(&together);
    ff__trace_encoder_fini(&alone);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_together)};
    return cmocka_run_group_tests_name("trace.codec", tests, NULL, NULL);
}
