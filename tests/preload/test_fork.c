/* Children: a forked one lives without managed memory and is told so if it touches it; one that
 * execs begins anew; the parent goes on in every case. */
#include "client.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE  (6 * MIB)
#define COUNT (SIZE / sizeof(cl_int))

extern char **environ;

struct ending {
    int status;
    char said[512]; /* on stderr */
};

/* Runs the function in a forked child, which exits with what it returns. */
static struct ending in_child(int (*function)(void *), void *argument) {
    struct ending ending = {0, ""};
    int ends[2];
    CHECK(pipe(ends) == 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        exit(function(argument)); /* runs destructors: a summary would show */
    }
    close(ends[1]);
    ssize_t got;
    size_t used = 0;
    while (used < sizeof ending.said - 1 &&
           (got = read(ends[0], ending.said + used, sizeof ending.said - 1 - used)) > 0)
        used += (size_t)got;
    close(ends[0]);
    CHECK(waitpid(child, &ending.status, 0) == child);
    return ending;
}

static int compute(void *argument) {
    return *(int *)argument + 1;
}

static int touch(void *argument) {
    cl_int value = *(volatile cl_int *)argument;
    (void)value;
    return 3;
}

static int execute(void *argument) {
    (void)argument;
    execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL);
    return 1;
}

/* A child's child is no different. */
static int touch_in_child(void *argument) {
    struct ending ending = in_child(touch, argument);
    fputs(ending.said, stderr);
    return WIFSIGNALED(ending.status) ? 50 + WTERMSIG(ending.status) : WEXITSTATUS(ending.status);
}

static void on_segv(int number) {
    (void)number;
    _exit(7);
}

static bool exited(const struct ending *ending, int code) {
    if (WIFEXITED(ending->status) && WEXITSTATUS(ending->status) == code)
        return true;
    fprintf(stderr, "status %x: %s\n", (unsigned)ending->status, ending->said);
    return false;
}

static void test_touching(void *managed) {
    struct ending ending = in_child(touch, managed);
    if (!client_is_preloaded()) {
        CHECK(exited(&ending, 3));
        return;
    }
    CHECK(WIFSIGNALED(ending.status) && WTERMSIG(ending.status) == SIGSEGV);
    CHECK(strstr(ending.said, "managed memory is not available after fork\n"));
    CHECK(strncmp(ending.said, "farfault: process ", 18) == 0);
    CHECK(strchr(ending.said, '\n') == ending.said + strlen(ending.said) - 1);

    ending = in_child(touch_in_child, managed);
    CHECK(exited(&ending, 50 + SIGSEGV));
    CHECK(strstr(ending.said, "managed memory is not available after fork\n"));

    /* a handler that the program has set is still called */
    signal(SIGSEGV, on_segv);
    ending = in_child(touch, managed);
    CHECK(exited(&ending, 7));
    CHECK(strstr(ending.said, "managed memory is not available after fork\n"));
    signal(SIGSEGV, SIG_DFL);
}

static void test_others(void) {
    int number = 41;
    struct ending ending = in_child(compute, &number);
    CHECK(exited(&ending, 42) && ending.said[0] == '\0');
    ending = in_child(execute, NULL);
    CHECK(exited(&ending, 9) && ending.said[0] == '\0');
    ending = in_child(touch, (void *)16);
    CHECK(WIFSIGNALED(ending.status) && WTERMSIG(ending.status) == SIGSEGV);
    CHECK(!strstr(ending.said, "farfault"));
    CHECK(system("exit 5") == 5 << 8);
    pid_t child;
    char *const arguments[] = {"sh", "-c", "exit 6", NULL};
    int status = 0;
    CHECK(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0);
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 6);
}

int main(void) {
    struct client client;
    client_open(&client, 0);
    cl_kernel add = client_kernel(&client, "add");
    cl_mem buffer = client_buffer(&client, CL_MEM_READ_WRITE, SIZE, NULL);
    cl_int *svm = clSVMAlloc(client.context, CL_MEM_READ_WRITE, MIB, 0), zero = 0;
    CHECK(svm);
    OK(clEnqueueFillBuffer(client.queue, buffer, &zero, sizeof zero, 0, SIZE, 0, NULL, NULL));
    memset(svm, 1, MIB);
    client_launch(client.queue, add, buffer, 1, COUNT);
    test_others();
    test_touching(svm);
    client_launch(client.queue, add, buffer, 2, COUNT);
    CHECK(client_buffer_is_series(client.queue, buffer, COUNT, 3, 0));
    CHECK(client_is_series(svm, MIB / sizeof(cl_int), 0x01010101, 0));
    clSVMFree(client.context, svm);
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(add));
    client_close(&client);
    return 0;
}
