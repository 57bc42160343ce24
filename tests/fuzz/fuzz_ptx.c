/* Any text is a PTX module or refused, function by function; what is translated is the same each
 * time, ends with a zero, and leaves out kernels that are refused. */
#include "fuzz/fuzz.h"

#include "ptx/emit.h"
#include "ptx/read.h"

static void check_refusals(const struct ff__ptx_module *module) {
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct ff__ptx_function *function = &module->functions[i];
        FUZZ_EXPECT(memchr(function->refused, '\0', sizeof function->refused));
        FUZZ_EXPECT(function->refused[0] == '\0' || strchr(function->refused, '\n') == NULL);
    }
}

/* The C text of a module, with a zero behind it; NULL: it is no module. */
static char *translate(const char *text, size_t size, const struct ff__ptx_emit_options *options,
                       size_t *length) {
    struct ff__ptx_module *module;
    struct ff_error error = {""};
    char *out;
    int code = ff__ptx_read(text, size, &module, &error);
    if (code != 0) {
        FUZZ_EXPECT(code == -EINVAL && error.message[0] != '\0');
        return NULL;
    }
    code = ff__ptx_emit(module, options, &out, length, &error);
    FUZZ_EXPECT(code == 0);
    check_refusals(module);
    ff__ptx_module_free(module);
    FUZZ_EXPECT(strlen(out) == *length);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* By the size: a byte of its own would not be PTX. */
    const struct ff__ptx_emit_options options = {.record = size & 1, .yields = size & 2};
    char *copy = malloc(size + !size); /* no zero behind it */
    FUZZ_EXPECT(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    size_t length, again;
    char *first = translate(copy, size, &options, &length);
    char *second = first != NULL ? translate(copy, size, &options, &again) : NULL;
    FUZZ_EXPECT(first == NULL ||
                (second != NULL && length == again && memcmp(first, second, length) == 0));
    free(first);
    free(second);
    free(copy);
    return 0;
}
