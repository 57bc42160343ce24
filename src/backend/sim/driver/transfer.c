/* Transfers: what is copied over which link, how long that takes, and what follows. */
#include "backend/sim/simulation.h"

#include <errno.h>
#include <stdlib.h>

struct transfer *ff__transfer_new(struct sim *sim) {
    struct transfer *transfer = sim->free_transfers;
    if (transfer)
        sim->free_transfers = transfer->next;
    else if (!(transfer = aligned_alloc(64, (sizeof *transfer + 63) / 64 * 64)))
        ff__sim_fail(sim, -ENOMEM, "transfers");
    return transfer;
}

void ff__transfer_free(struct sim *sim, struct transfer *transfer) {
    transfer->next = sim->free_transfers;
    sim->free_transfers = transfer;
}

/* ---- links ---- */

static struct ff__sim_result *counters_at(const struct sim *sim, uint32_t tier) {
    return sim->devices[tier - 1].counters;
}

static uint64_t *busy_ns(struct ff__sim_result *result, uint32_t from, uint32_t to) {
    if (from == FF_TIER_HOST)
        return &result->link_in_ns;
    return to == FF_TIER_HOST ? &result->link_out_ns : &result->link_peer_ns;
}

/* A block's pages hold the link as one: the driver hands them to the copy engine together, and
 * waits once. `joins`: as part of the link's latest request. Returns when the last byte arrives. */
static uint64_t send_pages(struct sim *sim, uint32_t from, uint32_t to, const struct ff_mask *pages,
                           bool joins, uint64_t time) {
    const struct link *link = ff__link_between(&sim->links, from, to);
    uint64_t bytes = (uint64_t)ff_mask_count(pages) * FF_PAGE_SIZE;
    if (bytes == 0 || !sim->model->takes_time)
        return time;
    uint64_t ns = ff__link_request_ns(&sim->links, link, bytes, joins, time),
             free_at = ff__link_hold(&sim->links, link, ns * PS_PER_NS, time);
    *busy_ns(counters_at(sim, to == FF_TIER_HOST ? from : to), from, to) += ns;
    return free_at + (uint64_t)(link->model->latency_ns * (double)PS_PER_NS);
}

/* ---- pieces ---- */

/* What comes over the link from the host. */
static struct ff_mask copied_in(const struct sim *sim, const struct transfer *transfer) {
    const struct ff__move *in = &transfer->moves.in;
    return ff_mask_minus(sim->gpu->copies_empty ? &in->pages : &in->held, &transfer->fetched);
}

/* The first piece of pages that go over the link in runs. */
static struct ff_mask first_piece(const struct sim *sim, const struct ff_mask *pages,
                                  const struct ff_mask *faulted) {
    struct ff_run run = {0, 0};
    if (!sim->model->cuts_runs || !ff_mask_next_run(pages, &run))
        return *pages;
    uint32_t fault = ff_mask_next(faulted, run.first);
    return ff_mask_of_run(run.first, fault < run.end ? fault + 1 : run.end);
}

/* The first piece of these pages, which are left of a way in. */
static struct ff_mask first_piece_in(const struct sim *sim, const struct transfer *transfer,
                                     const struct ff_mask *left) {
    const struct ff__job *moves = &transfer->moves;
    return moves->one_request ? *left : first_piece(sim, left, &moves->faulted);
}

static struct ff_mask next_piece(const struct sim *sim, const struct transfer *transfer) {
    struct ff_mask left = copied_in(sim, transfer);
    return first_piece_in(sim, transfer, &left);
}

/* ---- the way out, the way in ---- */

/* Returns when the last piece has gone. */
static uint64_t send_home(struct sim *sim, uint32_t tier, const struct ff_mask *pages,
                          uint64_t time) {
    struct ff_mask left = *pages, none = {{0}};
    uint64_t end = time;
    while (!ff_mask_empty(&left)) {
        struct ff_mask piece = first_piece(sim, &left, &none);
        end = send_pages(sim, tier, FF_TIER_HOST, &piece, false, time);
        left = ff_mask_minus(&left, &piece);
    }
    return end;
}

/* A victim goes to another device, or what stays is copied. */
static uint64_t schedule_copy(struct sim *sim, struct ff__move *out, uint64_t time) {
    struct ff_mask live = ff_mask_minus(&out->pages, &out->dead);
    struct ff__sim_result *counters = counters_at(sim, out->from.tier);
    uint64_t bytes = (uint64_t)ff_mask_count(&live) * FF_PAGE_SIZE;
    if (out->lends) {
        counters->bytes_peer += bytes;
        ff__sim_left(sim, out->from.tier, out->block);
        return send_pages(sim, out->from.tier, out->to.tier, &live, false, time);
    }
    out->copied = live;
    ff__engine_take_dirty(sim->engine, out->block, &live); /* written from now on: dirty again */
    counters->bytes_out += bytes;
    return send_home(sim, out->from.tier, &live, time);
}

