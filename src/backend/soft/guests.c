#include "backend/soft/guests.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* ---- memory of this program's devices ---- */

static uint32_t chunk_of(const struct ff__place *place) {
    return place->frame / FF_CHUNK_LEAVES;
}

void ff__guests_clear(struct ff__soft *soft, uint32_t tier, uint32_t chunk) {
    struct ff__memory *memory = &soft->memory;
    bool *holds = memory->holds_lent[tier];
    if (!holds || (uint64_t)chunk * FF_BLOCK_SIZE >= memory->device_size ||
        !__atomic_exchange_n(&holds[chunk], false, __ATOMIC_RELAXED))
        return;
    ff__soft_give_back(soft, memory->lent[tier] + (size_t)chunk * FF_BLOCK_SIZE, FF_BLOCK_SIZE);
}

/* A guest comes: what the device had allocated for the chunk is the kernel's again. */
static void take_chunk(struct ff__soft *soft, const struct ff__place *place) {
    struct ff__memory *memory = &soft->memory;
    uint32_t chunk = chunk_of(place);
    if (__atomic_exchange_n(&memory->holds_lent[place->tier][chunk], true, __ATOMIC_RELAXED) ||
        !memory->ready[place->tier] || !memory->ready[place->tier][chunk])
        return;
    memory->ready[place->tier][chunk] = 0;
    ff__soft_give_back(soft, memory->frames[place->tier] + (size_t)chunk * FF_BLOCK_SIZE,
                       FF_BLOCK_SIZE);
}

/* ---- any lent memory ---- */

/* NULL: the tier is a device of this program. */
static struct ff__lease *lease_of(struct ff__soft *soft, const struct ff__place *place) {
    return place->tier > soft->memory.devices ? &soft->leases.of[place->tier] : NULL;
}

/* The memory of a place, claimed if it is a lease's; NULL: the broker has reclaimed it. `fresh`: a
 * slot without content will do. */
static char *claim(struct ff__soft *soft, const struct ff__place *place, bool fresh,
                   bool *was_clean) {
    struct ff__lease *lease = lease_of(soft, place);
    size_t first = lease ? 0 : (size_t)place->frame * FF_LEAF_SIZE;
    *was_clean = false;
    if (!lease && fresh)
        take_chunk(soft, place);
    uint32_t slot = lease ? ff__lease_claim(lease, chunk_of(place), fresh, was_clean) : 0;
    return slot == FF_NONE ? NULL
                           : soft->memory.lent[place->tier] + first + (size_t)slot * FF_BLOCK_SIZE;
}

static void rest(struct ff__soft *soft, const struct ff__place *place, enum ff__slot_state state) {
    struct ff__lease *lease = lease_of(soft, place);
    if (lease && state != FF__SLOT_USED)
        ff__lease_rest(lease, chunk_of(place), state);
}

/* Whether what was read of claimed memory is what lay there. */
static bool is_certain(struct ff__soft *soft, const struct ff__place *place) {
    struct ff__lease *lease = lease_of(soft, place);
    return !lease || ff__lease_has(lease, chunk_of(place));
}

/* Pages of a block that only a lease had, which the broker has taken: the program must not go on,
 * as with memory that fails. */
static void lose(struct ff__soft *soft, const struct ff_mask *pages) {
    if (ff_mask_empty(pages))
        return;
    ff__log_line(&soft->log, FF_LOG_WARNING,
                 "memory that was lent to this program was reclaimed after it had not answered for "
                 "too long: %u pages are lost",
                 ff_mask_count(pages));
    kill(getpid(), SIGBUS);
}

static const struct ff_mask *resident_of(const struct ff__soft *soft, uint32_t block,
                                         uint32_t tier) {
    return &ff__facts(soft->space, block)->tier[tier].resident;
}

/* ---- pages ---- */

static void copy_pages(char *to, const char *from, const struct ff_mask *pages) {
    FF_MASK_FOR_EACH_RUN(pages, run) {
        size_t offset = (size_t)run.first * FF_PAGE_SIZE;
        ff__copy_pages(to + offset, from + offset, run.end - run.first);
    }
}

static void zero_pages(char *to, const struct ff_mask *pages) {
    FF_MASK_FOR_EACH_RUN(pages, run) {
        ff__zero_pages(to + (size_t)run.first * FF_PAGE_SIZE, run.end - run.first);
    }
}

/* Copies pages to the host, also those that it may have the same of. */
static void copy_to_host(struct ff__soft *soft, uint32_t block, const char *from,
                         const struct ff_mask *pages) {
    char *to = ff__host_to_write(&soft->host, block, pages);
    ff__copy_changed(to, from, pages, &(struct ff_mask){{0}}, soft->host.sums[block]);
}

/* ---- to a device's own use ---- */

/* Copies a lease's pages to a bounce buffer, so that no thread sees them before it is known that
 * the slot was the program's all the while. False: it was reclaimed. */
