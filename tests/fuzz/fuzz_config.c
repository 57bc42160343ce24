/* Any name and value ("name=value") is a setting, or refused with a reason. */
#include "fuzz/fuzz.h"

#include <farfault/farfault.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ff_config config, again;
    struct ff_error error = {""};
    char *name = fuzz_text(data, size), *value = strchr(name, '=');
    ff_config_init(&config);
    if (value)
        *value++ = '\0';
    else
        value = name + strlen(name);
    int status = ff_config_set(&config, name, value, &error);
    FUZZ_EXPECT(status == 0 || status == -EINVAL);
    FUZZ_EXPECT(memchr(error.message, '\0', sizeof error.message));
    FUZZ_EXPECT((status == 0) == (error.message[0] == '\0'));
    ff_config_init(&again);
    FUZZ_EXPECT(ff_config_set(&again, name, value, NULL) == status);
    FUZZ_EXPECT(config.memory == again.memory && config.system == again.system);
    FUZZ_EXPECT(config.devices <= 4096 && config.workers <= 4096);
    FUZZ_EXPECT(config.mechanism <= FF_MECHANISM_COPY && config.handler <= FF_HANDLER_KERNELS);
    FUZZ_EXPECT(config.link.bytes_per_second >= 0);
    free(name);
    return 0;
}
