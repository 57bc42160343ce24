/* The policies and systems there are, and how a name with parameters becomes one. */
#ifndef FF_POLICY_REGISTRY_H
#define FF_POLICY_REGISTRY_H

#include <farfault/farfault.h>
#include <farfault/model.h>

#define FF_PREFETCH_POLICY(name) extern const struct ff_prefetch_policy ff__prefetch_##name;
#define FF_EVICT_POLICY(name)    extern const struct ff_evict_policy ff__evict_##name;
#define FF_PLACE_POLICY(name)    extern const struct ff_place_policy ff__place_##name;
#define FF_DISCARD_POLICY(name)  extern const struct ff_discard_policy ff__discard_##name;
#include "policy/policies.def"
#undef FF_PREFETCH_POLICY
#undef FF_EVICT_POLICY
#undef FF_PLACE_POLICY
#undef FF_DISCARD_POLICY

enum ff__slot { FF__PREFETCH, FF__EVICT, FF__PLACE, FF__DISCARD, FF__SLOTS };

#define FF__TEXT 512u

/* A system with every parameter resolved. `policy[slot]` points at the head of the slot's table. */
struct ff__system {
    char name[64];
    const struct ff_policy *policy[FF__SLOTS];
    int64_t params[FF__SLOTS][FF_PARAMS_MAX];
    char text[FF__TEXT]; /* text parameters, one after the other; the first one is empty */
    uint32_t text_used;
};

/* A row of systems.def. */
struct ff__system_row {
    const char *name;
    const char *policy[FF__SLOTS];
    const char *params, *summary;
};

const char *ff__slot_name(enum ff__slot slot);

/* What each bit of enum ff_visibility is called. */
#define FF__VISIBILITIES 9u
extern const char *const ff__visibility_names[FF__VISIBILITIES];

/* Iterates the built-in systems and the policies of a slot (built-in, then loaded); NULL past
 * the end. */
const struct ff__system_row *ff__system_at(unsigned index);
const struct ff_policy *ff__policy_at(enum ff__slot slot, unsigned index);
const struct ff_policy *ff__policy_find(enum ff__slot slot, const char *name);

/* Loads every table of a shared object's `ff_policy_module`, or none if one is refused. They stay
 * for the life of the process. -ENOENT: no such file or no module in it. -EINVAL: wrong API version
 * or a malformed table. -EEXIST: name taken. */
int ff__policy_load(const char *path, struct ff_error *error);

/* Checks and registers one table; used by the loader and by tests. */
int ff__policy_register(enum ff__slot slot, const struct ff_policy *policy, struct ff_error *error);

/* "NAME[:key=value,...]": a key is a slot (evict=lrm), or a parameter of one of the four
 * policies. -ENOENT: unknown system. -EINVAL: unknown key or policy, bad value. The messages list
 * what is valid. */
int ff__system_parse(const char *spec, struct ff__system *out, struct ff_error *error);

/* Whether one of its policies uses samples, if there are any. */
bool ff__system_uses_samples(const struct ff__system *system);

/* Whether it evicts by last uses. */
bool ff__system_evicts_by_use(const struct ff__system *system);

#endif
