/* farfault cuda compile: clang's passes over each file for the device and the host, with a fat
 * binary between them, and then the link. */
#include "cuda/compile/compile.h"
#include "base/new_file.h"
#include "ptx/compile.h"
#include "ptx/fatbin.h"
#include "report/complain.h"
#include "report/text.h"
#include "study/find.h"
#include "study/live/child.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_ARCH "sm_70"

struct compilation {
    const char *compiler;
    struct ff__words sources; /* in CUDA C++ */
    struct ff__words inputs;  /* others, for the link alone */
    struct ff__words options;
    const char *arch, *output; /* output: NULL: not given */
    const char *version;       /* of CUDA: "12" or "13" */
    unsigned nvcc_arch;        /* 0: not given */
    char nvcc_arch_text[16];
    const char *refused; /* an option of nvcc's; NULL: none */
    const char *kind;    /* of the file that each source becomes; NULL: a program of all */
    char headers[PATH_MAX], libraries[PATH_MAX];
    char folder[PATH_MAX]; /* of what is between the passes; "": none yet */
};

/* ---- words ---- */

static void add(struct ff__words *words, const char *text) {
    ff__words_add(words, ff__text("%s", text));
}

static void add_all(struct ff__words *words, const struct ff__words *more) {
    for (unsigned i = 0; i < more->count; i++)
        add(words, more->items[i]);
}

static bool is_one_of(const char *word, const char *const list[]) {
    for (unsigned i = 0; list[i]; i++)
        if (strcmp(word, list[i]) == 0)
            return true;
    return false;
}

/* Options of clang whose value may be the next word. */
static bool has_value(const char *word) {
    static const char *const list[] = {"-I",        "-D",       "-U",      "-L",       "-l",
                                       "-x",        "-T",       "-u",      "-MF",      "-MT",
                                       "-MQ",       "-z",       "-Xclang", "-mllvm",   "-Xlinker",
                                       "-include",  "-isystem", "-iquote", "-imacros", "-idirafter",
                                       "-isysroot", "--param",  "-rpath",  NULL};
    return is_one_of(word, list);
}

static bool is_cuda(const char *word) {
    const char *end = strrchr(word, '.');
    return end && strcmp(end, ".cu") == 0;
}

/* Of several architectures the oldest, which the others take, too. "native" and the like are no
 * numbers: as by default. */
static void take_nvcc_arch(struct compilation *job, const char *value) {
    unsigned number = ff__nvcc_arch(value);
    if (number == 0 || (job->nvcc_arch != 0 && job->nvcc_arch <= number))
        return;
    job->nvcc_arch = number;
    snprintf(job->nvcc_arch_text, sizeof job->nvcc_arch_text, "sm_%u", number);
    job->arch = job->nvcc_arch_text;
}

static bool read_nvcc(struct compilation *job, int count, char **words, int *at) {
    const char *value, *word = words[*at];
    struct ff__words more;
    switch (ff__nvcc_read(count, words, at, &value)) {
    case FF__NVCC_NONE:
        return false;
    case FF__NVCC_ARCH:
        take_nvcc_arch(job, value);
        break;
    case FF__NVCC_PTX:
        job->kind = "ptx";
        break;
    case FF__NVCC_FOR_HOST:
        more = ff__words_split(value);
        add_all(&job->options, &more);
        ff__words_free(&more);
        break;
    case FF__NVCC_RELOCATABLE:
        job->refused = word;
        break;
    case FF__NVCC_NOTHING:
        break;
    }
    return true;
}

static void read_word(struct compilation *job, int count, char **words, int *at) {
    const char *word = words[*at], *value;
    if ((value = ff__cuda_value_of("--arch", count, words, at))) {
        job->arch = value;
    } else if ((value = ff__cuda_value_of("--cuda", count, words, at))) {
        job->version = value;
    } else if (read_nvcc(job, count, words, at)) {
        return;
    } else if (strcmp(word, "-o") == 0 && *at + 1 < count) {
        job->output = words[++*at];
    } else if (strcmp(word, "-c") == 0) {
        job->kind = "o";
    } else if (strcmp(word, "--ptx") == 0) {
        job->kind = "ptx";
    } else if (word[0] == '-' && word[1]) {
        add(&job->options, word);
        if (has_value(word) && *at + 1 < count)
            add(&job->options, words[++*at]);
    } else {
        add(is_cuda(word) ? &job->sources : &job->inputs, word);
    }
}

