/* Graphs: generators and readers. */
#include "workload/walk.h"

#include "workload/graph/graph.h"

#include <errno.h>
#include <unistd.h>

/* ---- files ---- */

struct good {
    const char *text;
    bool both;
    uint32_t nodes;
    const char *edges; /* as print_edges() has them */
};

static const struct good good[] = {
    {"0 1\n1 2\n", false, 3, "0>1 1>2 "},
    {"0 1\n1 2", false, 3, "0>1 1>2 "},
    {"# comment\n\n% another\n  0\t1  \r\n2,0,17 comment\n", false, 3, "0>1 2>0 "},
    {"0 1\n1 2\n", true, 3, "0>1 1>0 1>2 2>1 "},
    {"5 5\n", false, 6, "5>5 "},
    {"100 100\n", false, 1, "0>0 "}, /* gaps closed */
    {"1000000 7\n7 3000000000\n", false, 3, "0>2 1>0 "},
    {"3 0\n3 2\n3 1\n", false, 4, "3>0 3>2 3>1 "},
    {"%%MatrixMarket matrix coordinate pattern general\n% c\n3 3 2\n1 2\n3 1\n", false, 3,
     "0>1 2>0 "},
    {"%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 0.5\n3 3 1e-3\n", false, 3,
     "0>1 1>0 2>2 "},
    {"%%matrixmarket MATRIX coordinate integer general\n2 5 1\n2 5 9\n", false, 5, "1>4 "},
};

static void print_edges(const struct ff__graph *graph, char *out, size_t size) {
    *out = '\0';
    for (uint32_t v = 0; v < graph->nodes; v++)
        for (uint64_t e = graph->first[v]; e < graph->first[v + 1]; e++)
            snprintf(out + strlen(out), size - strlen(out), "%u>%u ", v, graph->to[e]);
}

static void test_good(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct ff__graph graph;
        struct ff_error error = {{0}};
        char edges[256];
        if (ff__graph_parse(good[i].text, strlen(good[i].text), "g", good[i].both, &graph, &error))
            fail_msg("'%s': %s", good[i].text, error.message);
        assert_int_equal(graph.nodes, good[i].nodes);
        print_edges(&graph, edges, sizeof edges);
        assert_string_equal(edges, good[i].edges);
        ff__graph_free(&graph);
    }
}

#define GENERAL "%%MatrixMarket matrix coordinate pattern general\n"

static const struct {
    const char *text, *says;
} bad[] = {
    {"", "g: no edges"},
    {"# nothing\n\n", "g: no edges"},
    {"0 1\nhello\n", "g:2: not two node numbers: 'hello'"},
    {"0\n", "g:1: not two node numbers: '0'"},
    {"0 -1\n", "g:1: not two node numbers"},
    {"0 1x\n", "g:1: not two node numbers"},
    {"0 99999999999999999999999\n", "g:1: not two node numbers"},
    {"%%MatrixMarket matrix array real general\n2 2\n", "g:1: must be a 'matrix coordinate'"},
    {"%%MatrixMarket", "g:1: must be a 'matrix coordinate'"},
    {"%%MatrixMarket matrix coordinate real\n1 1 1\n", "g:1: must be general, symmetric"},
    {GENERAL, "g:1: the line with its size is missing"},
    {GENERAL "3 3\n", "g:2: must be rows, columns, entries: '3 3'"},
    {GENERAL "3 3 0\n", "g:2: not as many entries in the file"},
    {GENERAL "3 3 99999999999\n1 1\n", "g:2: not as many entries in the file"},
    {GENERAL "999999999 3 1\n1 1\n", "g:2: too large, or too empty"},
    {GENERAL "3 3 2\n1 1\n \n", "g:4: ends after 1 of 2 entries"},
    {GENERAL "3 3 1\n1 1\n2 2\n", "g:4: more entries than announced: '2 2'"},
    {GENERAL "3 3 1\n4 1\n", "g:3: outside of the matrix: '4 1'"},
    {GENERAL "3 3 1\n0 1\n", "g:3: outside of the matrix: '0 1'"},
    {GENERAL "3 3 1\n1 a\n", "g:3: not a row and a column: '1 a'"},
};

static void test_bad(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct ff__graph graph;
        struct ff_error error = {{0}};
        int status = ff__graph_parse(bad[i].text, strlen(bad[i].text), "g", false, &graph, &error);
        if (status != -EINVAL || !strstr(error.message, bad[i].says))
            fail_msg("'%s' gives %d, '%s'", bad[i].text, status, error.message);
        assert_null(graph.first);
        assert_null(graph.to);
    }
}

