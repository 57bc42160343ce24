#include "backend/soft/page_tables.h"

#include "base/lazy.h"

#include <errno.h>
#include <sys/mman.h>

static size_t size_of(const struct ff__page_tables *tables) {
    return (tables->changes->memory->size >> FF_BLOCK_SHIFT) * sizeof *tables->has_table;
}

int ff__page_tables_init(struct ff__page_tables *tables, struct ff__changes *changes,
                         struct ff__told *told) {
    tables->changes = changes;
    tables->told = told;
    tables->has_table = ff__lazy_map(size_of(tables));
    return tables->has_table ? 0 : -ENOMEM;
}

void ff__page_tables_fini(struct ff__page_tables *tables) {
    if (tables->has_table)
        ff__lazy_unmap(tables->has_table, size_of(tables));
    tables->has_table = NULL;
}

struct dropping {
    struct ff__changes *changes;
    uint32_t block;
};

/* Locked memory keeps its table. */
static int drop(void *argument) {
    const struct dropping *it = argument;
    char *managed = it->changes->memory->managed + ((size_t)it->block << FF_BLOCK_SHIFT);
    ff__changes_expect_drop(it->changes, it->block);
    int status = madvise(managed, FF_BLOCK_SIZE, MADV_DONTNEED) ? -errno : 0;
    ff__changes_expect_drop(it->changes, FF_NONE);
    return status;
}

void ff__page_tables_free(struct ff__page_tables *tables, uint32_t block) {
    struct dropping it = {tables->changes, block};
    if (!tables->told->uffd->sees_drops || !tables->has_table[block])
        return;
    struct ff_mask gone = ff__changes_gone(tables->changes, block);
    if (!ff_mask_empty(&gone)) /* something else may be mapped there now */
        return;
    tables->has_table[block] = ff__told_call(tables->told, drop, &it) != 0;
}
