/* Programs of one device that take turns: the broker's part, with a clock of the test's own. */
#include "share/broker.h"

#include "base/cases.h"
#include "runtime/fixture.h"

#define SLOTS 64u
#define MS    UINT64_C(1000000)

static struct ff__broker broker;
static uint64_t now;

static void begin(void) {
    memset(&broker, 0, sizeof broker);
    broker.device_count = 1;
    broker.limit_ns = 1000 * MS;
    broker.devices[0] = (struct ff__broker_device){"gpu0", SLOTS, {0}};
    for (uint32_t c = 0; c < FF__CLIENTS; c++)
        broker.clients[c] = (struct ff__client){.fd = -1, .device = FF__SHARE_NOBODY};
    now = 1000000 * MS;
}

static struct ff__client *add(uint32_t number, uint32_t need, bool thrashes) {
    struct ff__client *client = &broker.clients[number];
    *client = (struct ff__client){.fd = 1000 + (int)number, .need = need, .priority = 1};
    client->heard_ns = now;
    client->thrash.is_thrashing = thrashes;
    return client;
}

/* A step, in which all that is not silent is heard of. */
static void step(uint64_t passed) {
    now += passed;
    for (uint32_t c = 0; c < FF__CLIENTS; c++)
        if (broker.clients[c].fd >= 0 && !broker.clients[c].is_asked)
            broker.clients[c].heard_ns = now;
    ff__turns_step(&broker, 0, now);
}

#define silence(client) ((client)->is_asked = true)

static uint32_t holder(void) {
    uint32_t found = FF__SHARE_NOBODY;
    for (uint32_t c = 0; c < FF__CLIENTS; c++)
        if (broker.clients[c].fd >= 0 && broker.clients[c].turn == FF__TURN_HAS) {
            assert_int_equal(found, FF__SHARE_NOBODY); /* one at a time */
            found = c;
        }
    return found;
}

static uint64_t due_of_all(void) {
    uint64_t all = 0;
    for (uint32_t c = 0; c < FF__CLIENTS; c++)
        if (broker.clients[c].fd >= 0)
            all += ff__turns_due(&broker, &broker.clients[c]);
    return all;
}

/* The switch has taken so long. */
static void restore(uint64_t took) {
    step(took);
    if (holder() != FF__SHARE_NOBODY)
        ff__turns_restored(&broker, &broker.clients[holder()], now);
}

static void test_who_fits_or_does_not_thrash_never_waits(void **state) {
    (void)state;
    begin();
    struct ff__client *a = add(0, 30, true), *b = add(1, 34, true);
    step(MS);
    assert_int_equal(a->turn + b->turn, FF__TURN_NONE);
    assert_int_equal(ff__turns_due(&broker, a), 30);
    assert_int_equal(ff__turns_due(&broker, b), 34);
    b->need = 60; /* only one thrashes */
    a->need = 60, a->thrash.is_thrashing = false;
    step(MS);
    assert_int_equal(a->turn + b->turn, FF__TURN_NONE);
    assert_int_equal(ff__turns_due(&broker, a), SLOTS / 2);
    assert_int_equal(due_of_all(), SLOTS);
    a->thrash.is_thrashing = true;
    broker.has_no_turns = true;
    step(MS);
    assert_int_equal(a->turn + b->turn, FF__TURN_NONE);
}

/* Every one of so many programs has turns, one after the other, and the memory of the device. */
static void take_turns(uint32_t count) {
    uint32_t turns[FF__CLIENTS] = {0};
    begin();
    struct ff__client *quiet = add(count, 10, false); /* beside them, and never asked to wait */
    for (uint32_t c = 0; c < count; c++)
        add(c, 60, true);
    for (uint32_t i = 0; i < 3 * count; i++) {
        step(i == 0 ? MS : 200 * MS);
        uint32_t has = holder();
        assert_int_not_equal(has, FF__SHARE_NOBODY);
        assert_int_equal(has, i % count);
        turns[has]++;
        restore(10 * MS);
        uint32_t fair = SLOTS / (count + 1) < 10 ? SLOTS / (count + 1) : 10;
        assert_int_equal(quiet->turn, FF__TURN_NONE);
        assert_int_equal(ff__turns_due(&broker, quiet), fair);
        uint32_t rest = SLOTS - fair - (count - 1) * FF__KEEP;
        assert_int_equal(ff__turns_due(&broker, &broker.clients[has]), rest < 60 ? rest : 60);
        assert_true(due_of_all() <= SLOTS);
        step(50 * MS); /* in its quantum */
        assert_int_equal(holder(), has);
    }
    for (uint32_t c = 0; c < count; c++)
        assert_int_equal(turns[c], 3);
}

