/* Any packets are messages, or refused; a broker that gets them, from one client after the other,
 * keeps its books. */
#include "fuzz/fuzz.h"

#include "daemon/broker.h"
#include "share/protocol.h"

#include <sys/socket.h>
#include <unistd.h>

/* What begins with a valid header gets further. */
static void send_packets(int fd, const uint8_t *data, size_t size) {
    while (size > 0) {
        struct ff__share_message message = ff__share_message(FF__SHARE_HELLO);
        size_t part = size < 24 ? size : 24;
        bool raw = data[0] & 0x80;
        memcpy((char *)&message + (raw ? 0 : 4), data, part);
        if (!raw)
            message.kind = data[0] & 7;
        if (send(fd, &message, raw ? part : sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            return;
        data += part;
        size -= part;
    }
}

static void check_messages(const uint8_t *data, size_t size) {
    uint8_t packet[sizeof(struct ff__share_message)] = {0};
    struct ff__share_message message;
    memcpy(packet, data, size < sizeof packet ? size : sizeof packet);
    if (!ff__share_is_valid(packet, sizeof packet))
        return;
    memcpy(&message, packet, sizeof message);
    FUZZ_EXPECT(message.kind < FF__SHARE_KINDS && message.bytes <= FF__SHARE_BYTES);
    FUZZ_EXPECT(strlen(message.text) < sizeof message.text);
}

static struct ff__broker broker;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    struct ff_error error;
    check_messages(data, size);
    if (size == 0 || size > 512)
        return 0;
    snprintf(path, sizeof path, "/tmp/farfault-fuzz-%d", getpid());
    memset(&broker, 0, sizeof broker);
    broker.device_count = 2;
    broker.limit_ns = 1000000;
    for (uint32_t d = 0; d < 2; d++)
        broker.devices[d] = (struct ff__broker_device){{'a', (char)('0' + d)}, 8, {0}};
    FUZZ_EXPECT(ff__broker_open(&broker, path, &error) == 0);
    for (uint32_t i = 0; i < 2; i++) {
        int fd = ff__share_connect(path);
        FUZZ_EXPECT(fd >= 0);
        ff__broker_step(&broker, 0);
        send_packets(fd, data, size);
        for (uint32_t step = 0; step < 3; step++)
            ff__broker_step(&broker, 0);
        for (uint32_t d = 0; d < 2; d++) {
            uint32_t used = 0, programs = 0;
            for (uint32_t c = 0; c < FF__CLIENTS; c++) {
                bool is_of = broker.clients[c].fd >= 0 && broker.clients[c].device == d;
                used += broker.clients[c].grants[d].given + (is_of ? broker.clients[c].own : 0);
                programs += is_of;
            }
            /* a program that comes has the least at once, also where all is taken */
            FUZZ_EXPECT(used <= broker.devices[d].slots + FF__KEEP * programs);
        }
        close(fd);
    }
    ff__broker_close(&broker);
    return 0;
}
