/* Loading of modules: what comes of the compiler and the cache, and what of neither. Most cases use
 * scripts in the compiler's place, which copy what the real one made once. */
#include "ptx/folder.h"

#include "ptx/exec.h"
#include "ptx/program.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".global .align 4 .u32 counter = 7;\n"
                           ".const .align 8 .f64 table[4];\n"
                           ".visible .entry good(.param .u64 a, .param .u32 b) .maxntid 32, 2, 1\n"
                           "{ ret; }\n"
                           ".visible .entry read_refuses() {\n"
                           "wgmma.fence.sync.aligned;\n"
                           "}\n"
                           ".visible .entry emit_refuses() {\n"
                           ".reg .b16 %h;\n"
                           ".reg .b32 %r;\n"
                           "ld.global.u32 %r, [%h];\n"
                           "ret;\n"
                           "}\n"
                           ".visible .entry last() { ret; }\n";

static struct ff__ptx_options options;

/* ---- helpers ---- */

static int load_text(const char *what, struct ff__ptx_program **out, struct ff_error *error) {
    return ff__ptx_load(what, strlen(what), &options, out, error);
}

static struct ff__ptx_program *loaded(void) {
    struct ff__ptx_program *program = NULL;
    struct ff_error error = {0};
    int code = load_text(text, &program, &error);
    if (code == 0)
        code = ff__ptx_wait(program, &error);
    if (code != 0)
        print_error("%s\n", error.message);
    assert_int_equal(code, 0);
    return program;
}

static void load_and_unload(void) {
    ff__ptx_unload(loaded());
}

/* A script in the compiler's place, which is called with `-o OUTPUT` first. */
static void use_script(const char *body) {
    char script[1024];
    int size = snprintf(script, sizeof script, "#!/bin/sh\ncd '%s' || exit\n%s\n", folder, body);
    write_file(in_folder("compiler"), script, (size_t)size, 0700);
    setenv("FARFAULT_CC", in_folder("compiler"), 1);
}

/* One that notes each run with a byte. */
static void use_copies(void) {
    use_script("printf x >>runs; cp module.so \"$2\"");
}

static size_t runs(void) {
    char bytes[64];
    return read_file(in_folder("runs"), bytes, sizeof bytes);
}

static bool comes(const char *path) {
    for (unsigned i = 0; i < 1000 && access(path, F_OK) != 0; i++)
        usleep(10000);
    return access(path, F_OK) == 0;
}

/* ---- the folder: TMPDIR, the cache, and what the real compiler makes of the text ---- */

static char compiled[1 << 20];
static size_t compiled_size;

static int make_own_folder(void **state) {
    int failed = make_folder(state);
    options = (struct ff__ptx_options){0};
    setenv("FARFAULT_PTX_CACHE", in_folder("cache"), 1);
    setenv("TMPDIR", in_folder("temporary"), 1);
    unsetenv("FARFAULT_CC");
    failed |= mkdir(in_folder("temporary"), 0700);
    if (compiled_size > 0)
        write_file(in_folder("module.so"), compiled, compiled_size, 0600);
    return failed;
}

/* The compiler leaves nothing. */
static int remove_own_folder(void **state) {
    return rmdir(in_folder("temporary")) | remove_folder(state);
}

/* ---- what a program has ---- */

