#include "policy/registry.h"

#include "base/error.h"
#include "base/nearest.h"
#include "base/param.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOADED_MAX 32

static const struct ff_policy *const built_in[FF__SLOTS][32] = {
    [FF__PREFETCH] =
        {
#define FF_PREFETCH_POLICY(name) &ff__prefetch_##name.base,
#define FF_EVICT_POLICY(name)
#define FF_PLACE_POLICY(name)
#define FF_DISCARD_POLICY(name)
#include "policy/policies.def"
#undef FF_PREFETCH_POLICY
        },
#define FF_PREFETCH_POLICY(name)
    [FF__EVICT] =
        {
#undef FF_EVICT_POLICY
#define FF_EVICT_POLICY(name) &ff__evict_##name.base,
#include "policy/policies.def"
#undef FF_EVICT_POLICY
        },
#define FF_EVICT_POLICY(name)
    [FF__PLACE] =
        {
#undef FF_PLACE_POLICY
#define FF_PLACE_POLICY(name) &ff__place_##name.base,
#include "policy/policies.def"
#undef FF_PLACE_POLICY
        },
#define FF_PLACE_POLICY(name)
    [FF__DISCARD] =
        {
#undef FF_DISCARD_POLICY
#define FF_DISCARD_POLICY(name) &ff__discard_##name.base,
#include "policy/policies.def"
        },
};

const char *const ff__visibility_names[FF__VISIBILITIES] = {"faults",
                                                            "launches",
                                                            "accesses",
                                                            "instructions",
                                                            "a recorded run of the same work",
                                                            "operands",
                                                            "samples",
                                                            "who met a block's faults",
                                                            "remote accesses"};
_Static_assert(FF_SEES_REMOTE == 1u << (FF__VISIBILITIES - 1), "a name for each bit");

static const struct ff__system_row systems[] = {
#define FF_SYSTEM(name, prefetch, evict, place, discard, params, summary)                          \
    {name, {prefetch, evict, place, discard}, params, summary},
#include "policy/systems.def"
#undef FF_SYSTEM
};

/* Loaded policies stay until the process ends: an engine may still call them while another
 * context opens. */
static const struct ff_policy *loaded[FF__SLOTS][LOADED_MAX];
static unsigned loaded_count[FF__SLOTS];

const char *ff__slot_name(enum ff__slot slot) {
    static const char *const names[FF__SLOTS] = {"prefetch", "evict", "place", "discard"};
    return names[slot];
}

const struct ff__system_row *ff__system_at(unsigned index) {
    return index < sizeof systems / sizeof systems[0] ? &systems[index] : NULL;
}

const struct ff_policy *ff__policy_at(enum ff__slot slot, unsigned index) {
    unsigned count = 0;
    while (built_in[slot][count])
        count++;
    if (index < count)
        return built_in[slot][index];
    return index - count < loaded_count[slot] ? loaded[slot][index - count] : NULL;
}

const struct ff_policy *ff__policy_find(enum ff__slot slot, const char *name) {
    const struct ff_policy *policy;
    for (unsigned i = 0; (policy = ff__policy_at(slot, i)); i++)
        if (strcmp(policy->name, name) == 0)
            return policy;
    return NULL;
}

/* ---- loading ---- */

static unsigned param_count(const struct ff_policy *policy) {
    unsigned count = 0;
    while (policy->params && count < FF_PARAMS_MAX + 1 && policy->params[count].name)
        count++;
    return count;
}

static bool has_required_hooks(enum ff__slot slot, const struct ff_policy *policy) {
    const struct ff_evict_policy *evict = (const void *)policy;
    if (slot != FF__EVICT)
        return true;
    return evict->pick;
}

