/* Fat binaries that farfault makes are read as others are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs them first */
#include <cmocka.h>

#include "ptx/fatbin.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char text[] = "// a comment\n.version 7.5\n.target sm_80\n.address_size 64\n"
                           ".visible .entry nothing() { ret; }\n";

/* Of each length, as far as the padding goes. */
static void what_is_made_is_read(void **state) {
    (void)state;
    for (size_t size = sizeof text - 9; size < sizeof text; size++) {
        struct ff__ptx_images images;
        struct ff_error error;
        char *bytes, *same;
        size_t total, again;
        assert_int_equal(ff__fatbin_make(text, size, &bytes, &total, &error), 0);
        assert_int_equal(total % 8, 0);
        assert_int_equal(ff__images_find(bytes, total, &images, &error), 0);
        assert_int_equal(images.count, 1);
        assert_true(images.items[0].is_text);
        assert_int_equal(images.items[0].arch, 80);
        assert_int_equal(images.items[0].version, 75);
        assert_int_equal(ff__image_read(&images.items[0], &same, &again, &error), 0);
        assert_int_equal(again, size);
        assert_memory_equal(same, text, size);
        assert_int_equal(same[size], 0);
        free(same);
        free(bytes);
        ff__images_free(&images);
    }
}

static void what_is_no_text_is_refused(void **state) {
    struct ff_error error;
    char *bytes, *twice;
    size_t size;
    (void)state;
    assert_int_equal(ff__fatbin_make("", 0, &bytes, &size, &error), -EINVAL);
    assert_int_equal(ff__fatbin_make("int main;", 9, &bytes, &size, &error), -EINVAL);
    assert_int_equal(ff__fatbin_make(text, strlen(text), &bytes, &size, &error), 0);
    assert_int_equal(ff__fatbin_make(bytes, size, &twice, &size, &error), -EINVAL);
    assert_string_equal(error.message, "not PTX");
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_made_is_read),
        cmocka_unit_test(what_is_no_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
