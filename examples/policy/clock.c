/* clock: an evict policy in one file, to copy and change.
 *
 * A hand goes round the blocks. A block that was served since the hand last passed it stays for one
 * more round; the first one that was not is the victim (CLOCK, or second chance).
 *
 *     cc -shared -fPIC -Iinclude examples/policy/clock.c -o clock.so
 *     farfault run --policy ./clock.so --system nvidia-1:evict=clock ./program */
#include <farfault/policy.h>

struct clock {
    unsigned char *served; /* [block] since the hand passed */
    uint32_t hand, end;    /* blocks that were ever served are below `end` */
};

static int init(void *state, const struct ff_policy_env *env) {
    ((struct clock *)state)->served = env->block_state;
    return 0;
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    struct clock *clock = state;
    (void)view;
    clock->served[arrival->block] = 1;
    if (arrival->block >= clock->end)
        clock->end = arrival->block + 1;
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    struct clock *clock = state;
    for (uint32_t steps = 0; steps < 2 * clock->end; steps++) {
        uint32_t block = clock->hand;
        clock->hand = (block + 1) % clock->end;
        if (block == request->for_block || !ff_view_evictable(view, request->tier, block))
            continue;
        if (!clock->served[block] && !ff_victim_add(victims, block))
            return;
        clock->served[block] = 0;
    }
}

static const struct ff_evict_policy clock = {
    .base = {.name = "clock",
             .summary = "example: the first block that was not served since the last round",
             .api = FF_POLICY_API,
             .sees = FF_SEES_FAULTS,
             .controls = FF_CONTROLS_VICTIMS,
             .state_size = sizeof(struct clock),
             .block_state_size = 1,
             .init = init,
             .on_arrival = on_arrival},
    .pick = pick,
};

const struct ff_policy_module ff_policy_module = {.api = FF_POLICY_API, .evict = &clock};
