/* Connectionist temporal classification (Graves et al. 2006): the sum over all alignments of labels with
 * blanks between them, forward in time, in logarithms. */

/* Labels with blanks around each, [N, 2 S + 1], from targets [N, S] or one after the other
 * [sum of lengths]. */
static ox_tensor *oxi_ctc_labels(ox_tensor *targets, ox_tensor *lengths, int64_t samples, int64_t blank) {
    int64_t longest = targets->ndim == 2 ? targets->shape[1] : 0;
    if (targets->ndim == 1 && samples) longest = ox_item_int(ox_amax(lengths, OX_ALL_DIMS, false));
    ox_device *device = oxi_working_device(ox_device_of(targets));
    ox_tensor *labels =
        oxi_full("ctc_loss", OX_SHAPE(samples, 2 * longest + 1), (double)blank, OX_I64, device);
    if (!labels || longest == 0 || samples == 0) return labels;
    if (targets->ndim == 1) {
        ox_tensor *starts = ox_unsqueeze(ox_sub(ox_cumsum(lengths, 0), lengths), 1);
        ox_tensor *places = ox_add(starts, oxi_ramp_beside(targets, longest, OX_I64));
        places = ox_minimum(places, ox_integer(targets->shape[0] - 1)); /* beyond the end nobody looks */
        targets =
            ox_reshape(ox_index_select(targets, 0, ox_reshape(places, OX_SHAPE(-1))), OX_SHAPE(samples, -1));
    }
    return ox_copy_(ox_slice(labels, 1, 1, OX_END, 2), ox_cast(targets, OX_I64)) ? labels : NULL;
}

/* x [N, L] moved by `by` places to the right, -inf from the left. */
static ox_tensor *oxi_ctc_shifted(ox_tensor *x, int64_t by) {
    ox_tensor *parts[2];
    if (!x) return NULL;
    int64_t rest = x->shape[1] > by ? x->shape[1] - by : 0;
    parts[0] = oxi_constant_beside(x, OX_SHAPE(x->shape[0], x->shape[1] - rest), -INFINITY);
    parts[1] = ox_narrow(x, 1, 0, rest);
    return parts[0] && parts[1] ? ox_cat(parts, 2, 1) : NULL;
}

/* Minus the logarithm of each sample's probability, [N]; log_probs [T, N, C]. */
static ox_tensor *oxi_ctc_samples(ox_tensor *log_probs, ox_tensor *labels, ox_tensor *times,
                                  ox_tensor *lengths, int64_t blank) {
    int64_t width = labels->shape[1];
    ox_tensor *parts[2], *before;
    parts[0] = ox_full_like(ox_narrow(labels, 1, 0, width > 2 ? 2 : width), (double)blank);
    parts[1] = ox_narrow(labels, 1, 0, width > 2 ? width - 2 : 0);
    before = parts[0] && parts[1] ? ox_cat(parts, 2, 1) : NULL;
    ox_tensor *skips = ox_logical_and(ox_ne(labels, ox_integer(blank)), ox_ne(labels, before));
    ox_tensor *ramp = oxi_ramp_beside(labels, width, OX_I64), *state = NULL;
    for (int64_t t = 0; t < log_probs->shape[0]; t++) {
        ox_tensor *emitted = ox_gather(ox_select(log_probs, 0, t), 1, labels), *next;
        if (t == 0) {
            next = ox_where(ox_lt_number(ramp, 2), emitted, ox_number(-INFINITY));
        } else {
            next = ox_logaddexp(state, oxi_ctc_shifted(state, 1));
            next = ox_logaddexp(next, ox_where(skips, oxi_ctc_shifted(state, 2), ox_number(-INFINITY)));
            next = ox_add(next, emitted);
        }
        ox_tensor *runs = ox_unsqueeze(ox_gt_number(times, (double)t), 1);
        state =
            state ? ox_where(runs, next, state)
                  : ox_where(runs, next, ox_where(ox_eq_number(ramp, 0), ox_number(0), ox_number(-INFINITY)));
        if (!state) return NULL;
    }
    ox_tensor *last = ox_unsqueeze(ox_mul(lengths, ox_integer(2)), 1);
    ox_tensor *one = ox_gather(state, 1, last),
              *two = ox_gather(state, 1, ox_maximum(ox_sub(last, ox_integer(1)), ox_integer(0)));
    two = ox_where(ox_eq_number(last, 0), ox_number(-INFINITY), two);
    return ox_neg(ox_squeeze(ox_logaddexp(one, two), 1));
}

/* 0, whose gradient makes that of log_probs what it is behind a log_softmax, as torch's is. */
static ox_tensor *oxi_ctc_normalizer(ox_tensor *log_probs, ox_tensor *times) {
    ox_tensor *ramp = oxi_ramp_beside(log_probs, log_probs->shape[0], OX_I64);
    ox_tensor *runs = ox_unsqueeze(ox_lt(ox_unsqueeze(ramp, 1), times), 2);
    ox_tensor *sum = ox_sum(ox_where(runs, ox_exp(log_probs), ox_number(0)), OX_DIMS(0, 2), false);
    return ox_sub(sum, ox_detach(sum));
}

OX_API ox_tensor *ox_ctc_loss(ox_tensor *log_probs, ox_tensor *targets, ox_tensor *input_lengths,
                              ox_tensor *target_lengths, int64_t blank, ox_loss_reduction reduction,
                              bool zero_infinity) {
    ox_tensor *in[4] = {log_probs, targets, input_lengths, target_lengths};
    if (oxi_any_null("ctc_loss", in, 4)) return NULL;
    oxi_work work = oxi_work_begin("ctc_loss");
    bool single = log_probs->ndim == 2;
    ox_tensor *all = single ? ox_unsqueeze(log_probs, 1) : log_probs;
    ox_tensor *times = ox_reshape(ox_cast(input_lengths, OX_I64), OX_SHAPE(-1));
    ox_tensor *lengths = ox_reshape(ox_cast(target_lengths, OX_I64), OX_SHAPE(-1));
    if (!all || !times || !lengths) return oxi_work_end(&work, NULL);
    int64_t samples = all->ndim == 3 ? all->shape[1] : -1;
    if (all->ndim != 3 || times->shape[0] != samples || lengths->shape[0] != samples || targets->ndim > 2 ||
        targets->ndim < 1 || (targets->ndim == 2 && targets->shape[0] != samples) || blank < 0 ||
        blank >= all->shape[2] || all->shape[0] < 1) {
        (void)oxi_fail(OX_ERR_SHAPE, "ctc_loss: targets %s, lengths %s, %s, blank %lld of %s",
                       oxi_tensor_text(targets), oxi_tensor_text(input_lengths),
                       oxi_tensor_text(target_lengths), (long long)blank, oxi_tensor_text(log_probs));
        return oxi_work_end(&work, NULL);
    }
    ox_tensor *labels = oxi_ctc_labels(targets, lengths, samples, blank);
    ox_tensor *loss = labels ? oxi_ctc_samples(all, labels, times, lengths, blank) : NULL;
    if (zero_infinity && loss) loss = ox_where(ox_eq_number(loss, INFINITY), ox_number(0), loss);
    loss = ox_add(loss, oxi_ctc_normalizer(all, times));
    if (reduction == OX_LOSS_MEAN) loss = ox_div(loss, ox_maximum(lengths, ox_integer(1)));
    if (single && reduction == OX_LOSS_NONE) loss = ox_reshape(loss, OX_SCALAR_SHAPE);
    return oxi_loss_end(&work, loss, reduction);
}
