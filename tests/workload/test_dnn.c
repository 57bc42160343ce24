/* Networks: their published sizes, the work of an iteration, memory, and that iterations repeat. */
#include "workload/walk.h"

#include "workload/dnn/dnn.h"

#include <math.h>

#define GIB 1073741824.0

/* Published numbers of parameters: GPT-2's and BERT's as Hugging Face counts them (the output is
 * the embedding), Whisper's too; torchvision's ResNet-50, -101 and -152, VGG16, MobileNetV3-Large,
 * AlexNet and SqueezeNet, timm's ResNet-200, PyTorch's DCGAN example, MobileNet with 100 classes,
 * and DLRM's 33 762 577 rows of 128 with its MLPs. */
static const struct {
    const char *name;
    uint64_t weights;
} networks[] = {
    {"gpt2-xl", 1557611200},
    {"gpt2-l", 774030080},
    {"bert-large", 335174458},
    {"bert-base", 109514298},
    {"resnet50", 25557032},
    {"resnet101", 44549160},
    {"vgg16", 138357544},
    {"gnmt16", 277718593},
    {"mobilenet-v3", 5483032},
    {"resnet152", 60192808},
    {"resnet200", 64673832},
    {"mobilenet", 3309476},
    {"dcgan", 3576704 + 2765568},
    {"alexnet", 61100840},
    {"cifarnet", 145578},
    {"squeezenet", 1235496},
    {"resnet50-inference", 25557032},
    {"bert-inference", 109514298},
    {"whisper", 72593920},
    {"dlrm", UINT64_C(33762577) * 128 + 2368897},
};

static void test_parameters(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        struct ff__workload *workload = open_workload(networks[i].name);
        uint64_t weights = ff__dnn_program(workload)->tape.weights;
        if (weights != networks[i].weights)
            fail_msg("%s has %llu parameters, not %llu", networks[i].name,
                     (unsigned long long)weights, (unsigned long long)networks[i].weights);
        ff__workload_close(workload);
    }
}

static double flops_of_round(const struct ff__network_program *program) {
    const struct ff__tape *tape = &program->tape;
    double flops = 0;
    for (uint32_t i = program->first_end; i < tape->op_count; i++)
        if (tape->ops[i].kind == FF__OP_KERNEL)
            flops += tape->kernels[tape->ops[i].index].flops;
    return flops;
}

/* A transformer's iteration is about 6 operations for each parameter and token, and the
 * attention's. */
static void test_work(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double tokens, weights, layers, width, length;
    } cases[] = {
        {"gpt2-xl:batch=3", 3 * 1024, 1.5576e9, 48, 1600, 1024},
        {"gpt2-l:batch=5", 5 * 1024, 0.774e9, 36, 1280, 1024},
        {"bert-large:batch=14", 14 * 512, 0.3352e9, 24, 1024, 512},
        {"bert-base:batch=29", 29 * 512, 0.1095e9, 12, 768, 512},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ff__workload *workload = open_workload(cases[i].name);
        double flops = flops_of_round(ff__dnn_program(workload)) * FF__GEMM_SHARE;
        double attention = 12 * cases[i].layers * cases[i].width * cases[i].length;
        double expected = cases[i].tokens * (6 * cases[i].weights + attention);
        assert_true(fabs(flops / expected - 1) < 0.05);
        ff__workload_close(workload);
    }
    /* ResNet-152: 11.5 billion multiply-adds an image there, twice that back */
    struct ff__workload *workload = open_workload("resnet152:batch=64");
    double flops = flops_of_round(ff__dnn_program(workload)) * FF__CONV_SHARE / 64;
    assert_true(fabs(flops / (6 * 11.5e9) - 1) < 0.05);
    ff__workload_close(workload);
}

/* Memory of the paper's configurations. BERT Base with 29 samples takes about 3 % more than a V100
 * of 32 GB has for it; the largest batches of DeepUM's Table 3 fit in the host's 512 GB. */
static void test_memory(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double least, most; /* GiB */
    } cases[] = {
        {"bert-base:batch=29", 30, 33},     {"bert-large:batch=14", 32, 40},
        {"gpt2-xl:batch=16", 350, 512},     {"gpt2-l:batch=24", 300, 512},
        {"bert-large:batch=192", 350, 512}, {"resnet152:batch=1792", 280, 512},
        {"dlrm:batch=524288", 40, 512},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ff__workload *workload = open_workload(cases[i].name);
        double peak = (double)ff__dnn_placement(workload)->pool.reserved_peak / GIB;
        if (peak < cases[i].least || peak > cases[i].most)
            fail_msg("%s takes %.1f GiB", cases[i].name, peak);
        assert_true(ff__workload_footprint(workload) ==
                    ff__dnn_placement(workload)->pool.reserved_peak);
        ff__workload_close(workload);
    }
}

