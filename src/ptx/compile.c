#include "ptx/compile.h"

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/error.h"
#include "ptx/object.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#define STACK ((size_t)256 << 10)
#define SAID  4096 /* bytes of what the compiler says that are looked at */

/* Loops that mix types are worth vectorizing even where their count is not known. */
#define GCC_ALONE "-fvect-cost-model=dynamic"

static const char *const of_modules[] = {GCC_ALONE,
                                         "-O2",
                                         "-ftree-vectorize",
                                         "-funswitch-loops",
                                         "-march=native",
                                         "-ffp-contract=off",
                                         "-fno-strict-aliasing",
                                         "-fwrapv",
                                         "-fno-math-errno",
                                         "-fno-trapping-math",
                                         "-w",
                                         "-shared",
                                         "-fPIC",
                                         "-x",
                                         "c",
                                         "-",
                                         "-lm",
                                         NULL};

/* ---- which compiler ---- */

static bool can_run(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

/* In the folders of PATH. NULL: nowhere, or no memory. */
static char *find_program(const char *name) {
    const char *path = getenv("PATH");
    if (strchr(name, '/') != NULL)
        return can_run(name) ? strdup(name) : NULL;
    for (const char *at = path != NULL ? path : "/usr/local/bin:/usr/bin:/bin";; at++) {
        int length = (int)strcspn(at, ":");
        char *file = NULL;
        if (asprintf(&file, "%.*s/%s", length, length > 0 ? at : ".", name) < 0)
            return NULL;
        if (can_run(file))
            return file;
        free(file);
        at += length;
        if (*at == '\0')
            return NULL;
    }
}

static char **own_environment(void) {
    size_t count = 0, kept = 0;
    while (environ != NULL && environ[count] != NULL)
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy != NULL && i < count; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0 && strncmp(environ[i], "FARFAULT_", 9) != 0)
            copy[kept++] = environ[i];
    return copy;
}

/* -ENOENT: there is none; -ENOMEM. `path`: of the program, which it takes. */
static int set_up(struct ff__ptx_compiler *compiler, char *path, struct ff_error *error) {
    const char *folder = getenv("TMPDIR");
    bool missing = path == NULL;
    *compiler = (struct ff__ptx_compiler){
        .path = path,
        .temporary = strdup(folder != NULL && folder[0] == '/' ? folder : "/tmp"),
        .environment = own_environment(),
        .lock = PTHREAD_MUTEX_INITIALIZER,
    };
    if (!missing && compiler->temporary != NULL && compiler->environment != NULL)
        return 0;
    ff__ptx_compiler_free(compiler);
    return missing ? -ENOENT : ff__fail(error, -ENOMEM, "not enough memory to compile");
}

const char *ff__ptx_clang(void) {
    static const char *const names[] = {"clang",    "clang-20", "clang-19", "clang-18", "clang-17",
                                        "clang-16", "clang-15", "clang-14", NULL};
    for (unsigned i = 0; names[i] != NULL; i++) {
        char *path = find_program(names[i]);
        free(path);
        if (path != NULL)
            return names[i];
    }
    return NULL;
}

int ff__ptx_clang_find(struct ff__ptx_compiler *compiler, struct ff_error *error) {
    const char *name = ff__ptx_clang();
    int code = set_up(compiler, name != NULL ? find_program(name) : NULL, error);
    if (code == -ENOENT)
        return ff__fail(error, -ENOEXEC, "there is no clang in PATH");
    return code;
}

int ff__ptx_compiler_find(struct ff__ptx_compiler *compiler, struct ff_error *error) {
    const char *named = getenv("FARFAULT_CC");
    bool is_named = named != NULL && named[0] != '\0';
    int code = set_up(compiler, find_program(is_named ? named : "cc"), error);
    compiler->flags = of_modules;
    if (code != -ENOENT)
        return code;
    if (is_named)
        return ff__fail(error, -ENOEXEC, "FARFAULT_CC: there is no program %s", named);
    return ff__fail(error, -ENOEXEC,
                    "kernels need a C compiler, and there is no cc in PATH; install one (Debian: "
                    "apt install gcc libc6-dev), or name one with FARFAULT_CC");
}

