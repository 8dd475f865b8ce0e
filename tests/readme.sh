#!/bin/sh
# readme.sh - compiles every C block of README.md.
# A block with a main() is compiled and linked just as the README says, `cc app.c -lm -lpthread`, and again by
# clang and as C++ (there against the object of the implementation, which they compile in the matrix). A block
# without one is a fragment: it must compile as file text or as the body of a function, after all the headers
# and the declarations of a line `<!-- given: ox_tensor *x; -->` above it, if there is one.
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build} CC=${CC:-cc} CXX=${CXX:-g++}
LIBS=$(cat "$BUILD/impl.libs") || exit 1 # what impl.o was built to link with
dir=$BUILD/readme
rm -rf $dir
mkdir -p $dir
passed=0 failed=0 skipped=0

if [ ! -f README.md ]; then
    echo "skip README.md: there is none"
    echo "suite readme: 0 passed, 0 failed, 1 skipped"
    exit 0
fi

awk -v dir=$dir '
    /^<!-- given: .* -->$/ { given = $0; sub(/^<!-- given: /, "", given); sub(/ -->$/, "", given); next }
    !on && /^```c[ \t]*$/ { on = 1; text = ""; first = NR + 1
                            file = sprintf("%s/block_%03d", dir, NR); next }
    on && /^```/ { on = 0
                   printf "#line %d \"README.md\"\n%s", first, text > (file ".c"); close(file ".c")
                   print given > (file ".given"); close(file ".given"); given = ""; next }
    on { text = text $0 "\n"; next }
    !/^[ \t]*$/ { given = "" }
    END { if (on) print "README.md: the last C block does not end" > "/dev/stderr" }' README.md

# check WHAT BLOCK COMMAND...
check() {
    what=$1 block=$2
    shift 2
    if "$@" > "$block.log" 2>&1; then
        passed=$((passed + 1))
        return 0
    fi
    failed=$((failed + 1))
    echo "failed: README.md block at line $(echo "$block" | sed 's/.*_0*//'), $what"
    head -n 15 "$block.log"
    return 1
}

# A name that nobody declares is an error: gcc before 14 takes it for a function that gives int.
only='-I. -fsyntax-only -Werror=implicit-function-declaration'

# shellcheck disable=SC2086 # several words
fragment() {
    { for page in oxtorch*.h; do echo "#include \"$page\""; done
      for header in stdint stdio stdlib string; do echo "#include <$header.h>"; done; } > "$1.head"
    { cat "$1.head" "$1.given" "$1.c"; } > "$1.file.c"
    $CC $only "$1.file.c" 2> "$1.first" && return 0
    { cat "$1.head"; echo 'void readme_block(void);'; echo 'void readme_block(void) {'
      cat "$1.given" "$1.c"; echo '}'; } > "$1.file.c"
    $CC $only "$1.file.c" && return 0
    echo "as file text:"
    cat "$1.first"
    return 1
}

for source in "$dir"/block_*.c; do
    [ -f "$source" ] || continue
    block=${source%.c}
    if ! grep -q '[^a-z_]main *(' "$source"; then
        check "a fragment" "$block" fragment "$block"
        continue
    fi
    { sed 's/^#define OX_IMPLEMENTATION.*//' "$source"; } > "$block.calls.c"
    if grep -q '^#define OX_IMPLEMENTATION' "$source"; then
        check "$CC" "$block" $CC -I. "$source" -lm -lpthread -o "$block"
    else
        check "$CC" "$block" $CC -I. "$source" "$BUILD/impl.o" $LIBS -o "$block"
    fi
    if command -v clang > /dev/null; then
        check clang "$block" clang -I. "$block.calls.c" "$BUILD/impl.o" $LIBS -o "$block"
    fi
    if command -v "$CXX" > /dev/null; then
        check "$CXX" "$block" $CXX -x c++ -I. "$block.calls.c" -x none "$BUILD/impl.o" $LIBS -o "$block"
    fi
done
for compiler in clang "$CXX"; do
    command -v "$compiler" > /dev/null && continue
    skipped=$((skipped + 1))
    echo "skip $compiler: not installed"
done
echo "suite readme: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
