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
 *     ox_llm_quantize       a GGUF file with smaller weights, by a mix of types such as "Q4_K_M"
 *     ox_llm_importance     how much each column of a weight matters: from a file, or heard while a text runs
 *
 * A PROMPT FROM MESSAGES
 *     ox_llm_template *t = ox_llm_template_open(chat_template, -1);      its Jinja source
 *     char *prompt = ox_llm_template_render(t, "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}],"
 *                                              " \"add_generation_prompt\": true}", -1, NULL, NULL);
 *     if (!prompt) puts(ox_error_text());                                line, column and what is wrong
 *     ox_llm_template_free(prompt);
 *     ox_llm_template_close(t);
 *
 * A MODEL WITH SMALLER WEIGHTS
 *     ox_llm_quantize_desc desc;
 *     memset(&desc, 0, sizeof desc);
 *     desc.mix = "Q4_K_M";
 *     if (ox_llm_quantize("model-f16.gguf", "model.gguf", &desc)) puts(ox_error_text());
 *
 * WHAT IT READS
 *     GGUF files of the architecture "llama" (LLaMA 1 to 3, TinyLlama, Mistral 7B and others that are stored
 *     as such), every float and block weight type that oxtorch.h reads; SentencePiece tokenizers.
 *
 * WHAT IT DOES NOT, and says so in words when it is asked to
 *     Other architectures, mixtures of experts, rope scaling other than linear and per-frequency factors,
 *     byte-level BPE tokenizers (LLaMA 3: ids work, text does not).
 */
#ifndef OX_TORCH_LLM_H
#define OX_TORCH_LLM_H

#include "oxtorch.h"
#include "llm/llm.h"
#include "llm/gguf/gguf_writer.h"
#include "llm/quantize/quantize.h"

#endif /* OX_TORCH_LLM_H */

#if defined(OX_IMPLEMENTATION) && !defined(OX_TORCH_LLM_IMPLEMENTED) && !defined(OX_NO_STDIO)
#define OX_TORCH_LLM_IMPLEMENTED

#include "llm/internal.h"
#include "llm/metadata.c"
#include "llm/vocabulary.c"
#include "llm/sentencepiece.c"
#include "llm/tokenizer.c"
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
#include "llm/model.c"
#include "llm/context.c"
#include "llm/generate.c"
#include "llm/gguf/gguf_writer.c"
#include "llm/quantize/blocks.c"
#include "llm/quantize/nonlinear.c"
#include "llm/quantize/tensor.c"
#include "llm/quantize/mixes.c"
#include "llm/quantize/importance.c"
#include "llm/quantize/collect.c"
#include "llm/quantize/quantize.c"

#endif
