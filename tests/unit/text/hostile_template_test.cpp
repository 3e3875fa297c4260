// Templates whose work is not in their instructions but inside one: a shared value walked, compared, hashed, printed or
// repeated. Each ends, with a clean error or a text, within seconds, and no thread is left behind.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "text/chat_template.h"

namespace takt {
namespace {

// The limits stop each of these within a second or two; the rest is for a slow or busy machine.
constexpr std::chrono::seconds kLongest{60};

Result<std::string> render(std::string_view source, std::string context = "{}") {
  auto compiled = ChatTemplate::compile(source, {"<|im_end|>"});
  if (!compiled) return compiled.error();
  auto rendered = (*compiled)->render({std::move(context)});
  if (!rendered) return rendered.error();
  return std::move(rendered->text);
}

// What `ns.x` becomes is used by `use`, which may name it `x`.
std::string grown(std::string_view start, std::string_view step, std::string_view use) {
  return "{% set ns = namespace(x=" + std::string(start) +
         ") %}{% for i in range(90) %}{% set ns.x = " + std::string(step) + " %}{% endfor %}{% set x = ns.x %}" +
         std::string(use);
}

void expect_limit(const std::string& source) {
  const auto start = std::chrono::steady_clock::now();
  const auto text = render(source);
  EXPECT_LT(std::chrono::steady_clock::now() - start, kLongest) << source;
  ASSERT_FALSE(text.ok()) << source << "\n" << text->size() << " bytes";
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument) << source << "\n" << text.error().message;
  EXPECT_FALSE(text.error().message.empty()) << source;
}

// Found by review: a list that doubles is lazy, so 90 additions were free and one look at it took for ever.
TEST(HostileTemplate, AListThatDoublesEndsWhereverItIsUsed) {
  for (const char* use : {
           "{{ x }}",
           "{{ x ~ '' }}",
           "{{ x == x + [] }}",
           "{{ x | length }}",
           "{{ x | tojson }}",
           "{{ x | join }}",
           "{{ x | sort }}",
           "{{ 2 in x }}",
           "{{ {x: 1} }}",
           "{% for y in x %}{% endfor %}",
           "{{ x | unique | list }}",
           "{{ x | last }}",
           "{{ x[-1] }}",
           "{{ x[::-1] | first }}",
           "{{ x | sum }}",
           "{{ x | string }}",
       }) {
    for (const char* start : {"[1]", "[]", "'a,b'.split(',')", "range(9)", "{'a': 1}.items()", "(1, 2)"}) {
      if (std::string_view(start) == "[]") continue;  // stays empty: see below
      expect_limit(grown(start, "ns.x + ns.x", use));
    }
  }
  EXPECT_EQ(*render(grown("[]", "ns.x + ns.x", "{{ x | length }}{{ x == [1] }}")), "0False");
}

TEST(HostileTemplate, AListThatIsRepeatedEnds) {
  for (const char* step : {"ns.x * 2", "ns.x * 100000000", "2 * ns.x"}) {
    expect_limit(grown("[1]", step, "{{ x | length }}"));
  }
  for (const char* source : {
           "{{ [1] * 90000000 }}",
           "{{ ([1] * 100000000) == ([2] * 100000000) }}",
           "{{ ('x' * 1000 * 1000 * 1000) }}",
           "{{ ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaa'] * 100000000 ~ '' }}",
           "{% set a = ['x' * 100000] * 10000 %}{{ a ~ '' }}",
           "{% set a = ['x' * 100000] * 10000 %}{{ ','.join(a) }}",
           "{% set a = ['x' * 100000] * 10000 %}{{ a | join }}",
           "{% set a = ['x' * 100000] * 10000 %}{{ a | upper }}",
           "{% set a = ['x' * 100000] * 10000 %}{{ a | sum(start='') }}",
           "{{ ('{0}' * 10000).format('x' * 1000000) }}",
           "{{ ('%s' * 10000) | format(*(['x' * 1000000] * 10000)) }}",
           "{{ '%*d' | format(1000000000, 5) }}",
           "{{ ('a' * 100000) | replace('a', 'x' * 100000) }}",
           "{{ ('a' * 100000).replace('a', 'x' * 100000) }}",
           "{{ [] | slice(100000000000) | list }}",
           "{{ [1] | batch(100000000000, 'x') | list }}",
           "{{ [[1]] | tojson(indent='x' * 100000) }}",
       }) {
    expect_limit(source);
  }
}

// Nested in itself, a value of 90 steps has 2^90 paths.
TEST(HostileTemplate, ASharedTreeEndsWhereverItIsWalked) {
  const auto expect_end = [](const std::string& step, const std::string& use) {
    expect_limit(grown("[1]", step,
                       "{% set a = x %}{% set ns.x = [1] %}{% for i in range(90) %}{% set ns.x = " + step +
                           " %}{% endfor %}{% set b = ns.x %}" + use));
  };
  for (const char* use :
       {"{{ a == b }}", "{{ a != b }}", "{{ a < b }}", "{{ a is eq(b) }}", "{{ [a, b] | sort | first }}", "{{ a ~ b }}",
        "{{ a | tojson }}", "{{ a | string }}", "{{ a | upper }}", "{{ a in [b] }}", "{{ [a, b] | unique | list }}",
        "{{ 'x' | replace(a, '') }}", "{{ a | pprint }}", "{{ [a, b] | min }}", "{{ '{}'.format(a) }}",
        "{{ '%s' | format(a) }}", "{{ [{'k': a}, {'k': b}] | groupby('k') }}", "{{ [a].count(b) }}",
        "{{ 1 < a < b }}"}) {
    expect_end("[ns.x, ns.x]", use);
  }
  for (const char* step : {"{'a': ns.x, 'b': ns.x}", "(ns.x, ns.x)", "[ns.x] * 2", "[ns.x] + [ns.x]",
                           "[ns.x, ns.x] | list", "dict(a=ns.x, b=ns.x)", "[ns.x, ns.x] | map('default') | list",
                           "{'a': [ns.x, ns.x]}.items() | list", "[[ns.x, ns.x]] | first"}) {
    for (const char* use : {"{{ a == b }}", "{{ a ~ b }}", "{{ [a, b] | unique | list }}"}) expect_end(step, use);
  }
}

TEST(HostileTemplate, AKeyThatIsAContainerIsRefused) {
  for (const char* source : {"{{ {[1]: 2} }}", "{{ {{}: 2} }}", "{% set n = namespace(a=1) %}{{ {n: 1} }}"})
    expect_limit(source);
  EXPECT_EQ(*render("{{ {(1, 2): 3} }}{{ {'a': 1}[[]] }}"), "{(1, 2): 3}");
}

TEST(HostileTemplate, NothingHoldsItself) {
  for (const char* source : {
           "{% set n = namespace() %}{% set n.x = n %}{{ n ~ '' }}",
           "{% set n = namespace() %}{% set n.x = n %}{{ n | tojson }}",
           "{% set n = namespace() %}{% set n.x = [n] %}{{ n }}",
           "{% set n = namespace() %}{% set n.x = {'a': n} %}{{ n == n.x }}",
           "{% set n = namespace() %}{% set n.x = dict(a=n) %}",
           "{% set n = namespace() %}{% set m = namespace(x=n) %}{% set n.x = m %}{{ n ~ '' }}",
           "{% set n = namespace() %}{% set m = namespace({'x': n}) %}",
           "{% set n = namespace() %}{% for i in [1] %}{% set n.x = loop %}{% endfor %}{{ n ~ '' }}",
           "{% set n = namespace() %}{% for i in [1] %}{% set n.x = [loop] %}{% endfor %}{{ n ~ '' }}",
           "{% macro m(n, k) %}{% if k %}{{ m(namespace(a=n, b=n), k - 1) }}{% else %}{{ n ~ '' }}{% endif %}{% "
           "endmacro %}"
           "{{ m(1, 60) }}",
       }) {
    expect_limit(source);
  }
}

TEST(HostileTemplate, DepthEndsWithoutTheStack) {
  for (const char* source : {
           "{% set n = namespace(x=[]) %}{% for i in range(100000) %}{% set n.x = [n.x] %}{% endfor %}",
           "{% set n = namespace(x={}) %}{% for i in range(100000) %}{% set n.x = {'a': n.x} %}{% endfor %}",
           "{% set n = namespace(x=()) %}{% for i in range(100000) %}{% set n.x = (n.x,) %}{% endfor %}",
           "{% set n = namespace(x=[]) %}{% for i in range(100000) %}{% set n.x = n.x | batch(1) | list + [[n.x]] %}{% "
           "endfor %}",
           "{% macro f(x) %}{{ f([x]) }}{% endmacro %}{{ f(1) }}",
       }) {
    expect_limit(source);
  }
  // Lazy operators may be chained as long as the steps last: nothing nests.
  for (const char* step : {"n.x[0:]", "n.x * 1", "n.x | reverse", "n.x + []", "n.x[::-1]"}) {
    const std::string source =
        "{% set n = namespace(x=[1]) %}{% for i in range(9000) %}{% set n.x = " + std::string(step) +
        " %}{% endfor %}{{ n.x | length }}{{ n.x }}";
    const auto text = render(source);
    ASSERT_TRUE(text.ok()) << source << text.error().message;
    EXPECT_EQ(*text, "1[1]") << source;
  }
}

// Products of constants are not worked out when a template is compiled, where no steps are counted.
TEST(HostileTemplate, CompilingEndsToo) {
  for (const char* constant : {"([1] * 100000000) == ([1] * 99999999)", "['xxxxxxxxxxxxxxxx'] * 100000000 ~ ''",
                               "7 in [1] * 100000000", "([[1] * 10000] * 10000) ~ ''"}) {
    std::string source;
    for (int i = 0; i < 100; ++i) source += "{% if false %}{{ " + std::string(constant) + " }}{% endif %}";
    EXPECT_EQ(*render(source), "");
  }
  std::string product = "{{ 1";
  for (int i = 0; i < 100; ++i) product += "*1";
  EXPECT_EQ(*render(product + " }}"), "1");
  EXPECT_FALSE(render(product + "*1 }}").ok());
}

TEST(HostileTemplate, LongTextsAreNotReadAgainForEachOfTheirCharacters) {
  expect_limit(
      "{% for i in range(9999) %}{% for j in range(9999) %}{{ ('x' * 9000).strip('y' * 9000 ~ 'x') }}{% endfor %}{% "
      "endfor %}");
  const std::string text(1'000'000, 'x');
  const std::string context = R"({"a":")" + text + R"(","b":")" + std::string(1'000'000, 'y') + R"(x"})";
  EXPECT_EQ(*render("{{ a | trim(b) }}{{ a.strip(b) }}{{ a.lstrip(b) }}{{ a.rstrip(b) }}.", context), ".");
}

TEST(HostileTemplate, AFaultOfTheEngineIsAnErrorOfTheTemplate) {
  for (const char* source : {"{{ 'abc'[::-9223372036854775808] }}", "{{ [1][::-9223372036854775808] }}",
                             "{{ range(9, 0, -9223372036854775808) }}"}) {
    const auto text = render(source);
    ASSERT_FALSE(text.ok()) << source;
    EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument) << text.error().message;
    EXPECT_EQ(text.error().field, "messages");
  }
}

