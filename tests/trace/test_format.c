/* The trace format: what goes in comes out, and nothing that is damaged passes for whole. */
#include "trace/fixture.h"

#include "trace/file.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* ---- round trips ---- */

struct stream {
    struct ff__random random;
    uint64_t time_ns;
    char *long_name;
};

static struct ff_trace_event next_event(struct stream *stream) {
    const char *const names[] = {"", "saxpy", "\xff\xfe\n", stream->long_name};
    if (ff__random_below(&stream->random, 3) == 0)
        stream->time_ns += ff__random_below(&stream->random, 100000);
    return random_event(&stream->random, stream->time_ns, names, 4);
}

static struct stream make_stream(uint64_t seed, char *long_name) {
    return (struct stream){ff__random_seeded(seed), 0, long_name};
}

static void check_round_trip(uint64_t seed, size_t count) {
    static char long_name[4096];
    memset(long_name, 'n', sizeof long_name - 1);
    struct stream written = make_stream(seed, long_name), read = written;
    struct ff_trace_info info = {.source = "sim", .subject = "a:b=c", .memory = seed << 33};
    struct ff_trace_info got = {.source = "x"};
    struct ff_trace_writer *writer;
    struct ff_trace_reader *reader;
    struct ff_error error;
    const char *path = in_folder("round");
    info.accesses = seed % 3 == 1;
    info.touches = seed % 3 == 2;
    assert_int_equal(ff_trace_create(path, &info, &writer), 0);
    for (size_t i = 0; i < count; i++) {
        struct ff_trace_event event = next_event(&written);
        assert_int_equal(ff_trace_write(writer, &event), 0);
    }
    assert_int_equal(ff_trace_finish(writer), 0);
    assert_int_equal(ff_trace_open(path, &reader, &got, &error), 0);
    assert_string_equal(got.source, info.source);
    assert_string_equal(got.subject, info.subject);
    assert_int_equal(got.accesses, info.accesses);
    assert_int_equal(got.touches, info.touches);
    assert_int_equal(got.memory, info.memory);
    struct ff_trace_event event;
    for (size_t i = 0; i < count; i++) {
        struct ff_trace_event want = next_event(&read);
        assert_int_equal(ff_trace_read(reader, &event, &error), 1);
        assert_event(&event, &want, i);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(ff_trace_read(reader, &event, &error), 0);
    ff_trace_close(reader);
}

static void test_round_trips(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++)
        check_round_trip(seed, seed * seed * seed * 7); /* up to 12096 */
    check_round_trip(77, 100000);
    check_round_trip(78, 16384); /* exactly a block */
    check_round_trip(79, 16385);
    check_round_trip(80, 0);
}

static void test_long_names_are_cut(void **state) {
    (void)state;
    char *name = malloc(10000);
    memset(name, 'x', 9999);
    name[9999] = '\0';
    struct ff_trace_event event = {.kind = FF_TRACE_LAUNCH, .name = name};
    write_trace(in_folder("long"), false, &event, 1);
    struct ff_trace_reader *reader;
    assert_int_equal(ff_trace_open(in_folder("long"), &reader, NULL, NULL), 0);
    assert_int_equal(ff_trace_read(reader, &event, NULL), 1);
    assert_int_equal(strlen(event.name), 4095);
    ff_trace_close(reader);
    free(name);
}

static void test_wrong_events(void **state) {
    (void)state;
    struct ff_trace_info info = {.source = "test"};
    struct ff_trace_writer *writer;
    struct ff_trace_event event = {.kind = FF_TRACE_FREE, .time_ns = 5};
    assert_int_equal(ff_trace_create(in_folder("wrong"), &info, &writer), 0);
    assert_int_equal(ff_trace_write(writer, &event), 0);
    event.time_ns = 4;
    assert_int_equal(ff_trace_write(writer, &event), -EINVAL);
    event.time_ns = 6;
    assert_int_equal(ff_trace_write(writer, &event), -EINVAL); /* the first error stays */
    assert_int_equal(ff_trace_finish(writer), -EINVAL);
    assert_int_not_equal(access(in_folder("wrong"), F_OK), 0);
    assert_int_equal(ff_trace_create(in_folder("wrong"), &info, &writer), 0);
    event.kind = FF_TRACE_KINDS;
    assert_int_equal(ff_trace_write(writer, &event), -EINVAL);
    ff_trace_abandon(writer);
}

