/* Calls that are kept: a copy that owns its operands, to be run again with the same attributes and random
 * state. What a graph, a tape or a planner holds. */

OXI_UNUSED static oxi_kept *oxi_call_keep(const oxi_call *call, bool writes) {
    size_t list = (size_t)call->in_count * sizeof(ox_tensor *);
    oxi_kept *kept = (oxi_kept *)oxi_alloc(sizeof *kept);
    if (!kept) return NULL;
    kept->call = *call;
    kept->in = call->in_count > OXI_MAX_IN ? (ox_tensor **)oxi_alloc(list) : kept->few;
    if (!kept->in) {
        oxi_free(kept, sizeof *kept);
        return NULL;
    }
    for (int i = 0; i < call->in_count; i++) kept->in[i] = ox_retain(call->in[i]);
    for (int i = 0; i < OXI_MAX_OUT; i++) kept->call.out[i] = writes ? ox_retain(call->out[i]) : NULL;
    kept->call.in = kept->in;
    return kept;
}

OXI_UNUSED static ox_status oxi_kept_run(const oxi_kept *kept, ox_tensor *out[OXI_MAX_OUT]) {
    oxi_call call = kept->call;
    ox_status status = oxi_apply(&call);
    for (int i = 0; i < OXI_MAX_OUT; i++) out[i] = call.out[i];
    return status;
}

OXI_UNUSED static void oxi_kept_drop(oxi_kept *kept) {
    if (!kept) return;
    for (int i = 0; i < kept->call.in_count; i++) ox_release(kept->in[i]);
    for (int i = 0; i < OXI_MAX_OUT; i++) ox_release(kept->call.out[i]);
    if (kept->in != kept->few) oxi_free(kept->in, (size_t)kept->call.in_count * sizeof *kept->in);
    oxi_free(kept, sizeof *kept);
}
