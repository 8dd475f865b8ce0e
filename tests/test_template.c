/* test_template.c - chat templates: the language by cases with Jinja's own results, the templates of
 * published models (OX_TEST_DATA), errors with their lines, hostile sources and values, memory that runs out.
 * OX_QEMU
 */
#include "oxtorch_llm.h"
#include "check.h"
#include "hook_alloc.h"
#include "stack_use.h"
#include "template_cases.h"
#include "template_filters.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The text of a template over values, or NULL with an error; freed by ox_llm_template_free. */
static char *render(const char *source, const char *values, int64_t *length) {
    ox_llm_template_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.now = TEMPLATE_NOW;
    ox_llm_template *t = ox_llm_template_open(source, -1);
    char *text = t ? ox_llm_template_render(t, values, -1, &desc, length) : NULL;
    ox_llm_template_close(t);
    return text;
}

static void check_cases(const struct template_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct template_case *c = &cases[i];
        int64_t length = 0;
        char *text = render(c->source, template_values, &length);
        if (c->expected)
            CHECK_MSG(text && strcmp(text, c->expected) == 0 && (size_t)length == strlen(c->expected),
                      "%s\n  expected %s\n  got      %s", c->source, c->expected,
                      text ? text : ox_error_text());
        else
            CHECK_MSG(!text && ox_error() == OX_ERR_FORMAT && strstr(ox_error_text(), "line "),
                      "%s\n  expected an error, got %s", c->source, text ? text : ox_error_text());
        ox_llm_template_free(text);
        ox_error_clear();
    }
}

static void test_cases(void) {
    check_cases(template_cases, sizeof template_cases / sizeof *template_cases);
    check_cases(template_filters, sizeof template_filters / sizeof *template_filters);
}

/* Choices depend on the seed alone, and all of a sequence come. */
static void test_random(void) {
    static const char source[] = "{% for i in range(60) %}{{ 'abcd'|random }}{% endfor %}{{ []|random }}";
    ox_llm_template_desc desc;
    memset(&desc, 0, sizeof desc);
    ox_llm_template *t = ox_llm_template_open(source, -1);
    char *first = ox_llm_template_render(t, "{}", -1, &desc, NULL);
    char *second = ox_llm_template_render(t, "{}", -1, &desc, NULL);
    desc.seed = 1;
    char *third = ox_llm_template_render(t, "{}", -1, &desc, NULL);
    CHECK(first && second && third && strlen(first) == 60);
    CHECK(strcmp(first, second) == 0 && strcmp(first, third) != 0);
    for (const char *c = "abcd"; *c; c++) CHECK(strchr(first, *c) != NULL);
    ox_llm_template_free(first);
    ox_llm_template_free(second);
    ox_llm_template_free(third);
    ox_llm_template_close(t);
}

/* ---- errors and hostile input -------------------------------------------------------------------------- */

static void expect_error(const char *source, const char *values, const char *part) {
    char *text = render(source, values, NULL);
    CHECK_MSG(!text && ox_error() == OX_ERR_FORMAT && strstr(ox_error_text(), part),
              "%.60s: expected %s, got %s", source, part, text ? "a text" : ox_error_text());
    ox_llm_template_free(text);
    ox_error_clear();
}

