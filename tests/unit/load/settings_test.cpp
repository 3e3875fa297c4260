#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "load/home_profile.h"
#include "load/load_settings.h"
#include "load/request_body.h"
#include "load/server_url.h"

namespace takt::load {
namespace {

TEST(ServerUrl, TakesWhatPeopleWrite) {
  const auto text = [](const char* url) {
    const auto parsed = parse_server_url(url);
    return parsed ? parsed->text() : parsed.error().message;
  };
  EXPECT_EQ(text("127.0.0.1:9000"), "http://127.0.0.1:9000");
  EXPECT_EQ(text("localhost"), "http://localhost:8080");
  EXPECT_EQ(text("http://host/v1/"), "http://host");
  EXPECT_EQ(text("https://host/some/prefix/v1"), "https://host/some/prefix");
  EXPECT_EQ(text("http://[::1]:81"), "http://[::1]:81");
  EXPECT_EQ(parse_server_url("https://host")->port, 443);
}

TEST(ServerUrl, RefusesWhatIsNone) {
  for (const char* url : {"", "http://", "ftp://host", "http://host:0", "http://host:70000", "http://host:8x",
                          "http://u:p@host", "http://host/a?b", "http://ho st", "http://[::1", "http://host\r\nX: y"}) {
    const auto parsed = parse_server_url(url);
    ASSERT_FALSE(parsed) << url;
    EXPECT_EQ(parsed.error().field, "url") << url;
  }
}

TEST(LoadSettings, AClassIsWrittenAsWords) {
  const auto settings =
      parse_class("name=voice rate=0.5 prompt=uniform:100-300 output=20 ttft=0.25 arrivals=gamma:0.5");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->name, "voice");
  EXPECT_DOUBLE_EQ(settings->rate, 0.5);
  EXPECT_EQ(settings->ttft, 0.25);
  auto load = make_load({*settings}, {});
  ASSERT_TRUE(load) << load.error().message;
  Duration before{0};
  for (int i = 0; i < 50; ++i) {
    const auto request = load->source->next();
    ASSERT_TRUE(request && *request);
    EXPECT_GE((*request)->at, before);
    before = (*request)->at;
    EXPECT_GE((*request)->prompt_tokens, 100U);
    EXPECT_LE((*request)->prompt_tokens, 300U);
    EXPECT_EQ((*request)->output_tokens, 20U);
  }
}

TEST(LoadSettings, WhatIsWrongIsNamed) {
  for (const auto& [text, field] :
       std::vector<std::pair<const char*, const char*>>{{"rate=-1", "rate"},
                                                        {"rate=nan", "rate"},
                                                        {"users=1.5", "users"},
                                                        {"colour=blue", "colour"},
                                                        {"rate", "class"},
                                                        {"cancel_share=2", "cancel_share"}}) {
    const auto settings = parse_class(text);
    ASSERT_FALSE(settings) << text;
    EXPECT_EQ(settings.error().field, field) << text;
  }
  for (const auto& [text, field] : std::vector<std::pair<const char*, const char*>>{
           {"rate=1 prompt=many", "prompt"},
           {"rate=1 output=uniform:9-1", "output"},
           {"rate=1 arrivals=sometimes", "arrivals"},
           {"rate=1 arrivals=onoff:1", "arrivals"},
           {"users=1 think=x", "think"},
           {"rate=1 users=1", "rate"},
           {"rate=0", "rate"},
           {"rate=1 turns=2", "users"},
           {"rate=1 think=2", "users"},
           {"users=1 arrivals=even", "users"},
           {"users=1 cancel_share=0.5", "users"},
           {"rate=1 prompt=99 shared_prefix=100", "shared_prefix"},
           {"rate=1 prompt=uniform:1-99 shared_prefix=100", "shared_prefix"},
           {"prompt=5", "rate"}}) {
    const auto settings = parse_class(text);
    ASSERT_TRUE(settings) << text;
    const auto load = make_load({*settings}, {});
    ASSERT_FALSE(load) << text;
    EXPECT_EQ(load.error().field, field) << text;
  }
}

TEST(LoadSettings, TheSameSeedGivesTheSameLoadAndAFactorOnlyItsRate) {
  const auto settings = *parse_class("rate=2 prompt=uniform:10-500 output=uniform:1-100");
  auto one = make_load({settings}, {.seed = 3});
  auto two = make_load({settings}, {.seed = 3});
  auto fast = make_load({settings}, {.rate_factor = 2.0, .seed = 3});
  for (int i = 0; i < 100; ++i) {
    const auto a = **one->source->next();
    const auto b = **two->source->next();
    const auto c = **fast->source->next();
    EXPECT_EQ(a.at, b.at);
    EXPECT_EQ(a.prompt_tokens, b.prompt_tokens);
    EXPECT_EQ(a.output_tokens, c.output_tokens);
    EXPECT_NEAR(to_seconds(c.at) * 2.0, to_seconds(a.at), 1e-6);
  }
}

// Lengths as they were together in a trace, while arrivals come from a process.
TEST(LoadSettings, LengthsAreATracesPairsWhereThatIsSaid) {
  const auto path = (std::filesystem::temp_directory_path() / "takt_load_lengths_test.csv").string();
  std::ofstream(path) << "input_tokens,output_tokens\n10,1\n200,20\n3000,300\n7,0\n";
  auto load = make_load({*parse_class("rate=5 lengths=" + path)}, {});
  ASSERT_TRUE(load) << load.error().message;
  std::map<std::uint32_t, int> seen;
  for (int i = 0; i < 300; ++i) {
    const auto request = **load->source->next();
    EXPECT_EQ(request.output_tokens, std::max(1U, request.prompt_tokens / 10));
    ++seen[request.prompt_tokens];
  }
  EXPECT_EQ(seen.size(), 3U) << "a request without an answer has no length to draw";
  const auto both = make_load({*parse_class("rate=5 prompt=12 lengths=" + path)}, {});
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().field, "lengths");
  std::remove(path.c_str());
  EXPECT_FALSE(make_load({*parse_class("rate=5 lengths=" + path)}, {}));
}

