# `just` lists the commands. The stages are those of the gate, .ci/run, which needs no `just`.

_default:
    @just --list

# run all checks that a change must pass before it is merged
gate:
    .ci/run

# format the code
fmt:
    cargo fmt --all

# check the formatting
format:
    .ci/run format

# run clippy, warnings are errors
lint:
    .ci/run lint

# check the core without the standard library
no_std:
    .ci/run no_std

# run all tests, including documentation tests
test:
    .ci/run test

# build the API documentation, warnings are errors
docs:
    .ci/run docs

# update the list of public names, which the stage docs compares
names:
    .ci/run names

# check that every crate can be packaged
package:
    .ci/run package

# ask the documents of this repository a question
answer question="How do I fork a checkpoint?":
    cargo run --bin agent_loop -- "{{ question }}"

# compare the server with recordings of the reference server, in a folder; server/CONFORMANCE.md has the differences
conformance recordings python="":
    .ci/conformance {{ recordings }} {{ python }}

# run the tests of docs/reliability.md with larger counts, for a night; as root, on an otherwise idle machine
torture: files power-cut corruption disk-full seeds graphs schedules trouble slowdown fairness same-thread hostile bombs \
    fidelity soak kills kills-restate (fuzz "all" "600")

# run the gate's part of tests/processes/torture with so many times its counts; needs strace
files times="20":
    SUPERSTEP_TORTURE={{ times }} SUPERSTEP_TORTURE_NEEDS_STRACE=1 cargo test --release --test processes torture:: -- \
        --skip torture::damage::

# cut the power of a file system under a program; needs root
power-cut times="1":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --test processes -- --ignored --nocapture torture::power_cut

# damage bits, bytes, sectors and pages of files
corruption times="20":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --test processes -- --nocapture torture::damage::

# fill file systems of many sizes, and free space again; needs root
disk-full:
    cargo test --release --test processes -- --ignored --nocapture torture::disk_full

# run the simulation with more seeds than the gate
seeds times="500":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --test simulation

# compare more random graphs with the reference interpreter than the gate
graphs count="1000000":
    SUPERSTEP_GRAPHS={{ count }} cargo test --release -p superstep-core --test it checkpoints

# kill servers under the load of clients, and try the mutants; docs/reliability.md has the latest result
kills count="10000":
    SUPERSTEP_KILLS={{ count }} cargo test --release -p superstep-server --test kills -- --nocapture --include-ignored

# kill processes, nodes of Restate and Postgres under the load of clients, cut machines off, and try the mutants; .ci/run restate
# installs the server; as root
kills-restate count="1000" partitions="24":
    SUPERSTEP_KILLS={{ count }} SUPERSTEP_PARTITIONS={{ partitions }} cargo test -p superstep-restate --test restate -- \
        kills:: partitions:: --nocapture --include-ignored --test-threads=1

# send more random requests to the server's router than the gate
requests count="1000000":
    SUPERSTEP_REQUESTS={{ count }} cargo test --release -p superstep-server --features crons --lib fuzz::

# try more schedules of the threads around the writer's queue than the gate; the loom tests always try all
schedules times="100":
    SUPERSTEP_TORTURE={{ times }} cargo test --release -p superstep-checkpoint --test it interleavings::

# run more cancelled runs, panicking code and subscribers that do not read than the gate
trouble times="20":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --test behaviours trouble::

# measure the cost of subscribers that do not keep up with a run; on an idle machine
slowdown:
    cargo test --release --test behaviours slowdown -- --ignored --nocapture

# let processes write to one file at once, a minute each; on an idle machine
fairness times="86":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --test processes fairness -- --nocapture

# let several processes run one thread
same-thread times="10":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --test processes same_thread

# open malicious files
hostile times="4":
    SUPERSTEP_TORTURE={{ times }} cargo test --release -p superstep-checkpoint --test it sqlite::hostile

# read files and texts that would take much memory, in their full size
bombs:
    SUPERSTEP_TORTURE=1 cargo test --release -p superstep-checkpoint --test it bombs:: -- --nocapture

# compare more floats bit by bit than the gate
fidelity times="10":
    SUPERSTEP_TORTURE={{ times }} cargo test --release -p superstep-checkpoint --test it fidelity::

# run one thread for so many supersteps
soak steps="1000000":
    SUPERSTEP_SOAK_STEPS={{ steps }} cargo bench --bench workloads -- W10

# fuzz a target, or "all", for so many seconds each; without a target, list them
fuzz target="" seconds="60":
    fuzz/run {{ target }} {{ if target == "" { "" } else { seconds } }}

# run the benchmarks; see benches/README.md
bench *ids:
    cargo bench --bench workloads -- {{ ids }}

# run the benchmarks of the server, with the Python reference if it is installed
bench-server *ids:
    cargo bench --bench server --features server,unstable-driver -- {{ ids }}

# check licences, advisories and sources of the dependencies; needs cargo-deny
deny:
    cargo deny check
