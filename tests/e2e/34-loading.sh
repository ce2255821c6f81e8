#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The blocks of docs/loading.md, run as they stand. KSWEEP_TEST_PYTHON: a python that has pyarrow and duckdb.
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-analyze make_journal
cd "$tap_tmp" || exit 1
page=$KSWEEP_SOURCE_DIR/docs/loading.md

block() { # HEADING: the first block behind it
    awk -v heading="## $1" '$0 == heading { on = 1; next } on && /^## / { exit }
        on && /^    / { print substr($0, 5); seen = 1; next } on && seen && NF { exit } on && seen { print "" }' "$page"
}
lines() { grep -c . <<<"$(block "$1")"; }

ok "a run" make_journal sweep.ksweep 6 12 5 3 1
ok "gathered" ksweep gather sweep.ksweep -o results.h5
ok "as CSV" ksweep-analyze table results.h5 -o training.csv
ok "as Parquet" ksweep-analyze table results.h5 --format parquet -o training.parquet
ksweep-analyze table results.h5 --schema >schema.csv
is "$(head -n 1 schema.csv)" "column,type,unit,missing,role,table,meaning" "the columns of the schema are those of the page"
for column in problem_class,utf8 reduction,int64 n_compute_units,uint32 memory_bytes,uint64 driver_version,utf8; do
    like "$(cat schema.csv)" "^$column," "${column%,*} is a column"
done
is "$(sed 1q training.csv | tr , '\n' | grep -cx -e problem_class -e reduction -e n_compute_units -e memory_bytes)" 4 "and in the table"

# The class and the reduction length are those that `ksweep problems` says of the same problems.
/usr/bin/python3 - <<'PY' >problems.csv
import csv
rows = {r["problem_id"]: r for r in csv.DictReader(open("training.csv"))}
dims = "n g c_total k_total di hi wi z y x stride_d stride_h stride_w dilation_d dilation_h dilation_w " \
    "pad_d_lo pad_h_lo pad_w_lo pad_d_hi pad_h_hi pad_w_hi".split()
print("operator,direction,dtype,layout,ndim," + ",".join(dims) + ",name")
for r in rows.values():
    print(*(r[k] for k in ("operator", "direction", "dtype", "layout", "n_spatial_dims", *dims)), r["problem_name"], sep=",")
PY
ok "the problems as a list" bash -c 'ksweep problems problems.csv --list >listed.csv'
is "$(/usr/bin/python3 -c '
import csv
listed = {r["id"]: (r["class"], r["reduction"]) for r in csv.DictReader(open("listed.csv"))}
table = {r["problem_id"]: (r["problem_class"], r["reduction"]) for r in csv.DictReader(open("training.csv"))}
print(listed == table, len(table))')" "True 6" "class and reduction length are those of ksweep problems"

for what in pandas h5py pyarrow DuckDB R; do
    is "$(lines "$what")" 3 "$what: three lines"
    block "$what" >"$what.code"
done
run() { # PYTHON WHAT PATTERN
    if ! "$1" -c "import $4" 2>/dev/null; then
        tap_note "skipped: $2 ($1 has no $4)"
        return
    fi
    rc_is 0 "$2 reads it" "$1" "$2.code"
    like "$(cat out)" "$3" "and says what the block promises"
}
run /usr/bin/python3 pandas 'conv_0 +[0-9.]+' pandas
run /usr/bin/python3 h5py '^[0-9.]+ ns$' h5py
if [ -n "${KSWEEP_TEST_PYTHON:-}" ]; then
    run "$KSWEEP_TEST_PYTHON" pyarrow 'time_median_ns_min: float' pyarrow
    run "$KSWEEP_TEST_PYTHON" DuckDB 'conv_0 .* host_' duckdb
else
    tap_note "skipped: pyarrow and DuckDB (KSWEEP_TEST_PYTHON names no python that has them)"
fi
if command -v Rscript >/dev/null; then
    rc_is 0 "R reads it" Rscript R.code
    like "$(cat out)" 'conv_0' "and says what the block promises"
else
    tap_note "skipped: R (no Rscript)"
fi

# --- the hook, with a model of a made-up torch that calls its hooks as the real one does
mkdir torch
cat >torch/__init__.py <<'PY'
import types
class Conv2d:
    def __init__(self, c, k, size, stride=1, padding=0, groups=1):
        self.c, self.out_channels, self.groups, self.hooks = c, k, groups, []
        self.kernel_size, self.stride, self.padding, self.dilation = (size, size), (stride, stride), (padding, padding), (1, 1)
    def register_forward_hook(self, f):
        self.hooks.append(f)
    def __call__(self, x):
        side = [(v + 2 * p - k) // s + 1 for v, p, k, s in zip(x.shape[2:], self.padding, self.kernel_size, self.stride)]
        out = types.SimpleNamespace(shape=(x.shape[0], self.out_channels, *side))
        for f in self.hooks:
            f(self, (x,), out)
        return out
nn = types.SimpleNamespace(Conv2d=Conv2d)
PY
{
    block "A problem list from a PyTorch model"
    cat <<'PY'
import types
class Model:
    layers = {"stem": torch.nn.Conv2d(3, 16, 3, 2, 1), "depthwise": torch.nn.Conv2d(16, 16, 3, 1, 1, 16), "again": torch.nn.Conv2d(16, 16, 3, 1, 1, 16)}
    def named_modules(self):
        return [("", self), *self.layers.items()]
    def __call__(self, x):
        for f in self.layers.values():
            x = f(x)
print_problems(Model(), types.SimpleNamespace(shape=(2, 3, 32, 32)))
PY
} >hook.py
ok "the hook" bash -c 'PYTHONPATH=. /usr/bin/python3 hook.py >model.csv'
rc_is 0 "prints a problem list" ksweep problems model.csv --list
like "$(cat out)" ',forward,fp32,nhwgc,2,2,16,16,16,1,16,16,1,3,3,.*,2,depthwise' "in which equal layers count"
is "$(grep -c ,forward, out)" 2 "each problem once"
done_testing
