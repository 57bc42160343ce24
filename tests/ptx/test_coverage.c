/* Which instructions are translated: what docs/ptx.md says of it is so. */
#include "base/cases.h"

#include "ptx/emit.h"
#include "ptx/read.h"

static const struct {
    const char *name, *text;
} samples[] = {
#define FF_PTX_SAMPLE(name, text) {#name, text},
#include "ptx/samples.def"
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static const char *const opcodes[] = {
#define FF_PTX_OPCODE(name) #name,
#include "ptx/opcodes.def"
};

static void has_a_sample_of_each(void **state) {
    (void)state;
    assert_int_equal(SAMPLES, sizeof opcodes / sizeof *opcodes);
    for (unsigned i = 0; i < SAMPLES; i++)
        assert_string_equal(samples[i].name, opcodes[i]);
}

/* Whether a kernel with this instruction is translated. */
static bool is_translated(const char *instruction) {
    char text[1024], *c;
    struct ff__ptx_module *module;
    struct ff_error error = {""};
    const struct ff__ptx_emit_options options = {0};
    size_t size;
    int length = snprintf(text, sizeof text,
                          ".version 7.8\n.target sm_90\n.address_size 64\n.func f() { ret; }\n"
                          ".entry k() { .reg .b32 %%r<4>; .reg .b64 %%d<3>; .reg .f32 %%f<3>;\n"
                          ".reg .pred %%p; T: .branchtargets L; %s L: ret; }\n",
                          instruction);
    assert_true(length < (int)sizeof text);
    assert_int_equal(ff__ptx_read(text, (size_t)length, &module, &error), 0);
    assert_int_equal(ff__ptx_emit(module, &options, &c, &size, &error), 0);
    bool translated = module->functions[1].refused[0] == '\0';
    free(c);
    ff__ptx_module_free(module);
    return translated;
}

static bool is_of_video(const char *name) {
    return name[0] == 'v' && strcmp(name, "vote") != 0;
}

/* The names in the document's sentence, in its order. */
static void read_names(char *out, size_t size) {
    static char document[1 << 16];
    FILE *file = fopen(PTX_DOCUMENT, "r");
    assert_non_null(file);
    document[fread(document, 1, sizeof document - 1, file)] = '\0';
    fclose(file);
    char *at = strstr(document, "No form is translated of");
    assert_non_null(at);
    char *end = strstr(at, "those for video");
    assert_non_null(end);
    *end = *out = '\0';
    strtok(at, "`");
    for (char *name; (name = strtok(NULL, "`")) != NULL; strtok(NULL, "`"))
        snprintf(out + strlen(out), size - strlen(out), "%s ", name);
}

static void says_what_is_refused(void **state) {
    (void)state;
    char said[1024], refused[1024] = "";
    for (unsigned i = 0; i < SAMPLES; i++) {
        if (is_translated(samples[i].text))
            assert_false(is_of_video(samples[i].name));
        else if (!is_of_video(samples[i].name))
            snprintf(refused + strlen(refused), sizeof refused - strlen(refused), "%s ",
                     samples[i].name);
    }
    read_names(said, sizeof said);
    assert_string_equal(said, refused);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(has_a_sample_of_each),
                                       cmocka_unit_test(says_what_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
