/* Loads, stores, atomics, and what else concerns memory. */
#include "ptx/emit_internal.h"

#define OP(name) FF__PTX_OP_##name

enum ff__ptx_space ff__ptx_space_of(const struct ff__ptx_instruction *instruction) {
    static const struct {
        enum ff__ptx_modifier modifier;
        enum ff__ptx_space space;
    } spaces[] = {{FF__PTX_M_GLOBAL, FF__PTX_GLOBAL},     {FF__PTX_M_SHARED, FF__PTX_SHARED},
                  {FF__PTX_M_SHARED_CTA, FF__PTX_SHARED}, {FF__PTX_M_LOCAL, FF__PTX_LOCAL},
                  {FF__PTX_M_CONST, FF__PTX_CONST},       {FF__PTX_M_PARAM, FF__PTX_PARAM},
                  {FF__PTX_M_PARAM_ENTRY, FF__PTX_PARAM}, {FF__PTX_M_PARAM_FUNC, FF__PTX_PARAM}};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (ff__ptx_has(instruction, spaces[i].modifier))
            return spaces[i].space;
    return FF__PTX_GENERIC;
}

/* A register of 32 bits holds an unsigned offset. */
static const char *base_register(struct ff__ptx_emit *emit, const struct ff__ptx_operand *operand,
                                 enum ff__ptx_place place) {
    uint32_t reg = operand->index;
    enum ff__ptx_type held = emit->function->registers[reg].type;
    uint32_t size = ff__ptx_type_size(held);
    const char *name = ff__ptx_register_name(emit, reg, place);
    if (ff__ptx_type_kind(held) == 'f' || (size != 4 && size != 8))
        ff__ptx_refuse(emit, "an address in a register of .%s", ff__ptx_type_name(held));
    const char *address = ff__ptx_format(emit, "(u64)%s", name);
    if (size == 4 && emit->kernel != NULL && place == FF__PTX_IN_LANE &&
        ff__ptx_shape_here(emit, reg) == FF__PTX_AFFINE) {
        ff__ptx_need_fit(emit, reg, false);
        address = ff__ptx_format(emit, "((u64)%s + (u64)%s * (u64)i)",
                                 ff__ptx_register_name(emit, reg, FF__PTX_AHEAD),
                                 ff__ptx_register_name(emit, reg, FF__PTX_STEP));
    }
    if (operand->offset == 0)
        return address;
    return ff__ptx_format(emit, "(%s + (u64)%lldll)", address, (long long)operand->offset);
}

const char *ff__ptx_address(struct ff__ptx_emit *emit, const struct ff__ptx_operand *operand,
                            enum ff__ptx_space space, enum ff__ptx_place place) {
    if (!operand->address || operand->kind == FF__PTX_LIST)
        ff__ptx_refuse(emit, "an address is missing");
    struct ff__ptx_operand base = *operand; /* what stands in the brackets */
    base.address = false;
    const char *address = base.kind == FF__PTX_REGISTER
                              ? base_register(emit, &base, place)
                              : ff__ptx_value(emit, &base, FF__PTX_U64, place);
    if (space == FF__PTX_SHARED)
        return ff__ptx_format(emit, "(shared + %s)", address);
    if (space == FF__PTX_LOCAL)
        return ff__ptx_format(emit, "(local + %s)", address);
    return address;
}

/* ---- recording ---- */

bool ff__ptx_is_recorded(const struct ff__ptx_emit *emit) {
    uint32_t opcode = emit->instruction->opcode;
    enum ff__ptx_space space = ff__ptx_space_of(emit->instruction);
    if (!emit->options->record)
        return false;
    if (opcode == OP(cp))
        return ff__ptx_has(emit->instruction, FF__PTX_M_GLOBAL);
    return (opcode == OP(ld) || opcode == OP(ldu) || opcode == OP(st) || opcode == OP(atom) ||
            opcode == OP(red) || (opcode == OP(wmma) && !ff__ptx_suspends(emit->instruction))) &&
           (space == FF__PTX_GLOBAL || space == FF__PTX_GENERIC);
}

