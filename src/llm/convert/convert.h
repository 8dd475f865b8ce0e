/* Models of any source, written as one GGUF file: every fact and every tensor, whatever the architecture. */
#ifndef OX_LLM_CONVERT_H
#define OX_LLM_CONVERT_H
#ifndef OX_NO_STDIO

OX_EXTERN_C_BEGIN

typedef struct ox_llm_convert_desc {
    ox_dtype dtype; /* of matrices: OX_DTYPE_NONE = as they are stored; OX_F32, OX_F16, OX_BF16, OX_Q8_0. Rows
                       * that Q8_0's blocks do not divide become F16. Vectors, routers and position embeddings
                       * are F32 in every case; block types that are stored stay as they are */
    const char *name; /* general.name; NULL = the source's */
    /* Called before each tensor; false stops. */
    bool (*progress)(void *user, const char *tensor, int64_t done, int64_t count);
    void *user;
} ox_llm_convert_desc;

/* ox_llm_convert - writes a model as GGUF.
 *   from    a Hugging Face folder (config.json, safetensors), llama2.c's .bin, or a GGUF file
 *   to      path of the file; it appears when it is whole
 *   desc    NULL = zeroed
 * errors  OX_ERR_UNSUPPORTED a model type, a tensor or another dtype, by name; OX_ERR_FORMAT; OX_ERR_ARG the
 *         caller stopped it; OX_ERR_IO, OX_ERR_NOMEM. untrusted input: yes */
OX_API ox_status ox_llm_convert(const char *from, const char *to, const ox_llm_convert_desc *desc);

OX_EXTERN_C_END
#endif
#endif
