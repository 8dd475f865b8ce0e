#!/bin/sh
# examples.sh - runs the examples and compares what they print with what their head comment says.
# The head of an example may hold a line ` * needs ...` (it wants a file or an argument: it is only built),
# and a line ` * prints` or ` * output`, after which every line of the comment is expected, less its ` * `
# and its common indent. A line ` * refuses ARGUMENTS => TEXT` is a call that must fail with TEXT as its
# first line on standard error. Every example answers --help and -h with its options and an example, and
# names what it does not know. In an expected line `...` stands for any text; a line of it alone, for any
# number of lines.
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
out=$BUILD/examples
mkdir -p "$out"
passed=0 failed=0

fail() {
    failed=$((failed + 1))
    echo "failed: $1"
}

# Prints the expected output of a source; nothing if its head has none.
expected() {
    awk '
        /\*\// && !on { exit }
        on && /^[ \t]*\*\/[ \t]*$/ { exit }
        on { line = $0; last = sub(/[ \t]*\*\/[ \t]*$/, "", line); sub(/^ \* ?/, "", line)
             match(line, /^ */)
             if (line != "" && (indent == "" || RLENGTH < indent)) indent = RLENGTH
             text[++count] = line
             if (last) exit }
        /^ \* *(prints|output)[^a-z]*$/ { on = 1 }
        END { while (count && text[count] ~ /^[ \t]*$/) count--
              for (i = 1; i <= count; i++) print substr(text[i], indent + 1) }' "$1"
}

# compare EXPECTED ACTUAL: exit code 0 if they agree; otherwise says where they part
compare() {
    awk -v expected_file="$1" '
        function fits(pattern, line,    at, part, first) {
            first = 1
            while ((at = index(pattern, "...")) > 0) {
                part = substr(pattern, 1, at - 1)
                pattern = substr(pattern, at + 3)
                if (first ? substr(line, 1, length(part)) != part : index(line, part) == 0) return 0
                line = first ? substr(line, length(part) + 1) : substr(line, index(line, part) + length(part))
                first = 0
            }
            if (first) return line == pattern
            return length(line) >= length(pattern) &&
                   substr(line, length(line) - length(pattern) + 1) == pattern
        }
        BEGIN { while ((getline line < expected_file) > 0) { sub(/[ \t]+$/, "", line); want[++wants] = line }
                j = 1 }
        { sub(/[ \t\r]+$/, "")
          while (want[j] == "..." && j <= wants) { any = 1; j++ }
          if (j <= wants && fits(want[j], $0)) { j++; any = 0 }
          else if (!any) { printf "  line %d\n    is       \"%s\"\n", NR, $0
                           printf "    expected \"%s\"\n", j <= wants ? want[j] : "(end)"
                           bad = 1; exit } }
        END { while (j <= wants && want[j] == "...") j++
              if (!bad && j <= wants) { printf "  ends before \"%s\"\n", want[j]; bad = 1 }
              exit bad }' "$2"
}

# refusals SOURCE PROGRAM: exit code 0 if each call that the head says is refused is refused in these words
refusals() {
    sed -n '1,40s/^ \* *refuses \(.*\)$/\1/p' "$1" > "$2.refusals"
    while IFS= read -r line; do
        if "$2" ${line%% => *} > /dev/null 2> "$2.errors" < /dev/null; then
            echo "  accepts ${line%% => *}"
            return 1
        fi
        said=$(head -n 1 "$2.errors" | tr -d '\r')
        [ "$said" = "${line#* => }" ] || { echo "  says \"$said\", not \"${line#* => }\""; return 1; }
    done < "$2.refusals"
}

