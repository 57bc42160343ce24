#include "preload/trust.h"

#include "policy/common/bandit.h"
#include "ptx/source_name.h"

#include <stdlib.h>
#include <string.h>

/* Ours: what is brought has to save one fault of 33. An order that comes too late costs none. */
#define MARGIN       (33.0 / 32)
#define FIRST_TRIAL  8u
#define RAREST_TRIAL 512u

struct ff__trust {
    struct ff__trust *next;
    struct ff__account_extents *counts;
    struct ff__bandit bandit; /* the second way is to bring */
    char symbol[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ff__trust *kernels;

static struct ff__trust *make(const char *symbol) {
    struct ff__trust *trust = calloc(1, sizeof *trust + strlen(symbol) + 1);
    char *name = ff__ptx_source_name(symbol, false);
    if (trust != NULL) {
        strcpy(trust->symbol, symbol);
        trust->counts = ff__summary_extents(name != NULL ? name : symbol);
        ff__bandit_start(&trust->bandit, true, FIRST_TRIAL, RAREST_TRIAL);
        trust->counts->is_trusted = true;
        trust->next = kernels;
        kernels = trust;
    }
    free(name);
    return trust;
}

struct ff__trust *ff__trust_of(const char *symbol) {
    pthread_mutex_lock(&lock);
    struct ff__trust *trust = kernels;
    while (trust != NULL && strcmp(trust->symbol, symbol) != 0)
        trust = trust->next;
    if (trust == NULL)
        trust = make(symbol);
    pthread_mutex_unlock(&lock);
    return trust;
}

struct ff__account_extents *ff__trust_counts(struct ff__trust *trust) {
    return trust->counts;
}

bool ff__trust_brings(struct ff__trust *trust) {
    pthread_mutex_lock(&lock);
    bool brings = ff__bandit_is_second(&trust->bandit);
    pthread_mutex_unlock(&lock);
    return brings;
}

void ff__trust_judge(struct ff__trust *trust, bool brought, uint64_t pages, uint64_t faults) {
    double cost = (double)faults / (double)pages;
    pthread_mutex_lock(&lock);
    ff__bandit_cost(&trust->bandit, brought, brought ? MARGIN * cost : cost);
    ff__bandit_used(&trust->bandit, brought);
    __atomic_store_n(&trust->counts->is_trusted, trust->bandit.second, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}