/* Every tensor of an iteration is given back in it, and the program soon repeats. */
static void test_rounds(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        char spec[64];
        snprintf(spec, sizeof spec, "%s:batch=%d,iterations=100", networks[i].name,
                 strcmp(networks[i].name, "dlrm") == 0 ? 65536 : 4);
        struct ff__workload *workload = open_workload(spec);
        const struct ff__network_program *program = ff__dnn_program(workload);
        int64_t live = 0;
        for (uint32_t j = program->first_end; j < program->tape.op_count; j++)
            live += (program->tape.ops[j].kind == FF__OP_NEW) -
                    (program->tape.ops[j].kind == FF__OP_FREE);
        assert_int_equal(live, 0);
        assert_true(ff__dnn_placement(workload)->iteration_count < 10);
        struct ff__action action;
        uint64_t iterations = 0, now = 0, most = 0;
        for (uint64_t j = 0; workload->type->action(workload, j, &action); j++) {
            iterations += action.kind == FF__ACTION_ITERATION;
            now += action.kind == FF__ACTION_ALLOCATE ? workload->arrays[action.array].bytes : 0;
            now -= action.kind == FF__ACTION_FREE ? workload->arrays[action.array].bytes : 0;
            most = now > most ? now : most;
        }
        assert_int_equal(iterations, 100);
        assert_int_equal(ff__workload_footprint(workload), most);
        assert_true(workload->peak_by > 0); /* or the footprint of 2^20 iterations takes minutes */
        ff__workload_close(workload);
    }
}

/* What the ways back of softmax, of both parts of a loss and of convolutions take without reading
 * it. */
static void test_unread(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t iteration;
    } cases[] = {{"bert-base:batch=1", 12 + 2},
                 {"gpt2-l:batch=1", 36 + 2},
                 {"resnet152:batch=1", 154 + 1 + 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ff__workload *workload = open_workload(cases[i].name);
        const struct ff__tape *tape = &ff__dnn_program(workload)->tape;
        uint32_t count = 0;
        for (uint32_t j = 0; j < tape->kernel_count; j++) {
            const struct ff__tape_kernel *kernel = &tape->kernels[j];
            count += kernel->unread_count;
            for (uint32_t k = 0; k < kernel->unread_count; k++)
                for (uint32_t l = 0; l < kernel->use_count; l++)
                    assert_int_not_equal(tape->unread[kernel->first_unread + k],
                                         tape->uses[kernel->first_use + l].tensor);
        }
        assert_int_equal(count, 2 * cases[i].iteration); /* the first iteration, and a later one */
        ff__workload_close(workload);
    }
}

/* Operands lie in their arrays. */
static void test_operands(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        struct ff__workload *workload = open_workload(networks[i].name);
        const struct ff__placement *placement = ff__dnn_placement(workload);
        for (uint32_t j = 0; j < placement->operand_count; j++) {
            const struct ff__operand *o = &placement->operands[j];
            uint64_t end = o->offset + o->run;
            for (int k = 0; k < FF__LOOPS; k++) {
                assert_true(o->loop[k].count > 0);
                end += (o->loop[k].count - 1) * o->loop[k].stride;
            }
            assert_true(o->run > 0);
            if (end > workload->arrays[o->array].bytes)
                fail_msg("%s: an operand ends behind its array", networks[i].name);
        }
        ff__workload_close(workload);
    }
}

/* ---- networks of one's own ---- */

/* What is wrong with the text, or "". */
static const char *fault_of(const char *text, struct ff_error *error) {
    struct ff__network *network;
    struct ff__network_program program;
    error->message[0] = '\0';
    if (ff__network_parse("my.txt", text, strlen(text), &network, error) == 0 &&
        ff__program_make(network, 2, 8, false, &program, error) == 0)
        ff__program_free(&program);
    ff__network_free(network);
    return error->message;
}

