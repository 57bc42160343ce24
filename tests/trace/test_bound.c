/* The least that a run must move: against every schedule that there is, on small programs, and on
 * traces small enough to count by hand. */
#include "trace/fixture.h"

#include "base/cases.h"
#include "trace/model/bound.h"
#include "trace/model/least.h"

#include <farfault/mask.h>

/* ---- all schedules ---- */

#define PAGES   5u
#define LENGTH  10u
#define UNKNOWN UINT32_MAX

struct program {
    struct ff__page_use uses[LENGTH];
    uint32_t count, pages, frames;
    uint32_t known[LENGTH + 1][1u << LENGTH]
                  [1u << PAGES]; /* [first of the group][left of it][here] */
};

static uint32_t least_from(struct program *program, uint32_t first, uint32_t left, uint32_t here);

static uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Of the uses in a group, a bit each. */
static uint32_t group_at(const struct program *program, uint32_t first) {
    uint32_t uses = 0;
    for (uint32_t i = first; i < program->count; i++)
        if (program->uses[i].group == program->uses[first].group)
            uses |= 1u << i;
    return uses;
}

static bool is_alone(const struct program *program, uint32_t first) {
    uint32_t group = group_at(program, first);
    return (group & (group - 1)) == 0;
}

/* One use next: its page comes, if it must, to a free frame or in place of any other; or, in a
 * group of several, to none. `first`: of the group. */
static uint32_t least_after(struct program *program, uint32_t first, uint32_t left, uint32_t here,
                            uint32_t use) {
    uint32_t page = 1u << program->uses[use].page, least = UNKNOWN;
    uint32_t miss = program->uses[use].counts;
    left &= ~(1u << use);
    if (here & page)
        return least_from(program, first, left, here);
    if (!is_alone(program, first))
        least = least_from(program, first, left, here);
    if ((uint32_t)__builtin_popcount(here) < program->frames)
        return miss + smaller(least, least_from(program, first, left, here | page));
    for (uint32_t victim = 0; victim < program->pages; victim++)
        if (here & 1u << victim)
            least =
                smaller(least, least_from(program, first, left, (here & ~(1u << victim)) | page));
    return miss + least;
}

static uint32_t least_from(struct program *program, uint32_t first, uint32_t left, uint32_t here) {
    if (left == 0) {
        uint32_t group = program->uses[first].group;
        while (first < program->count && program->uses[first].group == group)
            first++;
        if (first == program->count)
            return 0;
        left = group_at(program, first);
    }
    uint32_t *known = &program->known[first][left][here];
    if (*known == UNKNOWN) {
        uint32_t least = UNKNOWN;
        for (uint32_t use = 0; use < program->count; use++)
            if (left & 1u << use)
                least = smaller(least, least_after(program, first, left, here, use));
        *known = least;
    }
    return *known;
}

static void draw(struct program *program, struct ff__random *random, uint32_t group_most) {
    uint32_t group = 0, in_group = 0, members = 0;
    program->pages = 2 + ff__random_below(random, PAGES - 1);
    program->frames = 1 + ff__random_below(random, program->pages);
    program->count = 0;
    while (program->count < LENGTH) {
        uint32_t page = ff__random_below(random, program->pages);
        if (in_group >> page & 1 || members >= group_most || ff__random_below(random, 3) == 0) {
            group++;
            in_group = members = 0;
        }
        in_group |= 1u << page;
        members++;
        program->uses[program->count++] =
            (struct ff__page_use){page, group, ff__random_below(random, 4) > 0};
    }
}

static void check_least(struct program *program) {
    uint64_t least;
    memset(program->known, 0xff, sizeof program->known);
    uint32_t expected = least_from(program, 0, group_at(program, 0), 0);
    assert_int_equal(
        ff__least_misses(program->uses, program->count, program->pages, program->frames, &least),
        0);
    if (least != expected)
        fail_msg("%llu misses instead of %u", (unsigned long long)least, expected);
}

static void test_least(void **state) {
    static struct program program;
    struct ff__random random = ff__random_seeded(1);
    (void)state;
    for (unsigned long i = scaled_cases(1500, 100); i > 0; i--) {
        draw(&program, &random, i % 2 ? 1 : PAGES);
        check_least(&program);
    }
}

/* ---- traces ---- */

#define PAGE(number) .range = 0, .page = (number)

struct script {
    struct ff_trace_event events[64];
    size_t count;
};

static void add(struct script *script, struct ff_trace_event event) {
    assert_true(script->count < 64);
    script->events[script->count++] = event;
}

static void add_launch(struct script *script, const char *pages, uint32_t threads) {
    add(script, (struct ff_trace_event){.kind = FF_TRACE_LAUNCH, .identity = 1});
    for (uint32_t i = 0; pages[i]; i++)
        add(script, (struct ff_trace_event){.kind = FF_TRACE_ACCESS,
                                            PAGE((uint64_t)(pages[i] - '0')),
                                            .cta = i % threads});
}

static void add_written(struct script *script, uint64_t page) {
    add(script, (struct ff_trace_event){.kind = FF_TRACE_WRITTEN, PAGE(page), .pages = 1});
}

static void end_launch(struct script *script) {
    add(script, (struct ff_trace_event){.kind = FF_TRACE_LAUNCH_END, .identity = 1});
}

static struct script begin_script(void) {
    struct script script = {.count = 0};
    add(&script, (struct ff_trace_event){.kind = FF_TRACE_RANGE, .bytes = 8 * FF_PAGE_SIZE});
    return script;
}

