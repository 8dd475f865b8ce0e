/* The dtypes: one table from which names, sizes, file ids and promotion follow.
 * A block type packs `elements` numbers of one row into `bytes` bytes (GGUF); plain types have one element
 * a block. A new dtype is a row here; then `grep OX_F8_E4M3` shows what else knows dtypes one by one:
 * conversion (tensor/, cpu/move/), promotion (ops/rules/promote.c), random bits, names in files,
 * shaders. */
#ifndef OX_TENSOR_DTYPE_H
#define OX_TENSOR_DTYPE_H

OX_EXTERN_C_BEGIN

/*    name       id  text      elements bytes  class     gguf safetensors  npy    */
#define OX_DTYPE_LIST(X) \
    X(OX_BOOL,    1, "bool",    1,   1,  OX_CLASS_BOOL,    -1, "BOOL",    "|b1") \
    X(OX_U8,      2, "u8",      1,   1,  OX_CLASS_INT,     -1, "U8",      "|u1") \
    X(OX_I8,      3, "i8",      1,   1,  OX_CLASS_INT,     24, "I8",      "|i1") \
    X(OX_U16,     4, "u16",     1,   2,  OX_CLASS_INT,     -1, "U16",     "<u2") \
    X(OX_I16,     5, "i16",     1,   2,  OX_CLASS_INT,     25, "I16",     "<i2") \
    X(OX_U32,     6, "u32",     1,   4,  OX_CLASS_INT,     -1, "U32",     "<u4") \
    X(OX_I32,     7, "i32",     1,   4,  OX_CLASS_INT,     26, "I32",     "<i4") \
    X(OX_U64,     8, "u64",     1,   8,  OX_CLASS_INT,     -1, "U64",     "<u8") \
    X(OX_I64,     9, "i64",     1,   8,  OX_CLASS_INT,     27, "I64",     "<i8") \
    X(OX_F16,    10, "f16",     1,   2,  OX_CLASS_FLOAT,    1, "F16",     "<f2") \
    X(OX_BF16,   11, "bf16",    1,   2,  OX_CLASS_FLOAT,   30, "BF16",    "")    \
    X(OX_F32,    12, "f32",     1,   4,  OX_CLASS_FLOAT,    0, "F32",     "<f4") \
    X(OX_F64,    13, "f64",     1,   8,  OX_CLASS_FLOAT,   28, "F64",     "<f8") \
    X(OX_C64,    14, "c64",     1,   8,  OX_CLASS_COMPLEX, -1, "C64",     "<c8") \
    X(OX_F8_E4M3,15, "f8_e4m3", 1,   1,  OX_CLASS_FLOAT,   -1, "F8_E4M3", "")    \
    X(OX_F8_E5M2,16, "f8_e5m2", 1,   1,  OX_CLASS_FLOAT,   -1, "F8_E5M2", "")    \
    X(OX_Q4_0,   17, "q4_0",    32,  18, OX_CLASS_BLOCK,    2, "", "") \
    X(OX_Q4_1,   18, "q4_1",    32,  20, OX_CLASS_BLOCK,    3, "", "") \
    X(OX_Q5_0,   19, "q5_0",    32,  22, OX_CLASS_BLOCK,    6, "", "") \
    X(OX_Q5_1,   20, "q5_1",    32,  24, OX_CLASS_BLOCK,    7, "", "") \
    X(OX_Q8_0,   21, "q8_0",    32,  34, OX_CLASS_BLOCK,    8, "", "") \
    X(OX_Q8_1,   22, "q8_1",    32,  36, OX_CLASS_BLOCK,    9, "", "") \
    X(OX_Q2_K,   23, "q2_k",   256,  84, OX_CLASS_BLOCK,   10, "", "") \
    X(OX_Q3_K,   24, "q3_k",   256, 110, OX_CLASS_BLOCK,   11, "", "") \
    X(OX_Q4_K,   25, "q4_k",   256, 144, OX_CLASS_BLOCK,   12, "", "") \
    X(OX_Q5_K,   26, "q5_k",   256, 176, OX_CLASS_BLOCK,   13, "", "") \
    X(OX_Q6_K,   27, "q6_k",   256, 210, OX_CLASS_BLOCK,   14, "", "") \
    X(OX_Q8_K,   28, "q8_k",   256, 292, OX_CLASS_BLOCK,   15, "", "") \
    X(OX_IQ2_XXS,29, "iq2_xxs",256,  66, OX_CLASS_BLOCK,   16, "", "") \
    X(OX_IQ2_XS, 30, "iq2_xs", 256,  74, OX_CLASS_BLOCK,   17, "", "") \
    X(OX_IQ3_XXS,31, "iq3_xxs",256,  98, OX_CLASS_BLOCK,   18, "", "") \
    X(OX_IQ1_S,  32, "iq1_s",  256,  50, OX_CLASS_BLOCK,   19, "", "") \
    X(OX_IQ4_NL, 33, "iq4_nl",  32,  18, OX_CLASS_BLOCK,   20, "", "") \
    X(OX_IQ3_S,  34, "iq3_s",  256, 110, OX_CLASS_BLOCK,   21, "", "") \
    X(OX_IQ2_S,  35, "iq2_s",  256,  82, OX_CLASS_BLOCK,   22, "", "") \
    X(OX_IQ4_XS, 36, "iq4_xs", 256, 136, OX_CLASS_BLOCK,   23, "", "") \
    X(OX_IQ1_M,  37, "iq1_m",  256,  56, OX_CLASS_BLOCK,   29, "", "") \
    X(OX_TQ1_0,  38, "tq1_0",  256,  54, OX_CLASS_BLOCK,   34, "", "") \
    X(OX_TQ2_0,  39, "tq2_0",  256,  66, OX_CLASS_BLOCK,   35, "", "") \
    X(OX_MXFP4,  40, "mxfp4",   32,  17, OX_CLASS_BLOCK,   39, "", "") \
    X(OX_NVFP4,  41, "nvfp4",   64,  36, OX_CLASS_BLOCK,   40, "", "") \
    X(OX_Q1_0,   42, "q1_0",   128,  18, OX_CLASS_BLOCK,   41, "", "") \
    X(OX_Q2_0,   43, "q2_0",    64,  18, OX_CLASS_BLOCK,   42, "", "")

