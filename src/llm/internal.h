/* What the parts of the llm room share: metadata, and why an operation failed. (Tokenizers: tokenizer/;
 * models: model/; texts that run: context/.) Included before the .c parts of the room. */
/* WORDS OF THIS ROOM
 *     context        one text with its keys and values; position: a place in it; capacity: how many it holds
 *     prefill        to run the tokens of a prompt, `batch` at a time; decode: one token after another */
#ifndef OX_LLM_INTERNAL_H
#define OX_LLM_INTERNAL_H

enum { OXI_LLM_DENSE_MOST = 4 }; /* products behind a model */

/* ---- metadata (metadata.c) ----------------------------------------------------------------------------- */

/* A whole number in [low, high] under `key`. A missing key gives `otherwise`, or OX_ERR_NOT_FOUND if that is
 * below low. OX_ERR_FORMAT for another type or a number out of range. */
static ox_status oxi_llm_meta_int(const ox_file *file, const char *key, int64_t low, int64_t high,
                                  int64_t otherwise, int64_t *out);
static ox_status oxi_llm_meta_bool(const ox_file *file, const char *key, bool otherwise, bool *out);
static bool oxi_llm_text_is(ox_string text, const char *expected);
/* Text from a file, cut to fit and safe to print. */
static void oxi_llm_copy_text(ox_string text, char *out, size_t room);

/* Why an operation gave NULL. */
static ox_status oxi_llm_error(void);

#endif