static int check_policy(enum ff__slot slot, const struct ff_policy *policy,
                        struct ff_error *error) {
    const char *kind = ff__slot_name(slot);
    if (policy->api != FF_POLICY_API)
        return ff__fail(error, -EINVAL,
                        "%s policy was built for API %u, this farfault has API %u: rebuild it",
                        kind, policy->api, FF_POLICY_API);
    if (!policy->name || !policy->name[0] || strpbrk(policy->name, ":=,"))
        return ff__fail(error, -EINVAL, "%s policy needs a name without ':', '=' or ','", kind);
    if (param_count(policy) > FF_PARAMS_MAX)
        return ff__fail(error, -EINVAL, "%s policy '%s' declares more than %d parameters", kind,
                        policy->name, FF_PARAMS_MAX);
    if (!has_required_hooks(slot, policy))
        return ff__fail(error, -EINVAL, "%s policy '%s' lacks a required hook", kind, policy->name);
    if (ff__policy_find(slot, policy->name))
        return ff__fail(error, -EEXIST, "there is a %s policy named '%s' already", kind,
                        policy->name);
    if (loaded_count[slot] == LOADED_MAX)
        return ff__fail(error, -ENOSPC, "no more than %d %s policies can be loaded", LOADED_MAX,
                        kind);
    return 0;
}

int ff__policy_register(enum ff__slot slot, const struct ff_policy *policy,
                        struct ff_error *error) {
    int status = check_policy(slot, policy, error);
    if (!status)
        loaded[slot][loaded_count[slot]++] = policy;
    return status;
}

static bool is_registered(enum ff__slot slot, const struct ff_policy *policy) {
    for (unsigned i = 0; i < loaded_count[slot]; i++)
        if (loaded[slot][i] == policy)
            return true;
    return false;
}

/* All tables of the module, or none. */
static int register_module(const struct ff_policy_module *module, struct ff_error *error) {
    const struct ff_policy *tables[FF__SLOTS] = {
        module->prefetch ? &module->prefetch->base : NULL,
        module->evict ? &module->evict->base : NULL,
        module->place ? &module->place->base : NULL,
        module->discard ? &module->discard->base : NULL,
    };
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        if (tables[slot] && is_registered((enum ff__slot)slot, tables[slot]))
            tables[slot] = NULL; /* loading the same object twice is harmless */
        int status = tables[slot] ? check_policy((enum ff__slot)slot, tables[slot], error) : 0;
        if (status)
            return status;
    }
    for (int slot = 0; slot < FF__SLOTS; slot++)
        if (tables[slot])
            loaded[slot][loaded_count[slot]++] = tables[slot];
    return 0;
}

int ff__policy_load(const char *path, struct ff_error *error) {
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return ff__fail(error, -ENOENT, "policy file: %s", dlerror());
    const struct ff_policy_module *module = dlsym(object, "ff_policy_module");
    int status;
    if (!module)
        status = ff__fail(error, -ENOENT, "policy file %s exports no 'ff_policy_module'", path);
    else if (module->api != FF_POLICY_API)
        status =
            ff__fail(error, -EINVAL,
                     "policy file %s was built for API %u, this farfault has API %u: rebuild it",
                     path, module->api, FF_POLICY_API);
    else
        status = register_module(module, error);
    if (status)
        dlclose(object); /* else it stays open: tables point into it */
    return status;
}

/* ---- system specifications ---- */

static int unknown_policy(enum ff__slot slot, const char *name, struct ff_error *error) {
    struct ff__nearest nearest = {.word = name};
    const struct ff_policy *policy;
    char kind[32];
    for (unsigned i = 0; (policy = ff__policy_at(slot, i)); i++)
        ff__nearest_offer(&nearest, policy->name);
    snprintf(kind, sizeof kind, "%s policy", ff__slot_name(slot));
    ff__nearest_fail(&nearest, kind, "farfault list policies", error);
    return -EINVAL; /* the value of a parameter that exists */
}

static int set_policy(struct ff__system *system, enum ff__slot slot, const char *name,
                      struct ff_error *error) {
    const struct ff_policy *policy = ff__policy_find(slot, name);
    if (!policy)
        return unknown_policy(slot, name, error);
    if (system->policy[slot] == policy)
        return 0; /* with the system's own parameters */
    system->policy[slot] = policy;
    for (unsigned i = 0; i < param_count(policy); i++)
        system->params[slot][i] = policy->params[i].initial;
    return 0;
}

/* Lists every parameter of the system's policies, for the error line. */
static int unknown_key(const struct ff__system *system, const char *key, struct ff_error *error) {
    char list[192] = "";
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        for (unsigned i = 0; i < param_count(system->policy[slot]); i++) {
            size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, " %s", system->policy[slot]->params[i].name);
        }
    }
    return ff__fail(error, -EINVAL, "unknown parameter '%s' of system %s; it has:%s", key,
                    system->name, list[0] ? list : " none");
}

