/* Long, Gong, Zhou and Zhang, arXiv 2203.12672, section 7: the simulator's tables and figures.
 *
 * A predictor is pre-trained on five of the programs, at other sizes than those that are then run,
 * and fine-tuned while it runs. IPC is by GPGPU-Sim's cycles, which leave out what a far fault
 * costs beyond its transfer; total IPC has it in (UVMSmart adds 45 us a fault afterwards).
 *
 * Everything is run twice: cut where the paper's runs end, which simulate a number of instructions
 * that its Table 10 prints, and to its end. A program that ends before that is run to its end. The
 * runs of its Figure 11 are the first 2 M instructions of one program. */
#include "base/checksum.h"
#include "base/new_file.h"
#include "learn/finetune.h"
#include "report/complain.h"
#include "report/json.h"
#include "study/find.h"
#include "study/repro/hlsh.h"
#include "study/repro/link_use.h"
#include "study/repro/training_data.h"
#include "study/sim/simulations.h"
#include "study/specs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DISTANCE 30u
#define LANES    32 /* the paper counts instructions of threads */

/* ---- what runs ---- */

/* Pre-training: a quarter less memory than what is run, so that rows and strides are others. */
static const char corpus_list[] =
    "atax:n=1040,backprop:inputs=98304,bicg:n=1040,hotspot:n=896,nw:n=880";

/* The order is that of the corpus, for those in it. */
static const char *const taught[] = {"atax", "backprop", "bicg", "hotspot", "nw"};
#define TAUGHT  (sizeof taught / sizeof taught[0])
#define UNKNOWN 60000u /* a program whose code the predictor has never seen */

enum column {
    DEMAND,
    UVMSMART,
    NVIDIA,
    NVIDIA_1,
    ORACLE,
    LEAF,         /* without any prediction, cut into transfers as UVMSmart's are */
    LEAF_REQUEST, /* the same, as one request */
    HLSH_CUT,
    HLSH,              /* at 1, 2, 5, 10 us, as the others */
    FIRST = HLSH + 4,  /* predictions at first accesses, too, that bring a leaf */
    WAITS = FIRST + 4, /* not fine-tuned: of these only the order is of interest */
    FIRST_WAITS = WAITS + 4,
    TREE = FIRST_WAITS + 4,
    OWN = TREE + 4, /* not pre-trained */
    CONTEXT,        /* ours: tables instead of a network */
    COLUMNS
};

/* `learned`: the model and the program are put behind it. */
static const struct {
    const char *system;
    bool learned;
} columns[COLUMNS] = {
    [DEMAND] = {"demand:evict=lru-2m", false},
    [UVMSMART] = {"uvmsmart", false},
    [NVIDIA] = {"nvidia", false},
    [NVIDIA_1] = {"nvidia-1", false},
    [ORACLE] = {"oracle", false},
    [LEAF] = {"demand:prefetch=sequential,evict=lru-2m", false},
    [LEAF_REQUEST] = {"hlsh:steps=0", false}, /* it knows nothing, and learns nothing */
    [HLSH_CUT] = {"hlsh:request=0,latency=1us", true},
    [HLSH] = {"hlsh:latency=1us", true},
    [HLSH + 1] = {"hlsh:latency=2us", true},
    [HLSH + 2] = {"hlsh:latency=5us", true},
    [HLSH + 3] = {"hlsh:latency=10us", true},
    [FIRST] = {"hlsh:touches=1,bring=1,latency=1us", true},
    [FIRST + 1] = {"hlsh:touches=1,bring=1,latency=2us", true},
    [FIRST + 2] = {"hlsh:touches=1,bring=1,latency=5us", true},
    [FIRST + 3] = {"hlsh:touches=1,bring=1,latency=10us", true},
    [WAITS] = {"hlsh:latency=1us,wait=1,steps=0", true},
    [WAITS + 1] = {"hlsh:latency=2us,wait=1,steps=0", true},
    [WAITS + 2] = {"hlsh:latency=5us,wait=1,steps=0", true},
    [WAITS + 3] = {"hlsh:latency=10us,wait=1,steps=0", true},
    [FIRST_WAITS] = {"hlsh:touches=1,bring=1,latency=1us,wait=1,steps=0", true},
    [FIRST_WAITS + 1] = {"hlsh:touches=1,bring=1,latency=2us,wait=1,steps=0", true},
    [FIRST_WAITS + 2] = {"hlsh:touches=1,bring=1,latency=5us,wait=1,steps=0", true},
    [FIRST_WAITS + 3] = {"hlsh:touches=1,bring=1,latency=10us,wait=1,steps=0", true},
    [TREE] = {"hlsh-tree:latency=1us", true},
    [TREE + 1] = {"hlsh-tree:latency=2us", true},
    [TREE + 2] = {"hlsh-tree:latency=5us", true},
    [TREE + 3] = {"hlsh-tree:latency=10us", true},
    [OWN] = {"hlsh-tree", false},
    [CONTEXT] = {"context", false},
};

