#include "learn/model.h"

#include "base/checksum.h"
#include "base/error.h"
#include "base/new_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC                                                                                      \
    "\x89"                                                                                         \
    "FFM\r\n\x1a\n"
#define MAGIC_SIZE   8u
#define HEAD_SIZE    (MAGIC_SIZE + 4u) /* and the version */
#define NAME_SIZE    16u
#define VALUES_MAX   65536u
#define FILE_LARGEST (UINT64_C(1) << 30)

void ff__model_fini(struct ff__model *model) {
    ff__training_fini(&model->training);
    ff__net_fini(&model->net);
    ff__features_fini(&model->features);
}

/* ---- bytes ---- */

/* Everything goes through here, in both directions, so that writing and reading cannot differ. */
struct bytes {
    uint8_t *at;
    size_t size, used;
    bool reading;
    ff__net_types types; /* that may be read */
    int status;          /* the first error */
};

static bool room(struct bytes *bytes, size_t size) {
    if (bytes->status)
        return false;
    if (bytes->reading) {
        if (bytes->size - bytes->used < size)
            bytes->status = -EBADMSG;
        return !bytes->status;
    }
    if (bytes->size - bytes->used >= size)
        return true;
    size_t larger = 2 * bytes->size + size + 4096;
    uint8_t *at = realloc(bytes->at, larger);
    if (!at) {
        bytes->status = -ENOMEM;
        return false;
    }
    bytes->at = at;
    bytes->size = larger;
    return true;
}

static void pass(struct bytes *bytes, void *data, size_t size) {
    if (!room(bytes, size))
        return;
    if (bytes->reading)
        memcpy(data, bytes->at + bytes->used, size);
    else
        memcpy(bytes->at + bytes->used, data, size);
    bytes->used += size;
}

static void pass_u32(struct bytes *bytes, uint32_t *value) {
    uint8_t raw[4];
    for (int i = 0; i < 4; i++)
        raw[i] = (uint8_t)(*value >> 8 * i);
    pass(bytes, raw, sizeof raw);
    *value = 0;
    for (int i = 0; i < 4; i++)
        *value |= (uint32_t)raw[i] << 8 * i;
}

static void pass_u64(struct bytes *bytes, uint64_t *value) {
    uint32_t low = (uint32_t)*value, high = (uint32_t)(*value >> 32);
    pass_u32(bytes, &low);
    pass_u32(bytes, &high);
    *value = (uint64_t)high << 32 | low;
}

static void pass_floats(struct bytes *bytes, float *values, size_t count) {
    for (size_t i = 0; i < count && !bytes->status; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        pass_u32(bytes, &bits);
        memcpy(&values[i], &bits, sizeof bits);
        if (bytes->reading && !bytes->status && !isfinite(values[i]))
            bytes->status = -EBADMSG; /* nothing can be computed with it */
    }
}

/* ---- parts ---- */

static void pass_vocab(struct bytes *bytes, struct ff__vocab *vocab) {
    uint32_t size = vocab->size;
    pass_u32(bytes, &size);
    if (bytes->reading && !bytes->status && (size == 0 || size > VALUES_MAX))
        bytes->status = -EBADMSG;
    int64_t *values = bytes->reading ? calloc(VALUES_MAX, sizeof *values) : vocab->value;
    if (!values)
        bytes->status = -ENOMEM;
    for (uint32_t i = 0; i < size && !bytes->status; i++) {
        uint64_t value = (uint64_t)values[i];
        pass_u64(bytes, &value);
        if (bytes->reading)
            values[i] = (int64_t)value;
    }
    if (bytes->reading && !bytes->status)
        bytes->status = ff__vocab_of(vocab, values, size);
    if (bytes->reading)
        free(values);
}

static void pass_features(struct bytes *bytes, struct ff__features *features) {
    pass_vocab(bytes, &features->pc);
    pass_vocab(bytes, &features->delta);
    pass_vocab(bytes, &features->leaf_delta);
    pass_vocab(bytes, &features->root_delta);
    pass_vocab(bytes, &features->classes);
    if (bytes->reading && !bytes->status &&
        (features->classes.size > FF__CLASSES_MAX || features->pc.size > FF__PCS_MAX ||
         features->delta.size > FF__DELTAS_MAX))
        bytes->status = -EBADMSG;
}

static void pass_purpose(struct bytes *bytes, struct ff__model *model) {
    uint32_t by = model->by, split = model->split;
    pass(bytes, model->subject, sizeof model->subject);
    pass_u32(bytes, &model->distance);
    pass_u32(bytes, &by);
    pass_u32(bytes, &split);
    pass_u64(bytes, &model->seed);
    if (bytes->status)
        return;
    if (by >= FF__CLUSTERS || split >= FF__SPLITS || model->distance == 0)
        bytes->status = -EBADMSG;
    model->by = (enum ff__cluster)by;
    model->split = (enum ff__split)split;
    model->subject[sizeof model->subject - 1] = 0;
}

/* The type's name; a new network of that type when reading. */
static void pass_net(struct bytes *bytes, struct ff__model *model, uint32_t capacity) {
    char name[NAME_SIZE] = "";
    uint32_t converged = model->net.shape.converged;
    if (!bytes->reading)
        snprintf(name, sizeof name, "%s", model->net.type->name);
    pass(bytes, name, sizeof name);
    pass_u32(bytes, &converged);
    name[NAME_SIZE - 1] = 0;
    if (bytes->reading && !bytes->status) {
        const struct ff__net_type *type = ff__net_type_find(bytes->types, name);
        struct ff__shape shape = ff__shape_of(&model->features);
        shape.converged = converged;
        bytes->status = type ? ff__net_init(&model->net, type, &shape, capacity, 1) : -ENXIO;
    }
    pass_floats(bytes, model->net.params, model->net.param_count);
}

