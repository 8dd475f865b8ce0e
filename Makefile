# OxTorch. The product is the headers beside this file; `make help` lists what there is to make.
# Nothing below names a source part, a test, an example or a benchmark: they are found by their file names.
#
# Variables: CC CXX CFLAGS; BUILD=folder (where everything goes);
#            DEBUG=1 (the edit loop: -O0, straight from src/, in build/debug);
#            T="matmul view" (only the tests whose names contain one of the words).

CC ?= cc
CXX ?= g++
SAN ?=

ifeq ($(DEBUG),1)
BUILD = build/debug
INCLUDE = -Isrc
OPT = -O0 -g
TEST_OPT = -O0 -g
else
BUILD = build$(if $(SAN),/$(SAN))
INCLUDE = -I.
OPT = -O2 -g
TEST_OPT = -O1 -g
endif
ifeq ($(SAN),asan)
OPT = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,float-cast-overflow \
    -fno-sanitize-recover=undefined,float-cast-overflow
TEST_OPT = $(OPT)
endif
ifeq ($(SAN),tsan)
OPT = -O1 -g -fno-omit-frame-pointer -fsanitize=thread
TEST_OPT = $(OPT)
endif

WARN = -Wall -Wextra
LIBS = -lm -lpthread
# io_uring for oxtorch_stream.h, where liburing is installed. LIBURING= does without.
# This is looked up when the file is read, so not yet after `deps`: whatever follows it there starts another
# make (tests/run.sh does), and what links with impl.o outside of this file takes its libraries from
# impl.libs.
LIBURING := $(shell echo 'int main(void) { return 0; }' | \
    $(CC) -include liburing.h -x c - -luring -o /dev/null 2> /dev/null && echo 1)
ifeq ($(LIBURING),1)
OPT += -DOX_USE_LIBURING
LIBS += -luring
endif
DEPEND = -MMD -MP -MF $@.d
FUZZ_SECONDS ?= 20

# The most that oxtorch.h may have: whoever copies it into a repository keeps it there, and compilers read it
# nine times (tools/amalgamate.c).
HEADER_BYTES_MAX = 1500000