/* A set of runs, and its tables. */
struct hlsh_part {
    const char *programs;      /* the published rows of what is run */
    bool cut;                  /* where the rows say */
    const char *prefix, *what; /* of its tables */
};

static const struct hlsh_part whole = {"programs", false, "", ""};
static const struct hlsh_part cut = {"programs", true, "cut.", "; runs cut as published"};
static const struct hlsh_part window = {"figure11", true, "figure11.", "; Figure 11"};

struct hlsh_sim_repro {
    struct ff__gpu gpu;
    uint64_t seed;
    uint32_t steps;               /* of pre-training */
    const struct hlsh_part *part; /* what is run now */
    char model[256];              /* a file */
    uint32_t checksum;            /* of the model */
    const json_t *rows;           /* the published ones of the programs */
    struct ff__simulations runs;  /* [program][column] */
    unsigned programs;
};

/* ---- pre-training ---- */

static int learn(struct hlsh_sim_repro *work, struct ff__training_data *data,
                 struct ff__model *model) {
    struct ff__corpus corpus;
    struct ff_error error;
    int status = ff__training_data_record(data, 0, data->workloads.count, &corpus);
    if (status)
        return status;
    status = ff__finetune(model, &corpus, work->steps);
    ff__corpus_fini(&corpus);
    if (status)
        return ff__complain(FF__EXIT_FAILURE, "pre-training: %s", strerror(-status));
    snprintf(model->subject, sizeof model->subject, "%s", corpus_list);
    if (ff__model_write(model, work->model, &error))
        return ff__complain(FF__EXIT_FAILURE, "%s", error.message);
    return 0;
}

static int train_model(struct hlsh_sim_repro *work) {
    struct ff__training_data data = {
        .gpu = work->gpu, .seed = work->seed, .distance = DISTANCE, .halvings = 1};
    struct ff__model model = {.distance = DISTANCE, .seed = work->seed};
    struct ff_error error;
    if (ff__specs_split(corpus_list, &data.workloads, &error))
        return ff__complain(FF__EXIT_FAILURE, "%s", error.message);
    int status = learn(work, &data, &model);
    ff__model_fini(&model);
    ff__training_data_free(&data);
    return status;
}

/* The bytes of the model's file, which the caller frees; NULL: errno says why. */
static void *read_model(const struct hlsh_sim_repro *work, size_t *size) {
    struct stat about;
    void *bytes = NULL;
    int fd = open(work->model, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &about) == 0) {
        bytes = ff__must(malloc((size_t)about.st_size + 1));
        *size = (size_t)about.st_size;
        if (read(fd, bytes, *size) != about.st_size) {
            free(bytes);
            bytes = NULL;
        }
    }
    close(fd);
    return bytes;
}

struct file_bytes {
    const void *start;
    size_t size;
};

static int print_bytes(FILE *stream, const void *self) {
    const struct file_bytes *bytes = self;
    fwrite(bytes->start, 1, bytes->size, stream);
    return 0;
}

static int write_model(const struct hlsh_sim_repro *work, const void *start, size_t size) {
    const struct file_bytes bytes = {start, size};
    int status = ff__file_write(work->model, print_bytes, &bytes);
    return status ? ff__complain(FF__EXIT_FAILURE, "%s: %s", work->model, strerror(-status)) : 0;
}

