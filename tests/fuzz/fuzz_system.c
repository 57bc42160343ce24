/* Any text is a system specification or refused with a reason. */
#include "fuzz/fuzz.h"

#include "policy/registry.h"

static void check_params(const struct ff__system *system) {
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        FUZZ_EXPECT(system->policy[slot]);
        const struct ff_param *param = system->policy[slot]->params;
        for (unsigned i = 0; param && param[i].name; i++)
            FUZZ_EXPECT(system->params[slot][i] >= param[i].min &&
                        system->params[slot][i] <= param[i].max);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ff__system system, again;
    struct ff_error error = {""};
    char *spec = fuzz_text(data, size);
    int status = ff__system_parse(spec, &system, &error);
    FUZZ_EXPECT(status == 0 || status == -ENOENT || status == -EINVAL);
    FUZZ_EXPECT(memchr(error.message, '\0', sizeof error.message));
    FUZZ_EXPECT((status == 0) == (error.message[0] == '\0'));
    FUZZ_EXPECT(ff__system_parse(spec, &again, NULL) == status);
    if (status == 0) {
        check_params(&system);
        FUZZ_EXPECT(memcmp(system.params, again.params, sizeof system.params) == 0);
    }
    free(spec);
    return 0;
}