// What honest templates do with lists stays what it was.
TEST(HostileTemplate, HonestListsAreWhatPythonMakesOfThem) {
  EXPECT_EQ(*render("{{ [1] + [2] }}{{ [0] * 2 }}{{ 2 * 3 }}{{ [1, 2, 3][1:] }}{{ (1, 2) }}{{ [(1,)] }}"),
            "[1, 2][0, 0]6[2, 3](1, 2)[(1,)]");
  EXPECT_EQ(*render("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}{{ {'a': 1} | dictsort }}"),
            "a1[('a', 1)]");
  EXPECT_EQ(
      *render("{% for g in [{'k': 1, 'v': 2}, {'k': 1, 'v': 3}] | groupby('k') %}{{ g.grouper }}{{ g.list | length }}"
              "{{ g[0] }}{% endfor %}"),
      "121");
  EXPECT_EQ(*render("{% macro m(a, b=[1]) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 3}) }}"),
            "123[1]");
  EXPECT_EQ(*render("{{ (1, 2) == [1, 2] }}{{ [1, 2] == [1, 2] }}{{ {'a': [1]} == {'a': [1]} }}{{ [1] < [2] }}"),
            "FalseTrueTrueTrue");
  EXPECT_EQ(*render("{% for a in [[1, [2]]] recursive %}{{ a if a is number else loop(a) }}{% endfor %}"), "12");
  EXPECT_EQ(*render("{% for a in [1, 2, 3] if a != 2 %}{{ a }}{{ loop.last }}{% else %}none{% endfor %}"),
            "1False3True");
  EXPECT_EQ(
      *render("{{ ', '.join(['a', 1]) }}{{ 'abc'.strip('ac') }}{{ '{} {}'.format('a', [1]) }}{{ '%s' | format('x') }}"),
      "a, 1ba [1]x");
  EXPECT_EQ(*render("{{ [1, 2] | sum }}{{ {'b': 1, 'a': 2} | items | list }}{{ [3, 1] | sort }}"),
            "3[('b', 1), ('a', 2)][1, 3]");
}

// A conversation's worth of appended messages is far from the limit.
TEST(HostileTemplate, TheListsOfLongConversationsFit) {
  std::string messages;
  for (int i = 0; i < 3000; ++i) messages += R"({"role":"user","content":"Hello there"},)";
  messages.pop_back();
  const auto text = render(
      "{% set n = namespace(all=[]) %}{% for m in messages %}{% set n.all = n.all + [m] %}{% endfor %}{{ n.all | "
      "length }}"
      "{% for m in messages %}{% if messages[loop.index0:] | length == 1 %}!{% endif %}{% endfor %}",
      R"({"messages":[)" + messages + "]}");
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(*text, "3000!");
}

}  // namespace
}  // namespace takt
