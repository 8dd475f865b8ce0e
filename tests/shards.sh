#!/bin/sh
# shards.sh - runs suites side by side: those of mirror.c cut into parts, each a process with the calls of its
# part on the device (OX_MIRROR_PART), since compiling shaders takes nearly all of their time; others whole.
#   tests/shards.sh PARTS [--under COMMAND] [PROGRAM ...] [--mirrored PROGRAM ...]
# As many processes at once as PARTS.
# A line a suite, what fails in front of it; a part passes all checks of its suite, so `passed` is that of
# one. Called by `make vulkan-mirror` and, under tests/validate.sh, by `make vulkan-validate`.
set -u
export PARTS_FOLDER="${OX_TEST_TMP:-${TMPDIR:-/tmp}}/parts" PARTS_UNDER=
parts=$1
shift
if [ "${1:-}" = --under ]; then
    PARTS_UNDER=$2
    shift 2
fi
rm -rf "$PARTS_FOLDER"
mkdir -p "$PARTS_FOLDER"

# Lines `PROGRAM KIND PART/PARTS`; KIND is tests or mirror.
jobs() {
    kind=tests
    for program; do
        case $program,$kind in
            --mirrored,*) kind=mirror ;;
            *,mirror) seq "$parts" | sed "s|^|$program mirror |; s|\$|/$parts|" ;;
            *) echo "$program tests 1/1" ;;
        esac
    done
}

# shellcheck disable=SC2016 # the shell that xargs starts expands it
jobs "$@" | xargs -P "$parts" -n 3 sh -c '
    log=$PARTS_FOLDER/$1-$(basename "$0")-$(echo "$2" | tr / -)
    mkdir -p "$log"
    [ "$1" = tests ] || export OX_MIRROR=vulkan OX_MIRROR_PART="$2"
    OX_TEST_TMP=$log ${PARTS_UNDER:+"$PARTS_UNDER"} "$0" > "$log/log" 2>&1
    echo "exit code $?" >> "$log/log"'

bad=0 kind=tests
for program; do
    if [ "$program" = --mirrored ]; then
        kind=mirror
        continue
    fi
    name=$kind-$(basename "$program")
    grep -h ': failed\|Validation\|further failures\|messages of the layer\|^skip' \
        "$PARTS_FOLDER/$name"-*/log | sort -u | head -n 60
    # shellcheck disable=SC2046 # four numbers
    set -- $(cat "$PARTS_FOLDER/$name"-*/log | awk '
        /^suite .*: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { if ($(NF - 5) > p) p = $(NF - 5)
                                                                    f += $(NF - 3); s = $(NF - 1); seen++ }
        /^exit code [0-9]+$/ { ended++; if ($3 != 0) broken++ }
        END { print p + 0, f + 0, s + 0, (ended > seen || (broken && !f)) ? 1 : 0 }')
    [ "$4" = 0 ] || echo "$name: a part ended early"
    echo "suite $name: $1 passed, $(($2 + $4)) failed, $3 skipped"
    [ "$(($2 + $4))" = 0 ] || bad=1
done
[ $bad = 0 ]
