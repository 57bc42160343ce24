/* Lines of the fault log of the patched NVIDIA driver of uvm-eval (github.com/tallendev/uvm-eval,
 * drivers: "faults", uvm_gpu_replayable_faults.c and uvm_va_block.c): the kernel's log, as
 * /dev/kmsg or dmesg shows it. */
#ifndef FF_TRACE_MODEL_UVMEVAL_H
#define FF_TRACE_MODEL_UVMEVAL_H

#include "trace/model/lines.h"

enum ff__uvmeval_kind {
    FF__UVMEVAL_OTHER, /* whatever else the kernel had to say */
    FF__UVMEVAL_BATCH, /* a batch begins */
    FF__UVMEVAL_BATCH_END,
    FF__UVMEVAL_FAULT,   /* address, write; gpu_ns; instances, utlb, gpc, or 0 in shorter lines */
    FF__UVMEVAL_EVICT,   /* address: a page, in newer drivers a block */
    FF__UVMEVAL_DESTROY, /* address, bytes: a range */
};

struct ff__uvmeval_line {
    enum ff__uvmeval_kind kind;
    uint64_t time_ns, address, bytes, gpu_ns;
    uint32_t instances, utlb, gpc;
    bool write;
};

/* False: it begins like one of these lines but cannot be read. */
bool ff__uvmeval_parse(const char *text, struct ff__uvmeval_line *out);

#endif
