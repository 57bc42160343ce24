/* Any text is a network or refused with a reason, and no network has a kernel that looks beyond its
 * tensors. */
#include "fuzz/fuzz.h"

#include "workload/dnn/network.h"
#include "workload/dnn/program.h"

static void check_program(const struct ff__network_program *program) {
    const struct ff__tape *tape = &program->tape;
    for (uint32_t i = 0; i < tape->use_count; i++) {
        const struct ff__operand *nest = &tape->uses[i].nest;
        uint64_t end = nest->offset + nest->run;
        for (int k = 0; k < FF__LOOPS; k++) {
            FUZZ_EXPECT(nest->loop[k].count > 0);
            end += (nest->loop[k].count - 1) * nest->loop[k].stride;
        }
        FUZZ_EXPECT(nest->run > 0 && end <= tape->tensors[tape->uses[i].tensor].bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ff__network *network;
    struct ff__network_program program;
    struct ff_error error = {""};
    char *text = fuzz_text(data, size);
    int status = ff__network_parse("my.txt", text, size, &network, &error);
    FUZZ_EXPECT((status == 0) == (network != NULL));
    if (status == 0 && !(status = ff__program_make(network, 2, 8, true, &program, &error))) {
        check_program(&program);
        ff__program_free(&program);
    }
    FUZZ_EXPECT(status == 0 || status == -EINVAL || status == -ENOMEM);
    FUZZ_EXPECT((status == 0) == (error.message[0] == '\0'));
    FUZZ_EXPECT(!strpbrk(error.message, "\n\r"));
    ff__network_free(network);
    free(text);
    return 0;
}
