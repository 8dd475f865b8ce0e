/* Sequences of several lengths as one tensor: torch.nn.utils.rnn's packed sequences, and recurrent nets over
 * them, which compute no step of padding.
 *     ox_packed p = ox_pack_padded_sequence(x, lengths, true, false);
 *     ox_tuple y = ox_lstm_packed(&p, states, 2, params, 4, true, 1, 0, false, false);
 *     ox_packed out = ox_packed_with(&p, y.t[0]);
 *     ox_tuple padded = ox_pad_packed_sequence(&out, true, 0, 0);
 * layout    the first step of all sequences, longest first, the second of those that have one, ..
 * memory    the tensors belong to the scope, as results do; batch_sizes and indices are i64 on the CPU
 * gradients through data, of any order
 * errors    OX_ERR_SHAPE; OX_ERR_ARG lengths that are not 1 .. T, or not sorted where that is enforced. Then
 *           data is NULL, and such a value is refused without another error
 * source    torch.nn.utils.rnn */
#ifndef OX_NN_PACKED_H
#define OX_NN_PACKED_H

OX_EXTERN_C_BEGIN

typedef struct ox_packed {
    ox_tensor *data;             /* [sum of lengths, ..] */
    ox_tensor *batch_sizes;      /* [T]: how many sequences have a step t */
    ox_tensor *sorted_indices;   /* [N]: which sequence is the longest, the next ..; NULL: as they come */
    ox_tensor *unsorted_indices; /* [N]: the way back, or NULL */
} ox_packed;

/* x [T,N,..], [N,T,..] if batch_first, of which the first lengths[n] steps count; lengths [N] integers.
 * enforce_sorted: lengths must not rise, and nothing is sorted (torch's default). */
OX_API ox_packed ox_pack_padded_sequence(ox_tensor *x, ox_tensor *lengths, bool batch_first,
                                         bool enforce_sorted);
/* Of a list of sequences [T_n, ..]. */
OX_API ox_packed ox_pack_sequence(ox_tensor *const *list, int count, bool enforce_sorted);
/* p with other data, as a layer makes it. */
OX_API ox_packed ox_packed_with(const ox_packed *p, ox_tensor *data);
/* t[0] [T,N,..] (batch_first: [N,T,..]) with `value` where a sequence is over, t[1] lengths [N] i64, both in
 * the order of before. total: T, at least the longest; 0: that. */
OX_API ox_tuple ox_pad_packed_sequence(const ox_packed *p, bool batch_first, double value, int64_t total);

/* Sequences [T_n, ..] side by side: [T,N,..] or [N,T,..], `value` behind them (side NULL or "right") or
 * before ("left"). */
OX_API ox_tensor *ox_pad_sequence(ox_tensor *const *list, int count, bool batch_first, double value,
                                  const char *side);
/* Back: views into out[room], as ox_split; lengths [N]. */
OX_API int64_t ox_unpad_sequence(ox_tensor *padded, ox_tensor *lengths, bool batch_first, ox_tensor **out,
                                 int64_t room);

/* As ox_lstm and the others (recurrent.h), of packed sequences: t[0] is the data of a packed sequence like p;
 * states [L D,N,H], given and last, are in the order of before, the last ones each sequence's own. */
OX_API ox_tuple ox_lstm_packed(const ox_packed *p, ox_tensor *const *states, int state_count,
                               ox_tensor *const *params, int param_count, bool has_biases, int64_t layers,
                               double dropout, bool train, bool bidirectional);
OX_API ox_tuple ox_gru_packed(const ox_packed *p, ox_tensor *h, ox_tensor *const *params, int param_count,
                              bool has_biases, int64_t layers, double dropout, bool train,
                              bool bidirectional);
OX_API ox_tuple ox_rnn_tanh_packed(const ox_packed *p, ox_tensor *h, ox_tensor *const *params,
                                   int param_count, bool has_biases, int64_t layers, double dropout,
                                   bool train, bool bidirectional);
OX_API ox_tuple ox_rnn_relu_packed(const ox_packed *p, ox_tensor *h, ox_tensor *const *params,
                                   int param_count, bool has_biases, int64_t layers, double dropout,
                                   bool train, bool bidirectional);

OX_EXTERN_C_END
#endif
