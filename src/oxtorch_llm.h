/* oxtorch_llm.h - 0.1.0 - language models from GGUF files, over oxtorch.h - SPDX-License-Identifier: MIT */
#ifndef OX_TORCH_LLM_H
#define OX_TORCH_LLM_H

#include "oxtorch.h"
#include "llm/llm.h"

#endif /* OX_TORCH_LLM_H */

#if defined(OX_IMPLEMENTATION) && !defined(OX_TORCH_LLM_IMPLEMENTED) && !defined(OX_NO_STDIO)
#define OX_TORCH_LLM_IMPLEMENTED

#include "llm/internal.h"
#include "llm/vocabulary.c"
#include "llm/spm.c"
#include "llm/tokenizer.c"
#include "llm/sampler.c"
#include "llm/model.c"
#include "llm/context.c"
#include "llm/generate.c"

#endif
