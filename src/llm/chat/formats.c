/* The formats in which models write reasoning and tool calls: for each a table of its marks.
 * A new format is a table and a row; the first row whose signs are all in a template's source is its format.
 * Called when a reply is opened.
 * source    templates and model cards of the publishers named; llama.cpp, common/chat.cpp, common/parsers */

#define OXI_REPLY_THINKS(open, close)                                                            \
    {OXI_REPLY_START, open, OXI_REPLY_THINK, 0}, {OXI_REPLY_START, close, OXI_REPLY_START, 0}, { \
        OXI_REPLY_THINK, close, OXI_REPLY_START, 0                                               \
    }
#define OXI_REPLY_END \
    { 0, NULL, 0, 0 }

static const oxi_reply_mark oxi_reply_plain[] = {OXI_REPLY_END};

static const oxi_reply_mark oxi_reply_think[] = {OXI_REPLY_THINKS("<think>", "</think>"), OXI_REPLY_END};

/* Hermes 2 and 3, Qwen 2.5 and 3, MiMo, Granite 4 and many others. */
static const oxi_reply_mark oxi_reply_hermes[] = {
    OXI_REPLY_THINKS("<think>", "</think>"),
    {OXI_REPLY_ANY, "<tool_call>", OXI_REPLY_CALLS, 0},
    {OXI_REPLY_AFTER, "</tool_call>", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_ANY, "<function=", OXI_REPLY_NAME, 0}, /* as some of these models write it */
    {OXI_REPLY_NAME, ">", OXI_REPLY_ARGUMENTS, 0},
    {OXI_REPLY_AFTER, "</function>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

/* Qwen3-Coder, Nemotron 3, Step 3.5: <function=name><parameter=key>value</parameter></function>. */
static const oxi_reply_mark oxi_reply_qwen_coder[] = {
    OXI_REPLY_THINKS("<think>", "</think>"),
    {OXI_REPLY_ANY, "<tool_call>", OXI_REPLY_OPEN, 0},
    {OXI_REPLY_ANY | OXI_REPLY_OPEN, "<function=", OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME, ">", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "<parameter=", OXI_REPLY_KEY, 0},
    {OXI_REPLY_KEY, ">", OXI_REPLY_VALUE, 0},
    {OXI_REPLY_VALUE, "</parameter>", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "</function>", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_AFTER, "</tool_call>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_seed[] = {
    OXI_REPLY_THINKS("<seed:think>", "</seed:think>"),
    {OXI_REPLY_ANY, "<seed:tool_call>", OXI_REPLY_OPEN, 0},
    {OXI_REPLY_OPEN | OXI_REPLY_AFTER, "<function=", OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME, ">", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "<parameter=", OXI_REPLY_KEY, 0},
    {OXI_REPLY_KEY, ">", OXI_REPLY_VALUE, 0},
    {OXI_REPLY_VALUE, "</parameter>", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "</function>", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_AFTER, "</seed:tool_call>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

/* GLM 4.5 to 4.7, Laguna. */
static const oxi_reply_mark oxi_reply_glm[] = {
    OXI_REPLY_THINKS("<think>", "</think>"),
    {OXI_REPLY_ANY, "<tool_call>", OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME | OXI_REPLY_PARAMETERS, "<arg_key>", OXI_REPLY_KEY, 0},
    {OXI_REPLY_KEY, "</arg_key>", OXI_REPLY_GAP, 0},
    {OXI_REPLY_GAP, "<arg_value>", OXI_REPLY_VALUE, 0},
    {OXI_REPLY_VALUE, "</arg_value>", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_NAME | OXI_REPLY_PARAMETERS, "</tool_call>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_hy3[] = {
    OXI_REPLY_THINKS("<think:opensource>", "</think:opensource>"),
    {OXI_REPLY_ANY, "<tool_calls:opensource>", OXI_REPLY_OPEN, 0},
    {OXI_REPLY_OPEN | OXI_REPLY_AFTER, "<tool_call:opensource>", OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME, "<tool_sep:opensource>", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "<arg_key:opensource>", OXI_REPLY_KEY, 0},
    {OXI_REPLY_KEY, "</arg_key:opensource>", OXI_REPLY_GAP, 0},
    {OXI_REPLY_GAP, "<arg_value:opensource>", OXI_REPLY_VALUE, 0},
    {OXI_REPLY_VALUE, "</arg_value:opensource>", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_NAME | OXI_REPLY_PARAMETERS, "</tool_call:opensource>", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_AFTER, "</tool_calls:opensource>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_minimax[] = {
    OXI_REPLY_THINKS("<think>", "</think>"),
    {OXI_REPLY_ANY, "<minimax:tool_call>", OXI_REPLY_OPEN, 0},
    {OXI_REPLY_OPEN | OXI_REPLY_AFTER, "<invoke name=\"", OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME, "\">", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "<parameter name=\"", OXI_REPLY_KEY, 0},
    {OXI_REPLY_KEY, "\">", OXI_REPLY_VALUE, 0},
    {OXI_REPLY_VALUE, "</parameter>", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "</invoke>", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_AFTER, "</minimax:tool_call>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_muse[] = {
    {OXI_REPLY_ANY | OXI_REPLY_AFTER, "<|start|>assistant", OXI_REPLY_HEAD, 0},
    {OXI_REPLY_HEAD, "<|message|>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY | OXI_REPLY_THINK, "<|eom|>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY | OXI_REPLY_THINK, "<|eot|>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY, "<atem:function_calls>", OXI_REPLY_OPEN, 0},
    {OXI_REPLY_OPEN | OXI_REPLY_AFTER, "<atem:invoke name=\"", OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME, "\">", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "<atem:parameter name=\"", OXI_REPLY_KEY, 0},
    {OXI_REPLY_KEY, "\">", OXI_REPLY_VALUE, 0},
    {OXI_REPLY_VALUE, "</atem:parameter>", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "</atem:invoke>", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_AFTER, "</atem:function_calls>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_minicpm[] = {
    OXI_REPLY_THINKS("<think>", "</think>"),
    {OXI_REPLY_ANY, "<function name=\"", OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME, "\">", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "<param name=\"", OXI_REPLY_KEY, 0},
    {OXI_REPLY_KEY, "\">", OXI_REPLY_VALUE, 0},
    {OXI_REPLY_KEY, "\"><![CDATA[", OXI_REPLY_WORD, 0},
    {OXI_REPLY_VALUE, "</param>", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_WORD, "]]></param>", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "</function>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

/* DeepSeek V3.2 (function_calls) and V4 (tool_calls). */
static const oxi_reply_mark oxi_reply_dsml[] = {
    OXI_REPLY_THINKS("<think>", "</think>"),
    {OXI_REPLY_ANY, "<\357\275\234DSML\357\275\234function_calls>", OXI_REPLY_OPEN, 0},
    {OXI_REPLY_ANY, "<\357\275\234DSML\357\275\234tool_calls>", OXI_REPLY_OPEN, 0},
    {OXI_REPLY_OPEN | OXI_REPLY_AFTER, "<\357\275\234DSML\357\275\234invoke name=\"", OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME, "\">", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "<\357\275\234DSML\357\275\234parameter name=\"", OXI_REPLY_KEY, 0},
    {OXI_REPLY_KEY, "\" string=\"true\">", OXI_REPLY_WORD, 0},
    {OXI_REPLY_KEY, "\" string=\"false\">", OXI_REPLY_DATA, 0},
    {OXI_REPLY_WORD | OXI_REPLY_DATA, "</\357\275\234DSML\357\275\234parameter>", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "</\357\275\234DSML\357\275\234invoke>", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_AFTER, "</\357\275\234DSML\357\275\234function_calls>", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_AFTER, "</\357\275\234DSML\357\275\234tool_calls>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

#define OXI_REPLY_BAR(words) "<\357\275\234" words "\357\275\234>" /* DeepSeek's wide bars */
#define OXI_REPLY_LOW "\342\226\201"                               /* and its spaces */
#define OXI_REPLY_DS(a, b, c) OXI_REPLY_BAR(a OXI_REPLY_LOW b OXI_REPLY_LOW c)

static const oxi_reply_mark oxi_reply_deepseek_r1[] = {
    OXI_REPLY_THINKS("<think>", "</think>"),
    {OXI_REPLY_ANY | OXI_REPLY_THINK, OXI_REPLY_DS("tool", "calls", "begin"), OXI_REPLY_OPEN, 0},
    {OXI_REPLY_OPEN | OXI_REPLY_AFTER | OXI_REPLY_ANY, OXI_REPLY_DS("tool", "call", "begin"), OXI_REPLY_SKIP,
     0},
    {OXI_REPLY_SKIP, OXI_REPLY_BAR("tool" OXI_REPLY_LOW "sep"), OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME, "\n```json", OXI_REPLY_ARGUMENTS, 0},
    {OXI_REPLY_AFTER, "```", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_AFTER, OXI_REPLY_DS("tool", "call", "end"), OXI_REPLY_AFTER, 0},
    {OXI_REPLY_AFTER, OXI_REPLY_DS("tool", "calls", "end"), OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_deepseek_v3[] = {
    OXI_REPLY_THINKS("<think>", "</think>"),
    {OXI_REPLY_ANY | OXI_REPLY_THINK, OXI_REPLY_DS("tool", "calls", "begin"), OXI_REPLY_OPEN, 0},
    {OXI_REPLY_OPEN | OXI_REPLY_AFTER | OXI_REPLY_ANY, OXI_REPLY_DS("tool", "call", "begin"), OXI_REPLY_NAME,
     0},
    {OXI_REPLY_NAME, OXI_REPLY_BAR("tool" OXI_REPLY_LOW "sep"), OXI_REPLY_ARGUMENTS, 0},
    {OXI_REPLY_AFTER, OXI_REPLY_DS("tool", "call", "end"), OXI_REPLY_AFTER, 0},
    {OXI_REPLY_AFTER, OXI_REPLY_DS("tool", "calls", "end"), OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_kimi_k2[] = {
    OXI_REPLY_THINKS("<think>", "</think>"),
    {OXI_REPLY_ANY | OXI_REPLY_THINK, "<|tool_calls_section_begin|>", OXI_REPLY_OPEN, 0},
    {OXI_REPLY_OPEN | OXI_REPLY_AFTER | OXI_REPLY_ANY, "<|tool_call_begin|>", OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME, "<|tool_call_argument_begin|>", OXI_REPLY_ARGUMENTS, 0},
    {OXI_REPLY_AFTER, "<|tool_call_end|>", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_AFTER, "<|tool_calls_section_end|>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_kimi_k3[] = {
    OXI_REPLY_THINKS("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    {OXI_REPLY_START, "<|open|>response<|sep|>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY, "<|close|>response<|sep|>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY, "<|open|>tools<|sep|>", OXI_REPLY_OPEN, 0},
    {OXI_REPLY_OPEN | OXI_REPLY_AFTER, "<|open|>call tool=\"", OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME, "\" index=\"", OXI_REPLY_SKIP, 0},
    {OXI_REPLY_SKIP, "\"<|sep|>", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "<|open|>argument key=\"", OXI_REPLY_KEY, 0},
    {OXI_REPLY_KEY, "\" type=\"string\"<|sep|>", OXI_REPLY_WORD, 0},
    {OXI_REPLY_KEY, "\" type=\"number\"<|sep|>", OXI_REPLY_DATA, 0},
    {OXI_REPLY_KEY, "\" type=\"integer\"<|sep|>", OXI_REPLY_DATA, 0},
    {OXI_REPLY_KEY, "\" type=\"boolean\"<|sep|>", OXI_REPLY_DATA, 0},
    {OXI_REPLY_KEY, "\" type=\"object\"<|sep|>", OXI_REPLY_DATA, 0},
    {OXI_REPLY_KEY, "\" type=\"array\"<|sep|>", OXI_REPLY_DATA, 0},
    {OXI_REPLY_KEY, "\" type=\"null\"<|sep|>", OXI_REPLY_DATA, 0},
    {OXI_REPLY_WORD | OXI_REPLY_DATA, "<|close|>argument<|sep|>", OXI_REPLY_PARAMETERS, 0},
    {OXI_REPLY_PARAMETERS, "<|close|>call<|sep|>", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_AFTER, "<|close|>tools<|sep|>", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_START | OXI_REPLY_AFTER, "<|close|>message<|sep|>", OXI_REPLY_START, 0},
    {OXI_REPLY_START | OXI_REPLY_AFTER, "<|end_of_msg|>", OXI_REPLY_START, 0},
    OXI_REPLY_END,
};

/* GPT-OSS. */
static const oxi_reply_mark oxi_reply_harmony[] = {
    {OXI_REPLY_ANY | OXI_REPLY_AFTER, "<|start|>assistant", OXI_REPLY_HEAD, 0},
    {OXI_REPLY_ANY | OXI_REPLY_AFTER, "<|channel|>", OXI_REPLY_HEAD, 0},
    {OXI_REPLY_HEAD, "<|message|>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY | OXI_REPLY_THINK | OXI_REPLY_AFTER, "<|end|>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY | OXI_REPLY_THINK | OXI_REPLY_AFTER, "<|return|>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY | OXI_REPLY_AFTER, "<|call|>", OXI_REPLY_START, 0},
    OXI_REPLY_END,
};

/* Mistral 7B v0.3, Nemo, Small 3.1: a list behind the mark. */
static const oxi_reply_mark oxi_reply_nemo[] = {
    OXI_REPLY_THINKS("[THINK]", "[/THINK]"),
    {OXI_REPLY_ANY, "[TOOL_CALLS]", OXI_REPLY_CALLS, 0},
    OXI_REPLY_END,
};

/* Mistral Small 3.2, Devstral, Magistral, Ministral 3; [CALL_ID] in some. */
static const oxi_reply_mark oxi_reply_mistral[] = {
    OXI_REPLY_THINKS("[THINK]", "[/THINK]"),
    {OXI_REPLY_ANY, "[TOOL_CALLS]", OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME, "[CALL_ID]", OXI_REPLY_ID, 0},
    {OXI_REPLY_NAME | OXI_REPLY_ID, "[ARGS]", OXI_REPLY_ARGUMENTS, 0},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_functionary_31[] = {
    {OXI_REPLY_ANY, "<function=", OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME, ">", OXI_REPLY_ARGUMENTS, 0},
    {OXI_REPLY_AFTER, "</function>", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_ANY, "<|python_tag|>", OXI_REPLY_CODE, 0},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_functionary_32[] = {
    {OXI_REPLY_ANY, ">>>", OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME, "\n", OXI_REPLY_ARGUMENTS, 0},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_firefunction[] = {
    {OXI_REPLY_ANY, "functools[", OXI_REPLY_CALLS, 1},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_llama3[] = {
    {OXI_REPLY_START, "{", OXI_REPLY_CALLS, 1},
    {OXI_REPLY_ANY, "<|python_tag|>", OXI_REPLY_PYTHON, 0},
    {OXI_REPLY_PYTHON | OXI_REPLY_AFTER, "<|eom_id|>", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_PYTHON | OXI_REPLY_AFTER, "<|eot_id|>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

/* Command R7B, Command A (RESPONSE) and Cohere's later ones (TEXT). */
static const oxi_reply_mark oxi_reply_command[] = {
    OXI_REPLY_THINKS("<|START_THINKING|>", "<|END_THINKING|>"),
    {OXI_REPLY_START, "<|START_RESPONSE|>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY, "<|END_RESPONSE|>", OXI_REPLY_START, 0},
    {OXI_REPLY_START, "<|START_TEXT|>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY, "<|END_TEXT|>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY, "<|START_ACTION|>", OXI_REPLY_CALLS, 0},
    {OXI_REPLY_AFTER, "<|END_ACTION|>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

/* Granite 3, Phi 4 mini. */
static const oxi_reply_mark oxi_reply_granite[] = {
    OXI_REPLY_THINKS("<think>", "</think>"),
    {OXI_REPLY_START, "<response>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY, "</response>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY, "<|tool_call|>", OXI_REPLY_CALLS, 0},
    {OXI_REPLY_AFTER, "<|/tool_call|>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_apertus[] = {
    OXI_REPLY_THINKS("<|inner_prefix|>", "<|inner_suffix|>"),
    {OXI_REPLY_ANY, "<|tools_prefix|>", OXI_REPLY_NAMED, 0},
    {OXI_REPLY_AFTER, "<|tools_suffix|>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_lfm2[] = {
    OXI_REPLY_THINKS("<think>", "</think>"),
    {OXI_REPLY_ANY, "<|tool_call_start|>", OXI_REPLY_PYTHON, 0},
    {OXI_REPLY_PYTHON | OXI_REPLY_AFTER, "<|tool_call_end|>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

/* Nemotron Nano 2. */
static const oxi_reply_mark oxi_reply_nemotron[] = {
    OXI_REPLY_THINKS("<think>", "</think>"),
    {OXI_REPLY_ANY, "<TOOLCALL>", OXI_REPLY_CALLS, 0},
    {OXI_REPLY_AFTER, "</TOOLCALL>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

static const oxi_reply_mark oxi_reply_gigachat[] = {
    {OXI_REPLY_ANY, "<|function_call|>", OXI_REPLY_CALLS, 0},
    OXI_REPLY_END,
};

/* Gemma 4; earlier ones have no marks. */
static const oxi_reply_mark oxi_reply_gemma[] = {
    OXI_REPLY_THINKS("<|channel>thought\n", "<channel|>"),
    {OXI_REPLY_START, "<|channel>thought<channel|>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY, "<|tool_call>", OXI_REPLY_GEMMA, 0},
    {OXI_REPLY_GEMMA | OXI_REPLY_AFTER, "<tool_call|>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

/* Hunyuan A13B and its dense models. */
static const oxi_reply_mark oxi_reply_hunyuan[] = {
    OXI_REPLY_THINKS("<think>", "</think>"),
    {OXI_REPLY_START, "<answer>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY | OXI_REPLY_AFTER, "</answer>", OXI_REPLY_START, 0},
    {OXI_REPLY_ANY, "<tool_calls>", OXI_REPLY_OPEN, 0},
    {OXI_REPLY_OPEN, "[", OXI_REPLY_CALLS, 1},
    {OXI_REPLY_OPEN | OXI_REPLY_AFTER | OXI_REPLY_ANY, "<tool_call>", OXI_REPLY_NAME, 0},
    {OXI_REPLY_NAME, "\n```json", OXI_REPLY_ARGUMENTS, 0},
    {OXI_REPLY_AFTER, "```", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_AFTER, "</tool_call>", OXI_REPLY_AFTER, 0},
    {OXI_REPLY_AFTER, "</tool_calls>", OXI_REPLY_AFTER, 0},
    OXI_REPLY_END,
};

#define OXI_REPLY_SEP OXI_REPLY_BAR("tool" OXI_REPLY_LOW "sep")

static const oxi_reply_format oxi_reply_formats[] = {
    {"kimi-k3", {"'<|open|>'", "<|sep|>", NULL}, oxi_reply_kimi_k3, 0},
    {"deepseek-dsml", {"DSML", NULL, NULL}, oxi_reply_dsml, 0},
    {"deepseek-r1",
     {OXI_REPLY_SEP, "```json", NULL},
     oxi_reply_deepseek_r1,
     OXI_REPLY_TEXT_ARGUMENTS | OXI_REPLY_NULL_CONTENT},
    {"deepseek-v3", {OXI_REPLY_SEP, NULL, NULL}, oxi_reply_deepseek_v3, 0},
    {"kimi-k2", {"<|tool_calls_section_begin|>", NULL, NULL}, oxi_reply_kimi_k2, OXI_REPLY_NUMBERED},
    {"minimax-m2", {"<minimax:tool_call>", NULL, NULL}, oxi_reply_minimax, 0},
    {"seed-oss", {"<seed:tool_call>", NULL, NULL}, oxi_reply_seed, 0},
    {"seed-oss", {"<seed:think>", NULL, NULL}, oxi_reply_seed, 0},
    {"muse", {"<atem:function_calls>", NULL, NULL}, oxi_reply_muse, 0},
    {"gpt-oss",
     {"<|channel|>", "<|message|>", NULL},
     oxi_reply_harmony,
     OXI_REPLY_THINKING | OXI_REPLY_RECIPIENTS},
    {"hy3", {"<arg_key{}>", NULL, NULL}, oxi_reply_hy3, 0},
    {"glm", {"<arg_key>", NULL, NULL}, oxi_reply_glm, 0},
    {"qwen3-coder", {"<function=", "<parameter=", NULL}, oxi_reply_qwen_coder, 0},
    {"functionary-v3.1",
     {"<function=", NULL, NULL},
     oxi_reply_functionary_31,
     OXI_REPLY_TEXT_ARGUMENTS | OXI_REPLY_PYTHON_CODE},
    {"functionary-v3.2",
     {">>>all", NULL, NULL},
     oxi_reply_functionary_32,
     OXI_REPLY_TEXT_ARGUMENTS | OXI_REPLY_PYTHON_CODE | OXI_REPLY_ALL_IS_CONTENT},
    {"minicpm", {"<function name=", NULL, NULL}, oxi_reply_minicpm, 0},
    {"command-r7b", {"<|START_ACTION|>", NULL, NULL}, oxi_reply_command, 0},
    {"command-r7b", {"<|START_RESPONSE|>", NULL, NULL}, oxi_reply_command, 0},
    {"apertus", {"<|tools_prefix|>", NULL, NULL}, oxi_reply_apertus, 0},
    {"lfm2", {"<|tool_call_start|>", NULL, NULL}, oxi_reply_lfm2, 0},
    {"lfm2", {"<|tool_list_start|>", NULL, NULL}, oxi_reply_lfm2, 0},
    {"nemotron-v2", {"<TOOLCALL>", NULL, NULL}, oxi_reply_nemotron, 0},
    {"gigachat", {"<|function_call|>", NULL, NULL}, oxi_reply_gigachat, 0},
    {"gemma4", {"<|tool_call>", NULL, NULL}, oxi_reply_gemma, 0},
    {"granite", {"<|tool_call|>", NULL, NULL}, oxi_reply_granite, 0},
    {"mistral", {"[TOOL_CALLS]", "[ARGS]", NULL}, oxi_reply_mistral, 0},
    {"mistral-nemo", {"[TOOL_CALLS]", NULL, NULL}, oxi_reply_nemo, 0},
    {"mistral", {"[THINK]", NULL, NULL}, oxi_reply_mistral, 0},
    {"firefunction-v2", {"functools[", NULL, NULL}, oxi_reply_firefunction, 0},
    {"hunyuan", {"<tool_calls>", NULL, NULL}, oxi_reply_hunyuan, 0},
    {"hunyuan", {"<answer>", NULL, NULL}, oxi_reply_hunyuan, 0},
    {"hermes", {"<tool_call>", NULL, NULL}, oxi_reply_hermes, 0},
    {"llama3", {"<|start_header_id|>", "<|python_tag|>", NULL}, oxi_reply_llama3, OXI_REPLY_NEEDS_ARGUMENTS},
    {"llama3",
     {"<|start_header_id|>", "\"parameters\": ", NULL},
     oxi_reply_llama3,
     OXI_REPLY_NEEDS_ARGUMENTS},
    {"think", {"</think>", NULL, NULL}, oxi_reply_think, 0},
    {"think", {"<think>", NULL, NULL}, oxi_reply_think, 0},
    {"plain", {NULL, NULL, NULL}, oxi_reply_plain, 0},
};
enum { OXI_REPLY_FORMATS = sizeof oxi_reply_formats / sizeof *oxi_reply_formats };

static const oxi_reply_format *oxi_reply_format_by_name(const char *name) {
    for (int i = 0; i < OXI_REPLY_FORMATS; i++)
        if (strcmp(oxi_reply_formats[i].name, name) == 0) return &oxi_reply_formats[i];
    return NULL;
}

static const oxi_reply_format *oxi_reply_format_by_source(const char *source) {
    const oxi_reply_format *row = oxi_reply_formats;
    for (;; row++) {
        bool all = true;
        for (int i = 0; i < 3 && row->signs[i] && all; i++) all = strstr(source, row->signs[i]) != NULL;
        if (all) return row; /* the last row has no signs */
    }
}

OX_API const char *ox_llm_reply_format_of(const char *source) {
    return (source ? oxi_reply_format_by_source(source) : &oxi_reply_formats[OXI_REPLY_FORMATS - 1])->name;
}

/* Rows of one name follow each other or are told apart by the first of them. */
OX_API const char *ox_llm_reply_format_name(int64_t index) {
    for (int i = 0; i < OXI_REPLY_FORMATS; i++)
        if (oxi_reply_format_by_name(oxi_reply_formats[i].name) == &oxi_reply_formats[i] && index-- == 0)
            return oxi_reply_formats[i].name;
    return NULL;
}
