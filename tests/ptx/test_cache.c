/* The cache: what it finds again, what it refuses, what it removes. */
#include "ptx/folder.h"

#include "ptx/cache.h"
#include "ptx/object.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define KEY_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define KEY_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define KEY_C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

/* That made all objects. */
static const uint8_t compiler[FF__PTX_DIGEST] = {1, 2, 3};

static void unset_all(void) {
    static const char *const names[] = {"FARFAULT_PTX_CACHE", "FARFAULT_PTX_CACHE_SIZE",
                                        "XDG_CACHE_HOME", "HOME"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

static int make_own_folder(void **state) {
    unset_all();
    return make_folder(state);
}

static struct ff__ptx_cache opened(const char *path) {
    struct ff__ptx_cache cache;
    struct ff_error error = {0};
    assert_int_equal(ff__ptx_cache_open(path, &cache, &error), 0);
    return cache;
}

/* An object of so many bytes of one letter. */
static int object_of(char letter, size_t size) {
    void *content = NULL;
    int object = ff__ptx_object_new(size, &content);
    assert_true(object >= 0);
    memset(content, letter, size);
    munmap(content, size);
    return object;
}

static void add(const struct ff__ptx_cache *cache, const char *key, char letter, size_t size) {
    int object = object_of(letter, size);
    ff__ptx_cache_add(cache, key, compiler, object);
    close(object);
}

/* What the cache finds: its size, or a negative errno. It must be all of one letter. */
static long found(const struct ff__ptx_cache *cache, const char *key, char letter) {
    struct stat about;
    int object = ff__ptx_cache_find(cache, key, compiler);
    if (object < 0)
        return object;
    assert_int_equal(fstat(object, &about), 0);
    for (off_t i = 0; i < about.st_size; i++) {
        char c;
        assert_int_equal(pread(object, &c, 1, i), 1);
        assert_int_equal(c, letter);
    }
    close(object);
    return about.st_size;
}

static void finds_what_was_added(void **state) {
    (void)state;
    mode_t mask = umask(0);
    struct ff__ptx_cache cache = opened(in_folder("c"));
    assert_int_equal(found(&cache, KEY_A, 'x'), -ENOENT);
    add(&cache, KEY_A, 'x', 1000);
    umask(mask);
    assert_int_equal(found(&cache, KEY_A, 'x'), 1000);
    assert_int_equal(found(&cache, KEY_B, 'x'), -ENOENT);
    add(&cache, KEY_A, 'y', 10);
    assert_int_equal(found(&cache, KEY_A, 'y'), 10);
    struct stat about;
    assert_int_equal(stat(in_folder("c/" KEY_A ".so"), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_equal(count_files(in_folder("c"), NULL), 1);
    ff__ptx_cache_close(&cache);
    assert_int_equal(found(&cache, KEY_A, 'x'), -ENOENT);
    add(&cache, KEY_B, 'x', 10);
}

/* ---- where it is ---- */

static void expect_cache_at(const char *path) {
    struct stat about;
    struct ff__ptx_cache cache = opened(NULL);
    add(&cache, KEY_A, 'x', 10);
    assert_int_equal(found(&cache, KEY_A, 'x'), 10);
    ff__ptx_cache_close(&cache);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    assert_int_equal(count_files(path, NULL), 1);
}

static void the_environment_says_where(void **state) {
    (void)state;
    struct ff__ptx_cache none = opened(NULL);
    assert_int_equal(none.folder, -1);
    setenv("HOME", "relative", 1);
    none = opened(NULL);
    assert_int_equal(none.folder, -1);
    setenv("HOME", in_folder("home/me"), 1);
    expect_cache_at(in_folder("home/me/.cache/farfault/ptx"));
    setenv("XDG_CACHE_HOME", "relative", 1);
    expect_cache_at(in_folder("home/me/.cache/farfault/ptx"));
    setenv("XDG_CACHE_HOME", in_folder("xdg"), 1);
    expect_cache_at(in_folder("xdg/farfault/ptx"));
    setenv("FARFAULT_PTX_CACHE", "", 1);
    expect_cache_at(in_folder("xdg/farfault/ptx"));
    setenv("FARFAULT_PTX_CACHE", in_folder("own/one"), 1);
    expect_cache_at(in_folder("own/one"));
    unset_all();
}

static void expect_refused(const char *path, const char *why) {
    struct ff__ptx_cache cache;
    struct ff_error error = {0};
    assert_int_equal(ff__ptx_cache_open(path, &cache, &error), -EACCES);
    assert_int_equal(cache.folder, -1);
    assert_non_null(strstr(error.message, why));
    assert_non_null(strstr(error.message, path));
}

static void refuses_what_others_can_write_to(void **state) {
    (void)state;
    static const mode_t modes[] = {0777, 0770, 0720, 0702};
    assert_int_equal(mkdir(in_folder("c"), 0700), 0);
    assert_int_equal(symlink(in_folder("c"), in_folder("link")), 0);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(in_folder("c"), modes[i]), 0);
        expect_refused(in_folder("c"), "others can write");
        expect_refused(in_folder("link"), "others can write");
    }
    assert_int_equal(chmod(in_folder("c"), 0755), 0);
    struct ff__ptx_cache cache = opened(in_folder("link"));
    assert_true(cache.folder >= 0);
    ff__ptx_cache_close(&cache);
    if (geteuid() == 0) {
        assert_int_equal(chown(in_folder("c"), 12345, (gid_t)-1), 0);
        expect_refused(in_folder("c"), "another user");
        expect_refused(in_folder("link"), "another user");
    }
}

/* As without a cache. */
static void goes_without_a_folder(void **state) {
    (void)state;
    write_file(in_folder("file"), "", 0, 0600);
    const char *const paths[] = {in_folder("file"), in_folder("file/below"), "/proc/farfault/ptx"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct ff__ptx_cache cache = opened(paths[i]);
        assert_int_equal(cache.folder, -1);
        add(&cache, KEY_A, 'x', 10);
        assert_int_equal(found(&cache, KEY_A, 'x'), -ENOENT);
    }
    struct ff__ptx_cache cache;
    if (geteuid() == 0) {
        cache = opened("/proc"); /* where nothing can be made */
    } else {
        assert_int_equal(mkdir(in_folder("fixed"), 0500), 0);
        cache = opened(in_folder("fixed"));
    }
    assert_true(cache.folder >= 0);
    add(&cache, KEY_A, 'x', 10);
    assert_int_equal(found(&cache, KEY_A, 'x'), -ENOENT);
    ff__ptx_cache_close(&cache);
}

/* ---- files that are not used ---- */

static void expect_gone(const struct ff__ptx_cache *cache, int why) {
    assert_int_equal(found(cache, KEY_A, 'x'), why);
    assert_int_equal(count_files(in_folder("c"), NULL), 0);
    add(cache, KEY_A, 'x', 100);
    assert_int_equal(found(cache, KEY_A, 'x'), 100);
}

static void removes_damaged_files(void **state) {
    (void)state;
    enum { SIZE = 100 + 2 * FF__PTX_DIGEST };
    uint8_t bytes[SIZE + 1] = {0};
    struct ff__ptx_cache cache = opened(in_folder("c"));
    char path[256];
    strcpy(path, in_folder("c/" KEY_A ".so"));
    add(&cache, KEY_A, 'x', 100);
    assert_int_equal(read_file(path, bytes, sizeof bytes), SIZE);
    for (unsigned at = 0; at < SIZE; at += 11) {
        bytes[at] ^= 1;
        write_file(path, bytes, SIZE, 0600);
        bytes[at] ^= 1;
        expect_gone(&cache, -EBADMSG);
    }
    static const size_t sizes[] = {
        0, 1, FF__PTX_DIGEST, 2 * FF__PTX_DIGEST, 2 * FF__PTX_DIGEST + 1, SIZE - 1, SIZE + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        write_file(path, bytes, sizes[i], 0600);
        expect_gone(&cache, -EBADMSG);
    }
    add(&cache, KEY_B, 'x', 100); /* whole, but of another key */
    assert_int_equal(rename(in_folder("c/" KEY_B ".so"), path), 0);
    expect_gone(&cache, -EBADMSG);
    ff__ptx_cache_close(&cache);
}

static void removes_files_of_others(void **state) {
    (void)state;
    struct ff__ptx_cache cache = opened(in_folder("c"));
    char path[256], elsewhere[256];
    strcpy(path, in_folder("c/" KEY_A ".so"));
    strcpy(elsewhere, in_folder("elsewhere"));
    static const mode_t modes[] = {0620, 0602, 0666};
    add(&cache, KEY_A, 'x', 100);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        expect_gone(&cache, -EACCES);
    }
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
        expect_gone(&cache, -EACCES);
    }
    assert_int_equal(rename(path, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
    expect_gone(&cache, -ELOOP);
    assert_int_equal(access(elsewhere, F_OK), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_gone(&cache, -EACCES);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(found(&cache, KEY_A, 'x'), -EACCES);
    add(&cache, KEY_A, 'x', 100); /* changes nothing */
    assert_int_equal(count_files(in_folder("c"), NULL), 1);
    ff__ptx_cache_close(&cache);
}

/* ---- the limit ---- */

static void used_before(const char *name, int seconds) {
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void keeps_the_limit(void **state) {
    (void)state;
    struct ff__ptx_cache cache = opened(in_folder("c"));
    assert_int_equal(cache.limit, 512 << 20);
    ff__ptx_cache_close(&cache);
    setenv("FARFAULT_PTX_CACHE_SIZE", "2500", 1);
    cache = opened(in_folder("c"));
    write_file(in_folder("c/somebody's"), "", 0, 0600);
    assert_int_equal(truncate(in_folder("c/somebody's"), 1 << 20), 0);
    write_file(in_folder("c/" KEY_A ".so.1-0.part"), "", 0, 0600);
    assert_int_equal(truncate(in_folder("c/" KEY_A ".so.1-0.part"), 2000), 0);
    used_before(in_folder("c/" KEY_A ".so.1-0.part"), 1000);
    used_before(in_folder("c/somebody's"), 2000);
    add(&cache, KEY_A, 'a', 1000);
    assert_int_equal(access(in_folder("c/" KEY_A ".so.1-0.part"), F_OK), -1);
    add(&cache, KEY_B, 'b', 1000);
    used_before(in_folder("c/" KEY_A ".so"), 20);
    used_before(in_folder("c/" KEY_B ".so"), 10);
    assert_int_equal(found(&cache, KEY_A, 'a'), 1000); /* B is the one not used for longest now */
    add(&cache, KEY_C, 'c', 1000);
    assert_int_equal(found(&cache, KEY_B, 'b'), -ENOENT);
    assert_int_equal(found(&cache, KEY_A, 'a'), 1000);
    assert_int_equal(found(&cache, KEY_C, 'c'), 1000);
    add(&cache, KEY_B, 'b', 3000);
    assert_int_equal(count_files(in_folder("c"), NULL), 1); /* somebody's */
    ff__ptx_cache_close(&cache);
    unset_all();
}

static void the_limit_must_be_a_size(void **state) {
    (void)state;
    struct ff__ptx_cache cache;
    struct ff_error error = {0};
    setenv("FARFAULT_PTX_CACHE_SIZE", "much", 1);
    assert_int_equal(ff__ptx_cache_open(in_folder("c"), &cache, &error), -EINVAL);
    assert_non_null(strstr(error.message, "FARFAULT_PTX_CACHE_SIZE"));
    assert_non_null(strstr(error.message, "much"));
    unset_all();
}

/* As on a full disk: nothing is left behind, and no SIGXFSZ comes. */
static void leaves_nothing_unfinished(void **state) {
    (void)state;
    struct rlimit before, little = {.rlim_cur = 500};
    struct ff__ptx_cache cache = opened(in_folder("c"));
    int object = object_of('x', 1000);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    ff__ptx_cache_add(&cache, KEY_A, compiler, object);
    void *content = NULL;
    int large = ff__ptx_object_new(1000, &content);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(large, -EFBIG);
    assert_int_equal(count_files(in_folder("c"), NULL), 0);
    close(object);
    ff__ptx_cache_close(&cache);
}

/* ---- at once ---- */

enum { ROUNDS = 30 };

static void *add_and_find(void *argument) {
    const struct ff__ptx_cache *cache = argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        add(cache, KEY_A, 'x', 300);
        int object = ff__ptx_cache_find(cache, KEY_A, compiler);
        if (object < 0 && object != -ENOENT) /* another thread removed it */
            return argument;
        if (object >= 0)
            close(object);
        add(cache, i % 2 != 0 ? KEY_B : KEY_C, 'y', 300);
    }
    return NULL;
}

static void threads_use_it_at_once(void **state) {
    (void)state;
    pthread_t threads[3];
    setenv("FARFAULT_PTX_CACHE_SIZE", "800", 1);
    struct ff__ptx_cache cache = opened(in_folder("c"));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_and_find, &cache), 0);
    for (unsigned i = 0; i < 3; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    add(&cache, KEY_A, 'x', 300);
    assert_true(count_files(in_folder("c"), NULL) <= 2);
    assert_int_equal(found(&cache, KEY_A, 'x'), 300);
    ff__ptx_cache_close(&cache);
    unset_all();
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, make_own_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(finds_what_was_added),
        CASE(the_environment_says_where),
        CASE(refuses_what_others_can_write_to),
        CASE(goes_without_a_folder),
        CASE(removes_damaged_files),
        CASE(removes_files_of_others),
        CASE(keeps_the_limit),
        CASE(the_limit_must_be_a_size),
        CASE(leaves_nothing_unfinished),
        CASE(threads_use_it_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
