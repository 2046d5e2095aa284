#!/usr/bin/env bash
# Runs the same trips in one server on a file, in two servers on a Postgres database, and in two processes that Restate calls for
# a server.
# Kills a process with SIGKILL in the middle of its runs each time, and compares the histories with those of undisturbed runs.
#
#   examples/several_machines/run.sh [PROGRAM]
#
# PROGRAM is the built example; without it, Cargo builds it. Postgres is that of the Debian package `postgresql`. RESTATE names
# the server of Restate; without it, npm installs the server into a temporary folder. Needs curl, node and npm.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
root=$(realpath "$here/../..")
trips=(paris rome oslo bern)
stops=10

folder=$(mktemp -d)
running=()
postmaster=

# Ends everything that was started, by its process id.
finish() {
    local pid
    # It ends its own processes, and frees its shared memory.
    [ -z "$postmaster" ] || kill -QUIT "$postmaster" 2>/dev/null || true
    for pid in "${running[@]}"; do
        [ "$pid" = "$postmaster" ] || kill -9 "$pid" 2>/dev/null || true
    done
    for pid in "${running[@]}"; do
        while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
    done
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 1' INT TERM

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Waits at most two minutes until a command succeeds, while the process that was started last runs.
wait_for() {
    local until=$((SECONDS + 120))
    until "$@" >/dev/null; do
        [ "$SECONDS" -lt "$until" ] || fail "nothing came of: $*"
        kill -0 "$started" 2>/dev/null || fail "process $started has ended: $(tail -q -n 3 "$folder"/*.err)"
        sleep 0.05
    done
}

# Starts a command in the background, with its output in a file of this name. Its process id is in `$started`.
start() {
    local name=$1
    shift
    "$@" >"$folder/$name.txt" 2>"$folder/$name.err" &
    started=$!
    disown "$started"
    running+=("$started")
}

free_port() {
    node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'
}

# Prints the port in the output of the program that was started last.
port_of() {
    wait_for grep -q 'http://' "$folder/$1.txt"
    sed -nE 's#.*http://127\.0\.0\.1:([0-9]+).*#\1#p' "$folder/$1.txt" | head -n 1
}

request() {
    curl -sS --fail-with-body --retry 5 --retry-connrefused --max-time 120 --json "$1" "$2"
}

# The value of a member of a JSON object with a text.
text_of() {
    sed -nE "s/.*\"$1\": ?\"([^\"]*)\".*/\1/p" | head -n 1
}

bookings() {
    cat "$BOOKINGS"/* 2>/dev/null
}

is_in_the_middle() {
    [ "$(bookings | wc -l)" -ge 12 ]
}

# Kills the process that has booked last, once a third of the stops is booked. Its process id is in `$killed`.
kill_in_the_middle() {
    wait_for is_in_the_middle
    killed=$(cat "$(ls -t "$BOOKINGS"/* | head -n 1)" | cut -d ' ' -f 3)
    [[ " ${running[*]} " == *" $killed "* ]] || fail "process $killed is none of this script"
    kill -9 "$killed"
}

# Compares bookings and histories with those of the first place.
compare() {
    local place=$1 trip booked
    for trip in "${trips[@]}"; do
        "$program" history "$trip"
    done >"$folder/$place.history"
    bookings | cut -d ' ' -f 1,2 | sort >"$folder/$place.booked"
    booked=$(wc -l <"$folder/$place.booked")
    [ "$(sort -u "$folder/$place.booked" | wc -l)" -eq "$booked" ] || fail "$place: a stop is booked twice"
    [ "$booked" -eq $((${#trips[@]} * stops)) ] || fail "$place: $booked stops are booked"
    diff "$folder/undisturbed.history" "$folder/$place.history" || fail "$place: the histories differ"
    printf '%-12s %s: %s stops, each booked once; histories equal\n' "$place" "$2" "$booked"
}

# Makes a place: an empty folder of bookings, and the store.
place() {
    export STORE=$2 BOOKINGS=$folder/$1.bookings
    mkdir "$BOOKINGS"
}

# Starts a run of each trip at the servers with these ports, in turn. The runs are in `$runs`.
send_to_servers() {
    local number=0 trip ports=("$@") url
    runs=()
    for trip in "${trips[@]}"; do
        url=http://127.0.0.1:${ports[number++ % $#]}
        request "{\"thread_id\":\"$trip\"}" "$url/threads" >/dev/null
        runs+=("$trip/runs/$(request "{\"assistant_id\":\"trips\",\"input\":{\"name\":\"$trip\",\"stops\":$stops}}" \
            "$url/threads/$trip/runs" | text_of run_id)")
    done
}

# Waits for the ends of all runs at the server with this port.
join() {
    local run
    for run in "${runs[@]}"; do
        curl -sS --fail-with-body --max-time 120 "http://127.0.0.1:$1/threads/$run/join" >/dev/null
    done
}

[ -d /usr/lib/postgresql ] || fail 'there is no Postgres: apt-get install postgresql'
command -v node >/dev/null || fail 'there is no node: apt-get install nodejs npm'
if [ -n "${1:-}" ]; then
    program=$(realpath "$1")
else
    (cd "$root" && cargo build -p superstep-examples --features postgres,restate --bin several_machines)
    program=${CARGO_TARGET_DIR:-$root/target}/debug/several_machines
fi
restate=${RESTATE:-}
if [ -z "$restate" ]; then
    cp "$root"/graph-restate/tests/server/* "$folder"
    npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund --silent
    restate=$(echo "$folder"/node_modules/@restatedev/restate-server-*/bin/restate-server)
fi
[ -x "$restate" ] || fail "there is no server of Restate at $restate"
unset SUPERSTEP_TOKEN

# One machine: a server on a file. First undisturbed, for comparison, then killed and started again.
place undisturbed "$folder/undisturbed.db"
start undisturbed "$program" serve --port 0
port=$(port_of undisturbed)
send_to_servers "$port"
join "$port"
for trip in "${trips[@]}"; do "$program" history "$trip"; done >"$folder/undisturbed.history"
compare undisturbed 'a server on a file'

place sqlite "$folder/sqlite.db"
start sqlite-1 "$program" serve --port 0
send_to_servers "$(port_of sqlite-1)"
kill_in_the_middle
start sqlite-2 "$program" serve --port 0
join "$(port_of sqlite-2)"
compare sqlite "a server on a file, killed and started again"

# Several processes: two servers on one database.
version=$(ls /usr/lib/postgresql | sort -n | tail -n 1)
postgres=/usr/lib/postgresql/$version/bin
as_owner=()
mkdir "$folder/postgres"
if [ "$(id -u)" -eq 0 ]; then
    # Postgres refuses to run as root.
    chown postgres "$folder/postgres"
    chmod 711 "$folder"
    as_owner=(setpriv --reuid=postgres --regid=postgres --clear-groups)
fi
(cd / && "${as_owner[@]}" "$postgres/initdb" -D "$folder/postgres/data" -U superstep -A trust --encoding=UTF8 --locale=C) \
    >"$folder/initdb.txt" || fail "$(cat "$folder/initdb.txt")"
start postgres env -C / "${as_owner[@]}" "$postgres/postgres" -D "$folder/postgres/data" -k "$folder/postgres" -h ''
postmaster=$started
wait_for grep -q 'ready to accept' "$folder/postgres.err"
database=postgres://superstep@${folder//\//%2F}%2Fpostgres/postgres

place postgres "$database?schema=servers"
start postgres-1 "$program" serve --port 0
first=$started
ports=("$(port_of postgres-1)")
start postgres-2 "$program" serve --port 0
ports+=("$(port_of postgres-2)")
send_to_servers "${ports[@]}"
kill_in_the_middle
[ "$killed" -eq "$first" ] && left=${ports[1]} || left=${ports[0]}
join "$left"
compare postgres 'two servers on a database, one of them killed'

# Several machines: a server hands its runs to Restate, which calls two processes behind a load balancer.
place restate "$database?schema=restate"
admin=$(free_port) ingress=$(free_port) fabric=$(free_port)
# Its telemetry tries the network even when it is off; the proxy takes no connections.
start restate env -C "$folder" RESTATE_ADMIN__BIND_ADDRESS=127.0.0.1:"$admin" RESTATE_INGRESS__BIND_ADDRESS=127.0.0.1:"$ingress" \
    RESTATE_BIND_ADDRESS=127.0.0.1:"$fabric" RESTATE_DISABLE_TELEMETRY=true HTTPS_PROXY=http://127.0.0.1:1 \
    RESTATE_DEFAULT_NUM_PARTITIONS=4 RESTATE_WORKER__INVOKER__HTTP2_INITIAL_MAX_SEND_STREAMS=4 \
    "$restate" --no-logo --listen-mode=tcp --base-dir "$folder/restate"
wait_for curl -sf "http://127.0.0.1:$admin/health"
wait_for curl -sf "http://127.0.0.1:$ingress/restate/health"
workers=("$(free_port)" "$(free_port)")
start balancer node "$here/balancer.mjs" "${workers[@]}"
wait_for grep -q . "$folder/balancer.txt"
uri=http://127.0.0.1:$(cat "$folder/balancer.txt")
for port in "${workers[@]}"; do
    start "worker-$port" "$program" work --port "$port" --register "http://127.0.0.1:$admin" --uri "$uri"
    port_of "worker-$port" >/dev/null
done
start server "$program" serve --port 0 --restate "http://127.0.0.1:$ingress"
server=$(port_of server)
send_to_servers "$server"
kill_in_the_middle
join "$server"
compare restate 'a server that hands its runs to Restate, which calls two processes, one of them killed'
printf 'All %d histories are equal.\n' $((${#trips[@]} * 4))