static uint64_t schedule_out(struct sim *sim, struct transfer *transfer, uint32_t i,
                             uint64_t time) {
    struct ff__move *out = &transfer->moves.out[i];
    if (out->lends || out->keep)
        return schedule_copy(sim, out, time);
    struct ff_mask live = ff_mask_minus(&out->pages, &out->dead);
    struct ff_mask written = ff__engine_take_dirty(sim->engine, out->block, &out->pages);
    struct ff_mask dirty = ff_mask_and(&live, &written);
    struct ff_mask *copied = &out->copied;
    uint32_t dirty_count = ff_mask_count(&dirty);
    struct ff__sim_result *counters = counters_at(sim, out->from.tier);
    *copied = sim->gpu->write_back_clean ? live : dirty;
    if (out->guest) { /* what has been copied since it came there */
        struct ff_mask clean = ff_mask_minus(&out->held, &written);
        *copied = ff_mask_minus(&live, &clean);
    }
    counters->evicted_dirty += dirty_count;
    counters->evicted_clean += ff_mask_count(&live) - dirty_count;
    counters->bytes_out += (uint64_t)ff_mask_count(copied) * FF_PAGE_SIZE;
    ff__sim_left(sim, out->from.tier, out->block);
    return send_home(sim, out->from.tier, copied, time);
}

/* Pages that another device has go straight to the one that wants them. */
static uint64_t schedule_fetch(struct sim *sim, struct transfer *transfer, uint32_t i,
                               uint64_t time) {
    struct ff__move *out = &transfer->moves.out[i];
    out->copied = out->pages; /* the host's copy may be out of date */
    transfer->fetched = ff_mask_or(&transfer->fetched, &out->pages);
    counters_at(sim, out->to.tier)->bytes_peer +=
        (uint64_t)ff_mask_count(&out->pages) * FF_PAGE_SIZE;
    ff__sim_left(sim, out->from.tier, out->block);
    return send_pages(sim, out->from.tier, out->to.tier, &out->pages, false, time);
}

static uint64_t schedule_in(struct sim *sim, struct transfer *transfer, uint64_t time) {
    const struct ff__move *in = &transfer->moves.in;
    struct ff_mask back = ff_mask_and(&in->pages, &ff__facts(sim->space, in->block)->evicted);
    struct ff_mask left = copied_in(sim, transfer);
    uint32_t count = ff_mask_count(&left);
    struct ff__sim_result *counters = counters_at(sim, in->to.tier);
    uint64_t end = time;
    counters->thrashed += in->guest ? 0 : ff_mask_count(&back);
    counters->bytes_in += (uint64_t)count * FF_PAGE_SIZE;
    counters->pages_in += count + ff_mask_count(&transfer->fetched);
    while (!ff_mask_empty(&left)) {
        struct ff_mask piece = first_piece_in(sim, transfer, &left);
        end = send_pages(sim, FF_TIER_HOST, in->to.tier, &piece, transfer->moves.joins, time);
        left = ff_mask_minus(&left, &piece);
        if (!ff_mask_empty(&left))
            ff__sim_post(sim, end, EVENT_ARRIVE, transfer->device, transfer);
    }
    return end;
}

/* What leaves a device for another one, as part of the other one's way in. */
static bool is_fetch(const struct transfer *transfer, uint32_t i) {
    const struct ff__move *out = &transfer->moves.out[i];
    return out->to.tier != FF_TIER_HOST && !out->lends;
}

/* What goes out makes room for what comes in. Returns when there is. */
static uint64_t make_room(struct sim *sim, struct transfer *transfer, uint64_t time) {
    bool early = sim->model->room_at_start && transfer->moves.has_in;
    uint64_t room = time;
    for (uint32_t i = 0; i < transfer->moves.out_count; i++) {
        uint32_t tier = transfer->moves.out[i].from.tier;
        if (is_fetch(transfer, i))
            continue;
        uint64_t begin = ff__sim_out_end(sim, tier), end = schedule_out(sim, transfer, i, time);
        uint64_t free_at = early ? begin : end;
        room = free_at > room ? free_at : room;
    }
    return room;
}

/* Both ways in at the same time, when there is room. */
static uint64_t bring(struct sim *sim, struct transfer *transfer, uint64_t time) {
    uint64_t fetched = time;
    for (uint32_t i = 0; i < transfer->moves.out_count; i++)
        if (is_fetch(transfer, i))
            fetched = schedule_fetch(sim, transfer, i, time);
    uint64_t end = schedule_in(sim, transfer, time);
    return end > fetched ? end : fetched;
}

/* Moves of guests that no program waits for: copies of them, their way in ahead of use, and their
 * way out of memory that is wanted back. */
static bool is_of_guests(const struct transfer *transfer) {
    const struct ff__job *moves = &transfer->moves;
    return moves->has_in ? moves->in.guest
                         : transfer->cause != TRANSFER_OF_HOST && moves->out[0].guest;
}

