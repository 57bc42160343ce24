/* Every access of a recorded kernel is in the trace: with its warp, place in the code, pages, bytes
 * and the instructions since the warp's last one. */
#include "runtime/fixture.h"

#include "ptx/exec.h"
#include <farfault/trace.h>
#include <unistd.h>

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
    ".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 4 .b8 s[256];\n"
    "mov.u32 %r1, %tid.x;\n"
    "ld.param.u64 %rd1, [a];\n"
    "ld.param.u64 %rd2, [b];\n"
    "mul.wide.u32 %rd3, %r1, 4;\n"
    "add.s64 %rd4, %rd1, %rd3;\n"
    "ld.global.u32 %r2, [%rd4];\n" /* 5: 128 bytes of a warp */
    "setp.lt.u32 %p1, %r1, 2;\n"
    "mul.wide.u32 %rd5, %r1, 4096;\n"
    "add.s64 %rd6, %rd2, %rd5;\n"
    "@%p1 st.global.u32 [%rd6], %r2;\n"        /* 9: two pages, of two threads */
    "atom.global.add.u32 %r3, [%rd2+64], 1;\n" /* 10: one sector of all */
    "mov.u32 %r4, s;\n"
    "st.shared.u32 [%r4], %r3;\n" /* not seen */
    "ld.param.u64 %rd7, [c];\n"
    "st.global.u32 [%rd7], %r3;\n"                          /* 14: of memory that is not managed */
    "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1+4096];\n" /* 15: 16 bytes of all */
    "mov.u32 %r1, 0;\n"
    "L: add.u32 %r1, %r1, 1;\n"
    "ld.u32 %r2, [%rd1];\n" /* 18: generic, three times */
    "setp.lt.u32 %p2, %r1, 3;\n"
    "@%p2 bra L;\n"
    "ret;\n}\n"
    ".visible .entry rows(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
    ".reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<6>;\n"
    "mov.u32 %r1, %tid.x;\n"
    "mov.u32 %r2, %tid.y;\n"
    "ld.param.u64 %rd1, [a];\n"
    "and.b32 %r3, %r1, 1;\n"
    "xor.b32 %r3, %r3, 1;\n"
    "mul.wide.u32 %rd2, %r3, 4096;\n"
    "add.s64 %rd3, %rd1, %rd2;\n"
    "ld.global.u32 %r4, [%rd3];\n" /* 7: two pages, the second one first */
    "setp.gt.u32 %p1, %r1, 1;\n"
    "@%p1 bra S;\n"
    "ld.global.u32 %r5, [%rd1+8192];\n"     /* 10: two lanes of a row */
    "S: ld.global.u32 %r5, [%rd1+12288];\n" /* 11: all */
    "mul.wide.u32 %rd4, %r2, 4096;\n"
    "add.s64 %rd5, %rd1, %rd4;\n"
    "mov.u32 %r6, 0;\n"
    "L: add.u32 %r6, %r6, 1;\n"
    "ld.global.u32 %r7, [%rd5];\n" /* 16: each row a page of its own, twice */
    "setp.lt.u32 %p2, %r6, 2;\n"
    "@%p2 bra L;\n"
    "ret;\n}\n"
    ".visible .entry matrices(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
    ".reg .b32 %r<8>; .reg .b64 %rd<2>;\n"
    "ld.param.u64 %rd1, [a];\n"
    /* 1: 16 rows of 32 bytes; 2: of 16 bytes; 3: all of 1024 bytes */
    "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, "
    "[%rd1], 32;\n"
    "wmma.load.b.sync.aligned.row.m16n16k16.global.s8 {%r0, %r1}, [%rd1+4096], 64;\n"
    "wmma.store.d.sync.aligned.col.m16n16k16.global.s32 [%rd1+8192], "
    "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7};\n"
    "ret;\n}\n"
    ".visible .entry parted(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
    ".reg .pred %p; .reg .b32 %r<5>; .reg .b64 %rd<4>;\n"
    "mov.u32 %r1, %tid.x;\n"
    "ld.param.u64 %rd1, [a];\n"
    "and.b32 %r2, %r1, 3;\n" /* rounds of the loop, less one */
    "xor.b32 %r4, %r1, 1;\n"
    "mul.wide.u32 %rd2, %r4, 128;\n"
    "add.s64 %rd3, %rd1, %rd2;\n"
    "L: ld.global.u32 %r3, [%rd3];\n" /* 6: a sector of each lane; each round another page */
    "st.global.u32 [%rd3+32], %r3;\n" /* 7: the next one */
    "add.s64 %rd3, %rd3, 4096;\n"
    "add.u32 %r2, %r2, -1;\n"
    "setp.ge.s32 %p, %r2, 0;\n"
    "@%p bra L;\n"
    "ret;\n}\n"
    ".func adds(.param .b64 at)\n{\n" /* function 4 */
    ".reg .b32 %r<2>; .reg .b64 %rd; .reg .pred %p;\n"
    "ld.param.u64 %rd, [at];\n"
    "ld.global.u32 %r0, [%rd];\n" /* 1 */
    "mov.u32 %r1, %tid.x;\n"
    "setp.ne.u32 %p, %r1, 3;\n"
    "@%p ret;\n"
    "st.u32 [%rd+4096], %r0;\n" /* 5: of one lane */
    "ret;\n}\n"
    ".visible .entry calls(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
    ".reg .b32 %r<3>; .reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [a];\n"
    "mov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %rd2, %r1, 64;\n"
    "add.s64 %rd3, %rd1, %rd2;\n"
    "ld.global.u32 %r2, [%rd1];\n" /* 4 */
    "{ .param .b64 at_; st.param.b64 [at_], %rd3; call adds, (at_); }\n"
    "{ .param .b64 at_; st.param.b64 [at_], %rd1; call adds, (at_); }\n"
    "st.global.u32 [%rd1+8192], %r2;\n" /* 9 */
    "ret;\n}\n";