static int check(const struct compilation *job) {
    if (job->refused)
        return ff__complain(FF__EXIT_USAGE,
                            "%s: device code of several files cannot be linked; one file may "
                            "include the others",
                            job->refused);
    if (job->sources.count == 0)
        return ff__complain(FF__EXIT_USAGE,
                            "no file in CUDA C++; name one: farfault cuda compile FILE.cu");
    const char *option = job->kind && strcmp(job->kind, "ptx") == 0 ? "--ptx" : "-c";
    if (job->kind && job->output && job->sources.count > 1)
        return ff__complain(FF__EXIT_USAGE, "%s and -o %s: several files cannot become one", option,
                            job->output);
    if (job->kind && job->inputs.count)
        return ff__complain(FF__EXIT_USAGE, "%s: %s is not in CUDA C++ (.cu)", option,
                            job->inputs.items[0]);
    size_t digits = strncmp(job->arch, "sm_", 3) == 0 ? strspn(job->arch + 3, "0123456789") : 0;
    if (digits < 2 || digits > 3)
        return ff__complain(FF__EXIT_USAGE, "--arch %s: must be an architecture, such as sm_70",
                            job->arch);
    if (strcmp(job->version, "12") != 0 && strcmp(job->version, "13") != 0)
        return ff__complain(FF__EXIT_USAGE, "--cuda %s: must be 12 or 13", job->version);
    for (unsigned i = 0; i < job->sources.count; i++)
        if (access(job->sources.items[i], R_OK))
            return ff__complain(FF__EXIT_FAILURE, "%s: %s", job->sources.items[i], strerror(errno));
    return 0;
}

/* ---- the compiler ---- */

const char *ff__cuda_compiler(void) {
    return ff__ptx_clang();
}

static int find_compiler(struct compilation *job) {
    job->compiler = ff__ptx_clang();
    if (job->compiler)
        return 0;
    return ff__complain(FF__EXIT_FAILURE,
                        "no clang in PATH, which compiles CUDA; install clang 14 or newer");
}

/* Runs a command line, which is freed; `what` it does is said where it fails. */
static int run(struct ff__words *line, const char *what, const char *file) {
    struct ff__child_end end;
    ff__words_add(line, NULL);
    const struct ff__child child = {
        .argv = line->items, .environment = environ, .output = -1, .errors = -1};
    int status = ff__child_run(&child, &end);
    if (status)
        status = ff__complain(FF__EXIT_FAILURE, "%s cannot be executed: %s", line->items[0],
                              strerror(-status));
    else if (ff__child_exit_status(&end))
        status = ff__complain(FF__EXIT_FAILURE, "%s: %s failed", file, what);
    ff__words_free(line);
    return status;
}

/* ---- passes ---- */

static bool is_13(const struct compilation *job) {
    return strcmp(job->version, "13") == 0;
}

/* What both passes have: no SDK is looked for, and what nvcc has by default. */
static void begin(const struct compilation *job, struct ff__words *line) {
    static const char *const all[] = {"-x",
                                      "cuda",
                                      "-nocudainc",
                                      "-nocudalib",
                                      "--cuda-path=/nonexistent",
                                      "-Xclang",
                                      "-target-sdk-version=11.0",
                                      "-std=c++17",
                                      "-O3",
                                      "-Qunused-arguments",
                                      "-Wno-unknown-cuda-version",
                                      "-include",
                                      "cuda_runtime.h"};
    add(line, job->compiler);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        add(line, all[i]);
    ff__words_add(line, ff__text("-I%s", job->headers));
    if (is_13(job))
        add(line, "-DFF_CUDA_API=13000");
    ff__words_add(line, ff__text("--cuda-gpu-arch=%s", job->arch));
}

/* The oldest version of PTX that the architecture and our headers can do with: drivers read all
 * that are older than they are. */
static const char *ptx_version(const char *arch) {
    return atoi(arch + 3) < 80 ? "+ptx64" : "+ptx75";
}

static int compile_device(const struct compilation *job, const char *source, const char *ptx) {
    struct ff__words line = {0};
    begin(job, &line);
    add(&line, "--cuda-device-only");
    add(&line, "-S");
    add_all(&line, &job->options);
    add(&line, "-Xclang");
    add(&line, "-target-feature");
    add(&line, "-Xclang");
    add(&line, ptx_version(job->arch));
    add(&line, source);
    add(&line, "-o");
    add(&line, ptx);
    return run(&line, "compiling it for the device", source);
}

static int compile_host(const struct compilation *job, const char *source, const char *fatbin,
                        const char *object) {
    struct ff__words line = {0};
    begin(job, &line);
    add(&line, "--cuda-host-only");
    add(&line, "-c");
    add_all(&line, &job->options);
    add(&line, "-Xclang");
    add(&line, "-fcuda-include-gpubinary");
    add(&line, "-Xclang");
    add(&line, fatbin);
    add(&line, source);
    add(&line, "-o");
    add(&line, object);
    return run(&line, "compiling it for the host", source);
}

static int link_all(const struct compilation *job, const struct ff__words *objects) {
    struct ff__words line = {0};
    const char *output = job->output ? job->output : "a.out";
    add(&line, job->compiler);
    add(&line, "-Qunused-arguments");
    ff__words_add(&line, ff__text("-I%s", job->headers));
    add_all(&line, objects);
    add_all(&line, &job->inputs);
    add_all(&line, &job->options);
    if (is_13(job)) {
        add(&line, "-DFF_CUDA_API=13000"); /* sources in other languages */
        ff__words_add(&line, ff__text("-L%s/13", job->libraries));
    }
    ff__words_add(&line, ff__text("-L%s", job->libraries));
    ff__words_add(&line, ff__text("-Wl,-rpath,%s", job->libraries));
    add(&line, "-lcudart");
    add(&line, "-lstdc++");
    add(&line, "-lm");
    add(&line, "-o");
    add(&line, output);
    return run(&line, "linking it", output);
}