static void expect_kernels(struct ff__ptx_program *program) {
    static const struct {
        const char *name;
        int code;
        const char *message;
    } rows[] = {{"nothing", -ENOENT, "nothing"},
                {"counter", -ENOENT, "counter"},
                {"read_refuses", -ENOTSUP, "read_refuses: line 9: wgmma.fence"},
                {"emit_refuses", -ENOTSUP, "emit_refuses: line 14: ld.global.u32"}};
    struct ff__ptx_kernel *kernel = NULL, *again = NULL;
    struct ff_error error = {0};
    assert_int_equal(ff__ptx_kernel(program, "good", &kernel, &error), 0);
    assert_ptr_equal(kernel->program, program);
    assert_string_equal(kernel->code->name, "good");
    assert_int_equal(kernel->parameter_size, 12);
    assert_int_equal(kernel->max_threads, 64);
    assert_int_equal(ff__ptx_kernel(program, "good", &again, &error), 0);
    assert_ptr_equal(kernel, again);
    assert_int_equal(ff__ptx_kernel(program, "last", &kernel, &error), 0);
    assert_int_equal(kernel->parameter_size, 0);
    assert_int_equal(kernel->max_threads, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(ff__ptx_kernel(program, rows[i].name, &kernel, &error), rows[i].code);
        assert_non_null(strstr(error.message, rows[i].message));
        assert_int_equal(ff__ptx_kernel(program, rows[i].name, &kernel, NULL), rows[i].code);
    }
}

static void expect_symbols(struct ff__ptx_program *program) {
    void *address = NULL;
    size_t size = 0;
    struct ff_error error = {0};
    assert_int_equal(ff__ptx_symbol(program, "counter", &address, &size, &error), 0);
    assert_int_equal(size, 4);
    assert_int_equal(*(const uint32_t *)address, 7);
    assert_int_equal(ff__ptx_symbol(program, "table", &address, NULL, &error), 0);
    assert_int_equal(*(const uint64_t *)address, 0);
    assert_int_equal(ff__ptx_symbol(program, "good", &address, &size, &error), -ENOENT);
    assert_non_null(strstr(error.message, "good"));
}

static void gives_kernels_and_symbols(void **state) {
    (void)state;
    struct ff__ptx_program *program = loaded();
    char name[256] = "";
    expect_kernels(program);
    expect_symbols(program);
    ff__ptx_unload(program);
    ff__ptx_unload(NULL);
    assert_int_equal(count_files(in_folder("cache"), name), 1);
    char path[512];
    snprintf(path, sizeof path, "%s/cache/%s", folder, name);
    compiled_size = read_file(path, compiled, sizeof compiled);
    assert_true(compiled_size > 0 && compiled_size < sizeof compiled);
    program = loaded(); /* from the cache */
    expect_kernels(program);
    expect_symbols(program);
    ff__ptx_unload(program);
}

static uint32_t *counter_of(struct ff__ptx_program *program) {
    void *address = NULL;
    assert_int_equal(ff__ptx_symbol(program, "counter", &address, NULL, NULL), 0);
    return address;
}

/* Though descriptors have the same numbers again. */
static void programs_have_their_own_variables(void **state) {
    (void)state;
    struct ff__ptx_program *programs[6];
    use_copies();
    for (unsigned i = 0; i < 6; i++) {
        programs[i] = loaded();
        *counter_of(programs[i]) += i;
    }
    ff__ptx_unload(programs[0]);
    programs[0] = loaded();
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(*counter_of(programs[i]), 7 + i);
        ff__ptx_unload(programs[i]);
    }
    assert_int_equal(runs(), 1);
}

static unsigned open_descriptors(void) {
    return count_files("/proc/self/fd", NULL);
}

static void leaves_no_descriptors(void **state) {
    (void)state;
    use_copies();
    unsigned before = open_descriptors();
    load_and_unload();
    load_and_unload();
    assert_int_equal(open_descriptors(), before);
}

/* ---- hits and misses ---- */

static void compiles_what_differs(void **state) {
    (void)state;
    struct ff__ptx_program *program = NULL;
    use_copies();
    load_and_unload();
    load_and_unload();
    assert_int_equal(runs(), 1);
    options.record = true;
    load_and_unload();
    load_and_unload();
    assert_int_equal(runs(), 2);
    options = (struct ff__ptx_options){.yields = true};
    load_and_unload();
    load_and_unload();
    assert_int_equal(runs(), 3);
    options.yields = false;
    assert_int_equal(ff__ptx_load(text, sizeof text - 2, &options, &program, NULL), 0);
    assert_int_equal(ff__ptx_wait(program, NULL), 0);
    ff__ptx_unload(program);
    assert_int_equal(runs(), 4);
    use_script(" printf x >>runs; cp module.so \"$2\""); /* another compiler */
    load_and_unload();
    assert_int_equal(runs(), 5);
    options.cache = in_folder("another");
    load_and_unload();
    assert_int_equal(runs(), 6);
    assert_int_equal(count_files(in_folder("another"), NULL), 1);
}

