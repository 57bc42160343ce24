/* The correlation tables: the paper's worked examples, twins that do the same without haste, and
 * what must hold whatever happens. */
#include "base/cases.h"

#include "base/random.h"
#include "policy/deepum/block_table.h"
#include "policy/deepum/history.h"

#include <farfault/policy.h>

#include <errno.h>

static void *zeroed(size_t size) {
    void *memory = aligned_alloc(64, (size + 63) / 64 * 64);
    assert_non_null(memory);
    memset(memory, 0, size);
    return memory;
}

/* ---- the execution ID table ---- */

/* Figure 6: after 7, 9 and 92, execution ID 0 is followed by 75; 1 and 2 have several records. */
static void test_figure_6(void **state) {
    (void)state;
    static const uint32_t records[][5] = {{7, 9, 92, 0, 75},   {89, 53, 24, 1, 10},
                                          {34, 52, 22, 1, 99}, {4, 3, 939, 1, 2},
                                          {3, 53, 4, 2, 8},    {33, 588, 34, 2, 1}};
    struct ff__history history;
    void *memory = zeroed(1 << 16);
    ff__history_start(&history, memory, 1 << 16, true);
    for (size_t i = 0; i < 6; i++)
        ff__history_learn(&history, records[i], records[i][4]);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(ff__history_predict(&history, records[i]), records[i][4]);
    const uint32_t unknown[] = {1, 2, 3, 77}, known_alone[] = {1, 2, 3, 1};
    assert_int_equal(ff__history_predict(&history, unknown), FF_NONE);
    assert_int_equal(ff__history_predict(&history, known_alone), 2); /* ours: the latest after 1 */
    free(memory);
}

#define LAUNCHES 3000u

/* The naive twin: searches the whole past. */
static uint32_t search(const uint32_t *past, uint32_t count, uint32_t length) {
    for (uint32_t end = count - 1; end >= length; end--)
        if (memcmp(&past[end - length], &past[count - length], length * sizeof *past) == 0)
            return past[end];
    return FF_NONE;
}

static void test_history_twin(void **state) {
    (void)state;
    void *memory = zeroed(4 << 20);
    for (uint64_t seed = 1; seed <= scaled_cases(12, 3); seed++) {
        struct ff__history history;
        struct ff__random random = ff__random_seeded(seed);
        uint32_t past[LAUNCHES + 4] = {90, 91, 92, 93}, kinds = 2 + (uint32_t)(seed % 12);
        memset(memory, 0, 4 << 20);
        ff__history_start(&history, memory, 4 << 20, true);
        for (uint32_t count = 4; count < LAUNCHES; count++) {
            uint32_t wanted = search(past, count, 4);
            if (wanted == FF_NONE)
                wanted = search(past, count, 1);
            assert_int_equal(ff__history_predict(&history, &past[count - 4]), wanted);
            past[count] = ff__random_below(&random, 8) ? past[count - kinds % count] % kinds
                                                       : ff__random_below(&random, kinds);
            ff__history_learn(&history, &past[count - 4], past[count]);
        }
    }
    free(memory);
}

/* Full: it forgets, and neither grows nor fails. */
static void test_history_is_bounded(void **state) {
    (void)state;
    unsigned char *memory = zeroed(8192);
    struct ff__history history;
    memset(memory + 4096, 0xa5, 4096);
    ff__history_start(&history, memory, 4096, true);
    for (uint32_t i = 0; i < 100000; i++) {
        const uint32_t context[] = {i, i + 1, i + 2, i + 3};
        ff__history_learn(&history, context, i + 4);
        assert_int_equal(ff__history_predict(&history, context), i + 4);
    }
    for (size_t i = 4096; i < 8192; i++)
        assert_int_equal(memory[i], 0xa5);
    free(memory);
}

/* Memory is paid for as it is used: a hundred records in room for many. One kernel with ever new
 * successors does not make it grow, and the latest is kept. */
static void test_history_is_compact(void **state) {
    (void)state;
    const size_t size = 16 << 20;
    unsigned char *memory = zeroed(size);
    struct ff__history history;
    ff__history_start(&history, memory, size, true);
    for (uint32_t next = 0; next < 10000; next++) {
        const uint32_t context[] = {1, 2, 3, 4};
        ff__history_learn(&history, context, next);
        assert_int_equal(ff__history_predict(&history, context), next);
    }
    for (uint32_t i = 0; i < 100; i++) {
        const uint32_t context[] = {i, i + 1, i + 2, i + 3};
        ff__history_learn(&history, context, i + 4);
    }
    assert_true(history.bucket_count <= 256);
    for (size_t i = (size_t)history.bucket_count * FF__HISTORY_BUCKET * sizeof(struct ff__record);
         i < size; i++)
        assert_int_equal(memory[i], 0);
    free(memory);
}