/* Training takes minutes: the model is kept as runs are. */
static int pretrain(struct hlsh_sim_repro *work, struct ff__store *store) {
    const struct ff__store_key key = {.subject = corpus_list,
                                      .system = "hlsh, pre-trained",
                                      .device = work->gpu.name,
                                      .seed = work->seed,
                                      .options = "",
                                      .data =
                                          ff__crc32c(work->steps, &work->gpu, sizeof work->gpu)};
    struct ff_error error;
    size_t size = 0;
    void *kept = store ? ff__store_find(store, &key, &size) : NULL;
    int status = kept ? write_model(work, kept, size) : train_model(work);
    void *bytes = status ? NULL : read_model(work, &size);
    if (!status && !bytes)
        status = ff__complain(FF__EXIT_FAILURE, "%s: %s", work->model, strerror(errno));
    if (!status)
        work->checksum = ff__crc32c(0, bytes, size);
    if (!status && !kept && store && ff__store_add(store, &key, (double)NAN, bytes, size, &error))
        ff__complain(0, "the pre-trained model could not be kept: %s", error.message);
    free(bytes);
    free(kept);
    return status;
}

/* ---- runs ---- */

static unsigned program_number(const char *workload) {
    for (unsigned i = 0; i < TAUGHT; i++)
        if (strcmp(taught[i], workload) == 0)
            return i;
    return UNKNOWN;
}

/* One that has to be larger to be as long as the paper's has a workload of its own. */
static const char *workload_of(const struct hlsh_sim_repro *work, const json_t *program) {
    const char *longer = ff__repro_text(program, "cut_workload");
    return work->part->cut && longer[0] ? longer : ff__repro_text(program, "workload");
}

/* Of warps; 0: the run is not cut. A program that is cut elsewhere than the paper prints says so.
 */
static uint64_t limit_of(const struct hlsh_sim_repro *work, const json_t *program) {
    double elsewhere = ff__repro_number(program, "cut_instructions");
    double limit = elsewhere > 0 ? elsewhere : ff__repro_number(program, "instructions");
    return work->part->cut ? (uint64_t)limit / LANES : 0;
}

/* The model's file has another name each time. */
static void plan_run(struct hlsh_sim_repro *work, const json_t *program, unsigned column) {
    const char *system = columns[column].system;
    char separator = strchr(system, ':') ? ',' : ':';
    unsigned number = program_number(ff__repro_text(program, "workload"));
    char *name = ff__text("%s%cmodel=%s,program=%u", system, separator, work->model, number);
    char *shown =
        ff__text("%s%cmodel=%08x,program=%u", system, separator, (unsigned)work->checksum, number);
    const struct ff__simulation simulation = {
        .subject = {workload_of(work, program), false, work->seed},
        .instructions = limit_of(work, program),
        .gpu = &work->gpu,
        .system = columns[column].learned ? name : system,
        .known_as = columns[column].learned ? shown : NULL,
        .devices = 1,
    };
    ff__simulations_append(&work->runs, &simulation);
    free(name);
    free(shown);
}

static void plan_runs(struct hlsh_sim_repro *work, const json_t *programs) {
    size_t i;
    json_t *program;
    ff__simulations_free(&work->runs);
    work->rows = programs;
    work->programs = (unsigned)json_array_size(programs);
    json_array_foreach(programs, i, program) for (unsigned c = 0; c < COLUMNS; c++)
        plan_run(work, program, c);
}

/* ---- figures ---- */

typedef double figure(const struct hlsh_sim_repro *work, unsigned program, enum column column);

static const struct ff__sim_result *result_of(const struct hlsh_sim_repro *work, unsigned program,
                                              enum column column) {
    const struct ff__simulated *simulated =
        ff__simulations_at(&work->runs, program * COLUMNS + column);
    return simulated->good ? &simulated->result : NULL;
}

static double kernel_speed(const struct ff__sim_result *r) {
    return r ? (double)r->instructions / (double)r->kernel_ns : (double)NAN;
}

static double total_speed(const struct ff__sim_result *r) {
    return r ? (double)r->instructions / (double)(r->kernel_ns + r->fault_ns) : (double)NAN;
}

static double ipc(const struct hlsh_sim_repro *work, unsigned program, enum column column) {
    return kernel_speed(result_of(work, program, column)) /
           kernel_speed(result_of(work, program, UVMSMART));
}

static double total(const struct hlsh_sim_repro *work, unsigned program, enum column column) {
    return total_speed(result_of(work, program, column)) /
           total_speed(result_of(work, program, UVMSMART));
}

static double hit_rate(const struct hlsh_sim_repro *work, unsigned program, enum column column) {
    const struct ff__sim_result *r = result_of(work, program, column);
    return r ? ff__sim_hit_rate(r) : (double)NAN;
}

