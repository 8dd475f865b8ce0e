/* oxtorch_llm.h - 0.1.0 - language models from GGUF files, over oxtorch.h - SPDX-License-Identifier: MIT
 *
 * DO THIS
 *     #define OX_IMPLEMENTATION        in exactly one source file, before the include
 *     #include "oxtorch_llm.h"         oxtorch.h lies beside it
 *     cc app.c -lm -lpthread
 *
 *     bool print(void *user, const char *bytes, int64_t length, int32_t token) {
 *         return fwrite(bytes, 1, (size_t)length, stdout) == (size_t)length;
 *     }
 *     ...
 *     ox_llm *model = ox_llm_open("model.gguf", NULL);                   weights stay in the mapped file
 *     ox_llm_context *context = ox_llm_context_open(model, NULL);        one text with its keys and values
 *     ox_llm_generate_desc desc;
 *     memset(&desc, 0, sizeof desc);                                     greedy, until the text ends
 *     desc.text = print;
 *     if (ox_llm_generate(context, "Once upon a time", &desc, NULL)) puts(ox_error_text());
 *     ox_llm_context_close(context);
 *     ox_llm_close(model);
 *
 * THE PARTS, each of use alone
 *     ox_tokenizer      text to ids and back
 *     ox_llm            the weights and sizes of a model; any number of contexts share one
 *     ox_llm_context    ox_llm_decode runs ids (a prompt in batches, or one by one) and gives logits
 *     ox_llm_template   chat templates: messages to a prompt
 *     ox_llm_sampler        logits to the next id: greedy, temperature, top_k, top_p, min_p
 *     ox_gguf_writer    GGUF files: metadata of every type, tensors of every dtype that the format has
 *
 * A PROMPT FROM MESSAGES
 *     ox_llm_template *t = ox_llm_template_open(chat_template, -1);      its Jinja source
 *     char *prompt = ox_llm_template_render(t, "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}],"
 *                                              " \"add_generation_prompt\": true}", -1, NULL, NULL);
 *     if (!prompt) puts(ox_error_text());                                line, column and what is wrong
 *     ox_llm_template_free(prompt);
 *     ox_llm_template_close(t);
 *
 * WHAT IT READS
 *     GGUF files of the architecture "llama" (LLaMA 1 to 3, TinyLlama, Mistral 7B and others that are stored
 *     as such), every float and block weight type that oxtorch.h reads. Tokenizers of GGUF files
 *     (SentencePiece, byte-level BPE, WordPiece, Unigram, RWKV) and of tokenizer.json files (Hugging Face).
 *
 * WHAT IT DOES NOT, and says so in words when it is asked to
 *     Other architectures, mixtures of experts, rope scaling other than linear and per-frequency factors,
 *     tokenizers of the kind plamo2, patterns with back references.
 */
#ifndef OX_TORCH_LLM_H
#define OX_TORCH_LLM_H

#include "oxtorch.h"
#include "llm/llm.h"
#include "llm/gguf/gguf_writer.h"

#endif /* OX_TORCH_LLM_H */

#if defined(OX_IMPLEMENTATION) && !defined(OX_TORCH_LLM_IMPLEMENTED) && !defined(OX_NO_STDIO)
#define OX_TORCH_LLM_IMPLEMENTED

#include "llm/unicode/unicode.h"
#include "llm/tokenizer/pattern/trie.h"
#include "llm/tokenizer/pattern/pattern.h"
#include "llm/tokenizer/tokenizer.h"
#include "llm/internal.h"
#include "llm/metadata.c"
#include "llm/unicode/utf8.c"
#include "llm/unicode/unicode.c"
#include "llm/sampler.c"
#include "llm/template/template.h"
#include "llm/template/values/memory.c"
#include "llm/template/values/unicode.c"
#include "llm/template/values/value.c"
#include "llm/template/values/text.c"
#include "llm/template/syntax/lexer.c"
#include "llm/template/syntax/parse_expression.c"
#include "llm/template/syntax/parse_statement.c"
#include "llm/template/call.c"
#include "llm/template/operators.c"
#include "llm/template/values/format.c"
#include "llm/template/library/filters.c"
#include "llm/template/library/filters_sequence.c"
#include "llm/template/library/tests.c"
#include "llm/template/library/methods.c"
#include "llm/template/library/globals.c"
#include "llm/template/run.c"
#include "llm/template/template.c"
#include "llm/tokenizer/pattern/trie.c"
#include "llm/tokenizer/pattern/pattern.c"
#include "llm/tokenizer/pattern/compile.c"
#include "llm/tokenizer/pattern/match.c"
#include "llm/tokenizer/vocabulary.c"
#include "llm/tokenizer/work.c"
#include "llm/tokenizer/normalizers.c"
#include "llm/tokenizer/pre_tokenizers.c"
#include "llm/tokenizer/models/bpe.c"
#include "llm/tokenizer/models/sentencepiece.c"
#include "llm/tokenizer/models/words.c"
#include "llm/tokenizer/models/unigram.c"
#include "llm/tokenizer/models/rows.c"
#include "llm/tokenizer/decoders.c"
#include "llm/tokenizer/sources/json_steps.c"
#include "llm/tokenizer/post_processors.c"
#include "llm/tokenizer/encode.c"
#include "llm/tokenizer/sources/json.c"
#include "llm/tokenizer/sources/gguf_pre.c"
#include "llm/tokenizer/sources/gguf.c"
#include "llm/tokenizer/tokenizer.c"
#include "llm/tokenizer/facts.h"
#include "llm/tokenizer/facts.c"
#include "llm/model.c"
#include "llm/context.c"
#include "llm/generate.c"
#include "llm/gguf/gguf_writer.c"

#endif