/* ---- block tables ---- */

static struct ff__tables open_tables(void *memory, size_t size, uint32_t rows, uint32_t ways,
                                     uint32_t successors) {
    struct ff__tables tables;
    const struct ff__tables_shape shape = {rows, ways, successors, false};
    memset(memory, 0, size);
    assert_int_equal(ff__tables_start(&tables, memory, size, &shape), 0);
    return tables;
}

static const struct ff__row *row_of(const struct ff__tables *tables,
                                    const struct ff__block_table *table, uint32_t block) {
    uint32_t row = ff__row_find(tables, table, block);
    return row == FF_NONE ? NULL : ff__row_at(tables, table, row);
}

/* Figure 5, with one level: misses on a, b, c, a, c make the rows of c and b, and a's are b, then
 * c. */
static void test_figure_5(void **state) {
    (void)state;
    enum { a = 10, b = 21, c = 32 };
    static const uint32_t misses[] = {a, b, c, a, c};
    void *memory = zeroed(1 << 16);
    struct ff__tables tables = open_tables(memory, 1 << 16, 64, 1, 2);
    struct ff__block_table *table = ff__table_make(&tables, 0);
    uint32_t before = FF_NONE;
    for (size_t i = 0; i < 5; before = misses[i], i++)
        ff__table_record(&tables, table, before, misses[i]);
    assert_int_equal(row_of(&tables, table, a)->successor[0], c); /* most recent first */
    assert_int_equal(row_of(&tables, table, a)->successor[1], b);
    assert_int_equal(row_of(&tables, table, b)->successor[0], c);
    assert_int_equal(row_of(&tables, table, b)->successor[1], FF_NONE);
    assert_int_equal(row_of(&tables, table, c)->successor[0], a);
    free(memory);
}

/* The twin: an array of sets, as large as the table may become, searched from front to back. */
struct twin {
    uint32_t block[64][4], used[64][4], successor[64][4][3];
};

static int way_of(const struct twin *twin, uint32_t block, uint32_t ways) {
    for (uint32_t way = 0; way < ways; way++)
        if (twin->block[block % 64][way] == block)
            return (int)way;
    return -1;
}

static void twin_record(struct twin *twin, uint32_t ways, uint32_t before, uint32_t block,
                        uint32_t now) {
    int way = way_of(twin, block, ways);
    uint32_t set = block % 64;
    if (way < 0) {
        way = 0;
        for (uint32_t w = 0; w < ways; w++)
            if (twin->used[set][w] < twin->used[set][way])
                way = (int)w;
        twin->block[set][way] = block;
        for (int i = 0; i < 3; i++)
            twin->successor[set][way][i] = FF_NONE;
    }
    twin->used[set][way] = now;
    int from = before == FF_NONE || before == block ? -1 : way_of(twin, before, ways);
    if (from < 0)
        return;
    uint32_t *list = twin->successor[before % 64][from];
    int at = 0;
    while (at < 2 && list[at] != block)
        at++;
    memmove(list + 1, list, (size_t)at * sizeof *list);
    list[0] = block;
}

static void compare(const struct ff__tables *tables, const struct ff__block_table *table,
                    const struct twin *twin, uint32_t ways, uint32_t blocks) {
    uint32_t rows = 0, linked = 0, before = FF_NONE;
    for (uint32_t block = 0; block < blocks; block++) {
        int way = way_of(twin, block, ways);
        const struct ff__row *row = row_of(tables, table, block);
        assert_int_equal(row != NULL, way >= 0);
        rows += row != NULL;
        for (int i = 0; row && i < 3; i++)
            assert_int_equal(row->successor[i], twin->successor[block % 64][way][i]);
    }
    for (uint32_t row = table->first; row != FF_NONE; linked++) {
        assert_int_equal(ff__row_at(tables, table, row)->before, before);
        before = row;
        row = ff__row_at(tables, table, row)->after;
    }
    assert_int_equal(table->last, before);
    assert_int_equal(linked, rows);
    assert_int_equal(table->count, rows);
}

static void test_table_twin(void **state) {
    (void)state;
    void *memory = zeroed(1 << 20);
    for (uint64_t seed = 1; seed <= scaled_cases(60, 12); seed++) {
        struct ff__random random = ff__random_seeded(seed);
        uint32_t ways = 1 + (uint32_t)(seed % 4), blocks = 20 + (uint32_t)(seed * 13 % 400);
        struct ff__tables tables = open_tables(memory, 1 << 20, 64, ways, 3);
        struct ff__block_table *table = ff__table_make(&tables, 5);
        static struct twin twin;
        memset(&twin, 0xff, sizeof twin);
        memset(twin.used, 0, sizeof twin.used);
        for (uint32_t now = 1, before = FF_NONE; now < 2000; now++) {
            uint32_t block = ff__random_below(&random, blocks);
            if (ff__random_below(&random, 50) == 0)
                before = FF_NONE;
            ff__table_record(&tables, table, before, block);
            twin_record(&twin, ways, before, block, now);
            before = block;
            if (now % 97 == 0)
                compare(&tables, table, &twin, ways, blocks);
        }
        compare(&tables, table, &twin, ways, blocks);
    }
    free(memory);
}

