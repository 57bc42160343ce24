/* Copying and zeroing whole pages, and copying only what changed. */
#include "cases.h"

#include "base/copy.h"
#include "base/random.h"

#include <sys/mman.h>

#define PAGES FF_BLOCK_PAGES
#define BYTES ((size_t)PAGES * FF_PAGE_SIZE)
#define GROUP 4u /* at most so many unchanged pages follow changed ones into a copy */

/* A block with one page on either side that must not be touched. */
struct area {
    unsigned char *all, *bytes;
};

static void fill(unsigned char *bytes, size_t size, uint64_t seed) {
    struct ff__random random = ff__random_seeded(seed);
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t word = ff__random_next(&random);
        memcpy(bytes + at, &word, sizeof word);
    }
}

static struct area area_open(uint64_t seed) {
    struct area area;
    size_t size = BYTES + 2 * FF_PAGE_SIZE;
    area.all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(area.all != MAP_FAILED);
    memset(area.all, 0xC5, size);
    area.bytes = area.all + FF_PAGE_SIZE;
    fill(area.bytes, BYTES, seed);
    return area;
}

static bool all_bytes_are(const unsigned char *bytes, size_t size, unsigned char value) {
    return size == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static void check_canaries(const struct area *area) {
    assert_true(all_bytes_are(area->all, FF_PAGE_SIZE, 0xC5));
    assert_true(all_bytes_are(area->bytes + BYTES, FF_PAGE_SIZE, 0xC5));
}

static void area_close(struct area *area) {
    check_canaries(area);
    munmap(area->all, BYTES + 2 * FF_PAGE_SIZE);
}

static unsigned char *page_at(const struct area *area, uint32_t page) {
    return area->bytes + (size_t)page * FF_PAGE_SIZE;
}

/* ---- copying and zeroing ---- */

/* The last `count` pages, so that the canary comes right behind them; the page before is one, too.
 */
static void check_count(const struct area *to, const struct area *from, uint32_t count) {
    size_t bytes = (size_t)count * FF_PAGE_SIZE;
    unsigned char *target = page_at(to, PAGES - count);
    memset(target - FF_PAGE_SIZE, 0xC5, FF_PAGE_SIZE);
    ff__copy_pages(target, from->bytes, count);
    assert_memory_equal(target, from->bytes, bytes);
    assert_true(all_bytes_are(target - FF_PAGE_SIZE, FF_PAGE_SIZE, 0xC5));
    ff__zero_pages(target, count);
    assert_true(all_bytes_are(target, bytes, 0));
    assert_true(all_bytes_are(target - FF_PAGE_SIZE, FF_PAGE_SIZE, 0xC5));
    check_canaries(to);
}

static void test_every_count(void **state) {
    (void)state;
    struct area to = area_open(1), from = area_open(2), copy = area_open(2);
    for (uint32_t count = 0; count <= PAGES; count++)
        check_count(&to, &from, count);
    assert_memory_equal(from.bytes, copy.bytes, BYTES); /* the source is only read */
    area_close(&to);
    area_close(&from);
    area_close(&copy);
}

/* ---- sums ---- */

static bool same_sum(struct ff__sum a, struct ff__sum b) {
    return a.low == b.low && a.high == b.high;
}

static struct ff_mask whole_block(void) {
    return ff_mask_of_run(0, PAGES);
}

/* Whatever way a sum is found (page by page or several side by side, while copying or not), it is
 * the same. */
static void test_sums_do_not_depend_on_the_way(void **state) {
    (void)state;
    static struct ff__sum sums[PAGES];
    struct area from = area_open(3), to = area_open(4);
    struct ff_mask all = whole_block(), none = {{0}};
    memset(page_at(&from, 7), 0, FF_PAGE_SIZE);
    memset(page_at(&from, 8), 0xff, FF_PAGE_SIZE);
    for (int compare = 0; compare < 2; compare++) {
        memset(sums, 0, sizeof sums);
        ff__copy_changed(to.bytes, from.bytes, &all, compare ? &all : &none, sums);
        for (uint32_t page = 0; page < PAGES; page++)
            assert_true(same_sum(sums[page], ff__page_sum(page_at(&from, page))));
    }
    area_close(&from);
    area_close(&to);
}

/* Copies pages [4, 12), of which `page` changed. */
static void check_detected(struct area *to, struct area *from, struct ff__sum *sums,
                           uint32_t page) {
    struct ff_mask wanted = ff_mask_of_run(4, 12);
    struct ff_mask copied = ff__copy_changed(to->bytes, from->bytes, &wanted, &wanted, sums);
    assert_true(ff_mask_test(&copied, page));
    assert_memory_equal(page_at(to, page), page_at(from, page), FF_PAGE_SIZE);
}

static void test_every_byte_counts(void **state) {
    (void)state;
    static struct ff__sum sums[PAGES];
    struct area from = area_open(5), to = area_open(5);
    struct ff__random random = ff__random_seeded(6);
    struct ff_mask all = whole_block();
    memset(page_at(&from, 5), 0, FF_PAGE_SIZE);
    ff__copy_changed(to.bytes, from.bytes, &all, &all, sums);
    for (size_t at = 0; at < FF_PAGE_SIZE; at++) {
        uint32_t page = 4 + ff__random_below(&random, 8);
        unsigned char flip = (unsigned char)(1u << ff__random_below(&random, 8));
        page_at(&from, page)[at] ^= flip;
        check_detected(&to, &from, sums, page);
        page_at(&from, 5)[at] ^= (unsigned char)(1 + ff__random_below(&random, 255));
        check_detected(&to, &from, sums, 5);
    }
    assert_memory_equal(to.bytes, from.bytes, BYTES);
    area_close(&from);
    area_close(&to);
}

/* ---- against a twin ---- */

struct trial {
    struct area from, to, expected;
    struct ff_mask changed; /* since the sums were taken */
    struct ff__sum sums[PAGES], before[PAGES];
};

static struct ff_mask random_pages(struct ff__random *random) {
    struct ff_mask pages = {{0}};
    for (uint32_t at = 0; at < PAGES;) {
        uint32_t length = 1 + ff__random_below(random, ff__random_below(random, 4) ? 9 : 200);
        if (ff__random_below(random, 2))
            ff_mask_set_run(&pages, at, at + length < PAGES ? at + length : PAGES);
        at += length;
    }
    return pages;
}

/* Changes some pages, forgets some sums, and remembers how all was. */
static void prepare(struct trial *trial, struct ff__random *random) {
    trial->changed = random_pages(random);
    FF_MASK_FOR_EACH_PAGE(&trial->changed, page) {
        unsigned char *byte = page_at(&trial->from, page) + ff__random_below(random, FF_PAGE_SIZE);
        *byte = (unsigned char)(*byte + 1 + ff__random_below(random, 255));
    }
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t page = ff__random_below(random, PAGES);
        memset(&trial->sums[page], 0, sizeof trial->sums[page]);
        ff_mask_set(&trial->changed, page); /* as good as changed */
    }
    memcpy(trial->before, trial->sums, sizeof trial->sums);
}

