/* Accesses that a runtime reports are recorded, and samples of use: also of what was there. */
#include "runtime/fixture.h"

#include <farfault/mask.h>
#include <unistd.h>

#define PAGES 4096u

static void report_all(struct ff_context *context, char *array) {
    static struct ff_warp_access accesses[PAGES + 1] = {{.address = NULL, .instructions = 1}};
    for (uint32_t i = 0; i < PAGES; i++)
        accesses[i + 1] =
            (struct ff_warp_access){.address = array + (size_t)i * FF_PAGE_SIZE, .instructions = 1};
    ff_record_accesses(context, 0, accesses, PAGES + 1);
}

static bool finds_class(struct ff_context *context, const char *kernel) {
    struct ff_found found;
    for (uint32_t i = 0; ff_finding_read(context, i, &found); i++)
        if (strcmp(found.kernel, kernel) == 0 && strncmp(found.text, "linear", 6) == 0)
            return true;
    return false;
}

static void use_all(struct ff_context *context, char *array, bool reports) {
    const void *const operands[] = {array};
    ff_launch_begin(context, 0, 2, "uses", operands, NULL, 1);
    if (reports)
        report_all(context, array);
    ff_launch_end(context, 0, 2);
}

/* What faults and advice of a launch bring is counted when it has come, maybe in the next one. */
static void wait_until_quiet(struct ff_context *context) {
    struct ff_stats before, now;
    ff_stats_read(context, &now);
    do {
        before = now;
        usleep(100000);
        ff_stats_read(context, &now);
    } while (now.resident != before.resident || now.pages_in != before.pages_in);
}

/* Policies learn in a thread of their own, and on a busy machine what the first launch brings may
 * be counted in the midst of a later one's samples: then the next one shows. */
static bool comes_to_class(struct ff_context *context, char *array) {
    bool found = false;
    for (int tries = 0; tries < 10 && !found; tries++) {
        use_all(context, array, true);
        for (int ms = 0; ms < 500 && !found; ms++) {
            usleep(1000);
            found = finds_class(context, "uses");
        }
    }
    return found;
}

/* The first launch brings all pages; the second one has no faults. */
static void are_samples(void **state) {
    char path[64];
    struct ff_config config = standard_config(32 << 20);
    (void)state;
    snprintf(path, sizeof path, "accesses-%ld.trace", (long)getpid());
    config.system = "specforest";
    config.record = path;
    config.accesses = true;
    struct ff_context *context = open_or_skip(&config);
    char *array = alloc(context, (size_t)PAGES * FF_PAGE_SIZE);
    const void *const operands[] = {array};
    ff_launch_begin(context, 0, 1, "brings", operands, NULL, 1);
    for (uint32_t i = 0; i < PAGES; i++)
        array[(size_t)i * FF_PAGE_SIZE] = 1;
    ff_launch_end(context, 0, 1);
    wait_until_quiet(context);
    use_all(context, array, false);
    assert_false(finds_class(context, "uses"));
    assert_true(comes_to_class(context, array));
    assert_within_budget(context);
    ff_close(context);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(are_samples)};
    return run_or_skip(tests);
}
