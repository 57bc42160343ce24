/* What others may want to know of a workload that trains a network. */
#ifndef FF_WORKLOAD_DNN_DNN_H
#define FF_WORKLOAD_DNN_DNN_H

#include "workload/dnn/program.h"

/* What all networks have in common; the first member of each. */
extern const struct ff__workload_type ff__dnn_type;

/* NULL: it is another workload. */
const struct ff__network_program *ff__dnn_program(const struct ff__workload *workload);
const struct ff__placement *ff__dnn_placement(const struct ff__workload *workload);

#endif