uint32_t ff__ptx_record_site(struct ff__ptx_emit *emit) {
    struct ff__ptx_kernel_emit *kernel = emit->kernel;
    uint32_t site = kernel->sites++;
    kernel->site_count = kernel->count;
    ff__ptx_line(&kernel->ahead, "struct ff_site S%u;", site);
    if (kernel->count == FF__PTX_NO_COUNT) {
        ff__ptx_line(&kernel->ahead, "clear_counts(&S%u);", site);
        ff__ptx_line(&emit->body, "S%u.counts[i] = n;", site);
    }
    ff__ptx_line(&emit->body, "n = 0;");
    return site;
}

/* Who has come to the last of the sites. */
static const char *who_came(struct ff__ptx_emit *emit) {
    const struct ff__ptx_kernel_emit *kernel = emit->kernel;
    return kernel->site_count == FF__PTX_NO_COUNT
               ? ff__ptx_format(emit, "came(count, &S%u)", kernel->sites - 1)
               : ff__ptx_format(emit, "(struct ff_came){here, %u}", kernel->site_count);
}

void ff__ptx_record_report(struct ff__ptx_emit *emit, uint32_t site, uint32_t pc, uint32_t size,
                           bool write) {
    ff__ptx_line(&emit->kernel->reports,
                 "report(block, lanes, first, count, &S%u, %s, %u, %u, %d);", site, who_came(emit),
                 pc, size, write);
}

/* Whether all lanes that come here access `base` and what grows by a fixed step from it. */
static bool is_even(struct ff__ptx_emit *emit, const struct ff__ptx_operand *operand,
                    enum ff__ptx_space space) {
    return space == FF__PTX_GLOBAL && operand->kind == FF__PTX_REGISTER &&
           emit->instruction->guard == FF__PTX_NONE &&
           ff__ptx_type_size(emit->function->registers[operand->index].type) == 8 &&
           ff__ptx_shape_here(emit, operand->index) != FF__PTX_VARYING;
}

/* Generic addresses of shared and local memory are left out. Functions have numbers of instructions
 * that no kernel has. */
void ff__ptx_record_address(struct ff__ptx_emit *emit, const char *address, uint32_t size,
                            bool write) {
    if (!ff__ptx_is_recorded(emit))
        return;
    uint32_t pc = (uint32_t)(emit->instruction - emit->function->instructions);
    if (ff__ptx_space_of(emit->instruction) == FF__PTX_GENERIC)
        address = ff__ptx_format(emit, "global_only(%s, block, lanes, l, LOCAL)", address);
    if (emit->kernel == NULL) {
        ff__ptx_line(&emit->body, "log_access(t, %s, %u, %u, %d);", address,
                     FF__PTX_MOST_INSTRUCTIONS * (1 + emit->function_number) + pc, size, write);
        return;
    }
    uint32_t site = emit->kernel->sites - 1; /* this instruction's */
    ff__ptx_line(&emit->kernel->ahead, "clear_addresses(&S%u);", site);
    ff__ptx_line(&emit->body, "S%u.addresses[i] = %s;", site, address);
    ff__ptx_record_report(emit, site, pc, size, write);
}

/* Behind the loop the lanes' addresses are reported together. */
static void record(struct ff__ptx_emit *emit, const struct ff__ptx_operand *operand,
                   enum ff__ptx_space space, uint32_t size, bool write) {
    if (!ff__ptx_is_recorded(emit))
        return;
    if (is_even(emit, operand, space)) {
        uint32_t site = emit->kernel->sites - 1; /* this instruction's */
        uint32_t pc = (uint32_t)(emit->instruction - emit->function->instructions);
        ff__ptx_line(&emit->kernel->reports,
                     "report_even(block, lanes, first, count, &S%u, %s, %s, %s, %u, %u, %d);", site,
                     who_came(emit), ff__ptx_address(emit, operand, space, FF__PTX_AHEAD),
                     ff__ptx_register_name(emit, operand->index, FF__PTX_STEP), pc, size, write);
        return;
    }
    ff__ptx_record_address(emit, ff__ptx_address(emit, operand, space, FF__PTX_IN_LANE), size,
                           write);
}

/* ---- loads and stores ---- */

static uint32_t vector_size(const struct ff__ptx_instruction *instruction) {
    return ff__ptx_has(instruction, FF__PTX_M_V2)   ? 2
           : ff__ptx_has(instruction, FF__PTX_M_V4) ? 4
           : ff__ptx_has(instruction, FF__PTX_M_V8) ? 8
                                                    : 1;
}

