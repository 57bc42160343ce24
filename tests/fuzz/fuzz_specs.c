/* Any list of systems or workloads is split into names that are its own, no two alike, or refused
 * with a reason; any workload of it, too, is opened or refused. */
#include "fuzz/fuzz.h"

#include "study/specs.h"
#include "workload/model.h"
#include "workload/workload.h"

static void check_split(const struct ff__words *specs) {
    FUZZ_EXPECT(specs->count > 0);
    for (unsigned i = 0; i < specs->count; i++) {
        const char *spec = specs->items[i];
        FUZZ_EXPECT(spec[0] && spec[0] != ',' && spec[strcspn(spec, ":=")] != '=');
        for (unsigned j = 0; j < i; j++)
            FUZZ_EXPECT(strcmp(spec, specs->items[j]) != 0);
    }
}

static bool has_name(const char *spec, const char *name) {
    size_t length = strlen(name);
    return strncmp(spec, name, length) == 0 && (spec[length] == ':' || spec[length] == '\0');
}

/* Graphs and networks are made when they are opened, as large as asked for; a file can be anything,
 * and the name of a network of the user's is the path of one. */
static bool is_described_only(const char *spec) {
    static const char *const graphs[] = {"bfs", "bfs_levels", "sssp"};
    const struct ff__network *network;
    if (strchr(spec, '/') || strstr(spec, ".txt"))
        return false;
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++)
        if (has_name(spec, graphs[i]))
            return false;
    for (unsigned i = 0; (network = ff__network_at(i)); i++)
        if (has_name(spec, ff__network_type(network)->name))
            return false;
    return true;
}

static void check_workload(const char *spec) {
    struct ff__workload *workload = NULL;
    struct ff__action action;
    struct ff_error error = {""};
    int status = ff__workload_open(spec, 1, &workload, &error);
    FUZZ_EXPECT((status == 0) == (workload != NULL));
    FUZZ_EXPECT((status == 0) == (error.message[0] == '\0'));
    FUZZ_EXPECT(!strpbrk(error.message, "\n\r") || strpbrk(spec, "\n\r"));
    for (uint64_t i = 0; workload && i < 1000 && workload->type->action(workload, i, &action); i++)
        FUZZ_EXPECT(action.array < workload->array_count || action.kind == FF__ACTION_LAUNCH ||
                    action.kind == FF__ACTION_SYNCHRONIZE);
    ff__workload_close(workload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ff__words specs;
    struct ff_error error = {""};
    char *list = fuzz_text(data, size);
    int status = ff__specs_split(list, &specs, &error);
    FUZZ_EXPECT(status == 0 || status == -EINVAL);
    FUZZ_EXPECT((status == 0) == (error.message[0] == '\0'));
    if (status == 0) {
        check_split(&specs);
        for (unsigned i = 0; i < specs.count; i++)
            if (is_described_only(specs.items[i]))
                check_workload(specs.items[i]);
        ff__words_free(&specs);
    }
    free(list);
    return 0;
}
