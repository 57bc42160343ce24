/* Windows are open where ranges live, however many come and go, with few borders between open and
 * shut ones. */
#include "base/cases.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "backend/soft/windows.h"
#include "base/random.h"

#include <farfault/mask.h>

#define COUNT 256u
#define MOST  12u

struct world {
    struct ff__windows windows;
    uint8_t live[COUNT]; /* [window] which range has it; 0: none */
};

static void make(struct world *world) {
    memset(world, 0, sizeof *world);
    void *area = mmap(NULL, (size_t)COUNT << FF_BLOCK_SHIFT, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(area, MAP_FAILED);
    assert_int_equal(ff__windows_init(&world->windows, area, COUNT), 0);
    assert_in_range(world->windows.borders_max, 1000, UINT32_MAX);
    world->windows.borders_max = MOST;
}

static void unmake(struct world *world) {
    munmap(world->windows.managed, (size_t)COUNT << FF_BLOCK_SHIFT);
    ff__windows_fini(&world->windows);
}

/* What the kernel says. */
static bool can_access(const struct world *world, uint32_t window) {
    char byte;
    struct iovec to = {&byte, 1};
    struct iovec from = {world->windows.managed + ((size_t)window << FF_BLOCK_SHIFT), 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

static void check(const struct world *world) {
    uint32_t borders = 0;
    bool before = false;
    for (uint32_t window = 0; window < COUNT; window++) {
        bool now = can_access(world, window);
        assert_int_equal(now, world->windows.state[window] != FF__WINDOW_SHUT);
        assert_true(now || !world->live[window]);
        borders += now != before;
        if (now && !world->live[window]) /* or it could be shut without a border more */
            assert_true(before && window + 1 < COUNT && can_access(world, window + 1));
        before = now;
    }
    borders += before;
    assert_int_equal(world->windows.borders, borders);
    assert_true(borders <= MOST);
}

static bool is_free(const struct world *world, uint32_t first, uint32_t count) {
    for (uint32_t i = first; i < first + count; i++)
        if (i >= COUNT || world->live[i])
            return false;
    return true;
}

static void come(struct world *world, uint32_t first, uint32_t count, uint8_t range) {
    assert_int_equal(ff__windows_open(&world->windows, first, count), 0);
    memset(&world->live[first], range, count);
}

static void go(struct world *world, uint32_t first) {
    uint32_t end = first;
    uint8_t range = world->live[first];
    while (first > 0 && world->live[first - 1] == range)
        first--;
    while (end < COUNT && world->live[end] == range)
        end++;
    ff__windows_shut(&world->windows, first, end - first);
    memset(&world->live[first], 0, end - first);
}

static void test_shut_at_once(void **state) {
    struct world world;
    (void)state;
    make(&world);
    come(&world, 10, 5, 1);
    come(&world, 15, 5, 2);
    assert_int_equal(world.windows.borders, 2);
    go(&world, 10);
    assert_false(can_access(&world, 14));
    assert_true(can_access(&world, 15));
    go(&world, 15);
    for (uint32_t window = 0; window < COUNT; window++)
        assert_false(can_access(&world, window));
    unmake(&world);
}

static void free_every_second(bool is_upwards) {
    struct world world;
    make(&world);
    for (uint32_t i = 0; i < COUNT; i++)
        come(&world, i, 1, (uint8_t)(1 + i % 255));
    for (uint32_t odd = 0; odd < 2; odd++) {
        for (uint32_t i = 0; i < COUNT / 2; i++) {
            go(&world, odd + 2 * (is_upwards ? i : COUNT / 2 - 1 - i));
            check(&world);
        }
    }
    assert_int_equal(world.windows.borders, 0);
    unmake(&world);
}

static void test_every_second(void **state) {
    (void)state;
    free_every_second(true);
    free_every_second(false);
}

static void test_random(void **state) {
    struct ff__random random = ff__random_seeded(7);
    struct world world;
    (void)state;
    make(&world);
    for (unsigned long step = scaled_cases(3000, 300); step > 0; step--) {
        uint32_t first = ff__random_below(&random, COUNT), count = 1 + ff__random_below(&random, 4);
        if (world.live[first])
            go(&world, first);
        else if (is_free(&world, first, count))
            come(&world, first, count, (uint8_t)(1 + step % 255));
        check(&world);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        if (world.live[i])
            go(&world, i);
    check(&world);
    assert_int_equal(world.windows.borders, 0);
    unmake(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shut_at_once),
        cmocka_unit_test(test_every_second),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