static void read_script(const struct script *script, struct ff__touches *out) {
    struct ff_trace_info info = {.source = "test", .touches = true};
    struct ff_trace_writer *writer;
    struct ff_error error;
    assert_int_equal(ff_trace_create(in_folder("script"), &info, &writer), 0);
    for (size_t i = 0; i < script->count; i++)
        assert_int_equal(ff_trace_write(writer, &script->events[i]), 0);
    assert_int_equal(ff_trace_finish(writer), 0);
    if (ff__touches_read(in_folder("script"), out, &error))
        fail_msg("%s", error.message);
}

/* In pages. */
static void expect(const struct ff__touches *touches, enum ff__touch_order order, uint64_t frames,
                   uint64_t fetched, uint64_t written_back) {
    struct ff__bound bound;
    assert_int_equal(ff__bound_find(touches, order, frames * FF_PAGE_SIZE, &bound), 0);
    assert_int_equal(bound.fetched / FF_PAGE_SIZE, fetched);
    assert_int_equal(bound.written_back / FF_PAGE_SIZE, written_back);
}

/* Three pages that the host has written, gone through three times, each time with the last one
 * written to. */
static void test_scan(void **state) {
    struct script script = begin_script();
    struct ff__touches touches;
    (void)state;
    add(&script,
        (struct ff_trace_event){.kind = FF_TRACE_HOST_WRITE, PAGE(0), .bytes = 3 * FF_PAGE_SIZE});
    for (int i = 0; i < 3; i++) {
        add_launch(&script, "012", 1);
        add_written(&script, 2);
        end_launch(&script);
    }
    read_script(&script, &touches);
    assert_false(touches.parallel);
    expect(&touches, FF__ORDER_ANY, 3, 3, 0);
    expect(&touches, FF__ORDER_RECORDED, 3, 3, 0);
    /* with two frames each later launch hits two pages in the best order; in this one, one */
    expect(&touches, FF__ORDER_ANY, 2, 5, 0);
    expect(&touches, FF__ORDER_RECORDED, 2, 6, 0);
    /* with one, a page stays from one launch to the next */
    expect(&touches, FF__ORDER_ANY, 1, 7, 0);
    expect(&touches, FF__ORDER_RECORDED, 1, 9, 2);
    ff__touches_free(&touches);
}

/* Pages without content cost nothing until they have some, and then nothing where it is replaced.
 */
static void test_content(void **state) {
    struct script script = begin_script();
    struct ff__touches touches;
    (void)state;
    add_launch(&script, "01", 2); /* nothing to fetch */
    add_written(&script, 0);
    end_launch(&script);
    add_launch(&script, "2345", 1); /* these have never any content */
    end_launch(&script);
    add_launch(&script, "01", 1); /* page 0 is needed, page 1 has nothing yet */
    end_launch(&script);
    add(&script, (struct ff_trace_event){.kind = FF_TRACE_ACCESS, PAGE(0), .write = true});
    read_script(&script, &touches);
    assert_true(touches.parallel);
    expect(&touches, FF__ORDER_RECORDED, 2, 0, 0);
    expect(&touches, FF__ORDER_RECORDED, 1, 1, 1);
    ff__touches_free(&touches);
}

/* What the host replaces on its side need not have been written back. */
static void test_replaced(void **state) {
    struct script script = begin_script();
    struct ff__touches touches;
    (void)state;
    add_launch(&script, "01", 1);
    add_written(&script, 0);
    add_written(&script, 1);
    end_launch(&script);
    add(&script,
        (struct ff_trace_event){.kind = FF_TRACE_HOST_WRITE, PAGE(0), .bytes = FF_PAGE_SIZE});
    add_launch(&script, "23", 1);
    end_launch(&script);
    add_launch(&script, "01", 1);
    end_launch(&script);
    read_script(&script, &touches);
    expect(&touches, FF__ORDER_RECORDED, 2, 1, 0);
    expect(&touches, FF__ORDER_RECORDED, 1, 2, 1);
    ff__touches_free(&touches);
}

/* A range that is allocated again has none of its content. */
static void test_free_range(void **state) {
    struct script script = begin_script();
    struct ff__touches touches;
    (void)state;
    add_launch(&script, "01", 1);
    add_written(&script, 0);
    end_launch(&script);
    add(&script, (struct ff_trace_event){.kind = FF_TRACE_FREE});
    add(&script, (struct ff_trace_event){.kind = FF_TRACE_RANGE, .bytes = 8 * FF_PAGE_SIZE});
    add_launch(&script, "01", 1);
    end_launch(&script);
    read_script(&script, &touches);
    expect(&touches, FF__ORDER_RECORDED, 1, 0, 0);
    ff__touches_free(&touches);
}

static void expect_refused(const struct ff_trace_event *events, size_t count, bool accesses,
                           int status, const char *why) {
    struct ff__touches touches;
    struct ff_error error;
    write_trace(in_folder("refused"), accesses, events, count);
    assert_int_equal(ff__touches_read(in_folder("refused"), &touches, &error), status);
    if (!strstr(error.message, why))
        fail_msg("%s", error.message);
    ff__touches_free(&touches);
}

static void test_refused(void **state) {
    const struct ff_trace_event beyond[] = {
        {.kind = FF_TRACE_RANGE, .bytes = FF_PAGE_SIZE},
        {.kind = FF_TRACE_ACCESS, PAGE(1)},
    };
    const struct ff_trace_event devices[] = {
        {.kind = FF_TRACE_RANGE, .bytes = FF_PAGE_SIZE},
        {.kind = FF_TRACE_ACCESS, PAGE(0), .device = 1},
    };
    (void)state;
    expect_refused(beyond, 1, false, -EINVAL, "has faults alone");
    expect_refused(beyond, 2, true, -EBADMSG, "page 1 of range 0 does not exist");
    expect_refused(devices, 2, true, -EINVAL, "more than one device");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_least),      cmocka_unit_test(test_scan),
        cmocka_unit_test(test_content),    cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_free_range), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
