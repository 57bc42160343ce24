/* The accesses of a kernel in bulk, as the access time tracker sees them: as many as its warps
 * would make, in the order of its steps. There is no TLB here: where the tracker sees only what a
 * TLB does not answer, that is one access for each page that an operand begins. */
#include "backend/sim/device/tracker_use.h"

/* Of uses of a page from `at` on, those that the tracker sees. */
static uint32_t uses_of(const struct sim *sim, uint64_t at, uint32_t uses) {
    if (sim->gpu->tracker_sees == FF__TRACKER_SEES_ACCESSES)
        return uses;
    return at % FF_PAGE_SIZE == 0;
}

/* A piece of an operand. A run that begins is accessed at least once. True: a range is interrupted.
 */
static bool track_piece(struct sim *sim, struct device *device, struct front *front,
                        const struct piece *piece, uint32_t readers, uint64_t time) {
    const uint64_t end = piece->start + piece->bytes;
    bool begins = front->used.inside == 0, interrupts = false;
    for (uint64_t at = piece->start, next; at < end; at = next) {
        uint64_t page = at / FF_PAGE_SIZE, whole = (end - at) / FF_PAGE_SIZE;
        if (at % FF_PAGE_SIZE == 0 && whole > 0) {
            next = at + whole * FF_PAGE_SIZE;
            interrupts |=
                ff__tracker_use(sim, device, page, (uint32_t)whole,
                                uses_of(sim, at, FF_PAGE_SIZE / FF__ACCESS_BYTES) * readers, time);
            begins = false;
            continue;
        }
        next = (page + 1) * FF_PAGE_SIZE < end ? (page + 1) * FF_PAGE_SIZE : end;
        uint32_t bytes = front->rest + (uint32_t)(next - at), uses = bytes / FF__ACCESS_BYTES;
        front->rest = bytes % FF__ACCESS_BYTES;
        uses = uses_of(sim, at, uses);
        if (begins && uses == 0)
            uses = 1;
        begins = false;
        if (uses > 0)
            interrupts |= ff__tracker_use(sim, device, page, 1, uses * readers, time);
    }
    return interrupts;
}

static bool track_step(struct sim *sim, struct device *device, const struct ff__operand *operand,
                       struct front *front, uint64_t step, uint64_t time) {
    const struct bulk *bulk = &device->bulk;
    const uint64_t to = ff__bulk_position(bulk, front, step + 1);
    struct cursor *cursor = &front->used;
    bool interrupts = false;
    while (cursor->position < to) {
        struct piece piece = ff__nest_piece_at(cursor, operand, to - cursor->position);
        interrupts |= track_piece(sim, device, front, &piece, ff__operand_readers(operand), time);
        ff__nest_move_behind(cursor, operand, &piece);
    }
    return interrupts;
}

uint64_t ff__bulk_track(struct sim *sim, struct device *device, uint64_t last) {
    const struct bulk *bulk = &device->bulk;
    const struct ff__kernel *kernel = &device->current.kernel;
    bool interrupts = false;
    uint64_t step = bulk->step;
    for (; step < last && !interrupts; step++) {
        uint64_t time = bulk->time + (uint64_t)((double)(step - bulk->step) * bulk->ps_per_step);
        for (uint32_t i = 0; i < kernel->operand_count; i++)
            interrupts |=
                track_step(sim, device, &kernel->operands[i], &bulk->fronts[i], step, time);
    }
    return step;
}
