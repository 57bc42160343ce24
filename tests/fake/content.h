/* What a device that is only memory holds. A page is one word, so that a write that gets lost, or
 * content that comes back from the dead, shows at the next read. All that engine/backend.h lets a
 * backend rely on is checked here, and the first thing that was wrong is remembered. The caller
 * serializes. */
#ifndef FF_TESTS_FAKE_CONTENT_H
#define FF_TESTS_FAKE_CONTENT_H

#include "base/random.h"
#include "engine/backend.h"
#include "space/space.h"

#define FAKE_BASE (UINT64_C(0x5000) << 32)

struct fake_block {
    /* Where a page's content is; a host bit may be beside another */
    struct ff_mask on[FF_TIERS_MAX];
    struct ff_mask loose;  /* declared dead: what is read next may be anything */
    struct ff_mask came;   /* pages that were ever brought to a device */
    struct ff_mask mapped; /* of the host's, for a device to use them there */
    uint32_t device[FF_BLOCK_PAGES], host[FF_BLOCK_PAGES]; /* words */
    uint32_t truth[FF_BLOCK_PAGES];                        /* what the program wrote last */
    uint32_t frame[FF_TIERS_MAX];
    uint32_t leaf[FF_TIERS_MAX][FF_CHUNK_LEAVES]; /* of a split block: 1 + frame */
    /* Of a split block: where in its leaves a page lies */
    uint16_t slot[FF_TIERS_MAX][FF_BLOCK_PAGES];
    bool at_work;
};

struct fake {
    const struct ff__space *space;
    struct fake_block *blocks;
    uint32_t *owner[FF_TIERS_MAX]; /* [leaf] which block is there */
    uint32_t leaf_count, written;  /* the word that was written last */
    struct ff__random random;
    uint64_t in, populated, out, dropped, evictions; /* pages, and blocks */
    uint64_t mapped;                                 /* pages, each time */
    char violation[256];
};

/* 0 or -ENOMEM. In either case fake_close() follows. */
int fake_open(struct fake *fake, const struct ff__space *space, uint64_t seed);
void fake_close(struct fake *fake);

__attribute__((format(printf, 2, 3))) void fake_blame(struct fake *fake, const char *format, ...);

/* The pages of a block that are on any device. */
struct ff_mask fake_on_devices(const struct fake *fake, uint32_t block);

/* A move starts, or is tried again: all of it is left. */
void fake_begin(struct ff__move *move);

/* Carries a move out. With `part` only of these pages; then it fails. */
void fake_move(struct fake *fake, struct ff__move *move, const struct ff_mask *part);

/* The program reads a page, or writes it, if it is on a device or mapped. False: that is a far
 * fault.
 */
bool fake_access(struct fake *fake, uint32_t block, uint32_t page, uint32_t *word, bool write);

/* The same of one that has no use for the word. */
bool fake_touch(struct fake *fake, uint32_t block, uint32_t page, bool write);

/* The program writes absent pages straight to the host. `from`: the content from page `first` on;
 * NULL: anything new. */
void fake_write_host(struct fake *fake, uint32_t block, const struct ff_mask *pages, uint32_t first,
                     const char *from);

/* Pages of the host whose content is dead. */
void fake_discard(struct fake *fake, uint32_t block, const struct ff_mask *pages);

/* The block's range is freed: the next range there starts with zeros. */
void fake_forget(struct fake *fake, uint32_t block);

/* Whether the engine believes of an idle block what is the case. */
void fake_compare(struct fake *fake, uint32_t block);

#endif
