/* Recurrent nets: torch's lstm, gru, rnn_tanh, rnn_relu and their cells, by name, meaning and order of
 * weights.
 *     lstm  i, f, g, o = W x + b + U h + d;  c = sigmoid(f) c + sigmoid(i) tanh(g);  h = sigmoid(o) tanh(c)
 *     gru   r, z = sigmoid(W x + b + U h + d);  n = tanh(W x + b + r (U h + d));  h = (1 - z) n + z h
 *     rnn   h = tanh or relu of W x + b + U h + d
 * shapes    x [T,N,I], [N,T,I] if batch_first, or one sequence [T,I] -> [T,N,D H] ..; states [L D,N,H] of L
 *           layers, D directions (one sequence: [L D,H])
 * params    of each layer, of each direction: W [G H,I], U [G H,H] and, if has_biases, b and d [G H], G
 *           gates; lstm with a last weight [P,H]: h is projected by it, and has P numbers
 * dropout   between the layers, if train
 * results   the outputs of the last layer, forward beside backward; the last state of each layer and
 *           direction (lstm: h and c)
 * a product for all times and one a step, behind which f32, f16 and bf16 take all gates of a sample in one
 * pass; f64 is made of other functions. Any strides, any device, gradients of any order. Sequences of several
 * lengths: packed.h.
 * errors    OX_ERR_SHAPE, OX_ERR_ARG counts that do not fit
 * source    torch.lstm; Hochreiter & Schmidhuber 1997, Cho et al. 2014 */
#ifndef OX_NN_RECURRENT_H
#define OX_NN_RECURRENT_H

OX_EXTERN_C_BEGIN

/* states: h and c. t[0] outputs, t[1] h, t[2] c */
OX_API ox_tuple ox_lstm(ox_tensor *x, ox_tensor *const *states, int state_count, ox_tensor *const *params,
                        int param_count, bool has_biases, int64_t layers, double dropout, bool train,
                        bool bidirectional, bool batch_first);
/* t[0] outputs, t[1] h */
OX_API ox_tuple ox_gru(ox_tensor *x, ox_tensor *h, ox_tensor *const *params, int param_count,
                       bool has_biases, int64_t layers, double dropout, bool train, bool bidirectional,
                       bool batch_first);
OX_API ox_tuple ox_rnn_tanh(ox_tensor *x, ox_tensor *h, ox_tensor *const *params, int param_count,
                            bool has_biases, int64_t layers, double dropout, bool train, bool bidirectional,
                            bool batch_first);
OX_API ox_tuple ox_rnn_relu(ox_tensor *x, ox_tensor *h, ox_tensor *const *params, int param_count,
                            bool has_biases, int64_t layers, double dropout, bool train, bool bidirectional,
                            bool batch_first);
/* One step: x [N,I] or [I], states as x; b and d may be NULL. lstm_cell gives h and c. */
OX_API ox_tuple ox_lstm_cell(ox_tensor *x, ox_tensor *const *states, int state_count, ox_tensor *w,
                             ox_tensor *u, ox_tensor *b, ox_tensor *d);
OX_API ox_tensor *ox_gru_cell(ox_tensor *x, ox_tensor *h, ox_tensor *w, ox_tensor *u, ox_tensor *b,
                              ox_tensor *d);
OX_API ox_tensor *ox_rnn_tanh_cell(ox_tensor *x, ox_tensor *h, ox_tensor *w, ox_tensor *u, ox_tensor *b,
                                   ox_tensor *d);
OX_API ox_tensor *ox_rnn_relu_cell(ox_tensor *x, ox_tensor *h, ox_tensor *w, ox_tensor *u, ox_tensor *b,
                                   ox_tensor *d);

OX_EXTERN_C_END
#endif
