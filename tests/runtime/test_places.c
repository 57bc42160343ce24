/* Where in the code faults are met: by messages and by signals, and which places are kept. */
#include "runtime/fixture.h"

#include "engine/fault_places.h"

#include <dlfcn.h>
#include <link.h>

#define PAGES 16384u

/* They are told apart by what they add. */
#define TOUCHER(name, number)                                                                      \
    static __attribute__((noinline)) void name(volatile char *data, size_t pages) {                \
        for (size_t i = 0; i < pages; i++)                                                         \
            data[i * 4096] += number;                                                              \
    }
TOUCHER(touch_here, 1)
TOUCHER(touch_there, 3)

typedef void touch_fn(volatile char *data, size_t pages);

/* How far behind the function's first instruction. */
static uint64_t behind(const struct ff_place *place, touch_fn *function) {
    struct link_map *object;
    Dl_info about;
    assert_int_not_equal(
        dladdr1((void *)(uintptr_t)function, &about, (void **)&object, RTLD_DL_LINKMAP), 0);
    assert_string_equal(place->object, about.dli_fname);
    return place->offset - ((uintptr_t)function - object->l_addr);
}

/* The share of faults that were met in the function, which does not lie in the other one. */
static double share_of(struct ff_context *context, touch_fn *function, touch_fn *other) {
    struct ff_place places[8];
    double share = 0;
    uint32_t count = ff_places_read(context, places, 8);
    assert_in_range(count, 1, 8);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t to_this = behind(&places[i], function), to_other = behind(&places[i], other);
        assert_true(i == 0 || places[i].share <= places[i - 1].share);
        if (to_this < 512 && to_this < to_other)
            share += places[i].share;
    }
    return share;
}

/* `tolerance`: of a share. */
static void check_handler(enum ff_handler handler, double tolerance) {
    struct ff_config config = standard_config(PAGES * 4096);
    config.system = "demand";
    config.handler = handler;
    struct ff_context *context = open_or_skip(&config);
    struct ff_place place;
    assert_int_equal(ff_places_read(context, &place, 1), 0);
    char *data = alloc(context, PAGES * 4096);
    touch_fn *volatile here_called = touch_here, *volatile there_called =
                                                     touch_there; /* no copies */
    here_called(data, PAGES * 3 / 4);
    there_called(data + PAGES * 3 / 4 * 4096, PAGES / 4);
    double here = share_of(context, touch_here, touch_there);
    double there = share_of(context, touch_there, touch_here);
    assert_true(here >= 0.75 - tolerance && here <= 0.75 + tolerance);
    assert_true(there >= 0.25 - tolerance && there <= 0.25 + tolerance);
    assert_int_equal(ff_places_read(context, &place, 1), 1);
    assert_true(place.share >= 0.75 - tolerance);
    ff_close(context);
}

static void test_messages(void **state) {
    (void)state;
    check_handler(FF_HANDLER_ADAPTIVE, 0.24);
}

static void test_signals(void **state) {
    (void)state;
    check_handler(FF_HANDLER_SIGBUS, 0.001);
}

/* Code that is unloaded later keeps its name. */
static void test_unloaded(void **state) {
    (void)state;
    struct ff_config config = standard_config(4 << 20);
    config.system = "demand";
    config.handler = FF_HANDLER_SIGBUS;
    struct ff_context *context = open_or_skip(&config);
    struct ff_place place;
    void *library = dlopen(TOUCHER_LIBRARY, RTLD_NOW);
    assert_non_null(library);
    void (*touch)(char *data);
    *(void **)&touch = dlsym(library, "touch_from_library");
    char *data = alloc(context, 3 * 4096);
    touch(data);
    assert_int_equal(ff_places_read(context, &place, 1), 1);
    assert_string_equal(place.function, "touch_from_library");
    ff_places_keep(context);
    dlclose(library);
    assert_int_equal(ff_places_read(context, &place, 1), 1);
    assert_string_equal(place.function, "touch_from_library");
    assert_non_null(strstr(place.object, "toucher"));
    ff_places_keep(NULL);
    ff_close(context);
}

/* One place in 64 faults stays, however many others there are. */
static void test_heaviest_stay(void **state) {
    (void)state;
    struct ff__fault_places places = {0};
    uint64_t heavy = 0, sum = 0;
    for (uint64_t i = 0; i < 100000; i++)
        ff__fault_places_note(&places, i % 50 == 0 ? 7 : 1000 + i);
    assert_int_equal(places.count, FF__FAULT_PLACES);
    assert_int_equal(places.faults, 100000);
    for (uint32_t i = 0; i < places.count; i++) {
        sum += places.of[i].faults;
        if (places.of[i].code == 7)
            heavy = places.of[i].faults;
    }
    assert_int_equal(sum, places.faults); /* whoever takes a row counts on */
    assert_in_range(heavy, 2000, 2000 + 100000 / FF__FAULT_PLACES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_unloaded),
        cmocka_unit_test(test_heaviest_stay),
    };
    return cmocka_run_group_tests_name("runtime.places", tests, NULL, NULL);
}
