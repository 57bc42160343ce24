/* Any text is a device preset or refused with a reason, and no preset gives a device that a
 * simulator could stumble over. */
#include "fuzz/fuzz.h"

#include "backend/sim/machine/gpu.h"

static void check_link(const struct ff__link_model *link) {
    uint64_t before = 0;
    FUZZ_EXPECT(link->point_count >= 1 && link->point_count <= FF__LINK_POINTS);
    FUZZ_EXPECT(link->latency_ns >= 0 && link->latency_ns <= 1e9);
    for (uint64_t bytes = 1; bytes <= UINT64_C(1) << 32; bytes <<= 4) {
        uint64_t ns = ff__link_ns(link, bytes);
        FUZZ_EXPECT(ns <= UINT64_C(1) << 53);
        before = ns;
    }
    FUZZ_EXPECT(before > 0 && ff__link_ns(link, 0) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ff__gpu gpu;
    struct ff_error error = {""};
    char *text = fuzz_text(data, size);
    int status = ff__gpu_parse("preset.json", text, size, &gpu, &error);
    FUZZ_EXPECT(status == 0 || status == -EINVAL);
    FUZZ_EXPECT(memchr(error.message, '\0', sizeof error.message));
    FUZZ_EXPECT((status == 0) == (error.message[0] == '\0'));
    FUZZ_EXPECT(!strpbrk(error.message, "\n\r"));
    FUZZ_EXPECT(ff__gpu_parse("preset.json", text, size, &gpu, NULL) == status);
    if (status == 0) {
        FUZZ_EXPECT(gpu.sms > 0 && gpu.memory > 0 && gpu.clock_hz > 0 && gpu.tlb_entries > 0);
        FUZZ_EXPECT(gpu.name[0] && memchr(gpu.name, '\0', sizeof gpu.name));
        FUZZ_EXPECT((gpu.fault_cost != FF__FAULT_BATCH) || gpu.fault_ns == 0);
        check_link(&gpu.in);
        check_link(&gpu.out);
        check_link(&gpu.peer);
    }
    free(text);
    return 0;
}
