/* Copies and sets of one, two and three dimensions, arrays, textures and surfaces. */
#include "cuda/driver.h"

#define SIZE 4096u

static CUdeviceptr one, two, shared;
static unsigned char *pinned;
static CUstream stream;

static int set_up(void **state) {
    begin(state);
    one = allocate(SIZE);
    two = allocate(SIZE);
    OK(cuMemAllocManaged(&shared, SIZE, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocHost_v2((void **)&pinned, SIZE));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return 0;
}

static int tear_down(void **state) {
    OK(cuMemFree_v2(one));
    OK(cuMemFree_v2(two));
    OK(cuMemFree_v2(shared));
    OK(cuMemFreeHost(pinned));
    OK(cuStreamDestroy_v2(stream));
    return end(state);
}

static unsigned char *bytes_at(CUdeviceptr address) {
    return (unsigned char *)words_at(address);
}

/* ---- one dimension ---- */

static void number(unsigned char *bytes, unsigned seed) {
    for (unsigned i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char)(seed + 7 * i);
}

static void check(const unsigned char *bytes, unsigned seed) {
    unsigned char expected[SIZE];
    OK(cuStreamSynchronize(stream));
    number(expected, seed);
    assert_memory_equal(bytes, expected, SIZE);
}

static void bytes_are_copied(void **state) {
    unsigned char own[SIZE], back[SIZE];
    CUdeviceptr at_own = (uintptr_t)own;
    (void)state;
    number(own, 1);
    OK(cuMemcpyHtoD_v2(one, own, SIZE));
    OK(cuMemcpyDtoD_v2(two, one, SIZE));
    OK(cuMemcpyDtoH_v2(back, two, SIZE));
    check(back, 1);
    number(own, 2);
    OK(cuMemcpy(shared, at_own, SIZE));
    OK(cuMemcpyPeer(one, context, shared, context, SIZE));
    check(bytes_at(one), 2);
    number(pinned, 3);
    OK(cuMemcpyHtoDAsync_v2(one, pinned, SIZE, stream));
    OK(cuMemcpyDtoDAsync_v2(two, one, SIZE, stream));
    OK(cuMemcpyPeerAsync(shared, context, two, context, SIZE, stream));
    OK(cuMemcpyAsync(one, shared, SIZE, stream));
    OK(cuMemsetD8Async(shared, 0, SIZE, stream));
    OK(cuMemcpyDtoHAsync_v2(pinned, one, SIZE, stream));
    check(pinned, 3);
    OK(cuMemcpyHtoD_v2(one, NULL, 0));
    OK(cuMemcpy(0, 0, 0));
    OK(cuMemcpyAsync(one, two, 0, stream));
}

/* Memory that the driver does not know may be another's once the call is back. */
static void pageable_memory_is_done_with_at_once(void **state) {
    unsigned char own[SIZE];
    (void)state;
    number(own, 4);
    OK(cuMemcpyHtoDAsync_v2(one, own, SIZE, stream));
    number(own, 5);
    check(bytes_at(one), 4);
    OK(cuMemcpyDtoHAsync_v2(own, one, SIZE, stream));
    unsigned char now[SIZE];
    memcpy(now, own, SIZE);
    check(now, 4);
}

static void copies_are_refused(void **state) {
    unsigned char own[8];
    CUstream never = (CUstream)state;
    REFUSED(cuMemcpy(0, one, 1));
    REFUSED(cuMemcpy(one, one, SIZE + 1));
    REFUSED(cuMemcpyAsync(one, 0, 1, stream));
    REFUSED(cuMemcpyAsync(one + SIZE - 1, two, 2, stream));
    REFUSED(cuMemcpyHtoD_v2(one, NULL, 1));
    REFUSED(cuMemcpyHtoD_v2(one + 1, own, SIZE));
    REFUSED(cuMemcpyHtoDAsync_v2(0, own, 1, stream));
    REFUSED(cuMemcpyDtoH_v2(NULL, one, 1));
    REFUSED(cuMemcpyDtoH_v2(own, one + SIZE - 1, 2));
    REFUSED(cuMemcpyDtoHAsync_v2(own, 0, 1, stream));
    REFUSED(cuMemcpyDtoD_v2(0, one, 1));
    REFUSED(cuMemcpyDtoDAsync_v2(one, 0, 1, stream));
    GIVES(ERROR_INVALID_CONTEXT, cuMemcpyPeer(one, NULL, two, context, 1));
    GIVES(ERROR_INVALID_CONTEXT, cuMemcpyPeerAsync(one, context, two, NULL, 1, stream));
    GIVES(ERROR_INVALID_HANDLE, cuMemcpyAsync(one, two, 1, never));
    GIVES(ERROR_INVALID_HANDLE, cuMemsetD8Async(one, 0, 1, never));
}

/* ---- sets ---- */

static void elements_are_set(void **state) {
    (void)state;
    CUdeviceptr places[] = {one, shared};
    for (int i = 0; i < 2; i++) {
        CUdeviceptr to = places[i];
        OK(cuMemsetD8_v2(to, 1, SIZE));
        OK(cuMemsetD16_v2(to + 2, 0x0302, 1));
        OK(cuMemsetD32_v2(to + 4, 0x07060504, 2));
        static const unsigned char expected[] = {1, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 1};
        assert_memory_equal(bytes_at(to), expected, sizeof expected);
        OK(cuMemsetD32Async(to, 0, SIZE / 4, stream));
        OK(cuMemsetD16Async(to + 6, 0x0908, 2, stream));
        OK(cuMemsetD8Async(to + 12, 10, 3, stream));
        OK(cuStreamSynchronize(stream));
        static const unsigned char after[] = {0, 0, 0, 0, 0, 0, 8, 9, 8, 9, 0, 0, 10, 10, 10, 0};
        assert_memory_equal(bytes_at(to), after, sizeof after);
    }
    OK(cuMemsetD8_v2(0, 0, 0));
}

static void rows_are_set(void **state) {
    CUdeviceptr places[] = {two, shared};
    (void)state;
    for (int i = 0; i < 2; i++) {
        CUdeviceptr to = places[i];
        OK(cuMemsetD8_v2(to, 0xee, SIZE));
        OK(cuMemsetD2D8_v2(to, 64, 1, 3, 2));
        OK(cuMemsetD2D16_v2(to + 256, 64, 0x0202, 3, 2));
        OK(cuMemsetD2D32_v2(to + 512, 64, 0x03030303, 3, 2));
        OK(cuMemsetD2D8Async(to + 1024, 64, 4, 3, 2, stream));
        OK(cuMemsetD2D16Async(to + 1280, 64, 0x0505, 3, 2, stream));
        OK(cuMemsetD2D32Async(to + 1536, 12, 0x06060606, 3, 2, stream)); /* no gaps */
        OK(cuStreamSynchronize(stream));
        static const struct {
            unsigned at, pitch, width, value;
        } rows[] = {{0, 64, 3, 1},    {256, 64, 6, 2},  {512, 64, 12, 3},
                    {1024, 64, 3, 4}, {1280, 64, 6, 5}, {1536, 12, 12, 6}};
        unsigned char expected[SIZE];
        memset(expected, 0xee, SIZE);
        for (size_t row = 0; row < 6; row++)
            for (unsigned y = 0; y < 2; y++)
                memset(expected + rows[row].at + y * rows[row].pitch, (int)rows[row].value,
                       rows[row].width);
        assert_memory_equal(bytes_at(to), expected, SIZE);
    }
}

static void sets_are_refused(void **state) {
    (void)state;
    REFUSED(cuMemsetD8_v2(0, 1, 1));
    REFUSED(cuMemsetD8_v2(one, 1, SIZE + 1));
    REFUSED(cuMemsetD16_v2(one + 1, 1, 1));
    REFUSED(cuMemsetD32_v2(one + 2, 1, 1));
    REFUSED(cuMemsetD8Async(one, 1, SIZE + 1, stream));
    REFUSED(cuMemsetD16Async(one + 1, 1, 1, stream));
    REFUSED(cuMemsetD32Async(one + 4, 1, SIZE / 4, stream));
    REFUSED(cuMemsetD2D8_v2(one, 2, 1, 3, 2));
    REFUSED(cuMemsetD2D8_v2(one, 1024, 1, 3, 5));
    REFUSED(cuMemsetD2D16_v2(one, 65, 1, 3, 2));
    REFUSED(cuMemsetD2D32_v2(one, 66, 1, 3, 2));
    REFUSED(cuMemsetD2D8Async(0, 8, 1, 3, 2, stream));
    REFUSED(cuMemsetD2D16Async(one, 4, 1, 3, 2, stream));
    REFUSED(cuMemsetD2D32Async(one, 8, 1, 3, 2, stream));
}

/* ---- two and three dimensions ---- */

/* From rows of 8 bytes of the host to rows of 16 on the device, and back. */
static void blocks_are_copied(void **state) {
    unsigned char back[SIZE];
    (void)state;
    number(pinned, 9);
    OK(cuMemsetD8_v2(one, 0xee, SIZE));
    CUDA_MEMCPY2D to = {.srcXInBytes = 2,
                        .srcY = 1,
                        .srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = pinned,
                        .srcPitch = 8,
                        .dstXInBytes = 3,
                        .dstY = 2,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = one,
                        .dstPitch = 16,
                        .WidthInBytes = 5,
                        .Height = 3};
    OK(cuMemcpy2D_v2(&to));
    unsigned char expected[SIZE];
    memset(expected, 0xee, SIZE);
    for (unsigned y = 0; y < 3; y++)
        memcpy(expected + (y + 2) * 16 + 3, pinned + (y + 1) * 8 + 2, 5);
    assert_memory_equal(bytes_at(one), expected, SIZE);
    OK(cuMemsetD8_v2(one, 0xee, SIZE));
    OK(cuMemcpy2DUnaligned_v2(&to));
    assert_memory_equal(bytes_at(one), expected, SIZE);
    OK(cuMemsetD8_v2(one, 0xee, SIZE));
    OK(cuMemcpy2DAsync_v2(&to, stream));
    OK(cuStreamSynchronize(stream));
    assert_memory_equal(bytes_at(one), expected, SIZE);
    memset(back, 0, SIZE);
    CUDA_MEMCPY2D from = {.srcXInBytes = 3,
                          .srcY = 2,
                          .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .srcDevice = one,
                          .srcPitch = 16,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = back,
                          .WidthInBytes = 5,
                          .Height = 3};
    OK(cuMemcpy2D_v2(&from));
    for (unsigned y = 0; y < 3; y++)
        assert_memory_equal(back + y * 5, pinned + (y + 1) * 8 + 2, 5);
    to.srcPitch = 6; /* less than a row */
    REFUSED(cuMemcpy2D_v2(&to));
    REFUSED(cuMemcpy2DUnaligned_v2(&to));
    REFUSED(cuMemcpy2DAsync_v2(&to, stream));
    to.srcPitch = 8;
    to.Height = 300; /* more than there is */
    REFUSED(cuMemcpy2D_v2(&to));
    to.srcMemoryType = (CUmemorytype)9;
    REFUSED(cuMemcpy2D_v2(&to));
    REFUSED(cuMemcpy2D_v2(NULL));
    REFUSED(cuMemcpy2DUnaligned_v2(NULL));
    REFUSED(cuMemcpy2DAsync_v2(NULL, stream));
}

static void boxes_are_copied(void **state) {
    (void)state;
    number(bytes_at(two), 21);
    CUDA_MEMCPY3D box = {.srcXInBytes = 1,
                         .srcY = 1,
                         .srcZ = 1,
                         .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                         .srcDevice = two,
                         .srcPitch = 8,
                         .srcHeight = 4,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                         .dstDevice = shared,
                         .dstPitch = 4,
                         .dstHeight = 2,
                         .WidthInBytes = 4,
                         .Height = 2,
                         .Depth = 3};
    for (int i = 0; i < 2; i++) {
        OK(cuMemsetD8_v2(shared, 0, SIZE));
        if (i == 0)
            OK(cuMemcpy3D_v2(&box));
        else
            OK(cuMemcpy3DAsync_v2(&box, stream));
        OK(cuStreamSynchronize(stream));
        for (unsigned z = 0; z < 3; z++)
            for (unsigned y = 0; y < 2; y++)
                assert_memory_equal(bytes_at(shared) + (z * 2 + y) * 4,
                                    bytes_at(two) + ((z + 1) * 4 + y + 1) * 8 + 1, 4);
        assert_int_equal(bytes_at(shared)[24], 0);
    }
    box.Depth = 1000;
    REFUSED(cuMemcpy3D_v2(&box));
    REFUSED(cuMemcpy3DAsync_v2(&box, stream));
    REFUSED(cuMemcpy3D_v2(NULL));
    REFUSED(cuMemcpy3DAsync_v2(NULL, stream));
    box.Depth = 0;
    OK(cuMemcpy3D_v2(&box));
    box.srcDevice = 0;
    REFUSED(cuMemcpy3D_v2(&box));
}

/* ---- arrays, textures, surfaces ---- */

static CUarray make_array(size_t width, size_t height) {
    CUDA_ARRAY3D_DESCRIPTOR wanted = {.Width = width,
                                      .Height = height,
                                      .Format = CU_AD_FORMAT_UNSIGNED_INT32,
                                      .NumChannels = 1,
                                      .Flags = 2};
    CUarray array;
    OK(cuArray3DCreate_v2(&array, &wanted));
    return array;
}

static CUresult copy_array(CUarray array, size_t y, size_t width, size_t height, bool is_to) {
    CUDA_MEMCPY2D copy = {.WidthInBytes = width, .Height = height};
    if (is_to) {
        copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = pinned;
        copy.dstMemoryType = CU_MEMORYTYPE_ARRAY, copy.dstArray = array, copy.dstY = y;
    } else {
        copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = pinned;
        copy.srcMemoryType = CU_MEMORYTYPE_ARRAY, copy.srcArray = array, copy.srcY = y;
    }
    return cuMemcpy2D_v2(&copy);
}

static void kernels_read_textures(void **state) {
    CUarray array = make_array(4, 4);
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUDA_TEXTURE_DESC texture = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP,
                                                 CU_TR_ADDRESS_MODE_CLAMP},
                                 .flags = CU_TRSF_READ_AS_INTEGER};
    CUtexObject object;
    void *params[] = {&one, &object};
    for (uint32_t i = 0; i < 16; i++)
        ((uint32_t *)(void *)pinned)[i] = 1000 + i;
    OK(copy_array(array, 0, 16, 4, true));
    OK(cuTexObjectCreate(&object, &resource, &texture, NULL));
    OK(cuLaunchKernel(function_of("fetch"), 1, 1, 1, 4, 4, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(words_at(one)[i], 1000 + i);
    OK(cuTexObjectDestroy(object));
    REFUSED(cuTexObjectDestroy(object));
    resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_PITCH2D,
                                    .res.pitch2D = {.devPtr = two,
                                                    .format = CU_AD_FORMAT_UNSIGNED_INT32,
                                                    .numChannels = 1,
                                                    .width = 4,
                                                    .height = 4,
                                                    .pitchInBytes = 32}};
    for (uint32_t i = 0; i < 32; i++)
        words_at(two)[i] = i;
    OK(cuTexObjectCreate(&object, &resource, &texture, NULL));
    OK(cuLaunchKernel(function_of("fetch"), 1, 1, 1, 4, 4, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(words_at(one)[15], 3 * 8 + 3);
    OK(cuTexObjectDestroy(object));
    GIVES(ERROR_NOT_SUPPORTED, cuTexObjectCreate(&object, &resource, &texture, (void *)state));
    REFUSED(cuTexObjectCreate(NULL, &resource, &texture, NULL));
    REFUSED(cuTexObjectCreate(&object, NULL, &texture, NULL));
    REFUSED(cuTexObjectCreate(&object, &resource, NULL, NULL));
    resource.res.pitch2D.devPtr = 0;
    REFUSED(cuTexObjectCreate(&object, &resource, &texture, NULL));
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = NULL;
    GIVES(ERROR_INVALID_HANDLE, cuTexObjectCreate(&object, &resource, &texture, NULL));
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    GIVES(ERROR_NOT_SUPPORTED, cuTexObjectCreate(&object, &resource, &texture, NULL));
    OK(cuArrayDestroy(array));
}

static void kernels_write_surfaces(void **state) {
    CUarray array = make_array(4, 4);
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUsurfObject object;
    void *params[] = {&object};
    (void)state;
    OK(cuSurfObjectCreate(&object, &resource));
    OK(cuLaunchKernel(function_of("put"), 1, 1, 1, 4, 4, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
    OK(copy_array(array, 0, 16, 4, false));
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(((uint32_t *)(void *)pinned)[i], i / 4 * 100 + i % 4);
    OK(cuSurfObjectDestroy(object));
    REFUSED(cuSurfObjectDestroy(object));
    REFUSED(cuSurfObjectCreate(NULL, &resource));
    REFUSED(cuSurfObjectCreate(&object, NULL));
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    REFUSED(cuSurfObjectCreate(&object, &resource));
    OK(cuArrayDestroy(array));
}

static void arrays_have_bounds(void **state) {
    CUDA_ARRAY_DESCRIPTOR wanted = {8, 2, CU_AD_FORMAT_HALF, 2}, got;
    CUDA_ARRAY3D_DESCRIPTOR whole;
    CUarray array, other;
    (void)state;
    OK(cuArrayCreate_v2(&array, &wanted));
    OK(cuArrayGetDescriptor_v2(&got, array));
    assert_memory_equal(&got, &wanted, sizeof got);
    OK(cuArray3DGetDescriptor_v2(&whole, array));
    assert_int_equal(whole.Width, 8);
    assert_int_equal(whole.Depth, 0);
    OK(copy_array(array, 0, 32, 2, true));
    REFUSED(copy_array(array, 0, 33, 2, true));
    REFUSED(copy_array(array, 1, 32, 2, true));
    REFUSED(copy_array(array, 0, 32, 3, false));
    GIVES(ERROR_INVALID_HANDLE, copy_array(NULL, 0, 1, 1, true));
    REFUSED(cuArrayGetDescriptor_v2(NULL, array));
    GIVES(ERROR_INVALID_HANDLE, cuArrayGetDescriptor_v2(&got, NULL));
    REFUSED(cuArray3DGetDescriptor_v2(NULL, array));
    GIVES(ERROR_INVALID_HANDLE, cuArray3DGetDescriptor_v2(&whole, NULL));
    OK(cuArrayDestroy(array));
    GIVES(ERROR_INVALID_HANDLE, cuArrayDestroy(NULL));
    REFUSED(cuArrayCreate_v2(NULL, &wanted));
    REFUSED(cuArrayCreate_v2(&other, NULL));
    wanted.NumChannels = 3;
    REFUSED(cuArrayCreate_v2(&other, &wanted));
    whole.Flags = 0x40;
    GIVES(ERROR_NOT_SUPPORTED, cuArray3DCreate_v2(&other, &whole));
    whole.Width = 0;
    REFUSED(cuArray3DCreate_v2(&other, &whole));
    REFUSED(cuArray3DCreate_v2(NULL, &whole));
    whole = (CUDA_ARRAY3D_DESCRIPTOR){1 << 20, 1 << 10, 0, CU_AD_FORMAT_FLOAT, 4, 0};
    GIVES(ERROR_OUT_OF_MEMORY, cuArray3DCreate_v2(&other, &whole));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_are_copied),
                                       cmocka_unit_test(pageable_memory_is_done_with_at_once),
                                       cmocka_unit_test(copies_are_refused),
                                       cmocka_unit_test(elements_are_set),
                                       cmocka_unit_test(rows_are_set),
                                       cmocka_unit_test(sets_are_refused),
                                       cmocka_unit_test(blocks_are_copied),
                                       cmocka_unit_test(boxes_are_copied),
                                       cmocka_unit_test(kernels_read_textures),
                                       cmocka_unit_test(kernels_write_surfaces),
                                       cmocka_unit_test(arrays_have_bounds)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
