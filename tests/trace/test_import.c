/* Importers against small recordings of every variant, with the events worked out by hand. */
#include "trace/fixture.h"

#include "base/map.h"
#include "trace/model/oracle.h"

#include <sqlite3.h>
#include <zstd.h>

static struct collected got;

static int import(const char *path, const char *format, struct ff_error *error) {
    const struct ff__import_format *found;
    memset(&got, 0, sizeof got);
    strcpy(error->message, "");
    int status = ff__import_find(path, format, &found, error);
    return status ? status : found->run(path, &(struct ff__sink){collect, &got}, error);
}

static void import_well(const char *path) {
    struct ff_error error;
    int status = import(path, NULL, &error);
    if (status)
        fail_msg("%s: %d %s", path, status, error.message);
}

/* ---- Accel-Sim ---- */

static uint32_t pc_of(const char *kernel, uint32_t pc) {
    return (uint32_t)ff__hash_bytes(0, kernel, strlen(kernel)) + pc;
}

/* Name, grid and block. */
static uint64_t identity_of(const char *name, const uint64_t grid[3], const uint64_t block[3]) {
    uint64_t hash = ff__hash_bytes(0, name, strlen(name));
    hash = ff__hash_bytes(hash, grid, 3 * sizeof *grid);
    return ff__hash_bytes(hash, block, 3 * sizeof *block);
}

static void test_accelsim_list(void **state) {
    (void)state;
    const uint64_t grids[2][3] = {{2, 1, 1}, {1, 2, 1}}, blocks[2][3] = {{64, 1, 1}, {8, 8, 1}};
    uint64_t first = identity_of("_Z5firstPf", grids[0], blocks[0]),
             second = identity_of("second", grids[1], blocks[1]);
    uint32_t load = pc_of("_Z5firstPf", 0x10), store = pc_of("_Z5firstPf", 0x30);
    const struct ff_trace_event want[] = {
        {.kind = FF_TRACE_RANGE, .range = 0, .bytes = 2u << 20}, /* at 7f0000000000 */
        {.kind = FF_TRACE_HOST_WRITE, .range = 0, .page = 1, .bytes = 8192},
        {.kind = FF_TRACE_LAUNCH, .identity = first, .name = "_Z5firstPf", .ctas = 2, .warps = 2},
        /* 32 lanes of 4 bytes: 4 sectors. MOV and LDG: 2 instructions */
        {.kind = FF_TRACE_ACCESS,
         .time_ns = 2,
         .page = 1,
         .pc = load,
         .instructions = 2,
         .bytes = 128},
        /* 2ff8, 3000, 4000, 3000: pages 2, 3, 4, a sector each */
        {.kind = FF_TRACE_ACCESS,
         .time_ns = 4,
         .page = 2,
         .pc = store,
         .instructions = 2,
         .bytes = 32,
         .write = true},
        {.kind = FF_TRACE_ACCESS, .time_ns = 4, .page = 3, .pc = store, .bytes = 32, .write = true},
        {.kind = FF_TRACE_ACCESS, .time_ns = 4, .page = 4, .pc = store, .bytes = 32, .write = true},
        /* another cluster, at 7f0040000000, begins to exist with its first use */
        {.kind = FF_TRACE_ACCESS,
         .time_ns = 5,
         .page = 1,
         .pc = load,
         .instructions = 1,
         .bytes = 32,
         .warp = 1},
        {.kind = FF_TRACE_RANGE, .time_ns = 5, .range = 1, .bytes = 2u << 20},
        {.kind = FF_TRACE_ACCESS, .time_ns = 5, .range = 1, .pc = load, .bytes = 32, .warp = 1},
        /* the first one is of shared memory; it still is an instruction */
        {.kind = FF_TRACE_ACCESS,
         .time_ns = 7,
         .page = 1,
         .pc = store,
         .instructions = 2,
         .bytes = 32,
         .cta = 1,
         .write = true},
        {.kind = FF_TRACE_LAUNCH_END, .time_ns = 7, .identity = first},
        {.kind = FF_TRACE_LAUNCH,
         .time_ns = 7,
         .identity = second,
         .name = "second",
         .ctas = 2,
         .warps = 2},
        {.kind = FF_TRACE_ACCESS,
         .time_ns = 8,
         .page = 1,
         .pc = pc_of("second", 0x10),
         .instructions = 1,
         .bytes = 64,
         .cta = 1,
         .warp = 1,
         .write = true},
        {.kind = FF_TRACE_LAUNCH_END, .time_ns = 8, .identity = second},
    };
    import_well(FIXTURES "/kernelslist.g");
    assert_events(&got, want, sizeof want / sizeof want[0]);
}

static void test_accelsim_old(void **state) {
    (void)state;
    import_well(FIXTURES "/old.traceg");
    assert_int_equal(got.count, 4);
    assert_int_equal(got.events[2].kind, FF_TRACE_ACCESS);
    assert_int_equal(got.events[2].bytes, 32);
    assert_int_equal(got.events[2].page, 1);
}

struct bad {
    const char *from, *to; /* in kernel-1.traceg */
    int status;
    const char *says;
};