static void test_all_have_turns(void **state) {
    (void)state;
    take_turns(2);
    take_turns(3);
    take_turns(10);
}

static void test_quantum(void **state) {
    (void)state;
    begin();
    struct ff__client *a = add(0, 60, true);
    add(1, 60, true);
    a->priority = 2;
    step(MS);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t has = holder();
        uint64_t quantum = 9 * 40 * MS * broker.clients[has].priority;
        restore(40 * MS);
        step(quantum - MS);
        assert_int_equal(holder(), has);
        step(MS);
        assert_int_equal(holder(), 1 - has);
    }
    /* it has nothing to launch: the other one has its turn at once */
    restore(40 * MS);
    broker.clients[holder()].wants = false;
    uint32_t rests = holder();
    step(MS);
    assert_int_equal(holder(), 1 - rests);
    /* and keeps it as long as nobody else wants it */
    restore(40 * MS);
    broker.clients[rests].wants = false;
    step(100000 * MS);
    assert_int_equal(holder(), 1 - rests);
    broker.clients[rests].wants = true;
    step(MS);
    assert_int_equal(holder(), rests);
}

static void test_who_dies_or_stops_loses_its_turn(void **state) {
    (void)state;
    begin();
    for (uint32_t c = 0; c < 3; c++)
        add(c, 60, true);
    step(MS);
    restore(40 * MS);
    assert_int_equal(holder(), 0);
    broker.clients[0] = (struct ff__client){.fd = -1, .device = FF__SHARE_NOBODY}; /* it is gone */
    step(MS);
    assert_int_equal(holder(), 1);
    silence(&broker.clients[1]); /* never says that its data is back */
    step(999 * MS);
    assert_int_equal(holder(), 1);
    step(MS);
    assert_int_equal(holder(), 2);
    restore(40 * MS);
    step(100000 * MS); /* and is passed over from then on */
    assert_int_equal(holder(), 2);
    broker.clients[1].is_asked = false;
    step(MS);
    assert_int_equal(holder(), 1);
}

static void test_turns_end(void **state) {
    (void)state;
    begin();
    struct ff__client *a = add(0, 60, true), *b = add(1, 60, true);
    step(MS);
    assert_int_equal(a->turn, FF__TURN_HAS);
    a->need = 4; /* both fit */
    step(MS);
    assert_int_equal(a->turn + b->turn, FF__TURN_NONE);
    assert_int_equal(ff__turns_due(&broker, b), 60);
    a->need = 60;
    step(MS); /* and thrashing has to be seen anew */
    assert_int_equal(a->turn + b->turn, FF__TURN_NONE);
    /* from time to time there are none for a while, which may not be needed any more */
    a->thrash.is_thrashing = b->thrash.is_thrashing = true;
    step(2000 * MS);
    for (uint32_t i = 0; i < 200 && a->turn != FF__TURN_NONE; i++) {
        restore(MS);
        step(100 * MS);
    }
    assert_int_equal(a->turn + b->turn, FF__TURN_NONE);
    a->thrash.is_thrashing = b->thrash.is_thrashing = true;
    step(MS);
    assert_int_equal(a->turn + b->turn, FF__TURN_NONE);
    step(2000 * MS);
    assert_int_not_equal(holder(), FF__SHARE_NOBODY);
}

static void test_thrashing_is_seen(void **state) {
    (void)state;
    struct ff__thrashing thrash = {0};
    uint64_t at = 5000 * MS;
    ff__thrashing_note(&thrash, at, 100, 900 * MS);
    assert_false(thrash.is_thrashing); /* of what was before nothing is known */
    ff__thrashing_note(&thrash, at + 500 * MS, 200, 1400 * MS);
    assert_false(thrash.is_thrashing);
    ff__thrashing_note(&thrash, at += 1000 * MS, 300, 1400 * MS);
    assert_true(thrash.is_thrashing);
    ff__thrashing_note(&thrash, at += 1000 * MS, 400, 1899 * MS); /* less than half of the time */
    assert_false(thrash.is_thrashing);
    ff__thrashing_note(&thrash, at += 1000 * MS, 400, 2899 * MS); /* on what it had not before */
    assert_false(thrash.is_thrashing);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_fits_or_does_not_thrash_never_waits),
        cmocka_unit_test(test_all_have_turns),
        cmocka_unit_test(test_quantum),
        cmocka_unit_test(test_who_dies_or_stops_loses_its_turn),
        cmocka_unit_test(test_turns_end),
        cmocka_unit_test(test_thrashing_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
