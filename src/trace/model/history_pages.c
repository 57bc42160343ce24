#include "trace/model/history_pages.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BITS 32u /* of a key; above them is the range */

static uint64_t key_of(uint32_t range, uint64_t block) {
    return (uint64_t)range << BLOCK_BITS | block;
}

static struct ff__history_page *add_block(struct ff__history_pages *pages, uint64_t key) {
    if (ff__grow(&pages->blocks, pages->count, sizeof *pages->blocks))
        return NULL;
    void *block = calloc(1, sizeof *pages->blocks[0]);
    if (!block || ff__map_put(&pages->index, key, (uint32_t)pages->count)) {
        free(block);
        return NULL;
    }
    pages->blocks[pages->count++] = block;
    return block;
}

struct ff__history_page *ff__history_page(struct ff__history_pages *pages, uint32_t range,
                                          uint64_t page) {
    uint32_t number;
    uint64_t key = key_of(range, page / FF_BLOCK_PAGES);
    struct ff__history_page *block =
        ff__map_get(&pages->index, key, &number) ? *pages->blocks[number] : add_block(pages, key);
    return block ? block + page % FF_BLOCK_PAGES : NULL;
}

uint64_t ff__history_pages_forget(struct ff__history_pages *pages, uint32_t range, uint64_t bytes) {
    uint64_t held = 0, blocks = (bytes + FF_BLOCK_SIZE - 1) / FF_BLOCK_SIZE;
    uint32_t number;
    for (uint64_t i = 0; i < blocks; i++) {
        if (!ff__map_get(&pages->index, key_of(range, i), &number))
            continue;
        for (unsigned page = 0; page < FF_BLOCK_PAGES; page++)
            held += (*pages->blocks[number])[page].held;
        memset(pages->blocks[number], 0, sizeof *pages->blocks[number]);
    }
    return held;
}

void ff__history_pages_fini(struct ff__history_pages *pages) {
    for (size_t i = 0; i < pages->count; i++)
        free(pages->blocks[i]);
    free(pages->blocks);
    ff__map_fini(&pages->index);
}
