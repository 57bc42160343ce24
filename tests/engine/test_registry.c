/* Names with parameters, and what makes a table acceptable. */
#include "base/cases.h"

#include "policy/registry.h"

#include <errno.h>

static int parse(const char *spec, struct ff__system *system, struct ff_error *error) {
    memset(error, 0, sizeof *error);
    int status = ff__system_parse(spec, system, error);
    assert_int_equal(status != 0, error->message[0] != '\0');
    struct ff__system again;
    assert_int_equal(ff__system_parse(spec, &again, NULL), status); /* the message is optional */
    return status;
}

static struct ff__system parsed(const char *spec) {
    struct ff__system system;
    struct ff_error error;
    if (parse(spec, &system, &error))
        fail_msg("'%s': %s", spec, error.message);
    return system;
}

/* The message mentions what is wrong. */
static void check_refused(const char *spec, int status, const char *part) {
    struct ff__system system;
    struct ff_error error;
    int got = parse(spec, &system, &error);
    if (got != status || !strstr(error.message, part))
        fail_msg("'%s' gives %d, '%s'", spec, got, error.message);
}

/* The value of a parameter; INT64_MIN if the policy has none of the name. */
static int64_t param_of(const struct ff__system *system, enum ff__slot slot, const char *name) {
    const struct ff_param *params = system->policy[slot]->params;
    for (unsigned i = 0; params && params[i].name; i++)
        if (strcmp(params[i].name, name) == 0)
            return system->params[slot][i];
    return INT64_MIN;
}

/* ---- a policy with every kind of parameter ---- */

static const struct ff_param params[] = {
    {"count", FF_PARAM_INT, 5, -10, 10, "a number"},
    {"flag", FF_PARAM_BOOL, 0, 0, 1, "yes or no"},
    {"room", FF_PARAM_SIZE, 65536, 4096, 1 << 30, "bytes"},
    {"pause", FF_PARAM_NS, 1000, 0, INT64_C(5000000000), "a time"},
    {0},
};

static uint32_t to_host(void *state, const struct ff_view *view, uint32_t block, uint32_t from,
                        uint32_t tiers[FF_TIERS_MAX]) {
    (void)state, (void)view, (void)block, (void)from;
    tiers[0] = FF_TIER_HOST;
    return 1;
}

static const struct ff_place_policy kinds = {
    .base = {.name = "kinds", .summary = "all kinds", .api = FF_POLICY_API, .params = params},
    .place = to_host,
};

/* ---- systems ---- */

static void test_rows_are_sound(void **state) {
    (void)state;
    const struct ff__system_row *row;
    unsigned count = 0;
    for (; (row = ff__system_at(count)); count++) {
        struct ff__system system = parsed(row->name);
        assert_string_equal(system.name, row->name);
        assert_true(row->summary && row->summary[0]);
        for (int slot = 0; slot < FF__SLOTS; slot++)
            assert_string_equal(system.policy[slot]->name, row->policy[slot]);
        for (unsigned i = 0; i < count; i++)
            assert_string_not_equal(ff__system_at(i)->name, row->name);
    }
    assert_true(count >= 3);
    assert_null(ff__system_at(count + 1000));
}

static void check_policy(enum ff__slot slot, const struct ff_policy *policy) {
    unsigned count = 0;
    assert_ptr_equal(ff__policy_find(slot, policy->name), policy);
    assert_int_equal(policy->api, FF_POLICY_API);
    assert_true(policy->summary && policy->summary[0]);
    for (const struct ff_param *p = policy->params; p && p->name; p++, count++) {
        assert_true(p->min <= p->initial && p->initial <= p->max);
        assert_true(p->help && p->help[0]);
        assert_null(strpbrk(p->name, ":=,"));
        for (int other = 0; other < FF__SLOTS; other++)
            assert_string_not_equal(p->name, ff__slot_name((enum ff__slot)other));
    }
    assert_true(count <= FF_PARAMS_MAX);
}

static void test_policies_are_sound(void **state) {
    (void)state;
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        const struct ff_policy *policy;
        unsigned count = 0;
        for (; (policy = ff__policy_at((enum ff__slot)slot, count)); count++)
            check_policy((enum ff__slot)slot, policy);
        assert_true(count >= 1);
        assert_null(ff__policy_at((enum ff__slot)slot, count + 1000));
        assert_null(ff__policy_find((enum ff__slot)slot, "no such policy"));
    }
}