/* As UVMSmart counts: of all walks of the page table, those that find a valid page. */
static double walk_hits(const struct hlsh_sim_repro *work, unsigned program, enum column column) {
    const struct ff__sim_result *r = result_of(work, program, column);
    return r ? 1 - (double)(r->accesses - r->hits) / (double)r->walks : (double)NAN;
}

/* Of all accesses of warps. */
static double access_hits(const struct hlsh_sim_repro *work, unsigned program, enum column column) {
    const struct ff__sim_result *r = result_of(work, program, column);
    return r ? (double)r->hits / (double)r->accesses : (double)NAN;
}

/* Of pages, with those that are under way when they are first accessed. */
static double coming_hits(const struct hlsh_sim_repro *work, unsigned program, enum column column) {
    const struct ff__sim_result *r = result_of(work, program, column);
    return r ? 1 - (double)r->faults / (double)r->demanded : (double)NAN;
}

static double accuracy(const struct hlsh_sim_repro *work, unsigned program, enum column column) {
    const struct ff__sim_result *r = result_of(work, program, column);
    return r ? ff__sim_accuracy(r) : (double)NAN;
}

static double coverage(const struct hlsh_sim_repro *work, unsigned program, enum column column) {
    const struct ff__sim_result *r = result_of(work, program, column);
    const struct ff__sim_result *without = result_of(work, program, DEMAND);
    return r && without ? ff__sim_coverage(r, without) : (double)NAN;
}

static double unity(const struct hlsh_sim_repro *work, unsigned program, enum column column) {
    return cbrt(accuracy(work, program, column) * coverage(work, program, column) *
                hit_rate(work, program, column));
}

static double bytes(const struct ff__sim_result *r) {
    return r ? (double)(r->bytes_in + r->bytes_out) : (double)NAN;
}

static double traffic(const struct hlsh_sim_repro *work, unsigned program, enum column column) {
    return bytes(result_of(work, program, column)) / bytes(result_of(work, program, UVMSMART));
}

static double instructions(const struct hlsh_sim_repro *work, unsigned program,
                           enum column column) {
    const struct ff__sim_result *r = result_of(work, program, column);
    return r ? (double)r->instructions * LANES : (double)NAN;
}

static double faults(const struct hlsh_sim_repro *work, unsigned program, enum column column) {
    const struct ff__sim_result *r = result_of(work, program, column);
    return r ? (double)r->faults : (double)NAN;
}

/* ---- tables ---- */

static json_t *add_table(const struct hlsh_sim_repro *work, json_t *tables, const char *id,
                         const char *what) {
    char *full = ff__text("%s%s", work->part->prefix, id);
    char *text = ff__text("%s%s", what, work->part->what);
    json_t *table = ff__repro_table(tables, full, text);
    free(full);
    free(text);
    return table;
}

/* A row a program; `member`: of the published row, or NULL. */
struct program_row {
    const char *id, *what, *member;
    enum column column;
    figure *ours;
};

