#include "ptx/operands.h"

#include <string.h>

uint32_t ff__ptx_find_operands(struct ff_context *context, const void *parameters, size_t size,
                               const void **operands) {
    uint32_t count = 0;
    for (size_t at = 0; at + sizeof(void *) <= size && count < FF__PTX_OPERANDS;
         at += sizeof(void *)) {
        void *pointer, *base;
        memcpy(&pointer, (const uint8_t *)parameters + at, sizeof pointer);
        if (!ff_mem_lookup(context, pointer, &base, NULL))
            continue;
        uint32_t known = 0;
        while (known < count && operands[known] != base)
            known++;
        operands[known] = base;
        count += known == count;
    }
    return count;
}
