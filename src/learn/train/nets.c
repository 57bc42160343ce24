#include "learn/train/baselines.h"

#include <stddef.h>

const struct ff__net_type *const ff__all_nets[] = {
    &ff__net_hlsh,
    &ff__net_hlsh_float,
    &ff__net_hlsh_full,
    &ff__net_hlsh_none,
    &ff__net_hlsh_by_window,
    &ff__net_window,
    &ff__net_transformer,
    &ff__net_fc.base,
    &ff__net_cnn.base,
    &ff__net_lstm.base,
    NULL,
};
