#!/bin/sh
# hashcat finds the words behind MD5 sums, in a list of words and, on two devices, by trying all
# short ones; under farfault the same as plainly. Before that it tests its kernels itself. Usage:
# hashcat.sh FARFAULT
set -eu
. "$(dirname "$0")/third_party.sh"
needs hashcat
words=/usr/share/doc/hashcat-data/examples/example.dict

# of each word in standard input
sums() { while read -r word; do printf '%s' "$word" | md5sum | cut -d ' ' -f 1; done; }

# crack DEVICES ARGUMENT...: with a fixed amount of work for each launch, which hashcat would find
# out by measuring
crack() {
    devices=$1
    shift
    echo "$*, devices: $devices:"
    set -- --quiet --force --potfile-disable -D 1,2 -n 1 -u 64 -T 64 -w 1 -m 0 "$@"
    plain hashcat "$@"
    managed "--system nvidia-1 --memory 32M --devices $devices" hashcat "$@"
    same sort
    echo "$(wc -l <got) of $(wc -l <sums) words found"
}

awk 'NR % 1000 == 0' "$words" | sums >sums
crack 1 -a 0 sums "$words"
printf '%s\n' abode vivid zebra | sums >sums
crack 2 -a 3 sums '?l?l?l?l?l'
exit $bad
