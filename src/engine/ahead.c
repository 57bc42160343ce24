/* What is done ahead of need, and in which order: the same for programs that run and for modelled
 * ones.
 *
 * What else a driver does has no order that both could share. Faults, those that came late and
 * those that were throttled are served by whichever thread comes upon them, beside others, when
 * programs run (fault_workers.c, migration.c). In the simulator each is an event at its own time:
 * that of the batch, of the end of a transfer, and that until which it is throttled. */
#include "engine/internal.h"

/* `owed`: only where more is allocated than the capacity, which others wait for. */
static bool preevict(struct ff__engine *engine, uint64_t now_ns, uint32_t tier, bool owed,
                     struct ff__job *job) {
    uint32_t first = tier == FF_NONE ? 1 : tier,
             end = tier == FF_NONE ? engine->space.tier_count : tier + 1;
    for (uint32_t t = first; t < end; t++)
        if (!(owed && ff__memory_of(engine, t).excess == 0) &&
            ff__engine_preevict(engine, now_ns, t, job) == FF__JOB_RUN)
            return true;
    return false;
}

enum ff__ahead ff__engine_ahead(struct ff__engine *engine, uint64_t now_ns, uint32_t tier,
                                struct ff__queue *advice, struct ff__job *job) {
    if (preevict(engine, now_ns, tier, true, job))
        return FF__AHEAD_EVICT;
    const struct ff_advice *next = ff__queue_front(advice);
    if (!next)
        return preevict(engine, now_ns, tier, false, job) ? FF__AHEAD_EVICT : FF__AHEAD_NOTHING;
    int status = ff__engine_advise(engine, now_ns, next, job);
    ff__queue_drop(advice);
    return status == FF__JOB_RUN ? FF__AHEAD_FOLLOW : FF__AHEAD_NEXT;
}
