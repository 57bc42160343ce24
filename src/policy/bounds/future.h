/* The parameter of prefetching by the order of a recorded run (future.c), for policies that fall
 * back on it. */
#ifndef FF_POLICY_BOUNDS_FUTURE_H
#define FF_POLICY_BOUNDS_FUTURE_H

#define FF__FUTURE_AHEAD "ahead"
#define FF__FUTURE_AHEAD_ROW                                                                       \
    {                                                                                              \
        FF__FUTURE_AHEAD, FF_PARAM_INT, 65536, 1, INT64_C(1) << 40,                                \
            "how many accesses to prefetch ahead"                                                  \
    }

#endif