/* Each kind of mistake, and a part of the line that it is told with. */
static const struct {
    const char *text, *says;
} mistakes[] = {
    {"", "my.txt: has no statements"},
    {"# nothing\n", "my.txt: has no statements"},
    {"x = pictures\n\001", "my.txt:2:1: the character 1 is none of a text"},
    {"batch many\nzero_grad", "my.txt:1:7: batch=many: must be 1 to"},
    {"length 5000 pixels", "my.txt:1:8: length=5000: must be 1 to 4096"},
    {"include", "my.txt:1:1: must be: include NAME.blocks"},
    {"include none.blocks", "my.txt:1:9: there is no 'none.blocks' to include"},
    {"include vgg16.txt\ninclude vgg16.txt\ninclude vgg16.txt\ninclude vgg16.txt",
     "more than 8 texts"},
    {"block", "my.txt:1:1: must be: block NAME"},
    {"repeat i", "my.txt:1:1: must be: repeat NAME TIMES"},
    {"x = pictures\nend", "my.txt:2:1: this end ends nothing"},
    {"block b\nx = pictures", "my.txt:1:1: this block has no end"},
    {"block b\nb\nend\nb", "my.txt:2:1: more than 16 blocks in one another"},
    {"block b x\nend\nb", "my.txt:3:1: block b takes 1 words"},
    {"repeat i 99999999\nzero_grad\nend", "more than 1048576 statements"},
    {"repeat i 99999999\nend", "more than 1048576 statements"},
    {"x = conw x", "my.txt:1:5: there is no operation or block 'conw'; the nearest is conv"},
    {"x =", "my.txt:1:3: there is no operation or block ''"},
    {"x = pictures\ny = conv x", "my.txt:2:5: must be: Y = conv X CHANNELS [kernel=N]"},
    {"x = pictures\nconv x 3", "my.txt:2:1: must be: Y = conv X"},
    {"x = pictures\ny = conv x 3 3", "my.txt:2:14: must be: Y = conv X"},
    {"x = pictures\ny = conv x 0", "my.txt:2:12: must be: Y = conv X"},
    {"x = pictures\ny = conv x 3 kernal=3", "my.txt:2:14: there is no tensor 'kernal=3' here"},
    {"x = pictures\ny = conv x 3 kernel=0", "my.txt:2:5: conv: kernel and stride must be"},
    {"x = pictures\ny = conv x 3 kernel=9", "my.txt:2:5: conv: it leaves nothing of such images"},
    {"x = pictures\ny = conv x 4 groups=2", "my.txt:2:5: conv: groups must divide"},
    {"x = pictures\ny = max_pool x kernel=3 stride=99999",
     "my.txt:2:5: max_pool: kernel and stride"},
    {"relu x", "my.txt:1:6: there is no tensor 'x' here"},
    {"x = pictures\ndrop x\nrelu x", "my.txt:3:6: there is no tensor 'x' here"},
    {"x = data 3 4*five", "my.txt:1:12: '4*five' must be a number"},
    {"x = data 3 4/0", "my.txt:1:12: '4/0' must be a number"},
    {"x = data 3 9999999999999999", "must be a number up to 2^40"},
    {"x = data 3 $width", "my.txt:1:12: there is no $width here"},
    {"x = data 1099511627776 2", "my.txt:1:5: data: a tensor of more than 2^40 elements"},
    {"3 = pictures", "my.txt:1:1: '3' must be a name"},
    {"p = weights\nrelu p", "my.txt:2:6: there is no tensor 'p' here"},
    {"x = pictures\nagain x", "my.txt:2:7: there is no place of weights 'x' here"},
    {"p = weights\nx = data 4 4\ny = linear x 4\nagain p\ny = linear x 5",
     "my.txt:5:5: linear: its weights have another size"},
    {"x = data 4 4\ny = linear x 9\nbackward y", "my.txt:3:1: backward: sizes do not fit together"},
    {"x = data 4 4\ny = bmm x x 1 4 4 5", "my.txt:2:5: bmm: sizes do not fit together"},
    {"x = data 4 4\nq k v = split x", "my.txt:2:9: split: three must divide the width"},
    {"repeat i 5000\nw = param 1 1\nend", "my.txt:2:5: param: more than 4096 tensors of weights"},
    {"block b name\nx = map $name x\nend\nx = pictures\nb tanh",
     "my.txt:2:9: the name of a kernel has no $"},
    {"block b 3\nend", "my.txt:1:9: '3' must be a name"},
    {"block b\nrelo x\nend\nzero_grad", "my.txt:2:1: there is no operation or block 'relo'"},
    {"x = data 3 3x", "my.txt:1:12: '3x' must be a number"},
    {"block b name\n$name x\nend\nb relo", "my.txt:2:1: there is no operation or block 'relo'"},
    {"block b a\nx$a$a$a$a = data 1 1\nend\nb a_name_of_many_letters",
     "my.txt:2:1: 'x$a$a$a$a' becomes longer than 63 characters"},
    {"x = data 4 4\ny = loops x times=2", "my.txt:2:5: loops: times and step belong together"},
    {"x = data 4 4\ny = loops x run=0", "my.txt:2:5: loops: run and times must be at least 1"},
    {"x = data 4 4\ny = loops x run=4 times=4 step=5", "my.txt:2:5: loops: it would look beyond"},
    {"x = data 4 4\ny = loops x from=16 run=1", "my.txt:2:5: loops: it would look beyond"},
    {"x = data 4 4\ny = loops x run=1 times=1099511627776 step=1099511627776",
     "my.txt:2:5: loops: it would look beyond"},
    {"x = data 4 4\ny = loops x run=16 times=1099511627776 step=0",
     "my.txt:2:5: loops: it would look beyond the tensor, or at more than 2^40 elements"},
    {"x = data 4 4\ny = loops x run=2\ny = loops y run=1",
     "my.txt:3:5: loops: run is for the innermost loops"},
    {"x = data 4 4\nrepeat i 5\nx = loops x\nend", "my.txt:3:5: loops: more than four loops"},
    {"x = data 4 4\ny = loops x\nz = linear y 3",
     "my.txt:3:12: 'y' has loops, which only kernel and loops take"},
};

