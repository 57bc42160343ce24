/* What others may want to know of a workload that trains a network. */
#ifndef FF_WORKLOAD_DNN_DNN_H
#define FF_WORKLOAD_DNN_DNN_H

#include "workload/dnn/program.h"

/* NULL: it is another workload. */
const struct ff__program *ff__dnn_program(const struct ff__workload *workload);
const struct ff__placement *ff__dnn_placement(const struct ff__workload *workload);

#endif
