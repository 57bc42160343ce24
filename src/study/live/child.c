#include "study/live/child.h"

#include "base/clock.h"
#include "report/complain.h"
#include "study/find.h"
#include "study/live/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- starting ---- */

static int place(int file, int number) {
    return file == number ? fcntl(file, F_SETFD, 0) : dup2(file, number);
}

static int place_files(const struct ff__child *child) {
    if ((child->apart && place(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO) < 0) ||
        (child->output >= 0 && place(child->output, STDOUT_FILENO) < 0) ||
        (child->errors >= 0 && place(child->errors, STDERR_FILENO) < 0))
        return -errno;
    return 0;
}

/* Becomes the program, which the kernel kills when the thread that started it ends: nobody else
 * would, if we are killed. Returns only if that fails. `mask`: the signals that were blocked before
 * we began to wait for some. */
static int become(const struct ff__child *child, const sigset_t *mask, pid_t parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || (child->apart && setpgid(0, 0)))
        return -errno;
    if (getppid() != parent)
        return -ESRCH; /* it ended before it could take us along */
    int status = place_files(child);
    if (status)
        return status;
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvpe(child->argv[0], child->argv, child->environment);
    return -errno;
}

/* The start's status comes through a pipe that a successful exec closes. posix_spawn() cannot do
 * what become() does. */
static int start(const struct ff__child *child, const sigset_t *mask, pid_t *pid) {
    int ends[2], status = 0;
    const pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    *pid = fork();
    if (*pid == 0) {
        status = become(child, mask, parent);
        _exit(write(ends[1], &status, sizeof status) != sizeof status);
    }
    if (*pid < 0)
        status = -errno;
    close(ends[1]);
    if (read(ends[0], &status, sizeof status) > 0)
        waitpid(*pid, NULL, 0);
    close(ends[0]);
    return status;
}

/* ---- waiting ---- */

/* Signals that end this process, unless its parent has them ignored. */
static void add_stop_signals(sigset_t *set) {
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
    for (unsigned i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        struct sigaction action;
        if (sigaction(stops[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(set, stops[i]);
    }
}

static void send_signal(const struct ff__child *child, pid_t pid, int number) {
    kill(child->apart ? -pid : pid, number);
}

/* The terminal sends its signals to a whole process group: a child in ours has them already. */
static void pass_on(const struct ff__child *child, pid_t pid, const siginfo_t *info) {
    if (child->apart || info->si_code != SI_KERNEL)
        send_signal(child, pid, info->si_signo);
}

/* Waits for one of the signals; negative, with errno EAGAIN, once it is later than `deadline`
 * (UINT64_MAX: never). */
static int wait_until(const sigset_t *set, uint64_t deadline, siginfo_t *info) {
    uint64_t now = ff__clock_ns(), left = now < deadline ? deadline - now : 0;
    struct timespec patience = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    return sigtimedwait(set, info, deadline == UINT64_MAX ? NULL : &patience);
}

static void wait_for_end(const struct ff__child *child, pid_t pid, const sigset_t *set,
                         struct ff__child_end *end) {
    const uint64_t start = ff__clock_ns();
    uint64_t limit = child->limit_ns ? start + child->limit_ns : UINT64_MAX;
    uint64_t notice = child->notice_ns ? start + child->notice_ns : UINT64_MAX;
    while (waitpid(pid, &end->wait_status, WNOHANG) == 0) {
        siginfo_t info;
        int number = wait_until(set, notice < limit ? notice : limit, &info);
        if (number < 0 && errno == EAGAIN && notice < limit) {
            child->notice(child->noticer);
            notice = UINT64_MAX;
        } else if (number < 0 && errno == EAGAIN) {
            end->timed_out = true;
            limit = UINT64_MAX;
            send_signal(child, pid, SIGKILL);
        } else if (number > 0 && number != SIGCHLD) {
            if (child->apart && end->interrupted)
                send_signal(child, pid, SIGKILL); /* asked twice */
            end->interrupted = number;
            pass_on(child, pid, &info);
        }
    }
}

int ff__child_run(const struct ff__child *child, struct ff__child_end *end) {
    *end = (struct ff__child_end){0};
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    add_stop_signals(&set);
    signal(SIGCHLD, SIG_DFL); /* ignored, children would leave no status behind */
    sigprocmask(SIG_BLOCK, &set, &before);
    pid_t pid = 0;
    int status = start(child, &before, &pid);
    if (status == 0) {
        wait_for_end(child, pid, &set, end);
        if (child->apart)
            kill(-pid, SIGKILL); /* what it left behind */
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

int ff__child_exit_status(const struct ff__child_end *end) {
    if (WIFSIGNALED(end->wait_status))
        return FF__EXIT_SIGNAL + WTERMSIG(end->wait_status);
    return WEXITSTATUS(end->wait_status);
}

static bool is_bundled(const char *name) {
    const struct ff__program_row *row;
    for (unsigned i = 0; (row = ff__program_at(i)) != NULL; i++)
        if (strcmp(row->name, name) == 0)
            return true;
    return false;
}

static int complain_of_bundled(const char *name) {
    char path[PATH_MAX];
    int status = ff__find_program(name, path);
    return status != 0
               ? status
               : ff__complain(FF__EXIT_NOT_FOUND,
                              "%s: no such program in PATH; the bundled one is %s", name, path);
}

int ff__child_complain(const char *program, int status) {
    if (status == -ENOENT && is_bundled(program))
        return complain_of_bundled(program);
    if (status == -ENOENT)
        return ff__complain(FF__EXIT_NOT_FOUND,
                            "%s: no such program; give its path, or a name "
                            "that is in PATH",
                            program);
    return ff__complain(FF__EXIT_CANNOT_EXECUTE, "%s cannot be executed: %s", program,
                        strerror(-status));
}