static void check_bad(const struct bad *bad) {
    size_t size;
    struct ff_error error;
    char *text = (char *)read_file(FIXTURES "/kernel-1.traceg", &size);
    char *changed = malloc(size + 1000), *at = strstr(text, bad->from);
    assert_non_null(changed);
    assert_non_null(at);
    snprintf(changed, size + 1000, "%.*s%s%s", (int)(at - text), text, bad->to,
             at + strlen(bad->from));
    write_file(in_folder("bad.traceg"), changed, strlen(changed));
    int status = import(in_folder("bad.traceg"), NULL, &error);
    if (status != bad->status)
        fail_msg("'%s' for '%s': %d", bad->to, bad->from, status);
    if (!strstr(error.message, bad->says))
        fail_msg("'%s' is not in '%s'", bad->says, error.message);
    free(changed);
    free(text);
}

static void test_accelsim_bad(void **state) {
    (void)state;
    static const struct bad all[] = {
        {"tracer version = 5", "tracer version = 7", -ENOTSUP, "version 7"},
        {"grid dim = (2,1,1)", "grid dim = (2,1)", -EBADMSG, "header"},
        {"grid dim = (2,1,1)", "grid dim = (0,1,1)", -EBADMSG, "grid dim"},
        {"grid dim = (2,1,1)", "grid dim = (1,1,1)", -EBADMSG, "no thread block"},
        {"insts = 5", "insts = 6", -EBADMSG, "fewer"},
        {"insts = 5", "insts = 4", -EBADMSG, "more"},
        {"insts = 5", "insts = x", -EBADMSG, "number"},
        {"warp = 1", "warp = 2", -EBADMSG, "no warp"},
        {"#END_TB", "", -EBADMSG, "thread block"},
        {"#BEGIN_TB", "", -EBADMSG, "kernel trace"},
        {"4 1 0x7f0000001000 4", "4 3 0x7f0000001000 4", -EBADMSG, "addresses"},
        {"4 1 0x7f0000001000 4 0", "4 1 0x7f0000001000", -EBADMSG, "addresses"},
        {"4 1 0x7f0000001000 4", "4 1 0xffff7f0000001000 4", -EBADMSG, "address"},
        {"ffffffff 1 R1 MOV", "1ffffffff 1 R1 MOV", -EBADMSG, "instruction"},
        {"1 R1 MOV", "99 R1 MOV", -EBADMSG, "instruction"},
        {"0010 ffffffff", "zz10 ffffffff", -EBADMSG, ":24:"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        check_bad(&all[i]);
}

static void test_accelsim_files(void **state) {
    (void)state;
    struct ff_error error;
    write_file(in_folder("list"), "kernel-9.traceg\n", 16);
    assert_int_equal(import(in_folder("list"), "accel-sim", &error), -ENOENT);
    write_file(in_folder("list"), "kernel-9.traceg.xz\n", 19);
    assert_int_equal(import(in_folder("list"), "accel-sim", &error), -ENOTSUP);
    assert_non_null(strstr(error.message, "unxz"));
    write_file(in_folder("list"), "MemcpyHtoD,x,3\n", 15);
    assert_int_equal(import(in_folder("list"), "accel-sim", &error), -EBADMSG);
    write_file(in_folder("list"), "MemcpyHtoD,0xffffffffffffff00,4096\n", 35);
    assert_int_equal(import(in_folder("list"), "accel-sim", &error), -EBADMSG);
    write_file(in_folder("list"), "MemcpyHtoD,0x10000000,1099511627776\n", 36);
    assert_int_equal(import(in_folder("list"), "accel-sim", &error), 0);
    assert_int_equal(got.count, 2);
    assert_int_equal(got.events[0].bytes, UINT64_C(1) << 40);
}

/* A list that comes from elsewhere makes nobody read what lies elsewhere. */
static void test_accelsim_names(void **state) {
    (void)state;
    static const char *const away[] = {"kernel/../../kernel-1.traceg\n", "../kernel-1.traceg\n",
                                       "/kernel-1.traceg\n", "kernel-1/..\n",
                                       "kernel/../../x.traceg.xz\n"};
    struct ff_error error;
    size_t size;
    char *text = (char *)read_file(FIXTURES "/kernel-1.traceg", &size);
    write_file(in_folder("kernel-1.traceg"), text, size);
    for (size_t i = 0; i < sizeof away / sizeof away[0]; i++) {
        write_file(in_folder("list"), away[i], strlen(away[i]));
        assert_int_equal(import(in_folder("list"), "accel-sim", &error), -EBADMSG);
        assert_non_null(strstr(error.message, "list:1: a kernel must lie beside the list"));
    }
    write_file(in_folder("list"), "kernel-1.traceg\n", 16);
    assert_int_equal(import(in_folder("list"), "accel-sim", &error), 0);
    mkdir(in_folder("kernel..s"), 0700);
    write_file(in_folder("kernel..s/1.traceg"), text, size);
    write_file(in_folder("list"), "kernel..s/1.traceg\n", 19);
    assert_int_equal(import(in_folder("list"), "accel-sim", &error), 0);
    free(text);
}

/* What has no command of Accel-Sim in it is something else. */
static void test_accelsim_no_list(void **state) {
    (void)state;
    static const char *const all[] = {"", "root:x:0:0:root:/root:/bin/sh\n", "\n\n",
                                      "MemcpyDtoH,0x10000000,4096\n"};
    struct ff_error error;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        write_file(in_folder("list"), all[i], strlen(all[i]));
        assert_int_equal(import(in_folder("list"), "accel-sim", &error), -EBADMSG);
        assert_non_null(strstr(error.message, "names no kernel and no copy"));
    }
}

/* ---- Accel-Sim, packed ---- */

/* A packed trace as post-traces-processing makes it: pieces of two instructions, and a dictionary.
 */
struct packer {
    unsigned char file[16384], index[4096];
    size_t size, index_size;
    const char *dictionary;
};

static void put_number(unsigned char *bytes, size_t *size, uint64_t value, unsigned count) {
    ff__oracle_put(bytes + *size, value, count);
    *size += count;
}

static void pack_piece(struct packer *packer, const char *text, size_t length) {
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    size_t room = sizeof packer->file - packer->size - 4;
    size_t used = ZSTD_compress_usingDict(zstd, packer->file + packer->size + 4, room, text, length,
                                          packer->dictionary, strlen(packer->dictionary), 3);
    assert_false(ZSTD_isError(used));
    put_number(packer->file, &packer->size, used, 4);
    packer->size += used;
    ZSTD_freeCCtx(zstd);
}

/* `instructions`: lines, each with an end. */
static void pack_warp(struct packer *packer, const char *instructions) {
    size_t count = 0;
    for (const char *at = instructions; *at; at++)
        count += *at == '\n';
    const uint64_t pieces = (count + 1) / 2;
    put_number(packer->index, &packer->index_size, count, 4);
    put_number(packer->index, &packer->index_size, pieces, 4);
    put_number(packer->index, &packer->index_size, packer->size, 8);
    put_number(packer->file, &packer->size, count, 4);
    put_number(packer->file, &packer->size, pieces, 4);
    for (uint64_t i = 0; i < pieces; i++) {
        const char *end = strchr(instructions, '\n'), *second = strchr(end + 1, '\n');
        put_number(packer->index, &packer->index_size, second ? 2 : 1, 4);
        end = second ? second : end;
        pack_piece(packer, instructions, (size_t)(end - instructions)); /* without the last end */
        instructions = end + 1;
    }
}

static void pack_block(struct packer *packer, uint64_t x, uint64_t y, uint64_t warps) {
    const uint64_t numbers[11] = {x, y, 0, x, y, 0, 0, 0, 0, 0, warps};
    for (int i = 0; i < 11; i++)
        put_number(packer->index, &packer->index_size, numbers[i], 4);
}

static void pack_begin(struct packer *packer, const char *header, uint64_t blocks,
                       const char *dictionary) {
    memset(packer, 0, sizeof *packer);
    packer->dictionary = dictionary;
    memcpy(packer->file, header, strlen(header) + 1);
    packer->size = strlen(header) + 1;
    put_number(packer->file, &packer->size, strlen(dictionary), 4);
    put_number(packer->file, &packer->size, 2, 4);
    memcpy(packer->file + packer->size, dictionary, strlen(dictionary));
    packer->size += strlen(dictionary);
    put_number(packer->index, &packer->index_size, blocks, 4);
}

static void pack_end(struct packer *packer, const char *path) {
    size_t at = packer->size;
    memcpy(packer->file + packer->size, packer->index, packer->index_size);
    packer->size += packer->index_size;
    put_number(packer->file, &packer->size, at, 8);
    write_file(path, packer->file, packer->size);
}

/* What packs kernel-1.traceg, or any other text like it. */
static void pack_text(const char *text, const char *dictionary, const char *path) {
    static struct packer packer;
    char header[1024], warp[4096] = "", line[1024];
    uint64_t blocks = 0, warps = 0, x, y;
    for (const char *at = text; (at = strstr(at, "#BEGIN_TB")); at++)
        blocks++;
    const char *body = strstr(text, "#BEGIN_TB");
    snprintf(header, sizeof header, "%.*s", (int)(body - text), text);
    pack_begin(&packer, header, blocks, dictionary);
    for (const char *at = body; *at; at += strcspn(at, "\n") + (strchr(at, '\n') != NULL)) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        bool begins_warp = strncmp(line, "warp", 4) == 0, ends = strncmp(line, "#END", 4) == 0;
        if ((begins_warp && warps++ > 0) || ends)
            pack_warp(&packer, warp);
        if (begins_warp || ends)
            warp[0] = '\0';
        else if (sscanf(line, "thread block = %lu,%lu", &x, &y) == 2) {
            warps = 0;
            uint64_t count = 0;
            const char *end = strstr(at, "#END_TB");
            for (const char *next = at; (next = strstr(next, "\nwarp")) && next < end; next++)
                count++;
            pack_block(&packer, x, y, count);
        } else if (line[0] != '\0' && line[0] != '#' && strncmp(line, "insts", 5) != 0)
            snprintf(warp + strlen(warp), sizeof warp - strlen(warp), "%s\n", line);
    }
    pack_end(&packer, path);
}

