#include "base/leaves.h"

uint32_t ff__leaves_of(const struct ff_mask *pages) {
    uint32_t leaves = 0;
    for (uint32_t leaf = 0; leaf < FF__BLOCK_LEAVES; leaf++) {
        uint64_t part = pages->word[leaf / 4] >> (leaf % 4 * FF_LEAF_PAGES);
        leaves |= (uint32_t)((part & 0xffff) != 0) << leaf;
    }
    return leaves;
}

struct ff_mask ff__leaf_pages(uint32_t leaves, uint32_t page_count) {
    struct ff_mask pages = {{0}};
    for (uint32_t leaf = 0; leaf < FF__BLOCK_LEAVES; leaf++) {
        uint64_t part = leaves >> leaf & 1 ? UINT64_C(0xffff) : 0;
        pages.word[leaf / 4] |= part << (leaf % 4 * FF_LEAF_PAGES);
    }
    ff_mask_unset_run(&pages, page_count, FF_BLOCK_PAGES);
    return pages;
}