static bool bounce(struct ff__soft *soft, struct ff__page_source *source) {
    const struct ff__place *place = &source->out->from;
    const char *from = claim(soft, place, false, &source->was_clean);
    if (!lease_of(soft, place)) {
        source->from = from;
        return true;
    }
    if (!from)
        return false;
    char *to = ff__bounce_take(&soft->leases);
    copy_pages(to, from, &source->pages);
    source->from = to;
    source->is_bounced = is_certain(soft, place);
    if (!source->is_bounced)
        ff__bounce_give(&soft->leases, to);
    return source->is_bounced;
}

void ff__guests_find(struct ff__soft *soft, const struct ff__move *in,
                     const struct ff__submission *submission, struct ff__sources *sources) {
    struct ff_mask dropped = ff__changes_begin_in(&soft->changes, in->block, &in->left);
    struct ff_mask rest_of = ff_mask_and(&in->held, &in->left);
    sources->count = 0;
    for (uint32_t i = 0; i < submission->count; i++) {
        struct ff__move *out = submission->moves[i];
        if (!ff__guests_is_fetch(out) || out->block != in->block)
            continue;
        struct ff__page_source *source = &sources->of[sources->count];
        *source = (struct ff__page_source){.pages = ff_mask_and(&out->pages, &rest_of), .out = out};
        source->pages = ff_mask_minus(&source->pages, &dropped);
        if (bounce(soft, source)) {
            rest_of = ff_mask_minus(&rest_of, &source->pages);
            sources->count++;
        } else {
            struct ff_mask lost =
                ff_mask_minus(&source->pages, resident_of(soft, in->block, FF_TIER_HOST));
            lose(soft, &lost);
        }
    }
    sources->of[sources->count++] =
        (struct ff__page_source){.pages = rest_of, .from = ff__host_at(&soft->host, in->block)};
}

static void end_bounce(struct ff__soft *soft, const struct ff__page_source *source) {
    const struct ff__move *out = source->out;
    if (!source->is_bounced)
        return;
    ff__bounce_give(&soft->leases, source->from);
    rest(soft, &out->from,
         out->whole          ? FF__SLOT_FREE
         : source->was_clean ? FF__SLOT_CLEAN
                             : FF__SLOT_USED);
}

void ff__guests_end(struct ff__soft *soft, const struct ff__move *in,
                    const struct ff__sources *sources) {
    for (uint32_t i = 0; i + 1 < sources->count; i++) {
        const struct ff__page_source *source = &sources->of[i];
        struct ff_mask missed = ff_mask_and(&source->pages, &in->left);
        if (!ff_mask_empty(&missed)) {
            copy_to_host(soft, in->block, source->from, &missed);
            source->out->copied = ff_mask_or(&source->out->copied, &missed);
            ff__changes_end_out(&soft->changes, in->block, &missed);
        }
        end_bounce(soft, source);
    }
}

/* ---- to lent memory ---- */

/* Where all is the same on the host, the memory can be reclaimed at once. */
static void rest_after_put(struct ff__soft *soft, const struct ff__place *place, bool was_clean,
                           const struct ff_mask *pages, const struct ff_mask *same) {
    rest(soft, place, was_clean && ff_mask_within(pages, same) ? FF__SLOT_CLEAN : FF__SLOT_USED);
}

struct ff_mask ff__guests_put(struct ff__soft *soft, struct ff__move *out,
                              const struct ff_mask *pages, const char *from, uint64_t *end_ns) {
    struct ff_mask live = ff_mask_minus(pages, &out->dead), none = {{0}}, same = {{0}};
    uint64_t start = ff__clock_ns();
    bool was_clean, is_new = ff_mask_empty(resident_of(soft, out->block, out->to.tier)) ||
                             !lease_of(soft, &out->to);
    char *to = claim(soft, &out->to, is_new, &was_clean);
    struct ff__place host = {FF_TIER_HOST, FF_NONE};
    if (to)
        same = ff__copy_compared(to, from, &live, &out->held, soft->host.sums[out->block]);
    else
        copy_to_host(soft, out->block, from, &live);
    struct ff_mask dropped = ff__changes_begin_in(&soft->changes, out->block, pages);
    ff__host_zero(&soft->host, out->block, &dropped);
    if (to) {
        zero_pages(to, &dropped);
        rest_after_put(soft, &out->to, was_clean, &live, &same);
    }
    out->same = ff_mask_or(&out->same, &same);
    uint64_t end = ff__soft_link_end(soft, &out->from, to ? &out->to : &host, &live, start);
    *end_ns = end > *end_ns ? end : *end_ns;
    return to ? none : live;
}

void ff__guests_lose(struct ff__soft *soft, struct ff__move *out, const struct ff_mask *pages) {
    bool was_clean;
    if (ff_mask_empty(pages))
        return;
    ff__host_zero(&soft->host, out->block, pages);
    bool is_new = ff_mask_empty(resident_of(soft, out->block, out->to.tier));
    char *to = claim(soft, &out->to, is_new, &was_clean);
    if (to)
        zero_pages(to, pages);
    else
        out->copied = ff_mask_or(&out->copied, pages);
    if (to)
        rest(soft, &out->to, FF__SLOT_USED);
}

