/* A device that has no concurrent access to managed memory: allocations stay what they are. */
#include "cuda/driver.h"

#define MIB ((size_t)1 << 20)

unsigned no_access_asked(void); /* no_access.c */

static void memory_stays_plain(void **state) {
    CUdeviceptr address;
    size_t left, total;
    unsigned managed;
    (void)state;
    OK(cuMemGetInfo_v2(&left, &total));
    assert_int_equal(total, 8 * MIB);
    OK(cuDeviceTotalMem_v2(&total, 0));
    assert_int_equal(total, 8 * MIB);
    GIVES(ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&address, 16 * MIB));
    GIVES(ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&address, 16 * MIB, NULL));
    OK(cuMemAlloc_v2(&address, MIB));
    OK(cuMemGetInfo_v2(&left, &total));
    assert_true(left <= 7 * MIB);
    OK(cuMemFree_v2(address));
    OK(cuMemAllocManaged(&address, 16 * MIB, CU_MEM_ATTACH_GLOBAL)); /* as the program says */
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    assert_int_equal(managed & 0xff, 1);
    OK(cuMemFree_v2(address));
    assert_true(no_access_asked() > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_stays_plain)};
    return cmocka_run_group_tests(tests, begin, end);
}
