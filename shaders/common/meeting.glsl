// meeting.glsl - parts of a relay (src/vulkan/record/relay.c): where a barrier would stand between dispatches,
// workgroups, all of which run at once, wait for each other. AWAITS: how often they have met before a part
// reads what others wrote; MEETS: what they do at its end. The counts are zero between relays.
#extension GL_KHR_memory_scope_semantics : require

layout(set = 0, binding = 1, std430) buffer Meeting { uint parts_done, left_done; };

// Before what parts before have written is read; what comes before that is on its way meanwhile.
void await_others() {
    if (AWAITS == 0) return;
    if (gl_LocalInvocationID.x == 0) {
        uint all = AWAITS * gl_NumWorkGroups.x;
        while (atomicOr(parts_done, 0) < all) {}
        memoryBarrier(gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire);
    }
    barrier();
}
// Behind all that a part writes.
void meet_others() {
    if (MEETS == MEETS_NOBODY) return;
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
    if (gl_LocalInvocationID.x > 0) return;
    if (MEETS == MEETS_NEXT) {
        memoryBarrier(gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
        atomicAdd(parts_done, 1);
    } else if (atomicAdd(left_done, 1) + 1 == gl_NumWorkGroups.x) {
        atomicExchange(parts_done, 0);
        atomicExchange(left_done, 0);
    }
}