static bool is_strong(const struct ff__ptx_instruction *instruction) {
    return ff__ptx_has(instruction, FF__PTX_M_VOLATILE) ||
           ff__ptx_has(instruction, FF__PTX_M_RELAXED) ||
           ff__ptx_has(instruction, FF__PTX_M_ACQUIRE) ||
           ff__ptx_has(instruction, FF__PTX_M_RELEASE) || ff__ptx_has(instruction, FF__PTX_M_MMIO);
}

static const struct ff__ptx_operand *element(struct ff__ptx_emit *emit,
                                             const struct ff__ptx_operand *operand, uint32_t count,
                                             uint32_t index) {
    if (count == 1 && operand->kind != FF__PTX_LIST)
        return operand;
    if (operand->kind != FF__PTX_LIST || operand->count != count)
        ff__ptx_refuse(emit, "not as many registers as the vector has elements");
    return &emit->function->operands[operand->first + index];
}

static const char *moved_type(struct ff__ptx_emit *emit, enum ff__ptx_type type) {
    if (type == FF__PTX_NO_TYPE || type == FF__PTX_PRED || ff__ptx_type_size(type) > 8)
        ff__ptx_refuse(emit, "values of .%s cannot be loaded or stored", ff__ptx_type_name(type));
    return ff__ptx_c_type(type);
}

/* A vector of small elements is moved at once, as it is aligned to its size: compilers vectorize no
 * loop over lanes in which pairs of them are stored under a condition. */
static bool moves_at_once(uint32_t size, uint32_t count) {
    return count > 1 && size < 4 && size * count <= 8;
}

static void load_elements(struct ff__ptx_emit *emit, const char *c_type, const char *address,
                          uint32_t size, uint32_t count) {
    enum ff__ptx_type type = ff__ptx_last_type(emit->instruction);
    const char *strong = is_strong(emit->instruction) ? "v" : "";
    bool at_once = moves_at_once(size, count);
    if (at_once)
        ff__ptx_line(&emit->body, "const u%u w_ = ld%s_u%u(%s);", 8 * size * count, strong,
                     8 * size * count, address);
    for (uint32_t i = 0; i < count; i++) {
        const struct ff__ptx_operand *result = element(emit, ff__ptx_operand_of(emit, 0), count, i);
        const char *value =
            at_once ? ff__ptx_format(emit, "w_ >> %u", 8 * size * i)
                    : ff__ptx_format(emit, "ld%s_%s(%s + %uu)", strong, c_type, address, i * size);
        if (result->kind != FF__PTX_NOTHING)
            ff__ptx_assign(emit, result, type, value);
    }
}

static void load(struct ff__ptx_emit *emit) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    enum ff__ptx_space space = ff__ptx_space_of(instruction);
    enum ff__ptx_type type = ff__ptx_last_type(instruction);
    uint32_t count = vector_size(instruction);
    if (instruction->operand_count < 2)
        ff__ptx_refuse(emit, "operands are missing");
    const char *address =
        ff__ptx_address(emit, ff__ptx_operand_of(emit, 1), space, FF__PTX_IN_LANE);
    const char *c_type = moved_type(emit, type);
    uint32_t size = ff__ptx_type_size(type);
    record(emit, ff__ptx_operand_of(emit, 1), space, size * count, false);
    if (count > 1) { /* a result may be the address's register */
        ff__ptx_line(&emit->body, "{const u64 a_ = %s;", address);
        address = "a_";
    }
    load_elements(emit, c_type, address, size, count);
    if (count > 1)
        ff__ptx_line(&emit->body, "}");
    if (ff__ptx_has(instruction, FF__PTX_M_ACQUIRE))
        ff__ptx_line(&emit->body, "fence();");
}

static const char *stored(struct ff__ptx_emit *emit, uint32_t count, uint32_t index) {
    const struct ff__ptx_operand *value = element(emit, ff__ptx_operand_of(emit, 1), count, index);
    return ff__ptx_value(emit, value, ff__ptx_last_type(emit->instruction), FF__PTX_IN_LANE);
}

