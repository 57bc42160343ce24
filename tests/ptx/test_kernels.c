/* Every kernel of kernels/ equals its twin in plain C, by either schedule, on a device whose memory
 * is smaller than the data of some; some also as they are recorded. */
#include "ptx/bench.h"

#include "kernels.h"

#define TOPICS_MAX 16

static void launch(struct bench *bench, const char *name, const struct kernel_plan *plan,
                   void *const *buffers, enum ff__ptx_schedule schedule) {
    struct ff_error error = {0};
    struct kernel_parameters parameters;
    struct ff__ptx_launch launch = {.shared = plan->shared, .schedule = schedule};
    launch.parameters = &parameters;
    launch.parameter_size = kernel_plan_parameters(plan, buffers, &parameters);
    memcpy(launch.grid, plan->grid, sizeof launch.grid);
    memcpy(launch.block, plan->block, sizeof launch.block);
    if (run_launch(bench, name, &launch, &error) != 0)
        fail_msg("%s: %s", name, error.message);
}

static void check(struct bench *bench, const struct kernel_case *kernel,
                  enum ff__ptx_schedule schedule) {
    struct kernel_plan plan;
    void *buffers[KERNEL_BUFFERS];
    kernel_plan_make(&plan, kernel, kernel->n);
    for (int i = 0; i < plan.buffer_count; i++) {
        assert_int_equal(ff_mem_alloc(bench->context, plan.buffers[i].size, &buffers[i]), 0);
        memcpy(buffers[i], plan.buffers[i].data, plan.buffers[i].size);
    }
    launch(bench, kernel->name, &plan, buffers, schedule);
    kernel->twin(&plan);
    for (int i = 0; i < plan.buffer_count; i++) {
        const struct kernel_buffer *buffer = &plan.buffers[i];
        long at = kernel_difference(buffer, buffers[i], kernel->tolerance);
        if (at >= 0)
            fail_msg("%s, schedule %d, buffer %d, element %ld: %.9g instead of %.9g", kernel->name,
                     (int)schedule, i, at, kernel_element(buffer->type, buffers[i], (size_t)at),
                     kernel_element(buffer->type, buffer->data, (size_t)at));
        ff_mem_free(bench->context, buffers[i]);
    }
    kernel_plan_free(&plan);
}

static void equals_its_twin(void **state) {
    const struct kernel_topic *topic = *state;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.ptx", KERNELS_PTX, topic->name);
    struct bench bench = open_bench(path, 1);
    for (int i = 0; i < topic->count; i++) {
        check(&bench, &topic->cases[i], FF__PTX_TURNS);
        check(&bench, &topic->cases[i], FF__PTX_SERIAL);
    }
    close_bench(&bench);
}

/* Of the topics whose lanes part most: those that others are among run in code of its own. */
static void equals_its_twin_recorded(void **state) {
    const struct kernel_topic *topic = *state;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.ptx", KERNELS_PTX, topic->name);
    struct ff_config config = standard_config(16 << 20);
    config.workers = 2;
    struct bench bench = open_bench_as(path, 1, &config, &(struct ff__ptx_options){.record = true});
    for (int i = 0; i < topic->count; i++)
        check(&bench, &topic->cases[i], FF__PTX_TURNS);
    close_bench(&bench);
}

static bool lanes_part(const char *topic) {
    return strcmp(topic, "graph") == 0 || strcmp(topic, "sparse") == 0;
}

int main(void) {
    struct CMUnitTest tests[2 * TOPICS_MAX] = {{0}};
    size_t count = 0;
    if (kernel_topic_count > TOPICS_MAX)
        return 1;
    for (int i = 0; i < kernel_topic_count; i++) {
        void *topic = (void *)kernel_topics[i];
        const char *name = kernel_topics[i]->name;
        tests[count++] = (struct CMUnitTest){name, equals_its_twin, NULL, NULL, topic};
        if (lanes_part(name))
            tests[count++] = (struct CMUnitTest){name, equals_its_twin_recorded, NULL, NULL, topic};
    }
    return _cmocka_run_group_tests("kernels", tests, count, NULL, NULL);
}
