/* Sources of language models: facts (metadata) and tensors under GGUF's names, whatever they are stored in.
 * A GGUF file is one as it is; a Hugging Face folder and llama2.c's .bin become one by tables (keys.def,
 * names.def): an ox_file whose tensors are made when they are asked for. Used by the model and
 * ox_llm_convert. */
/* WORDS OF THIS FOLDER
 *     source       an open model: GGUF keys and GGUF tensor names, with values and tensors
 *     fact         a pair of the metadata: GGUF key and value
 *     group        Hugging Face model types that share names of tensors
 *     transform    what is done to a stored tensor to be the one that GGUF has: permute, transpose, stack */
#ifndef OX_LLM_SOURCE_H
#define OX_LLM_SOURCE_H
#ifndef OX_NO_STDIO

typedef struct oxi_llm_source oxi_llm_source;

/* A .gguf file, a Hugging Face folder (or its config.json), or llama2.c's .bin; told by what is there. device
 * NULL = CPU. Tensors that need no transform lie in the mapped file, or are regions of it on a stream.
 * errors    NULL: those of ox_file_open; OX_ERR_FORMAT a bad or missing value of config.json, with its name;
 *           OX_ERR_UNSUPPORTED a model_type, or a tensor, that no row of the tables knows, by name.
 *           untrusted input: yes */
static oxi_llm_source *oxi_llm_source_open(const char *path, ox_device *device);
/* A GGUF file that is open already; the source takes a reference, so the caller may close his. */
static oxi_llm_source *oxi_llm_source_of_file(ox_file *file);
static void oxi_llm_source_close(oxi_llm_source *source); /* tensors taken from it live on */

/* Everything below in the form of an ox_file, for code that reads one: valid like the source. Its format is
 * "gguf", "huggingface" or "llama2.c". */
static ox_file *oxi_llm_source_file(const oxi_llm_source *s);

/* ---- facts: key to value; type OX_FILE_META_NONE = not there ------------------------------------------- */

static ox_file_meta oxi_llm_source_find(const oxi_llm_source *s, const char *key);
static ox_file_meta oxi_llm_source_element(const oxi_llm_source *s, const ox_file_meta *array, int64_t i);
static int64_t oxi_llm_source_meta_count(const oxi_llm_source *s);
static ox_file_meta oxi_llm_source_meta_at(const oxi_llm_source *s, int64_t i);

/* ---- tensors, in the library's order of shape (rows, columns) ------------------------------------------ */

static bool oxi_llm_source_has(const oxi_llm_source *s, const char *tensor);
/* Owned like any result. OX_ERR_NOT_FOUND; what reading and transforming it reports. */
static ox_tensor *oxi_llm_source_tensor(oxi_llm_source *s, const char *tensor);
static int64_t oxi_llm_source_count(const oxi_llm_source *s);
static const char *oxi_llm_source_name(const oxi_llm_source *s, int64_t i); /* NULL out of range */
/* Name, dtype and shape without making the tensor. */
static ox_status oxi_llm_source_entry(const oxi_llm_source *s, int64_t i, ox_file_entry *out);

/* ---- texts of a folder --------------------------------------------------------------------------------- */

typedef enum oxi_llm_source_text_kind {
    OXI_LLM_SOURCE_CONFIG = 0,       /* config.json */
    OXI_LLM_SOURCE_TOKENIZER,        /* tokenizer.json; of GGUF: tokenizer.huggingface.json */
    OXI_LLM_SOURCE_TOKENIZER_CONFIG, /* tokenizer_config.json */
    OXI_LLM_SOURCE_TEXT_COUNT
} oxi_llm_source_text_kind;

/* data NULL = there is none. Valid like the source. (The chat template is the fact
 * tokenizer.chat_template.) */
static ox_string oxi_llm_source_text(const oxi_llm_source *s, oxi_llm_source_text_kind which);

#endif
#endif