static int set_text(struct ff__system *system, const struct ff_param *param, const char *value,
                    int64_t *out, struct ff_error *error) {
    size_t length = strlen(value), used = system->text_used + 1;
    if (length > (uint64_t)param->max || used + length + 1 > sizeof system->text)
        return ff__fail(error, -EINVAL, "%s: a text this long does not fit", param->name);
    memcpy(system->text + used, value, length + 1);
    *out = (int64_t)used;
    system->text_used = (uint32_t)(used + length);
    return 0;
}

/* Two policies of a system may have a parameter of the same name, for what both need to know: it is
 * set for both. */
static int set_param(struct ff__system *system, const char *key, const char *value,
                     struct ff_error *error) {
    bool found = false;
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        for (unsigned i = 0; i < param_count(system->policy[slot]); i++) {
            const struct ff_param *param = &system->policy[slot]->params[i];
            if (strcmp(param->name, key) != 0)
                continue;
            int status = param->type == FF_PARAM_TEXT
                             ? set_text(system, param, value, &system->params[slot][i], error)
                             : ff__param_set(param, value, &system->params[slot][i], error);
            if (status)
                return status;
            found = true;
        }
    }
    return found ? 0 : unknown_key(system, key, error);
}

static int find_slot(const char *key) {
    for (int slot = 0; slot < FF__SLOTS; slot++)
        if (strcmp(key, ff__slot_name((enum ff__slot)slot)) == 0)
            return slot;
    return -1;
}

/* Applies "key=value,..."; policies first, because a parameter belongs to the policy that is
 * finally chosen. */
static int apply_keys(struct ff__system *system, const char *keys, bool policies,
                      struct ff_error *error) {
    char text[512];
    if (strlen(keys) >= sizeof text)
        return ff__fail(error, -EINVAL, "parameters of system %s are too long", system->name);
    strcpy(text, keys);
    char *rest = text, *entry;
    while ((entry = strsep(&rest, ",")) != NULL) {
        if (!*entry)
            continue;
        char *value = strchr(entry, '=');
        if (!value)
            return ff__fail(error, -EINVAL, "'%s' of system %s must be name=value", entry,
                            system->name);
        *value++ = '\0';
        int slot = find_slot(entry), status = 0;
        if (policies && slot >= 0)
            status = set_policy(system, (enum ff__slot)slot, value, error);
        else if (!policies && slot < 0)
            status = set_param(system, entry, value, error);
        if (status)
            return status;
    }
    return 0;
}

static const struct ff__system_row *find_system(const char *name, struct ff_error *error) {
    struct ff__nearest nearest = {.word = name};
    const struct ff__system_row *row;
    for (unsigned i = 0; (row = ff__system_at(i)); i++) {
        if (strcmp(row->name, name) == 0)
            return row;
        ff__nearest_offer(&nearest, row->name);
    }
    ff__nearest_fail(&nearest, "system", "farfault list systems", error);
    return NULL;
}

int ff__system_parse(const char *spec, struct ff__system *out, struct ff_error *error) {
    memset(out, 0, sizeof *out);
    const char *keys = strchr(spec, ':');
    size_t length = keys ? (size_t)(keys - spec) : strlen(spec);
    if (length >= sizeof out->name)
        return ff__fail(error, -ENOENT, "there is no system '%.60s...'; see farfault list systems",
                        spec);
    memcpy(out->name, spec, length);

    const struct ff__system_row *row = find_system(out->name, error);
    if (!row)
        return -ENOENT;
    int status = 0;
    for (int slot = 0; slot < FF__SLOTS && !status; slot++)
        status = set_policy(out, (enum ff__slot)slot, row->policy[slot], error);
    if (!status)
        status = apply_keys(out, row->params, false, error);
    if (keys && !status)
        status = apply_keys(out, keys + 1, true, error);
    if (keys && !status)
        status = apply_keys(out, keys + 1, false, error);
    return status;
}

bool ff__system_uses_samples(const struct ff__system *system) {
    for (int slot = 0; slot < FF__SLOTS; slot++)
        if (system->policy[slot]->samples)
            return true;
    return false;
}

bool ff__system_evicts_by_use(const struct ff__system *system) {
    return ((const struct ff_evict_policy *)system->policy[FF__EVICT])->by_use;
}