struct expected {
    enum ff_trace_kind kind;
    uint32_t range, pc, instructions;
    uint64_t page, bytes;
    bool write;
};

static const struct expected rows[] = {
    {FF_TRACE_ACCESS, 0, 5, 6, 0, 128, false}, {FF_TRACE_ACCESS, 1, 9, 4, 0, 32, true},
    {FF_TRACE_ACCESS, 1, 9, 0, 1, 32, true},   {FF_TRACE_ACCESS, 1, 10, 1, 0, 32, true},
    {FF_TRACE_WORK, 0, 14, 4, 0, 0, false},    {FF_TRACE_ACCESS, 0, 15, 1, 1, 32, false},
    {FF_TRACE_ACCESS, 0, 18, 3, 0, 32, false}, {FF_TRACE_ACCESS, 0, 18, 4, 0, 32, false},
    {FF_TRACE_ACCESS, 0, 18, 4, 0, 32, false}, {FF_TRACE_WORK, 0, 0, 3, 0, 0, false},
};

static void run(const char *path, const char *name, uint32_t grid, uint32_t x, uint32_t y,
                void *unmanaged) {
    struct ff_config config = standard_config(16 << 20);
    config.record = path;
    config.accesses = true;
    config.workers = 1;
    struct ff_context *context = open_or_skip(&config);
    struct ff_stream *stream;
    struct ff_error error = {0};
    assert_int_equal(ff_stream_create(context, 0, &stream), 0);
    struct {
        void *a, *b, *c;
    } parameters = {alloc(context, 1 << 20), alloc(context, 1 << 20), unmanaged};
    struct ff__ptx_program *program;
    struct ff__ptx_kernel *kernel = NULL;
    if (ff__ptx_load(text, sizeof text, &(struct ff__ptx_options){.record = true}, &program,
                     &error) != 0 ||
        ff__ptx_kernel(program, name, &kernel, &error) != 0)
        fail_msg("%s", error.message);
    struct ff__ptx_launch launch = {.grid = {grid, 1, 1},
                                    .block = {x, y, 1},
                                    .parameters = &parameters,
                                    .parameter_size = sizeof parameters};
    assert_int_equal(ff__ptx_launch(context, stream, kernel, &launch, &error), 0);
    ff_stream_synchronize(stream);
    assert_int_equal(ff__ptx_failure(program, &error), 0);
    ff__ptx_unload(program);
    ff_stream_destroy(stream);
    assert_int_equal(ff_record_finish(context), 0);
    ff_close(context);
}

/* By warp: where it is in what it should do. The second one has nothing to do at 9: its
 * instructions count for what comes next. */
struct progress {
    uint32_t next[2][2]; /* [CTA][warp] */
    uint32_t first_pc;
};

static struct expected expected_next(struct progress *progress, uint32_t cta, uint32_t warp) {
    assert_true(cta < 2 && warp < 2);
    uint32_t place = progress->next[cta][warp]++;
    if (warp == 1 && place >= 1)
        place += 2;
    assert_true(place < sizeof rows / sizeof *rows);
    struct expected row = rows[place];
    if (warp == 1 && row.pc == 10)
        row.instructions += 4;
    return row;
}