static void test_mistakes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct ff_error error;
        if (!strstr(fault_of(mistakes[i].text, &error), mistakes[i].says) ||
            strchr(error.message, '\n'))
            fail_msg("'%s' gives '%s'", mistakes[i].text, error.message);
    }
}

/* Loops are the nests of their kernel's operands, the innermost one last; the tensor lives as long
 * as a name holds it, and what is not given loops is used as a whole. */
static void test_loops(void **state) {
    static const char text[] = "a = new 64 64\nb = new 64 1\n"
                               "warp = loops a from=64 run=32 times=63 step=64\n"
                               "wide = loops warp times=2 step=32\ndrop a\n"
                               "kernel columns b wide flops=12345\ndrop wide\n"
                               "kernel again b warp\n";
    struct ff__network *network;
    struct ff__network_program program;
    (void)state;
    assert_int_equal(ff__network_parse("my.txt", text, strlen(text), &network, NULL), 0);
    assert_int_equal(ff__program_make(network, 1, 1, false, &program, NULL), 0);
    const struct ff__tape *tape = &program.tape;
    const struct ff__tape_kernel *kernel = &tape->kernels[0];
    assert_string_equal(kernel->name, "columns");
    assert_true(kernel->flops == 12345);
    assert_true(kernel->traffic == (double)(64 * 63 + 64) * FF__FLOAT / FF__STREAM_SHARE);
    assert_int_equal(kernel->use_count, 2);
    const struct ff__operand *in = &tape->uses[kernel->first_use].nest;
    const struct ff__loop loops[] = {{1, 0}, {1, 0}, {2, 128}, {63, 256}};
    assert_int_equal(in->offset, 256);
    assert_int_equal(in->run, 128);
    assert_memory_equal(in->loop, loops, sizeof loops);
    const struct ff__operand *out = &tape->uses[kernel->first_use + 1].nest;
    assert_true(out->write && out->run == 256 && ff__operand_runs(out) == 1);
    assert_int_equal(ff__operand_runs(&tape->uses[tape->kernels[1].first_use].nest), 63);
    ff__program_free(&program);
    ff__network_free(network);
}

/* What a text forgets to drop, and what gradients nobody takes hold, goes at the end of an
 * iteration. */
