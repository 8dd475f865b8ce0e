/* The metadata of a GGUF file for a tokenizer of a tokenizer.json: tokenizer.ggml.model, pre, tokens,
 * token_type, scores, merges, ids of special tokens, flags. Called by what converts models. */
#ifndef OX_LLM_TOKENIZER_FACTS_H
#define OX_LLM_TOKENIZER_FACTS_H

typedef struct oxi_tokenizer_fact_list {
    ox_gguf_pair *pairs;
    size_t count, room;
    void **blocks; /* what the values lie in */
    size_t *block_bytes;
    size_t block_count, block_room, block_bytes_room;
    int64_t tokens; /* that are listed: unused ones make up for further rows of the embedding */
} oxi_tokenizer_fact_list;

/* The list is zeroed; `rows` is what the embedding has, 0 = it is not known. Its values last until it is
 * freed or the tokenizer closed. OX_ERR_UNSUPPORTED: no kind of GGUF, or no name of a pre-tokenizer, stands
 * for it. oxi_tokenizer_facts_free is due in any case.
 * source llama.cpp, conversion/base.py */
static ox_status oxi_tokenizer_facts(const ox_tokenizer *tokenizer, int64_t rows,
                                     oxi_tokenizer_fact_list *out);
static void oxi_tokenizer_facts_free(oxi_tokenizer_fact_list *list);

#endif
