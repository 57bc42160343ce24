/* The live backends, each below a context. */
#include "conformance/suite.h"

#include "backend/live.h"
#include "fake/backend.h"
#include "runtime/context.h"
#include "runtime/fixture.h"

#define PAGES 1300u

/* The linker puts the first in the place of the software device, which is the second. */
extern struct ff__backend __wrap_ff__soft_backend;
extern const struct ff__backend __real_ff__soft_backend;
struct ff__backend __wrap_ff__soft_backend;

static struct ff_context *context;
static char *array;

static int open_context(const struct ff__backend *backend, const struct device *device,
                        const char *system, struct ff_error *error) {
    struct ff_config config = standard_config(device->memory);
    config.system = system;
    config.granule = device->granule;
    config.address_space = UINT64_C(16) << 20;
    /* no thread has to wake up for a fault of the fake */
    config.handler = backend == &fake_backend ? FF_HANDLER_SIGBUS : FF_HANDLER_ADAPTIVE;
    __wrap_ff__soft_backend = *backend;
    int status = ff_open(&config, &context, error);
    if (!status)
        array = alloc(context, (size_t)PAGES * FF_PAGE_SIZE);
    return status;
}

static void launch(bool begins) {
    if (begins)
        ff_launch_begin(context, 0, 7, "round", NULL, NULL, 0);
    else
        ff_launch_end(context, 0, 7);
}

static void close_context(struct outcome *outcome) {
    struct ff_error error;
    assert_int_equal(ff_mem_free(context, array), 0);
    ff_stats_read(context, &outcome->stats);
    outcome->remote = outcome->stats.pages_mapped;
    if (ff_check(context, &error))
        fail_msg("%s", error.message);
    ff_close(context);
}

static const uint32_t shows =
    FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_OPERANDS | FF_SEES_SAMPLES | FF_SEES_SHARERS;

/* ---- the software device ---- */

static int open_soft(const struct device *device, const char *system, struct ff_error *error) {
    int status = open_context(&__real_ff__soft_backend, device, system, error);
    if (status == -EPERM || status == -ENOSYS) {
        fprintf(stderr, "skipped: %s\n", error->message);
        exit(EXIT_SKIP);
    }
    return status;
}

static uint32_t read_soft(uint32_t page) {
    return *(volatile uint32_t *)(array + (size_t)page * FF_PAGE_SIZE);
}

static void write_soft(uint32_t page, uint32_t word) {
    *(volatile uint32_t *)(array + (size_t)page * FF_PAGE_SIZE) = word;
}

static const struct device soft_devices[] = {
    {.memory = UINT64_C(4) << 20, .granule = FF_BLOCK_SIZE}, {0}};

const struct subject soft_subject = {
    .name = "soft",
    .shows = shows | FF_SEES_REMOTE,
    .pages = PAGES,
    .devices = soft_devices,
    .open = open_soft,
    .launch = launch,
    .read = read_soft,
    .write = write_soft,
    .close = close_context,
};

/* ---- the fake ---- */

static int open_fake(const struct device *device, const char *system, struct ff_error *error) {
    return open_context(&fake_backend, device, system, error);
}

static void access_fake(uint32_t page, uint32_t *word, bool write) {
    uint64_t at = (uint64_t)(uintptr_t)array - FAKE_BASE + (uint64_t)page * FF_PAGE_SIZE;
    enum fake_touch result = fake_device_access(context->self, (uint32_t)(at / FF_BLOCK_SIZE),
                                                at % FF_BLOCK_SIZE / FF_PAGE_SIZE, word, write);
    assert_int_equal(result, TOUCHED);
}

static uint32_t read_fake(uint32_t page) {
    uint32_t word = 0;
    access_fake(page, &word, false);
    return word;
}

static void write_fake(uint32_t page, uint32_t word) {
    access_fake(page, &word, true);
}

static void close_fake(struct outcome *outcome) {
    const struct fake_device *device = context->self;
    assert_string_equal(device->content.violation, "");
    close_context(outcome);
}

static const struct device fake_devices[] = {
    {.memory = UINT64_C(4) << 20, .granule = FF_BLOCK_SIZE},
#if !SANITIZED
    {.memory = UINT64_C(4) << 20, .granule = FF_LEAF_SIZE},
    {.memory = UINT64_C(4) << 20, .granule = FF_PAGE_SIZE},
#endif
    {0}};

const struct subject fake_subject = {
    .name = "fake",
    .shows = shows,
    .pages = PAGES,
    .devices = fake_devices,
    .open = open_fake,
    .launch = launch,
    .read = read_fake,
    .write = write_fake,
    .close = close_fake,
};