static void a_damaged_file_is_made_anew(void **state) {
    (void)state;
    char name[256], path[512];
    use_copies();
    load_and_unload();
    assert_int_equal(count_files(in_folder("cache"), name), 1);
    snprintf(path, sizeof path, "%s/cache/%s", folder, name);
    assert_int_equal(truncate(path, 5000), 0);
    load_and_unload();
    assert_int_equal(runs(), 2);
    load_and_unload();
    assert_int_equal(runs(), 2);
}

static void needs_no_cache(void **state) {
    (void)state;
    use_copies();
    const char *const folders[] = {"/proc/farfault", geteuid() == 0 ? "/proc" : "/"};
    for (size_t i = 0; i < 2; i++) {
        options.cache = folders[i];
        struct ff__ptx_program *program = NULL;
        int code = load_text(text, &program, NULL);
        assert_true(code == 0 || (code == -EACCES && geteuid() != 0 && i == 1));
        if (code == 0)
            assert_int_equal(ff__ptx_wait(program, NULL), 0);
        ff__ptx_unload(program);
    }
}

static void refuses_a_folder_of_others(void **state) {
    (void)state;
    struct ff__ptx_program *program = NULL;
    struct ff_error error = {0};
    use_copies();
    assert_int_equal(mkdir(in_folder("cache"), 0700), 0);
    assert_int_equal(chmod(in_folder("cache"), 0777), 0);
    assert_int_equal(load_text(text, &program, &error), -EACCES);
    assert_non_null(strstr(error.message, "others can write"));
    assert_null(program);
}

static void what_is_not_ptx(void **state) {
    (void)state;
    struct ff__ptx_program *program = NULL;
    struct ff_error error = {0};
    static const char *const rows[] = {"", "\177ELF", "int main(void) { return 0; }",
                                       ".version 7.0\n.target sm_70\n.entry",
                                       ".version 7.0\n.target sm_70\n.global .u32 c = "};
    use_copies();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(load_text(rows[i], &program, &error), -EINVAL);
        assert_string_not_equal(error.message, "");
        assert_null(program);
        assert_int_equal(load_text(rows[i], &program, NULL), -EINVAL);
    }
    assert_int_equal(runs(), 0);
}

/* ---- compilers that fail ---- */

static void expect_no_compiler(const char *why) {
    struct ff__ptx_program *program = NULL;
    struct ff_error error = {0};
    assert_int_equal(load_text(text, &program, &error), -ENOEXEC);
    assert_null(program);
    assert_null(strchr(error.message, '\n'));
    assert_non_null(strstr(error.message, why));
}

static void says_that_there_is_no_compiler(void **state) {
    (void)state;
    char *path = strdup(getenv("PATH"));
    setenv("FARFAULT_CC", "/nowhere/cc", 1);
    expect_no_compiler("/nowhere/cc");
    setenv("FARFAULT_CC", folder, 1);
    expect_no_compiler(folder);
    write_file(in_folder("cc"), "", 0, 0600);
    setenv("FARFAULT_CC", "", 1);
    setenv("PATH", folder, 1);
    expect_no_compiler("install");
    use_copies();
    assert_int_equal(rename(in_folder("compiler"), in_folder("cc")), 0);
    unsetenv("FARFAULT_CC");
    char both[512];
    snprintf(both, sizeof both, "/nowhere:%s:%s", folder, path);
    setenv("PATH", both, 1);
    load_and_unload();
    setenv("PATH", path, 1);
    free(path);
    assert_int_equal(runs(), 1);
}

