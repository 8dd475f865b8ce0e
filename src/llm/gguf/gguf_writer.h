/* GGUF files, written: the directory first, then tensors one at a time, so that a file may be larger than
 * memory. It appears under its name when it is whole. (Reading is oxtorch.h's: ox_file_open.) */
#ifndef OX_LLM_GGUF_WRITER_H
#define OX_LLM_GGUF_WRITER_H
#ifndef OX_NO_STDIO

OX_EXTERN_C_BEGIN

/* The numbers are the format's. */
typedef enum ox_gguf_type {
    OX_GGUF_U8 = 0,
    OX_GGUF_I8,
    OX_GGUF_U16,
    OX_GGUF_I16,
    OX_GGUF_U32,
    OX_GGUF_I32,
    OX_GGUF_F32,
    OX_GGUF_BOOL,
    OX_GGUF_STRING,
    OX_GGUF_ARRAY,
    OX_GGUF_U64,
    OX_GGUF_I64,
    OX_GGUF_F64
} ox_gguf_type;

/* A key and its value. */
typedef struct ox_gguf_pair {
    const char *key; /* UTF-8 */
    ox_gguf_type type, element; /* element: of an ARRAY */
    int64_t count;     /* ARRAY: elements; STRING: bytes, -1 = up to its final 0 */
    const void *value; /* the number, a bool, or the bytes of a STRING; an ARRAY's elements: numbers, bools,
                        * ox_string, or ox_gguf_pair without keys for ARRAYs */
} ox_gguf_pair;

typedef struct ox_gguf_desc {
    const ox_file *like;          /* its metadata comes first, but for keys of `pairs`; NULL = none */
    const ox_gguf_pair *pairs;    /* "general.alignment", a u32: where tensors may start; else that of `like`,
                                   * else 32 */
    int64_t pair_count;
    const ox_file_entry *entries; /* the tensors: name (at most 63 bytes), dtype, ndim (at most 4), shape */
    int64_t count;
} ox_gguf_desc;

typedef struct ox_gguf_writer ox_gguf_writer;
/* ox_gguf_writer_open - writes the directory; desc need not outlive the call.
 * errors    NULL: OX_ERR_ARG a name or key missing, twice or too long, a value that is not of its type;
 *           OX_ERR_SHAPE, OX_ERR_DTYPE; OX_ERR_UNSUPPORTED a dtype that the format lacks; OX_ERR_IO,
 *           OX_ERR_NOMEM
 * source    ggml docs/gguf.md, version 3 */
OX_API ox_gguf_writer *ox_gguf_writer_open(const char *path, const ox_gguf_desc *desc);
/* The next tensor of the directory, of any device and strides.
 * errors    OX_ERR_SHAPE, OX_ERR_DTYPE it is not what the directory says; the right one may follow.
 *           OX_ERR_ARG there is no next one; OX_ERR_IO, OX_ERR_NOMEM */
OX_API ox_status ox_gguf_writer_put(ox_gguf_writer *writer, ox_tensor *t);
/* Gives the file its name, if all tensors are in it; else drops it (OX_ERR_ARG, or the first error). */
OX_API ox_status ox_gguf_writer_close(ox_gguf_writer *writer);

OX_EXTERN_C_END
#endif
#endif
