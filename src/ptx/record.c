#include "ptx/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include <farfault/mask.h>

#define MOST_ENTRIES    256u  /* instructions of a warp that are put together */
#define MOST_EVENTS     1024u /* that are handed over together */
#define MOST_AHEAD      64u   /* entries that are searched for one of the same instruction */

#define SECTOR          32u
#define PAGE_SECTORS    (FF_PAGE_SIZE / SECTOR)
#define MOST_PAGES      (2u * FF_PTX_WARP) /* an access is smaller than a page */
#define WORDS_OF_A_PAGE (PAGE_SECTORS / 64)

/* An instruction of a warp. */
struct warp_entry {
    uint32_t pc, size;
    uint32_t instructions; /* of its lanes since their last access, the most */
    bool write;
    uint64_t addresses[FF_PTX_WARP]; /* 0: the lane takes no part */
};

struct page_sectors {
    uint64_t number, sectors[WORDS_OF_A_PAGE];
};

struct ff__ptx_recording {
    struct ff_context *context;
    uint32_t device;
    uint32_t code; /* tells this kernel's PCs from others' */

    /* The warp that reports, and what it has executed in this round. */
    struct ff__ptx_running *running;
    uint32_t warp, entry_count;
    uint32_t next[FF_PTX_WARP]; /* by lane: the entry behind the last that it has part in */
    struct warp_entry entries[MOST_ENTRIES];

    uint32_t event_count;
    struct ff_warp_access events[MOST_EVENTS];
};

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

static struct ff_warp_access *add_event(struct ff__ptx_recording *recording, uint32_t warp) {
    struct ff_warp_access *event = &recording->events[recording->event_count++];
    *event = (struct ff_warp_access){.cta = cta_of(&recording->running->block), .warp = warp};
    return event;
}

static struct page_sectors *page_of(struct page_sectors *pages, uint32_t *count, uint64_t number) {
    for (uint32_t i = *count; i-- > 0;)
        if (pages[i].number == number)
            return &pages[i];
    pages[*count] = (struct page_sectors){.number = number};
    return &pages[(*count)++];
}

/* Pages in the order in which lanes access them. */
static uint32_t find_pages(const struct warp_entry *entry, struct page_sectors pages[MOST_PAGES]) {
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < FF_PTX_WARP; lane++) {
        uint64_t address = entry->addresses[lane];
        if (address == 0)
            continue;
        uint64_t last = (address + entry->size - 1) / SECTOR;
        for (uint64_t sector = address / SECTOR; sector <= last; sector++) {
            struct page_sectors *page = page_of(pages, &count, sector / PAGE_SECTORS);
            page->sectors[sector / 64 % WORDS_OF_A_PAGE] |= UINT64_C(1) << sector % 64;
        }
    }
    return count;
}

static uint32_t bytes_of(const struct page_sectors *page) {
    uint32_t sectors = 0;
    for (uint32_t i = 0; i < WORDS_OF_A_PAGE; i++)
        sectors += (uint32_t)__builtin_popcountll(page->sectors[i]);
    return sectors * SECTOR;
}

static void tell(struct ff__ptx_recording *recording, const struct warp_entry *entry) {
    struct page_sectors pages[MOST_PAGES];
    uint32_t count = find_pages(entry, pages), *rest = &recording->running->rest[recording->warp];
    *rest += entry->instructions;
    if (recording->event_count + count > MOST_EVENTS)
        hand_over(recording);
    for (uint32_t i = 0; i < count; i++) {
        struct ff_warp_access *event = add_event(recording, recording->warp);
        event->address = (const void *)(uintptr_t)(pages[i].number * FF_PAGE_SIZE);
        event->pc = recording->code + entry->pc;
        event->instructions = *rest;
        event->bytes = bytes_of(&pages[i]);
        event->write = entry->write;
        *rest = 0;
    }
}

static void tell_all(struct ff__ptx_recording *recording) {
    for (uint32_t i = 0; i < recording->entry_count; i++)
        tell(recording, &recording->entries[i]);
    recording->entry_count = 0;
    memset(recording->next, 0, sizeof recording->next);
}

/* ---- reports ---- */

/* The first entry of this instruction behind all that these lanes have part in. */
static struct warp_entry *find_entry(struct ff__ptx_recording *recording,
                                     const struct ff_ptx_access *access) {
    uint32_t from = 0;
    for (uint32_t k = 0; k < access->count; k++)
        if (access->instructions[k] != 0 && recording->next[access->first + k] > from)
            from = recording->next[access->first + k];
    for (uint32_t i = from; i < recording->entry_count && i < from + MOST_AHEAD; i++)
        if (recording->entries[i].pc == access->pc)
            return &recording->entries[i];
    if (recording->entry_count == MOST_ENTRIES)
        tell_all(recording);
    struct warp_entry *entry = &recording->entries[recording->entry_count++];
    *entry = (struct warp_entry){
        .pc = access->pc, .size = access->size, .write = access->write || access->atomic};
    return entry;
}

static bool any_came(const struct ff_ptx_access *access) {
    uint32_t any = 0;
    for (uint32_t k = 0; k < access->count; k++)
        any |= access->instructions[k];
    return any != 0;
}

void ff__ptx_record(struct ff__ptx_recording *recording, struct ff__ptx_running *running,
                    const struct ff_ptx_lanes *lanes, const struct ff_ptx_access *access) {
    uint32_t warp = lanes->first / FF_PTX_WARP;
    if (!any_came(access))
        return;
    if (running != recording->running || warp != recording->warp) {
        tell_all(recording);
        recording->running = running;
        recording->warp = warp;
    }
    struct warp_entry *entry = find_entry(recording, access);
    uint32_t next = (uint32_t)(entry - recording->entries) + 1;
    for (uint32_t k = 0; k < access->count; k++) {
        uint32_t lane = access->first + k, instructions = access->instructions[k];
        if (instructions == 0)
            continue;
        recording->next[lane] = next;
        entry->addresses[lane] = access->addresses[k];
        entry->instructions =
            instructions > entry->instructions ? instructions : entry->instructions;
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
        add_event(recording, warp)->instructions = running->rest[warp];
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
