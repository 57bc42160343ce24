/* Rank 0: hands out cells to whoever connects. */
#include "report/complain.h"
#include "report/text.h"
#include "study/jobs/ranks.h"
#include "study/jobs/ranks_state.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HELLO_S 10 /* who connects has so long to say who it is */

static struct {
    int listener;
    unsigned char token[16];
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t change;
    const struct ff__shared_cells *cells; /* NULL: none to be had now */
    struct ff__jobs *pool;
    unsigned helpers; /* that use them */
    unsigned ended;   /* experiments */
    bool told;        /* that a rank had other cells */
} lead = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

/* ---- a rank ---- */

struct helper {
    int socket;
    const struct ff__shared_cells *cells;
};

static bool ask(const struct helper *helper, unsigned at, uint32_t cell) {
    char *result = ff__wire_write(helper->socket, &cell, sizeof cell)
                       ? ff__wire_read_text(helper->socket)
                       : NULL;
    bool taken = result && helper->cells->take(helper->cells->self, at, result, strlen(result));
    free(result);
    return taken;
}

static bool do_job(void *self, unsigned at) {
    const struct helper *helper = self;
    uint32_t cell;
    bool theirs = helper->cells->cell(helper->cells->self, at, &cell);
    bool done = theirs && ask(helper, at, cell);
    if (!done)
        helper->cells->run(helper->cells->self, at);
    return done || !theirs;
}

/* The cells of an experiment, as soon as it begins; NULL: it has ended. */
static const struct ff__shared_cells *enter(unsigned experiment) {
    pthread_mutex_lock(&lead.lock);
    while (lead.ended < experiment || (lead.ended == experiment && !lead.cells))
        pthread_cond_wait(&lead.change, &lead.lock);
    const struct ff__shared_cells *cells = lead.ended == experiment ? lead.cells : NULL;
    lead.helpers += cells != NULL;
    pthread_mutex_unlock(&lead.lock);
    return cells;
}

static void leave(void) {
    pthread_mutex_lock(&lead.lock);
    lead.helpers--;
    pthread_cond_broadcast(&lead.change);
    pthread_mutex_unlock(&lead.lock);
}

/* Whether its cells are ours. */
static bool check(const struct ff__hello *hello, const struct ff__shared_cells *cells) {
    if (hello->sum == cells->sum)
        return true;
    pthread_mutex_lock(&lead.lock);
    bool told = lead.told;
    lead.told = true;
    pthread_mutex_unlock(&lead.lock);
    if (!told)
        ff__complain(0,
                     "rank %u takes no part: there, farfault, its data or a file it reads is not "
                     "the same",
                     hello->rank);
    return false;
}

static void hand_out(int socket, const struct ff__hello *hello) {
    uint32_t last = FF__WIRE_OVER;
    const struct ff__shared_cells *cells = enter(hello->experiment);
    struct helper helper = {socket, cells};
    if (cells && !check(hello, cells))
        last = FF__WIRE_REFUSED;
    else if (cells)
        ff__pool_help(lead.pool, do_job, &helper);
    if (cells)
        leave();
    ff__wire_write(socket, &last, sizeof last);
}

static void *serve(void *argument) {
    int socket = *(int *)argument;
    const struct timeval limit = {.tv_sec = HELLO_S}, none = {0};
    struct ff__hello hello;
    free(argument);
    ff__wire_watch(socket);
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    bool known = ff__wire_read(socket, &hello, sizeof hello) &&
                 memcmp(hello.token, lead.token, sizeof lead.token) == 0;
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
    if (known)
        hand_out(socket, &hello);
    close(socket);
    return NULL;
}

static bool start(void *(*body)(void *), void *argument) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, argument))
        return false;
    pthread_detach(thread);
    return true;
}

static void *accept_all(void *unused) {
    (void)unused;
    for (;;) {
        int socket = accept4(lead.listener, NULL, NULL, SOCK_CLOEXEC);
        int *argument = ff__must(malloc(sizeof *argument));
        *argument = socket;
        if (socket >= 0 && start(serve, argument))
            continue;
        free(argument);
        if (socket >= 0)
            close(socket);
        else if (errno == EMFILE || errno == ENFILE)
            usleep(100000); /* until some rank has gone */
    }
    return NULL;
}

int ff__ranks_lead(int listener, const unsigned char token[16]) {
    lead.listener = listener;
    memcpy(lead.token, token, sizeof lead.token);
    return start(accept_all, NULL) ? 0 : -EAGAIN;
}

/* ---- the experiment ---- */

void ff__ranks_open(const struct ff__shared_cells *cells, struct ff__jobs *pool) {
    pthread_mutex_lock(&lead.lock);
    lead.cells = cells;
    lead.pool = pool;
    pthread_cond_broadcast(&lead.change);
    pthread_mutex_unlock(&lead.lock);
}

void ff__ranks_close(void) {
    pthread_mutex_lock(&lead.lock);
    lead.cells = NULL;
    lead.ended++;
    while (lead.helpers > 0)
        pthread_cond_wait(&lead.change, &lead.lock);
    pthread_cond_broadcast(&lead.change);
    pthread_mutex_unlock(&lead.lock);
}