static const struct program_row by_program[] = {
    {"10.instructions", "instructions of threads", "instructions", HLSH, instructions},
    {"10.hit.uvmsmart", "hit rate: uvmsmart", "hit_u", UVMSMART, hit_rate},
    {"10.hit.hlsh", "hit rate: hlsh", "hit_r", HLSH, hit_rate},
    {"10.walks.uvmsmart", "hit rate of walks: uvmsmart", "hit_u", UVMSMART, walk_hits},
    {"10.walks.hlsh", "hit rate of walks: hlsh", "hit_r", HLSH, walk_hits},
    {"10.accesses.uvmsmart", "hit rate of accesses: uvmsmart", "hit_u", UVMSMART, access_hits},
    {"10.accesses.hlsh", "hit rate of accesses: hlsh", "hit_r", HLSH, access_hits},
    {"10.coming.uvmsmart", "hit rate, pages under way as hits: uvmsmart", "hit_u", UVMSMART,
     coming_hits},
    {"10.coming.hlsh", "hit rate, pages under way as hits: hlsh", "hit_r", HLSH, coming_hits},
    {"11.accuracy.uvmsmart", "accuracy: uvmsmart", "accuracy_u", UVMSMART, accuracy},
    {"11.accuracy.hlsh", "accuracy: hlsh", "accuracy_r", HLSH, accuracy},
    {"11.accuracy.first", "accuracy: hlsh, predictions at first accesses", "accuracy_r", FIRST,
     accuracy},
    {"11.coverage.uvmsmart", "coverage: uvmsmart", "coverage_u", UVMSMART, coverage},
    {"11.coverage.hlsh", "coverage: hlsh", "coverage_r", HLSH, coverage},
    {"11.unity.uvmsmart", "unity: uvmsmart", "unity_u", UVMSMART, unity},
    {"11.unity.hlsh", "unity: hlsh", "unity_r", HLSH, unity},
    {"11.unity.tree", "unity: hlsh-tree", "unity_r", TREE, unity},
    {"figure10.hlsh", "IPC, uvmsmart = 1: hlsh at 1 us", "ipc", HLSH, ipc},
    {"figure10.first", "IPC, uvmsmart = 1: hlsh at 1 us, predictions at first accesses", "ipc",
     FIRST, ipc},
    {"figure10.waits.1us", "IPC, uvmsmart = 1: hlsh at 1 us, faults wait for their predictions",
     "ipc", WAITS, ipc},
    {"figure10.waits.2us", "the same at 2 us", NULL, WAITS + 1, ipc},
    {"figure10.waits.5us", "the same at 5 us", NULL, WAITS + 2, ipc},
    {"figure10.waits.10us", "the same at 10 us", NULL, WAITS + 3, ipc},
    {"total.hlsh", "total IPC, uvmsmart = 1: hlsh at 1 us", "ipc", HLSH, total},
    {"total.tree", "total IPC, uvmsmart = 1: hlsh-tree at 1 us", "ipc", TREE, total},
    {"11.unity.context", "unity: context", NULL, CONTEXT, unity},
    {"total.context", "total IPC, uvmsmart = 1: context", NULL, CONTEXT, total},
    {"figure12.hlsh", "link traffic, uvmsmart = 1: hlsh", NULL, HLSH, traffic},
    {"figure12.demand", "link traffic, uvmsmart = 1: only what is asked for", NULL, DEMAND,
     traffic},
    {"faults.uvmsmart", "far faults: uvmsmart", NULL, UVMSMART, faults},
    {"faults.leaf", "far faults: the leaf alone", NULL, LEAF, faults},
    {"faults.hlsh", "far faults: hlsh", NULL, HLSH, faults},
    {"faults.tree", "far faults: hlsh-tree", NULL, TREE, faults},
    {"faults.context", "far faults: context", NULL, CONTEXT, faults},
};

static void program_table(const struct hlsh_sim_repro *work, const struct program_row *made,
                          json_t *tables) {
    json_t *table = add_table(work, tables, made->id, made->what);
    for (unsigned i = 0; i < work->programs; i++) {
        const json_t *program = json_array_get(work->rows, i);
        ff__repro_row(table, ff__repro_text(program, "program"),
                      made->member ? ff__repro_number(program, made->member) : (double)NAN,
                      made->ours(work, i, made->column));
    }
}

static double geomean(const struct hlsh_sim_repro *work, figure *ours, enum column column) {
    struct ff__mean mean = {0};
    for (unsigned i = 0; i < work->programs; i++)
        ff__mean_add(&mean, ours(work, i, column));
    return ff__mean_value(&mean);
}

static double mean(const struct hlsh_sim_repro *work, figure *ours, enum column column) {
    double sum = 0;
    for (unsigned i = 0; i < work->programs; i++)
        sum += ours(work, i, column);
    return sum / work->programs;
}

static void latency_table(const struct hlsh_sim_repro *work, const struct ff__repro_plan *plan,
                          json_t *tables, const char *id, const char *what, enum column first,
                          figure *ours) {
    json_t *table = add_table(work, tables, id, what), *latency;
    size_t i;
    json_array_foreach(json_object_get(plan->published, "latencies"), i, latency)
        ff__repro_row(table, ff__repro_text(latency, "latency"), ff__repro_number(latency, "ipc"),
                      geomean(work, ours, (enum column)(first + i)));
}

/* Everything against uvmsmart, geometric means over the programs; the paper's is for its own. */
static void system_table(const struct hlsh_sim_repro *work, const struct ff__repro_plan *plan,
                         json_t *tables, const char *id, const char *what, const char *member,
                         figure *ours) {
    const json_t *means = json_object_get(plan->published, "means");
    json_t *table = add_table(work, tables, id, what);
    for (unsigned c = 0; c < COLUMNS; c++)
        ff__repro_row(table, columns[c].system,
                      c == HLSH || c == FIRST ? ff__repro_number(means, member) : (double)NAN,
                      geomean(work, ours, (enum column)c));
}