static void needs_no_compiler_for_what_is_cached(void **state) {
    (void)state;
    use_copies();
    load_and_unload();
    setenv("FARFAULT_CC", "/nowhere/cc", 1);
    struct ff__ptx_program *program = loaded();
    expect_kernels(program);
    ff__ptx_unload(program);
    options.record = true;
    expect_no_compiler("/nowhere/cc");
    assert_int_equal(runs(), 1);
}

static void says_what_the_compiler_said(void **state) {
    static const struct {
        const char *script, *said;
    } rows[] = {
        {"echo 'a.c: In function f' >&2; echo 'a.c:1: error: bad' >&2; echo more >&2; exit 1",
         "compiler: a.c:1: error: bad"},
        {"echo first; echo second; exit 2", "compiler: first"},
        {"exit 3", "compiler failed with status 3"},
        {"kill -9 $$", "compiler was ended by signal 9"},
        {"exit 0", "compiler made no shared object"},
        {": >\"$2\"", "compiler made no shared object"},
        {"echo rubbish >\"$2\"", "no whole shared object"},
        {"head -c 9000 module.so >\"$2\"", "no whole shared object"},
        {"mkdir \"$2\"; rmdir \"$2\"; ln -s module.so \"$2\"", "compiler made no shared object"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ff__ptx_program *program = NULL;
        struct ff__ptx_kernel *kernel;
        struct ff_error error = {0};
        void *address;
        use_script(rows[i].script);
        assert_int_equal(load_text(text, &program, NULL), 0);
        assert_int_equal(ff__ptx_kernel(program, "good", &kernel, &error), -ENOEXEC);
        if (!strstr(error.message, rows[i].said))
            fail_msg("%s: %s", rows[i].script, error.message);
        assert_null(strchr(error.message, '\n'));
        assert_int_equal(ff__ptx_symbol(program, "counter", &address, NULL, &error), 0);
        ff__ptx_unload(program);
    }
    assert_int_equal(count_files(in_folder("cache"), NULL), 0);
}

static void says_that_a_compiler_does_not_start(void **state) {
    (void)state;
    struct ff__ptx_program *program = NULL;
    struct ff_error error = {0};
    write_file(in_folder("compiler"), "#!/nowhere/sh\n", 14, 0700);
    setenv("FARFAULT_CC", in_folder("compiler"), 1);
    assert_int_equal(load_text(text, &program, &error), 0);
    assert_int_equal(ff__ptx_wait(program, &error), -ENOEXEC);
    assert_non_null(strstr(error.message, "compiler cannot be started: No such file"));
    ff__ptx_unload(program);
    setenv("TMPDIR", "/nowhere", 1);
    assert_int_equal(load_text(text, &program, &error), 0);
    assert_int_equal(ff__ptx_wait(program, &error), -ENOENT);
    assert_non_null(strstr(error.message, "/nowhere"));
    ff__ptx_unload(program);
}

/* As clang does with an option of gcc. */
static void goes_without_what_the_compiler_does_not_know(void **state) {
    (void)state;
    use_script("printf x >>runs; case $* in *vect-cost*)\n"
               "echo \"error: unknown argument: '-fvect-cost-model=dynamic'\" >&2; exit 1;; esac\n"
               "cp module.so \"$2\"");
    load_and_unload();
    assert_int_equal(runs(), 2);
}

/* ---- what the compiler gets ---- */

static void the_compiler_gets_the_text_alone(void **state) {
    (void)state;
    char said[4096] = "";
    int pipes[2];
    assert_int_equal(pipe(pipes), 0); /* not closed when programs are executed */
    signal(SIGPIPE, SIG_IGN);
    setenv("LD_PRELOAD", "", 1);
    setenv("FARFAULT_RECORD", "trace", 1);
    setenv("OTHER_FARFAULT", "stays", 1);
    use_script(
        "env >environment; ls -l /proc/$$/fd >descriptors; cat >text.c; cp module.so \"$2\"; "
        "exec grep Sig.*: /proc/self/status >signals"); /* the shell blocks some while it waits */
    load_and_unload();
    signal(SIGPIPE, SIG_DFL);
    unsetenv("LD_PRELOAD");
    unsetenv("FARFAULT_RECORD");
    close(pipes[0]);
    close(pipes[1]);
    read_file(in_folder("environment"), said, sizeof said - 1);
    assert_null(strstr(said, "LD_PRELOAD"));
    assert_null(strstr(said, "\nFARFAULT_"));
    assert_non_null(strstr(said, "OTHER_FARFAULT=stays"));
    memset(said, 0, sizeof said);
    assert_true(read_file(in_folder("text.c"), said, sizeof said - 1) > 0);
    assert_non_null(strstr(said, "#include"));
    memset(said, 0, sizeof said);
    read_file(in_folder("descriptors"), said, sizeof said - 1);
    assert_null(strstr(said, "pipe:"));
    memset(said, 0, sizeof said);
    read_file(in_folder("signals"), said, sizeof said - 1);
    assert_non_null(strstr(said, "SigBlk:\t0000000000000000"));
    const char *ignored = strstr(said, "SigIgn:\t"); /* but for two of the C library's own */
    assert_non_null(ignored);
    assert_int_equal(strtoull(ignored + 8, NULL, 16) & ~(UINT64_C(3) << 31), 0);
}

/* ---- what the program sees of the compiler ---- */

static volatile sig_atomic_t children_ended;

static void count_child(int number) {
    (void)number;
    children_ended++;
}

static void the_program_has_no_child(void **state) {
    (void)state;
    static const struct {
        void (*handler)(int);
        int flags;
    } rows[] = {{SIG_IGN, 0}, {SIG_DFL, SA_NOCLDWAIT}, {count_child, 0}, {SIG_DFL, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sigaction action = {.sa_handler = rows[i].handler, .sa_flags = rows[i].flags}, kept;
        struct ff__ptx_program *program = NULL;
        assert_int_equal(sigaction(SIGCHLD, &action, NULL), 0);
        use_script("cp module.so \"$2\"; : >begun; while [ -e begun ] && [ ! -e go ]; do sleep "
                   "0.01; done");
        assert_int_equal(unlink(in_folder("begun")) & unlink(in_folder("go")), i == 0 ? -1 : 0);
        options.record = i % 2 != 0;
        options.yields = i / 2 != 0;
        assert_int_equal(load_text(text, &program, NULL), 0);
        assert_true(comes(in_folder("begun")));
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
        write_file(in_folder("go"), "", 0, 0600);
        assert_int_equal(ff__ptx_wait(program, NULL), 0);
        ff__ptx_unload(program);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(sigaction(SIGCHLD, NULL, &kept), 0);
        assert_true(kept.sa_handler == rows[i].handler);
    }
    assert_int_equal(children_ended, 0);
}

#define SLEEPS ": >begun; sleep 20; : >survived; cp module.so \"$2\""

/* Waits for all that the compiler's script and the process above it were, which then are children
 * of this one. */
static void expect_ended(void) {
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    assert_int_equal(errno, ECHILD);
    assert_int_equal(access(in_folder("survived"), F_OK), -1);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static void unloading_ends_the_compiler(void **state) {
    (void)state;
    struct ff__ptx_program *program = NULL;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    use_script(SLEEPS);
    for (unsigned i = 0; i < 5; i++) { /* at any moment of its start */
        assert_int_equal(load_text(text, &program, NULL), 0);
        usleep(i * 300);
        ff__ptx_unload(program);
    }
    unlink(in_folder("begun"));
    assert_int_equal(load_text(text, &program, NULL), 0);
    assert_true(comes(in_folder("begun")));
    ff__ptx_unload(program);
    expect_ended();
}

static void unloading_ends_a_compiler_that_would_not_end(void **state) {
    (void)state;
    struct ff__ptx_program *program = NULL;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    use_script("trap '' TERM; " SLEEPS);
    assert_int_equal(load_text(text, &program, NULL), 0);
    assert_true(comes(in_folder("begun")));
    ff__ptx_unload(program);
    expect_ended();
}

static void the_compiler_ends_with_the_program(void **state) {
    (void)state;
    int status;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    use_script(SLEEPS);
    pid_t child = fork();
    if (child == 0) {
        struct ff__ptx_program *program;
        if (load_text(text, &program, NULL) == 0 && comes(in_folder("begun")))
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    expect_ended();
} /* remove_own_folder() sees that nothing is left */

/* ---- at once ---- */

static void *load_and_use(void *argument) {
    struct ff__ptx_program *program = NULL;
    struct ff__ptx_kernel *kernel;
    if (load_text(text, &program, NULL) != 0 ||
        ff__ptx_kernel(program, "good", &kernel, NULL) != 0 || *counter_of(program) != 7)
        return argument;
    ff__ptx_unload(program);
    return NULL;
}

static void threads_load_at_once(void **state) {
    (void)state;
    pthread_t threads[3];
    use_copies();
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, load_and_use, folder), 0);
    for (unsigned i = 0; i < 3; i++) {
        void *wrong = folder;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    assert_int_equal(count_files(in_folder("cache"), NULL), 1);
}

static void *use_kernels(void *argument) {
    struct ff__ptx_kernel *kernel;
    if (ff__ptx_kernel(argument, "good", &kernel, NULL) != 0 ||
        ff__ptx_kernel(argument, "emit_refuses", &kernel, NULL) != -ENOTSUP)
        return argument;
    return NULL;
}

static void threads_use_a_program_at_once(void **state) {
    (void)state;
    pthread_t threads[3];
    use_copies();
    for (unsigned round = 0; round < 2; round++) {
        struct ff__ptx_program *program = NULL;
        assert_int_equal(load_text(text, &program, NULL), 0);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, use_kernels, program), 0);
        for (unsigned i = 0; i < 3; i++) {
            void *wrong = folder;
            pthread_join(threads[i], &wrong);
            assert_null(wrong);
        }
        ff__ptx_unload(program);
    }
}

static void processes_load_at_once(void **state) {
    (void)state;
    pid_t children[2];
    use_script(
        "printf x >>runs; while [ -e runs ] && [ \"$(cat runs)\" != xx ]; do sleep 0.01; done\n"
        "cp module.so \"$2\"");
    for (unsigned i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(load_and_use(folder) != NULL);
    }
    for (unsigned i = 0; i < 2; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(in_folder("cache"), NULL), 1);
    load_and_unload();
    assert_int_equal(runs(), 2);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, make_own_folder, remove_own_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(gives_kernels_and_symbols), /* first: it compiles */
        CASE(programs_have_their_own_variables),
        CASE(leaves_no_descriptors),
        CASE(compiles_what_differs),
        CASE(a_damaged_file_is_made_anew),
        CASE(needs_no_cache),
        CASE(refuses_a_folder_of_others),
        CASE(what_is_not_ptx),
        CASE(says_that_there_is_no_compiler),
        CASE(needs_no_compiler_for_what_is_cached),
        CASE(says_what_the_compiler_said),
        CASE(says_that_a_compiler_does_not_start),
        CASE(goes_without_what_the_compiler_does_not_know),
        CASE(the_compiler_gets_the_text_alone),
        CASE(the_program_has_no_child),
        CASE(unloading_ends_the_compiler),
        CASE(unloading_ends_a_compiler_that_would_not_end),
        CASE(the_compiler_ends_with_the_program),
        CASE(threads_load_at_once),
        CASE(threads_use_a_program_at_once),
        CASE(processes_load_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