# helps SOURCE PROGRAM NAME: exit code 0 if --help and -h print a usage with all options of the source
helps() {
    for word in --help -h; do
        if ! "$2" $word > "$2.help" 2> "$2.errors" < /dev/null || [ -s "$2.errors" ]; then
            echo "  $word: exit code not 0, or something on standard error"
            return 1
        fi
        case "$(head -n 1 "$2.help")" in "usage: $3"*) ;; *) echo "  $word: no usage"; return 1 ;; esac
        grep -q "^example: .*$3" "$2.help" || { echo "  $word: no example"; return 1; }
        for option in $(sed -n 's/^ *{"\(-[a-z-]*\)", .*/\1/p' "$1") --help -h; do
            grep -q -e "^  .*$option\([ ,]\|$\)" "$2.help" && continue
            echo "  $word: does not say what $option is"
            return 1
        done
    done
    if "$2" --nonsense > /dev/null 2> "$2.errors" < /dev/null || ! grep -q "$3: --nonsense" "$2.errors"; then
        echo "  takes --nonsense, or refuses it without a word"
        return 1
    fi
}

for source in examples/*.c; do
    [ -f "$source" ] || continue
    name=$(basename "$source" .c)
    program=$out/$name
    if [ ! -x "$program" ]; then
        fail "$source did not build"
        continue
    fi
    if ! helps "$source" "$program" "$name"; then
        fail "$source: --help"
        continue
    fi
    if ! refusals "$source" "$program"; then
        fail "$source: refuses in other words than its head says"
        continue
    fi
    if head -n 40 "$source" | grep -q '^ \* *needs '; then
        passed=$((passed + 1))
        continue
    fi
    expected "$source" > "$program.expected"
    if ! "$program" > "$program.actual" 2> "$program.errors" < /dev/null; then
        fail "$source: exit code not 0"
        tail -n 20 "$program.actual" "$program.errors"
    elif [ -s "$program.expected" ] && ! compare "$program.expected" "$program.actual"; then
        fail "$source: prints something else than its head says"
    else
        passed=$((passed + 1))
    fi
done
# chat_talks PROGRAM MODEL: drives a conversation through pipes; exit code 0 if all is as it should be
chat_talks() {
    options="--temp 0 -n 12 --threads 1"
    # shellcheck disable=SC2086 # a list of options
    {
        printf 'Once upon a\\\ntime\n/save %s.json\n' "$1" | "$1" "$2" $options > "$1.first" || return 1
        printf 'Once upon a\\\ntime\n/again\n' | "$1" "$2" $options > "$1.twice" || return 1
        printf '/load %s.json\n/save %s.again\n/undo\n/undo\n/stats\n/system x\n/save %s.short' \
            "$1" "$1" "$1" |
            "$1" "$2" $options > "$1.none" 2> "$1.said" || return 1
        printf 'Hi\n' | "$1" "$2" $options --template "$1.jinja" > "$1.answer" 2> "$1.thought" || return 1
    }
    cat "$1.first" "$1.first" | cmp -s - "$1.twice" || { echo "  /again: another answer"; return 1; }
    cmp -s "$1.json" "$1.again" || { echo "  /load and /save: another conversation"; return 1; }
    grep -q 'Once upon a.ntime' "$1.json" || { echo "  no message of two lines in /save"; return 1; }
    [ ! -s "$1.none" ] || { echo "  standard output has more than answers"; return 1; }
    grep -q 'nothing to undo' "$1.said" && grep -q '^0 messages' "$1.said" ||
        { echo "  /undo, /stats"; return 1; }
    [ "$(grep -c role "$1.short")" = 1 ] || { echo "  /system"; return 1; }
    [ -z "$(cat "$1.answer")" ] && [ -s "$1.thought" ] || { echo "  reasoning is in the answer"; return 1; }
    # shellcheck disable=SC2086
    { echo Once; sleep 1; echo /stats; } | "$1" "$2" --temp 0.9 --threads 1 > /dev/null 2> "$1.said" &
    child=$!
    sleep 0.3
    kill -INT $child 2> /dev/null
    wait $child || { echo "  SIGINT ends the program"; return 1; }
    grep -q '^2 messages' "$1.said" || { echo "  no answer when it was stopped"; return 1; }
}
# embeds PROGRAM MODEL: vectors of the same texts in each way; exit code 0 if they agree
embeds() {
    printf 'A dog ran.\n\nOnce upon a time\nThe cat sat.\r\n' > "$1.txt"
    {
        "$1" "$2" "A dog ran." "Once upon a time" "The cat sat." > "$1.words" || return 1
        "$1" "$2" < "$1.txt" > "$1.lines" || return 1
        "$1" "$2" -f "$1.txt" -o "$1.file" > "$1.none" || return 1
        "$1" "$2" -f "$1.txt" -o "$1.npy" --raw || return 1
        "$1" "$2" "A dog ran." --pooling none --raw > "$1.tokens" || return 1
        "$1" "$2" -f "$1.txt" --query "upon a time" --query-prefix "Once " --top 2 > "$1.closest" || return 1
        "$1" "$2" -f "$1.txt" --similarity > "$1.table" || return 1
        "$1" "$2" -f "$1.txt" --context 4 2> "$1.cut" > /dev/null || return 1
    }
    cmp -s "$1.words" "$1.lines" && cmp -s "$1.words" "$1.file" ||
        { echo "  words, lines, -o: other vectors"; return 1; }
    [ ! -s "$1.none" ] || { echo "  -o: standard output has something, too"; return 1; }
    awk '{ sum = 0; for (i = 1; i <= NF; i++) sum += $i * $i
           if (sum < 0.99999 || sum > 1.00001) bad = 1 } END { exit bad || NR != 3 }' "$1.words" ||
        { echo "  vectors are not 3 of length 1"; return 1; }
    # The array: the same less the lengths; its first row is the mean of the first text's tokens.
    width=$(awk 'NR == 1 { print NF }' "$1.words")
    tail -c $((12 * width)) "$1.npy" | od -An -v -w$((4 * width)) -t f4 > "$1.rows"
    awk 'NR == FNR { for (i = 1; i <= NF; i++) row[NR, i] = $i; next }
         { sum = 0; for (i = 1; i <= NF; i++) sum += row[FNR, i] ^ 2
           for (i = 1; i <= NF; i++) { off = row[FNR, i] / sqrt(sum) - $i; if (off * off > 1e-10) bad = 1 } }
         END { exit bad || FNR != 3 }' "$1.rows" "$1.words" ||
        { echo "  -o NAME.npy: other vectors"; return 1; }
    awk 'NR == FNR { for (i = 1; i <= NF; i++) sum[i] += $i; count++; next }
         FNR == 1 { for (i = 1; i <= NF; i++) { off = sum[i] / count - $i; if (off * off > 1e-10) bad = 1 } }
         END { exit bad || count < 3 }' "$1.tokens" "$1.rows" ||
        { echo "  --pooling none: other tokens"; return 1; }
    [ "$(head -n 1 "$1.closest")" = " 1.0000  Once upon a time" ] && [ "$(wc -l < "$1.closest")" = 2 ] ||
        { echo "  --query: another text is closer than itself"; return 1; }
    awk 'NR > 1 && $NR != "1.0000" { bad = 1 } END { exit bad || NR != 4 }' "$1.table" ||
        { echo "  --similarity: a text is not like itself"; return 1; }
    grep -q 'tokens is cut to 4: A dog' "$1.cut" || { echo "  --context: nothing is cut"; return 1; }
    ! "$1" "$2" < /dev/null 2> "$1.errors" && grep -q '^embed: there is no text' "$1.errors" ||
        { echo "  takes no text at all"; return 1; }
}
model=${OX_TEST_DATA:-../shared/data}/models/stories260K/stories260K.gguf
if [ -x "$out/chat" ] && [ -f "$model" ]; then
    printf '%s' '{% for m in messages %}{{ m.content }}{% endfor %}<think>{# </think> #}' > "$out/chat.jinja"
    if chat_talks "$out/chat" "$model"; then
        passed=$((passed + 1))
    else
        fail "examples/chat.c: a conversation"
    fi
fi
if [ -x "$out/embed" ] && [ -f "$model" ]; then
    if embeds "$out/embed" "$model"; then passed=$((passed + 1)); else fail "examples/embed.c: vectors"; fi
fi
echo "suite examples: $passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