/* ---- the fat binary ---- */

struct read_text {
    char *bytes;
    size_t size;
};

static int read_file(const char *path, struct read_text *out) {
    FILE *file = fopen(path, "re");
    struct stat about;
    if (!file || fstat(fileno(file), &about))
        return ff__complain(FF__EXIT_FAILURE, "%s: %s", path, strerror(errno));
    out->size = (size_t)about.st_size;
    out->bytes = ff__must(malloc(out->size + 1));
    bool whole = fread(out->bytes, 1, out->size, file) == out->size;
    fclose(file);
    return whole ? 0 : ff__complain(FF__EXIT_FAILURE, "%s: cannot be read", path);
}

static int make_fatbin(const char *ptx, const char *fatbin) {
    struct read_text text = {NULL, 0}, image = {NULL, 0};
    struct ff_error error = {""};
    int status = read_file(ptx, &text);
    if (!status && ff__fatbin_make(text.bytes, text.size, &image.bytes, &image.size, &error))
        status = ff__complain(FF__EXIT_FAILURE, "%s: %s", ptx, error.message);
    if (!status) {
        const struct ff__file_bytes all = {image.bytes, image.size};
        int written = ff__file_write(fatbin, ff__file_print_bytes, &all);
        if (written)
            status = ff__complain(FF__EXIT_FAILURE, "%s: %s", fatbin, strerror(-written));
    }
    free(text.bytes);
    free(image.bytes);
    return status;
}

/* ---- all of it ---- */

static int make_folder(struct compilation *job) {
    const char *temporary = getenv("TMPDIR");
    int length = snprintf(job->folder, sizeof job->folder, "%s/farfault-cuda-XXXXXX",
                          temporary && *temporary ? temporary : "/tmp");
    if (length < PATH_MAX && mkdtemp(job->folder))
        return 0;
    int status = ff__complain(FF__EXIT_FAILURE, "%s: cannot make a folder: %s", job->folder,
                              strerror(length < PATH_MAX ? errno : ENAMETOOLONG));
    job->folder[0] = '\0';
    return status;
}

static const char *const kinds[] = {"ptx", "fatbin", "o"};

static char *between(const struct compilation *job, unsigned number, unsigned kind) {
    return ff__text("%s/%u.%s", job->folder, number, kinds[kind]);
}

static void remove_folder(const struct compilation *job) {
    for (unsigned i = 0; i < job->sources.count && job->folder[0]; i++)
        for (unsigned k = 0; k < 3; k++) {
            char *path = between(job, i, k);
            unlink(path);
            free(path);
        }
    if (job->folder[0])
        rmdir(job->folder);
}

/* Where an object or PTX goes that is wanted itself. */
static char *result_of(const struct compilation *job, const char *source) {
    const char *name = strrchr(source, '/');
    name = name ? name + 1 : source;
    return job->output ? ff__text("%s", job->output)
                       : ff__text("%.*s.%s", (int)(strrchr(name, '.') - name), name, job->kind);
}

static int compile_object(const struct compilation *job, unsigned number, const char *object) {
    const char *source = job->sources.items[number];
    char *ptx = between(job, number, 0), *fatbin = between(job, number, 1);
    int status = compile_device(job, source, ptx);
    if (!status)
        status = make_fatbin(ptx, fatbin);
    if (!status)
        status = compile_host(job, source, fatbin, object);
    free(ptx);
    free(fatbin);
    return status;
}

static int compile(const struct compilation *job, unsigned number, struct ff__words *objects) {
    const char *source = job->sources.items[number];
    char *result = job->kind ? result_of(job, source) : between(job, number, 2);
    ff__words_add(objects, result);
    if (job->kind && strcmp(job->kind, "ptx") == 0)
        return compile_device(job, source, result);
    return compile_object(job, number, result);
}

static int compile_all(struct compilation *job) {
    struct ff__words objects = {0};
    int status = make_folder(job);
    for (unsigned i = 0; i < job->sources.count && !status; i++)
        status = compile(job, i, &objects);
    if (!status && !job->kind)
        status = link_all(job, &objects);
    remove_folder(job);
    ff__words_free(&objects);
    return status;
}

int ff__cuda_compile(int count, char **words) {
    struct compilation job = {.arch = DEFAULT_ARCH, .version = "12"};
    for (int i = 0; i < count; i++)
        read_word(&job, count, words, &i);
    int status = check(&job);
    if (!status)
        status = find_compiler(&job);
    if (!status)
        status = ff__find_data("cuda/include", job.headers);
    if (!status && !ff__find_cuda(job.libraries))
        status = ff__complain(FF__EXIT_FAILURE, "libcuda.so.1 and libcudart.so are neither beside "
                                                "farfault nor where an installation has them");
    if (!status)
        status = compile_all(&job);
    ff__words_free(&job.sources);
    ff__words_free(&job.inputs);
    ff__words_free(&job.options);
    return status;
}
