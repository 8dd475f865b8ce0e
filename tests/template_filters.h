/* template_filters.h - more templates over the values of template_cases.h, with Jinja 3.1.6's results: safe
 * and escaped texts, rare filters, blocks, cyclers. NULL: an error. Made from random templates and by hand.
 * */
#ifndef TEMPLATE_FILTERS_H
#define TEMPLATE_FILTERS_H

static const struct template_case template_filters[] = {
    {"{{ s|e }}|{{ s|e|e }}|{{ s|safe|e }}|{{ s|forceescape|forceescape }}",
     "h\303\251llo &#39;w&#39; &#34;q&#34;\n\t\303\204\303\237 |h\303\251llo &#39;w&#39; &#34;q&#34;\n"
     "\t\303\204\303\237 |h\303\251llo 'w' \"q\"\n\t\303\204\303\237 |h\303\251llo &amp;#39;w&amp;#39;"
     " &amp;#34;q&amp;#34;\n\t\303\204\303\237 "},
    {"{{ (s|e) + '<' }}|{{ '<' + (s|e) }}|{{ (s|e) ~ '<' }}|{{ ((s|e) ~ '<') is escaped }}|{{ ((s|e)+'"
     "<') is escaped }}|{{ (('<'|safe) * 3) is escaped }}|{{ '<'|safe * 3 }}",
     "h\303\251llo &#39;w&#39; &#34;q&#34;\n\t\303\204\303\237 &lt;|&lt;h\303\251llo &#39;w&#39; &#34;"
     "q&#34;\n\t\303\204\303\237 |h\303\251llo &#39;w&#39; &#34;q&#34;\n\t\303\204\303\237 <|False|Tru"
     "e|True|<<<"},
    {"{{ ('%s'|safe) % '<' }}|{{ '%s' % ('<'|e) }}|{{ ('%s'|safe)|format('<') }}|{{ ('%s %d'|safe) % ("
     "'<', 3) }}|{{ ('%(a)s'|safe) % {'a': '<'} }}|{{ ('%r'|safe) % '<' }}|{{ ('%s'|safe) % [['<']] }}",
     "&lt;|&lt;|&lt;|&lt; 3|&lt;|&#39;&lt;&#39;|[[&#39;&lt;&#39;]]"},
    {"{{ ('{}'|safe).format('<') }}|{{ '{}'.format('<'|safe) }}|{{ ('{a} {0}'|safe).format('<', a='>')"
     " }}|{{ ('{:>5}'|safe).format('<') }}",
     "&lt;|<|&gt; &lt;|    &lt;"},
    {"{{ ['<'|safe, '<'|e] }}|{{ {'a': '<'|safe} }}|{{ ['<'|safe]|tojson }}|{{ ['a'|safe]|string }}|{{"
     " ('a'|safe,) }}",
     "[Markup('<'), Markup('&lt;')]|{'a': Markup('<')}|[\"<\"]|[Markup('a')]|(Markup('a'),)"},
    {"{{ ('<'|safe) == '<' }}{{ '<' in ('<b'|safe) }}{{ {'<': 1}['<'|safe] }}{{ ['<'|safe]|join('|') }"
     "}{{ ['a'|safe,'b']|unique|list }}{{ ['a'|safe]|map('upper')|first is escaped }}{{ ('a'|safe)|lis"
     "t }}",
     "TrueTrue1<[Markup('a'), 'b']True['a']"},
    {"{% set x %}<{% endset %}{{ x is escaped }}{% macro m() %}<{% endmacro %}{{ m() is escaped }}{{ 1"
     "|e is escaped }}{{ none|e }}{{ [1,'<']|e }}{{ 1|safe is escaped }}{{ none|safe }}",
     "FalseFalseTrueNone[1, &#39;&lt;&#39;]TrueNone"},
    {"{{ ('a'|safe) is string }}{{ ('a'|safe)|length }}{{ 'x' if ('a'|safe) }}{{ (('a'|safe) ~ '') is "
     "escaped }}{{ ('a'|safe)|int(5) }}{{ ('5'|safe)|int }}{{ ('a'|safe) is sameas 'a' }}",
     "True1xFalse55False"},
    {"{{ ('b'|safe) < 'c' }}{{ ['b'|safe,'a']|sort }}{{ ['b'|safe,'a']|min }}{{ ['b'|safe, 'a']|map('e"
     "')|list }}{% filter e %}<{% endfilter %}{% set q|e %}<{% endset %}{{ q is escaped }}",
     "True['a', Markup('b')]a[Markup('b'), Markup('a')]&lt;True"},
    {"{{ s|pprint }}|{{ l|pprint }}|{{ d|pprint }}|{{ 'it\\'s'|pprint }}|{{ none|pprint }}|{{ ('<'|saf"
     "e)|pprint }}",
     "'h\303\251llo \\'w\\' \"q\"\\n\\t\303\204\303\237 '|[3, 1, 2]|{'a': 1, 'b': {'c': [1, 2]}, 'item"
     "s': 5}|\"it's\"|None|Markup('<')"},
    {"{{ range(60)|list|pprint }}",
     "[0,\n 1,\n 2,\n 3,\n 4,\n 5,\n 6,\n 7,\n 8,\n 9,\n 10,\n 11,\n 12,\n 13,\n 14,\n 15,\n 16,\n 17,"
     "\n 18,\n 19,\n 20,\n 21,\n 22,\n 23,\n 24,\n 25,\n 26,\n 27,\n 28,\n 29,\n 30,\n 31,\n 32,\n 33,"
     "\n 34,\n 35,\n 36,\n 37,\n 38,\n 39,\n 40,\n 41,\n 42,\n 43,\n 44,\n 45,\n 46,\n 47,\n 48,\n 49,"
     "\n 50,\n 51,\n 52,\n 53,\n 54,\n 55,\n 56,\n 57,\n 58,\n 59]"},
    {"{{ {'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa': 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 'c': ['dddddddddddd"
     "ddddddddddddddddddddd', 'eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee', {'f': 1}]}|pprint }}",
     "{'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa': 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',\n 'c': ['ddddddddddddd"
     "dddddddddddddddddddd',\n       'eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee',\n       {'f': 1}]}"},
    {"{{ ('word ' * 40)|pprint }}",
     "('word word word word word word word word word word word word word word word '\n 'word word word"
     " word word word word word word word word word word word word '\n 'word word word word word word "
     "word word word word ')"},
    {"{{ [('word ' * 40), 1]|pprint }}",
     "['word word word word word word word word word word word word word word word '\n 'word word word"
     " word word word word word word word word word word word word '\n 'word word word word word word "
     "word word word word ',\n 1]"},
    {"{{ {'k': 'word ' * 40}|pprint }}",
     "{'k': 'word word word word word word word word word word word word word word '\n      'word word"
     " word word word word word word word word word word word word '\n      'word word word word word "
     "word word word word word word word '}"},
    {"{{ ('aaa bbb ccc ' * 20, (1,), ('x' * 90,))|pprint }}",
     "('aaa bbb ccc aaa bbb ccc aaa bbb ccc aaa bbb ccc aaa bbb ccc aaa bbb ccc aaa '\n 'bbb ccc aaa b"
     "bb ccc aaa bbb ccc aaa bbb ccc aaa bbb ccc aaa bbb ccc aaa bbb '\n 'ccc aaa bbb ccc aaa bbb ccc "
     "aaa bbb ccc aaa bbb ccc aaa bbb ccc aaa bbb ccc '\n 'aaa bbb ccc ',\n (1,),\n ('xxxxxxxxxxxxxxxx"
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',))"},
    {"{{ ('line one\\nline two\\n' * 6)|pprint }}",
     "('line one\\n'\n 'line two\\n'\n 'line one\\n'\n 'line two\\n'\n 'line one\\n'\n 'line two\\n'\n"
     " 'line one\\n'\n 'line two\\n'\n 'line one\\n'\n 'line two\\n'\n 'line one\\n'\n 'line two\\n')"},
    {"{{ 'a b c dddddd eeeeeeeeeeeeeeeeeeeeeeeee f'|wordwrap(8) }}|{{ 'aaaaaaaaaaaaaaa bb'|wordwrap(5,"
     " false) }}|{{ 'a b\\n\\nc d e'|wordwrap(3, true, '|') }}|{{ 'foo-bar-baz qux'|wordwrap(5) }}|{{ "
     "'foo-bar-baz qux'|wordwrap(5, break_on_hyphens=false) }}",
     "a b c\ndddddd e\neeeeeeee\neeeeeeee\neeeeeeee\nf|aaaaaaaaaaaaaaa\nbb|a b||c d|e|foo-\nbar-\nbaz"
     "\nqux|foo-b\nar-ba\nz qux"},
    {"{{ 'a  b   c    d'|wordwrap(4) }}|{{ '   lead and trail   '|wordwrap(6) }}|{{ 'tab\\there and th"
     "ere'|wordwrap(6) }}|{{ ''|wordwrap }}|{{ 'x'|wordwrap(0) }}",
     NULL},
    {"{{ 0|filesizeformat }}|{{ 1|filesizeformat }}|{{ 999|filesizeformat }}|{{ 1000|filesizeformat }}"
     "|{{ 1024|filesizeformat(true) }}|{{ 1234567|filesizeformat }}|{{ 1234567|filesizeformat(binary=t"
     "rue) }}|{{ 1e30|filesizeformat }}|{{ -5|filesizeformat }}|{{ '300'|filesizeformat }}|{{ 2.5|file"
     "sizeformat }}|{{ 'a'|filesizeformat }}",
     NULL},
    {"{{ {'class': 'a b', 'id': none, 'x': 1, 'y': '<\"'}|xmlattr }}|{{ {}|xmlattr }}|{{ {'a': 1}|xmla"
     "ttr(false) }}|{{ {'a b': 1}|xmlattr }}",
     NULL},
    {"{% set c = cycler('a','b',3) %}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.next() }}{{ c.nex"
     "t() }}{% set _ = c.reset() %}{{ c.current }}{{ c.items }}{{ c.pos }}",
     "abb3aa('a', 'b', 3)0"},
    {"{% set j = joiner(', ') %}{{ j() }}a{{ j() }}b{{ j() }}{% set k = joiner() %}{{ k() }}{{ k() }}{"
     "{ k.sep }}{{ k.used }}",
     "a, b, , , True"},
    {"{{ cycler() }}", NULL},
    {"{% block a %}x{{ n }}{% endblock %}|{{ self.a() }}|{% block b scoped %}y{% endblock b %}{{ self."
     "b() }}",
     "x7|x7|yy"},
    {"{% for i in [1,2] %}{% block q scoped %}{{ i }}{% endblock %}{% endfor %}", "12"},
    {"{% for i in [1,2] %}{% block q %}{{ i }}{{ loop is defined }}{% endblock %}{% endfor %}", "FalseFalse"},
    {"{% block a %}{% endblock %}{% block a %}{% endblock %}", NULL},
    {"{% block a required %}{% endblock %}", NULL},
    {"{% set v = 3 %}{% block a %}{{ v }}{% set v = 4 %}{% endblock %}{{ v }}", "33"},
    {"{{ self.zz() }}", NULL},
    {"{% block a %}[{{ super() }}]{% endblock %}", NULL},
    {"{% macro m() %}{% block z %}in{% endblock %}{% endmacro %}{{ m() }}{{ self.z() }}", "inin"},
    {"{% if false %}{% block a %}x{% endblock %}{% endif %}{{ self.a() }}", "x"},
    {"{{ 5[1:] }}", ""},
    {"{{ none[1:] }}|{{ true[0:1] }}", "|"},
    {"{{ {'a':1}[0:1] }}", ""},
    {"{{ undefinedx[1:] }}", NULL},
    {"{{ n[1:2] }}", NULL},
    {"{{ d[1:] }}", NULL},
    {"{{ (d.items())[1:] }}", NULL},
    {"{{ range(5)[1:3] }}|{{ (l|map('string'))[1:] }}", NULL},
    {"{{ 'ab'|center(5) }}|{{ 'ab'|center(6) }}|{{ 'abc'|center(6) }}|{{ 'abc'|center(7) }}|{{ ''|cent"
     "er(3) }}|{{ 5|center(4) }}|{{ 'a'|center(-3) }}|{{ 'a'|center }}",
     "  ab |  ab  | abc  |  abc  |   | 5  |a|                                       a                 "
     "                       "},
    {"{{ 'a\\nb\\n\\nc\\n'|indent }}|{{ 'a\\nb'|indent(2, true) }}|{{ 'a\\n\\nb'|indent(2, blank=true)"
     " }}|{{ 'a\\nb'|indent('>> ') }}|{{ ''|indent(3,true) }}|{{ '\\n'|indent(3,true,true) }}|{{ 'a\\r"
     "\\nb'|indent }}|{{ 'a\\nb'|indent(-2) }}|{{ 'a\\nb'|indent(true) }}",
     "a\n    b\n\n    c\n|  a\n  b|a\n  \n  b|a\n>> b|   |   \n   |a\n    b|a\nb|a\n b"},
    {"{{ 5|indent }}", NULL},
    {"{% include 'a' %}", NULL},
    {"{% include 'a' ignore missing %}x", NULL},
    {"{% import 'a' as b %}", NULL},
    {"{% from 'a' import b %}", NULL},
    {"{% extends 'a' %}", NULL},
    {"{{ ' -----  cbZ,Z0'|wordwrap(14, false, none, true) }}", " -----  cbZ,Z0"},
    {"{{ '\\n 0,A.\346\227\245A  \\n 0,A.\346\227\245A  \\n 0,A.\346\227\245A  '|wordwrap(4, true, non"
     "e, false) }}",
     "\n 0,A\n.\346\227\245A\n 0,A\n.\346\227\245A\n 0,A\n.\346\227\245A"},
    {"{{ '\\n\\n'|wordwrap(13, true, none, false) }}", "\n"},
    {"{{ '---'|wordwrap(4, true, '|', true) }}", "---"},
    {"{{ '---\\n    -----  ------\\n    -----  ---'|wordwrap(14, false, '|', true) }}",
     "---|    -----|------|    -----  ---"},
    {"{{ '\\nbac--._  0_!AZ..   \\nbac--._  0_!AZ..   '|wordwrap(8, false, '|', false) }}",
     "|bac--._|0_!AZ..|bac--._|0_!AZ.."},
    {"{{ ', --  --, --  --'|wordwrap(1, true, '|', false) }}", ",|-|-|-|-|,|-|-|-|-"},
    {"{{ '\\n\\n\\n'|wordwrap(10, false, '|', true) }}", "||"},
    {"{{ '----- \303\251c,AA!,\346\227\245,0\303\251ZA. 0AcZa,\303\251 ---   -a,Z\346\227\245----- "
     "\303\251c,AA!,\346\227\245,0\303\251ZA. 0AcZa,\303\251 ---   -a,Z\346\227\245'|wordwrap(6, false"
     ", none, false) }}",
     "-----\n\303\251c,AA!,\346\227\245,0\303\251ZA.\n0AcZa,\303\251\n---\n-a,Z\346\227\245-----\n\303"
     "\251c,AA!,\346\227\245,0\303\251ZA.\n0AcZa,\303\251\n---\n-a,Z\346\227\245"},
    {"{{ '-  ------__-_a_A-0-_.a-_,\303\251-a_Z!Ac--!-b,.b-  ------__-_a_A-0-_.a-_,\303\251-a_Z!Ac--!-"
     "b,.b'|wordwrap(1, true, '|', true) }}",
     "-|-|-|-|-|-|-|_|_|-|_|a|_|A|-|0|-|_|.|a|-|_|,|\303\251|-|a|_|Z|!|A|c|-|-|!|-|b|,|.|b|-|-|-|-|-|-"
     "|-|_|_|-|_|a|_|A|-|0|-|_|.|a|-|_|,|\303\251|-|a|_|Z|!|A|c|-|-|!|-|b|,|.|b"},
    {"{{ '----- -_!\303\251A\\n!aabA\346\227\245..  ----- -_!\303\251A\\n!aabA\346\227\245..  ----- -_"
     "!\303\251A\\n!aabA\346\227\245..  '|wordwrap(6, true, none, false) }}",
     "-----\n-_!\303\251A\n!aabA\346\227\245\n..\n-----\n-_!\303\251A\n!aabA\346\227\245\n..\n-----\n-"
     "_!\303\251A\n!aabA\346\227\245\n.."},
    {"{{ ''|wordwrap(12, true, none, true) }}", ""},
    {"{{ '---- -- \\n\\n---\\n-b,,A,0---- -- \\n\\n---\\n-b,,A,0'|wordwrap(7, true, none, true) }}",
     "---- --\n\n---\n-b,,A,0\n---- --\n\n---\n-b,,A,0"},
    {"{{ '\\n  -- \\n\\n  -- \\n\\n  -- \\n'|wordwrap(14, true, none, true) }}", "\n  --\n\n  --\n\n  --"},
    {"{{ '\303\251Z-\303\251\303\251_Zc\\n -----0_0.\303\251_a0_'|wordwrap(8, false, '|', true) }}",
     "\303\251Z-\303\251\303\251_Zc|-----0_0.\303\251_a0_"},
    {"{{ '   --- \303\251Z-_-!0\346\227\245_---- --    --- \303\251Z-_-!0\346\227\245_---- --    --- "
     "\303\251Z-_-!0\346\227\245_---- -- '|wordwrap(13, false, '|', true) }}",
     "   ---|\303\251Z-_-!0\346\227\245_----|--    ---|\303\251Z-_-!0\346\227\245_----|--    ---|\303"
     "\251Z-_-!0\346\227\245_----|--"},
    {"{{ '--\\n\\n_A.bA.A   -----   \\n  .-c'|wordwrap(8, true, none, true) }}",
     "--\n\n_A.bA.A\n-----\n  .-c"},
    {"{{ (('a & b'|safe)|wordwrap(4)) }}|{{ (('a & b'|safe)|wordwrap(4)) is escaped }}|{{ [(('a & b'|s"
     "afe)|wordwrap(4))] }}",
     "a &\nb|False|['a &\\nb']"},
    {"{{ '    \\n  \\n - --- ---bb--    \\n  \\n - --- ---bb--'|wordwrap(9, true, none, false) }}",
     "\n\n - ---\n---bb--\n\n - ---\n---bb--"},
    {"{{ '  -  -'|wordwrap(5, true, '|', true) }}", "  -|-"},
    {"{{ '----  --   \\n-------c----  --   \\n-------c----  --   \\n-------c'|wordwrap(7, false, '|', "
     "true) }}",
     "----|--|-------c----|--|-------c----|--|-------c"},
    {"{{ '    '|wordwrap(9, true, none, true) }}", ""},
    {"{{ ' ----'|wordwrap(1, false, none, false) }}", "----"},
    {"{{ '--.\303\2510_-\346\227\245, --.\303\2510_-\346\227\245, '|wordwrap(10, false, '|', false) }}",
     "--.\303\2510_-\346\227\245,|--.\303\2510_-\346\227\245,"},
    {"{{ '  c_-_,.-  -  c_-_,.-  -  c_-_,.-  -'|wordwrap(3, false, none, true) }}",
     "c_-_,.-\n-\nc_-_,.-\n-\nc_-_,.-\n-"},
    {"{{ [(('  ---b-A c.cZ-a------   ---b-A c.cZ-a------   ---b-A c.cZ-a------ ', '---  ', ' ---__-Za-"
     "cb-.   0\303\251-  ---  ---  0Z  ---__-Za-cb-.   0\303\251-  ---  ---  0Z ', '---\346\227\245 -'"
     ", ), 1e20, ), ' bA,\303\251a bA,\303\251a', {}, ('Z0\\n0\346\227\245!--\346\227\245A_---  a.Z-b"
     "\\nAZ!-----b!bba-c_bA'|safe), 1]|pprint }}",
     "[(('  ---b-A c.cZ-a------   ---b-A c.cZ-a------   ---b-A c.cZ-a------ ',\n   '---  ',\n   ' ---_"
     "_-Za-cb-.   0\303\251-  ---  ---  0Z  ---__-Za-cb-.   0\303\251-  ---  ---  0Z ',\n   '---\346"
     "\227\245 -'),\n  1e+20),\n ' bA,\303\251a bA,\303\251a',\n {},\n Markup('Z0\\n0\346\227\245!--"
     "\346\227\245A_---  a.Z-b\\nAZ!-----b!bba-c_bA'),\n 1]"},
    {"{{ (({'\346\227\245a\346\227\245-': ' ---', ',--': '', '-\303\251': '\\nAc-\303\251c-----\\n \\n"
     "', '\303\251\346\227\245!ZZ!\303\251ab': ''}, '--_.\346\227\245A\303\251----\303\251b.,-!\346"
     "\227\245\\n       _!,a0ZA-c-cbb.Z------ ', -2.5, [',\303\251-c------   Z_cacb\303\251Z\\n ', '  "
     "  - ._ - \\n '], ), )|pprint }}",
     "(({',--': '', '-\303\251': '\\nAc-\303\251c-----\\n \\n', '\303\251\346\227\245!ZZ!\303\251ab': "
     "'', '\346\227\245a\346\227\245-': ' ---'},\n  '--_.\346\227\245A\303\251----\303\251b.,-!\346"
     "\227\245\\n       _!,a0ZA-c-cbb.Z------ ',\n  -2.5,\n  [',\303\251-c------   Z_cacb\303\251Z\\n "
     "', '    - ._ - \\n ']),)"},
    {"{{ ({'!': {'\303\251_-_!0': none, 'c.a0Z0': ' \346\227\245-__\303\251\303\251Z!-!.---\303\2510c,"
     "c    --  \\n \346\227\245-__\303\251\303\251Z!-!.---\303\2510c,c    --  \\n', 'a!AabA\346\227"
     "\245': '\\n  '}, '-b!__': [' 0cc0--.- 0cc0--.- 0cc0--.-'], 'bb\346\227\245!0c,_': '  --     ', '"
     "\303\251': ['!a_aZ_\\n\303\251.! \\n      \\n.-b0c!A-b\303\251!Ac-ZZa- !a_aZ_\\n\303\251.! \\n  "
     "    \\n.-b0c!A-b\303\251!Ac-ZZa- ', '   --- \\n0- --------\\nA0\303\251_0 ']}, )|pprint }}",
     "({'!': {'a!AabA\346\227\245': '\\n  ',\n        'c.a0Z0': ' \346\227\245-__\303\251\303\251Z!-!."
     "---\303\2510c,c    --  \\n'\n                  ' \346\227\245-__\303\251\303\251Z!-!.---\303\251"
     "0c,c    --  \\n',\n        '\303\251_-_!0': None},\n  '-b!__': [' 0cc0--.- 0cc0--.- 0cc0--.-'],"
     "\n  'bb\346\227\245!0c,_': '  --     ',\n  '\303\251': ['!a_aZ_\\n'\n        '\303\251.! \\n'\n "
     "       '      \\n'\n        '.-b0c!A-b\303\251!Ac-ZZa- !a_aZ_\\n'\n        '\303\251.! \\n'\n   "
     "     '      \\n'\n        '.-b0c!A-b\303\251!Ac-ZZa- ',\n        '   --- \\n0- --------\\nA0\303"
     "\251_0 ']},)"},
    {"{{ {'_0!0': ({'-!\303\251a\303\251Z.0\303\251': '\\n.A\346\227\245Aba!--   - --\\n.A\346\227\245"
     "Aba!--   - --'}, {'c': ' ------ .-\303\2510--', 'AA\346\227\245-_-\346\227\245': 'b\303\2510    "
     " --\\n-- b\303\2510     --\\n-- b\303\2510     --\\n-- ', '!-_.Ac': '---cca_c_A-.--------cca_c_A"
     "-.-----'}, ['--   0--!\346\227\245\303\251, \346\227\245cb0.\303\251!,A--- ---  '], [], )}|pprin"
     "t }}",
     "{'_0!0': ({'-!\303\251a\303\251Z.0\303\251': '\\n.A\346\227\245Aba!--   - --\\n.A\346\227\245Aba"
     "!--   - --'},\n          {'!-_.Ac': '---cca_c_A-.--------cca_c_A-.-----',\n           'AA\346"
     "\227\245-_-\346\227\245': 'b\303\2510     --\\n-- b\303\2510     --\\n-- b\303\2510     --\\n-- "
     "',\n           'c': ' ------ .-\303\2510--'},\n          ['--   0--!\346\227\245\303\251, \346"
     "\227\245cb0.\303\251!,A--- ---  '],\n          [])}"},
    {"{{ [[], {'\346\227\245!.c0.Z0,': {'.': '--   - -\\n---.,!0b.-bZ--   - -\\n---.,!0b.-bZ'}, '-': {"
     "}, '-!,-baA': {'Z-,-AAAZ': ' \\n --!A \\n-A-a0---- _c', '_\346\227\245b': 1e20, '\303\251_-': ' "
     " '}}, none, ([], '-----0c-0bZ,0--cb --------0c-0bZ,0--cb ---', )]|pprint }}",
     "[[],\n {'-': {},\n  '-!,-baA': {'Z-,-AAAZ': ' \\n --!A \\n-A-a0---- _c', '_\346\227\245b': 1e+20"
     ", '\303\251_-': '  '},\n  '\346\227\245!.c0.Z0,': {'.': '--   - -\\n---.,!0b.-bZ--   - -\\n---.,"
     "!0b.-bZ'}},\n None,\n ([], '-----0c-0bZ,0--cb --------0c-0bZ,0--cb ---')]"},
    {"{{ ({',': {'c-c': '---Zb--  \\n\\n--\\n---Zb--  \\n\\n--\\n---Zb--  \\n\\n--\\n'}}, true, {'A!0-"
     "b-': (12345678901234, ), '!0_': ['\\n---  -,c\346\227\245----,aAZAAc ', ('cZbAa\303\251b --     "
     " \\n--- --'|safe), '\\n --   - ', -2.5, '\\n----0\\n----0'], 'Z.-aba!cb': -2.5}, )|pprint }}",
     "({',': {'c-c': '---Zb--  \\n\\n--\\n---Zb--  \\n\\n--\\n---Zb--  \\n\\n--\\n'}},\n True,\n {'!0_"
     "': ['\\n---  -,c\346\227\245----,aAZAAc ',\n          Markup('cZbAa\303\251b --      \\n--- --')"
     ",\n          '\\n --   - ',\n          -2.5,\n          '\\n----0\\n----0'],\n  'A!0-b-': (12345"
     "678901234,),\n  'Z.-aba!cb': -2.5})"},
    {"{{ {'\303\251-,_0\346\227\245A,': ' b!\303\251Ab0\346\227\245b, - ,,\303\251-     --Zc  b!\303"
     "\251Ab0\346\227\245b, - ,,\303\251-     --Zc ', '0': (' --ac0!\303\251.A!0'|safe)}|pprint }}",
     "{'0': Markup(' --ac0!\303\251.A!0'),\n '\303\251-,_0\346\227\245A,': ' b!\303\251Ab0\346\227\245"
     "b, - ,,\303\251-     --Zc  b!\303\251Ab0\346\227\245b, - ,,\303\251-     --Zc '}"},
    {"{{ {'c': [[' -\\n.c ------'], true, ['c-b.b, ------- -----!-\303\251b\\n---', '-- - \\n-- ------"
     "A \\n', -2.5, '\303\251A. -.!\\n-0AZ,0---- \\n--!Z_c-!a ']], '-__': {'!': {'a-cA,': '000', 'Za-'"
     ": none}}}|pprint }}",
     "{'-__': {'!': {'Za-': None, 'a-cA,': '000'}},\n 'c': [[' -\\n.c ------'],\n       True,\n       "
     "['c-b.b, ------- -----!-\303\251b\\n---',\n        '-- - \\n-- ------A \\n',\n        -2.5,\n   "
     "     '\303\251A. -.!\\n-0AZ,0---- \\n--!Z_c-!a ']]}"},
    {"{{ [(' -.!-Z--0   ', '\\n\\n\\n', '\\n-- --!c\303\251-a- ---\\n   ZAZ!a \\n-- --!c\303\251-a- --"
     "-\\n   ZAZ!a ', ), -2.5]|pprint }}",
     "[(' -.!-Z--0   ',\n  '\\n\\n\\n',\n  '\\n-- --!c\303\251-a- ---\\n   ZAZ!a \\n-- --!c\303\251-a-"
     " ---\\n   ZAZ!a '),\n -2.5]"},
    {"{{ (['  b0A ---\303\251-,!a\303\251\\n0\346\227\245,-b0b-A0Ab\303\251!,!  b0A ---\303\251-,!a"
     "\303\251\\n0\346\227\245,-b0b-A0Ab\303\251!,!'], [['        - --Abb--        - --Abb--        - "
     "--Abb--', '  \\n', ('   \\na-_b    -c\346\227\245'|safe), 'Za__ _!-\346\227\245\303\251 ---  \\n"
     "Za__ _!-\346\227\245\303\251 ---  \\n', ',bbac-aA._!---      0!Z-\303\251c\346\227\245,_  '], 12"
     "345678901234, []], 12345678901234, none, )|pprint }}",
     "(['  b0A ---\303\251-,!a\303\251\\n0\346\227\245,-b0b-A0Ab\303\251!,!  b0A ---\303\251-,!a\303"
     "\251\\n0\346\227\245,-b0b-A0Ab\303\251!,!'],\n [['        - --Abb--        - --Abb--        - --"
     "Abb--',\n   '  \\n',\n   Markup('   \\na-_b    -c\346\227\245'),\n   'Za__ _!-\346\227\245\303"
     "\251 ---  \\nZa__ _!-\346\227\245\303\251 ---  \\n',\n   ',bbac-aA._!---      0!Z-\303\251c\346"
     "\227\245,_  '],\n  12345678901234,\n  []],\n 12345678901234,\n None)"},
    {"{{ {'aA.\303\251A!cbc': ('\\n0aa_\346\227\245\346\227\245-a.-\\n\\n0aa_\346\227\245\346\227\245-"
     "a.-\\n', [], (1e20, ), (-2.5, '  A.-._.-\303\251Z --!_-\346\227\245\346\227\245', '---_.   \\n c"
     "!bcA---  ', ), ), '_bA': true}|pprint }}",
     "{'_bA': True,\n 'aA.\303\251A!cbc': ('\\n0aa_\346\227\245\346\227\245-a.-\\n\\n0aa_\346\227\245"
     "\346\227\245-a.-\\n',\n               [],\n               (1e+20,),\n               (-2.5, '  A."
     "-._.-\303\251Z --!_-\346\227\245\346\227\245', '---_.   \\n c!bcA---  '))}"},
    {"{{ {'0c': 12345678901234, '-Z': '\\n   Aa.Z.a--      b0!\303\251--\\n--\\n   Aa.Z.a--      b0!"
     "\303\251--\\n--\\n   Aa.Z.a--      b0!\303\251--\\n--'}|pprint }}",
     "{'-Z': '\\n'\n       '   Aa.Z.a--      b0!\303\251--\\n'\n       '--\\n'\n       '   Aa.Z.a--   "
     "   b0!\303\251--\\n'\n       '--\\n'\n       '   Aa.Z.a--      b0!\303\251--\\n'\n       '--',\n"
     " '0c': 12345678901234}"},
    {"{{ [(' ', {}, {'-b-a\346\227\245.a': ' ---- \\nA\303\251-_--- --a_b_', '0A!\346\227\245,_': ' -"
     "\\n\\n\\n--ZbA!\\n '}, [',_\303\251b-a    !b-\346\227\245\\nb\303\251._.-Z\303\251,\\n-- ', ' ,_"
     "00- ,_00-', '  A!, \346\227\245\346\227\245b.!----  A!, \346\227\245\346\227\245b.!----  A!, "
     "\346\227\245\346\227\245b.!----', 1], )]|pprint }}",
     "[(' ',\n  {},\n  {'-b-a\346\227\245.a': ' ---- \\nA\303\251-_--- --a_b_', '0A!\346\227\245,_': '"
     " -\\n\\n\\n--ZbA!\\n '},\n  [',_\303\251b-a    !b-\346\227\245\\nb\303\251._.-Z\303\251,\\n-- ',"
     "\n   ' ,_00- ,_00-',\n   '  A!, \346\227\245\346\227\245b.!----  A!, \346\227\245\346\227\245b.!"
     "----  A!, \346\227\245\346\227\245b.!----',\n   1])]"},
    {"{{ [({}, (('  Zc-\346\227\245------!-\346\227\245bAb0Aa \\n'|safe), '\\nb,\346\227\245-----\\nb,"
     "\346\227\245-----\\nb,\346\227\245-----', '-\\n   --   --\\n', ), ), (-2.5, 1, ), 1, -2.5]|pprin"
     "t }}",
     "[({},\n  (Markup('  Zc-\346\227\245------!-\346\227\245bAb0Aa \\n'),\n   '\\nb,\346\227\245-----"
     "\\nb,\346\227\245-----\\nb,\346\227\245-----',\n   '-\\n   --   --\\n')),\n (-2.5, 1),\n 1,\n -2"
     ".5]"},
    {"{{ (1, [(' --\\n- \\nZb,\346\227\245b  \\n b  '|safe), ('A!.Aac!\346\227\245 ---,a_\346\227\245A"
     "\\n0Zb  \\n  A!.Aac!\346\227\245 ---,a_\346\227\245A\\n0Zb  \\n  ', '.bc.  --.bc.  --', ), '_!!-"
     "Z_Z__!!-Z_Z_', {'c!c': '  --\\na_b\346\227\245ab-b.--------\346\227\245  --'}, true], )|pprint }"
     "}",
     "(1,\n [Markup(' --\\n- \\nZb,\346\227\245b  \\n b  '),\n  ('A!.Aac!\346\227\245 ---,a_\346\227"
     "\245A\\n0Zb  \\n  A!.Aac!\346\227\245 ---,a_\346\227\245A\\n0Zb  \\n  ',\n   '.bc.  --.bc.  --')"
     ",\n  '_!!-Z_Z__!!-Z_Z_',\n  {'c!c': '  --\\na_b\346\227\245ab-b.--------\346\227\245  --'},\n  T"
     "rue])"},
    {"{{ (('ab \"q\"'|e)|center(20)) }}|{{ (('ab \"q\"'|e)|center(20)) is escaped }}|{{ [(('ab \"q\"'|"
     "e)|center(20))] }}",
     "   ab &#34;q&#34;   |True|[Markup('   ab &#34;q&#34;   ')]"},
    {"{{ (((('a<b>'|e)*2).upper())|lower) }}|{{ (((('a<b>'|e)*2).upper())|lower) is escaped }}|{{ [((("
     "('a<b>'|e)*2).upper())|lower)] }}",
     "a&lt;b&gt;a&lt;b&gt;|True|[Markup('a&lt;b&gt;a&lt;b&gt;')]"},
    {"{{ ((('a<b>')|replace('a','<'))[0]) }}|{{ ((('a<b>')|replace('a','<'))[0]) is escaped }}|{{ [((("
     "'a<b>')|replace('a','<'))[0])] }}",
     "<|False|['<']"},
    {"{{ ((((''|e)|upper)|lower).replace('a','<')) }}|{{ ((((''|e)|upper)|lower).replace('a','<')) is "
     "escaped }}|{{ [((((''|e)|upper)|lower).replace('a','<'))] }}",
     "|True|[Markup('')]"},
    {"{{ (('ab \"q\"'|e)|default('x')) }}|{{ (('ab \"q\"'|e)|default('x')) is escaped }}|{{ [(('ab \"q"
     "\"'|e)|default('x'))] }}",
     "ab &#34;q&#34;|True|[Markup('ab &#34;q&#34;')]"},
    {"{{ (('ab \"q\"'|safe)|center(20)) }}|{{ (('ab \"q\"'|safe)|center(20)) is escaped }}|{{ [(('ab "
     "\"q\"'|safe)|center(20))] }}",
     "       ab \"q\"       |True|[Markup('       ab \"q\"       ')]"},
    {"{{ ((((('a<b>'|e)+'<&')|string)|default('x'))|list|join) }}|{{ ((((('a<b>'|e)+'<&')|string)|defa"
     "ult('x'))|list|join) is escaped }}|{{ [((((('a<b>'|e)+'<&')|string)|default('x'))|list|join)] }}",
     "a&lt;b&gt;&lt;&amp;|False|['a&lt;b&gt;&lt;&amp;']"},
    {"{{ ((((('a<b>'|e)|last)|list|join).strip())|trim) }}|{{ ((((('a<b>'|e)|last)|list|join).strip())"
     "|trim) is escaped }}|{{ [((((('a<b>'|e)|last)|list|join).strip())|trim)] }}",
     ";|False|[';']"},
    {"{{ ((((('a & b'|safe)|default('x'))|first)|trim)|reverse) }}|{{ ((((('a & b'|safe)|default('x'))"
     "|first)|trim)|reverse) is escaped }}|{{ [((((('a & b'|safe)|default('x'))|first)|trim)|reverse)]"
     " }}",
     "a|False|['a']"},
    {"{{ (((''|safe)|join('<'))[1:]) }}|{{ (((''|safe)|join('<'))[1:]) is escaped }}|{{ [(((''|safe)|j"
     "oin('<'))[1:])] }}",
     "|False|['']"},
    {"{{ ((((('a<b>')|truncate(5))|safe)|reverse)|join('<')) }}|{{ ((((('a<b>')|truncate(5))|safe)|rev"
     "erse)|join('<')) is escaped }}|{{ [((((('a<b>')|truncate(5))|safe)|reverse)|join('<'))] }}",
     "><b<<<a|False|['><b<<<a']"},
    {"{{ (('a<b>'|safe).replace('a','<')) }}|{{ (('a<b>'|safe).replace('a','<')) is escaped }}|{{ [(('"
     "a<b>'|safe).replace('a','<'))] }}",
     "&lt;<b>|True|[Markup('&lt;<b>')]"},
    {"{{ (('a & b'|safe)|list|join) }}|{{ (('a & b'|safe)|list|join) is escaped }}|{{ [(('a & b'|safe)"
     "|list|join)] }}",
     "a & b|False|['a & b']"},
    {"{{ ((('a<b>')|truncate(5)).upper()) }}|{{ ((('a<b>')|truncate(5)).upper()) is escaped }}|{{ [((("
     "'a<b>')|truncate(5)).upper())] }}",
     "A<B>|False|['A<B>']"},
    {"{{ ((((('a & b')|indent(2))|reverse)|e)|string) }}|{{ ((((('a & b')|indent(2))|reverse)|e)|strin"
     "g) is escaped }}|{{ [((((('a & b')|indent(2))|reverse)|e)|string)] }}",
     "b &amp; a|True|[Markup('b &amp; a')]"},
    {"{{ ((((('ab \"q\"'|safe)|reverse)+'<&')[0])~'<') }}|{{ ((((('ab \"q\"'|safe)|reverse)+'<&')[0])~"
     "'<') is escaped }}|{{ [((((('ab \"q\"'|safe)|reverse)+'<&')[0])~'<')] }}",
     "\"<|False|['\"<']"},
    {"{{ ((((('ab \"q\"'|e)|wordwrap(4)).title())|lower).upper()) }}|{{ ((((('ab \"q\"'|e)|wordwrap(4)"
     ").title())|lower).upper()) is escaped }}|{{ [((((('ab \"q\"'|e)|wordwrap(4)).title())|lower).upp"
     "er())] }}",
     "AB &\n#34;\nQ&#3\n4;|False|['AB &\\n#34;\\nQ&#3\\n4;']"},
    {"{{ ((('<i> x </i>'|safe)|capitalize).strip()) }}|{{ ((('<i> x </i>'|safe)|capitalize).strip()) i"
     "s escaped }}|{{ [((('<i> x </i>'|safe)|capitalize).strip())] }}",
     "<i> x </i>|True|[Markup('<i> x </i>')]"},
    {"{{ ((('a<b>'|safe).split()|first)|wordwrap(4)) }}|{{ ((('a<b>'|safe).split()|first)|wordwrap(4))"
     " is escaped }}|{{ [((('a<b>'|safe).split()|first)|wordwrap(4))] }}",
     "a<b>|False|['a<b>']"},
    {"{{ ((('ab \"q\"'|safe)|forceescape)|join('<')) }}|{{ ((('ab \"q\"'|safe)|forceescape)|join('<'))"
     " is escaped }}|{{ [((('ab \"q\"'|safe)|forceescape)|join('<'))] }}",
     "a<b< <&<#<3<4<;<q<&<#<3<4<;|False|['a<b< <&<#<3<4<;<q<&<#<3<4<;']"},
    {"{{ 10|filesizeformat() }}", "10 Bytes"},
    {"{{ 169|filesizeformat() }}", "169 Bytes"},
    {"{{ 4.384|filesizeformat(true) }}", "4 Bytes"},
    {"{{ 6102930744|filesizeformat(true) }}", "5.7 GiB"},
    {"{{ 6624367459634|filesizeformat() }}", "6.6 TB"},
    {"{{ 1377624989|filesizeformat(true) }}", "1.3 GiB"},
};

#endif