static void test_own(void **state) {
    static const char text[] = "x = data 4 6\nq k v = split x\ny = bmm q k 1 4 2 4\n"
                               "z = linear y 1\nloss = map sum z rows=1\nbackward loss\nsgd\n"
                               "w = mul x x\n";
    struct ff__network *network;
    struct ff__network_program program;
    int64_t live = 0;
    (void)state;
    assert_int_equal(ff__network_parse("my.txt", text, strlen(text), &network, NULL), 0);
    assert_int_equal(ff__program_make(network, 1, 1, false, &program, NULL), 0);
    for (uint32_t i = program.first_end; i < program.tape.op_count; i++)
        live +=
            (program.tape.ops[i].kind == FF__OP_NEW) - (program.tape.ops[i].kind == FF__OP_FREE);
    assert_int_equal(live, 0);
    assert_int_equal(program.tape.weights, 4 + 1);
    ff__program_free(&program);
    ff__network_free(network);
}

/* Of convolutions those of 3 by 3 pixels with a stride of 1 have workspaces, forward and
 * backward, where the workload asks for them: of 64 floats, 36 for 16 of each channel. */
static void test_workspaces(void **state) {
    static const char text[] = "batch 2\nlength 8\nx = pictures\n"
                               "y = conv x 5 kernel=3 pad=1\nz = conv y 4 kernel=3 pad=1 stride=2\n"
                               "z = conv z 4\nloss = map sum z rows=1\nbackward loss\n";
    const uint64_t bytes = 2 * (3 + 5) * 64 * 36 / 16 * FF__FLOAT;
    struct ff__network *network;
    struct ff__network_program programs[2];
    (void)state;
    assert_int_equal(ff__network_parse("my.txt", text, strlen(text), &network, NULL), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ff__program_make(network, 2, 8, i == 1, &programs[i], NULL), 0);
    const struct ff__tape *without = &programs[0].tape, *with = &programs[1].tape;
    uint32_t found = 0;
    for (uint32_t i = 1; i < with->tensor_count; i++)
        found += with->tensors[i].bytes == bytes;
    for (uint32_t i = 1; i < without->tensor_count; i++)
        assert_true(without->tensors[i].bytes != bytes);
    assert_int_equal(found, 2 * 2); /* the way and the gradient of the weights; two iterations */
    assert_int_equal(with->tensor_count, without->tensor_count + found);
    assert_int_equal(with->kernel_count, without->kernel_count);
    for (int i = 0; i < 2; i++)
        ff__program_free(&programs[i]);
    ff__network_free(network);
}

/* Words mean the same whether the text has them as they are, or a $NAME stands for them. */
static void test_names(void **state) {
    static const char plain[] = "x = data 8 6\ny_1 = linear x 12 in=6 no_bias\nrelu y_1\n"
                                "y_1 = linear y_1 4\ndrop y_1\n";
    static const char bound[] =
        "block call to x\n$to $x\nend\n"
        "block layer x y in out turn option\n$y$turn = linear $x $out in=$in $option\n"
        "call relu $y$turn\n$y$turn = linear $y$turn 4*$in/$wide\n$gone $y$turn\nend\n"
        "block outer wide gone\nrepeat i 2/2\nlayer x y_ 6 2*6 1 no_bias\nend\nend\n"
        "x = data 8 6\nouter 6 drop\n";
    struct ff__network_program programs[2];
    const char *const texts[] = {plain, bound};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ff__network *network;
        struct ff_error error = {""};
        int status = ff__network_parse("my.txt", texts[i], strlen(texts[i]), &network, &error);
        if (status || ff__program_make(network, 1, 1, false, &programs[i], &error))
            fail_msg("%s", error.message);
        ff__network_free(network);
    }
    const struct ff__tape *a = &programs[0].tape, *b = &programs[1].tape;
    assert_int_equal(a->op_count, b->op_count);
    for (uint32_t i = 0; i < a->op_count; i++) {
        assert_int_equal(a->ops[i].kind, b->ops[i].kind);
        assert_int_equal(a->ops[i].index, b->ops[i].index);
    }
    assert_int_equal(a->use_count, b->use_count);
    for (uint32_t i = 0; i < a->use_count; i++) {
        assert_int_equal(a->uses[i].tensor, b->uses[i].tensor);
        assert_int_equal(a->uses[i].nest.run, b->uses[i].nest.run);
    }
    assert_int_equal(a->weights, b->weights);
    for (int i = 0; i < 2; i++)
        ff__program_free(&programs[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters), cmocka_unit_test(test_work),
        cmocka_unit_test(test_memory),     cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_operands),   cmocka_unit_test(test_unread),
        cmocka_unit_test(test_mistakes),   cmocka_unit_test(test_loops),
        cmocka_unit_test(test_own),        cmocka_unit_test(test_workspaces),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