TEST(LoadSettings, WhatAServerDoesNotTakeIsKnownBeforeItIsSent) {
  const auto fits = [](const std::string& text, std::uint32_t most) {
    const auto load = make_load({*parse_class("name=fits rate=1"), *parse_class(text)}, {});
    EXPECT_TRUE(load) << load.error().message;
    const auto status = check_context(*load, most);
    if (!status) {
      EXPECT_EQ(status.error().field, "prompt");
      EXPECT_NE(status.error().message.find("class long"), std::string::npos) << status.error().message;
    }
    return status.ok();
  };
  const std::string name = "name=long ";
  EXPECT_TRUE(fits(name + "rate=1 prompt=900 output=100", 1000));
  EXPECT_FALSE(fits(name + "rate=1 prompt=900 output=101", 1000));
  EXPECT_FALSE(fits(name + "rate=1 prompt=uniform:1-900 output=uniform:1-101", 1000));
  EXPECT_TRUE(fits(name + "rate=1 prompt=lognormal:5000,1 output=9", 1000)) << "its longest is nobody's word";
  EXPECT_FALSE(fits(name + "rate=1 prompt=lognormal:5000,1,min=1000 output=9", 1000));
  EXPECT_FALSE(fits(name + "rate=1 prompt=lognormal:100,1,max=1000 output=9", 1000));
  EXPECT_TRUE(fits(name + "users=1 prompt=800 shared_prefix=100 output=100", 1000));
  EXPECT_FALSE(fits(name + "users=1 prompt=800 shared_prefix=101 output=100", 1000));
}

TEST(LoadSettings, SeveralClassesAreOneStreamInOrder) {
  auto load =
      make_load({*parse_class("name=a rate=5"), *parse_class("name=b rate=50"), *parse_class("name=c rate=1")}, {});
  ASSERT_TRUE(load);
  std::vector<int> counts(3);
  Duration before{0};
  for (int i = 0; i < 2000; ++i) {
    const auto request = **load->source->next();
    EXPECT_GE(request.at, before);
    before = request.at;
    ++counts[request.class_index];
  }
  EXPECT_GT(counts[1], 8 * counts[0]);
  EXPECT_GT(counts[0], 2 * counts[2]);
}

TEST(LoadSettings, AFileHasAClassInEachTable) {
  const auto path = (std::filesystem::temp_directory_path() / "takt_load_settings_test.toml").string();
  std::ofstream(path)
      << "[[class]]\nname = \"voice\"\nrate = 0.5\nprompt = 30\n[[class]]\nname = \"night\"\nusers = 2\n";
  const auto classes = read_load_file(path);
  ASSERT_TRUE(classes) << classes.error().message;
  ASSERT_EQ(classes->size(), 2U);
  EXPECT_EQ((*classes)[0].prompt, "30");
  EXPECT_EQ((*classes)[1].users, 2U);
  std::ofstream(path) << "[[class]]\nname = \"voice\"\ncolour = 1\n";
  const auto wrong = read_load_file(path);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find(":3:"), std::string::npos) << wrong.error().message;
  std::string chain = "a";
  for (int i = 0; i < 50'000; ++i) chain += ".a";
  std::ofstream(path) << "[[class]]\n" << chain << " = 1\n";
  const auto deep = read_load_file(path);
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().field, "load");
  EXPECT_EQ(deep.error().message, path + ":2: more than 64 dots in a line");
  std::remove(path.c_str());
  EXPECT_FALSE(read_load_file(path));
}

TEST(HomeProfile, IsADayOfAHouseholdInTheTimeThatIsGiven) {
  auto load = make_home_load({.people = 4, .length = std::chrono::seconds(600)});
  ASSERT_TRUE(load) << load.error().message;
  std::vector<std::size_t> counts(load->classes.size());
  Duration last{0};
  for (;;) {
    const auto request = load->source->next();
    ASSERT_TRUE(request);
    if (!*request) break;
    EXPECT_GE((*request)->at, last);
    last = (*request)->at;
    ++counts[(*request)->class_index];
  }
  EXPECT_LE(last, std::chrono::seconds(600));
  std::size_t all = 0;
  for (const auto count : counts) all += count;
  EXPECT_NEAR(static_cast<double>(all), 4 * 163 + 408, 150.0);
  EXPECT_EQ(load->classes.size(), 5U);
}

TEST(RequestBody, AsksForWhatTheServerKnows) {
  RequestForm form;
  form.model = "m";
  const auto forced = request_body(form, {{"user", "say \"hi\"\n"}}, 7);
  EXPECT_NE(forced.find("\"ignore_eos\":true"), std::string::npos);
  EXPECT_NE(forced.find("\"min_tokens\":7"), std::string::npos);
  EXPECT_NE(forced.find("say \\\"hi\\\"\\n"), std::string::npos);
  form.force_length = false;
  form.new_limit_name = true;
  const auto plain = request_body(form, {{"user", "hi"}}, 7);
  EXPECT_EQ(plain.find("ignore_eos"), std::string::npos);
  EXPECT_NE(plain.find("\"max_completion_tokens\":7"), std::string::npos);
}

}  // namespace
}  // namespace takt::load