static void test_good_specs(void **state) {
    (void)state;
    struct ff__system system = parsed("nvidia");
    assert_int_equal(param_of(&system, FF__PREFETCH, "threshold"), 51);
    system = parsed("nvidia-1");
    assert_int_equal(param_of(&system, FF__PREFETCH, "threshold"), 1);
    system = parsed("nvidia-1:threshold=75");
    assert_int_equal(param_of(&system, FF__PREFETCH, "threshold"), 75);
    system = parsed("nvidia:evict=lrm,threshold=25");
    assert_string_equal(system.policy[FF__EVICT]->name, "lrm");
    assert_int_equal(param_of(&system, FF__PREFETCH, "threshold"), 25);
    system = parsed("nvidia:threshold=25,threshold=26"); /* the last one counts */
    assert_int_equal(param_of(&system, FF__PREFETCH, "threshold"), 26);
    system = parsed("nvidia:thrash_lapse=2ms,thrashing=off,threshold=16");
    assert_int_equal(param_of(&system, FF__PREFETCH, "thrash_lapse"), 2000000);
    assert_int_equal(param_of(&system, FF__PREFETCH, "thrashing"), 0);
    assert_int_equal(param_of(&system, FF__PREFETCH, "threshold"), 16);
    parsed("nvidia:");
    parsed("nvidia:,,,");
    parsed("nvidia:,threshold=3,");
}

/* A parameter may come before the policy it belongs to; and a system's own settings belong to the
 * policy it names, not to another that takes its place. */
static void test_slots_are_set_first(void **state) {
    (void)state;
    struct ff__system system = parsed("demand:threshold=30,prefetch=tree");
    assert_int_equal(param_of(&system, FF__PREFETCH, "threshold"), 30);
    system = parsed("demand:prefetch=tree");
    assert_int_equal(param_of(&system, FF__PREFETCH, "threshold"), 51);
    system = parsed("nvidia-1:prefetch=none");
    assert_int_equal(param_of(&system, FF__PREFETCH, "threshold"), INT64_MIN);
    system = parsed("nvidia-1:prefetch=none,prefetch=tree");
    assert_int_equal(param_of(&system, FF__PREFETCH, "threshold"), 51);
    system = parsed("nvidia-1:prefetch=tree");
    assert_int_equal(param_of(&system, FF__PREFETCH, "threshold"), 1);
    system = parsed("deepum-far:prefetch=tree,parts=0"); /* other slots keep theirs */
    assert_int_equal(param_of(&system, FF__DISCARD, "parts"), 0);
    system = parsed("deepum-far:prefetch=tree");
    assert_int_equal(param_of(&system, FF__DISCARD, "parts"), 1);
    check_refused("nvidia-1:prefetch=none,threshold=3", -EINVAL, "threshold");
}

static void test_every_kind_of_parameter(void **state) {
    (void)state;
    struct ff__system system = parsed("demand:place=kinds");
    assert_int_equal(param_of(&system, FF__PLACE, "count"), 5);
    assert_int_equal(param_of(&system, FF__PLACE, "room"), 65536);
    system = parsed("demand:place=kinds,count=-10,flag=yes,room=1G,pause=5s");
    assert_int_equal(param_of(&system, FF__PLACE, "count"), -10);
    assert_int_equal(param_of(&system, FF__PLACE, "flag"), 1);
    assert_int_equal(param_of(&system, FF__PLACE, "room"), 1 << 30);
    assert_int_equal(param_of(&system, FF__PLACE, "pause"), INT64_C(5000000000));
    system = parsed("demand:count=10,room=4K,place=kinds,pause=0");
    assert_int_equal(param_of(&system, FF__PLACE, "count"), 10);
    assert_int_equal(param_of(&system, FF__PLACE, "room"), 4096);
    check_refused("demand:place=kinds,count=11", -EINVAL, "-10 to 10");
    check_refused("demand:place=kinds,count=-11", -EINVAL, "-10 to 10");
    check_refused("demand:place=kinds,room=4095", -EINVAL, "4096");
    check_refused("demand:place=kinds,room=1025M", -EINVAL, "room");
    check_refused("demand:place=kinds,pause=5001ms", -EINVAL, "pause");
    check_refused("demand:place=kinds,flag=2", -EINVAL, "flag");
}