/* Numbers are places in the order of first touch, and survive growth. */
static void test_order(void **state) {
    (void)state;
    void *memory = zeroed(1 << 20);
    struct ff__tables tables = open_tables(memory, 1 << 20, 2048, 2, 4);
    struct ff__block_table *table = ff__table_make(&tables, 1);
    for (uint32_t i = 0; i < 900; i++)
        ff__table_record(&tables, table, i ? 7 * (i - 1) : FF_NONE, 7 * i);
    ff__table_record(&tables, table, 7 * 10, 100000); /* behind the eleventh */
    ff__table_number(&tables, table);
    assert_int_equal(table->count, 901);
    for (uint32_t i = 0; i < 900; i++)
        assert_int_equal(row_of(&tables, table, 7 * i)->step, i + (i > 10));
    assert_int_equal(row_of(&tables, table, 100000)->step, 11);
    free(memory);
}

/* ---- pressure ---- */

/* Many kernels in little memory: what is there stays sound, what is held stays there, and nothing
 * outside is touched. */
static void test_pressure(void **state) {
    (void)state;
    size_t size = 96 << 10;
    unsigned char *memory = zeroed(size + 4096);
    for (uint64_t seed = 1; seed <= scaled_cases(8, 2); seed++) {
        struct ff__random random = ff__random_seeded(seed);
        struct ff__tables tables = open_tables(memory, size, 256, 2, 4);
        memset(memory + size, 0x5a, 4096);
        struct ff__block_table *held = ff__table_make(&tables, 3);
        held->holds++;
        for (uint32_t i = 0; i < 20; i++)
            ff__table_record(&tables, held, FF_NONE, i);
        for (uint32_t i = 0; i < 30000; i++) {
            uint32_t id = 4 + ff__random_below(&random, 300);
            struct ff__block_table *table = ff__table_find(&tables, id);
            table = table ? table : ff__table_make(&tables, id);
            if (!table)
                continue;
            assert_int_equal(table->key, id + 1);
            ff__table_touch(&tables, table);
            uint32_t block = ff__random_below(&random, 1 + id * 3);
            struct ff__recorded done = ff__table_record(&tables, table, FF_NONE, block);
            assert_int_equal(ff__row_find(&tables, table, block), done.row);
        }
        assert_ptr_equal(ff__table_find(&tables, 3), held);
        for (uint32_t i = 0; i < 20; i++)
            assert_non_null(row_of(&tables, held, i));
        assert_true(tables.dropped > 0);
        for (size_t i = size; i < size + 4096; i++)
            assert_int_equal(memory[i], 0x5a);
    }
    free(memory);
}

/* Heads cost what is used of them, however much there is room for. */
static void test_heads_are_lazy(void **state) {
    (void)state;
    const size_t size = 16 << 20;
    unsigned char *memory = zeroed(size);
    struct ff__tables tables = open_tables(memory, size, 2048, 2, 4);
    size_t used = 0;
    for (uint32_t id = 0; id < 50; id++)
        ff__table_record(&tables, ff__table_make(&tables, id), FF_NONE, id);
    for (size_t i = 0; i < size; i++)
        used += memory[i] != 0;
    assert_true(used < 50 * 1024);
    free(memory);
}

static void test_too_little(void **state) {
    (void)state;
    struct ff__tables tables;
    const struct ff__tables_shape shape = {2048, 2, 4, false};
    void *memory = zeroed(4096);
    assert_int_equal(ff__tables_start(&tables, memory, 100, &shape), -ENOMEM);
    assert_int_equal(ff__tables_start(&tables, memory, 900, &shape), -ENOMEM);
    memset(memory, 0, 4096);
    assert_int_equal(ff__tables_start(&tables, memory, 4096, &shape), 0);
    assert_int_equal(tables.max_order, 0);
    free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure_6),           cmocka_unit_test(test_history_twin),
        cmocka_unit_test(test_history_is_bounded), cmocka_unit_test(test_figure_5),
        cmocka_unit_test(test_table_twin),         cmocka_unit_test(test_order),
        cmocka_unit_test(test_pressure),           cmocka_unit_test(test_too_little),
        cmocka_unit_test(test_history_is_compact), cmocka_unit_test(test_heads_are_lazy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
