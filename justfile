# `just` lists the verbs. The stages are those of the gate, .ci/run, which needs no `just`.

_default:
    @just --list

# everything that must hold before a change is merged
gate:
    .ci/run

# format the code
fmt:
    cargo fmt --all

# check the formatting
format:
    .ci/run format

# clippy, warnings are errors
lint:
    .ci/run lint

# the core without the standard library
no_std:
    .ci/run no_std

# all tests, documentation tests included
test:
    .ci/run test

# the API documentation, warnings are errors
docs:
    .ci/run docs

# whether every crate can be packaged
package:
    .ci/run package

# ask the documents of this repository a question
answer question="How do I fork a checkpoint?":
    cargo run --release --example agent_loop -- "{{ question }}"

# more random graphs against the reference interpreter than the gate runs
graphs count="1000000":
    SUPERSTEP_GRAPHS={{ count }} cargo test --release -p superstep-core --test model checkpoints

# what the gate does of tests/torture, so many times over
torture times="20":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --features cli --test torture

# a file system whose power is cut under a program; needs root
power-cut times="1":
    SUPERSTEP_TORTURE={{ times }} cargo test --features cli --test torture -- --ignored --nocapture power_cut

# files with damaged bits, bytes, sectors and pages
corruption times="20":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --features cli --test torture -- --nocapture damage::

# file systems of many sizes, full and then not; needs root
disk-full:
    cargo test --features cli --test torture -- --ignored --nocapture disk_full

# more seeds of the simulated world than the gate plays
seeds times="500":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --test simulation

# more schedules of the threads around the writer's queue than the gate tries; those that loom knows are all tried always
schedules times="100":
    SUPERSTEP_TORTURE={{ times }} cargo test --release -p superstep-checkpoint --test interleavings

# what subscribers cost a run that they do not keep up with; on a quiet machine
slowdown:
    cargo test --release --test trouble slowdown -- --ignored --nocapture

# fuzz a target, or all of them, for so many seconds each; without a target it lists them
fuzz target="" seconds="60":
    fuzz/run {{ target }} {{ if target == "" { "" } else { seconds } }}

# measure; see benches/README.md
bench *ids:
    cargo bench --bench workloads -- {{ ids }}

# licences, advisories and sources of the dependencies; needs cargo-deny
deny:
    cargo deny check
