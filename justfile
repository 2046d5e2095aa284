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

# write the list of public names anew, which the stage docs compares
names:
    .ci/run names

# whether every crate can be packaged
package:
    .ci/run package

# ask the documents of this repository a question
answer question="How do I fork a checkpoint?":
    cargo run --bin agent_loop -- "{{ question }}"

# a night's torture, in order: what docs/reliability.md names and has a night's count; as root, on a machine that does nothing else
torture: files power-cut corruption disk-full seeds graphs schedules trouble slowdown fairness same-thread hostile bombs \
    fidelity soak (fuzz "all" "600")

# what the gate does of tests/processes/torture, so many times over; needs strace
files times="20":
    SUPERSTEP_TORTURE={{ times }} SUPERSTEP_TORTURE_NEEDS_STRACE=1 cargo test --release --test processes torture:: -- \
        --skip torture::damage::

# a file system whose power is cut under a program; needs root
power-cut times="1":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --test processes -- --ignored --nocapture torture::power_cut

# files with damaged bits, bytes, sectors and pages
corruption times="20":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --test processes -- --nocapture torture::damage::

# file systems of many sizes, full and then not; needs root
disk-full:
    cargo test --release --test processes -- --ignored --nocapture torture::disk_full

# more seeds of the simulated world than the gate plays
seeds times="500":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --test simulation

# more random graphs against the reference interpreter than the gate runs
graphs count="1000000":
    SUPERSTEP_GRAPHS={{ count }} cargo test --release -p superstep-core --test it checkpoints

# more schedules of the threads around the writer's queue than the gate tries; those that loom knows are all tried always
schedules times="100":
    SUPERSTEP_TORTURE={{ times }} cargo test --release -p superstep-checkpoint --test it interleavings::

# more runs that are cancelled, code that panics and subscribers that stay away than the gate has
trouble times="20":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --test behaviours trouble::

# what subscribers cost a run that they do not keep up with; on a quiet machine
slowdown:
    cargo test --release --test behaviours slowdown -- --ignored --nocapture

# processes that write to one file at once, a minute each; on a quiet machine
fairness times="86":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --test processes fairness -- --nocapture

# processes that drive one thread
same-thread times="10":
    SUPERSTEP_TORTURE={{ times }} cargo test --release --test processes same_thread

# files that somebody has prepared
hostile times="4":
    SUPERSTEP_TORTURE={{ times }} cargo test --release -p superstep-checkpoint --test it sqlite::hostile

# files and texts that claim to be much, in their full size
bombs:
    SUPERSTEP_TORTURE=1 cargo test --release -p superstep-checkpoint --test it bombs:: -- --nocapture

# more floats that come back bit by bit than the gate takes
fidelity times="10":
    SUPERSTEP_TORTURE={{ times }} cargo test --release -p superstep-checkpoint --test it fidelity::

# a program that does not end, for so many supersteps
soak steps="1000000":
    SUPERSTEP_SOAK_STEPS={{ steps }} cargo bench --bench workloads -- W10

# fuzz a target, or all of them, for so many seconds each; without a target it lists them
fuzz target="" seconds="60":
    fuzz/run {{ target }} {{ if target == "" { "" } else { seconds } }}

# measure; see benches/README.md
bench *ids:
    cargo bench --bench workloads -- {{ ids }}

# licences, advisories and sources of the dependencies; needs cargo-deny
deny:
    cargo deny check