int ff__guests_in(struct ff__soft *soft, struct ff__move *in,
                  const struct ff__submission *submission) {
    uint64_t start = ff__clock_ns();
    bool was_clean, is_new = in->whole || !lease_of(soft, &in->to);
    char *to = claim(soft, &in->to, is_new, &was_clean);
    if (!to)
        return -ECANCELED;
    ff__changes_begin_in(&soft->changes, in->block, &in->left);
    copy_pages(to, ff__host_at(&soft->host, in->block), &in->left);
    uint64_t end = ff__soft_link_end(soft, &in->from, &in->to, &in->left, start);
    bool is_through = ff__link_wait(end, &submission->aborted);
    struct ff_mask dropped = ff__changes_begin_in(&soft->changes, in->block, &in->left);
    zero_pages(to, &dropped);
    rest(soft, &in->to, was_clean ? FF__SLOT_CLEAN : FF__SLOT_USED);
    if (!is_through)
        return -ECANCELED;
    ff_mask_clear(&in->left);
    return 0;
}

/* ---- to the host ---- */

/* What the program has dropped since reads as zeros, there and on the host. */
static struct ff_mask drop_guest_pages(struct ff__soft *soft, const struct ff__move *out,
                                       char *guest, const struct ff_mask *pages) {
    struct ff_mask dropped = ff__changes_begin_in(&soft->changes, out->block, pages);
    if (guest)
        zero_pages(guest, &dropped);
    ff__host_zero(&soft->host, out->block, &dropped);
    return dropped;
}

/* Copies what the host does not have; returns what it has got. */
static struct ff_mask copy_guest(struct ff__soft *soft, const struct ff__move *out, char *guest) {
    struct ff_mask live = ff_mask_minus(&out->left, &out->dead);
    struct ff_mask zeros = drop_guest_pages(soft, out, guest, &live);
    struct ff_mask pages = ff_mask_minus(&live, &out->held);
    pages = ff_mask_minus(&pages, &zeros);
    if (guest)
        copy_to_host(soft, out->block, guest, &pages);
    if (!guest || !is_certain(soft, &out->from))
        lose(soft, &pages);
    drop_guest_pages(soft, out, guest, &pages);
    return ff_mask_or(&pages, &zeros);
}

/* What becomes of a guest's memory after that. */
static enum ff__slot_state state_after(const struct ff__soft *soft, const struct ff__move *out) {
    struct ff_mask only = *resident_of(soft, out->block, out->from.tier);
    if (!out->keep && out->whole)
        return FF__SLOT_FREE;
    only = ff_mask_minus(&only, resident_of(soft, out->block, FF_TIER_HOST));
    only = ff_mask_minus(&only, &out->copied);
    if (!out->keep)
        only = ff_mask_minus(&only, &out->pages);
    return ff_mask_empty(&only) ? FF__SLOT_CLEAN : FF__SLOT_USED;
}

int ff__guests_out(struct ff__soft *soft, struct ff__move *out, uint64_t *end_ns) {
    uint64_t start = ff__clock_ns();
    bool was_clean;
    if (out->to.tier == FF_TIER_HOST) {
        char *guest = claim(soft, &out->from, false, &was_clean);
        struct ff_mask copied = {{0}};
        if (!out->freed)
            copied = copy_guest(soft, out, guest);
        out->copied = ff_mask_or(&out->copied, &copied);
        if (guest)
            rest(soft, &out->from, state_after(soft, out));
        uint64_t end = ff__soft_link_end(soft, &out->from, &out->to, &copied, start);
        *end_ns = end > *end_ns ? end : *end_ns;
    }
    ff_mask_clear(&out->left);
    return 0;
}

/* ---- leases, and what is kept for nobody ---- */

int ff__soft_lease(void *self, uint32_t tier, int memory_fd, int states_fd) {
    struct ff__soft *soft = self;
    return ff__lease_map(&soft->leases, &soft->memory, tier, memory_fd, states_fd);
}

void ff__soft_release(void *self, uint32_t tier) {
    struct ff__soft *soft = self;
    struct ff__memory *memory = &soft->memory;
    const struct ff__frames *frames = &soft->space->frames[tier];
    for (uint32_t chunk = 0; chunk < memory->device_size >> FF_BLOCK_SHIFT; chunk++) {
        if (frames->used[chunk])
            continue;
        ff__guests_clear(soft, tier, chunk);
        if (!memory->ready[tier] || !memory->ready[tier][chunk])
            continue;
        memory->ready[tier][chunk] = 0;
        ff__soft_give_back(soft, memory->frames[tier] + (size_t)chunk * FF_BLOCK_SIZE,
                           FF_BLOCK_SIZE);
    }
}
