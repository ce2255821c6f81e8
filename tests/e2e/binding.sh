# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# binding.sh - sourced behind tap.sh by tests of the map of ranks to devices.
#
#   devices_job N     a job whose hosts have N simulated devices each, on stdout
#   seats FILE        of a map as --show-binding prints it: "rank host device;..."

devices_job() {
    cat <<EOT
{ "name": "devices", "why": "devices of a host", "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/kernels/configs/host_forward_quick.json",
                "filter": "vector_bytes <= 32"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv"} ],
  "device": {"backend": "sim", "arch": "n_devices=$1,sleep_us=200"},
  "measure": {"warmup_ms": 1, "min_samples": 3, "max_ms": 5,
              "contention": {"retries": 0, "switches_per_s": 1e9, "stolen": 1, "canary": 100}},
  "verify": {"exact": false, "elementwise": false} }
EOT
}

seats() {
    awk '{ sub(/no seat/, "none") } $1 ~ /^[0-9]+$/ { print $1, $2, $4 }' "$1" | paste -sd ';'
}