/* The same events, packed or not, with a dictionary or without one. */
static void test_tracez(void **state) {
    (void)state;
    static const char *const dictionaries[] = {"", "ffffffff 1 R1 LDG.E.SYS 1 R2 4 1 0x7f000000"};
    static struct collected plain;
    size_t size;
    char *text = (char *)read_file(FIXTURES "/kernel-1.traceg", &size);
    import_well(FIXTURES "/kernel-1.traceg");
    plain = got;
    for (size_t i = 0; i < plain.count; i++)
        plain.events[i].name = plain.events[i].name ? plain.names[0] : NULL;
    assert_true(plain.count > 10);
    for (int i = 0; i < 2; i++) {
        pack_text(text, dictionaries[i], in_folder("kernel-1.tracez"));
        import_well(in_folder("kernel-1.tracez"));
        assert_events(&got, plain.events, plain.count);
    }
    write_file(in_folder("list"), "kernel-1.tracez\n", 16);
    import_well(in_folder("list"));
    assert_events(&got, plain.events, plain.count);
    free(text);
}

/* Whatever byte is another one, and wherever it breaks off, it is a trace or refused with a reason.
 */
static void test_tracez_bad(void **state) {
    (void)state;
    static const struct {
        size_t from_end;
        unsigned char value;
        const char *says;
    } changes[] = {
        {1, 1, "its index is not where it says"},
        {24, 9, "a warp is not as its index says"},
    };
    struct ff_error error;
    size_t size;
    char *text = (char *)read_file(FIXTURES "/kernel-1.traceg", &size);
    pack_text(text, "", in_folder("kernel-1.tracez"));
    free(text);
    unsigned char *bytes = read_file(in_folder("kernel-1.tracez"), &size);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        unsigned char *at = bytes + size - changes[i].from_end, was = *at;
        *at = changes[i].value;
        write_file(in_folder("bad.tracez"), bytes, size);
        *at = was;
        assert_int_equal(import(in_folder("bad.tracez"), NULL, &error), -EBADMSG);
        if (!strstr(error.message, changes[i].says))
            fail_msg("'%s' is not in '%s'", changes[i].says, error.message);
    }
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 0x41;
        write_file(in_folder("bad.tracez"), bytes, size);
        bytes[i] ^= 0x41;
        int status = import(in_folder("bad.tracez"), NULL, &error);
        assert_true(status == 0 ||
                    ((status == -EBADMSG || status == -ENOTSUP) && error.message[0]));
        write_file(in_folder("bad.tracez"), bytes, i);
        assert_int_equal(import(in_folder("bad.tracez"), NULL, &error), -EBADMSG);
        assert_null(strchr(error.message, '\n'));
    }
    free(bytes);
}

