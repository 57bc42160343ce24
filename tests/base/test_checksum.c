/* CRC-32C: the published check value, and every length beside a sum bit by bit. */
#include "base/checksum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static uint32_t bit_by_bit(const uint8_t *bytes, size_t size) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static void is_castagnoli(void **state) {
    uint8_t bytes[100];
    (void)state;
    assert_int_equal(ff__crc32c(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(ff__crc32c(7, NULL, 0), 7);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i + 3);
    for (size_t size = 0; size < sizeof bytes; size++) {
        uint32_t whole = bit_by_bit(bytes + 1, size);
        assert_int_equal(ff__crc32c(0, bytes + 1, size), whole);
        assert_int_equal(
            ff__crc32c(ff__crc32c(0, bytes + 1, size / 3), bytes + 1 + size / 3, size - size / 3),
            whole);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_castagnoli)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
