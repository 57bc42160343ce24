#include "ptx/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include <farfault/mask.h>

#define MOST_ENTRIES 1024u /* instructions of a warp that are put together */
#define MOST_EVENTS  256u  /* that are handed over together */
#define MOST_AHEAD   64u   /* entries that are searched for one of the same instruction */
#define SECTOR       32u

#define FEW          2u

/* An instruction of a warp, put together from reports. Most access few pages. */
struct warp_entry {
    uint32_t write, instructions, page_count;
    struct ff_ptx_page pages[FEW]; /* if they are no more */
};

struct ff__ptx_recording {
    struct ff_context *context;
    uint32_t device;
    uint32_t code; /* tells this kernel's PCs from others' */

    /* The warp that reports, and what some of its lanes have executed in this round. */
    struct ff__ptx_running *running;
    uint32_t warp, entry_count;
    /* By lane: the entry behind the last that it has part in. Of `lanes`, which were the last to
     * report, it is `from`. */
    uint32_t next[FF_PTX_WARP], lanes, from;
    uint32_t pcs[MOST_ENTRIES];
    struct warp_entry entries[MOST_ENTRIES];
    struct ff_ptx_page pages[MOST_ENTRIES][FF_PTX_WARP]; /* of entries with more */

    uint32_t event_count;
    struct ff_warp_access events[MOST_EVENTS];
};

static void forget(struct ff__ptx_recording *recording) {
    recording->entry_count = recording->lanes = 0;
    memset(recording->next, 0, sizeof recording->next);
}

struct ff__ptx_recording *ff__ptx_record_begin(struct ff_context *context, uint32_t device,
                                               const struct ff_ptx_code *code) {
    struct ff__ptx_recording *recording = malloc(sizeof *recording);
    if (recording == NULL)
        return NULL;
    recording->context = context;
    recording->device = device;
    recording->code = (uint32_t)ff__hash_bytes(0, code->name, strlen(code->name));
    recording->running = NULL;
    recording->warp = recording->entry_count = recording->event_count = 0;
    forget(recording);
    return recording;
}

/* ---- events ---- */

static void hand_over(struct ff__ptx_recording *recording) {
    ff_record_accesses(recording->context, recording->device, recording->events,
                       recording->event_count);
    recording->event_count = 0;
}

static uint32_t cta_of(const struct ff_ptx_block *block) {
    return block->ctaid[0] +
           block->nctaid[0] * (block->ctaid[1] + block->nctaid[1] * block->ctaid[2]);
}

static uint32_t bytes_of(const struct ff_ptx_page *page) {
    return SECTOR * (uint32_t)(__builtin_popcountll(page->sectors[0]) +
                               __builtin_popcountll(page->sectors[1]));
}

static void tell(struct ff__ptx_recording *recording, const struct ff_ptx_access *access) {
    uint32_t *rest = &recording->running->rest[recording->warp];
    *rest += access->instructions;
    if (access->page_count == 0)
        return;
    if (recording->event_count + access->page_count > MOST_EVENTS)
        hand_over(recording);
    struct ff_warp_access event = {.cta = cta_of(&recording->running->block),
                                   .warp = recording->warp,
                                   .pc = recording->code + access->pc,
                                   .instructions = *rest,
                                   .write = access->write};
    struct ff_warp_access *events = &recording->events[recording->event_count];
    recording->event_count += access->page_count;
    *rest = 0;
    for (uint32_t i = 0; i < access->page_count; i++) {
        event.address = (const void *)(uintptr_t)(access->pages[i].number * FF_PAGE_SIZE);
        event.bytes = bytes_of(&access->pages[i]);
        events[i] = event;
        event.instructions = 0;
    }
}

static void tell_all(struct ff__ptx_recording *recording) {
    if (recording->entry_count == 0)
        return;
    for (uint32_t i = 0; i < recording->entry_count; i++) {
        const struct warp_entry *entry = &recording->entries[i];
        const struct ff_ptx_access access = {.pc = recording->pcs[i],
                                             .instructions = entry->instructions,
                                             .write = entry->write,
                                             .page_count = entry->page_count,
                                             .pages = entry->page_count > FEW ? recording->pages[i]
                                                                              : entry->pages};
        tell(recording, &access);
    }
    forget(recording);
}

/* ---- reports ---- */