/* Version 6: groups of matrix instructions, copies of the tensor memory accelerator of whole
 * pieces, and values behind the addresses. */
static void test_version_6(void **state) {
    (void)state;
    static const char text[] =
        "-kernel name = tma\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n"
        "-accelsim tracer version = 6\n#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 6\n"
        "0000 ffffffff 1 R24 HGMMA.64x64x16.F32 2 R24 UR4 1 0 0 0 NoVal\n"
        "0010 00000001 0 UTMALDG.2D 2 UR8 UR4 128 0x400 0 256 0 4 0x7f0000001000 2 128 0 0 NoVal\n"
        "0020 00000001 0 UTMASTG.2D 2 UR8 UR4 64 0x0 1 0x3 64 0 3 1 0x7f0000002000 0 0 NoVal\n"
        "0030 00000000 0 UTMALDG.2D 2 UR8 UR4 128 0x400 0 0 0 4 0x0 0 0 0 NoVal\n"
        "0040 00000001 1 R1 LDG.E.SYS 1 R2 4 1 0x7f0000003000 0 0 Val 1 0x1 1 0x2\n"
        "0050 00000001 0 UBLKCP.S.G 2 UR8 UR4 8192 0x400 0 8192 0 3 1 0x7f0000004000 0 0 NoVal\n"
        "#END_TB\n";
    static const struct {
        uint64_t page, bytes;
        uint32_t instructions;
        bool write;
    } want[] = {{1, 128, 2, false},
                {1, 128, 0, false},
                {2, 64, 1, true},
                {3, 32, 2, false},
                {4, 8192, 1, false}};
    struct ff_error error;
    char bad[sizeof text + 8];
    write_file(in_folder("six.traceg"), text, sizeof text - 1);
    import_well(in_folder("six.traceg"));
    size_t at = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < got.count; i++) { /* the last copy is of two pages, in several parts */
        const struct ff_trace_event *event = &got.events[i];
        if (event->kind != FF_TRACE_ACCESS)
            continue;
        bool last = at == 4;
        if (!last || bytes == 0)
            assert_int_equal(event->instructions, want[at].instructions);
        assert_true(event->write == want[at].write);
        bytes += event->bytes;
        assert_int_equal(event->page, want[at].page + (last && bytes > 4096));
        if (!last)
            assert_int_equal(event->bytes, want[at].bytes);
        at += !last;
        bytes = last ? bytes : 0;
    }
    assert_int_equal(at, 4);
    assert_int_equal(bytes, 8192);
    for (const char *mode = strstr(text, " 4 0x7f"); mode; mode = NULL) {
        snprintf(bad, sizeof bad, "%.*s 5%s", (int)(mode - text), text, mode + 2);
        write_file(in_folder("six.traceg"), bad, strlen(bad));
        assert_int_equal(import(in_folder("six.traceg"), NULL, &error), -EBADMSG);
        assert_non_null(strstr(error.message, "six.traceg:10: a copy that cannot be read"));
    }
}

