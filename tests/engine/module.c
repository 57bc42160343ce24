/* A shared object with policies. CMakeLists.txt builds it once as it should be and once in each way
 * to be wrong. */
#include <farfault/policy.h>

#ifndef MODULE_NAME
#define MODULE_NAME "module"
#endif

static uint32_t place(void *state, const struct ff_view *view, uint32_t block, uint32_t from,
                      uint32_t tiers[FF_TIERS_MAX]) {
    (void)state, (void)view, (void)block, (void)from;
    tiers[0] = FF_TIER_HOST;
    return 1;
}

static const struct ff_prefetch_policy prefetch_policy = {
    .base = {.name = MODULE_NAME, .summary = "loaded", .api = FF_POLICY_API}};

static const struct ff_place_policy place_policy = {
    .base = {.name = "module-place", .summary = "loaded", .api = FF_POLICY_API}, .place = place};

#ifdef MODULE_WITHOUT_HOOK
static const struct ff_evict_policy evict_policy = {
    .base = {.name = "module-evict", .summary = "names no victims", .api = FF_POLICY_API}};
#endif

/* What nobody may look at once the API version does not fit. */
#ifdef MODULE_OLD
#define MODULE_API         (FF_POLICY_API + 1000u)
#define MODULE_TABLE(name) ((const void *)8)
#else
#define MODULE_API         FF_POLICY_API
#define MODULE_TABLE(name) (&(name))
#endif

#ifdef MODULE_EMPTY
#define MODULE_SYMBOL another_name
#else
#define MODULE_SYMBOL ff_policy_module
#endif

extern const struct ff_policy_module MODULE_SYMBOL;

__attribute__((visibility("default"))) const struct ff_policy_module MODULE_SYMBOL = {
    .api = MODULE_API,
    .prefetch = MODULE_TABLE(prefetch_policy),
    .place = MODULE_TABLE(place_policy),
#ifdef MODULE_WITHOUT_HOOK
    .evict = &evict_policy,
#endif
};

/* Every variant uses all of them. */
uint32_t module_call(const struct ff_view *view);
uint32_t module_call(const struct ff_view *view) {
    return prefetch_policy.base.api + place_policy.base.api +
           place(NULL, view, 0, 0, (uint32_t[FF_TIERS_MAX]){0});
}
