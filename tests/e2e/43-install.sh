#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# group: mpi
# An installed ksweep finds its worker, its MPI module, its kernels and its problem lists beside itself. The worker
# alone, without the libraries of the others: 84-gpu-bare-cmake.sh.
. "$(dirname "$0")/tap.sh"
need_program cmake cc mpirun
. "$(dirname "$0")/sweep.sh"
build=$KSWEEP_BIN/..
[ -f "$build/CMakeCache.txt" ] || skip_all "the programs do not stand in a build tree"
cd "$tap_tmp" || exit 1

if grep -q '^KSWEEP_TESTS:BOOL=OFF$' "$build/CMakeCache.txt" && command -v ninja >"$tap_tmp/ninja"; then
    unlike "$(ninja -C "$build" -t inputs all)" '(test|fuzz)_[a-z_]*\.dir|make_journal' 'cmake --build builds programs only'
    like "$(ninja -C "$build" -t inputs tests)" 'test_journal\.dir' 'and the target `tests` the tests'
fi
ok 'cmake --install' cmake --install "$build" --prefix "$tap_tmp/there"
for p in ksweep ksweep-worker ksweep-analyze; do
    ok "bin/$p is there" test -x "there/bin/$p"
done

mkdir mine
cp "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv" mine
sed 's|../../kernels|../kernels|' "$KSWEEP_SOURCE_DIR/tests/data/tiny.json" >mine/tiny.json
ok 'it runs a job from anywhere' there/bin/ksweep run mine/tiny.json --out run --cache cache
like "$(cat run/job.json)" "\"config\": \"$tap_tmp/there/share/ksweep/kernels/configs/" \
    'with the kernels that were installed'
ok 'and writes a table' there/bin/ksweep-analyze table run/results.h5 -o table.csv
is "$(sed 1d table.csv | wc -l)" 15 'one row per cell'
mkdir links
ln -s ../there/bin/ksweep links/ksweep
tiny_sim 0 >sim.json
ok 'two ranks, by a symbolic link: it loads its MPI' links/ksweep run sim.json -n 2 --out linked
is "$(exit_of linked)" 0 'and all is measured'
not_ok 'without its module it does not' env KSWEEP_MPI_MODULE="$tap_tmp/none.so" links/ksweep run sim.json -n 2 --out lacking
like "$(cat err)" "MPI cannot be loaded .*: .*none.so" 'and says which one is missing'
ok 'plan finds the installed job' there/bin/ksweep plan there/share/ksweep/jobs/quickstart.json
ok 'by its bare name, too' there/bin/ksweep plan quickstart
for f in common.sh one_node.sbatch many_nodes.sbatch array.sbatch chain.sbatch; do
    ok "slurm/$f is there" test -r "there/share/ksweep/slurm/$f"
done

ksweep_man=there/share/man/man1/ksweep.1
like "$(cat $ksweep_man)" '^\.TH ksweep 1' 'the man page is there'
for o in ranks max-time host-domain; do
    is "$(tr -d '\\' <$ksweep_man | grep -cE "^fB-[a-z]fR, fB--$o|^fB--$o")" "$(grep -c "^| .*\`--$o[ \`]" <(ksweep help --markdown))" \
        "it has every --$o"
done
completes() { # WORD...: what bash offers for the last one
    bash -c '. there/share/bash-completion/completions/ksweep; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
             _ksweep; echo "${COMPREPLY[*]}"' _ "$@"
}
is "$(completes ksweep sta)" 'status' 'bash completes commands'
is "$(completes ksweep run --host-d)" '--host-domain' 'options'
is "$(completes ksweep run --host-domain so)" 'socket' 'and their values'
like "$(there/bin/ksweep --version)" '^MPI Open MPI [45]' '--version names the MPI'
like "$(there/bin/ksweep --version)" '^backends host hip cuda sim$' 'and the backends'
ok 'README and docs are there' test -r there/share/doc/ksweep/README.md -a -r there/share/doc/ksweep/docs/install.md
ok 'uninstalled' cmake -DMANIFEST="$build/install_manifest.txt" -P "$KSWEEP_SOURCE_DIR/cmake/uninstall.cmake"
is "$(find there -type f)" '' 'no file is left'

# --- CMake and other MPIs

mkdir headers
for row in 'MPICH 4.0.2|#define MPICH_VERSION "4.0.2"' 'Intel MPI 2021.11|#define I_MPI_VERSION "2021.11.0"' \
    'Open MPI 4.0|#define OMPI_MAJOR_VERSION 4
#define OMPI_MINOR_VERSION 0'; do
    echo "${row#*|}" >headers/mpi.h
    not_ok "CMake refuses ${row%%|*}" cmake -DKSWEEP_MPI_H="$PWD/headers/mpi.h" -P "$KSWEEP_SOURCE_DIR/cmake/Mpi.cmake"
    like "$(tr -s ' \n' ' ' <err)" "found ${row%%|*}.*Open MPI 4.1 and 5" 'with the name of both'
done
printf '#define OMPI_MAJOR_VERSION 5\n#define OMPI_MINOR_VERSION 0\n#define OMPI_RELEASE_VERSION 3\n' >headers/mpi.h
ok 'and takes Open MPI 5' cmake -DKSWEEP_MPI_H="$PWD/headers/mpi.h" -P "$KSWEEP_SOURCE_DIR/cmake/Mpi.cmake"

done_testing