void ff__ptx_compiler_free(struct ff__ptx_compiler *compiler) {
    free(compiler->path);
    free(compiler->temporary);
    free(compiler->environment);
    *compiler = (struct ff__ptx_compiler){0};
}

static void add_text(struct ff__ptx_digest *digest, const char *text) {
    ff__ptx_digest_add(digest, text, strlen(text) + 1);
}

/* What -march=native goes by. */
static void add_processor(struct ff__ptx_digest *digest) {
#ifdef __x86_64__
    static const unsigned leaves[][2] = {{0, 0}, {1, 0},    {7, 0},
                                         {7, 1}, {0x19, 0}, {0x80000001, 0}};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        unsigned words[4] = {0};
        __get_cpuid_count(leaves[i][0], leaves[i][1], &words[0], &words[1], &words[2], &words[3]);
        if (leaves[i][0] == 1)
            words[1] = 0; /* the number of the very processor that runs this */
        ff__ptx_digest_add(digest, words, sizeof words);
    }
#endif
    unsigned long words[] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
    ff__ptx_digest_add(digest, words, sizeof words);
}

void ff__ptx_compiler_identify(const struct ff__ptx_compiler *compiler,
                               struct ff__ptx_digest *digest) {
    struct stat about;
    char *real = realpath(compiler->path, NULL);
    add_text(digest, compiler->path);
    if (real != NULL && stat(real, &about) == 0) {
        add_text(digest, real);
        ff__ptx_digest_add(digest, &about.st_size, sizeof about.st_size);
        ff__ptx_digest_add(digest, &about.st_mtim, sizeof about.st_mtim);
    }
    free(real);
}

void ff__ptx_compiler_add_target(struct ff__ptx_digest *digest) {
    for (size_t i = 0; of_modules[i] != NULL; i++)
        add_text(digest, of_modules[i]);
    add_processor(digest);
}

/* ---- the process between the program and the compiler ----
 *
 * It shares the program's memory, and the thread that starts it sleeps until it has ended: so it is
 * that thread for all that matters. As a process it is the compiler's parent, with descriptors and
 * signal actions of its own, and it tells nobody of its end. It takes no locks, malloc()'s
 * included, as the program may have ended with them held. */

struct run {
    const struct ff__ptx_compiler *compiler;
    char *const *arguments;
    const char *folder, *output;
    int text, said; /* the descriptors of the compiler's input and of what it says */
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t program;
    int code;   /* why the compiler could not be started */
    int status; /* as of waitpid() */
};

/* Not by sigaction(): sanitizers keep a table of their own for it, which is the program's. All of
 * the kernel's structure is zero for the default action, whatever its layout is. */
static void set_default(int number) {
    static const char action[64];
    syscall(SYS_rt_sigaction, number, action, NULL, _NSIG / 8);
}

/* How long a compiler may take to remove its files. */
#define MOMENT_NS 500000000

/* SIGTERM is how the program's end and ff__ptx_compile_stop() come: whether it did. The compiler
 * removes its files then; one that does not end is killed. */
static bool wait_for_end(struct run *run, pid_t process) {
    const struct timespec moment = {.tv_nsec = MOMENT_NS};
    bool is_told = false;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    while (waitpid(process, &run->status, WNOHANG) == 0) {
        int came = sigtimedwait(&set, NULL, is_told ? &moment : NULL);
        if (came == SIGTERM)
            kill(-process, SIGTERM);
        else if (came < 0 && errno == EAGAIN)
            kill(-process, SIGKILL);
        is_told |= came == SIGTERM;
    }
    return is_told;
}