/* Means as the paper forms them: geometric ones of accuracy and coverage, arithmetic ones of hit
 * rate and unity (those of its Table 11 are the ones that it prints). */
static void mean_tables(const struct hlsh_sim_repro *work, const struct ff__repro_plan *plan,
                        json_t *tables) {
    static const struct {
        const char *id, *what, *uvmsmart, *hlsh;
        double (*mean)(const struct hlsh_sim_repro *work, figure *ours, enum column column);
        figure *ours;
    } made[] = {
        {"means.hit", "hit rate, arithmetic means", "hit_u", "hit_r", mean, hit_rate},
        {"means.walks", "hit rate of walks, arithmetic means", "hit_u", "hit_r", mean, walk_hits},
        {"means.accesses", "hit rate of accesses, arithmetic means", "hit_u", "hit_r", mean,
         access_hits},
        {"means.coming", "hit rate, pages under way as hits, arithmetic means", "hit_u", "hit_r",
         mean, coming_hits},
        {"means.accuracy", "accuracy, geometric means", "accuracy_u", "accuracy_r", geomean,
         accuracy},
        {"means.coverage", "coverage, geometric means", "coverage_u", "coverage_r", geomean,
         coverage},
        {"means.unity", "unity, arithmetic means", "unity_u", "unity_r", mean, unity},
    };
    const json_t *means = json_object_get(plan->published, "means");
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        json_t *table = add_table(work, tables, made[i].id, made[i].what);
        for (unsigned c = 0; c < COLUMNS; c++) {
            const char *member = c == UVMSMART ? made[i].uvmsmart : made[i].hlsh;
            bool published = c == UVMSMART || c == HLSH || c == FIRST;
            ff__repro_row(table, columns[c].system,
                          published ? ff__repro_number(means, member) : (double)NAN,
                          made[i].mean(work, made[i].ours, (enum column)c));
        }
    }
}

static void make_tables(const struct hlsh_sim_repro *work, const struct ff__repro_plan *plan,
                        json_t *tables) {
    for (size_t i = 0; i < sizeof by_program / sizeof by_program[0]; i++)
        program_table(work, &by_program[i], tables);
    latency_table(work, plan, tables, "figure10.hlsh.kernels", "IPC, uvmsmart = 1: hlsh", HLSH,
                  ipc);
    latency_table(work, plan, tables, "figure10.first.kernels",
                  "IPC, uvmsmart = 1: hlsh, predictions at first accesses", FIRST, ipc);
    latency_table(work, plan, tables, "figure10.waits.kernels",
                  "IPC, uvmsmart = 1: hlsh, faults wait for their predictions", WAITS, ipc);
    latency_table(work, plan, tables, "figure10.first.waits.kernels",
                  "IPC, uvmsmart = 1: hlsh, predictions at first accesses, faults wait for theirs",
                  FIRST_WAITS, ipc);
    latency_table(work, plan, tables, "figure10.tree.kernels", "IPC, uvmsmart = 1: hlsh-tree", TREE,
                  ipc);
    latency_table(work, plan, tables, "figure10.hlsh.total", "total IPC, uvmsmart = 1: hlsh", HLSH,
                  total);
    latency_table(work, plan, tables, "figure10.waits.total",
                  "total IPC, uvmsmart = 1: hlsh, faults wait for their predictions", WAITS, total);
    latency_table(work, plan, tables, "figure10.tree.total", "total IPC, uvmsmart = 1: hlsh-tree",
                  TREE, total);
    mean_tables(work, plan, tables);
    system_table(work, plan, tables, "systems.ipc", "IPC, uvmsmart = 1", "ipc", ipc);
    system_table(work, plan, tables, "systems.total", "total IPC, uvmsmart = 1", "ipc", total);
    system_table(work, plan, tables, "systems.traffic", "link traffic, uvmsmart = 1", "traffic",
                 traffic);
}

/* Figure 11's axis begins at the launch. */
static double cycles(const struct hlsh_sim_repro *work, unsigned program, enum column column) {
    const struct ff__sim_result *r = result_of(work, program, column);
    double ns = r ? (double)(r->kernel_ns + work->gpu.launch_ns) : (double)NAN;
    return ns * work->gpu.clock_hz / 1e9;
}

