/* What a kernel in bulk misses at a step: on which pages which SMs fault, and which pages it uses
 * over the link. */
#include "backend/sim/device/bulk_pages.h"

#define FOR_EACH_WORD(i, word, first, end)                                                         \
    for (uint64_t i = (first) / 64, last_##i = ((end)-1) / 64,                                     \
                  tail_##i = FF__WORD_ALL >> (63 - ((end)-1) % 64),                                \
                  word = (i == last_##i ? tail_##i : FF__WORD_ALL) & FF__WORD_ALL << (first) % 64; \
         i <= last_##i; i++, word = i == last_##i ? tail_##i : FF__WORD_ALL)

/* An SM has many faults under way: a single warp of a Titan V had 56 in one batch (fault log in
 * github tallendev/uvm-eval, archive/benchmarksv3/abc). So each CTA faults on the first page that
 * it misses of each operand, until the driver's batch is full; what is behind is flushed and faults
 * again after the replay (uvm_gpu_replayable_faults.c, BATCH_FLUSH). CTAs, and so the parts of an
 * operand, are dealt to SMs in turn. Parts smaller than a page, or read by several SMs, make
 * several entries for one page. */
struct slice {
    const struct ff__operand *operand;
    uint64_t from, to; /* positions: the step */
    uint32_t part;     /* bytes */
    uint32_t readers;
};

static struct slice slice_of(const struct sim *sim, const struct bulk *bulk,
                             const struct ff__operand *operand, const struct front *front) {
    struct slice slice = {operand, ff__bulk_position(bulk, front, bulk->step),
                          ff__bulk_position(bulk, front, bulk->step + 1), 0,
                          ff__operand_readers(operand)};
    uint64_t part = (slice.to - slice.from) * slice.readers / sim->gpu->sms;
    if (operand->part && operand->part < part)
        part = operand->part;
    slice.part = part == 0 ? 1 : part > UINT32_MAX ? UINT32_MAX : (uint32_t)part;
    return slice;
}

/* ---- in a block ---- */

/* On each of these pages of a word, `sms` SMs fault, on the first one that of number `sm` first.
 * Neighbours are put together in `faults` before they are raised; NULL: they are counted alone. */
static inline void raise_on(struct sim *sim, struct device *device, struct fault *faults,
                            uint32_t sm, uint32_t sms, uint64_t word, uint64_t pages) {
    if (!faults)
        return;
    if (faults->word == word && faults->sms == sms && faults->pages < (pages & -pages)) {
        faults->pages |= pages;
        return;
    }
    ff__faults_raise(sim, device, faults);
    faults->word = word;
    faults->pages = pages;
    faults->sms = (uint16_t)sms;
    faults->thread = (uint16_t)(sm % sim->gpu->sms + 1);
}

/* A piece of a slice in one block. Bytes are counted from the block's first on. */
struct block_slice {
    const struct ff_mask *missing;
    uint32_t block, words; /* ff_mask_words() of those that are missing */
    uint64_t start, end; /* of the piece; its start may lie before the block, as a number below 0 */
    uint64_t origin;     /* so many bytes of the slice lie before the block */
};

static inline uint64_t first_byte(const struct block_slice *share, uint32_t index) {
    uint64_t byte = (uint64_t)index * FF_PAGE_SIZE;
    return (int64_t)byte > (int64_t)share->start ? byte : share->start;
}

/* Where parts of a page or more are: each faults on the first page that it misses. It begins with a
 * page, though steps, which are rounded, do not. */
struct parts {
    uint32_t size, part;
    uint32_t index; /* the page that the part faults on; FF_BLOCK_PAGES: no more */
    uint64_t end;   /* of the part */
};

/* On to the next part that misses a page. */
static inline void next_part(struct parts *parts, const struct block_slice *share) {
    uint64_t next = parts->end + FF_PAGE_SIZE - 1;
    parts->index = FF_BLOCK_PAGES;
    if (next >= share->end || next >= FF_BLOCK_SIZE)
        return;
    uint32_t index = (uint32_t)next / FF_PAGE_SIZE;
    if (!ff_mask_test(share->missing, index) &&
        (index = ff_mask_next_in(share->missing, share->words, index)) == FF_BLOCK_PAGES)
        return;
    uint32_t behind = (uint32_t)((uint64_t)index * FF_PAGE_SIZE - parts->end);
    uint32_t count = behind < parts->size ? 1 : behind / parts->size + 1;
    parts->index = index;
    parts->part += count;
    parts->end += (uint64_t)count * parts->size;
}

static void raise_by_part(struct sim *sim, struct device *device, const struct slice *slice,
                          const struct block_slice *share, struct fault *faults) {
    const uint32_t sms = sim->gpu->sms, most = slice->readers < sms ? slice->readers : sms;
    struct parts parts = {.size = slice->part,
                          .index = ff_mask_next_in(share->missing, share->words, 0)};
    uint32_t room = device->bulk.room;
    parts.part = (uint32_t)(first_byte(share, parts.index) + share->origin) / parts.size;
    parts.end = (uint64_t)(parts.part + 1) * parts.size - share->origin;
    while (parts.index < FF_BLOCK_PAGES && room > 0) { /* a word at a time */
        const uint32_t sm = parts.part * slice->readers, taken = most < room ? most : room;
        const uint32_t word = parts.index / 64;
        uint64_t pages = 0;
        do {
            pages |= UINT64_C(1) << parts.index % 64;
            room -= taken;
            next_part(&parts, share);
        } while (parts.index / 64 == word && room >= taken && room > 0);
        raise_on(sim, device, faults, sm, taken, (uint64_t)share->block * FF_MASK_WORDS + word,
                 pages);
    }
    device->bulk.room = room;
}

/* The part that a byte of the step lies in, which is not before part `from`; mostly it is that one
 * or the next. */
static inline uint32_t part_from(uint32_t size, uint32_t from, uint32_t byte) {
    uint32_t inside = byte - from * size;
    if (inside < size)
        return from;
    return inside - size < size ? from + 1 : from + inside / size;
}

/* Several parts in a page: all of them fault on it. */
static void raise_by_page(struct sim *sim, struct device *device, const struct slice *slice,
                          const struct block_slice *share, struct fault *faults) {
    const uint32_t size = slice->part, sms = sim->gpu->sms;
    uint32_t part = 0, last = 0, room = device->bulk.room;
    uint32_t index = ff_mask_next_in(share->missing, share->words, 0);
    while (index < FF_BLOCK_PAGES && room > 0) {
        uint64_t end = (uint64_t)(index + 1) * FF_PAGE_SIZE;
        end = end < share->end ? end : share->end;
        part = part_from(size, last, (uint32_t)(first_byte(share, index) + share->origin));
        last = part_from(size, part, (uint32_t)(end - 1 + share->origin));
        uint64_t count = (uint64_t)(last - part + 1) * slice->readers;
        uint32_t most = sms < room ? sms : room, taken = count < most ? (uint32_t)count : most;
        room -= taken;
        raise_on(sim, device, faults, part * slice->readers, taken,
                 (uint64_t)share->block * FF_MASK_WORDS + index / 64, UINT64_C(1) << index % 64);
        if ((uint64_t)(last + 1) * size - share->origin >= share->end)
            break; /* what is left of the piece is of a part that has faulted */
        index = ff_mask_next(share->missing, index + 1);
    }
    device->bulk.room = room;
}

/* Faults on one block's missing pages of a piece, which begins at position `at`, by as many SMs as
 * the batch has room for. */
static void raise_in_block(struct sim *sim, struct device *device, const struct slice *slice,
                           const struct piece *piece, uint64_t at, uint32_t block,
                           const struct ff_mask *missing, struct fault *faults) {
    const uint64_t start = piece->start - (uint64_t)block * FF_BLOCK_SIZE;
    const struct block_slice share = {.missing = missing,
                                      .block = block,
                                      .words = ff_mask_words(missing),
                                      .start = start,
                                      .end = start + piece->bytes,
                                      .origin = at - slice->from - start};
    if (slice->part < FF_PAGE_SIZE)
        raise_by_page(sim, device, slice, &share, faults);
    else
        raise_by_part(sim, device, slice, &share, faults);
}

/* ---- the step ---- */

/* Those that are not there. */
static void missing_in(const struct sim *sim, const struct device *device, uint32_t block,
                       uint32_t first, uint32_t end, struct ff_mask *out) {
    const struct ff__space *space = sim->space;
    const struct ff_tier_pages *there = &ff__facts(space, block)->tier[device->tier];
    const uint64_t *resident = there->resident.word, *remote = there->remote.word;
    ff_mask_clear(out);
    FOR_EACH_WORD(i, word, first, end) {
        out->word[i] = word & ~resident[i] & ~remote[i];
    }
}

/* A page that a launch misses is missed once, however often it comes and goes before the launch has
 * ended. */
static void count_misses(struct device *device, uint32_t block, const struct ff_mask *missing) {
    struct ff_mask *missed = ff__device_touched(device, block);
    struct ff_mask first = ff_mask_minus(missing, missed);
    uint32_t count = ff_mask_count(&first);
    *missed = ff_mask_or(missed, &first);
    device->counters->demanded_hits -= count;
    device->counters->hits -= count;
}

static struct asked *asked_of(struct bulk *bulk, uint32_t block) {
    struct asked *asked = &bulk->asked[block];
    if (asked->stop != bulk->stop)
        *asked = (struct asked){.stop = bulk->stop};
    return asked;
}

/* Leaves those that have not been used by the step; returns how many they are. */
static uint32_t ask_for(struct device *device, uint32_t block, struct ff_mask *missing) {
    struct asked *asked = asked_of(&device->bulk, block);
    *missing = ff_mask_minus(missing, &asked->used);
    asked->pages = ff_mask_or(&asked->pages, missing);
    return ff_mask_count(missing);
}

/* Returns how many pages of the operand the step is short of; once they have been counted, at least
 * one. */
static uint64_t raise_in_slice(struct sim *sim, struct device *device, const struct slice *slice,
                               struct front *front) {
    const struct bulk *bulk = &device->bulk;
    uint64_t missing_count = 0;
    struct fault faults = {.time = bulk->time + sim->visible, .write = slice->operand->write};
    struct cursor cursor = ff__nest_cursor(bulk->arrays, slice->operand, slice->from);
    while (cursor.position < slice->to && (bulk->room > 0 || !bulk->faulted)) {
        uint64_t at = cursor.position;
        struct piece piece = ff__nest_piece_at(&cursor, slice->operand, slice->to - at);
        for (uint64_t page = piece.first; page < piece.end;) {
            uint32_t block = (uint32_t)(page / FF_BLOCK_PAGES), first = page % FF_BLOCK_PAGES;
            uint32_t end = ff__end_in_block(&piece, page, first);
            front->step_first = block < front->step_first ? block : front->step_first;
            front->step_last = block > front->step_last ? block : front->step_last;
            struct words words = ff__words_of(first, end);
            if (!ff__pages_in_place(sim, device, block, &words)) {
                struct ff_mask missing;
                missing_in(sim, device, block, first, end, &missing);
                if (!bulk->faulted)
                    count_misses(device, block, &missing);
                missing_count += ask_for(device, block, &missing);
                if (!ff_mask_empty(&missing))
                    raise_in_block(sim, device, slice, &piece, at, block, &missing, &faults);
            }
            page += end - first;
        }
        ff__nest_move_behind(&cursor, slice->operand, &piece);
    }
    ff__faults_raise(sim, device, &faults);
    return missing_count;
}

/* Takes room for the operand's entries of the step, as if they were raised. */
static void count_in_slice(struct sim *sim, struct device *device, const struct slice *slice) {
    struct bulk *bulk = &device->bulk;
    struct cursor cursor = ff__nest_cursor(bulk->arrays, slice->operand, slice->from);
    while (cursor.position < slice->to) {
        uint64_t at = cursor.position;
        struct piece piece = ff__nest_piece_at(&cursor, slice->operand, slice->to - at);
        for (uint64_t page = piece.first; page < piece.end;) {
            uint32_t block = (uint32_t)(page / FF_BLOCK_PAGES), first = page % FF_BLOCK_PAGES;
            uint32_t end = ff__end_in_block(&piece, page, first);
            struct ff_mask missing;
            missing_in(sim, device, block, first, end, &missing);
            missing = ff_mask_minus(&missing, &asked_of(bulk, block)->used);
            if (!ff_mask_empty(&missing))
                raise_in_block(sim, device, slice, &piece, at, block, &missing, NULL);
            page += end - first;
        }
        ff__nest_move_behind(&cursor, slice->operand, &piece);
    }
}

/* ---- remote use ---- */

static void use_page(struct sim *sim, struct device *device, uint64_t page, uint64_t bytes,
                     bool write) {
    struct bulk *bulk = &device->bulk;
    uint32_t count = (uint32_t)((bytes + FF__ACCESS_BYTES - 1) / FF__ACCESS_BYTES);
    bulk->remote_end = ff__sm_use_remotely(sim, device, count, bulk->time);
    if (sim->shows_accesses)
        ff__access_show_remote(sim, device, page, count, write);
}

/* The step's accesses to the remote ones of a block's pages, of each of which it loads so many
 * bytes: at least one, since a piece never has more pages than bytes. */
static void use_in_block(struct sim *sim, struct device *device, uint32_t block, uint32_t first,
                         uint32_t end, uint64_t bytes, bool write) {
    const struct ff_tier_pages *there = &ff__facts(sim->space, block)->tier[device->tier];
    struct ff_mask pages;
    ff_mask_clear(&pages);
    FOR_EACH_WORD(i, word, first, end) {
        pages.word[i] = word & ~there->resident.word[i] & there->remote.word[i];
    }
    if (ff_mask_empty(&pages))
        return;
    count_misses(device, block, &pages);
    for (uint32_t page = first; page < end; page++)
        if (ff_mask_test(&pages, page))
            use_page(sim, device, (uint64_t)block * FF_BLOCK_PAGES + page, bytes, write);
}

static void use_in_slice(struct sim *sim, struct device *device, const struct slice *slice) {
    struct cursor cursor = ff__nest_cursor(device->bulk.arrays, slice->operand, slice->from);
    while (cursor.position < slice->to) {
        struct piece piece =
            ff__nest_piece_at(&cursor, slice->operand, slice->to - cursor.position);
        uint64_t bytes = piece.bytes / (piece.end - piece.first);
        for (uint64_t page = piece.first; page < piece.end;) {
            uint32_t block = (uint32_t)(page / FF_BLOCK_PAGES), first = page % FF_BLOCK_PAGES;
            uint32_t end = ff__end_in_block(&piece, page, first);
            use_in_block(sim, device, block, first, end, bytes, slice->operand->write);
            page += end - first;
        }
        ff__nest_move_behind(&cursor, slice->operand, &piece);
    }
}

uint64_t ff__bulk_use_remotely(struct sim *sim, struct device *device) {
    struct bulk *bulk = &device->bulk;
    const struct ff__kernel *kernel = &device->current.kernel;
    bulk->remote_end = bulk->time;
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        struct slice slice = slice_of(sim, bulk, &kernel->operands[i], &bulk->fronts[i]);
        use_in_slice(sim, device, &slice);
    }
    return bulk->remote_end;
}

/* The step's entries that a full batch has no room for: all of them, less those that were raised.
 */
static uint64_t count_flushed(struct sim *sim, struct device *device) {
    struct bulk *bulk = &device->bulk;
    const struct ff__kernel *kernel = &device->current.kernel;
    bulk->room = UINT32_MAX;
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        struct slice slice = slice_of(sim, bulk, &kernel->operands[i], &bulk->fronts[i]);
        count_in_slice(sim, device, &slice);
    }
    return UINT32_MAX - bulk->room - sim->model->step_limit(sim->gpu);
}

/* Returns how many pages the step is short of; once they have been counted, at least one. */
uint64_t ff__bulk_raise(struct sim *sim, struct device *device) {
    struct bulk *bulk = &device->bulk;
    const struct ff__kernel *kernel = &device->current.kernel;
    uint64_t missing = 0;
    bulk->room = sim->model->step_limit(sim->gpu);
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        bulk->fronts[i].step_first = UINT32_MAX;
        bulk->fronts[i].step_last = 0;
    }
    for (uint32_t i = 0; i < kernel->operand_count && (bulk->room > 0 || !bulk->faulted); i++) {
        struct front *front = &bulk->fronts[i];
        struct slice slice = slice_of(sim, bulk, &kernel->operands[i], front);
        missing += raise_in_slice(sim, device, &slice, front);
    }
    bulk->flushed = bulk->room == 0 && sim->gpu->flush_ns > 0 ? count_flushed(sim, device) : 0;
    bulk->raised = missing > 0;
    return missing;
}