/* Every prefix of a good text is a graph or an error, never more than that. */
static void test_prefixes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        for (size_t length = 0; length < strlen(good[i].text); length++) {
            char *copy = malloc(length + 1); /* so that a read behind its end is noticed */
            struct ff__graph graph;
            memcpy(copy, good[i].text, length);
            copy = realloc(copy, length ? length : 1);
            int status = ff__graph_parse(copy, length, "g", good[i].both, &graph, NULL);
            assert_true(status == 0 || status == -EINVAL);
            ff__graph_free(&graph);
            free(copy);
        }
    }
}

/* Two triangles joined by a bridge, walked from a file: levels 1, 2, 1, 2. */
static void test_file(void **state) {
    char path[] = "/tmp/farfault-graph-XXXXXX", spec[96];
    const char text[] = "0 1\n0 2\n1 2\n2 3\n3 4\n3 5\n4 5\n";
    struct ff__kernel kernel;
    int file = mkstemp(path);
    (void)state;
    assert_true(file >= 0);
    assert_int_equal(write(file, text, sizeof text - 1), sizeof text - 1);
    close(file);
    snprintf(spec, sizeof spec, "bfs:graph=%s,both=1", path);
    struct ff__workload *workload = open_workload(spec);
    assert_int_equal(workload->arrays[4].bytes, 14 * 4);
    assert_true(find_launch(workload, 7, &kernel));
    assert_false(find_launch(workload, 8, &kernel));
    ff__workload_close(workload);
    snprintf(spec, sizeof spec, "sssp:graph=%s", path);
    ff__workload_close(open_workload(spec));
    unlink(path);
}

/* ---- generators ---- */

static void check_graph(const struct ff__graph *graph) {
    assert_int_equal(graph->first[0], 0);
    assert_int_equal(graph->first[graph->nodes], graph->edges);
    for (uint32_t v = 0; v < graph->nodes; v++)
        assert_true(graph->first[v] <= graph->first[v + 1]);
    for (uint64_t e = 0; e < graph->edges; e++)
        assert_true(graph->to[e] < graph->nodes);
}

static uint64_t largest_degree(const struct ff__graph *graph) {
    uint64_t most = 0;
    for (uint32_t v = 0; v < graph->nodes; v++)
        most = graph->first[v + 1] - graph->first[v] > most ? graph->first[v + 1] - graph->first[v]
                                                            : most;
    return most;
}

static void test_rodinia(void **state) {
    struct ff__graph graph, again;
    (void)state;
    assert_int_equal(ff__graph_rodinia(10000, 59990, 3, &graph, NULL), 0);
    assert_int_equal(ff__graph_rodinia(10000, 59990, 3, &again, NULL), 0);
    check_graph(&graph);
    assert_int_equal(graph.edges, 59990);
    assert_memory_equal(graph.to, again.to, graph.edges * sizeof *graph.to);
    for (uint32_t v = 0; v < graph.nodes; v++)
        assert_true(graph.first[v + 1] - graph.first[v] >= 2);
    assert_in_range(largest_degree(&graph), 10, 25);
    ff__graph_free(&graph);
    ff__graph_free(&again);
}

static void test_uniform(void **state) {
    struct ff__graph graph;
    (void)state;
    assert_int_equal(ff__graph_uniform(1000, 5, 3, &graph, NULL), 0);
    check_graph(&graph);
    for (uint32_t v = 0; v < 1000; v++) {
        assert_int_equal(graph.first[v], 5 * v);
        for (int i = 0; i < 5; i++) {
            assert_int_not_equal(graph.to[5 * v + (unsigned)i], v);
            for (int k = 0; k < i; k++)
                assert_int_not_equal(graph.to[5 * v + (unsigned)i], graph.to[5 * v + (unsigned)k]);
        }
    }
    ff__graph_free(&graph);
}

static void test_power(void **state) {
    struct ff__graph graph;
    (void)state;
    assert_int_equal(ff__graph_power(10000, 8, 3, &graph, NULL), 0);
    check_graph(&graph);
    assert_int_equal(graph.edges, 80000);
    assert_true(largest_degree(&graph) > 400); /* node 0: a hundredth of all ends */
    ff__graph_free(&graph);
}

static void test_refused(void **state) {
    struct ff__graph graph;
    struct ff_error error;
    (void)state;
    assert_int_equal(ff__graph_rodinia(1, 0, 1, &graph, &error), -EINVAL);
    assert_int_equal(ff__graph_uniform(10, 10, 1, &graph, &error), -EINVAL);
    assert_int_equal(ff__graph_power(UINT32_MAX, 2, 1, &graph, &error), -EINVAL);
    assert_int_equal(ff__graph_power(1 << 20, 1 << 20, 1, &graph, &error), -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),     cmocka_unit_test(test_bad),
        cmocka_unit_test(test_prefixes), cmocka_unit_test(test_file),
        cmocka_unit_test(test_rodinia),  cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_power),    cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
