#include "store/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "store/file_descriptor.h"

extern char** environ;

namespace takt::store {
namespace {

constexpr std::size_t kKeptOutput = 8 * 1024;

// What the child gets instead of our open files and signal settings.
class SpawnSetup {
 public:
  explicit SpawnSetup(int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (int signal : {SIGPIPE, SIGINT, SIGTERM}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  int spawn(pid_t* pid, std::vector<char*>& argv) const {
    return ::posix_spawnp(pid, argv[0], &actions_, &attributes_, argv.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::string read_end(int fd) {
  std::string kept;
  char bytes[4096];
  while (true) {
    const ssize_t got = ::read(fd, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return kept;
    kept.append(bytes, static_cast<std::size_t>(got));
    if (kept.size() > kKeptOutput) kept.erase(0, kept.size() - kKeptOutput);
  }
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return 255;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<ChildResult> run_child(const std::vector<std::string>& argv) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error{ErrorCode::kIo, std::string("Cannot make a pipe: ") + std::strerror(errno) + ".", {}};
  FileDescriptor reading(ends[0]), writing(ends[1]);

  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t pid = 0;
  const int failure = SpawnSetup(writing.get()).spawn(&pid, pointers);
  if (failure != 0) {
    const ErrorCode code = failure == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return Error{code, "Cannot run '" + argv[0] + "': " + std::strerror(failure) + ".", {}};
  }
  writing.reset();
  ChildResult result;
  result.output = read_end(reading.get());
  result.exit_code = wait_for(pid);
  return result;
}

}  // namespace takt::store
