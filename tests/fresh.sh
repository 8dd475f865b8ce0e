#!/bin/sh
# fresh.sh - `make deps test` where liburing comes with `deps`: what is built with it must be linked with it.
# The Makefile and the scripts run in a copy whose compilers write down their command lines and do nothing
# else, and whose apt-get installs one thing, a file by which those compilers tell that liburing is there.
set -u
cd "$(dirname "$0")/.." || exit 1
mkdir -p "${BUILD:-build}/fresh"
dir=$(cd "${BUILD:-build}/fresh" && pwd)
rm -rf "$dir"
mkdir -p "$dir/bin" "$dir/work/tests" "$dir/work/src/ops" "$dir/work/src/vulkan/spirv"
passed=0 failed=0

cat > "$dir/bin/cc" << END
#!/bin/sh
case "\$*" in *liburing.h*) [ -f "$dir/installed" ]; exit ;; esac
echo "\$*" >> "$dir/commands"
while [ \$# -gt 1 ]; do [ "\$1" != -o ] || { echo 'exit 1' > "\$2"; chmod +x "\$2"; }; shift; done
END
cp "$dir/bin/cc" "$dir/bin/clang"
cp "$dir/bin/cc" "$dir/bin/g++"
printf '#!/bin/sh\nexit 1\n' > "$dir/bin/dpkg-query"
printf '#!/bin/sh\n[ "$1" != install ] || touch "%s/installed"\n' "$dir" > "$dir/bin/apt-get"
printf '#!/bin/sh\necho 0\n' > "$dir/bin/id"
chmod +x "$dir"/bin/*

cp Makefile README.md "$dir/work"
cp -R docs shaders tools "$dir/work"
cp src/oxtorch*.h "$dir/work/src"
cp src/oxtorch*.h "$dir/work"
cp src/ops/ops.def "$dir/work/src/ops"
cp tests/*.sh "$dir/work/tests"
echo 'int main(void) { return 0; }' > "$dir/work/tests/test_one.c"
# not itself again
printf '#!/bin/sh\necho "suite fresh: 1 passed, 0 failed, 0 skipped"\n' > "$dir/work/tests/fresh.sh"

(cd "$dir/work" && env -i PATH="$dir/bin:$PATH" HOME="$dir" make deps test) > "$dir/log" 2>&1

check() { # check WHAT WHETHER: exit code 0 says that it holds
    if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "failed: $1"; fi
}

: >> "$dir/commands"
grep -q -e '-DOX_USE_LIBURING .*-c .*/impl\.c ' "$dir/commands"
check "the object is built with liburing once deps has installed it" $?
grep -q 'readme/.*impl\.o' "$dir/commands"
check "the README's programs are linked with the object" $?
wrong=$(grep 'impl\.o ' "$dir/commands" | grep -v -e ' -c ' | grep -v -e '-luring')
[ -z "$wrong" ]
check "everything is linked with it" $?
[ -z "$wrong" ] || echo "$wrong" | sed 's/^/    /'
[ "$failed" = 0 ] || tail -n 20 "$dir/log"
echo "suite fresh: $passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
