/* Any file is a trained predictor or refused with a reason, also if its frame (magic number,
 * version and checksum) is right; and what is read predicts a class that there is. */
#include "fuzz/fuzz.h"

#include "base/checksum.h"
#include "learn/model.h"
#include "learn/predictor.h"
#include "learn/train/nets.h"

#include <sys/mman.h>
#include <unistd.h>

#define HEAD_SIZE 12u /* magic number and version, which a checksum follows at the end */

static void check_predictor(const struct ff__model *model) {
    static struct ff__predictor predictor;
    static struct ff__stream stream;
    float margin = 0;
    int status = ff__predictor_init(&predictor, &model->net);
    FUZZ_EXPECT(status == 0 || status == -EINVAL);
    if (status)
        return;
    ff__stream_start(&predictor, &stream);
    for (uint16_t i = 0; i < FF__WINDOW + 2; i++) {
        uint16_t ids[3] = {i, (uint16_t)(i % predictor.deltas), (uint16_t)(i % predictor.pcs)};
        ff__stream_push(&predictor, &stream, ids);
        FUZZ_EXPECT(ff__stream_predict(&predictor, &stream, &margin) < predictor.classes);
    }
    ff__predictor_fini(&predictor);
}

static void check(const uint8_t *data, size_t size) {
    struct ff__model model;
    struct ff_error error = {""};
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_EXPECT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int status = ff__model_read(&model, path, ff__all_nets, 1, &error);
    FUZZ_EXPECT((status == 0) == (error.message[0] == '\0'));
    FUZZ_EXPECT(!strpbrk(error.message, "\n\r"));
    FUZZ_EXPECT(status == 0 || status == -EBADMSG || status == -ENOTSUP || status == -EINVAL);
    if (status == 0) {
        FUZZ_EXPECT(model.distance > 0 && memchr(model.subject, '\0', sizeof model.subject));
        check_predictor(&model);
        ff__model_fini(&model);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t head[HEAD_SIZE] = "\x89"
                                           "FFM\r\n\x1a\n\x01";
    uint8_t *copy = (uint8_t *)fuzz_text(data, size);
    check(copy, size);
    if (size >= HEAD_SIZE + 4) {
        memcpy(copy, head, HEAD_SIZE);
        uint32_t sum = ff__crc32c(0, copy, size - 4);
        for (int i = 0; i < 4; i++)
            copy[size - 4 + (size_t)i] = (uint8_t)(sum >> 8 * i);
        check(copy, size);
    }
    free(copy);
    return 0;
}
