/* Where farfault is built without LZ4: what an image that is compressed with it says. */
#include "base/cases.h"

#include "ptx/images.h"
#include "ptx/pack.h"

#include <errno.h>

static void says_what_is_missing(void **state) {
    struct bytes packed = {.size = 0};
    struct ff_error error = {""};
    char *out;
    (void)state;
    put_lz4(&packed, IMAGE_TEXT);
    assert_int_equal(
        ff__unpack(FF__PACK_LZ4, packed.bytes, packed.size, strlen(IMAGE_TEXT), &out, &error),
        -ENOTSUP);
    assert_string_equal(error.message,
                        "compressed with LZ4, and this farfault is built without its library");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(says_what_is_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
