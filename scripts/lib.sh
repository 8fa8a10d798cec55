# shellcheck shell=bash
# Shared by the scripts of this folder and by tests/*.sh; to be sourced by bash.
#
# Contract for tests/*.sh (run by scripts/check.sh, executable files only, in the order of their names).
# Each is run once per PostgreSQL with, in its environment,
#   PG_CONFIG  pg_config of a private installation that has pgcolumnar installed
#   PGBIN      its directory of programs (initdb, pg_ctl, psql, ...)
#   PGMAJOR    15, 16, 17 or 18
#   PGHEADERS  where the headers of the server are, for tests that compile C
#   SCRATCH    an empty directory that the server's user can read and write
#   ROOT       this repository
# and no server running: a test makes its own with the cluster functions below,
#   source "$ROOT/scripts/lib.sh"
#   cluster_init "$SCRATCH/one" "shared_preload_libraries = 'pgcolumnar'"
#   cluster_start "$SCRATCH/one"
#   sql "$SCRATCH/one" -c 'CREATE EXTENSION pgcolumnar'
# Clusters started so are stopped when the script ends. Exit status 0 is a pass, 77 a skip whose reason is the
# last line printed, anything else a failure. A script of many tests closes with the line 'N passed, N failed'.

# The settings of a make that called us must not reach the makes we call.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
SERVER_USER=${SERVER_USER:-postgres}
export LC_ALL=C.UTF-8
for dir in "$HOME/.cargo/bin" /usr/local/cargo/bin; do
  if ! command -v cargo > /dev/null && [ -x "$dir/cargo" ]; then PATH=$PATH:$dir; fi
done

