/*
 * A wall clock that can be set, for one process: LD_PRELOAD it, and write µs (int64, little endian) into the file that
 * CLOCK_OFFSET_FILE names. The monotonic clock stays as it is. (libfaketime hangs redis-server.)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset;

__attribute__((constructor)) static void open_offset(void) {
  const char *name = getenv("CLOCK_OFFSET_FILE");
  int file = name ? open(name, O_RDONLY) : -1;
  if (file < 0) return;
  void *page = mmap(0, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (page != MAP_FAILED) offset = page;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    int64_t nanos = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + *offset * 1000;
    time->tv_sec = nanos / 1000000000;
    time->tv_nsec = nanos % 1000000000;
  }
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec now;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  if (result == 0) {
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
  }
  return result;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