static void test_bad_specs(void **state) {
    (void)state;
    check_refused("", -ENOENT, "farfault list systems");
    check_refused("nvidai", -ENOENT, "the nearest is nvidia;");
    check_refused("NVIDIA", -ENOENT, "the nearest is nvidia;");
    check_refused("nvidia ", -ENOENT, "nvidia");
    check_refused(":threshold=3", -ENOENT, "there is no system ''");
    check_refused("nvidia,threshold=3", -ENOENT, "nvidia");
    check_refused("nvidia:treshold=3", -EINVAL, "threshold");
    check_refused("nvidia:threshold", -EINVAL, "name=value");
    check_refused("nvidia:=3", -EINVAL, "threshold");
    check_refused("nvidia:threshold=", -EINVAL, "0 to 100");
    check_refused("nvidia:threshold=x", -EINVAL, "0 to 100");
    check_refused("nvidia:threshold=101", -EINVAL, "0 to 100");
    check_refused("nvidia:threshold=-1", -EINVAL, "0 to 100");
    check_refused("nvidia:threshold=99999999999999999999", -EINVAL, "0 to 100");
    check_refused("nvidia:threshold=3=4", -EINVAL, "0 to 100");
    check_refused("nvidia:threshold=3,x=1", -EINVAL, "x");
    check_refused("demand:threshold=3", -EINVAL, "none");
    check_refused("nvidia:name=x", -EINVAL, "name");
}

static void test_unknown_policy(void **state) {
    (void)state;
    struct ff__system system;
    struct ff_error error;
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        char spec[64];
        snprintf(spec, sizeof spec, "nvidia:%s=bogus", ff__slot_name((enum ff__slot)slot));
        assert_true(parse(spec, &system, &error) < 0);
        assert_non_null(strstr(error.message, "bogus"));
        assert_non_null(strstr(error.message, ff__slot_name((enum ff__slot)slot)));
    }
    assert_true(parse("nvidia:evict=", &system, &error) < 0);
}

static void test_unknown_policy_is_a_bad_value(void **state) {
    (void)state;
    check_refused("nvidia:evict=lmr", -EINVAL,
                  "there is no evict policy 'lmr'; the nearest is lrm");
    check_refused("nvidia:prefetch=bogus", -EINVAL, "see farfault list policies");
}

/* However long: refused, or taken, never written past an end. */
static void test_long_specs(void **state) {
    (void)state;
    static char spec[5000];
    for (size_t length = 1; length < sizeof spec - 1; length += length < 700 ? 1 : 97) {
        struct ff__system system;
        struct ff_error error;
        memset(spec, 'x', length);
        spec[length] = '\0';
        assert_int_equal(parse(spec, &system, &error), -ENOENT);
        if (length < 20)
            continue;
        memcpy(spec, "nvidia:", 7);
        assert_int_equal(parse(spec, &system, &error), -EINVAL);
        spec[length - 2] = '=';
        assert_int_equal(parse(spec, &system, &error), -EINVAL);
        memset(spec + 7, ',', length - 7);
        assert_int_equal(parse(spec, &system, &error), length - 7 < 512 ? 0 : -EINVAL);
    }
}

/* ---- registering ---- */

static void no_pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                    struct ff_victim_list *victims) {
    (void)state, (void)view, (void)request, (void)victims;
}

static void check_rejected(enum ff__slot slot, const struct ff_policy *policy, int status,
                           const char *part) {
    struct ff_error error = {""};
    int got = ff__policy_register(slot, policy, &error);
    if (got != status || !strstr(error.message, part))
        fail_msg("registering gives %d, '%s'", got, error.message);
    assert_int_equal(ff__policy_register(slot, policy, NULL), status);
}