say() { printf '== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }
is_root() { [ "$(id -u)" = 0 ]; }

# ---- what the machine must have ----

# need_packages PACKAGE...: installs what is missing when root, names it otherwise.
need_packages() {
  local package missing=()
  command -v dpkg-query > /dev/null || return 0 # not a Debian: what is missing shows when it is called
  for package; do
    dpkg-query -W -f='${Status}' "$package" 2> /dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return 0
  is_root || die "these packages are missing; as root: apt-get install ${missing[*]}"
  say "installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
}

need_build_tools() {
  need_packages gcc libc6-dev make git clang libclang-dev
  command -v cargo > /dev/null || die "Rust is missing: install the version that Cargo.toml names, or newer, with rustup"
}

# distro_major: the newest supported PostgreSQL of the distribution that is installed, else the one it would install.
distro_major() {
  local major
  for major in 18 17 16 15; do
    if [ -x "/usr/lib/postgresql/$major/bin/postgres" ]; then echo "$major"; return; fi
  done
  apt-cache policy postgresql 2> /dev/null | sed -n 's/.*Candidate: \([0-9]*\).*/\1/p'
}

# need_distro_postgres: installs the distribution's PostgreSQL and headers where missing; sets PG_CONFIG.
need_distro_postgres() {
  local major
  major=$(distro_major)
  if [ -z "$major" ] && is_root && command -v apt-get > /dev/null; then
    apt-get update -qq
    major=$(distro_major)
  fi
  [ -n "$major" ] || die "no PostgreSQL found: give PG_CONFIG=/path/to/pg_config"
  need_packages "postgresql-$major" "postgresql-server-dev-$major"
  PG_CONFIG=/usr/lib/postgresql/$major/bin/pg_config
}

pg_major() { "$1" --version | sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p'; }

# ---- users and directories ----

# as_server COMMAND...: as the user a server runs as, from a directory that it can enter.
as_server() {
  if is_root; then (cd / && exec runuser -u "$SERVER_USER" -- "$@"); else (cd / && exec "$@"); fi
}

# scratch_dir NAME: an empty target/NAME that the server's user can reach, or a directory under /tmp; sets SCRATCH.
scratch_dir() {
  if is_root && ! id "$SERVER_USER" > /dev/null 2>&1; then
    die "PostgreSQL does not run as root and there is no user $SERVER_USER: set SERVER_USER"
  fi
  SCRATCH=$ROOT/target/$1
  rm -rf "$SCRATCH"
  mkdir -p "$SCRATCH"
  if is_root; then chown "$SERVER_USER" "$SCRATCH"; fi
  if ! as_server test -w "$SCRATCH"; then
    rmdir "$SCRATCH"
    SCRATCH=$(mktemp -d "/tmp/pgcolumnar-$1.XXXXXX")
    TEMPORARY+=("$SCRATCH")
    if is_root; then chown "$SERVER_USER" "$SCRATCH"; fi
    say "$SERVER_USER cannot enter $ROOT/target: using $SCRATCH"
  fi
  chmod 755 "$SCRATCH"
}

# ---- installing the extension ----

# private_prefix PG_CONFIG DIR: copies a PostgreSQL's programs, libraries and shared files to DIR, keeping their places
# relative to each other. PostgreSQL finds its files from where its program lies, so the copy is an installation of its
# own (Debian's split layout included). Prints its pg_config.
private_prefix() {
  local bin lib share common part
  bin=$("$1" --bindir) lib=$("$1" --pkglibdir) share=$("$1" --sharedir)
  common=$bin
  while [[ $lib/ != "$common"/* || $share/ != "$common"/* ]]; do common=${common%/*}; done
  for part in "$bin" "$lib" "$share"; do
    mkdir -p "$2${part#"$common"}"
    cp -RL --preserve=mode,timestamps "$part/." "$2${part#"$common"}"
  done
  echo "$2${bin#"$common"}/pg_config"
}

# install_into BUILD_PG_CONFIG PG_CONFIG MAKE_ARGUMENT...: builds for the first, installs into the directories of the second.
install_into() {
  local build=$1 to=$2
  shift 2
  make -C "$ROOT" --no-print-directory all PG_CONFIG="$build" "$@" &&
    make -C "$ROOT" --no-print-directory install PG_CONFIG="$build" \
      pkglibdir="$("$to" --pkglibdir)" sharedir="$("$to" --sharedir)" "$@"
}

# ---- private clusters: DIR/data, DIR/log, a socket directory, no TCP ----

PGPORT=5432 # names the socket only: each cluster has a socket directory of its own
export PGPORT PGUSER=postgres
CLUSTERS=()
TEMPORARY=() # directories outside target/

# cluster_init DIR [LINE_OF_CONFIGURATION...]: with the programs of PGBIN.
cluster_init() {
  local dir=$1
  shift
  mkdir -p "$dir"
  if is_root; then chown "$SERVER_USER" "$dir"; fi
  cluster_forget "$dir"
  as_server "$PGBIN/initdb" -D "$dir/data" -U postgres -A trust --locale=C --encoding=UTF8 > "$dir/initdb.log" 2>&1 ||
    { cat "$dir/initdb.log" >&2; return 1; }
  # The path of a socket is at most 107 bytes.
  local sockets=$dir
  if [ ${#dir} -gt 80 ]; then
    sockets=$(mktemp -d /tmp/pgc.XXXXXX)
    TEMPORARY+=("$sockets")
    if is_root; then chown "$SERVER_USER" "$sockets"; fi
  fi
  echo "$sockets" > "$dir/sockets"
  printf '%s\n' "unix_socket_directories = '$sockets'" "listen_addresses = ''" "port = $PGPORT" "$@" |
    as_server tee -a "$dir/data/postgresql.conf" > /dev/null
}

cluster_host() { cat "$1/sockets"; }

cluster_start() {
  CLUSTERS+=("$1")
  as_server "$PGBIN/pg_ctl" -w -s -t 120 -D "$1/data" -l "$1/data/server.log" start || { tail -n 30 "$1/data/server.log" >&2; return 1; }
}

# cluster_stop DIR [fast|immediate|smart]
cluster_stop() { as_server "$PGBIN/pg_ctl" -w -s -t 120 -D "$1/data" -m "${2:-fast}" stop; }

cluster_running() { as_server "$PGBIN/pg_ctl" -D "$1/data" status > /dev/null 2>&1; }

cluster_stop_all() {
  local dir
  for dir in "${CLUSTERS[@]}"; do
    if cluster_running "$dir"; then cluster_stop "$dir" immediate || true; fi
  done
}

# Removes a cluster's files, of an interrupted run say.
cluster_forget() {
  if [ -d "$1/data" ] && cluster_running "$1"; then cluster_stop "$1" immediate || true; fi
  rm -rf "${1:?}/data"
}

# A script's clusters end with it; what it put under /tmp stays to be looked at where it failed.
leave() {
  local status=$?
  cluster_stop_all
  if [ "$status" = 0 ] && [ ${#TEMPORARY[@]} != 0 ]; then rm -rf "${TEMPORARY[@]}"; fi
}
trap leave EXIT

# cluster_crashes DIR: what the server log says of crashes; nothing when there was none.
cluster_crashes() { as_server grep -E 'TRAP:|PANIC:|was terminated by signal' "$1/data/server.log" || true; }

# sql DIR PSQL_ARGUMENT...: psql on that cluster, stopping at the first error; -d chooses a database (postgres otherwise).
sql() {
  local dir=$1
  shift
  PGHOST=$(cluster_host "$dir") PGDATABASE=${PGDATABASE:-postgres} "$PGBIN/psql" -X -q -v ON_ERROR_STOP=1 "$@"
}

# ---- pg_regress and pg_isolation_regress ----

# has_tests SCHEDULE
has_tests() { grep -q '^test:' "$1" 2> /dev/null; }

# regress_suite regress|isolation PG_CONFIG INPUT_DIR OUTPUT_DIR [TEST...]: against the server of PGHOST and PGPORT.
# With AS=as_server the client runs as the server's user, so files that a test writes and the server reads just work.
regress_suite() {
  local kind=$1 config=$2 input=$3 output=$4
  shift 4
  local program=pg_regress schedule=schedule
  if [ "$kind" = isolation ]; then program=pg_isolation_regress schedule=isolation_schedule; fi
  program=$(dirname "$("$config" --pgxs)")/../test/$kind/$program
  [ -x "$program" ] || { echo "$program is missing (Debian: postgresql-server-dev-NN)" >&2; return 1; }
  [ $# -gt 0 ] || set -- --schedule="$input/$schedule"
  local more=()
  if [ "$(pg_major "$config")" -ge 16 ]; then more=(--expecteddir="$input"); fi
  ${AS:-} "$program" --inputdir="$input" --outputdir="$output" "${more[@]}" --bindir="$("$config" --bindir)" \
    --dbname="pgcolumnar_$kind" --load-extension=pgcolumnar "$@"
}
