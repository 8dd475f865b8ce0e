#!/bin/sh
# deps.sh - installs the optional packages of the tests through apt-get: other compilers, foreign processors,
# Vulkan with a software driver.
# Whatever cannot be installed is named and left out; the tests then say what they skipped.
packages='gcc g++ make libc6-dev
clang libclang-rt-dev
liburing-dev
gcc-mingw-w64-x86-64
gcc-aarch64-linux-gnu libc6-dev-arm64-cross
gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
gcc-s390x-linux-gnu libc6-dev-s390x-cross
qemu-user
libvulkan-dev libvulkan-volk-dev mesa-vulkan-drivers vulkan-validationlayers'

missing=
if command -v apt-get > /dev/null && command -v dpkg-query > /dev/null; then
    for package in $packages; do
        dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q 'ok installed' ||
            missing="$missing $package"
    done
    [ -z "$missing" ] && exit 0
else
    echo "deps: there is no apt-get here; install by hand what the tests report as skipped" >&2
    exit 0
fi
if [ "$(id -u)" != 0 ]; then
    echo "deps: not root, so these stay away:$missing" >&2
    exit 0
fi

export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -q --no-install-recommends "$@" < /dev/null >&2; }
apt-get update -q < /dev/null >&2
# shellcheck disable=SC2086 # a list of words
install $missing && exit 0
for package in $missing; do
    install "$package" || echo "deps: could not install $package" >&2
done
exit 0
