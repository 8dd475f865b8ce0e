/* chat_cases.h - what models of each format write, and the message that it is. */
#ifndef CHAT_CASES_H
#define CHAT_CASES_H

/* The tools that cases with a `t` in their options have. */
static const char chat_tools[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":\"integer\"}}}}}]";

#define CHAT_CALL(id, name, arguments)                                              \
    "{\"id\": \"" id "\", \"type\": \"function\", \"function\": {\"name\": \"" name \
    "\", \"arguments\": " arguments "}}"
#define CHAT_SAYS(content) "{\"role\": \"assistant\", \"content\": \"" content "\"}"
#define CHAT_CALLS(content, calls) \
    "{\"role\": \"assistant\", \"content\": \"" content "\", \"tool_calls\": [" calls "]}"
#define CHAT_THINKS(content, reasoning) \
    "{\"role\": \"assistant\", \"content\": \"" content "\", \"reasoning_content\": \"" reasoning "\"}"
#define CHAT_OSLO CHAT_CALL("call00000", "get_weather", "{\"city\": \"Oslo\"}")
#define CHAT_TIME CHAT_CALL("call00001", "get_time", "{}")

static const struct chat_case {
    const char *format, *prompt, *options, *text, *message;
} chat_cases[] = {
    /* no marks: everything is content, as it is */
    {"plain", NULL, "", " Hi <think>x</think> <tool_call>{}\n",
     CHAT_SAYS(" Hi <think>x</think> <tool_call>{}\\n")},
    {"plain", NULL, "", "", CHAT_SAYS("")},
    {"plain", NULL, "", "a\xff\xc3z\xe2\x82",
     CHAT_SAYS("a\357\277\275\357\277\275z\357\277\275\357\277\275")},
    {"plain", NULL, "", "\"q\" \\ \x01\t", CHAT_SAYS("\\\"q\\\" \\\\ \\u0001\\t")},

    /* reasoning */
    {"think", NULL, "", "<think>\nHm.\n</think>\n\nYes.\n", CHAT_THINKS("Yes.\\n", "Hm.")},
    {"think", NULL, "", "\n<think></think>\n\nYes.", CHAT_SAYS("Yes.")},
    {"think", NULL, "", "The tag <think> is no mark here. </think>",
     CHAT_SAYS("The tag <think> is no mark here. </think>")},
    {"think", "user: hi\nassistant: <think>\n", "", "Hm,\n hm.</think>Yes.",
     CHAT_THINKS("Yes.", "Hm,\\n hm.")},
    {"think", "<think>", "", "unfinished \n", CHAT_THINKS("", "unfinished")},
    {"think", "<think></think>", "", "\nYes.", CHAT_SAYS("Yes.")},
    {"think", NULL, "", "<think>a < b </thin </think>c <", CHAT_THINKS("c <", "a < b </thin")},
    {"think", NULL, "", "  \n ", CHAT_SAYS("  \\n ")},

    /* Hermes */
    {"hermes", NULL, "",
     "Let me look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": "
     "\"Oslo\"}}\n</tool_call>\n"
     "<tool_call>\n{\"arguments\": {}, \"name\": \"get_time\"}\n</tool_call>",
     CHAT_CALLS("Let me look.", CHAT_OSLO ", " CHAT_TIME)},
    {"hermes", NULL, "",
     "<tool_call>{\"name\":\"get_weather\",\"arguments\":\"{\\\"city\\\": \\\"Oslo\\\"}\"}",
     CHAT_CALLS("", CHAT_OSLO)},
    {"hermes", NULL, "",
     "<tool_call>[{\"name\":\"get_weather\",\"arguments\":{\"city\": \"Oslo\"}},{\"name\":"
     "\"get_time\"}]</tool_call>",
     CHAT_CALLS("", CHAT_OSLO ", " CHAT_TIME)},
    {"hermes", NULL, "",
     "<think>x</think><tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\": \"Oslo\"}}"
     "</tool_call>",
     "{\"role\": \"assistant\", \"content\": \"\", \"reasoning_content\": \"x\", \"tool_calls\": [" CHAT_OSLO
     "]}"},
    {"hermes", NULL, "", "A <tool_call> is a mark.", CHAT_SAYS("A <tool_call> is a mark.")},
    {"hermes", NULL, "", "a <tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": [1, 2",
     CHAT_SAYS("a <tool_call>\\n{\\\"name\\\": \\\"f\\\", \\\"arguments\\\": {\\\"x\\\": [1, 2")},
    {"hermes", NULL, "", "<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 01}}</tool_call>b",
     CHAT_SAYS("<tool_call>{\\\"name\\\": \\\"f\\\", \\\"arguments\\\": {\\\"x\\\": 01}}</tool_call>b")},
    {"hermes", NULL, "",
     "<tool_call><tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\": \"Oslo\"}}"
     "</tool_call> bye",
     CHAT_CALLS("<tool_call>bye", CHAT_OSLO)},
    {"hermes", NULL, "", "<tool_call>{\"name\":\"\\u0067et_weather\",\"arguments\":{\"city\": \"Oslo\"}}",
     CHAT_CALLS("", CHAT_OSLO)},
    {"hermes", NULL, "", "<tool_call>{\"name\":\"f\",\"arguments\":[1]}</tool_call>",
     CHAT_SAYS("<tool_call>{\\\"name\\\":\\\"f\\\",\\\"arguments\\\":[1]}</tool_call>")},
    {"hermes", NULL, "",
     "<tool_call>{\"x\":1.5,\"name\":\"f\",\"arguments\":{\"a\":\"}\\\"\",\"b\":{\"c\":-1e3}},"
     "\"y\":2}</tool_call>",
     CHAT_CALLS("", CHAT_CALL("call00000", "f", "{\"a\":\"}\\\"\",\"b\":{\"c\":-1e3}}"))},

    {"hermes", NULL, "", "Ok <function=get_weather>{\"city\": \"Oslo\"}</function>",
     CHAT_CALLS("Ok", CHAT_OSLO)},

    /* arguments without quotes: types from the tools, or by what reads as JSON */
    {"qwen3-coder", NULL, "t",
     "Ok\n<tool_call>\n<function=get_weather>\n<parameter=city>\n2\n</parameter>\n<parameter=days>\n3\n</"
     "parameter>\n"
     "</function>\n</tool_call>",
     CHAT_CALLS("Ok", CHAT_CALL("call00000", "get_weather", "{\"city\": \"2\", \"days\": 3}"))},
    {"qwen3-coder", NULL, "",
     "<function=f>\n<parameter=a>\n2\n</parameter>\n<parameter=b>\n two\n "
     "lines\n\n</parameter>\n<parameter=c>\n"
     "{'x': True}\n</parameter></function><tool_call><function=get_time></function></tool_call>",
     CHAT_CALLS("",
                CHAT_CALL("call00000", "f",
                          "{\"a\": 2, \"b\": \" two\\n lines\\n\", \"c\": {\"x\": true}}") ", " CHAT_TIME)},
    {"qwen3-coder", NULL, "", "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\nno",
     CHAT_SAYS("<tool_call>\\n<function=f>\\n<parameter=a>\\n1\\n</parameter>\\nno")},
    {"seed-oss", "<seed:think>", "",
     "Hm</seed:think><seed:tool_call>\n<function=get_weather>\n<parameter=city>Oslo"
     "</parameter>\n</function>\n</seed:tool_call>",
     "{\"role\": \"assistant\", \"content\": \"\", \"reasoning_content\": \"Hm\", \"tool_calls\": [" CHAT_OSLO
     "]}"},
    {"glm", "<|assistant|><think>", "t",
     "Hm</think>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo"
     "</arg_value>\n</tool_call><tool_call>get_time</tool_call>",
     "{\"role\": \"assistant\", \"content\": \"\", \"reasoning_content\": \"Hm\", \"tool_calls\": [" CHAT_OSLO
     ", " CHAT_TIME "]}"},
    {"glm", NULL, "", "<tool_call>two words</tool_call>", CHAT_SAYS("<tool_call>two words</tool_call>")},
    {"hy3", NULL, "",
     "<tool_calls:opensource>\n<tool_call:opensource>get_weather<tool_sep:opensource>\n"
     "<arg_key:opensource>city</arg_key:opensource>\n<arg_value:opensource>Oslo</arg_value:opensource>\n"
     "</tool_call:opensource>\n</tool_calls:opensource>",
     CHAT_CALLS("", CHAT_OSLO)},
    {"minimax-m2", NULL, "",
     "a\n<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Oslo"
     "</parameter>\n</invoke>\n<invoke name=\"get_time\">\n</invoke>\n</minimax:tool_call>",
     CHAT_CALLS("a", CHAT_OSLO ", " CHAT_TIME)},
    {"minicpm", NULL, "",
     "<function name=\"get_weather\"><param name=\"city\"><![CDATA[Oslo]]></param></function>",
     CHAT_CALLS("", CHAT_OSLO)},
    {"muse", "<|start|>assistant", "",
     " to=self<|message|>Hm<|eom|><|start|>assistant to=get_weather<|message|>"
     "<atem:function_calls>\n<atem:invoke name=\"get_weather\">\n<atem:parameter "
     "name=\"city\">Oslo</atem:parameter>\n"
     "</atem:invoke>\n</atem:function_calls>",
     "{\"role\": \"assistant\", \"content\": \"\", \"reasoning_content\": \"Hm\", \"tool_calls\": [" CHAT_OSLO
     "]}"},
    {"kimi-k3", "<|open|>think<|sep|>", "",
     "Hm<|close|>think<|sep|><|open|>response<|sep|>Ok<|close|>response<|sep|>"
     "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"a\" "
     "type=\"string\"<|sep|>1"
     "<|close|>argument<|sep|><|open|>argument key=\"b\" type=\"number\"<|sep|>1<|close|>argument<|sep|>"
     "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>",
     "{\"role\": \"assistant\", \"content\": \"Ok\", \"reasoning_content\": \"Hm\", \"tool_calls\": "
     "[" CHAT_CALL("call00000", "f", "{\"a\": \"1\", \"b\": 1}") "]}"},
    {"deepseek-dsml", "</think>", "",
     "\n\n<\357\275\234DSML\357\275\234function_calls>\n<\357\275\234DSML\357\275\234"
     "invoke name=\"f\">\n<\357\275\234DSML\357\275\234parameter name=\"a\" "
     "string=\"true\">1</\357\275\234DSML"
     "\357\275\234parameter>\n<\357\275\234DSML\357\275\234parameter name=\"b\" "
     "string=\"false\">[1]</\357\275\234DSML"
     "\357\275\234parameter>\n</\357\275\234DSML\357\275\234invoke>\n</"
     "\357\275\234DSML\357\275\234function_calls>",
     CHAT_CALLS("", CHAT_CALL("call00000", "f", "{\"a\": \"1\", \"b\": [1]}"))},

    /* names before JSON */
    {"deepseek-r1", "<think>\n", "",
     "Hm</think>\n\n<\357\275\234tool\342\226\201calls\342\226\201begin\357\275\234>"
     "<\357\275\234tool\342\226\201call\342\226\201begin\357\275\234>function<"
     "\357\275\234tool\342\226\201sep\357\275\234>"
     "get_weather\n```json\n{\"city\": "
     "\"Oslo\"}\n```<\357\275\234tool\342\226\201call\342\226\201end\357\275\234>"
     "<\357\275\234tool\342\226\201calls\342\226\201end\357\275\234>",
     "{\"role\": \"assistant\", \"content\": null, \"reasoning_content\": \"Hm\", \"tool_calls\": "
     "[" CHAT_CALL("call00000", "get_weather", "\"{\\\"city\\\": \\\"Oslo\\\"}\"") "]}"},
    {"deepseek-v3", NULL, "",
     "<\357\275\234tool\342\226\201calls\342\226\201begin\357\275\234><\357\275\234tool"
     "\342\226\201call\342\226\201begin\357\275\234>get_weather<\357\275\234tool\342\226\201sep\357\275\234>"
     "{\"city\": \"Oslo\"}<\357\275\234tool\342\226\201call\342\226\201end\357\275\234>",
     CHAT_CALLS("", CHAT_OSLO)},
    {"kimi-k2", NULL, "",
     "Ok<|tool_calls_section_begin|><|tool_call_begin|>functions.get_time:0"
     "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
     CHAT_CALLS("Ok", CHAT_CALL("functions.get_time:0", "get_time", "{}"))},
    {"mistral", NULL, "",
     "[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]{\"city\": \"Oslo\"}[TOOL_CALLS]get_time"
     "[ARGS]{}",
     CHAT_CALLS("", CHAT_CALL("abcdefghi", "get_weather", "{\"city\": \"Oslo\"}") ", " CHAT_TIME)},
    {"mistral", NULL, "", "[THINK]Hm[/THINK]Ok [TOOL_CALLS]x", CHAT_THINKS("Ok [TOOL_CALLS]x", "Hm")},
    {"mistral-nemo", NULL, "",
     "[TOOL_CALLS] [{\"name\": \"get_time\", \"arguments\": {}, \"id\": \"abcdefghi\"}]",
     CHAT_CALLS("", CHAT_CALL("abcdefghi", "get_time", "{}"))},
    {"functionary-v3.1", NULL, "", "<function=get_weather>{\"city\": \"Oslo\"}</function>",
     CHAT_CALLS("", CHAT_CALL("call00000", "get_weather", "\"{\\\"city\\\": \\\"Oslo\\\"}\""))},
    {"functionary-v3.1", NULL, "", "<|python_tag|>print(\"a\")\n",
     CHAT_CALLS("",
                CHAT_CALL("call00000", "python", "\"{\\\"code\\\": \\\"print(\\\\\\\"a\\\\\\\")\\\"}\""))},
    {"functionary-v3.2", "\n\n>>>", "", "all\nOk\n>>>get_weather\n{\"city\": \"Oslo\"}\n>>>python\nx = {}",
     CHAT_CALLS("Ok",
                CHAT_CALL("call00000", "get_weather", "\"{\\\"city\\\": \\\"Oslo\\\"}\"") ", " CHAT_CALL(
                    "call00001", "python", "\"{\\\"code\\\": \\\"x = {}\\\"}\""))},
    {"functionary-v3.2", "\n\n>>>", "", "all\nIn Python:\n>>> x = 1\n>>> y",
     CHAT_SAYS("In Python:\\n>>> x = 1\\n>>> y")},
    {"gpt-oss", "<|start|>assistant", "",
     "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>"
     "commentary<|message|>Ok<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather "
     "<|constrain|>json"
     "<|message|>{\"city\": \"Oslo\"}<|call|>",
     "{\"role\": \"assistant\", \"content\": \"Ok\", \"reasoning_content\": \"Hm\", \"thinking\": \"Hm\", "
     "\"tool_calls\": [" CHAT_OSLO "]}"},
    {"gpt-oss", "<|start|>assistant", "",
     " to=functions.get_weather<|channel|>commentary json<|message|>"
     "{\"city\": \"Oslo\"}",
     CHAT_CALLS("", CHAT_OSLO)},
    {"gpt-oss", "<|start|>assistant", "", "<|channel|>final<|message|>Hi.<|return|>", CHAT_SAYS("Hi.")},
    {"gpt-oss", "<|start|>assistant", "", "Hi\nyou", CHAT_SAYS("Hi\\nyou")},

    /* JSON behind a mark, or alone */
    {"firefunction-v2", NULL, "",
     " functools[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}]",
     CHAT_CALLS("", CHAT_OSLO)},
    {"firefunction-v2", NULL, "", "Python's functools[0] is odd", CHAT_SAYS("Python's functools[0] is odd")},
    {"llama3", NULL, "", "{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Oslo\"}}",
     CHAT_CALLS("", CHAT_OSLO)},
    {"llama3", NULL, "", "{\"name\": \"Bob\", \"age\": 3}",
     CHAT_SAYS("{\\\"name\\\": \\\"Bob\\\", \\\"age\\\": 3}")},
    {"llama3", NULL, "",
     "<|python_tag|>{\"type\": \"function\", \"name\": \"get_weather\", \"parameters\": {\"city\": "
     "\"Oslo\"}}<|eom_id|>",
     CHAT_CALLS("", CHAT_OSLO)},
    {"llama3", NULL, "", "<|python_tag|>get_weather.call(city=\"Oslo\")", CHAT_CALLS("", CHAT_OSLO)},
    {"llama3", NULL, "", "A set is {1, 2}.", CHAT_SAYS("A set is {1, 2}.")},
    {"command-r7b", NULL, "",
     "<|START_THINKING|>Hm<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", "
     "\"tool_name\": \"get_time\", \"parameters\": {}}\n]<|END_ACTION|>",
     "{\"role\": \"assistant\", \"content\": \"\", \"reasoning_content\": \"Hm\", \"tool_calls\": "
     "[" CHAT_CALL("0", "get_time", "{}") "]}"},
    {"command-r7b", "<|START_THINKING|><|END_THINKING|>", "", "<|START_RESPONSE|>Ok <|END_RESPONSE|>",
     CHAT_SAYS("Ok")},
    {"granite", NULL, "", "<think>Hm</think><response>Ok</response>", CHAT_THINKS("Ok", "Hm")},
    {"granite", NULL, "", "<|tool_call|>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}]",
     CHAT_CALLS("", CHAT_OSLO)},
    {"apertus", NULL, "",
     "<|inner_prefix|>Hm<|inner_suffix|>Ok<|tools_prefix|>[{\"get_weather\": {\"city\": \"Oslo\"}}, "
     "{\"get_time\": {}}]<|tools_suffix|>",
     "{\"role\": \"assistant\", \"content\": \"Ok\", \"reasoning_content\": \"Hm\", \"tool_calls\": "
     "[" CHAT_OSLO ", " CHAT_TIME "]}"},
    {"nemotron-v2", "<think>\n", "", "</think><TOOLCALL>[{\"name\": \"get_time\"}]</TOOLCALL>",
     CHAT_CALLS("", CHAT_CALL("call00000", "get_time", "{}"))},
    {"gigachat", NULL, "", "<|function_call|>{\"name\": \"get_time\", \"arguments\": null}",
     CHAT_CALLS("", CHAT_CALL("call00000", "get_time", "{}"))},
    {"hunyuan", NULL, "", "<think>Hm</think>\n<answer>\nOk\n</answer>", CHAT_THINKS("Ok", "Hm")},
    {"hunyuan", NULL, "",
     "<tool_calls>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}]</tool_calls>",
     CHAT_CALLS("", CHAT_OSLO)},
    {"hunyuan", NULL, "",
     "<tool_calls><tool_call>get_weather\n```json\n{\"city\": \"Oslo\"}\n```</tool_call></tool_calls>",
     CHAT_CALLS("", CHAT_OSLO)},

    /* literals */
    {"lfm2", NULL, "", "<|tool_call_start|>[get_weather(city='Oslo'), get_time()]<|tool_call_end|>Ok",
     CHAT_CALLS("Ok", CHAT_OSLO ", " CHAT_TIME)},
    {"lfm2", NULL, "",
     "<|tool_call_start|>[f(a=[1, (2.5, None)], b={'x': True, \"y\": '\\u00e9\\'\\n'}, c=-1)]",
     CHAT_CALLS("", CHAT_CALL("call00000", "f",
                              "{\"a\": [1, [2.5, null]], \"b\": {\"x\": true, \"y\": \"\303\251'\\n\"}, "
                              "\"c\": -1}"))},
    {"lfm2", NULL, "",
     "<|tool_call_start|>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}]"
     "<|tool_call_end|>",
     CHAT_CALLS("", CHAT_OSLO)},
    {"lfm2", NULL, "", "<|tool_call_start|>[f(a=x)]<|tool_call_end|>",
     CHAT_SAYS("<|tool_call_start|>[f(a=x)]<|tool_call_end|>")},
    {"gemma4", NULL, "",
     "<|channel>thought\nHm\n<channel|><|tool_call>call:f{a:<|\"|>\"x\"<|\"|>,b:{c:[1,true,None]}}"
     "<tool_call|>",
     "{\"role\": \"assistant\", \"content\": \"\", \"reasoning_content\": \"Hm\", \"tool_calls\": "
     "[" CHAT_CALL("call00000", "f", "{\"a\": \"\\\"x\\\"\", \"b\": {\"c\": [1, true, null]}}") "]}"},
};

#endif
