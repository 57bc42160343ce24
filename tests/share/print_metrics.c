/* print_metrics FILE: writes the counters of a broker with two devices and two programs that there
 * are not, and fails where the file cannot be written. */
#include "share/broker.h"

#include "daemon/metrics.h"

static struct ff__broker broker;

static void add(uint32_t number, uint32_t device, const char *name, uint64_t first) {
    struct ff__client *client = &broker.clients[number];
    *client = (struct ff__client){.fd = 9, .pid = 100 + number, .device = device, .priority = 1};
    snprintf(client->name, sizeof client->name, "%s", name);
    client->own = 3, client->need = 5, client->turns = 7;
    client->turn = number ? FF__TURN_WAITS : FF__TURN_HAS;
    client->grants[1 - device].given = 2;
    client->counts = (struct ff__share_counts){
        first, first + 1, first + 2, first + 3, first + 4, first + 5, first + 6, 1500000000, 2500};
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    broker.device_count = 2;
    broker.devices[0] = (struct ff__broker_device){"gpu0", 8, {.on = true}};
    broker.devices[1] = (struct ff__broker_device){"a\"\\n", 16, {0}};
    for (uint32_t c = 0; c < FF__CLIENTS; c++)
        broker.clients[c] = (struct ff__client){.fd = -1, .device = FF__SHARE_NOBODY};
    add(0, 0, "first", 1000);
    add(1, 1, "a {b} \\\"c\\\"", UINT64_C(9007199254740000));
    int status = ff__metrics_write(&broker, argv[1]);
    if (status)
        fprintf(stderr, "%s\n", strerror(-status));
    return status != 0;
}