/* Files of the first version, which had fewer columns and kinds. */
static void test_version_1(void **state) {
    (void)state;
    static const char *const names[] = {"faults", "accesses"};
    for (int i = 0; i < 2; i++) {
        char path[256];
        struct ff_trace_reader *reader;
        struct ff_trace_event event;
        struct ff_trace_info info;
        uint64_t count[FF_TRACE_KINDS] = {0};
        snprintf(path, sizeof path, FIXTURES "/../../fuzz/corpus/trace/%s", names[i]);
        assert_int_equal(ff_trace_open(path, &reader, &info, NULL), 0);
        assert_int_equal(info.accesses, i);
        assert_false(info.touches);
        int status;
        while ((status = ff_trace_read(reader, &event, NULL)) > 0) {
            count[event.kind]++;
            assert_int_equal(event.gpu_ns | event.batch | event.instances, 0);
        }
        assert_int_equal(status, 0);
        assert_true(count[i ? FF_TRACE_ACCESS : FF_TRACE_FAULT] > 0);
        ff_trace_close(reader);
    }
}

/* ---- files of earlier releases ---- */

/* A line an event, with the members that it had in version 1, and with those of version 2. */
static void print_event(FILE *out, const struct ff_trace_event *e, bool more) {
    fprintf(out, "%d %llu %u %u %llu %llu %llu %llu %s %u %u %u %u %u %u %d", (int)e->kind,
            (unsigned long long)e->time_ns, e->device, e->range, (unsigned long long)e->page,
            (unsigned long long)e->pages, (unsigned long long)e->bytes,
            (unsigned long long)e->identity, e->name ? e->name : "-", e->ctas, e->warps, e->cta,
            e->warp, e->pc, e->instructions, e->write);
    if (more)
        fprintf(out, " %u %llu %llu %u %u", e->instances, (unsigned long long)e->gpu_ns,
                (unsigned long long)e->batch, e->utlb, e->gpc);
    fputc('\n', out);
}

static void print_trace(FILE *out, const char *path, bool more) {
    struct ff_trace_reader *reader;
    struct ff_trace_event event;
    struct ff_trace_info info;
    struct ff_error error;
    if (ff_trace_open(path, &reader, &info, &error))
        fail_msg("%s", error.message);
    fprintf(out, "%s %s %d %llu\n", info.source, info.subject, info.accesses,
            (unsigned long long)info.memory);
    int status;
    while ((status = ff_trace_read(reader, &event, &error)) > 0)
        print_event(out, &event, more);
    if (status)
        fail_msg("%s", error.message);
    ff_trace_close(reader);
}

/* The traces were written by the builds of these releases, and the events beside them are what the
 * readers of the same builds said. */
static void test_releases(void **state) {
    (void)state;
    static const char *const traces[] = {"0.1.0-sim",    "0.1.0-uvm-eval", "0.1.0-accel-sim",
                                         "0.2.0-sim",    "0.2.0-uvm-eval", "0.2.0-accel-sim",
                                         "0.2.0-touches"};
    for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++) {
        char path[256], *got = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&got, &size);
        assert_non_null(out);
        snprintf(path, sizeof path, FIXTURES "/releases/%s.trace", traces[i]);
        print_trace(out, path, strncmp(traces[i], "0.1.0", 5) != 0);
        fclose(out);
        snprintf(path, sizeof path, FIXTURES "/releases/%s.events", traces[i]);
        char *want = (char *)read_file(path, &size);
        if (strcmp(got, want) != 0)
            fail_msg("%s is not read as its release did:\n%s", traces[i], got);
        free(want);
        free(got);
    }
}

/* ---- damage ---- */

/* Reads a trace to its end or to its first error. */
static int read_all(const char *path, uint64_t *events, struct ff_error *error) {
    struct ff_trace_reader *reader;
    struct ff_trace_event event;
    *events = 0;
    strcpy(error->message, "");
    int status = ff_trace_open(path, &reader, NULL, error);
    if (status)
        return status;
    while ((status = ff_trace_read(reader, &event, error)) > 0)
        ++*events;
    struct ff_error again = {""};
    assert_int_equal(ff_trace_read(reader, &event, &again), status);
    ff_trace_close(reader);
    return status;
}

static unsigned char *make_small(size_t count, size_t *size) {
    struct stream stream = make_stream(5, "kernel_name");
    struct ff_trace_event *events = calloc(count, sizeof *events);
    for (size_t i = 0; i < count; i++)
        events[i] = next_event(&stream);
    write_trace(in_folder("small"), true, events, count);
    free(events);
    return read_file(in_folder("small"), size);
}