/* ---- uvm-eval ---- */

/* What all faults of the log have in common. */
#define FROM(gpu_time, number)                                                                     \
    .gpu_ns = UINT64_C(gpu_time), .batch = number, .instances = 1, .utlb = 1

static void test_uvmeval(void **state) {
    (void)state;
    /* ranges in the order of their use: 7fb144000000, 7fb144200000, and the derived one at
     * 7fb190000000 */
    const struct ff_trace_event want[] = {
        {.kind = FF_TRACE_BATCH, .time_ns = 9000, .batch = 1},
        {.kind = FF_TRACE_RANGE, .time_ns = 11000, .range = 0, .bytes = 1u << 20},
        {.kind = FF_TRACE_FAULT, .time_ns = 11000, FROM(1606348764141810176, 1)},
        {.kind = FF_TRACE_RANGE, .time_ns = 12000, .range = 1, .bytes = 2u << 20},
        {.kind = FF_TRACE_FAULT,
         .time_ns = 12000,
         .range = 1,
         .page = 1,
         .write = true,
         FROM(1606348764141810180, 1)},
        {.kind = FF_TRACE_RANGE, .time_ns = 12000, .range = 2, .bytes = 2u << 20},
        {.kind = FF_TRACE_FAULT,
         .time_ns = 12000,
         .range = 2,
         .page = 5,
         FROM(1606348764141810184, 1)},
        {.kind = FF_TRACE_FAULT, .time_ns = 12000, .write = true, FROM(1606348764141810188, 1)},
        {.kind = FF_TRACE_BATCH_END, .time_ns = 19000, .batch = 1},
        {.kind = FF_TRACE_EVICT, .time_ns = 24000, .range = 0, .pages = 256},
        {.kind = FF_TRACE_FREE, .time_ns = 29000, .range = 0},
        {.kind = FF_TRACE_FREE, .time_ns = 30000, .range = 1},
        {.kind = FF_TRACE_RANGE, .time_ns = 39000, .range = 0, .bytes = 1u << 20},
        {.kind = FF_TRACE_FAULT, .time_ns = 39000, FROM(1606348764141810188, 0)},
    };
    import_well(FIXTURES "/uvmeval.log");
    assert_events(&got, want, sizeof want / sizeof want[0]);
}

static void test_uvmeval_dmesg(void **state) {
    (void)state;
    static const char text[] = "[   12.000005] s,\n<4>[   12.000010] f,7fb144001000,1,0,2,4\n"
                               "[   12.000020] e,7fb144001000\n[   12.000020] e,1,2,3\n";
    const struct ff_trace_event want[] = {
        {.kind = FF_TRACE_BATCH, .batch = 1},
        {.kind = FF_TRACE_RANGE, .bytes = 2u << 20},
        {.kind = FF_TRACE_FAULT, .page = 1, .write = true, .gpu_ns = 1, .batch = 1},
        {.kind = FF_TRACE_EVICT, .time_ns = 10000, .page = 1, .pages = 1},
    };
    write_file(in_folder("dmesg"), text, sizeof text - 1);
    import_well(in_folder("dmesg"));
    assert_events(&got, want, sizeof want / sizeof want[0]);
}

static void test_uvmeval_bad(void **state) {
    (void)state;
    static const char *const bad[] = {"4,1,2,-;f,zz,1,0,1\n",
                                      "4,1,2,-;f,7fb144001000,1\n",
                                      "4,1,2,-;e,\n",
                                      "hello\n",
                                      "4,1,2,-;uvm range destroy start, size 3\n",
                                      "4,1,2,-;f,ffffffffffff0000,1,0,1\n"};
    struct ff_error error;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_file(in_folder("log"), bad[i], strlen(bad[i]));
        assert_int_equal(import(in_folder("log"), "uvm-eval", &error), -EBADMSG);
        assert_true(error.message[0] != '\0');
    }
}

/* ---- oracleGeneral ---- */

/* Writes so many requests into a file of the folder. */
static void write_requests(const char *name, const struct ff__oracle *requests, size_t count) {
    unsigned char records[16][FF__ORACLE_BYTES];
    assert_true(count <= 16);
    for (size_t i = 0; i < count; i++)
        ff__oracle_encode(&requests[i], records[i]);
    write_file(in_folder(name), records, count * FF__ORACLE_BYTES);
}

static const struct ff__oracle some_requests[] = {
    {UINT64_MAX, 4, 100, 4097}, {7, FF__ORACLE_NEVER, 103, 0},          {5, 6, 101, 1},
    {UINT64_MAX, 5, 105, 1},    {UINT64_MAX, FF__ORACLE_NEVER, 105, 1}, {5, INT64_MAX, 106, 5000}};

