/* SHA-256 against the examples of FIPS 180-4 and of NIST's CAVP. */
#include "base/cases.h"

#include "ptx/digest.h"

static void expect(const struct ff__ptx_digest *digest, const char *expected) {
    struct ff__ptx_digest copy = *digest;
    uint8_t out[FF__PTX_DIGEST];
    char text[2 * FF__PTX_DIGEST + 1];
    ff__ptx_digest_end(&copy, out);
    for (unsigned i = 0; i < FF__PTX_DIGEST; i++)
        snprintf(text + 2 * i, 3, "%02x", out[i]);
    assert_string_equal(text, expected);
}

static void gives_the_standards_values(void **state) {
    static const struct {
        const char *text, *expected;
    } rows[] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
                {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
                {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                 "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
                 "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ff__ptx_digest digest;
        ff__ptx_digest_start(&digest);
        ff__ptx_digest_add(&digest, rows[i].text, strlen(rows[i].text));
        expect(&digest, rows[i].expected);
    }
}

/* A million times the same letter, in parts of every length up to three blocks. */
static void takes_parts_of_any_length(void **state) {
    struct ff__ptx_digest digest;
    char letters[192];
    size_t left = 1000000, part = 0;
    (void)state;
    memset(letters, 'a', sizeof letters);
    ff__ptx_digest_start(&digest);
    while (left > 0) {
        part = part % sizeof letters + 1;
        size_t size = part < left ? part : left;
        ff__ptx_digest_add(&digest, letters, size);
        left -= size;
    }
    expect(&digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_standards_values),
        cmocka_unit_test(takes_parts_of_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