typedef enum ox_dtype {
    OX_DTYPE_NONE = 0,
#define OXI_X(name, id, text, elements, bytes, cls, gguf, safetensors, npy) name = id,
    OX_DTYPE_LIST(OXI_X)
#undef OXI_X
    OX_DTYPE_COUNT
} ox_dtype;

typedef enum ox_dtype_class {
    OX_CLASS_NONE = 0, OX_CLASS_BOOL, OX_CLASS_INT, OX_CLASS_FLOAT, OX_CLASS_COMPLEX, OX_CLASS_BLOCK
} ox_dtype_class;

typedef struct ox_dtype_info {
    const char *name;            /* "f32" */
    int block_elements;          /* 1 for plain types */
    int block_bytes;             /* bytes of one block; of one element for plain types */
    ox_dtype_class cls;
    int gguf_id;                 /* -1 = not a GGUF type */
    const char *safetensors;     /* "" = not a safetensors type */
    const char *npy;             /* "" = not a NumPy type; little-endian descr */
} ox_dtype_info;

/* The table's row; a row named "none" for a value out of range, never NULL. */
OX_API const ox_dtype_info *ox_dtype_get_info(ox_dtype dtype);
OX_API const char *ox_dtype_name(ox_dtype dtype);
/* OX_DTYPE_NONE if no dtype has this name. */
OX_API ox_dtype ox_dtype_by_name(const char *name);
/* The dtype that holds both: torch.promote_types. OX_DTYPE_NONE where PyTorch refuses, and for block
 * types. */
OX_API ox_dtype ox_promote_types(ox_dtype a, ox_dtype b);

OX_EXTERN_C_END
#endif