static void pass_training(struct bytes *bytes, struct ff__model *model) {
    struct ff__training *training = &model->training;
    uint32_t on = training->net != NULL, step = training->step, steps = training->steps;
    uint32_t batch = model->net.capacity;
    float numbers[2] = {training->rate, (float)training->loss};
    pass_u32(bytes, &on);
    if (!on || bytes->status)
        return;
    pass_u32(bytes, &step);
    pass_u32(bytes, &steps);
    pass_u32(bytes, &batch);
    pass_floats(bytes, numbers, 2);
    if (bytes->reading && !bytes->status)
        bytes->status = batch == model->net.capacity
                            ? ff__training_init(training, &model->net, steps, numbers[0])
                            : -EINVAL;
    if (bytes->status)
        return;
    training->step = step;
    training->loss = (double)numbers[1];
    pass_floats(bytes, training->mean, model->net.param_count);
    pass_floats(bytes, training->square, model->net.param_count);
}

static void pass_all(struct bytes *bytes, struct ff__model *model, uint32_t capacity) {
    pass_purpose(bytes, model);
    pass_features(bytes, &model->features);
    pass_net(bytes, model, capacity);
    pass_training(bytes, model);
}

/* ---- writing ---- */

static int put_file(const char *path, const struct bytes *bytes, struct ff_error *error) {
    const struct ff__file_bytes all = {bytes->at, bytes->used};
    int status = ff__file_write(path, ff__file_print_bytes, &all);
    return status ? ff__fail(error, status, "%s: %s", path, strerror(-status)) : 0;
}

int ff__model_write(const struct ff__model *model, const char *path, struct ff_error *error) {
    struct bytes bytes = {0};
    struct ff__model copy = *model; /* passing writes back what it has read */
    char magic[] = MAGIC;
    uint32_t version = FF__MODEL_VERSION;
    pass(&bytes, magic, MAGIC_SIZE);
    pass_u32(&bytes, &version);
    pass_all(&bytes, &copy, 0);
    if (!bytes.status) {
        uint32_t sum = ff__crc32c(0, bytes.at, bytes.used);
        pass_u32(&bytes, &sum);
    }
    int status = bytes.status ? ff__fail(error, bytes.status, "%s: no memory", path)
                              : put_file(path, &bytes, error);
    free(bytes.at);
    return status;
}

/* ---- reading ---- */

static int get_file(const char *path, struct bytes *bytes, struct ff_error *error) {
    struct stat about;
    FILE *file = fopen(path, "rb");
    if (!file)
        return ff__fail(error, -errno, "%s: %s", path, strerror(errno));
    int status = fstat(fileno(file), &about) ? -errno : 0;
    if (!status && !S_ISREG(about.st_mode))
        status = S_ISDIR(about.st_mode) ? -EISDIR : -EINVAL;
    if (!status && (uint64_t)about.st_size > FILE_LARGEST)
        status = -EFBIG;
    bytes->size = status ? 0 : (size_t)about.st_size;
    bytes->at = malloc(bytes->size + 1);
    if (!status && !bytes->at)
        status = -ENOMEM;
    if (!status && fread(bytes->at, 1, bytes->size, file) != bytes->size)
        status = -EIO;
    fclose(file);
    return status ? ff__fail(error, status, "%s: %s", path, strerror(-status)) : 0;
}

/* Takes magic number, version and checksum off. */
static int check_frame(const char *path, struct bytes *bytes, struct ff_error *error) {
    uint32_t version = 0, sum = 0;
    if (bytes->size < MAGIC_SIZE || memcmp(bytes->at, MAGIC, MAGIC_SIZE) != 0)
        return ff__fail(error, -EBADMSG, "%s: not a model of farfault", path);
    bytes->used = MAGIC_SIZE;
    pass_u32(bytes, &version);
    if (!bytes->status && version != FF__MODEL_VERSION)
        return ff__fail(error, -ENOTSUP,
                        "%s: version %u, and this farfault reads %u; train it again", path, version,
                        FF__MODEL_VERSION);
    if (bytes->size < HEAD_SIZE + sizeof sum)
        return ff__fail(error, -EBADMSG, "%s: the file is truncated", path);
    bytes->used = bytes->size - sizeof sum;
    pass_u32(bytes, &sum);
    bytes->size -= sizeof sum;
    bytes->used = HEAD_SIZE;
    if (ff__crc32c(0, bytes->at, bytes->size) != sum)
        return ff__fail(error, -EBADMSG, "%s: the file is truncated or damaged", path);
    return 0;
}

int ff__model_read(struct ff__model *model, const char *path, ff__net_types types,
                   uint32_t capacity, struct ff_error *error) {
    struct bytes bytes = {.reading = true, .types = types};
    memset(model, 0, sizeof *model);
    int status = get_file(path, &bytes, error);
    if (!status)
        status = check_frame(path, &bytes, error);
    if (!status) {
        pass_all(&bytes, model, capacity);
        status = bytes.status;
        if (!status && bytes.used != bytes.size)
            status = -EBADMSG;
        if (status == -ENXIO)
            ff__fail(error, status, "%s: a network of an unknown type", path);
        else if (status == -EINVAL)
            ff__fail(error, status, "%s: its training uses other batches", path);
        else if (status)
            ff__fail(error, status, "%s: %s", path,
                     status == -EBADMSG ? "not what a model holds" : strerror(-status));
    }
    if (status)
        ff__model_fini(model);
    free(bytes.at);
    return status;
}
