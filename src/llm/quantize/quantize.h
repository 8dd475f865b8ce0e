/* Models in smaller types: GGUF files quantized tensor by tensor, as a named mix of types says, and
 * importance matrices, which say how much the columns of a weight matter.
 * A file appears under its name when it is whole. */
#ifndef OX_LLM_QUANTIZE_H
#define OX_LLM_QUANTIZE_H
#ifndef OX_NO_STDIO

OX_EXTERN_C_BEGIN

/* ---- importance: what a model's products multiply their weights with ------------------------------------
 * For each weight [.., columns] the mean of the squares of its inputs, column by column, over a text.
 * Matrices of experts, and of heads, have theirs each by itself; one that nothing went to is written as if
 * all of its columns were alike. */

typedef struct ox_llm_importance ox_llm_importance;

/* ox_llm_importance_open - from a file: GGUF as llama-imatrix writes it (NAME.in_sum2, NAME.counts), or that
 * program's older format.
 * errors    NULL: OX_ERR_IO; OX_ERR_FORMAT no such file, sizes that contradict, sums that are negative or not
 *           finite, a name twice; OX_ERR_NOMEM. untrusted input: yes */
OX_API ox_llm_importance *ox_llm_importance_open(const char *path);
/* ox_llm_importance_collect - listens to the products of a model's layers from now on, whatever context and
 * thread makes them, until ox_llm_importance_stop. Runs slower meanwhile. The model stays open.
 * errors    NULL: OX_ERR_NOMEM; OX_ERR_UNSUPPORTED too many listeners */
OX_API ox_llm_importance *ox_llm_importance_collect(ox_llm *model);
/* errors    what went wrong while it listened: OX_ERR_NOMEM, OX_ERR_FORMAT inputs that are not finite */
OX_API ox_status ox_llm_importance_stop(ox_llm_importance *importance);
/* ox_llm_importance_save - as GGUF, which llama-quantize and ox_llm_quantize read.
 *   dataset   what text it was, by name; NULL = not said
 *   chunk     tokens that were run at once; 0 = not known: 512
 * errors    as ox_gguf_writer_open; OX_ERR_ARG nothing was heard */
OX_API ox_status ox_llm_importance_save(const ox_llm_importance *importance, const char *path,
                                        const char *dataset, int64_t chunk);
OX_API void ox_llm_importance_close(ox_llm_importance *importance); /* stops it, too */

/* ---- tensors ------------------------------------------------------------------------------------------- */

/* ox_llm_quantize_tensor - x as blocks, whose scales are searched for.
 * shapes      x [.., columns]; columns a multiple of the type's block. A new tensor on the CPU
 * dtypes      x of floats or blocks; dtype: Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K .. Q6_K IQ4_NL IQ4_XS MXFP4 TQ1_0
 *             TQ2_0; or F32 F16 BF16, which are plain casts
 *   importance  NULL, or how much an error in each column counts, >= 0: [columns], or with `matrices` above 1
 *               [matrices, columns], x's rows being those of so many matrices (experts)
 * errors      OX_ERR_SHAPE, OX_ERR_DTYPE, OX_ERR_ARG, OX_ERR_UNSUPPORTED another type; OX_ERR_NOMEM
 * numerics    Q4_0 to Q8_0 without importance, MXFP4 and TQ: ggml's formulas, byte for byte. The others: no
 *             larger errors than ggml's. With importance, errors are weighted with it and with the root of
 *             x^2 and a mean of it, as ggml does. A block that is not finite is NaN (MXFP4: infinite)
 * source      the weights and the steps of scales that are tried: ggml-quants.c */
OX_API ox_tensor *ox_llm_quantize_tensor(ox_tensor *x, ox_dtype dtype, const float *importance,
                                         int64_t matrices);

/* ---- files --------------------------------------------------------------------------------------------- */

/* A type for tensors by name. */
typedef struct ox_llm_quantize_rule {
    const char *pattern; /* part of the name; '*' = any bytes, '?' = any one, '^' and '$' = start and end */
    ox_dtype dtype;
} ox_llm_quantize_rule;

/* What was done with a tensor. */
typedef struct ox_llm_quantize_step {
    const char *name;
    int64_t index, count; /* from 0; tensors of the file */
    ox_dtype from, to;
    int64_t from_bytes, to_bytes;
    bool weighted; /* its importance was known */
} ox_llm_quantize_step;

typedef struct ox_llm_quantize_desc {
    const char *mix; /* as llama-quantize names them: "Q4_K_M" (ox_llm_quantize_mix), or "q4_k_m" */
    const ox_llm_importance *importance; /* NULL = none */
    const char *importance_name;         /* its file, for the metadata; NULL = not said */
    const ox_llm_quantize_rule *rules;   /* the first that fits goes before the mix */
    int64_t rule_count;
    ox_dtype output, embedding; /* types of output.weight and of the token embeddings; 0 = as the mix says */
    bool pure;                  /* the mix's main type for all matrices */
    bool keep_output;           /* output.weight stays as it is */
    bool requantize;            /* block types may become others; else that is an error */
    /* Called after each tensor; false ends it: OX_ERR_ARG, and no file. */
    bool (*progress)(void *user, const ox_llm_quantize_step *step);
    void *user;
} ox_llm_quantize_desc;

/* ox_llm_quantize - writes GGUF file `to`: what is in `from`, with matrices in smaller types.
 * The types are chosen as llama-quantize chooses them: by the mix, a tensor's role, its layer and what the
 * model is like; where rows are no multiple of a type's block, a type with smaller blocks takes its place.
 * Norms, biases and small tables stay as they are. All of ox_threads() work; memory: one tensor of `to` and
 * a piece of one of `from`.
 * errors    OX_ERR_ARG no such mix; OX_ERR_UNSUPPORTED a type that is not written (IQ1 to IQ3), requantizing
 *           without desc->requantize, a part of a split file; OX_ERR_FORMAT importance of another size;
 *           OX_ERR_NOT_FOUND importance is missing where a mix needs it; what reading and writing report.
 *           There is no file `to` then, or the old one. untrusted input: yes
 * source    llama.cpp, src/llama-quant.cpp */
OX_API ox_status ox_llm_quantize(const char *from, const char *to, const ox_llm_quantize_desc *desc);
/* The names of mixes, from 0; NULL = no more. */
OX_API const char *ox_llm_quantize_mix(int64_t index);

OX_EXTERN_C_END
#endif
#endif