static void cycles_table(const struct hlsh_sim_repro *work, json_t *tables) {
    json_t *table = add_table(work, tables, "cycles", "cycles from the launch");
    for (unsigned i = 0; i < work->programs; i++)
        for (unsigned c = 0; c < COLUMNS; c++) {
            const json_t *program = json_array_get(work->rows, i);
            const char *member = c == UVMSMART ? "cycles_u" : c == HLSH ? "cycles_r" : "";
            ff__repro_row(table, columns[c].system, ff__repro_number(program, member),
                          cycles(work, i, (enum column)c));
        }
}

#define INTERVAL_CYCLES 20000u
#define INTERVALS       28u /* up to 560 000 cycles, where the slower of the two ends */

static int link_rows(const struct hlsh_sim_repro *work, enum column column, json_t *table) {
    double bytes_in[INTERVALS];
    struct ff__link_use use = {INTERVAL_CYCLES * 1e9 / work->gpu.clock_hz, INTERVALS, bytes_in};
    struct ff_error error;
    char *trace = ff__text("%s.trace", work->model);
    int status = ff__link_use_find(&work->runs.items[column].what, trace, &use, &error);
    remove(trace);
    free(trace);
    if (status)
        return ff__complain(FF__EXIT_FAILURE, "%s: %s", columns[column].system, error.message);
    /* nothing crosses it before the kernel begins */
    for (unsigned i = (unsigned)((double)work->gpu.launch_ns / use.interval_ns); i < INTERVALS;
         i++) {
        char *name = ff__text("%u000, %s", (i + 1) * INTERVAL_CYCLES / 1000,
                              column == UVMSMART ? "uvmsmart" : "hlsh");
        ff__repro_row(table, name, (double)NAN, use.bytes[i] / use.interval_ns);
        free(name);
    }
    return 0;
}

/* Figure 11 itself; the text has its range alone, 1 to 15 GB/s. */
static int link_table(const struct hlsh_sim_repro *work, json_t *tables) {
    json_t *table =
        add_table(work, tables, "link",
                  "GB/s over the link in the 20 000 cycles up to each, from the launch");
    int status = link_rows(work, UVMSMART, table);
    return status ? status : link_rows(work, HLSH, table);
}

static int window_tables(const struct hlsh_sim_repro *work, json_t *tables) {
    cycles_table(work, tables);
    return link_table(work, tables);
}

/* ---- all ---- */

static int prepare(struct hlsh_sim_repro *work) {
    int status = ff__find_gpu(FF__HLSH_GPU, FF__EXIT_FAILURE, &work->gpu);
    if (status)
        return status;
    const char *temporary = getenv("TMPDIR");
    int length = snprintf(work->model, sizeof work->model, "%s/farfault-hlsh-XXXXXX",
                          temporary ? temporary : P_tmpdir);
    if (length >= (int)sizeof work->model)
        return ff__complain(FF__EXIT_FAILURE, "TMPDIR: too long a name");
    int file = mkstemp(work->model);
    if (file < 0)
        return ff__complain(FF__EXIT_FAILURE, "%s: %s", work->model, strerror(errno));
    close(file);
    return 0;
}

static int run_part(struct hlsh_sim_repro *work, const struct hlsh_part *part,
                    const struct ff__repro_plan *plan) {
    work->part = part;
    plan_runs(work, json_object_get(plan->published, part->programs));
    return ff__simulations_run(&plan->study, &work->runs);
}

int ff__repro_hlsh_sim(const struct ff__repro_plan *plan, json_t *tables) {
    struct hlsh_sim_repro work = {.seed = plan->study.seed};
    json_int_t steps = json_integer_value(json_object_get(plan->published, "pretraining_steps"));
    if (steps < 1 || steps > UINT32_MAX)
        return ff__complain(FF__EXIT_FAILURE,
                            "published/hlsh.json: pretraining_steps: must be a number of steps");
    work.steps = (uint32_t)steps;
    int status = prepare(&work);
    if (status)
        return status;
    const char *parts = plan->parts ? plan->parts : "runs,window";
    bool runs = ff__repro_has_word(parts, "runs"), windows = ff__repro_has_word(parts, "window");
    status = pretrain(&work, plan->study.store);
    if (!status && runs && !(status = run_part(&work, &cut, plan)))
        make_tables(&work, plan, tables);
    if (!status && windows && !(status = run_part(&work, &window, plan)))
        status = window_tables(&work, tables);
    if (!status && runs && !(status = run_part(&work, &whole, plan)))
        make_tables(&work, plan, tables);
    remove(work.model);
    ff__simulations_free(&work.runs);
    return status;
}
