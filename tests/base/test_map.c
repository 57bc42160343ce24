/* The hash map against a plain array of pairs, and what the hash must promise. */
#include "cases.h"

#include "base/map.h"
#include "base/random.h"

#define KEYS_MAX 400

struct twin {
    uint64_t key[KEYS_MAX];
    uint32_t value[KEYS_MAX];
    bool has[KEYS_MAX];
    uint32_t count; /* keys there are to choose from; key[0] is 0 */
};

static void check_key(const struct ff__map *map, const struct twin *twin, uint32_t i) {
    uint32_t value = 0;
    assert_int_equal(ff__map_get(map, twin->key[i], &value), twin->has[i]);
    if (twin->has[i])
        assert_int_equal(value, twin->value[i]);
}

/* Everything the twin has and nothing else; and the table's own order. */
static void check_all(const struct ff__map *map, const struct twin *twin) {
    uint32_t held = 0, slots = 0;
    for (uint32_t i = 0; i < twin->count; i++) {
        check_key(map, twin, i);
        held += i > 0 && twin->has[i];
    }
    for (uint32_t i = 0; i < map->capacity; i++)
        slots += map->keys[i] != 0;
    assert_int_equal(map->count, held);
    assert_int_equal(slots, held);
    assert_int_equal(map->capacity & (map->capacity - 1), 0);
    assert_true(map->count * 4 <= map->capacity * 3);
}

static void step(struct ff__map *map, struct twin *twin, struct ff__random *random,
                 uint32_t put_percent) {
    uint32_t i = ff__random_below(random, twin->count);
    if (ff__random_below(random, 100) < put_percent) {
        twin->value[i] = (uint32_t)ff__random_next(random);
        twin->has[i] = true;
        assert_int_equal(ff__map_put(map, twin->key[i], twin->value[i]), 0);
    } else {
        assert_int_equal(ff__map_remove(map, twin->key[i]), twin->has[i]);
        twin->has[i] = false;
    }
    check_key(map, twin, i);
    check_key(map, twin, ff__random_below(random, twin->count));
}

/* Fills and empties the map in waves. */
static void run_twin(struct twin *twin, uint64_t seed, unsigned long steps) {
    struct ff__map map = {0};
    struct ff__random random = ff__random_seeded(seed);
    for (unsigned long i = 0; i < steps; i++) {
        step(&map, twin, &random, (i / 500) % 2 ? 25 : 75);
        if (i % 97 == 0)
            check_all(&map, twin);
    }
    check_all(&map, twin);
    ff__map_fini(&map);
    assert_int_equal(map.capacity, 0);
    memset(twin->has, 0, sizeof twin->has);
}

static void test_scattered_keys(void **state) {
    (void)state;
    struct twin twin = {.count = KEYS_MAX};
    struct ff__random random = ff__random_seeded(1);
    for (uint32_t i = 1; i < twin.count; i++)
        twin.key[i] = ff__random_next(&random);
    run_twin(&twin, 2, scaled_cases(200000, 10000));
}

static void test_small_keys(void **state) {
    (void)state;
    struct twin twin = {.count = KEYS_MAX};
    for (uint32_t i = 1; i < twin.count; i++)
        twin.key[i] = i % 2 ? i : UINT64_MAX - i;
    run_twin(&twin, 3, scaled_cases(200000, 10000));
}

/* Keys whose home is one of the last slots of the smallest table: one long run of probes that goes
 * round the end, where removal has to close gaps. */
static void test_clustered_keys(void **state) {
    (void)state;
    struct twin twin = {.count = 46};
    uint64_t key = 1;
    for (uint32_t i = 1; i < twin.count; key++) {
        uint32_t home = (uint32_t)ff__hash_word(key) & 63;
        if (home >= 61 || home == 0)
            twin.key[i++] = key;
    }
    run_twin(&twin, 4, scaled_cases(200000, 10000));
}

static void test_empty_map(void **state) {
    (void)state;
    struct ff__map map = {0};
    uint32_t value = 5;
    assert_false(ff__map_get(&map, 0, &value));
    assert_false(ff__map_get(&map, 9, &value));
    assert_false(ff__map_remove(&map, 0));
    assert_false(ff__map_remove(&map, 9));
    ff__map_fini(&map);
}

static void test_replacing_does_not_add(void **state) {
    (void)state;
    struct ff__map map = {0};
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(ff__map_put(&map, 42, i), 0);
    assert_int_equal(map.count, 1);
    assert_int_equal(map.capacity, 64);
    ff__map_fini(&map);
}

