/* Kernels in bulk: a front goes through all operands at once.
 *
 * What all warps of the device touch at a time is a step: one load of a float of an operand by each
 * lane. (Ours. With four floats, as some kernels load, systems that live by faults are faster by a
 * tenth.) Where SMs share what they load, a step is so much less of the operand. A step whose pages are
 * all there takes its share of the kernel's time; otherwise SMs fault until they have all come. Between
 * two events nothing changes, so that what is in place is passed over block by block, not page by
 * page. */
#include "backend/sim/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LANES      32u
#define LANE_BYTES 4u
#define HORIZON    16u /* steps in which nothing is shared */
#define NOWHERE    UINT64_MAX

/* ---- positions: bytes of an operand, in the order of its nest ---- */

static uint64_t size_of(const struct ff__operand *operand) {
    return ff__operand_runs(operand) * operand->run;
}

/* Consecutive bytes from a position on, as pages of the managed space. */
struct piece {
    uint64_t start;      /* its first byte in the managed space */
    uint64_t first, end; /* pages */
    uint64_t bytes;
};

static struct piece make_piece(uint64_t start, uint64_t bytes) {
    return (struct piece){start, start / FF_PAGE_SIZE,
                          (start + bytes + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE, bytes};
}

/* Where the outer `level` loops' iteration `number` begins. */
static uint64_t start_of(const struct sim *sim, const struct ff__operand *operand, int level,
                         uint64_t number) {
    uint64_t start =
        sim->workload->arrays[operand->array].first_page * FF_PAGE_SIZE + operand->offset;
    for (int i = level - 1; i > 0; i--) {
        const struct ff__loop *loop = &operand->loop[i];
        if (loop->count == 1) /* most are: no division */
            continue;
        start += number % loop->count * loop->stride;
        number /= loop->count;
    }
    return start + number * operand->loop[0].stride;
}

static struct cursor cursor_at(const struct sim *sim, const struct ff__operand *operand,
                               uint64_t position) {
    struct cursor cursor = {.position = position};
    uint64_t run = position / operand->run;
    cursor.inside = position - run * operand->run;
    cursor.start = start_of(sim, operand, FF__LOOPS, run);
    for (int i = FF__LOOPS - 1; i > 0; i--) {
        uint64_t count = operand->loop[i].count;
        if (count == 1)
            continue;
        cursor.innermost = cursor.innermost ? cursor.innermost : i;
        cursor.index[i] = run % count;
        run = run / count;
    }
    cursor.index[0] = run;
    return cursor;
}

/* On to the next run. */
static void next_run(struct cursor *cursor, const struct ff__operand *operand) {
    cursor->inside = 0;
    for (int i = cursor->innermost; i >= 0; i--) {
        const struct ff__loop *loop = &operand->loop[i];
        cursor->start += loop->stride;
        if (++cursor->index[i] < loop->count || i == 0)
            return;
        cursor->start -= loop->count * loop->stride;
        cursor->index[i] = 0;
    }
}

/* The next `limit` bytes, or up to the run's end. */
static inline struct piece piece_at(const struct cursor *cursor, const struct ff__operand *operand,
                                    uint64_t limit) {
    uint64_t left = operand->run - cursor->inside;
    return make_piece(cursor->start + cursor->inside, left < limit ? left : limit);
}

/* On to what is behind a piece. */
static inline void move_behind(struct cursor *cursor, const struct ff__operand *operand,
                               const struct piece *piece) {
    cursor->position += piece->bytes;
    cursor->inside += piece->bytes;
    if (cursor->inside == operand->run)
        next_run(cursor, operand);
}

/* ---- pages ---- */

/* Pages `first` to `end` of a block, by the words of masks that they lie in: most runs are short. */
#define ALL ~UINT64_C(0)
#define FOR_EACH_WORD(i, word, first, end)                                                         \
    for (uint64_t i = (first) / 64, last_##i = ((end)-1) / 64,                                     \
                  tail_##i = ALL >> (63 - ((end)-1) % 64),                                         \
                  word = (i == last_##i ? tail_##i : ALL) & ALL << (first) % 64;                   \
         i <= last_##i; i++, word = i == last_##i ? tail_##i : ALL)

/* The words that a run of pages lies in: of the first and the last one, only these pages. */
struct words {
    uint32_t first, last;
    uint64_t head, tail; /* of a run in a single word, `head` alone */
};

static inline struct words words_of(uint32_t first, uint32_t end) {
    const uint32_t from = first / 64, to = (end - 1) / 64;
    const uint64_t head = ALL << first % 64, tail = ALL >> (63 - (end - 1) % 64);
    return (struct words){from, to, from == to ? head & tail : head, tail};
}

static inline bool is_absent(const struct ff_tier_pages *there, uint32_t word, uint64_t pages) {
    uint64_t missing = pages & ~there->resident.word[word];
    return missing && missing & ~there->remote.word[word]; /* mostly none is remote */
}

static inline bool is_in_place(const struct sim *sim, const struct device *device, uint32_t block,
                               const struct words *words) {
    const struct ff__space *space = &sim->engine.space;
    const struct ff_tier_pages *there = &ff__facts(space, block)->tier[device->tier];
    if (is_absent(there, words->first, words->head))
        return false;
    if (words->first == words->last)
        return true;
    for (uint32_t i = words->first + 1; i < words->last; i++)
        if (is_absent(there, i, ALL))
            return false;
    return !is_absent(there, words->last, words->tail);
}

static inline void use_word(struct sim *sim, uint64_t *unused, uint64_t pages) {
    if ((*unused & pages) == 0)
        return;
    sim->engine.space.stats.prefetch_used += (uint64_t)__builtin_popcountll(*unused & pages);
    *unused &= ~pages;
}

static inline void use(struct sim *sim, uint32_t block, const struct words *words, bool write) {
    struct ff_page_facts *facts = ff__page_facts(&sim->engine.space, block);
    uint64_t *unused = facts->unused.word, *dirty = facts->dirty.word;
    const uint32_t first = words->first, last = words->last;
    use_word(sim, &unused[first], words->head);
    for (uint32_t i = first + 1; i < last; i++)
        use_word(sim, &unused[i], ALL);
    if (first < last)
        use_word(sim, &unused[last], words->tail);
    if (!write)
        return;
    dirty[first] |= words->head;
    for (uint32_t i = first + 1; i < last; i++)
        dirty[i] = ALL;
    if (first < last)
        dirty[last] |= words->tail;
}

/* Those that are not there. */
static void missing_in(const struct sim *sim, const struct device *device, uint32_t block,
                       uint32_t first, uint32_t end, struct ff_mask *out) {
    const struct ff__space *space = &sim->engine.space;
    const struct ff_tier_pages *there = &ff__facts(space, block)->tier[device->tier];
    const uint64_t *resident = there->resident.word, *remote = there->remote.word;
    ff_mask_clear(out);
    FOR_EACH_WORD(i, word, first, end) {
        out->word[i] = word & ~resident[i] & ~remote[i];
    }
}

/* The end of a piece's pages from page `first` of a block on, in that block. */
static uint32_t end_in_block(const struct piece *piece, uint64_t page, uint32_t first) {
    uint64_t end = piece->end - page + first;
    return end < FF_BLOCK_PAGES ? (uint32_t)end : FF_BLOCK_PAGES;
}

/* Passes over pages that are all there. False: some are not; those of blocks before are used. */
static inline bool pass(struct sim *sim, struct device *device, const struct piece *piece,
                        bool write) {
    for (uint64_t page = piece->first; page < piece->end;) {
        uint32_t block = (uint32_t)(page / FF_BLOCK_PAGES), first = page % FF_BLOCK_PAGES;
        uint32_t end = end_in_block(piece, page, first);
        struct words words = words_of(first, end);
        if (!is_in_place(sim, device, block, &words))
            return false;
        use(sim, block, &words, write);
        page += end - first;
    }
    return true;
}

/* ---- the front ---- */

/* Where an operand's step begins. Signed, as converting unsigned numbers of 64 bits takes a branch. */
static uint64_t position_of(const struct bulk *bulk, const struct front *front, uint64_t step) {
    return (uint64_t)(int64_t)(front->size * (double)(int64_t)step / (double)(int64_t)bulk->steps);
}

/* The end of the iteration of the outer `level` loops that a position is in, if all between its first
 * and its last byte is in place; else the position. */
static uint64_t pass_level(struct sim *sim, struct device *device,
                           const struct ff__operand *operand, int level, uint64_t position) {
    uint64_t bytes = operand->run, span = operand->run;
    for (int i = level; i < FF__LOOPS; i++) {
        bytes *= operand->loop[i].count;
        span += (operand->loop[i].count - 1) * operand->loop[i].stride;
    }
    uint64_t number = position / bytes;
    const struct piece piece = make_piece(start_of(sim, operand, level, number), span);
    return pass(sim, device, &piece, operand->write) ? (number + 1) * bytes : position;
}

/* How far the operand is in place from `position` on, where it matters before `limit`. Where runs are
 * short, looking at all that many of them lie in is the shorter way. */
static uint64_t clear_until(struct sim *sim, struct device *device,
                            const struct ff__operand *operand, struct cursor *cursor,
                            uint64_t position, uint64_t limit) {
    for (int level = 1; level < FF__LOOPS && operand->run < FF_LEAF_SIZE; level++)
        for (uint64_t further = 0; position < limit && operand->loop[level].count > 1;
             position = further)
            if ((further = pass_level(sim, device, operand, level, position)) == position)
                break;
    if (position >= limit)
        return position;
    if (cursor->position != position)
        *cursor = cursor_at(sim, operand, position);
    while (cursor->position < limit) {
        uint64_t left = limit - cursor->position;
        struct piece piece = piece_at(cursor, operand, left < FF_BLOCK_SIZE ? left : FF_BLOCK_SIZE);
        if (!pass(sim, device, &piece, operand->write))
            break;
        move_behind(cursor, operand, &piece);
    }
    return cursor->position;
}

/* The step that a position is in. */
static uint64_t step_at(const struct bulk *bulk, const struct front *front, uint64_t position) {
    uint64_t step = (uint64_t)((double)position * (double)bulk->steps / front->size);
    while (step < bulk->steps && position_of(bulk, front, step + 1) <= position)
        step++;
    return step;
}

/* The first step from here to `last` that needs a page which is not there; `last` if none does. What
 * has been found in place stays so until something leaves. */
static uint64_t first_stop(struct sim *sim, struct device *device, uint64_t last) {
    const struct bulk *bulk = &device->bulk;
    const struct ff__kernel *kernel = &device->current.kernel;
    for (uint32_t i = 0; i < kernel->operand_count && last > bulk->step; i++) {
        struct front *front = &bulk->fronts[i];
        uint64_t limit = position_of(bulk, front, last);
        uint64_t from = position_of(bulk, front, bulk->step);
        from = front->clear > from ? front->clear : from;
        front->clear = clear_until(sim, device, &kernel->operands[i], &front->cursor, from, limit);
        if (front->clear >= limit)
            continue;
        uint64_t step = step_at(bulk, front, front->clear);
        last = step > bulk->step ? step : bulk->step;
    }
    return last;
}

/* ---- pages that come one by one ---- */

/* Not all pages of a step need fit at the same time: each has been used when it has come, as in kernels that run warp
 * by warp, and may leave before the others come. Else a step in more blocks than there is memory would never end. */

static struct asked *asked_of(struct bulk *bulk, uint32_t block) {
    struct asked *asked = &bulk->asked[block];
    if (asked->stop != bulk->stop)
        *asked = (struct asked){.stop = bulk->stop};
    return asked;
}

static bool writes_to(const struct device *device, uint32_t block) {
    const struct ff__kernel *kernel = &device->current.kernel;
    const struct front *fronts = device->bulk.fronts;
    for (uint32_t i = 0; i < kernel->operand_count; i++)
        if (kernel->operands[i].write && block >= fronts[i].first && block <= fronts[i].last)
            return true;
    return false;
}

/* What the step has asked for and is there now is used. */
static void use_asked(struct sim *sim, struct device *device, uint32_t block) {
    struct asked *asked = &device->bulk.asked[block];
    const struct ff_facts *facts = ff__facts(&sim->engine.space, block);
    struct ff_page_facts *pages = ff__page_facts(&sim->engine.space, block);
    if (!device->running || !device->bulk.faulted || asked->stop != device->bulk.stop)
        return;
    struct ff_mask come = ff_mask_and(&asked->pages, &facts->tier[device->tier].resident);
    come = ff_mask_minus(&come, &asked->used);
    if (ff_mask_empty(&come))
        return;
    asked->used = ff_mask_or(&asked->used, &come);
    for (uint32_t i = 0; i < FF_MASK_WORDS; i++)
        use_word(sim, &pages->unused.word[i], come.word[i]);
    if (writes_to(device, block))
        pages->dirty = ff_mask_or(&pages->dirty, &come);
}

void ff__bulk_changed(struct sim *sim, struct device *device, uint32_t block) {
    struct bulk *bulk = &device->bulk;
    use_asked(sim, device, block);
    for (uint32_t i = 0; bulk->raised && i < device->current.kernel.operand_count; i++)
        bulk->raised = block < bulk->fronts[i].step_first || block > bulk->fronts[i].step_last;
}

void ff__bulk_left(struct sim *sim, struct device *device, uint32_t block) {
    const struct bulk *bulk = &device->bulk;
    if (!device->running || !ff__is_bulk(device))
        return;
    ff__bulk_changed(sim, device, block);
    for (uint32_t i = 0; i < device->current.kernel.operand_count; i++)
        if (block >= bulk->fronts[i].first && block <= bulk->fronts[i].last)
            bulk->fronts[i].clear = 0;
}

/* ---- faults ---- */

/* An SM has many faults under way: a single warp of a Titan V had 56 in one batch (fault log in github
 * tallendev/uvm-eval, archive/benchmarksv3/abc). So each CTA faults on the first page that it misses of
 * each operand, until the driver's batch is full; what is behind is flushed and faults again after the
 * replay (uvm_gpu_replayable_faults.c, BATCH_FLUSH). CTAs, and so the parts of an operand, are dealt to
 * SMs in turn. Parts smaller than a page, or read by several SMs, make several entries for one page. */
struct slice {
    const struct ff__operand *operand;
    uint64_t from, to; /* positions: the step */
    uint32_t part;     /* bytes */
    uint32_t readers;
};

static struct slice slice_of(const struct sim *sim, const struct bulk *bulk,
                             const struct ff__operand *operand, const struct front *front) {
    struct slice slice = {operand, position_of(bulk, front, bulk->step),
                          position_of(bulk, front, bulk->step + 1), 0,
                          ff__operand_readers(operand)};
    uint64_t part = (slice.to - slice.from) * slice.readers / sim->gpu->sms;
    if (operand->part && operand->part < part)
        part = operand->part;
    slice.part = part == 0 ? 1 : part > UINT32_MAX ? UINT32_MAX : (uint32_t)part;
    return slice;
}

/* On each of these pages of a word, `sms` SMs fault, on the first one that of number `sm` first. Neighbours are
 * put together in `faults` before they are raised. */
static inline void raise_on(struct sim *sim, struct device *device, struct fault *faults,
                            uint32_t sm, uint32_t sms, uint64_t word, uint64_t pages) {
    if (faults->word == word && faults->sms == sms && faults->pages < (pages & -pages)) {
        faults->pages |= pages;
        return;
    }
    ff__sim_raise_fault(sim, device, faults);
    faults->word = word;
    faults->pages = pages;
    faults->sms = (uint16_t)sms;
    faults->thread = (uint16_t)(sm % sim->gpu->sms + 1);
}

/* A piece of a slice in one block. Bytes are counted from the block's first on. */
struct share {
    const struct ff_mask *missing;
    uint32_t block, words; /* ff_mask_words() of those that are missing */
    uint64_t start, end; /* of the piece; its start may lie before the block, as a number below 0 */
    uint64_t origin;     /* so many bytes of the slice lie before the block */
};

static inline uint64_t first_byte(const struct share *share, uint32_t index) {
    uint64_t byte = (uint64_t)index * FF_PAGE_SIZE;
    return (int64_t)byte > (int64_t)share->start ? byte : share->start;
}

/* Where parts of a page or more are: each faults on the first page that it misses. It begins with a page,
 * though steps, which are rounded, do not. */
struct parts {
    uint32_t size, part;
    uint32_t index; /* the page that the part faults on; FF_BLOCK_PAGES: no more */
    uint64_t end;   /* of the part */
};

/* On to the next part that misses a page. */
static inline void next_part(struct parts *parts, const struct share *share) {
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
                          const struct share *share, struct fault *faults) {
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

/* The part that a byte of the step lies in, which is not before part `from`; mostly it is that one or the
 * next. */
static inline uint32_t part_from(uint32_t size, uint32_t from, uint32_t byte) {
    uint32_t inside = byte - from * size;
    if (inside < size)
        return from;
    return inside - size < size ? from + 1 : from + inside / size;
}

/* Several parts in a page: all of them fault on it. */
static void raise_by_page(struct sim *sim, struct device *device, const struct slice *slice,
                          const struct share *share, struct fault *faults) {
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

/* Faults on one block's missing pages of a piece, which begins at position `at`, by as many SMs as the
 * batch has room for. */
static void raise_in_block(struct sim *sim, struct device *device, const struct slice *slice,
                           const struct piece *piece, uint64_t at, uint32_t block,
                           const struct ff_mask *missing, struct fault *faults) {
    const uint64_t start = piece->start - (uint64_t)block * FF_BLOCK_SIZE;
    const struct share share = {.missing = missing,
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

/* A page that a launch misses is missed once, however often it comes and goes before the launch has ended. */
static void count_misses(struct sim *sim, struct device *device, uint32_t block,
                         const struct ff_mask *missing) {
    struct ff_mask *missed = ff__device_touched(device, block);
    struct ff_mask first = ff_mask_minus(missing, missed);
    uint32_t count = ff_mask_count(&first);
    *missed = ff_mask_or(missed, &first);
    sim->result->demanded_hits -= count;
    sim->result->hits -= count;
}

/* Leaves those that have not been used by the step; returns how many they are. */
static uint32_t ask_for(struct device *device, uint32_t block, struct ff_mask *missing) {
    struct asked *asked = asked_of(&device->bulk, block);
    *missing = ff_mask_minus(missing, &asked->used);
    asked->pages = ff_mask_or(&asked->pages, missing);
    return ff_mask_count(missing);
}

/* Returns how many pages of the operand the step is short of; once they have been counted, at least one. */
static uint64_t raise_in_slice(struct sim *sim, struct device *device, const struct slice *slice,
                               struct front *front) {
    const struct bulk *bulk = &device->bulk;
    uint64_t missing_count = 0;
    struct fault faults = {.time = bulk->time + sim->visible, .write = slice->operand->write};
    struct cursor cursor = cursor_at(sim, slice->operand, slice->from);
    while (cursor.position < slice->to && (bulk->room > 0 || !bulk->faulted)) {
        uint64_t at = cursor.position;
        struct piece piece = piece_at(&cursor, slice->operand, slice->to - at);
        for (uint64_t page = piece.first; page < piece.end;) {
            uint32_t block = (uint32_t)(page / FF_BLOCK_PAGES), first = page % FF_BLOCK_PAGES;
            uint32_t end = end_in_block(&piece, page, first);
            front->step_first = block < front->step_first ? block : front->step_first;
            front->step_last = block > front->step_last ? block : front->step_last;
            struct words words = words_of(first, end);
            if (!is_in_place(sim, device, block, &words)) {
                struct ff_mask missing;
                missing_in(sim, device, block, first, end, &missing);
                if (!bulk->faulted)
                    count_misses(sim, device, block, &missing);
                missing_count += ask_for(device, block, &missing);
                if (!ff_mask_empty(&missing))
                    raise_in_block(sim, device, slice, &piece, at, block, &missing, &faults);
            }
            page += end - first;
        }
        move_behind(&cursor, slice->operand, &piece);
    }
    ff__sim_raise_fault(sim, device, &faults);
    return missing_count;
}

/* Returns how many pages the step is short of; once they have been counted, at least one. */
static uint64_t raise_faults(struct sim *sim, struct device *device) {
    struct bulk *bulk = &device->bulk;
    const struct ff__kernel *kernel = &device->current.kernel;
    uint64_t missing = 0;
    bulk->room = ff__sim_flat(sim) ? sim->gpu->sms : sim->gpu->batch_faults;
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        bulk->fronts[i].step_first = UINT32_MAX;
        bulk->fronts[i].step_last = 0;
    }
    for (uint32_t i = 0; i < kernel->operand_count && (bulk->room > 0 || !bulk->faulted); i++) {
        struct front *front = &bulk->fronts[i];
        struct slice slice = slice_of(sim, bulk, &kernel->operands[i], front);
        missing += raise_in_slice(sim, device, &slice, front);
    }
    bulk->raised = missing > 0;
    return missing;
}

/* ---- the kernel ---- */

static uint64_t pages_in(uint64_t bytes) {
    return (bytes + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE;
}

/* Bytes from the first one of an operand to its last. */
static uint64_t span_of(const struct ff__operand *operand) {
    uint64_t span = operand->run;
    for (int i = 0; i < FF__LOOPS; i++)
        span += (operand->loop[i].count - 1) * operand->loop[i].stride;
    return span;
}

/* Whether a run can begin or end inside a page that it shares with none of its like. */
static bool straddles(const struct ff__operand *operand, uint64_t start) {
    uint64_t unit = operand->run < FF_PAGE_SIZE ? operand->run : FF_PAGE_SIZE;
    uint64_t off = FF_PAGE_SIZE % unit | operand->run % unit | start % unit;
    for (int i = 0; i < FF__LOOPS; i++)
        off |= operand->loop[i].count > 1 ? operand->loop[i].stride % unit : 0;
    return off != 0;
}

/* Pages that an operand lies in, at most: runs that lie apart have pages of their own. */
static uint64_t pages_of(const struct sim *sim, const struct ff__operand *operand) {
    uint64_t start = start_of(sim, operand, 1, 0);
    uint64_t all = pages_in(start % FF_PAGE_SIZE + span_of(operand));
    uint64_t apart =
        ff__operand_runs(operand) * (pages_in(operand->run) + straddles(operand, start));
    return apart < all ? apart : all;
}

static void count_pages(struct sim *sim, const struct ff__kernel *kernel) {
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        const struct ff__operand *operand = &kernel->operands[i];
        uint64_t pages = pages_of(sim, operand), loaded = pages_in(size_of(operand));
        uint64_t accesses = loaded > pages ? loaded : pages;
        sim->result->accesses += accesses;
        sim->result->hits += accesses;
        sim->result->demanded += pages;
        sim->result->demanded_hits += pages;
    }
}

/* Nothing is known to be in place yet. */
static void start_fronts(struct sim *sim, struct bulk *bulk, const struct ff__kernel *kernel) {
    if (kernel->operand_count > bulk->front_capacity) {
        struct front *fronts = realloc(bulk->fronts, kernel->operand_count * sizeof *fronts);
        if (!fronts) {
            ff__sim_fail(sim, -ENOMEM, "a kernel's operands");
            return;
        }
        bulk->fronts = fronts;
        bulk->front_capacity = kernel->operand_count;
    }
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        const struct ff__operand *operand = &kernel->operands[i];
        uint64_t start = start_of(sim, operand, 1, 0), last = start + span_of(operand) - 1;
        bulk->fronts[i] = (struct front){.size = (double)size_of(operand),
                                         .cursor.position = NOWHERE,
                                         .first = (uint32_t)(start / FF_BLOCK_SIZE),
                                         .last = (uint32_t)(last / FF_BLOCK_SIZE)};
    }
}

void ff__bulk_start(struct sim *sim, struct device *device, uint64_t time) {
    const struct ff__kernel *kernel = &device->current.kernel;
    const struct ff__gpu *gpu = sim->gpu;
    uint64_t window = (uint64_t)gpu->sms * gpu->warps_per_sm * LANES * LANE_BYTES;
    uint64_t bytes = 1, shared = 1;
    double seconds = kernel->flops / gpu->flops;
    if (kernel->traffic / gpu->memory_rate > seconds)
        seconds = kernel->traffic / gpu->memory_rate;
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        uint64_t readers = ff__operand_readers(&kernel->operands[i]);
        uint64_t loaded = size_of(&kernel->operands[i]) * readers;
        bytes = loaded > bytes ? loaded : bytes;
        shared = readers > shared ? readers : shared;
    }
    struct bulk *bulk = &device->bulk;
    if (sim->recording)
        ff__sim_fail(sim, -ENOTSUP, "kernels in bulk cannot be recorded");
    start_fronts(sim, bulk, kernel);
    bulk->step = 0;
    bulk->steps = (bytes + window - 1) / window;
    bulk->horizon = HORIZON * shared;
    bulk->time = time;
    bulk->waits = bulk->faulted = bulk->raised = false;
    bulk->ps_per_step = seconds * 1e12 / (double)bulk->steps;
    count_pages(sim, kernel);
}

/* The step that the front can reach before `until`, or a little beyond: no further ahead than it pays
 * to look, because what is found there is looked at again after a stop. */
static uint64_t reach(const struct bulk *bulk, uint64_t until) {
    uint64_t left = bulk->steps - bulk->step, far = left < bulk->horizon ? left : bulk->horizon;
    if (until == NEVER)
        return bulk->step + far;
    double steps = (double)(until - bulk->time) / (bulk->ps_per_step + 1e-9) + 1;
    return bulk->step + (steps < (double)far ? (uint64_t)steps : far);
}

/* At a step that looked short of pages: faults, or on with it if rounding had stopped it too early. */
static void stop(struct sim *sim, struct device *device) {
    struct bulk *bulk = &device->bulk;
    if (bulk->faulted && bulk->raised) { /* something came that the step has no use for */
        bulk->waits = true;
        return;
    }
    bulk->stop += !bulk->faulted;
    uint64_t missing = raise_faults(sim, device);
    if (missing == 0) {
        bulk->time += (uint64_t)bulk->ps_per_step;
        bulk->step++;
        bulk->faulted = bulk->raised = false;
        return;
    }
    bulk->faulted = bulk->waits = true;
}

uint64_t ff__bulk_run(struct sim *sim, struct device *device, uint64_t until) {
    struct bulk *bulk = &device->bulk;
    while (!bulk->waits && bulk->step < bulk->steps && bulk->time < until) {
        uint64_t last = reach(bulk, until), at = first_stop(sim, device, last);
        bulk->time += (uint64_t)((double)(at - bulk->step) * bulk->ps_per_step);
        bulk->faulted = bulk->faulted && at == bulk->step;
        bulk->raised = bulk->raised && at == bulk->step;
        bulk->step = at;
        if (at < last && bulk->time < until)
            stop(sim, device);
    }
    if (bulk->waits)
        return NEVER;
    if (bulk->step < bulk->steps || bulk->time > until)
        return bulk->time;
    device->ctas_left = 0;
    device->last_end = bulk->time;
    return NEVER;
}

void ff__bulk_wake(struct sim *sim, struct device *device, uint64_t time) {
    struct bulk *bulk = &device->bulk;
    bulk->waits = false;
    if (bulk->time >= time)
        return;
    sim->result->stall_ns += ff__sim_ns(time - bulk->time);
    bulk->time = time;
}
