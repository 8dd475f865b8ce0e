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
 *     ox_llm_context    ox_llm_decode runs ids (a prompt in batches, or one by one) and gives logits;
 *                       ox_llm_encode reads the text that a T5 answers
 *     ox_llm_template   chat templates: messages to a prompt
 *     ox_llm_reply      what the model said, back to a message: content, reasoning, tool calls
 *     ox_llm_sampler        logits to the next id: greedy, temperature, top_k, top_p, min_p
 *     ox_gguf_writer    GGUF files: metadata of every type, tensors of every dtype that the format has
 *     ox_llm_quantize       a GGUF file with smaller weights, by a mix of types such as "Q4_K_M"
 *     ox_llm_importance     how much each column of a weight matters: from a file, or heard while a text runs
 *     ox_llm_convert    models of Hugging Face folders and of llama2.c as GGUF files, some sixty model types
 *
 * A PROMPT FROM MESSAGES
 *     ox_llm_template *t = ox_llm_template_open(chat_template, -1);      its Jinja source
 *     char *prompt = ox_llm_template_render(t, "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}],"
 *                                              " \"add_generation_prompt\": true}", -1, NULL, NULL);
 *     if (!prompt) puts(ox_error_text());                                line, column and what is wrong
 *     ox_llm_template_free(prompt);
 *     ox_llm_template_close(t);
 *
 * AND BACK
 *     ox_llm_reply_desc reply_desc;
 *     memset(&reply_desc, 0, sizeof reply_desc);
 *     reply_desc.source = chat_template;                                 it decides the format
 *     reply_desc.prompt = prompt;                                        its end may have begun the reasoning
 *     ox_llm_reply *reply = ox_llm_reply_open(&reply_desc);
 *     ox_llm_reply_feed(reply, bytes, length);                           piece by piece, as the text comes
 *     ox_llm_reply_end(reply);
 *     puts(ox_llm_reply_message(reply, NULL));                           JSON for the next "messages"
 *     ox_llm_reply_close(reply);
 *     A callback gets content, reasoning and the names and arguments of tool calls as they come, and nothing
 *     of the marks around them. Formats: Hermes and Qwen, Qwen3-Coder, Llama 3, Mistral, DeepSeek, GLM, Kimi,
 *     MiniMax, GPT-OSS, Command, Granite, Gemma, Functionary and others (ox_llm_reply_format_name).
 *
 * A MODEL WITH SMALLER WEIGHTS
 *     ox_llm_quantize_desc desc;
 *     memset(&desc, 0, sizeof desc);
 *     desc.mix = "Q4_K_M";
 *     if (ox_llm_quantize("model-f16.gguf", "model.gguf", &desc)) puts(ox_error_text());
 *
 * WHAT IT READS
 *     GGUF files, Hugging Face folders as they are (config.json, safetensors, tokenizer.json), llama2.c's
 *     .bin;
 *     157 architectures (src/llm/model/families.def): LLaMA, Mistral, Mixtral, Phi, Gemma, Qwen,
 *     DeepSeek, GPT-OSS, GPT-2, GPT-NeoX, BLOOM, Falcon, MPT, StarCoder, StableLM, OLMo, Granite, Command-R,
 *     GLM, EXAONE, Nemotron, MiniCPM, LLaMA 4, Mamba, RWKV 6 and 7 and others; BERT and its kin as encoders;
 *     T5, an encoder and a decoder (ox_llm_encode). Every float and block weight type that oxtorch.h reads.
 *     Tokenizers: SentencePiece, byte-level BPE, WordPiece, Unigram, RWKV.
 *
 * WHAT IT DOES NOT, and says so in words when it is asked to
 *     Images and sound. Attention to the best positions alone (DeepSeek V3.2 and V4, GLM 5 ...): contexts of
 *     such models hold as many positions as those are at most, where it makes no difference.
 */
#ifndef OX_TORCH_LLM_H
#define OX_TORCH_LLM_H

#include "oxtorch.h"
#include "llm/llm.h"
#include "llm/chat/reply.h"
#include "llm/gguf/gguf_writer.h"
#include "llm/convert/convert.h"
#include "llm/quantize/quantize.h"

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
#include "llm/template/library/filters_text.c"
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
#include "llm/tokenizer/models/plamo.c"
#include "llm/tokenizer/models/rows.c"
#include "llm/tokenizer/decoders.c"
#include "llm/tokenizer/sources/json_steps.c"
#include "llm/tokenizer/post_processors.c"
#include "llm/tokenizer/encode.c"
#include "llm/tokenizer/sources/json.c"
#include "llm/tokenizer/sources/gguf_pre.c"
#include "llm/tokenizer/sources/gguf.c"
#include "llm/tokenizer/tokenizer.c"
#include "llm/tokenizer/stream.c"
#include "llm/tokenizer/facts.h"
#include "llm/tokenizer/facts.c"
#include "llm/source/source.h"
#include "llm/source/internal.h"
#include "llm/source/config.c"
#include "llm/source/facts.c"
#include "llm/source/rope.c"
#include "llm/source/names.c"
#include "llm/source/shapes.c"
#include "llm/source/transform.c"
#include "llm/source/modules.c"
#include "llm/source/folder.c"
#include "llm/source/bin.c"
#include "llm/source/source.c"
#include "llm/model/model.h"
#include "llm/model/activations.c"
#include "llm/model/facts.c"
#include "llm/model/mixers.c"
#include "llm/model/grams.c"
#include "llm/model/config.c"
#include "llm/model/parts.c"
#include "llm/model/dense.c"
#include "llm/model/weights.c"
#include "llm/model/model.c"
#include "llm/context/context.h"
#include "llm/context/product.c"
#include "llm/context/attention/bias.c"
#include "llm/context/feed_forward.c"
#include "llm/context/attention/heads.c"
#include "llm/context/attention/sparse.c"
#include "llm/context/recurrent/recurrence.c"
#include "llm/context/attention/compressed.c"
#include "llm/context/attention/attention.c"
#include "llm/context/recurrent/mixers.c"
#include "llm/context/recurrent/rwkv.c"
#include "llm/context/residual.c"
#include "llm/context/grams.c"
#include "llm/context/inputs.c"
#include "llm/context/alternate.c"
#include "llm/context/forward.c"
#include "llm/context/context.c"
#include "llm/context/embed.c"
#include "llm/context/encode.c"
#include "llm/chat/chat.h"
#include "llm/chat/formats.c"
#include "llm/chat/json_steps.c"
#include "llm/chat/literals.c"
#include "llm/chat/calls.c"
#include "llm/chat/reply.c"
#include "llm/chat/message.c"
#include "llm/generate.c"
#include "llm/gguf/gguf_writer.c"
#include "llm/convert/convert.c"
#include "llm/quantize/blocks.c"
#include "llm/quantize/nonlinear.c"
#include "llm/quantize/tensor.c"
#include "llm/quantize/mixes.c"
#include "llm/quantize/importance.c"
#include "llm/quantize/collect.c"
#include "llm/quantize/quantize.c"

#endif