/* As the format's description has the bytes, and an object of several sizes. */
static void test_oracle(void **state) {
    (void)state;
    static const unsigned char first[FF__ORACLE_BYTES] = {
        100, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x10, 0, 0, 4};
    const uint64_t identity = ff__hash_bytes(0, "requests", 8);
    const struct ff_trace_event want[] = {
        {.kind = FF_TRACE_RANGE, .bytes = 4 * 4096},
        {.kind = FF_TRACE_LAUNCH, .identity = identity, .name = "requests", .ctas = 1, .warps = 1},
        {.kind = FF_TRACE_ACCESS, .bytes = 4096, .instructions = 1},
        {.kind = FF_TRACE_ACCESS, .page = 1, .bytes = 1},
        {.kind = FF_TRACE_ACCESS, .time_ns = 1000000000, .page = 2, .bytes = 1, .instructions = 1},
        {.kind = FF_TRACE_ACCESS, .time_ns = 5000000000, .bytes = 1, .instructions = 1},
        {.kind = FF_TRACE_ACCESS, .time_ns = 5000000000, .bytes = 1, .instructions = 1},
        {.kind = FF_TRACE_ACCESS,
         .time_ns = 6000000000,
         .page = 2,
         .bytes = 4096,
         .instructions = 1},
        {.kind = FF_TRACE_ACCESS, .time_ns = 6000000000, .page = 3, .bytes = 904},
        {.kind = FF_TRACE_LAUNCH_END, .time_ns = 6000000000, .identity = identity},
    };
    size_t size;
    write_requests("a.oracleGeneral.bin", some_requests, 6);
    unsigned char *bytes = read_file(in_folder("a.oracleGeneral.bin"), &size);
    assert_memory_equal(bytes, first, sizeof first);
    import_well(in_folder("a.oracleGeneral.bin"));
    assert_events(&got, want, sizeof want / sizeof want[0]);

    unsigned char packed[1024]; /* in two frames, as zstd's tools make them of two files */
    size_t half = 3 * FF__ORACLE_BYTES + 5;
    size_t used = ZSTD_compress(packed, sizeof packed, bytes, half, 3);
    used += ZSTD_compress(packed + used, sizeof packed - used, bytes + half, size - half, 3);
    write_file(in_folder("b.oracleGeneral.zst"), packed, used);
    import_well(in_folder("b.oracleGeneral.zst"));
    assert_events(&got, want, sizeof want / sizeof want[0]);
    free(bytes);
}

static void check_bad_requests(const char *name, const char *says) {
    struct ff_error error;
    assert_int_equal(import(in_folder(name), "oracleGeneral", &error), -EBADMSG);
    if (!strstr(error.message, says))
        fail_msg("'%s' is not in '%s'", says, error.message);
}

static void test_oracle_bad(void **state) {
    (void)state;
    static const char text[] = "root:x:0:0:root:/root:/bin/sh daemon:x:1:1:daemon";
    static const struct ff__oracle bad[][2] = {
        {{1, 1, 0, 1}, {0}},  /* asked for next by itself */
        {{1, -2, 0, 1}, {0}}, /* by none that there can be */
        {{1, 2, 0, 1}, {1, 2, 0, 1}},
    };
    unsigned char packed[1024];
    size_t size;
    write_file(in_folder("x"), text, sizeof text - 1);
    check_bad_requests("x", "x: request 1: its object is asked for next by no later request");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_requests("x", bad[i], 2);
        check_bad_requests("x", "is asked for next by no later request");
    }
    write_file(in_folder("x"), "", 0);
    check_bad_requests("x", "no request of any byte");
    write_requests("x", &some_requests[1], 1);
    check_bad_requests("x", "no request of any byte");
    write_requests("x", some_requests, 6);
    unsigned char *bytes = read_file(in_folder("x"), &size);
    write_file(in_folder("x"), bytes, size - 1);
    check_bad_requests("x", "x: request 6: ends within its 24 bytes");
    size_t used = ZSTD_compress(packed, sizeof packed, bytes, size, 3);
    write_file(in_folder("x"), packed, used - 1);
    check_bad_requests("x", "x: breaks off");
    memset(packed + 4, 0xff, used - 4);
    write_file(in_folder("x"), packed, used);
    check_bad_requests("x", "x: damaged: ");
    free(bytes);
    struct ff__oracle large[16]; /* 16 x 2^20 pages each, an object of 4 GiB */
    for (unsigned i = 0; i < 16; i++)
        large[i] = (struct ff__oracle){i, FF__ORACLE_NEVER, 0, UINT32_MAX};
    write_requests("part", large, 16);
    bytes = read_file(in_folder("part"), &size);
    FILE *file = fopen(in_folder("x"), "wb");
    for (uint64_t i = 0; i < 257; i++) { /* more than 1 TiB of them, each another one */
        ff__oracle_put(bytes + 4, i, 8);
        fwrite(bytes, FF__ORACLE_BYTES, 1, file);
    }
    fclose(file);
    check_bad_requests("x", "objects of more than 1 TiB together");
    free(bytes);
}

