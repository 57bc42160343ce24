/* Direct input and output (O_DIRECT) with managed memory: the kernel writes to pages, or reads
 * them, behind the page tables' back, while the pages' blocks are wanted elsewhere. */
#include <fcntl.h>
#include <pthread.h>

#include "runtime/child.h"

#define BUDGET (8 * MB)

/* ---- a file whose every sector says where it belongs ---- */

#define SECTOR 512u

static uint64_t sector_mark(unsigned generation, size_t at) {
    return (generation + 1) * UINT64_C(0x9E3779B97F4A7C15) + at;
}

static void fill(unsigned char *memory, size_t size, unsigned generation) {
    for (size_t at = 0; at < size; at += SECTOR)
        *(uint64_t *)(void *)(memory + at) = sector_mark(generation, at);
}

static size_t wrong_sectors(const unsigned char *memory, size_t size, unsigned generation) {
    size_t wrong = 0;
    for (size_t at = 0; at < size; at += SECTOR)
        wrong +=
            *(const volatile uint64_t *)(const void *)(memory + at) != sector_mark(generation, at);
    return wrong;
}

/* An unlinked file with `generations` times `size` bytes, opened for direct access. */
static int direct_file(size_t size, unsigned generations) {
    char path[] = "./farfault-io-XXXXXX";
    int fd = mkstemp(path);
    unsigned char *content = aligned_alloc(PAGE, size);
    CHECK(fd >= 0 && content);
    memset(content, 0, size);
    for (unsigned g = 0; g < generations; g++) {
        fill(content, size, g);
        CHECK(pwrite(fd, content, size, (off_t)(g * size)) == (ssize_t)size);
    }
    CHECK(fsync(fd) == 0);
    int direct = open(path, O_RDWR | O_DIRECT);
    CHECK(direct >= 0 && unlink(path) == 0);
    close(fd);
    free(content);
    return direct;
}

/* False: a system call met an absent page, which it may where faults are signals. */
static bool read_all(int fd, unsigned char *to, size_t size, off_t from) {
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(fd, to + done, size - done, from + (off_t)done);
        if (got < 0 && errno == EFAULT)
            return false;
        CHECK(got > 0);
        done += (size_t)got;
    }
    return true;
}

static bool write_all(int fd, const unsigned char *from, size_t size, off_t to) {
    size_t done = 0;
    while (done < size) {
        ssize_t put = pwrite(fd, from + done, size - done, to + (off_t)done);
        if (put < 0 && errno == EFAULT)
            return false;
        CHECK(put > 0);
        done += (size_t)put;
    }
    return true;
}

/* ---- one read of four times the budget ---- */

static void read_larger_than_budget(const struct ff_config *config, const void *argument) {
    const size_t size = 4 * BUDGET;
    (void)argument;
    struct ff_context *context = child_open(config);
    int fd = direct_file(size, 1);
    unsigned char *data = child_alloc(context, size);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t at = 0; at < size; at += PAGE)
            data[at] = 7;
        bool read = read_all(fd, data, size, 0);
        size_t wrong = wrong_sectors(data, size, 0);
        CHECK(!keeps_pinned_pages(config) || (read && wrong == 0));
    }
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    CHECK(stats.overshoot_peak <= size);
    CHECK(stats.resident_peak <= stats.capacity + stats.overshoot_peak);
    child_evict(context, data, size); /* nothing is pinned any more */
    ff_stats_read(context, &stats);
    CHECK(stats.overshoot == 0);
    CHECK(rss_is_within_budget(context));
    child_close(context);
}

static void test_read_larger_than_budget(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        config.check = false; /* it takes minutes, page by page */
        expect_ok(read_larger_than_budget, &config, NULL);
    }
}

/* ---- while another thread evicts ---- */

#define GENERATIONS 4u

static unsigned rounds(void) {
    return long_run_repeats() ? 60 : 10;
}

struct evictor {
    struct ff_context *context;
    unsigned char *data, *other; /* `other` takes the frames that `data` leaves */
    size_t size;
    bool stop; /* atomic */
    pthread_t thread;
};

static void *keep_evicting(void *argument) {
    struct evictor *evictor = argument;
    for (size_t at = 0; !__atomic_load_n(&evictor->stop, __ATOMIC_RELAXED);
         at = (at + PAGE) % evictor->size) {
        child_evict(evictor->context, evictor->data, evictor->size);
        evictor->other[at]++;
    }
    return NULL;
}

static void start_evicting(struct evictor *evictor, const struct ff_config *config) {
    *evictor = (struct evictor){.context = child_open(config), .size = 2 * MB};
    evictor->data = child_alloc(evictor->context, evictor->size);
    evictor->other = child_alloc(evictor->context, evictor->size);
    CHECK(pthread_create(&evictor->thread, NULL, keep_evicting, evictor) == 0);
}

static void stop_evicting(struct evictor *evictor) {
    __atomic_store_n(&evictor->stop, true, __ATOMIC_RELAXED);
    CHECK(pthread_join(evictor->thread, NULL) == 0);
    child_close(evictor->context);
}

static void read_while_evicted(const struct ff_config *config, const void *argument) {
    struct evictor evictor;
    (void)argument;
    start_evicting(&evictor, config);
    int fd = direct_file(evictor.size, GENERATIONS);
    for (unsigned round = 0; round < rounds(); round++) {
        unsigned generation = round % GENERATIONS;
        bool read = read_all(fd, evictor.data, evictor.size, (off_t)(generation * evictor.size));
        size_t wrong = wrong_sectors(evictor.data, evictor.size, generation);
        CHECK(!keeps_pinned_pages(config) || (read && wrong == 0));
    }
    stop_evicting(&evictor);
}

static void write_while_evicted(const struct ff_config *config, const void *argument) {
    struct evictor evictor;
    (void)argument;
    start_evicting(&evictor, config);
    int fd = direct_file(evictor.size, 1);
    unsigned char *back = aligned_alloc(PAGE, evictor.size);
    CHECK(back);
    for (unsigned round = 1; round <= rounds(); round++) {
        fill(evictor.data, evictor.size, round);
        bool written = write_all(fd, evictor.data, evictor.size, 0);
        CHECK(read_all(fd, back, evictor.size, 0));
        size_t wrong = wrong_sectors(back, evictor.size, round);
        CHECK(!keeps_pinned_pages(config) || (written && wrong == 0));
    }
    stop_evicting(&evictor);
    free(back);
}

static void test_read_while_evicted(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        expect_ok(read_while_evicted, &config, NULL);
    }
}

static void test_write_while_evicted(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        expect_ok(write_while_evicted, &config, NULL);
    }
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_larger_than_budget),
        cmocka_unit_test(test_read_while_evicted),
        cmocka_unit_test(test_write_while_evicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