static void report_from(struct ff__ptx_recording *recording, uint32_t lanes) {
    uint32_t from = 0;
    for (uint32_t last = recording->lanes; last != 0; last &= last - 1)
        recording->next[__builtin_ctz(last)] = recording->from;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        uint32_t next = recording->next[__builtin_ctz(left)];
        from = next > from ? next : from;
    }
    recording->lanes = lanes;
    recording->from = from;
}

/* The first entry of this instruction behind all that these lanes have part in. */
static uint32_t find_entry(struct ff__ptx_recording *recording,
                           const struct ff_ptx_access *access) {
    if (access->lanes != recording->lanes)
        report_from(recording, access->lanes);
    uint32_t from = recording->from;
    for (uint32_t i = from; i < recording->entry_count && i < from + MOST_AHEAD; i++)
        if (recording->pcs[i] == access->pc)
            return i;
    if (recording->entry_count == MOST_ENTRIES)
        tell_all(recording);
    uint32_t number = recording->entry_count++;
    recording->pcs[number] = access->pc;
    recording->entries[number] = (struct warp_entry){.write = access->write};
    return number;
}

/* `many`: where the entry's pages are once they are more than a few. */
static void add_page(struct warp_entry *entry, struct ff_ptx_page *many,
                     const struct ff_ptx_page *page) {
    struct ff_ptx_page *pages = entry->page_count > FEW ? many : entry->pages;
    for (uint32_t i = entry->page_count; i-- > 0;)
        if (pages[i].number == page->number) {
            pages[i].sectors[0] |= page->sectors[0];
            pages[i].sectors[1] |= page->sectors[1];
            return;
        }
    if (entry->page_count == FEW)
        memcpy(many, entry->pages, sizeof entry->pages);
    pages = entry->page_count >= FEW ? many : entry->pages;
    pages[entry->page_count++] = *page;
}

static void add_pages(struct warp_entry *entry, struct ff_ptx_page *many,
                      const struct ff_ptx_access *access) {
    if (entry->page_count == 0 && access->page_count > FEW) {
        memcpy(many, access->pages, access->page_count * sizeof *many);
        entry->page_count = access->page_count;
        return;
    }
    for (uint32_t i = 0; i < access->page_count; i++)
        add_page(entry, many, &access->pages[i]);
}

static void add(struct ff__ptx_recording *recording, const struct ff_ptx_access *access) {
    uint32_t number = find_entry(recording, access);
    struct warp_entry *entry = &recording->entries[number];
    recording->lanes = access->lanes;
    recording->from = number + 1;
    if (access->instructions > entry->instructions)
        entry->instructions = access->instructions;
    add_pages(entry, recording->pages[number], access);
}

void ff__ptx_record(struct ff__ptx_recording *recording, struct ff__ptx_running *running,
                    const struct ff_ptx_lanes *lanes, const struct ff_ptx_access *access) {
    uint32_t warp = lanes->first / FF_PTX_WARP;
    if (running != recording->running || warp != recording->warp) {
        tell_all(recording);
        recording->running = running;
        recording->warp = warp;
    }
    uint32_t all = UINT32_MAX >> (FF_PTX_WARP - lanes->count);
    if (access->lanes == (running->advancing & all)) {
        tell_all(recording); /* no lane can take part in these any more, nor in this one */
        tell(recording, access);
    } else {
        add(recording, access);
    }
}

/* Warps that have ended have instructions behind their last access. */
static void tell_rest(struct ff__ptx_recording *recording, struct ff__ptx_running *running) {
    recording->running = running;
    for (uint32_t warp = 0; warp < running->group_count; warp++) {
        if (running->rest[warp] == 0)
            continue;
        if (recording->event_count == MOST_EVENTS)
            hand_over(recording);
        recording->events[recording->event_count++] = (struct ff_warp_access){
            .cta = cta_of(&running->block), .warp = warp, .instructions = running->rest[warp]};
        running->rest[warp] = 0;
    }
}

void ff__ptx_record_round(struct ff__ptx_recording *recording, struct ff__ptx_running *running) {
    tell_all(recording);
    if (ff__ptx_block_has_ended(running))
        tell_rest(recording, running);
}

void ff__ptx_record_end(struct ff__ptx_recording *recording) {
    if (recording == NULL)
        return;
    tell_all(recording);
    hand_over(recording);
    free(recording);
}
