/* Which devices can lend memory, and in which order they are asked. */
#ifndef FF_POLICY_MEMHARVESTER_LENDERS_H
#define FF_POLICY_MEMHARVESTER_LENDERS_H

#include <farfault/policy.h>

enum ff__lender_choice {
    FF__LENDER_IN_TURN,     /* as the paper has it */
    FF__LENDER_FEWEST_DIRTY /* as the released code has it */
};

struct ff__lenders {
    enum ff__lender_choice choice;
    uint64_t keep; /* pages that a device keeps for itself, a quarter of its memory at most */
    uint32_t next; /* in turn: the tier that is asked first */
};

#define FF__LENDER_PARAM_CHOICE                                                                    \
    {                                                                                              \
        "lender", FF_PARAM_INT, 0, 0, 1,                                                           \
            "which device is asked first: 0: in turn (the paper), 1: the one with the fewest "     \
            "guests that the host has no copy of (the released code)"                              \
    }
#define FF__LENDER_PARAM_KEEP                                                                      \
    {                                                                                              \
        "keep", FF_PARAM_INT, 50, 0, 100000,                                                       \
            "free chunks of 2 MiB that a device does not lend; a quarter of its memory at most"    \
    }

/* Devices but `user` that have memory to lend, best first; returns how many. */
uint32_t ff__lenders_list(struct ff__lenders *lenders, const struct ff_view *view, uint32_t user,
                          uint32_t tiers[FF_TIERS_MAX]);

#endif
