/* Programs of one device that thrash each other take turns: all go on, with the right results, also
 * if one is killed in its turn, or stopped. */
#include "share/processes.h"

#include <sys/mman.h>

#define PROGRAMS_MAX 10u
#define SLOTS        24u /* enough that ten programs can begin */
#define SIZE         (SLOTS / 4 * 3 * SLOT)

/* What programs and the test say to each other. */
struct board {
    bool end;                      /* atomic */
    uint32_t waited;               /* atomic: programs that have waited for their turn */
    uint32_t rounds[PROGRAMS_MAX]; /* atomic: kernels that have ended */
};
static struct board *board;

struct round {
    unsigned char *data;
    uint32_t number;
};

static unsigned char mark(size_t at, uint32_t round) {
    return (unsigned char)(at / PAGE * 31 + round);
}

static void go_over(const struct ff_work *work, void *argument) {
    const struct round *round = argument;
    (void)work;
    for (size_t at = 0; at < SIZE; at += PAGE) {
        unsigned char *byte = round->data + at + at / PAGE % PAGE;
        CHECK(*byte == (round->number == 0 ? 0 : mark(at, round->number - 1)));
        *byte = mark(at, round->number);
    }
}

static bool has_waited(struct ff_context *context) {
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    return stats.waited_ns > 0;
}

static void work(uint32_t number) {
    struct ff_config config = child_config(SLOTS * SLOT);
    config.system = "nvidia-1";
    config.check = number == 0;
    config.workers = 1;
    config.share = test.path;
    config.link = (struct ff_link){200000000, 10000}; /* so slow that waiting for it is all */
    struct ff_context *context = child_open(&config);
    struct round round = {child_alloc(context, SIZE), 0};
    struct ff_stream *stream;
    bool waited = false;
    CHECK(ff_stream_create(context, 0, &stream) == 0);
    while (!__atomic_load_n(&board->end, __ATOMIC_RELAXED)) {
        const struct ff_launch launch = {.name = "go over",
                                         .kernel = go_over,
                                         .grid = 1,
                                         .arguments = &round,
                                         .argument_size = sizeof round};
        CHECK(ff_kernel_launch(stream, &launch) == 0);
        ff_stream_synchronize(stream);
        round.number++;
        __atomic_add_fetch(&board->rounds[number], 1, __ATOMIC_RELAXED);
        if (!waited && has_waited(context)) {
            waited = true;
            __atomic_add_fetch(&board->waited, 1, __ATOMIC_RELAXED);
        }
    }
    ff_stream_destroy(stream);
    struct ff_error error = {""};
    CHECK(ff_check(context, &error) == 0);
    child_close(context);
}

static pid_t start(uint32_t number) {
    pid_t child = fork_child();
    if (child > 0)
        return child;
    end_on_signals();
    work(number);
    _exit(0);
}

static uint32_t rounds_of(uint32_t program) {
    return __atomic_load_n(&board->rounds[program], __ATOMIC_RELAXED);
}

#define UNTIL(condition)                                                                           \
    for (uint64_t since = ff__clock_ns(); !(condition); usleep(2000))                              \
        if (ff__clock_ns() - since > (uint64_t)deadline_seconds() * 2 * 1000000000)                \
            fail_msg("%s: not in time", #condition);

/* The programs but this one run kernels to their ends. */
static void expect_progress(uint32_t count, uint32_t but) {
    uint32_t before[PROGRAMS_MAX];
    for (uint32_t i = 0; i < count; i++)
        before[i] = rounds_of(i);
    for (uint32_t i = 0; i < count; i++)
        UNTIL(i == but || rounds_of(i) >= before[i] + 2)
}

/* The first program that has run another kernel since then; `count`: none has. */
static uint32_t first_to_go_on(uint32_t count, const uint32_t *before) {
    uint32_t i = 0;
    while (i < count && rounds_of(i) == before[i])
        i++;
    return i;
}

/* A program whose turn it is. */
static uint32_t find_holder(uint32_t count) {
    uint32_t before[PROGRAMS_MAX];
    for (uint32_t i = 0; i < count; i++)
        before[i] = rounds_of(i);
    UNTIL(first_to_go_on(count, before) < count)
    return first_to_go_on(count, before);
}

enum fate { NOTHING, KILLED, STOPPED };

static void take_turns(uint32_t count, enum fate fate) {
    pid_t broker = start_broker(1, SLOTS, UINT64_C(500000000)), programs[PROGRAMS_MAX];
    memset(board, 0, sizeof *board);
    for (uint32_t i = 0; i < count; i++)
        programs[i] = start(i);
    UNTIL(__atomic_load_n(&board->waited, __ATOMIC_RELAXED) == count)
    uint32_t chosen = fate == NOTHING ? count : find_holder(count);
    if (fate != NOTHING)
        kill(programs[chosen], fate == KILLED ? SIGKILL : SIGSTOP);
    expect_progress(count, chosen);
    if (fate == STOPPED) {
        kill(programs[chosen], SIGCONT);
        expect_progress(count, count);
    }
    __atomic_store_n(&board->end, true, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < count; i++)
        if (i != chosen || fate != KILLED)
            expect_success(programs[i], "one that takes turns");
    if (fate == KILLED)
        wait_for_child(programs[chosen]);
    stop_broker(broker);
}

static void test_two(void **state) {
    (void)state;
    take_turns(2, NOTHING);
}

static void test_ten(void **state) {
    (void)state;
    take_turns(SANITIZED ? 4 : 10, NOTHING);
}

static void test_killed(void **state) {
    (void)state;
    take_turns(3, KILLED);
}

static void test_stopped(void **state) {
    (void)state;
    take_turns(3, STOPPED);
}

int main(void) {
    struct ff_config config = child_config(SLOTS * SLOT);
    ff_close(open_or_skip(&config));
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_ten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