static void store_at_once(struct ff__ptx_emit *emit, const char *address, uint32_t size,
                          uint32_t count) {
    uint32_t bits = 8 * size * count;
    const char *all = "0";
    for (uint32_t i = 0; i < count; i++)
        all = ff__ptx_format(emit, "%s | (u%u)(u%u)(%s) << %u", all, bits, 8 * size,
                             stored(emit, count, i), 8 * size * i);
    ff__ptx_line(&emit->body, "st%s_u%u(%s, %s);", is_strong(emit->instruction) ? "v" : "", bits,
                 address, all);
}

static void store(struct ff__ptx_emit *emit) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    enum ff__ptx_space space = ff__ptx_space_of(instruction);
    enum ff__ptx_type type = ff__ptx_last_type(instruction);
    uint32_t count = vector_size(instruction);
    if (instruction->operand_count < 2)
        ff__ptx_refuse(emit, "operands are missing");
    const char *address =
        ff__ptx_address(emit, ff__ptx_operand_of(emit, 0), space, FF__PTX_IN_LANE);
    const char *c_type = moved_type(emit, type);
    uint32_t size = ff__ptx_type_size(type);
    record(emit, ff__ptx_operand_of(emit, 0), space, size * count, true);
    if (ff__ptx_has(instruction, FF__PTX_M_RELEASE))
        ff__ptx_line(&emit->body, "fence();");
    if (moves_at_once(size, count)) {
        store_at_once(emit, address, size, count);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        ff__ptx_line(&emit->body, "st%s_%s(%s + %uu, %s);", is_strong(instruction) ? "v" : "",
                     c_type, address, i * size, stored(emit, count, i));
}

/* ---- atomics ---- */

static const char *operation(struct ff__ptx_emit *emit) {
    static const enum ff__ptx_modifier operations[] = {
        FF__PTX_M_ADD, FF__PTX_M_MIN,  FF__PTX_M_MAX, FF__PTX_M_AND, FF__PTX_M_OR,
        FF__PTX_M_XOR, FF__PTX_M_EXCH, FF__PTX_M_CAS, FF__PTX_M_INC, FF__PTX_M_DEC};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (ff__ptx_has(emit->instruction, operations[i]))
            return ff__ptx_modifier_name(operations[i]);
    ff__ptx_refuse(emit, "an operation that is not known");
}

static void atomic(struct ff__ptx_emit *emit, bool result) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    enum ff__ptx_space space = ff__ptx_space_of(instruction);
    enum ff__ptx_type type = ff__ptx_last_type(instruction);
    uint32_t first = result ? 1 : 0;
    ff__ptx_check(emit);
    const char *address =
        ff__ptx_address(emit, ff__ptx_operand_of(emit, first), space, FF__PTX_IN_LANE);
    record(emit, ff__ptx_operand_of(emit, first), space, ff__ptx_type_size(type), true);
    bool ordered = ff__ptx_has(instruction, FF__PTX_M_ACQUIRE) ||
                   ff__ptx_has(instruction, FF__PTX_M_RELEASE) ||
                   ff__ptx_has(instruction, FF__PTX_M_ACQ_REL);
    bool compares = ff__ptx_has(instruction, FF__PTX_M_CAS);
    const char *value =
        ff__ptx_value(emit, ff__ptx_operand_of(emit, first + 1), type, FF__PTX_IN_LANE);
    if (compares)
        value = ff__ptx_format(
            emit, "%s, %s", value,
            ff__ptx_value(emit, ff__ptx_operand_of(emit, first + 2), type, FF__PTX_IN_LANE));
    const char *call = ff__ptx_format(emit, "atom_%s_%s(%s, %s)", operation(emit),
                                      ff__ptx_type_name(type), address, value);
    if (ordered)
        ff__ptx_line(&emit->body, "fence();");
    if (result)
        ff__ptx_assign(emit, ff__ptx_operand_of(emit, 0), type, call);
    else
        ff__ptx_line(&emit->body, "(void)%s;", call);
    if (ordered)
        ff__ptx_line(&emit->body, "fence();");
}

/* ---- asynchronous copies ---- */

/* How many of the bytes are copied; the others become zeros. */
static const char *copied_bytes(struct ff__ptx_emit *emit, const char *size) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    uint32_t count = instruction->operand_count;
    count -= ff__ptx_has(instruction, FF__PTX_M_L2_CACHE_HINT) ? 1 : 0;
    if (count < 4)
        return size;
    const struct ff__ptx_operand *last = ff__ptx_operand_of(emit, 3);
    if (last->kind == FF__PTX_REGISTER &&
        emit->function->registers[last->index].type == FF__PTX_PRED)
        return ff__ptx_format(emit, "(%s ? 0 : %s)",
                              ff__ptx_value(emit, last, FF__PTX_PRED, FF__PTX_IN_LANE), size);
    return ff__ptx_value(emit, last, FF__PTX_U32, FF__PTX_IN_LANE);
}