static void test_errors(void) {
    expect_error("a\n{{ 1 +\n }}", "{}", "line 3, column 2");
    expect_error("a\n\n  {{ x.y }}", "{}", "line 3");
    expect_error("{% if x %}\n", "{}", "expected 'else'");
    expect_error("{{ raise_exception('roles must alternate') }}", "{}", "roles must alternate");
    expect_error("{{ x }}", "[1]", "no JSON object");
    expect_error("{{ x }}", "{\"x\":", "JSON");
    expect_error("{{ 9223372036854775807 + 1 }}", "{}", "64 bits");
    expect_error("{{ 9223372036854775808 }}", "{}", "64 bits");
    expect_error("{{ 2 ** 64 }}", "{}", "64 bits");
    expect_error("\xff", "{}", "UTF-8");
    expect_error("{{ x }}", "{\"x\": 9223372036854775808}", "64 bits");
    expect_error("{% include 'a' %}", "{}", "other templates");
    expect_error("{% import 'a' as b %}", "{}", "other templates");
    expect_error("{% from 'a' import b %}", "{}", "other templates");
    expect_error("{% extends 'a' %}", "{}", "other templates");
    expect_error("{% autoescape true %}{% endautoescape %}", "{}", "not supported");
    expect_error("{{ 'a'|urlize }}", "{}", "not supported");
    expect_error("{{ lipsum() }}", "{}", "not supported");
    expect_error("{{ '&eacute;'|striptags }}", "{}", "&eacute;");
    expect_error("{% block a %}{% endblock b %}", "{}", "name of the block");
    expect_error("{% block a %}{{ self.a() }}{% endblock %}", "{}", "deeper");
    expect_error("{{ self.b() }}", "{}", "no block");
    CHECK(!ox_llm_template_open(NULL, 0) && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    CHECK(!ox_llm_template_render(NULL, "{}", -1, NULL, NULL) && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    ox_llm_template_close(NULL);
    ox_llm_template_free(NULL);
    CHECK(ox_error() == OX_OK);
}

static void test_hostile(void) {
    expect_error("{{ 'a' * 1000000000000 }}", "{}", "too long");
    expect_error("{{ [1] * 1000000000 }}", "{}", "memory");
    expect_error("{{ range(10**18) }}", "{}", "more than 100000");
    expect_error("{{ 'x'|center(10**18) }}", "{}", "text of more than");
    expect_error("{{ 'x'|indent(10**18) }}", "{}", "text of more than");
    expect_error("{% set x = [] %}{% set _ = x.append(x) %}{{ x|pprint }}", "{}", "deeper");
    expect_error("{{ ('ab-' * 99999999)|wordwrap(1) }}", "{}", "steps");
    expect_error("{{ (['ab'] * 9999999)|pprint }}", "{}", "more than");
    expect_error("{{ '%999999999d' % 1 }}", "{}", "width");
    expect_error("{{ '{:999999999}'.format(1) }}", "{}", "width");
    expect_error("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "{}",
                 "memory");
    expect_error("{% for a in range(99999) %}{% if ('ab' * 99999) is lower %}{% endif %}{% endfor %}", "{}",
                 "steps");
    expect_error("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{}", "deeper");
    expect_error("{% set x = [] %}{% set _ = x.append(x) %}{{ x }}", "{}", "deeper");
    expect_error("{% set x = [] %}{% set _ = x.append(x) %}{{ x == [x] }}{{ x|tojson }}", "{}", "deeper");
    expect_error(
        "{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{}", "more than");
    expect_error(
        "{% set ns = namespace(x=[]) %}{% for i in range(40) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}"
        "{{ ns.x }}",
        "{}", "steps");
    static char deep[400001];
    static const char *const openings[] = {"(", "[", "-", "not ", "{1:", "x(", "x[", "1 if 1 else "};
    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++) {
        const size_t each = strlen(openings[i]);
        memcpy(deep, "{{ ", 3);
        for (size_t at = 3; at + each < 40000; at += each) memcpy(deep + at, openings[i], each + 1);
        expect_error(deep, "{}", "line 1");
    }
    deep[0] = 0;
    for (size_t at = 0; at < 40000; at += 10) memcpy(deep + at, "{% if x %}", 11);
    expect_error(deep, "{}", "nested too deep");
    memcpy(deep, "{{ x", 4);
    for (size_t at = 4; at < 40000; at += 2) memcpy(deep + at, "|e", 2);
    memcpy(deep + 40000, " }}", 4);
    expect_error(deep, "{}", "deeper");
}

/* The stack that a call takes at the deepest nesting that is allowed. */
static void test_stack(void) {
    static const char source[] =
        "{% macro m(n) %}{% for i in [1] %}{% if n %}{{ '%s' % [m(n - 1)]|join }}{% endif %}"
        "{% endfor %}{% endmacro %}{{ m(9999) }}";
    if (!stack_is_measured()) {
        check_skip("stack of a render", STACK_NOT_MEASURED);
        return;
    }
    ox_llm_template *t = ox_llm_template_open(source, -1);
    (void)ox_llm_template_render(t, "{}", -1, NULL, NULL);
    stack_paint();
    (void)ox_llm_template_render(t, "{}", -1, NULL, NULL);
    const size_t used = stack_used();
    CHECK_MSG(used < STACK_MOST, "a render takes %zu bytes of stack", used);
    ox_llm_template_close(t);
    ox_error_clear();
}

/* ---- memory that runs out ------------------------------------------------------------------------------ */

static void test_memory(void) {
    static const char source[] =
        "{% macro m(x) %}{{ x|tojson }}{% endmacro %}{% for i in range(300) %}{{ m([i, 'a']) }}"
        "{% endfor %}{{ ms|sort(attribute='n')|map(attribute='role')|join(',') }}";
    hook h;
    ox_allocator allocator = {hook_alloc, hook_free, NULL};
    allocator.user = &h;
    bool done = false;
    for (int64_t n = 1; n < 500 && !done; n++) {
        memset(&h, 0, sizeof h);
        h.fail_at = n;
        ox_trim();
        CHECK(ox_set_allocator(&allocator) == OX_OK);
        char *text = render(source, template_values, NULL);
        done = h.requests < n;
        CHECK_MSG(text ? done : ox_error() == OX_ERR_NOMEM, "failure at %lld: %s", (long long)n,
                  ox_error_text());
        ox_llm_template_free(text);
        CHECK(ox_set_allocator(NULL) == OX_OK);
        CHECK_MSG(h.outstanding == 0, "failure at %lld: %lld blocks left", (long long)n,
                  (long long)h.outstanding);
        ox_error_clear();
    }
    CHECK(done);
}

/* ---- templates of published models --------------------------------------------------------------------- */

static char *read_file(const char *folder, const char *name) {
    char path[600];
    (void)snprintf(path, sizeof path, "%.300s/templates/%.200s", folder, name);
    FILE *file = fopen(path, "rb");
    size_t room = 1 << 21, length;
    char *text = file ? (char *)malloc(room) : NULL;
    if (text) {
        length = fread(text, 1, room - 1, file);
        text[length] = 0;
    }
    if (file) (void)fclose(file);
    return text;
}

/* A member of a line of JSON as text. */
static char *member(const char *line, const char *expression) {
    char source[100];
    (void)snprintf(source, sizeof source, "{{ %.80s }}", expression);
    return render(source, line, NULL);
}

static void check_line(const char *folder, const char *conversations, const char *line) {
    char *name = member(line, "template"), *number = member(line, "conversation"), expression[60];
    char *expected = member(line, "expected if not error else 'error'"),
         *failed = member(line, "error is defined");
    (void)snprintf(expression, sizeof expression, "c[%.9s].context|tojson", number ? number : "");
    char *context = member(conversations, expression), *source = read_file(folder, name ? name : "");
    char *text = source && context ? render(source, context, NULL) : NULL;
    if (failed && strcmp(failed, "True") == 0)
        CHECK_MSG(!text && ox_error() == OX_ERR_FORMAT, "%s, conversation %s: no error", name, number);
    else
        CHECK_MSG(text && expected && strcmp(text, expected) == 0, "%s, conversation %s: %s", name, number,
                  text ? "another text" : ox_error_text());
    ox_error_clear();
    ox_llm_template_free(text);
    ox_llm_template_free(context);
    ox_llm_template_free(failed);
    ox_llm_template_free(expected);
    ox_llm_template_free(number);
    ox_llm_template_free(name);
    free(source);
}

static void test_models(void) {
    const char *folder = getenv("OX_TEST_DATA");
    if (!folder) folder = "../shared/data";
    char *lines = read_file(folder, "expected.jsonl"), *list = read_file(folder, "conversations.json");
    char *conversations = list ? (char *)malloc(strlen(list) + 16) : NULL;
    if (!lines || !conversations) {
        check_skip("templates of models", "no templates/expected.jsonl (OX_TEST_DATA, ../shared/data)");
    } else {
        (void)sprintf(conversations, "{\"c\":%s}", list);
        for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n"))
            check_line(folder, conversations, line);
    }
    free(lines);
    free(list);
    free(conversations);
}

int main(void) {
    const size_t before = ox_memory_get_stats().bytes_in_use;
    test_cases();
    test_random();
    test_errors();
    test_hostile();
    test_stack();
    test_models();
    CHECK(ox_memory_get_stats().bytes_in_use == before);
    test_memory();
    return check_done("template");
}
