/* Specifications of workloads: what is refused, and in which words. */
#include "workload/walk.h"

#include <errno.h>
#include <sys/resource.h>

#include "workload/model.h"

struct refused {
    const char *spec;
    int status;
    const char *says; /* a part of the message */
};

static const struct refused refused[] = {
    {"", -ENOENT, "there is no workload ''; see farfault list workloads"},
    {"bsf", -ENOENT, "there is no workload 'bsf'; the nearest is bfs; see farfault list workloads"},
    {"nope:size=64M", -ENOENT, "there is no workload 'nope'; "},
    {"bfs:color=3", -EINVAL, "unknown parameter 'color' of workload bfs; it has: graph size nodes"},
    {"stream:graph=x", -EINVAL, "unknown parameter 'graph' of workload stream"},
    {"stream:pages", -EINVAL, "'pages' of workload stream must be name=value"},
    {"stream:pages=many", -EINVAL, "pages=many: must be 1 to 4294967295"},
    {"stream:pages=0", -EINVAL, "pages=0: must be 1 to"},
    {"stream:size=-1", -EINVAL, "size=-1: must be"},
    {"stream:size=32T", -EINVAL, "size=32T: must be"},
    {"backprop:size=100", -EINVAL, "size=100 is too small for backprop: it needs at least 4100"},
    {"3dconv:size=100", -EINVAL, "3dconv needs at least 3 planes"},
    {"hotspot:pyramid=8", -EINVAL, "pyramid=8: must be 1 to 7"},
    {"bfs:graph=", -EINVAL, "graph= needs a path"},
    {"bfs:graph=/nonexistent/graph", -ENOENT, "graph /nonexistent/graph: No such file"},
    {"bfs:graph=/", -EINVAL, "not a regular file"},
    {"bfs:nodes=100,edges=2", -EINVAL, "2 edges: 100 nodes need 400 to 800"},
    {"bfs:nodes=100,source=100", -EINVAL, "source=100: the graph has nodes 0 to 99"},
    {"bfs:size=1T", -EINVAL, "too large for bfs: at most size="},
    {"sssp:nodes=10,degree=10", -EINVAL, "degree 10 of 10 nodes"},
    {"sssp:size=1T", -EINVAL, "too large for sssp: at most size="},
    {"louvain:size=17592186044416", -EINVAL, "size=17592186044416: must be 0 to 1099511627776"},
    {"mobilenet:length=4096", -EINVAL, "its arrays have at most 1099511627776 bytes"},
    {"vgg16:length=31", -EINVAL, "vgg16:15:7: max_pool: it leaves nothing of such images"},
    {"./nonexistent.txt", -ENOENT, "./nonexistent.txt: No such file"},
    {"/", -EISDIR, "/: Is a directory"},
    {"stream:ctas=1,warps=1,passes=1000000", -EINVAL, "too many for 1 x 1 warps"},
};

static void test_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct ff__workload *workload = (struct ff__workload *)&workload;
        struct ff_error error = {{0}};
        int status = ff__workload_open(refused[i].spec, 1, &workload, &error);
        if (status != refused[i].status || !strstr(error.message, refused[i].says))
            fail_msg("'%s' gives %d, '%s'", refused[i].spec, status, error.message);
        assert_null(workload);
        assert_null(strchr(error.message, '\n'));
        assert_int_not_equal(ff__workload_open(refused[i].spec, 1, &workload, NULL), 0);
    }
}

/* ---- every parameter of every workload ---- */

static const char *const no_numbers[] = {"",      "x",   "12x",  "-1", "18446744073709551616",
                                         "1e300", "inf", "nan",  "-",  "0x",
                                         "--1",   " 5",  "0x10", "+5"};

static void expect_refusal(const struct ff__workload_type *type, const struct ff_param *param,
                           const char *value) {
    char spec[160];
    struct ff__workload *workload = NULL;
    struct ff_error error = {""};
    snprintf(spec, sizeof spec, "%s:%s=%s", type->name, param->name, value);
    int status = ff__workload_open(spec, 1, &workload, &error);
    if (status != -EINVAL || !strstr(error.message, ": must be "))
        fail_msg("'%s' gives %d, '%s'", spec, status, error.message);
}

/* Opens, or is refused with a line; what opens is no larger than the simulator takes. */
static void expect_sense(const struct ff__workload_type *type, const struct ff_param *param,
                         int64_t value) {
    char spec[160];
    struct ff__workload *workload = NULL;
    struct ff_error error = {""};
    snprintf(spec, sizeof spec, "%s:%s=%lld", type->name, param->name, (long long)value);
    int status = ff__workload_open(spec, 1, &workload, &error);
    uint64_t bytes = 0;
    for (uint32_t i = 0; workload && i < workload->array_count; i++)
        bytes += workload->arrays[i].bytes;
    bool has_line = (status == -EINVAL || status == -ENOMEM) && error.message[0];
    if (status ? !has_line : bytes == 0 || bytes > (uint64_t)FF__SIZE_MAX)
        fail_msg("'%s' gives %d, '%s', and %llu bytes", spec, status, error.message,
                 (unsigned long long)bytes);
    ff__workload_close(workload);
}

