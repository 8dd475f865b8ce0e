/* Functions with a gradient of one's own. */

/* ---- custom functions ---------------------------------------------------------------------------------- */

/* Which of the outputs t is, or -1. */
static int oxi_output_of(const ox_tensor *t, ox_tensor *const *outputs, int count) {
    for (int i = 0; i < count; i++)
        if (outputs[i] == t) return i;
    return -1;
}

static ox_status oxi_custom_saves(oxi_node *node, ox_tensor *const *outputs, ox_tensor *const *saved) {
    ox_status status = OX_OK;
    for (int i = 0; i < node->saved_count && status == OX_OK; i++) {
        oxi_edge edge = {NULL, 0, NULL};
        oxi_saves(-1, i);
        node->saved_output[i] = oxi_output_of(saved[i], outputs, node->out_count);
        if (node->saved_output[i] < 0 && saved[i]->tape)
            status = oxi_tape_edge((oxi_tape *)saved[i]->tape, &edge);
        if (status == OX_OK)
            status = oxi_save_tensor(&node->saved[i], saved[i], oxi_atomic_load(&saved[i]->storage->version),
                                     &edge);
    }
    return status;
}

static ox_status oxi_custom_inputs(oxi_node *node, ox_tensor *const *inputs, bool *wants) {
    ox_status status = OX_OK;
    *wants = false;
    for (int i = 0; i < node->in_count && status == OX_OK; i++) {
        oxi_edge edge = {NULL, 0, NULL};
        oxi_outline_of(inputs[i], &node->operand[i]);
        if (inputs[i]->tape && oxi_has_gradients(inputs[i]->dtype))
            status = oxi_tape_edge((oxi_tape *)inputs[i]->tape, &edge);
        node->edges[i] = oxi_edge_copy(&edge);
        *wants = *wants || oxi_edge_is(&edge);
    }
    return status;
}

/* Views of inputs count as results like others. */
static ox_status oxi_custom_outputs(oxi_node *node, ox_tensor *const *outputs) {
    for (int k = 0; k < node->out_count; k++) {
        oxi_edge edge = {node, k, NULL};
        oxi_outline_of(outputs[k], &node->result[k]);
        if (outputs[k]->tape) oxi_counted_drop((oxi_counted *)outputs[k]->tape);
        outputs[k]->tape = NULL;
        if (oxi_has_gradients(outputs[k]->dtype) && oxi_attach(outputs[k], &edge) != OX_OK)
            return OX_ERR_NOMEM;
    }
    return OX_OK;
}

/* Why there is no such function, or OX_OK. */
static ox_status oxi_check_function(const ox_function *function, ox_tensor *const *inputs, int input_count,
                                    ox_tensor *const *outputs, int output_count, ox_tensor *const *saved,
                                    int saved_count) {
    const char *name = "attach_function";
    if (!function || !function->backward) return oxi_fail(OX_ERR_ARG, "%s: no function", name);
    if (input_count < 0 || output_count < 1 || saved_count < 0)
        return oxi_fail(OX_ERR_ARG, "%s: %d inputs, %d outputs, %d saved", name, input_count, output_count,
                        saved_count);
    if (oxi_any_null(name, inputs, input_count) || oxi_any_null(name, outputs, output_count) ||
        oxi_any_null(name, saved, saved_count))
        return ox_error();
    for (int k = 0; k < output_count; k++) {
        const oxi_tape *tape = (const oxi_tape *)outputs[k]->tape;
        bool view = tape && tape->parent && tape->unrecorded && !tape->made.node && !tape->requires_grad;
        if ((tape && !view) || oxi_output_of(outputs[k], outputs, k) >= 0)
            return oxi_fail(OX_ERR_ARG, "%s: output %d is recorded already; compute it under OX_NO_GRAD "
                            "(ox_detach of an input)", name, k + 1);
    }
    return OX_OK;
}

OX_API ox_status ox_attach_function(const ox_function *function, void *user, ox_tensor *const *inputs,
                                    int input_count, ox_tensor *const *outputs, int output_count,
                                    ox_tensor *const *saved, int saved_count) {
    bool wants = false;
    ox_status status = oxi_check_function(function, inputs, input_count, outputs, output_count, saved,
                                          saved_count);
    oxi_node *node = NULL;
    if (status == OX_OK) {
        node = oxi_node_new(OXI_NODE_CUSTOM, input_count, output_count, saved_count);
        if (!node) status = OX_ERR_NOMEM;
    }
    if (!node) {
        if (function && function->drop) function->drop(user);
        return status;
    }
    node->function = function;
    node->user = user;
    status = oxi_custom_inputs(node, inputs, &wants);
    wants = wants && !oxi_grad_off;
    if (status == OX_OK && wants) status = oxi_custom_saves(node, outputs, saved);
    if (status == OX_OK && wants) status = oxi_custom_outputs(node, outputs);
    oxi_counted_drop(&node->counted);
    return status;
}
