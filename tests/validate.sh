#!/bin/sh
# validate.sh - runs programs under the Khronos validation layer and fails on any message: first with core
# checks and best practices, then with each tensor in a buffer of its own (OX_VULKAN_BLOCKS=apart) and
# synchronization checks, which would otherwise take tensors that lie in one buffer for the same memory.
#   tests/validate.sh [--short] PROGRAM ...      called by `make vulkan-validate`, and --short by `make test`:
# without best practices. `--there` alone asks whether there is a layer.
# Messages that are wrong for a library of tensors, by name, with the reason:
#   SpirvDeprecated_WorkgroupSize   shaders are SPIR-V 1.3, which Vulkan 1.1 takes; LocalSizeId wants more
#   pipeline-stage-flags            a queue that is shared with a renderer: what else it does is not known
#   vkGetDeviceProcAddr-device      a loader that is older than the layer asks for functions of its own list
set -u
short= asked=
case ${1:-} in
--short) short=1 && shift ;;
--there) asked=1 ;;
esac
temporary=${OX_TEST_TMP:-${TMPDIR:-/tmp}}/validate
mkdir -p "$temporary"
wrong=UNASSIGNED-BestPractices-SpirvDeprecated_WorkgroupSize,BestPractices-SpirvDeprecated_WorkgroupSize
wrong=$wrong,UNASSIGNED-BestPractices-pipeline-stage-flags,BestPractices-pipeline-stage-flags-compute
wrong=$wrong,BestPractices-pipeline-stage-flags,WARNING-vkGetDeviceProcAddr-device

manifest=
for folder in $(echo "${VK_LAYER_PATH:-}" | tr : ' ') /etc/vulkan/explicit_layer.d \
    /usr/local/share/vulkan/explicit_layer.d /usr/share/vulkan/explicit_layer.d; do
    [ -n "$manifest" ] || [ ! -f "$folder/VkLayer_khronos_validation.json" ] ||
        manifest=$folder/VkLayer_khronos_validation.json
done
[ -z "$asked" ] || { [ -n "$manifest" ] && exit 0 || exit 1; }
if [ -z "$manifest" ]; then
    echo "skip validation: no VK_LAYER_KHRONOS_validation on this machine"
    echo "suite validation: 0 passed, 0 failed, 1 skipped"
    exit 0
fi
version=$(sed -n 's/.*"api_version": *"\([0-9.]*\)".*/\1/p' "$manifest" | head -n 1)

# settings NAME=VALUE...: what layers of all ages read, then these
settings() {
    {
        echo 'khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG'
        echo 'khronos_validation.report_flags = error,warn,perf'
        echo 'khronos_validation.log_filename = stdout'
        echo 'khronos_validation.duplicate_message_limit = 3'
        echo "khronos_validation.message_id_filter = $wrong"
        for setting; do echo "khronos_validation.${setting%%=*} = ${setting#*=}"; done
    } > "$temporary/vk_layer_settings.txt"
}
old() { # layers before 1.3.280 take lists
    [ "$(printf '%s\n' "$version" 1.3.280 | sort -t. -k1,1n -k2,2n -k3,3n | head -n 1)" != 1.3.280 ]
}
best_practices() {
    if old; then settings enables=VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT
    else settings validate_best_practices=true validate_sync=true; fi
}
synchronization() {
    if old; then settings enables=VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
    else settings validate_sync=true syncval_shader_accesses_heuristic=true; fi
}

export VK_LAYER_SETTINGS_PATH="$temporary" VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
passed=0 failed=0
# check LABEL COMMAND...: one passed check when it says nothing and its own checks pass
check() {
    label=$1 log=$temporary/$(basename "$2").log
    shift
    "$@" > "$log" 2>&1
    code=$?
    messages=$(grep -c 'Validation [A-Za-z ]*\(Error\|Warning\)' "$log")
    if [ $code = 0 ] && [ "$messages" = 0 ] && grep -q '^suite ' "$log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$label, $1: exit code $code, $messages messages of the layer ($version)"
        grep 'Validation [A-Za-z ]*\(Error\|Warning\)\|failed:' "$log" | cut -c 1-700 | head -n 12
    fi
}
for program; do
    if [ -z "$short" ]; then
        unset OX_VULKAN_BLOCKS
        best_practices
        check 'best practices' "$program"
    fi
    synchronization
    export OX_VULKAN_BLOCKS=apart
    check synchronization "$program"
done
echo "suite validation: $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