/* They are done at once, so there is nothing to wait for. */
static void copy(struct ff__ptx_emit *emit) {
    const struct ff__ptx_instruction *instruction = emit->instruction;
    if (ff__ptx_has(instruction, FF__PTX_M_COMMIT_GROUP) ||
        ff__ptx_has(instruction, FF__PTX_M_WAIT_GROUP) ||
        ff__ptx_has(instruction, FF__PTX_M_WAIT_ALL))
        return;
    if (!ff__ptx_has(instruction, FF__PTX_M_ASYNC) || ff__ptx_has(instruction, FF__PTX_M_BULK) ||
        !ff__ptx_has(instruction, FF__PTX_M_SHARED) ||
        !ff__ptx_has(instruction, FF__PTX_M_GLOBAL) || instruction->operand_count < 3 ||
        ff__ptx_operand_of(emit, 2)->kind != FF__PTX_INTEGER)
        ff__ptx_refuse(emit, "this form is not supported");
    const char *to =
        ff__ptx_address(emit, ff__ptx_operand_of(emit, 0), FF__PTX_SHARED, FF__PTX_IN_LANE);
    const char *from =
        ff__ptx_address(emit, ff__ptx_operand_of(emit, 1), FF__PTX_GLOBAL, FF__PTX_IN_LANE);
    uint32_t size = (uint32_t)ff__ptx_operand_of(emit, 2)->bits;
    if (size != 4 && size != 8 && size != 16)
        ff__ptx_refuse(emit, "a copy of neither 4, 8 nor 16 bytes");
    record(emit, ff__ptx_operand_of(emit, 1), FF__PTX_GLOBAL, size, false);
    ff__ptx_line(&emit->body, "copy_%u(%s, %s, %s);", size, to, from,
                 copied_bytes(emit, ff__ptx_format(emit, "%uu", size)));
}

/* ---- others ---- */

static void is_space(struct ff__ptx_emit *emit) {
    if (emit->instruction->operand_count != 2)
        ff__ptx_refuse(emit, "operands are missing");
    const char *address =
        ff__ptx_value(emit, ff__ptx_operand_of(emit, 1), FF__PTX_U64, FF__PTX_IN_LANE);
    enum ff__ptx_space space = ff__ptx_space_of(emit->instruction);
    const char *in_shared =
        ff__ptx_format(emit, "(u32)(%s - shared < block->shared_size)", address);
    const char *in_local = ff__ptx_format(emit, "(u32)(%s - local < LOCAL)", address);
    const char *holds = space == FF__PTX_SHARED  ? in_shared
                        : space == FF__PTX_LOCAL ? in_local
                        : space == FF__PTX_GLOBAL
                            ? ff__ptx_format(emit, "(u32)(!%s & !%s)", in_shared, in_local)
                            : NULL;
    if (holds == NULL)
        ff__ptx_refuse(emit, "this form is not supported");
    ff__ptx_assign(emit, ff__ptx_operand_of(emit, 0), FF__PTX_PRED, holds);
}

bool ff__ptx_emit_memory(struct ff__ptx_emit *emit) {
    switch (emit->instruction->opcode) {
    case OP(ld):
    case OP(ldu):
        load(emit);
        return true;
    case OP(st):
        store(emit);
        return true;
    case OP(atom):
        atomic(emit, true);
        return true;
    case OP(red):
        atomic(emit, false);
        return true;
    case OP(cp):
        copy(emit);
        return true;
    case OP(isspacep):
        is_space(emit);
        return true;
    case OP(membar):
    case OP(fence):
        if (ff__ptx_has(emit->instruction, FF__PTX_M_PROXY))
            ff__ptx_refuse(emit, "this form is not supported");
        ff__ptx_line(&emit->body, "fence();");
        return true;
    case OP(prefetch):
    case OP(prefetchu):
    case OP(discard):
    case OP(applypriority):
        return true; /* hints */
    default:
        return false;
    }
}