static bool is_stopped(const struct run *run) {
    return __atomic_load_n(&run->compiler->stop, __ATOMIC_SEQ_CST);
}

/* The threads of a program end one after the other, and the signal comes with the first: then the
 * parent is the program for a while yet. */
static bool has_program_ended(const struct run *run, bool is_told) {
    for (int ms = 0; is_told && ms < 1000 && !is_stopped(run) && getppid() == run->program; ms++)
        ff__clock_sleep(1000000);
    return getppid() != run->program;
}

static int between(void *argument) {
    struct run *run = argument;
    bool is_told = false;
    pid_t process;
    set_default(SIGCHLD);
    set_default(SIGTERM);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    run->code = -ECANCELED;
    if (!is_stopped(run) && getppid() == run->program) {
        ff__descriptors_keep_only((const int[]){run->text, run->said}, 2);
        run->code = -posix_spawn(&process, run->compiler->path, &run->actions, &run->attributes,
                                 run->arguments, run->compiler->environment);
        if (run->code == 0)
            is_told = wait_for_end(run, process);
    }
    if (has_program_ended(run, is_told)) {
        unlink(run->output);
        rmdir(run->folder);
    }
    return 0;
}

static void place_descriptors(struct run *run) {
    posix_spawn_file_actions_init(&run->actions);
    posix_spawn_file_actions_adddup2(&run->actions, run->text, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&run->actions, run->said, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&run->actions, run->said, STDERR_FILENO);
}