static void test_rejects(void **state) {
    (void)state;
    static struct ff_param many[FF_PARAMS_MAX + 2];
    const struct ff_evict_policy good = {.base = {.name = "good", .api = FF_POLICY_API},
                                         .pick = no_pick};
    struct ff_evict_policy bad = good;
    bad.base.api = FF_POLICY_API + 1;
    check_rejected(FF__EVICT, &bad.base, -EINVAL, "API");
    bad = good, bad.base.name = NULL;
    check_rejected(FF__EVICT, &bad.base, -EINVAL, "name");
    bad = good, bad.base.name = "";
    check_rejected(FF__EVICT, &bad.base, -EINVAL, "name");
    static const char *const names[] = {"a:b", "a=b", "a,b", ":", "=", ","};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        bad = good, bad.base.name = names[i];
        check_rejected(FF__EVICT, &bad.base, -EINVAL, "name");
    }
    bad = good, bad.pick = NULL;
    check_rejected(FF__EVICT, &bad.base, -EINVAL, "hook");
    bad = good, bad.base.name = "lrm";
    check_rejected(FF__EVICT, &bad.base, -EEXIST, "lrm");
    for (unsigned i = 0; i < FF_PARAMS_MAX + 1; i++)
        many[i] = (struct ff_param){"p", FF_PARAM_INT, 0, 0, 1, "one of many"};
    bad = good, bad.base.params = many;
    check_rejected(FF__EVICT, &bad.base, -EINVAL, "16");
    assert_null(ff__policy_find(FF__EVICT, "good")); /* nothing of that was kept */
}

/* The same name may be used in another slot, and sixteen parameters are fine. */
static void test_accepts(void **state) {
    (void)state;
    static struct ff_param sixteen[FF_PARAMS_MAX + 1];
    static const char *const names[FF_PARAMS_MAX] = {"p0",  "p1",  "p2",  "p3", "p4",  "p5",
                                                     "p6",  "p7",  "p8",  "p9", "p10", "p11",
                                                     "p12", "p13", "p14", "p15"};
    static const struct ff_discard_policy lrm = {
        .base = {.name = "lrm", .summary = "-", .api = FF_POLICY_API, .params = sixteen}};
    for (unsigned i = 0; i < FF_PARAMS_MAX; i++)
        sixteen[i] = (struct ff_param){names[i], FF_PARAM_INT, 0, 0, 100, "-"};
    assert_int_equal(ff__policy_register(FF__DISCARD, &lrm.base, NULL), 0);
    struct ff__system system = parsed("demand:discard=lrm,p0=7,p15=99");
    assert_int_equal(param_of(&system, FF__DISCARD, "p0"), 7);
    assert_int_equal(param_of(&system, FF__DISCARD, "p15"), 99);
    check_refused("demand:discard=lrm,p16=1", -EINVAL, "p15");
}

/* Last, because it uses all places up. */
static void test_there_is_an_end(void **state) {
    (void)state;
    static struct ff_prefetch_policy policies[200];
    static char names[200][16];
    int status = 0;
    unsigned count = 0;
    for (; count < 200 && status == 0; count++) {
        snprintf(names[count], sizeof names[count], "many-%u", count);
        policies[count].base =
            (struct ff_policy){.name = names[count], .summary = "-", .api = FF_POLICY_API};
        status = ff__policy_register(FF__PREFETCH, &policies[count].base, NULL);
    }
    assert_int_equal(status, -ENOSPC);
    assert_true(count > 16);
    assert_ptr_equal(ff__policy_find(FF__PREFETCH, "many-0"), &policies[0].base);
    assert_null(ff__policy_find(FF__PREFETCH, names[count - 1]));
    struct ff__system system = parsed("nvidia:prefetch=many-3");
    assert_ptr_equal(system.policy[FF__PREFETCH], &policies[3].base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_sound),
        cmocka_unit_test(test_policies_are_sound),
        cmocka_unit_test(test_good_specs),
        cmocka_unit_test(test_slots_are_set_first),
        cmocka_unit_test(test_every_kind_of_parameter),
        cmocka_unit_test(test_bad_specs),
        cmocka_unit_test(test_unknown_policy),
        cmocka_unit_test(test_unknown_policy_is_a_bad_value),
        cmocka_unit_test(test_long_specs),
        cmocka_unit_test(test_rejects),
        cmocka_unit_test(test_accepts),
        cmocka_unit_test(test_there_is_an_end),
    };
    if (ff__policy_register(FF__PLACE, &kinds.base, NULL))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
