/* Any text is a graph whose rows are in order and whose edges lead to its nodes, or it is refused
 * in one line. */
#include "fuzz/fuzz.h"

#include "workload/graph/graph.h"

static void check_graph(const struct ff__graph *graph) {
    FUZZ_EXPECT(graph->first[0] == 0 && graph->first[graph->nodes] == graph->edges);
    for (uint32_t v = 0; v < graph->nodes; v++)
        FUZZ_EXPECT(graph->first[v] <= graph->first[v + 1]);
    for (uint64_t edge = 0; edge < graph->edges; edge++)
        FUZZ_EXPECT(graph->to[edge] < graph->nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    struct ff__graph graph;
    struct ff_error error = {{0}};
    bool both = size > 0 && data[0] % 2;
    int status = ff__graph_parse(text, size, "graph", both, &graph, &error);
    FUZZ_EXPECT(status == 0 || (status == -EINVAL && error.message[0] && !graph.first));
    if (status == 0)
        check_graph(&graph);
    ff__graph_free(&graph);
    free(text);
    return 0;
}
