/* Any text is a quantity or refused, and then the result is left alone. */
#include "fuzz/fuzz.h"

#include "base/parse.h"

#define KEPT INT64_C(0x1234567890abcdef)

static void check_whole(int (*parse)(const char *, uint64_t *), const char *text) {
    uint64_t value = KEPT;
    int status = parse(text, &value);
    FUZZ_EXPECT(status == 0 || (status == -EINVAL && value == KEPT));
    FUZZ_EXPECT(status || value <= UINT64_C(9000000000000000000));
}

static void check_signed(int (*parse)(const char *, int64_t *), const char *text) {
    int64_t value = KEPT;
    int status = parse(text, &value);
    FUZZ_EXPECT(status == 0 || (status == -EINVAL && value == KEPT));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    double rate = 0.25;
    check_whole(ff__parse_size, text);
    check_whole(ff__parse_ns, text);
    check_signed(ff__parse_int, text);
    check_signed(ff__parse_bool, text);
    int status = ff__parse_rate(text, &rate);
    FUZZ_EXPECT(status == 0 || (status == -EINVAL && rate >= 0.25 && rate <= 0.25));
    FUZZ_EXPECT(rate > 0);
    free(text);
    return 0;
}