/* The compiler is the first of a process group, and has the actions that programs begin with. */
static void reset_signals(struct run *run) {
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_init(&run->attributes);
    posix_spawnattr_setflags(&run->attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                   POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigdefault(&run->attributes, &all);
    posix_spawnattr_setsigmask(&run->attributes, &none);
    posix_spawnattr_setpgroup(&run->attributes, 0);
}

/* clone() by the C library's other name: ThreadSanitizer takes clone() for a fork, whatever it
 * shares. */
int __clone(int (*run)(void *), void *stack, int flags, void *argument, ...);

static int run_between(struct ff__ptx_compiler *compiler, struct run *run) {
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return -errno;
    pid_t process = __clone(between, stack + STACK, CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID,
                            run, &compiler->process);
    int code = process < 0 ? -errno : run->code;
    pthread_mutex_lock(&compiler->lock);
    compiler->process = 0;
    if (process > 0)
        waitpid(process, NULL, __WALL);
    pthread_mutex_unlock(&compiler->lock);
    munmap(stack, STACK);
    return code;
}

void ff__ptx_compile_stop(struct ff__ptx_compiler *compiler) {
    __atomic_store_n(&compiler->stop, true, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&compiler->lock);
    pid_t process = __atomic_load_n(&compiler->process, __ATOMIC_SEQ_CST);
    if (process > 0)
        kill(process, SIGTERM);
    pthread_mutex_unlock(&compiler->lock);
}

/* ---- one compilation ---- */

/* The first line that tells of an error, or else the first one. */
static void copy_line(const char *said, char *out, size_t size) {
    const char *at = strstr(said, "error");
    while (at != NULL && at > said && at[-1] != '\n')
        at--;
    if (at == NULL)
        at = said;
    snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
}

static int judge(const struct run *run, int code, const char *said, struct ff_error *error) {
    const char *path = run->compiler->path;
    char line[200];
    copy_line(said, line, sizeof line);
    if (__atomic_load_n(&run->compiler->stop, __ATOMIC_SEQ_CST))
        return ff__fail(error, -ECANCELED, "the compilation was stopped");
    if (code != 0)
        return ff__fail(error, -ENOEXEC, "%s cannot be started: %s", path, strerror(-code));
    if (WIFEXITED(run->status) && WEXITSTATUS(run->status) == 0)
        return 0;
    if (line[0] != '\0')
        return ff__fail(error, -ENOEXEC, "%s: %s", path, line);
    if (WIFSIGNALED(run->status))
        return ff__fail(error, -ENOEXEC, "%s was ended by signal %d", path, WTERMSIG(run->status));
    return ff__fail(error, -ENOEXEC, "%s failed with status %d", path, WEXITSTATUS(run->status));
}

/* *refused: the compiler does not know GCC_ALONE. */
static int run_once(struct ff__ptx_compiler *compiler, struct run *run, bool *refused,
                    struct ff_error *error) {
    void *said = NULL;
    run->said = ff__ptx_object_new(SAID, &said);
    if (run->said < 0)
        return ff__fail(error, run->said, "no memory for what the compiler says: %s",
                        strerror(-run->said));
    lseek(run->text, 0, SEEK_SET);
    place_descriptors(run);
    reset_signals(run);
    int code = judge(run, run_between(compiler, run), said, error);
    posix_spawn_file_actions_destroy(&run->actions);
    posix_spawnattr_destroy(&run->attributes);
    *refused = code != 0 && strstr(said, GCC_ALONE) != NULL;
    munmap(said, SAID);
    close(run->said);
    return code;
}

static int take_output(const struct run *run, struct ff_error *error) {
    struct stat about;
    int file = open(run->output, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0 || fstat(file, &about) != 0 || about.st_size == 0) {
        if (file >= 0)
            close(file);
        return ff__fail(error, -ENOEXEC, "%s made no shared object", run->compiler->path);
    }
    int object = ff__ptx_object_copy(file, (size_t)about.st_size);
    close(file);
    if (object < 0)
        return ff__fail(error, object, "a translated PTX module cannot be kept in memory: %s",
                        strerror(-object));
    return object;
}

static int compile_in(struct ff__ptx_compiler *compiler, struct run *run, struct ff_error *error) {
    bool refused = false;
    size_t count = 0;
    while (compiler->flags[count] != NULL)
        count++;
    char **arguments = calloc(count + 4, sizeof *arguments);
    if (arguments == NULL)
        return ff__fail(error, -ENOMEM, "not enough memory to compile");
    arguments[0] = compiler->path;
    arguments[1] = "-o";
    arguments[2] = (char *)run->output;
    memcpy(arguments + 3, compiler->flags, count * sizeof *arguments);
    run->arguments = arguments;
    int code = run_once(compiler, run, &refused, error);
    if (refused) {
        memmove(arguments + 3, arguments + 4, count * sizeof *arguments);
        code = run_once(compiler, run, &refused, error);
    }
    free(arguments);
    if (code == 0)
        code = take_output(run, error);
    return code;
}

/* In a folder of its own. */
static int compile_apart(struct ff__ptx_compiler *compiler, struct run *run,
                         struct ff_error *error) {
    char folder[PATH_MAX], output[PATH_MAX + 16];
    snprintf(folder, sizeof folder, "%s/farfault-XXXXXX", compiler->temporary);
    if (mkdtemp(folder) == NULL) {
        int code = -errno;
        return ff__fail(error, code, "no folder can be made in %s: %s", compiler->temporary,
                        strerror(-code));
    }
    snprintf(output, sizeof output, "%s/module.so", folder);
    run->folder = folder;
    run->output = output;
    int code = compile_in(compiler, run, error);
    unlink(output);
    rmdir(folder);
    return code;
}

int ff__ptx_compile(struct ff__ptx_compiler *compiler, const char *text, size_t size,
                    struct ff_error *error) {
    struct run run = {.compiler = compiler, .program = getpid()};
    void *content = NULL;
    run.text = ff__ptx_object_new(size, &content);
    if (run.text < 0)
        return ff__fail(error, run.text, "no memory for a translated PTX module: %s",
                        strerror(-run.text));
    memcpy(content, text, size);
    ff__ptx_object_unmap(content, size);
    int code = compile_apart(compiler, &run, error);
    close(run.text);
    return code;
}