/* ---- Nsight Systems ---- */

static void make_database(const char *path, const char *statements) {
    sqlite3 *db;
    char *message = NULL;
    unlink(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, statements, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
    sqlite3_close(db);
}

#define PID_100 "100 * 0x1000000 + 0x0001000000000000"
#define PID_200 "200 * 0x1000000 + 0x0001000000000000"

/* Two processes whose addresses are the same, two devices, one table with fewer columns. */
static const char full[] =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES"
    " (1, 'void add(float*)'),"
    " (2, 'add');"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, "
    "streamId INT, globalPid INT, demangledName INT, shortName INT, gridX INT, gridY INT, gridZ "
    "INT, blockX INT, blockY INT, blockZ INT);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
    " (1000, 5000, 0, 1, 7, " PID_100 ", 1, 2, 10, 2, 1, 33, 1, 1),"
    " (5000, 6000, 1, 1, 7, " PID_200 ", 1, 2, 4, 1, 1, 64, 1, 1);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, globalPid INT, "
    "bytes INT, copyKind INT, srcDeviceId INT, dstDeviceId INT, migrationCause INT, virtualAddress "
    "INT);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES"
    " (2100, 2500, 0, " PID_100 ", 65536, 11, NULL, NULL, 2, 0x7f0000010000),"
    " (2600, 2700, 0, " PID_100 ", 4096, 12, NULL, NULL, 4, 0x7f0000010000),"
    " (2800, 2900, 0, " PID_100 ", 8192, 13, 0, 1, 1, 0x7f0000012000),"
    " (1, 2, 0, " PID_100 ", 4096, 1, NULL, NULL, NULL, NULL);" /* an ordinary copy */
    "CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INT, end INT, globalPid INT, deviceId INT, "
    "address INT, numberOfPageFaults INT, faultAccessType INT);"
    "INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES"
    " (2000, 2500, " PID_100 ", 0, 0x7f0000010000, 3, 1),"
    " (5100, 5200, " PID_200 ", 1, 0x7f0000010000, 1, 2);"
    "CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INT, globalPid INT, address INT);"
    "INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES"
    " (7000, " PID_100 ", 0x7f0000010000);"
    "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INT, globalPid INT, deviceId INT, address "
    "INT, bytes INT, memKind INT, memoryOperationType INT);"
    "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES"
    " (500, " PID_100 ", 0, 0x7f0000010000, 131072, 3, 0),"
    " (600, " PID_100 ", 0, 0x7f7700000000, 4096, 1, 0)," /* never used */ " (8000, " PID_100
    ", 0, 0x7f0000010000, 131072, 3, 1);";

static uint64_t nsys_identity(const char *name, const uint64_t sizes[6]) {
    return ff__hash_bytes(
        ff__hash_bytes(
            ff__hash_bytes(
                ff__hash_bytes(
                    ff__hash_bytes(ff__hash_bytes(ff__hash_bytes(0, name, strlen(name)), sizes, 8),
                                   sizes + 1, 8),
                    sizes + 2, 8),
                sizes + 3, 8),
            sizes + 4, 8),
        sizes + 5, 8);
}

static void test_nsys(void **state) {
    (void)state;
    const uint64_t sizes[2][6] = {{10, 2, 1, 33, 1, 1}, {4, 1, 1, 64, 1, 1}};
    uint64_t first = nsys_identity("void add(float*)", sizes[0]),
             second = nsys_identity("void add(float*)", sizes[1]);
    /* times count from the first row, at 500; range 0: the allocation of process 100, range 1: the
     * derived one of process 200 */
    const struct ff_trace_event want[] = {
        {.kind = FF_TRACE_LAUNCH,
         .time_ns = 500,
         .identity = first,
         .name = "void add(float*)",
         .ctas = 20,
         .warps = 2},
        {.kind = FF_TRACE_RANGE, .time_ns = 1500, .bytes = 131072},
        {.kind = FF_TRACE_FAULT, .time_ns = 1500},
        {.kind = FF_TRACE_MIGRATE, .time_ns = 2000, .pages = 16},
        {.kind = FF_TRACE_EVICT, .time_ns = 2200, .pages = 1},
        {.kind = FF_TRACE_EVICT, .time_ns = 2400, .page = 2, .pages = 2},
        {.kind = FF_TRACE_MIGRATE, .time_ns = 2400, .device = 1, .page = 2, .pages = 2},
        {.kind = FF_TRACE_LAUNCH_END, .time_ns = 4500, .identity = first},
        {.kind = FF_TRACE_LAUNCH,
         .time_ns = 4500,
         .device = 1,
         .identity = second,
         .name = "void add(float*)",
         .ctas = 4,
         .warps = 2},
        {.kind = FF_TRACE_RANGE, .time_ns = 4600, .device = 1, .range = 1, .bytes = 2u << 20},
        {.kind = FF_TRACE_FAULT,
         .time_ns = 4600,
         .device = 1,
         .range = 1,
         .page = 16,
         .write = true},
        {.kind = FF_TRACE_LAUNCH_END, .time_ns = 5500, .device = 1, .identity = second},
        {.kind = FF_TRACE_HOST_READ, .time_ns = 6500, .bytes = 4096},
        {.kind = FF_TRACE_FREE, .time_ns = 7500},
    };
    make_database(in_folder("full.sqlite"), full);
    import_well(in_folder("full.sqlite"));
    assert_events(&got, want, sizeof want / sizeof want[0]);
}

static void test_nsys_lean(void **state) {
    (void)state;
    make_database(in_folder("lean.sqlite"),
                  "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT);"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0);"
                  "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, bytes INT);");
    import_well(in_folder("lean.sqlite"));
    assert_int_equal(got.count, 2);
    assert_null(got.events[0].name);
    assert_int_equal(got.events[0].ctas, 1);
}

