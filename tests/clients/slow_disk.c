// Preloaded: a disk that gives nothing from SLOW_DISK_OFFSET of a file on until the file SLOW_DISK_GATE exists.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static ssize_t read_slowly(const char* name, int fd, void* to, size_t count, off_t offset) {
  ssize_t (*real)(int, void*, size_t, off_t) = (ssize_t(*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, name);
  while (offset >= atoll(getenv("SLOW_DISK_OFFSET")) && access(getenv("SLOW_DISK_GATE"), F_OK) != 0) usleep(1000);
  return real(fd, to, count, offset);
}

ssize_t pread(int fd, void* to, size_t count, off_t offset) {
  return read_slowly("pread", fd, to, count, offset);
}
ssize_t pread64(int fd, void* to, size_t count, off_t offset) {
  return read_slowly("pread64", fd, to, count, offset);
}