# oxtorch.h first: the other headers stand on it.
PAGES = $(sort $(notdir $(wildcard src/oxtorch*.h)))
TEST_SOURCES = $(if $(T),$(sort $(foreach t,$(T),$(wildcard tests/test_*$(t)*.c))),$(wildcard tests/test_*.c))
ifeq ($(SAN),tsan)
TEST_SOURCES := $(foreach f,$(TEST_SOURCES),$(shell head -n 10 $(f) | grep -q OX_TSAN && echo $(f)))
endif
FUZZ_SOURCES = $(filter-out tests/fuzz_main.c,$(wildcard tests/fuzz_*.c))
TESTS = $(TEST_SOURCES:%.c=$(BUILD)/%)
REPLAYS = $(FUZZ_SOURCES:%.c=$(BUILD)/%)
EXAMPLES = $(patsubst %.c,$(BUILD)/%,$(wildcard examples/*.c))
BENCHES = $(patsubst %.c,$(BUILD)/%,$(wildcard bench/bench_*.c))
PROGRAMS = $(TESTS) $(if $(T)$(filter tsan,$(SAN)),,$(REPLAYS) $(EXAMPLES) $(if $(SAN),,$(BENCHES)))

MODEL_PATH := $(value MODEL)
PROMPT_TEXT := $(value PROMPT)
export BUILD CC CXX SAN DEBUG T MODEL_PATH PROMPT_TEXT

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all headers check-headers shaders check-shaders vulkan-mirror vulkan-validate programs
.PHONY: demo test bench deps matrix emulate fuzz asan tsan clean help FORCE

all: headers
	@$(MAKE) --no-print-directory programs

help:
	@echo 'make             pack the headers; build the tests, examples and benchmarks'
	@echo 'make headers     write oxtorch*.h from src/'
	@echo 'make demo        a tour; with MODEL=file.gguf PROMPT="..." [THREADS=n] it continues the prompt'
	@echo 'make test        everything that this machine can test (T="name ..." some tests only)'
	@echo 'make bench       measure (B=name one benchmark only)'
	@echo 'make deps        install the optional packages of the tests (Debian, Ubuntu; as root)'
	@echo 'make shaders     compile shaders/ (glslang, spirv-tools) into src/vulkan/spirv'
	@echo 'make matrix      compilers, standards, macros, headers and foreign processors'
	@echo 'make fuzz        fuzz the readers with clang, FUZZ_SECONDS=20 each'
	@echo 'make emulate     the tests on older processors, emulated: hours'
	@echo 'make asan tsan   the tests under the address and undefined, and the thread sanitizer'
	@echo 'make vulkan-validate  the GPU tests under the Vulkan validation layer'
	@echo 'make clean       remove build/'
	@echo 'DEBUG=1          with any of them: -O0, straight from src/, in build/debug'

# ---- headers ----

$(BUILD)/amalgamate: tools/amalgamate.c
	@mkdir -p $(@D)
	@echo "cc $@" >&2
	@$(CC) -std=c11 -O1 $(WARN) $(CFLAGS) $< -o $@

# The tables of docs/OPERATIONS.md are generated as well.
$(BUILD)/op_table: tools/op_table.c src/ops/ops.def $(wildcard src/*/*.def) src/ops/ops.h
	@mkdir -p $(@D)
	@echo "cc $@" >&2
	@$(CC) -std=c11 -O1 $(WARN) $(CFLAGS) $< -o $@

# And the table of docs/MODELS.md.
$(BUILD)/model_table: tools/model_table.c src/llm/model/families.def src/llm/source/models.def
	@mkdir -p $(@D)
	@echo "cc $@" >&2
	@$(CC) -std=c11 -O1 $(WARN) $(CFLAGS) $< -o $@

TABLES = OPERATIONS:op_table MODELS:model_table

headers: $(BUILD)/amalgamate $(BUILD)/op_table $(BUILD)/model_table
	@mkdir -p $(BUILD)/headers
	@for table in $(TABLES); do \
	    page=docs/$${table%:*}.md; made=$(BUILD)/$${table%:*}.md; \
	    $(BUILD)/$${table#*:} < $$page > $$made || exit 1; \
	    cmp -s $$made $$page || { cp $$made $$page && echo "wrote $$page" >&2; }; \
	done
	@for page in $(PAGES); do \
	    $(BUILD)/amalgamate src/$$page > $(BUILD)/headers/$$page || exit 1; \
	    cmp -s $(BUILD)/headers/$$page $$page || \
	        { cp $(BUILD)/headers/$$page $$page && echo "wrote $$page" >&2; }; \
	done

check-headers: $(BUILD)/amalgamate $(BUILD)/op_table $(BUILD)/model_table
	@mkdir -p $(BUILD)/headers
	@for table in $(TABLES); do \
	    page=docs/$${table%:*}.md; made=$(BUILD)/$${table%:*}.md; \
	    $(BUILD)/$${table#*:} < $$page > $$made || exit 1; \
	    cmp -s $$made $$page || { stale=1; echo "$$page differs from its tables: run make headers"; }; \
	done; \
	for page in $(PAGES); do \
	    $(BUILD)/amalgamate src/$$page > $(BUILD)/headers/$$page || exit 1; \
	    cmp -s $(BUILD)/headers/$$page $$page || \
	        { stale=1; echo "$$page differs from src/: run make headers"; }; \
	done; \
	bytes=$$(wc -c < $(BUILD)/headers/oxtorch.h); test $$bytes -le $(HEADER_BYTES_MAX) || \
	    { stale=1; echo "oxtorch.h has $$bytes bytes, more than $(HEADER_BYTES_MAX)"; }; \
	test -z "$$stale"

# ---- shaders ----

# What shaders share with C by name: shaders/tables, from src/vulkan/*.def and the headers that C compiles
# with.
$(BUILD)/tables: tools/tables.c FORCE
	@mkdir -p $(@D)
	@$(CC) -std=c11 -O1 $(WARN) -Isrc $(CFLAGS) $< -lm -o $@

# Compiled ones are committed: users need no compiler. GLSLANG, SPIRV_VAL ... (build.sh) name other programs.
shaders: $(BUILD)/tables
	@mkdir -p shaders/tables
	@$< shaders/tables
	@shaders/build.sh

# Compares the tables with those that C has now, and the sources' hash with the one that was compiled.
check-shaders: $(BUILD)/tables
	@$< shaders/tables - || { echo "shaders/tables is older than src/: run make shaders"; false; }
	@test "$$(shaders/build.sh --hash)" = "$$(cat src/vulkan/spirv/sources)" || \
	    { echo "src/vulkan/spirv is older than shaders/: run make shaders"; false; }

# ---- one object of the implementation, and the programs that use it ----

# With what runs its calls on other devices behind it (tests/mirror.c), and what lies between two barriers on
# a GPU backwards for those who ask (record/submission.c). Changes only when the set of headers or the flags
# change.
$(BUILD)/impl.c: FORCE
	@mkdir -p $(@D)
	@{ echo '/* $(CC) $(OPT) $(CFLAGS) $(LIBS) */'; echo '#define OX_C_TIER'; \
	   echo '#define OXI_VK_BACKWARDS'; echo '#define OX_IMPLEMENTATION'; \
	   for page in $(PAGES) mirror.c; do echo "#include \"$$page\""; done; } > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(BUILD)/impl.o: $(BUILD)/impl.c
	@echo "cc $@" >&2
	@$(CC) $(OPT) $(WARN) $(INCLUDE) -Itests $(CFLAGS) $(DEPEND) -c $< -o $@
	@echo '$(LIBS)' > $(@:.o=.libs)

# Compiled beside impl.o, which takes longest and comes first (hence its source before theirs). Some of those
# that test internals, with an implementation of their own, run for less time than it takes to optimise that:
# OX_O0 in the head.
NOT_OPTIMISED = $(shell grep -lw OX_O0 tests/test_*.c)
$(NOT_OPTIMISED:%.c=$(BUILD)/%.o): TEST_OPT := $(if $(SAN),$(TEST_OPT),-O0 -g)

.SECONDARY: $(TESTS:=.o)
$(BUILD)/tests/%.o: tests/%.c Makefile | $(BUILD)/impl.c
	@mkdir -p $(@D)
	@echo "cc $@" >&2
	@$(CC) $(TEST_OPT) $(WARN) $(INCLUDE) -Itests $(CFLAGS) $(DEPEND) -c $< -o $@

$(BUILD)/tests/test_%: $(BUILD)/tests/test_%.o $(BUILD)/impl.o
	@$(CC) $(TEST_OPT) $(CFLAGS) $(@:=.o) $(BUILD)/impl.o $(LIBS) -o $@

# The suites of ops with every call on the GPU (tests/mirror.c): `make test` takes what is short of those that
# say OX_VULKAN in their heads, `make vulkan-mirror` all of them, and those that take long on a software
# device, OX_VULKAN_LONG. They are cut into PARTS that run at once: the processor compiles shaders, whatever
# the device is.
PARTS ?= $(shell nproc 2> /dev/null || echo 1)
MIRRORED = $(patsubst tests/%.c,$(BUILD)/tests/%,$(shell grep -lw 'OX_VULKAN\|OX_VULKAN_LONG' tests/test_*.c))
vulkan-mirror: $(MIRRORED)
	@tests/shards.sh $(PARTS) --mirrored $(MIRRORED)

# What the layer says of everything that the device is tested with.
VALIDATED = $(addprefix $(BUILD)/tests/test_,vulkan vulkan_ops vulkan_share vulkan_llm vulkan_fuse)
vulkan-validate: $(VALIDATED) $(MIRRORED)
	@tests/shards.sh $(PARTS) --under tests/validate.sh $(VALIDATED) --mirrored $(MIRRORED)

$(BUILD)/tests/fuzz_%: tests/fuzz_%.c tests/fuzz_main.c $(BUILD)/impl.o
	@mkdir -p $(@D)
	@echo "cc $@" >&2
	@$(CC) $(TEST_OPT) $(WARN) $(INCLUDE) -Itests $(CFLAGS) $(DEPEND) $< tests/fuzz_main.c $(BUILD)/impl.o \
	    $(LIBS) -o $@

# An example is a whole program with the implementation in it. Here it shares the object, which saves its
# compile time; tests/readme.sh and tests/matrix.sh compile the implementation the way a user does.
$(BUILD)/examples/%: examples/%.c $(BUILD)/impl.o
	@mkdir -p $(@D)
	@echo "cc $@" >&2
	@{ echo '#line 1 "$<"'; sed 's/^#define OX_IMPLEMENTATION.*//' $<; } > $@.c
	@$(CC) $(OPT) $(WARN) $(INCLUDE) -Iexamples $(CFLAGS) $(DEPEND) $@.c $(BUILD)/impl.o $(LIBS) -o $@

$(BUILD)/bench/%: bench/%.c $(BUILD)/impl.o
	@mkdir -p $(@D)
	@echo "cc $@" >&2
	@$(CC) $(OPT) $(WARN) $(INCLUDE) -Ibench $(CFLAGS) $(DEPEND) $< $(BUILD)/impl.o $(LIBS) -o $@

$(BUILD)/tiers: tests/tiers.c
	@mkdir -p $(@D)
	@$(CC) -O1 $(WARN) $< -o $@

$(TESTS) $(REPLAYS) $(EXAMPLES) $(BENCHES): Makefile
programs: $(BUILD)/impl.o $(PROGRAMS) $(BUILD)/tiers

-include $(BUILD)/impl.o.d $(wildcard $(BUILD)/tests/*.d $(BUILD)/examples/*.d)
-include $(wildcard $(BUILD)/bench/*.d)

# ---- what runs ----

# Standard output is the program's text alone: compilers talk on standard error.
ifneq ($(MODEL_PATH),)
demo: $(BUILD)/examples/generate
	@$(BUILD)/examples/generate "$$MODEL_PATH" -p "$$PROMPT_TEXT" -n 200 --temp 0 \
	    $(if $(THREADS),--threads $(THREADS))
else
demo: $(BUILD)/examples/demo
	@$(BUILD)/examples/demo
endif

# `make deps test` installs first, also under -j.
test: $(filter deps,$(MAKECMDGOALS))
	+@MAKE="$(MAKE)" tests/run.sh

bench: $(if $(B),$(BUILD)/bench/bench_$(B),$(BENCHES))
	@for program in $^; do echo "== $${program##*/}"; $$program || exit 1; done

matrix: $(filter deps headers,$(MAKECMDGOALS))
	@tests/matrix.sh

emulate: $(filter deps headers,$(MAKECMDGOALS))
	@tests/matrix.sh --emulated

fuzz:
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz.sh

asan:
	@$(MAKE) --no-print-directory SAN=asan test

tsan:
	@$(MAKE) --no-print-directory SAN=tsan test

deps:
	@tools/deps.sh

clean:
	rm -rf build