static void test_nsys_bad(void **state) {
    (void)state;
    struct ff_error error;
    make_database(in_folder("x.sqlite"), "CREATE TABLE t (a INT);");
    assert_int_equal(import(in_folder("x.sqlite"), NULL, &error), -EBADMSG);
    assert_non_null(strstr(error.message, "nsys"));
    make_database(in_folder("x.sqlite"),
                  "CREATE TABLE CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER (start INT);");
    assert_int_equal(import(in_folder("x.sqlite"), NULL, &error), -ENOTSUP);
    assert_non_null(strstr(error.message, "nvprof"));
    make_database(in_folder("x.sqlite"), /* a view is no table */
                  "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS"
                  " SELECT 1 AS start, 2 AS \"end\", 0 AS deviceId;");
    assert_int_equal(import(in_folder("x.sqlite"), NULL, &error), -EBADMSG);
    size_t size;
    make_database(in_folder("full.sqlite"), full);
    unsigned char *bytes = read_file(in_folder("full.sqlite"), &size);
    write_file(in_folder("x.sqlite"), bytes, size / 2);
    assert_int_equal(import(in_folder("x.sqlite"), NULL, &error), -EBADMSG);
    for (size_t i = 4096; i < size; i += 3)
        bytes[i] ^= 0x55;
    write_file(in_folder("x.sqlite"), bytes, size);
    assert_true(import(in_folder("x.sqlite"), NULL, &error) < 0);
    write_file(in_folder("x.sqlite"), "SQLite format 3\0garbage", 23);
    assert_int_equal(import(in_folder("x.sqlite"), NULL, &error), -EBADMSG);
    free(bytes);
}

/* ---- the whole way ---- */

static void test_to_file(void **state) {
    (void)state;
    struct ff_error error = {""};
    struct ff_trace_reader *reader;
    struct ff_trace_info info;
    struct ff_trace_event event;
    unsigned count = 0;
    assert_int_equal(
        ff__trace_import(FIXTURES "/kernelslist.g", NULL, in_folder("imported"), &error), 0);
    assert_int_equal(ff_trace_open(in_folder("imported"), &reader, &info, &error), 0);
    assert_string_equal(info.source, "accel-sim");
    assert_string_equal(info.subject, "kernelslist.g");
    assert_true(info.accesses);
    while (ff_trace_read(reader, &event, &error) > 0)
        count++;
    ff_trace_close(reader);
    assert_int_equal(count, 15);
}

static void test_wrong_files(void **state) {
    (void)state;
    struct ff_error error = {""};
    write_file(in_folder("text"), "some text", 9);
    const char *to = in_folder("never");
    assert_int_equal(ff__trace_import(in_folder("text"), NULL, to, &error), -EBADMSG);
    assert_non_null(strstr(error.message, "oracleGeneral, accel-sim, uvm-eval, nsys"));
    assert_int_equal(ff__trace_import(in_folder("text"), "perf", to, &error), -EINVAL);
    assert_int_equal(ff__trace_import(in_folder("nothing"), NULL, to, &error), -ENOENT);
    assert_int_equal(ff__trace_import(folder, NULL, to, &error), -EINVAL);
    assert_int_equal(ff__trace_import(in_folder("text"), "uvm-eval", to, &error), -EBADMSG);
    assert_int_not_equal(access(to, F_OK), 0);
    assert_int_equal(ff__trace_import(FIXTURES "/uvmeval.log", NULL, in_folder("no/where"), &error),
                     -ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accelsim_list),  cmocka_unit_test(test_accelsim_old),
        cmocka_unit_test(test_accelsim_names), cmocka_unit_test(test_accelsim_no_list),
        cmocka_unit_test(test_accelsim_bad),   cmocka_unit_test(test_accelsim_files),
        cmocka_unit_test(test_tracez),         cmocka_unit_test(test_tracez_bad),
        cmocka_unit_test(test_version_6),      cmocka_unit_test(test_uvmeval),
        cmocka_unit_test(test_uvmeval_dmesg),  cmocka_unit_test(test_uvmeval_bad),
        cmocka_unit_test(test_oracle),         cmocka_unit_test(test_oracle_bad),
        cmocka_unit_test(test_nsys),           cmocka_unit_test(test_nsys_lean),
        cmocka_unit_test(test_nsys_bad),       cmocka_unit_test(test_to_file),
        cmocka_unit_test(test_wrong_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