static void compare(const struct ff_trace_event *event, struct progress *progress) {
    struct expected row = expected_next(progress, event->cta, event->warp);
    assert_int_equal(event->kind, row.kind);
    assert_int_equal(event->instructions, row.instructions);
    if (row.kind != FF_TRACE_ACCESS)
        return;
    if (progress->first_pc == 0)
        progress->first_pc = event->pc - row.pc;
    assert_int_equal(event->pc, progress->first_pc + row.pc);
    assert_int_equal(event->range, row.range);
    assert_int_equal(event->page, row.page);
    assert_int_equal(event->bytes, row.bytes);
    assert_int_equal(event->write, row.write);
}

static void records_every_access(void **state) {
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "record-%ld.trace", (long)getpid());
    uint32_t unmanaged = 0, launches = 0;
    run(path, "k", 2, 64, 1, &unmanaged);
    struct ff_trace_reader *reader;
    struct ff_trace_info info;
    struct ff_trace_event event;
    struct ff_error error = {0};
    struct progress progress = {0};
    assert_int_equal(ff_trace_open(path, &reader, &info, &error), 0);
    unlink(path);
    assert_true(info.accesses);
    while (ff_trace_read(reader, &event, &error) == 1) {
        if (event.kind == FF_TRACE_LAUNCH) {
            launches++;
            assert_int_equal(event.ctas, 2);
            assert_int_equal(event.warps, 2);
        }
        if (event.kind == FF_TRACE_ACCESS || event.kind == FF_TRACE_WORK)
            compare(&event, &progress);
    }
    ff_trace_close(reader);
    assert_int_equal(launches, 1);
    for (uint32_t cta = 0; cta < 2; cta++) {
        assert_int_equal(progress.next[cta][0], sizeof rows / sizeof *rows);
        assert_int_equal(progress.next[cta][1], sizeof rows / sizeof *rows - 2);
    }
}

/* The lanes of a warp, in one row of the block or in two. */
static void check_rows(const char *name, uint32_t x, uint32_t y, const struct expected *expected,
                       size_t count) {
    char path[64];
    uint32_t unmanaged = 0, first_pc = 0;
    size_t seen = 0;
    struct ff_trace_reader *reader;
    struct ff_trace_event event;
    struct ff_error error = {0};
    snprintf(path, sizeof path, "record-%ld.trace", (long)getpid());
    run(path, name, 1, x, y, &unmanaged);
    assert_int_equal(ff_trace_open(path, &reader, NULL, &error), 0);
    unlink(path);
    while (ff_trace_read(reader, &event, &error) == 1) {
        if (event.kind != FF_TRACE_ACCESS && event.kind != FF_TRACE_WORK)
            continue;
        assert_true(seen < count);
        const struct expected *row = &expected[seen++];
        assert_int_equal(event.kind, row->kind);
        assert_int_equal(event.instructions, row->instructions);
        if (row->kind != FF_TRACE_ACCESS)
            continue;
        first_pc = first_pc == 0 ? event.pc - row->pc : first_pc;
        assert_int_equal(event.pc, first_pc + row->pc);
        assert_int_equal(event.page, row->page);
        assert_int_equal(event.bytes, row->bytes);
    }
    ff_trace_close(reader);
    assert_int_equal(seen, count);
}

static void puts_rows_together(void **state) {
    static const struct expected one[] = {
        {FF_TRACE_ACCESS, 0, 7, 8, 1, 32, false},  {FF_TRACE_ACCESS, 0, 7, 0, 0, 32, false},
        {FF_TRACE_ACCESS, 0, 10, 3, 2, 32, false}, {FF_TRACE_ACCESS, 0, 11, 3, 3, 32, false},
        {FF_TRACE_ACCESS, 0, 16, 5, 0, 32, false}, {FF_TRACE_ACCESS, 0, 16, 4, 0, 32, false},
        {FF_TRACE_WORK, 0, 0, 3, 0, 0, false}};
    static const struct expected two[] = {
        {FF_TRACE_ACCESS, 0, 7, 8, 1, 32, false},  {FF_TRACE_ACCESS, 0, 7, 0, 0, 32, false},
        {FF_TRACE_ACCESS, 0, 10, 3, 2, 32, false}, {FF_TRACE_ACCESS, 0, 11, 3, 3, 32, false},
        {FF_TRACE_ACCESS, 0, 16, 5, 0, 32, false}, {FF_TRACE_ACCESS, 0, 16, 0, 1, 32, false},
        {FF_TRACE_ACCESS, 0, 16, 4, 0, 32, false}, {FF_TRACE_ACCESS, 0, 16, 0, 1, 32, false},
        {FF_TRACE_WORK, 0, 0, 3, 0, 0, false}};
    (void)state;
    check_rows("rows", 32, 1, one, sizeof one / sizeof *one);
    check_rows("rows", 16, 2, two, sizeof two / sizeof *two);
}

