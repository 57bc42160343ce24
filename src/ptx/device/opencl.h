/* Stands before programs in OpenCL C that clang makes into PTX (opencl.c): what the language has as
 * functions and the device as registers. The offset of global IDs is in %envreg3 to 5. What needs
 * the work-groups, and not only the work-items, adds %envreg6, which is 0 where they are known. */
#ifndef FF_PTX_DEVICE_OPENCL_H
#define FF_PTX_DEVICE_OPENCL_H

#define FF_SPECIAL(name)                                                                           \
    ({                                                                                             \
        uint ff_special;                                                                           \
        __asm__("mov.u32 %0, " name ";" : "=r"(ff_special));                                       \
        (size_t) ff_special;                                                                       \
    })
#define FF_OF(d, name, last)                                                                       \
    ((d) == 0   ? FF_SPECIAL(name "x")                                                             \
     : (d) == 1 ? FF_SPECIAL(name "y")                                                             \
     : (d) == 2 ? FF_SPECIAL(name "z")                                                             \
                : (size_t)last)
#define FF_GROUPS FF_SPECIAL("%%envreg6")
/* The preload looks at launches of fewer than 2^31 work-items in a dimension: as an int, an ID is
 * the same number. */
#define FF_RETURN(value)                                                                           \
    do {                                                                                           \
        size_t ff_result = (value);                                                                \
        __builtin_assume(ff_result <= INT_MAX);                                                    \
        return ff_result;                                                                          \
    } while (0)
#define FF_FUNCTION inline __attribute__((always_inline)) size_t

FF_FUNCTION ff_local_id(uint d) {
    FF_RETURN(FF_OF(d, "%%tid.", 0) + FF_GROUPS);
}
FF_FUNCTION ff_group_id(uint d) {
    FF_RETURN(FF_OF(d, "%%ctaid.", 0) + FF_GROUPS);
}
FF_FUNCTION ff_local_size(uint d) {
    FF_RETURN(FF_OF(d, "%%ntid.", 1) + FF_GROUPS);
}
FF_FUNCTION ff_num_groups(uint d) {
    FF_RETURN(FF_OF(d, "%%nctaid.", 1) + FF_GROUPS);
}
FF_FUNCTION ff_global_size(uint d) {
    FF_RETURN(FF_OF(d, "%%ntid.", 1) * FF_OF(d, "%%nctaid.", 1));
}
FF_FUNCTION ff_global_offset(uint d) {
    FF_RETURN(d == 0   ? FF_SPECIAL("%%envreg3")
              : d == 1 ? FF_SPECIAL("%%envreg4")
              : d == 2 ? FF_SPECIAL("%%envreg5")
                       : 0);
}
FF_FUNCTION ff_global_id(uint d) {
    FF_RETURN(FF_OF(d, "%%ctaid.", 0) * FF_OF(d, "%%ntid.", 1) + FF_OF(d, "%%tid.", 0) +
              ff_global_offset(d));
}
#define get_local_id              ff_local_id
#define get_group_id              ff_group_id
#define get_local_size            ff_local_size
#define get_enqueued_local_size   ff_local_size
#define get_num_groups            ff_num_groups
#define get_global_size           ff_global_size
#define get_global_offset         ff_global_offset
#define get_global_id             ff_global_id

#define atomic_add(p, v)          __sync_fetch_and_add(p, v)
#define atomic_sub(p, v)          __sync_fetch_and_sub(p, v)
#define atomic_inc(p)             __sync_fetch_and_add(p, 1)
#define atomic_dec(p)             __sync_fetch_and_sub(p, 1)
#define atomic_and(p, v)          __sync_fetch_and_and(p, v)
#define atomic_or(p, v)           __sync_fetch_and_or(p, v)
#define atomic_xor(p, v)          __sync_fetch_and_xor(p, v)
#define atomic_xchg(p, v)         __sync_lock_test_and_set(p, v)
#define atomic_cmpxchg(p, old, v) __sync_val_compare_and_swap(p, old, v)
#define atom_add                  atomic_add
#define atom_sub                  atomic_sub
#define atom_inc                  atomic_inc
#define atom_dec                  atomic_dec
#define atom_xchg                 atomic_xchg
#define atom_cmpxchg              atomic_cmpxchg

#endif