void ff__transfer_start(struct sim *sim, struct transfer *transfer, uint64_t time) {
    ff_mask_clear(&transfer->fetched);
    if (transfer->moves.has_in &&
        ff__engine_uses_remote(sim->engine)) /* what was used over the link is on its way */
        ff__sim_left(sim, transfer->moves.in.to.tier, transfer->moves.in.block);
    uint64_t end = make_room(sim, transfer, time);
    if (transfer->moves.has_in)
        end = bring(sim, transfer, end);
    if (transfer->cause != TRANSFER_OF_HOST)
        transfer->job = sim->devices[transfer->device].job;
    if (transfer->cause == TRANSFER_OF_PREFETCH || transfer->cause == TRANSFER_OF_PREEVICTION)
        ff__sms_delay(sim, &sim->devices[transfer->device], time, end);
    transfer->waited_for = !is_of_guests(transfer);
    transfer->job->transfers += transfer->waited_for;
    sim->model->started(sim, transfer, time, end);
}

void ff__transfer_expect_end(struct sim *sim, struct transfer *transfer, uint64_t start,
                             uint64_t end) {
    (void)start;
    ff__sim_post(sim, end, EVENT_FINISH, transfer->device, transfer);
}

void ff__transfer_end_now(struct sim *sim, struct transfer *transfer, uint64_t start,
                          uint64_t end) {
    (void)end;
    ff__transfer_finish(sim, transfer, start);
}

/* ---- the end ---- */

static void observe_move(struct sim *sim, const struct ff__move *move, enum ff_trace_kind kind) {
    const struct ff__space *space = sim->space;
    uint32_t range = space->blocks[move->block].range;
    uint64_t before = (uint64_t)(move->block - space->ranges[range].first_block) * FF_BLOCK_PAGES;
    FF_MASK_FOR_EACH_RUN(&move->pages, run) {
        struct ff_trace_event event = {.kind = kind,
                                       .device = ff__move_place(move)->tier - 1,
                                       .range = range,
                                       .page = before + run.first,
                                       .pages = run.end - run.first};
        ff__sim_observe(sim, &event);
    }
}

static void observe_moves(struct sim *sim, const struct ff__job *moves) {
    if (!sim->config->observe)
        return;
    for (uint32_t i = 0; i < moves->out_count; i++)
        if (!moves->out[i].keep)
            observe_move(sim, &moves->out[i], FF_TRACE_EVICT);
    if (moves->has_in)
        observe_move(sim, &moves->in, FF_TRACE_MIGRATE);
}

static void note_arrival(struct sim *sim, const struct transfer *transfer,
                         const struct ff_mask *pages, uint64_t time) {
    struct device *device = &sim->devices[transfer->device];
    if (device->tracker)
        ff__tracker_arrived(sim, device, transfer->moves.in.block, pages, time);
}

void ff__transfer_arrive(struct sim *sim, struct transfer *transfer, uint64_t time) {
    struct ff_mask pages = next_piece(sim, transfer);
    const struct ff__move piece = {
        .block = transfer->moves.in.block, .to = transfer->moves.in.to, .pages = pages};
    ff__engine_arrive(sim->engine, ff__sim_ns(time), &transfer->moves, &pages);
    note_arrival(sim, transfer, &pages, time);
    ff__bulk_changed(sim, &sim->devices[transfer->device], piece.block);
    if (sim->config->observe)
        observe_move(sim, &piece, FF_TRACE_MIGRATE);
    ff__sms_wake(sim, &sim->devices[transfer->device], piece.block, &pages, time);
}

void ff__transfer_finish(struct sim *sim, struct transfer *transfer, uint64_t time) {
    struct device *device = &sim->devices[transfer->device];
    enum transfer_cause cause = transfer->cause;
    struct job *job = transfer->job;
    job->transfers -= transfer->waited_for;
    ff__engine_finish(sim->engine, ff__sim_ns(time), &transfer->moves);
    if (ff__engine_failure(sim->engine))
        ff__sim_fail(sim, -EUCLEAN, ff__engine_failure(sim->engine));
    for (uint32_t i = 0; i < transfer->moves.out_count; i++)
        if (!transfer->moves.out[i].keep)
            ff__sim_left(sim, transfer->moves.out[i].from.tier, transfer->moves.out[i].block);
    observe_moves(sim, &transfer->moves);
    if (transfer->moves.has_in) {
        note_arrival(sim, transfer, &transfer->moves.in.pages, time);
        ff__bulk_changed(sim, device, transfer->moves.in.block);
    }
    if (transfer->moves.has_in && (cause != TRANSFER_OF_BATCH || sim->model->wakes_at_end))
        ff__sms_wake(sim, device, transfer->moves.in.block, &transfer->moves.in.pages, time);
    job->host_transfers -= cause == TRANSFER_OF_HOST;
    ff__transfer_free(sim, transfer);
    ff__sim_charge(sim, device->counters);
    ff__serve_late(sim, job, time);
    for (uint32_t i = 0; i < sim->job_count && ff__engine_lends(sim->engine); i++)
        if (sim->jobs[i].retry_count > 0) /* devices give each other memory */
            ff__serve_late(sim, &sim->jobs[i], time);
    sim->model->ended(sim, device, cause, time);
}