/* Of every four lanes one leaves the loop in each round, and ends by five instructions of its own.
 */
static void puts_parted_lanes_together(void **state) {
    static const struct expected one[] = {{FF_TRACE_ACCESS, 0, 6, 7, 0, 32 * 32, false},
                                          {FF_TRACE_ACCESS, 0, 7, 1, 0, 32 * 32, true},
                                          {FF_TRACE_ACCESS, 0, 6, 10, 1, 24 * 32, false},
                                          {FF_TRACE_ACCESS, 0, 7, 1, 1, 24 * 32, true},
                                          {FF_TRACE_ACCESS, 0, 6, 10, 2, 16 * 32, false},
                                          {FF_TRACE_ACCESS, 0, 7, 1, 2, 16 * 32, true},
                                          {FF_TRACE_ACCESS, 0, 6, 10, 3, 8 * 32, false},
                                          {FF_TRACE_ACCESS, 0, 7, 1, 3, 8 * 32, true},
                                          {FF_TRACE_WORK, 0, 0, 5, 0, 0, false}};
    static const struct expected two[] = {{FF_TRACE_ACCESS, 0, 6, 7, 0, 16 * 32, false},
                                          {FF_TRACE_ACCESS, 0, 7, 1, 0, 16 * 32, true},
                                          {FF_TRACE_ACCESS, 0, 6, 10, 1, 12 * 32, false},
                                          {FF_TRACE_ACCESS, 0, 7, 1, 1, 12 * 32, true},
                                          {FF_TRACE_ACCESS, 0, 6, 10, 2, 8 * 32, false},
                                          {FF_TRACE_ACCESS, 0, 7, 1, 2, 8 * 32, true},
                                          {FF_TRACE_ACCESS, 0, 6, 10, 3, 4 * 32, false},
                                          {FF_TRACE_ACCESS, 0, 7, 1, 3, 4 * 32, true},
                                          {FF_TRACE_WORK, 0, 0, 5, 0, 0, false}};
    (void)state;
    check_rows("parted", 32, 1, one, sizeof one / sizeof *one);
    check_rows("parted", 16, 2, two, sizeof two / sizeof *two);
}

static void records_matrices(void **state) {
    static const struct expected expected[] = {{FF_TRACE_ACCESS, 0, 1, 2, 0, 512, false},
                                               {FF_TRACE_ACCESS, 0, 2, 1, 1, 512, false},
                                               {FF_TRACE_ACCESS, 0, 3, 1, 2, 1024, true},
                                               {FF_TRACE_WORK, 0, 0, 1, 0, 0, false}};
    (void)state;
    check_rows("matrices", 32, 1, expected, sizeof expected / sizeof *expected);
}

/* Between what their caller accesses before and after them. Their instructions have numbers of
 * their own. */
static void records_what_functions_access(void **state) {
    enum { ADDS = (1 + 4) * FF__PTX_MOST_INSTRUCTIONS };
    static const struct expected expected[] = {
        {FF_TRACE_ACCESS, 0, 4, 5, 0, 32, false},
        {FF_TRACE_ACCESS, 0, ADDS + 1, 4, 0, 32 * 32, false}, /* each of its own sector */
        {FF_TRACE_ACCESS, 0, ADDS + 5, 4, 1, 32, true},
        {FF_TRACE_ACCESS, 0, ADDS + 1, 7, 0, 32, false},
        {FF_TRACE_ACCESS, 0, ADDS + 5, 4, 1, 32, true},
        {FF_TRACE_ACCESS, 0, 9, 4, 2, 32, true},
        {FF_TRACE_WORK, 0, 0, 1, 0, 0, false}};
    (void)state;
    check_rows("calls", 32, 1, expected, sizeof expected / sizeof *expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_every_access), cmocka_unit_test(puts_rows_together),
        cmocka_unit_test(puts_parted_lanes_together), cmocka_unit_test(records_matrices),
        cmocka_unit_test(records_what_functions_access)};
    return run_or_skip(tests);
}