/* The bound on copies in vain: what is copied unchanged follows changed pages closely, or opens the
 * block where some page must be copied anyhow. */
static void check_thrift(const struct ff_mask *wanted, const struct ff_mask *must,
                         const struct ff_mask *copied) {
    uint32_t in_vain = 0, since_changed = 0, position = 0;
    FF_MASK_FOR_EACH_PAGE(wanted, page) {
        if (ff_mask_test(must, page)) {
            in_vain = since_changed = 0;
        } else {
            since_changed++;
            in_vain = ff_mask_test(copied, page) ? in_vain + 1 : 0;
            assert_true(in_vain <= GROUP);
            assert_true(in_vain == 0 || position < GROUP || since_changed <= GROUP);
        }
        position++;
    }
}

static void check_trial(struct trial *trial, const struct ff_mask *wanted,
                        const struct ff_mask *compare) {
    struct ff_mask copied =
        ff__copy_changed(trial->to.bytes, trial->from.bytes, wanted, compare, trial->sums);
    struct ff_mask unsure = ff_mask_minus(wanted, compare);
    struct ff_mask must = ff_mask_or(&trial->changed, &unsure);
    must = ff_mask_and(&must, wanted);
    assert_true(ff_mask_within(&copied, wanted));
    assert_true(ff_mask_within(&must, &copied));
    check_thrift(wanted, &must, &copied);
    for (uint32_t page = 0; page < PAGES; page++) {
        bool was_copied = ff_mask_test(&copied, page);
        const struct area *source = was_copied ? &trial->from : &trial->expected;
        assert_memory_equal(page_at(&trial->to, page), page_at(source, page), FF_PAGE_SIZE);
        bool summed = ff_mask_test(wanted, page);
        struct ff__sum sum =
            summed ? ff__page_sum(page_at(&trial->from, page)) : trial->before[page];
        assert_true(same_sum(trial->sums[page], sum));
    }
    check_canaries(&trial->to);
}

