/* A network: one iteration of its training, or of inference, written down on a tape. */
#ifndef FF_WORKLOAD_DNN_NETWORK_H
#define FF_WORKLOAD_DNN_NETWORK_H

#include "workload/dnn/layers.h"

struct ff__iteration {
    uint64_t batch, length; /* length: tokens of a sample, or the side of an image */
    uint32_t *states;       /* the optimizer's */
};

struct ff__network {
    uint64_t shape[8]; /* the network's own */
    /* Forward, backward and the optimizer's step; forward alone if it infers. */
    void (*run)(struct ff__tape *tape, const struct ff__network *network,
                const struct ff__iteration *iteration);
    bool infers; /* in evaluation mode, under torch.no_grad() */
};

extern const struct ff__network ff__gpt2_xl, ff__gpt2_l, ff__bert_large, ff__bert_base, ff__dlrm,
    ff__resnet50, ff__resnet101, ff__resnet152, ff__resnet200, ff__dcgan, ff__mobilenet,
    ff__mobilenet_v3, ff__vgg16, ff__alexnet, ff__cifarnet, ff__squeezenet, ff__resnet50_inference,
    ff__bert_inference, ff__whisper;

#define FF__WEIGHTS_MAX 4096 /* parameter tensors of a network */

#endif