/* The path of a file in memory, because a disk may keep a test that writes thousands waiting.
 * Returns its descriptor. */
static int open_in_memory(char path[64]) {
    int fd = memfd_create("damaged", MFD_CLOEXEC);
    assert_true(fd >= 0);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void test_every_truncation(void **state) {
    (void)state;
    char path[64];
    int fd = open_in_memory(path);
    size_t size;
    uint64_t events;
    struct ff_error error;
    unsigned char *bytes = make_small(60, &size);
    for (size_t cut = 0; cut < size; cut++) {
        write_file(path, bytes, cut);
        assert_int_equal(read_all(path, &events, &error), -EBADMSG);
        assert_true(error.message[0] != '\0');
        assert_true(events == 0 || events == 60);
    }
    close(fd);
    free(bytes);
}

static void test_every_flip(void **state) {
    (void)state;
    char path[64];
    int fd = open_in_memory(path);
    size_t size;
    uint64_t events;
    struct ff_error error;
    unsigned char *bytes = make_small(60, &size);
    for (size_t bit = 0; bit < size * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        write_file(path, bytes, size);
        int status = read_all(path, &events, &error);
        bool version = bit / 8 >= 8 && bit / 8 < 12; /* may be a version that is yet to come */
        if (status != -EBADMSG && !(version && status == -ENOTSUP))
            fail_msg("bit %zu: %d %s", bit, status, error.message);
        assert_true(error.message[0] != '\0');
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    close(fd);
    free(bytes);
}

/* A block lost, or twice, or a tail: every block is whole by itself. */
static void test_blocks_out_of_place(void **state) {
    (void)state;
    size_t size;
    uint64_t events;
    struct ff_error error;
    unsigned char *bytes = make_small(40000, &size), *changed = malloc(2 * size);
    size_t first = FF__TRACE_FILE_HEAD,
           second = first + FF__TRACE_BLOCK_HEAD + ff__get_u32(bytes + first + 8);
    memcpy(changed, bytes, first);
    memcpy(changed + first, bytes + second, size - second);
    write_file(in_folder("lost"), changed, first + size - second);
    assert_int_equal(read_all(in_folder("lost"), &events, &error), -EBADMSG);
    assert_int_equal(events, 0);
    memcpy(changed, bytes, second);
    memcpy(changed + second, bytes + first, size - first);
    write_file(in_folder("twice"), changed, size + second - first);
    assert_int_equal(read_all(in_folder("twice"), &events, &error), -EBADMSG);
    assert_int_equal(events, 16384);
    memcpy(changed, bytes, size);
    changed[size] = 'x';
    write_file(in_folder("tail"), changed, size + 1);
    assert_int_equal(read_all(in_folder("tail"), &events, &error), -EBADMSG);
    assert_int_equal(events, 40000);
    free(changed);
    free(bytes);
}

static void test_foreign(void **state) {
    (void)state;
    uint64_t events;
    struct ff_error error;
    write_file(in_folder("text"), "hello, this is some text\n", 25);
    assert_int_equal(read_all(in_folder("text"), &events, &error), -EBADMSG);
    assert_non_null(strstr(error.message, "not a farfault trace"));
    assert_int_equal(read_all(in_folder("absent"), &events, &error), -ENOENT);
    assert_int_equal(read_all(folder, &events, &error), -EBADMSG);
    assert_int_equal(read_all("/dev/zero", &events, &error), -EBADMSG);
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    assert_int_equal(read_all(in_folder("fifo"), &events, &error), -EBADMSG);
}

/* ---- files ---- */

static unsigned files_in_folder(void) {
    char command[128];
    unsigned count = 0;
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%u", &count), 1);
    pclose(pipe);
    return count;
}

static void test_appears_when_finished(void **state) {
    (void)state;
    struct ff_trace_info info = {.source = "test"};
    struct ff_trace_writer *writer;
    unsigned before = files_in_folder();
    assert_int_equal(ff_trace_create(in_folder("late"), &info, &writer), 0);
    assert_int_not_equal(access(in_folder("late"), F_OK), 0);
    assert_int_equal(ff_trace_finish(writer), 0);
    assert_int_equal(access(in_folder("late"), F_OK), 0);
    assert_int_equal(files_in_folder(), before + 1);
    assert_int_equal(ff_trace_create(in_folder("late"), &info, &writer), 0); /* replaces it */
    ff_trace_abandon(writer);
    assert_int_equal(files_in_folder(), before + 1);
}

static void test_moves_with_its_folder(void **state) {
    (void)state;
    struct ff_trace_info info = {.source = "test"};
    struct ff_trace_writer *writer;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(ff_trace_create("here", &info, &writer), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(ff_trace_finish(writer), 0);
    assert_int_equal(access(in_folder("here"), F_OK), 0);
    assert_int_equal(chdir(before), 0);
}

static void test_bad_targets(void **state) {
    (void)state;
    struct ff_trace_info info = {.source = "test"};
    struct ff_trace_writer *writer;
    assert_int_equal(ff_trace_create("/dev/null", &info, &writer), -EEXIST);
    assert_int_equal(ff_trace_create(folder, &info, &writer), -EEXIST);
    assert_int_equal(ff_trace_create("/", &info, &writer), -EISDIR);
    assert_int_equal(ff_trace_create("", &info, &writer), -EISDIR);
    assert_int_equal(ff_trace_create(in_folder("absent/x"), &info, &writer), -ENOENT);
    assert_int_equal(symlink("small", in_folder("link")), 0);
    assert_int_equal(ff_trace_create(in_folder("link"), &info, &writer), -EEXIST);
    assert_int_equal(ff_trace_create(in_folder("taken"), &info, &writer), 0);
    assert_int_equal(mkdir(in_folder("taken"), 0700), 0); /* meanwhile */
    assert_int_equal(ff_trace_finish(writer), -EEXIST);
}

/* ---- full disks, killed writers ---- */

/* Writes until something fails or there are many events. */
static int write_much(const char *path) {
    struct ff_trace_info info = {.source = "test"};
    struct ff_trace_writer *writer;
    struct stream stream = make_stream(9, "kernel");
    int status = ff_trace_create(path, &info, &writer);
    if (status)
        return status;
    for (unsigned i = 0; i < 200000 && !status; i++) {
        struct ff_trace_event event = next_event(&stream);
        status = ff_trace_write(writer, &event);
    }
    int ended = ff_trace_finish(writer);
    assert_true(!status || ended == status);
    return ended;
}

/* A file size limit is a full disk that needs no privilege, but for its errno. */
static void test_size_limit(void **state) {
    (void)state;
    unsigned before = files_in_folder();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {100000, 100000};
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit))
            _exit(2);
        _exit(write_much(in_folder("full")) != -EFBIG);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(files_in_folder(), before);
}

static void test_full_disk(void **state) {
    (void)state;
    const char *disk = in_folder("disk");
    assert_int_equal(mkdir(disk, 0700), 0);
    if (mount("none", disk, "tmpfs", 0, "size=256k")) {
        print_message("not tried: a full disk needs the right to mount one\n");
        return;
    }
    int status = write_much(in_folder("disk/full"));
    bool left = access(in_folder("disk/full"), F_OK) == 0;
    umount(disk);
    assert_int_equal(status, -ENOSPC);
    assert_false(left);
}

static void test_killed_writer(void **state) {
    (void)state;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct ff_trace_info info = {.source = "test"};
        struct ff_trace_writer *writer;
        struct ff_trace_event event = {.kind = FF_TRACE_FREE};
        if (ff_trace_create(in_folder("killed"), &info, &writer))
            _exit(2);
        for (; event.range < 40000; event.range++)
            ff_trace_write(writer, &event);
        if (write(pipes[1], "x", 1) == 1)
            pause();
        _exit(2);
    }
    char ready, part[64];
    assert_int_equal(read(pipes[0], &ready, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_not_equal(access(in_folder("killed"), F_OK), 0);
    snprintf(part, sizeof part, "killed.%ld-0.part", (long)child);
    uint64_t events;
    struct ff_error error;
    assert_int_equal(read_all(in_folder(part), &events, &error), -EBADMSG);
    assert_int_equal(events, 2 * 16384); /* the blocks that were full */
    assert_non_null(strstr(error.message, "breaks off after 32768 events"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_long_names_are_cut),
        cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_releases),
        cmocka_unit_test(test_wrong_events),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_flip),
        cmocka_unit_test(test_blocks_out_of_place),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_appears_when_finished),
        cmocka_unit_test(test_moves_with_its_folder),
        cmocka_unit_test(test_bad_targets),
        cmocka_unit_test(test_size_limit),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_killed_writer),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
