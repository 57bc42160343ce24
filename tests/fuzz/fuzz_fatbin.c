/* Any bytes have images or are refused; each image is decoded to as many bytes as it says, or
 * refused, and so are the headers of a cubin. */
#include "fuzz/fuzz.h"

#include "ptx/cubin.h"
#include "ptx/fatbin.h"

#define MOST (UINT64_C(1) << 22) /* bytes of images that are decoded: so that it goes on */

static void read_cubin(const char *bytes, size_t size) {
    struct ff_error error = {""};
    struct ff__cubin cubin;
    size_t names = 0;
    if (ff__cubin_read(bytes, size, &cubin, &error) != 0) {
        FUZZ_EXPECT(error.message[0] != '\0');
        return;
    }
    for (uint32_t i = 0; i < cubin.count; i++)
        names += strlen(cubin.kernels[i].name);
    FUZZ_EXPECT(cubin.count == 0 || names < size * cubin.count);
    ff__cubin_free(&cubin);
}

static void read_image(const struct ff__image *image, const uint8_t *file, size_t file_size) {
    struct ff_error error = {""};
    char *bytes;
    size_t size;
    FUZZ_EXPECT((const uint8_t *)image->bytes >= file && image->stored <= file_size &&
                (const uint8_t *)image->bytes - file <= (ptrdiff_t)(file_size - image->stored));
    int code = ff__image_read(image, &bytes, &size, &error);
    if (code != 0) {
        FUZZ_EXPECT(error.message[0] != '\0');
        return;
    }
    FUZZ_EXPECT(size <= image->size && bytes[size] == '\0');
    if (!image->is_text)
        read_cubin(bytes, size);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ff_error error = {""};
    struct ff__ptx_images images;
    uint64_t decoded = 0;
    uint8_t *copy = malloc(size + !size); /* no zero behind it */
    FUZZ_EXPECT(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    if (ff__images_find(copy, size, &images, &error) == 0) {
        for (uint32_t i = 0; i < images.count; i++) {
            decoded += images.items[i].size;
            if (decoded <= MOST)
                read_image(&images.items[i], copy, size);
        }
        ff__images_free(&images);
    } else {
        FUZZ_EXPECT(error.message[0] != '\0' && images.items == NULL);
    }
    free(copy);
    return 0;
}