/* Takes seconds, and says nothing about bounds: a model that writes down each of its tokens. */
static bool is_slow(const struct ff__workload_type *type, const struct ff_param *param) {
    return strcmp(type->name, "whisper") == 0 && strcmp(param->name, "length") == 0;
}

static void test_every_parameter(void **state) {
    const struct ff__workload_type *type;
    const struct rlimit memory = {UINT64_C(2) << 30, UINT64_C(2) << 30};
    (void)state;
    if (!SANITIZED) /* whose shadow is larger */
        assert_int_equal(setrlimit(RLIMIT_AS, &memory), 0);
    for (unsigned i = 0; (type = ff__workload_at(i)); i++) {
        for (const struct ff_param *param = type->params; param->name; param++) {
            char text[32];
            for (size_t k = 0; k < sizeof no_numbers / sizeof no_numbers[0]; k++)
                expect_refusal(type, param, no_numbers[k]);
            snprintf(text, sizeof text, "%lld", (long long)param->min - 1);
            expect_refusal(type, param, text);
            snprintf(text, sizeof text, "%llu", (unsigned long long)param->max + 1);
            expect_refusal(type, param, text);
            if (SANITIZED)
                continue;
            expect_sense(type, param, param->min);
            if (!is_slow(type, param))
                expect_sense(type, param, param->max);
        }
    }
}

static void test_long(void **state) {
    static char text[8000];
    struct ff__workload *workload;
    struct ff_error error;
    (void)state;
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(ff__workload_open(text, 1, &workload, &error), -EINVAL);
    assert_non_null(strstr(error.message, "is longer than"));
    text[1000] = '\0';
    assert_int_equal(ff__workload_open(text, 1, &workload, &error), -ENOENT);
}

static void test_accepted(void **state) {
    static const char *const specs[] = {"stream:", "stream:,", "stream:pages=16,,writes=0,",
                                        "bfs:nodes=20", "sssp:nodes=4"};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct ff__workload *workload = open_workload(specs[i]);
        assert_string_equal(workload->name, specs[i]);
        ff__workload_close(workload);
    }
    ff__workload_close(NULL);
}

/* The run's seed changes what is random, and nothing else. */
static void test_seed(void **state) {
    static const char *const specs[] = {"random", "ra", "bfs:nodes=5000,graph_seed=0",
                                        "sssp:nodes=5000"};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        unsigned different = 0;
        for (uint64_t seed = 2; seed < 12; seed++) {
            struct ff__workload *one, *other;
            struct ff__kernel kernel;
            struct ff__step a, b;
            assert_int_equal(ff__workload_open(specs[i], 1, &one, NULL), 0);
            assert_int_equal(ff__workload_open(specs[i], seed, &other, NULL), 0);
            assert_int_equal(ff__workload_footprint(one), ff__workload_footprint(other));
            assert_true(find_launch(one, specs[i][0] == 's' ? 1 : 0, &kernel));
            for (uint32_t index = 0; index < 10; index++) {
                memset(&a, 0, sizeof a);
                memset(&b, 0, sizeof b);
                kernel.step(one, &kernel, 0, 0, index, &a);
                kernel.step(other, &kernel, 0, 0, index, &b);
                different += memcmp(&a, &b, sizeof a) != 0;
            }
            ff__workload_close(one);
            ff__workload_close(other);
        }
        if (different == 0)
            fail_msg("%s does the same for every seed", specs[i]);
    }
}

static void test_at(void **state) {
    unsigned count = 0;
    (void)state;
    for (; ff__workload_at(count); count++) {
        const struct ff__workload_type *type = ff__workload_at(count);
        bool is_network = strcmp(type->params[0].name, "batch") == 0;
        assert_true(is_network || strcmp(type->params[0].name, "size") == 0);
        assert_true(strlen(type->summary) < 90);
        for (const struct ff_param *param = type->params; param->name; param++) {
            assert_true(param - type->params < FF_PARAMS_MAX);
            assert_true(param->min <= param->initial && param->initial <= param->max);
            assert_non_null(param->help);
        }
    }
    assert_true(count >= 23);
    assert_null(ff__workload_at(count + 100));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_at),
        cmocka_unit_test(test_every_parameter), /* the last: it limits memory */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