static void test_grows(void **state) {
    (void)state;
    struct ff__map map = {0};
    uint32_t count = (uint32_t)scaled_cases(300000, 20000), value = 0;
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(ff__map_put(&map, (uint64_t)i << 12, i), 0);
    assert_int_equal(map.count, count - 1); /* 0 is kept apart */
    for (uint32_t i = 0; i < count; i++) {
        assert_true(ff__map_get(&map, (uint64_t)i << 12, &value));
        assert_int_equal(value, i);
    }
    assert_false(ff__map_get(&map, ((uint64_t)count << 12) + 1, &value));
    ff__map_fini(&map);
}

/* ---- room reserved ahead ---- */

/* As in a map that allocates, and nothing is: tables lie in the room, one after the other. */
static void test_reserved_room(void **state) {
    (void)state;
    for (uint32_t limit = 1; limit < 3000; limit = limit * 2 + 1) {
        struct ff__map map = {0};
        uint32_t value = 0;
        assert_int_equal(ff__map_reserve(&map, limit), 0);
        for (uint32_t i = 1; i <= limit; i++) {
            assert_int_equal(ff__map_put(&map, i, i + 7), 0);
            assert_ptr_equal(map.keys, map.room_keys + map.capacity);
            assert_ptr_equal(map.values, map.room_values + map.capacity);
            assert_true(map.capacity <= map.room && map.count * 4 <= map.capacity * 3);
        }
        for (uint32_t i = 1; i <= limit; i++) {
            assert_true(ff__map_get(&map, i, &value));
            assert_int_equal(value, i + 7);
        }
        ff__map_fini(&map);
    }
}

/* What finds no room is refused, and what is there stays. */
static void test_full_room(void **state) {
    (void)state;
    struct ff__map map = {0};
    uint32_t put = 0, value = 0;
    assert_int_equal(ff__map_reserve(&map, 100), 0);
    while (ff__map_put(&map, put + 1, put) == 0)
        put++;
    assert_in_range(put, 100, 256);
    for (uint32_t i = 0; i < put; i++) {
        assert_true(ff__map_get(&map, i + 1, &value));
        assert_int_equal(value, i);
    }
    assert_false(ff__map_get(&map, put + 1, &value));
    ff__map_fini(&map);
}

/* ---- hashes ---- */

static void test_hash_sees_every_byte(void **state) {
    (void)state;
    unsigned char bytes[40] = {0};
    for (size_t size = 1; size <= sizeof bytes; size++) {
        uint64_t before = ff__hash_bytes(7, bytes, size);
        assert_int_equal(ff__hash_bytes(7, bytes, size), before);
        assert_int_not_equal(ff__hash_bytes(8, bytes, size), before);
        assert_int_not_equal(ff__hash_bytes(7, bytes, size - 1), before);
        for (size_t i = 0; i < size; i++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                bytes[i] ^= (unsigned char)(1u << bit);
                assert_int_not_equal(ff__hash_bytes(7, bytes, size), before);
                bytes[i] ^= (unsigned char)(1u << bit);
            }
        }
    }
    assert_int_equal(ff__hash_bytes(7, NULL, 0), 7);
}

static void test_hash_can_be_continued(void **state) {
    (void)state;
    unsigned char bytes[64];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37);
    uint64_t whole = ff__hash_bytes(3, bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut += 8)
        assert_int_equal(
            ff__hash_bytes(ff__hash_bytes(3, bytes, cut), bytes + cut, sizeof bytes - cut), whole);
}

static void test_hash_word_is_a_bijection_of_its_samples(void **state) {
    (void)state;
    struct ff__map seen = {0};
    uint32_t other = 0, count = (uint32_t)scaled_cases(200000, 20000);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t hash = ff__hash_word(i);
        assert_false(ff__map_get(&seen, hash, &other));
        assert_int_equal(ff__map_put(&seen, hash, i), 0);
    }
    ff__map_fini(&seen);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scattered_keys),
        cmocka_unit_test(test_small_keys),
        cmocka_unit_test(test_clustered_keys),
        cmocka_unit_test(test_empty_map),
        cmocka_unit_test(test_replacing_does_not_add),
        cmocka_unit_test(test_grows),
        cmocka_unit_test(test_reserved_room),
        cmocka_unit_test(test_full_room),
        cmocka_unit_test(test_hash_sees_every_byte),
        cmocka_unit_test(test_hash_can_be_continued),
        cmocka_unit_test(test_hash_word_is_a_bijection_of_its_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