/* The next trial starts where all sums are known and `to` is what `expected` says. */
static void settle(struct trial *trial) {
    for (uint32_t page = 0; page < PAGES; page++)
        trial->sums[page] = ff__page_sum(page_at(&trial->from, page));
    memcpy(trial->expected.bytes, trial->to.bytes, BYTES);
}

static void test_copy_changed_against_a_twin(void **state) {
    (void)state;
    static struct trial trial;
    struct ff__random random = ff__random_seeded(8);
    trial.from = area_open(9);
    trial.to = area_open(10); /* another content: pages that are not copied must stay */
    trial.expected = area_open(10);
    settle(&trial);
    for (unsigned long i = 0, count = scaled_cases(1000, 60); i < count; i++) {
        prepare(&trial, &random);
        struct ff_mask wanted = random_pages(&random), compare = random_pages(&random);
        if (ff__random_below(&random, 2))
            compare = whole_block();
        if (ff__random_below(&random, 8) == 0)
            wanted = whole_block();
        check_trial(&trial, &wanted, &compare);
        settle(&trial);
    }
    area_close(&trial.from);
    area_close(&trial.to);
    area_close(&trial.expected);
}

static void test_nothing_wanted_does_nothing(void **state) {
    (void)state;
    static struct ff__sum sums[PAGES];
    struct ff_mask none = {{0}}, all = whole_block();
    struct ff_mask copied = ff__copy_changed(NULL, NULL, &none, &all, sums);
    assert_true(ff_mask_empty(&copied));
    copied = ff__copy_changed(NULL, NULL, &none, &none, sums);
    assert_true(ff_mask_empty(&copied));
}

/* A clean block is read once and nothing of it is copied. */
static void test_clean_block_is_not_copied(void **state) {
    (void)state;
    static struct ff__sum sums[PAGES];
    struct area from = area_open(11), to = area_open(12);
    struct ff_mask all = whole_block();
    struct ff_mask copied = ff__copy_changed(to.bytes, from.bytes, &all, &all, sums);
    assert_int_equal(ff_mask_count(&copied), PAGES); /* nothing was known */
    for (int round = 0; round < 2; round++) {
        copied = ff__copy_changed(to.bytes, from.bytes, &all, &all, sums);
        assert_true(ff_mask_empty(&copied));
    }
    page_at(&from, 100)[17]++;
    copied = ff__copy_changed(to.bytes, from.bytes, &all, &all, sums);
    assert_true(ff_mask_test(&copied, 100));
    assert_true(ff_mask_count(&copied) <= 1 + GROUP);
    area_close(&from);
    area_close(&to);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_count),
        cmocka_unit_test(test_sums_do_not_depend_on_the_way),
        cmocka_unit_test(test_every_byte_counts),
        cmocka_unit_test(test_copy_changed_against_a_twin),
        cmocka_unit_test(test_nothing_wanted_does_nothing),
        cmocka_unit_test(test_clean_block_is_not_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
