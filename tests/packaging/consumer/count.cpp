// Managed memory from C++: twice as much as the device has, summed up by a kernel on a stream.
#include <farfault/farfault.h>

#include <cstdio>
#include <cstring>
#include <numeric>

namespace {

struct sum {
    const char *bytes;
    unsigned long total;
};

void add(const ff_work *work, void *arguments) {
    sum *to = *static_cast<sum **>(arguments);
    unsigned long part = std::accumulate(to->bytes + work->first, to->bytes + work->end, 0ul);
    __atomic_fetch_add(&to->total, part, __ATOMIC_RELAXED);
}

} // namespace

int main() {
    ff_config config;
    ff_context *context;
    ff_error error;
    ff_config_init(&config);
    config.memory = 8u << 20;
    if (ff_open(&config, &context, &error)) {
        std::fprintf(stderr, "count: %s\n", error.message);
        return 1;
    }
    const std::size_t size = 16u << 20;
    void *memory;
    ff_stream *stream;
    if (ff_mem_alloc(context, size, &memory) || ff_stream_create(context, 0, &stream))
        return 1;
    std::memset(memory, 1, size);
    sum result = {static_cast<char *>(memory), 0}, *pointer = &result;
    ff_launch launch = {};
    launch.name = "add";
    launch.kernel = add;
    launch.grid = size;
    launch.arguments = &pointer;
    launch.argument_size = sizeof pointer;
    if (ff_kernel_launch(stream, &launch))
        return 1;
    ff_stream_synchronize(stream);
    std::printf("verified: %s\n", result.total == size ? "yes" : "no");
    ff_stream_destroy(stream);
    ff_close(context);
    return result.total != size;
}
