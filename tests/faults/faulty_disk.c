/* A disk that fails, for one folder of one process: loaded before the C library (LD_PRELOAD).

   Each call that changes what is below the folder is counted, whoever makes it (Python, HDF5,
   polars); `faults_arm` says which of them fail, how, and from which one on.  disk.py builds and uses
   it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN = 1, WRITE = 2, SYNC = 4, CLOSE = 8, RENAME = 16, LINK = 32, MAKE = 64, UNLINK = 128,
       TRUNCATE = 256 };

static char folder[PATH_MAX], elsewhere[PATH_MAX];
static size_t length;
static int armed, kinds, number, lasting, gone, part;
static long at;
/* Shared with the process that has forked this one and reads it. */
static struct { long calls, fired; } *seen;

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* The folder to fail in; its kinds of calls, the errno (below 0: the signal that ends the process
   before the call), the first call that fails (from 0), whether later ones fail too, what part of a write is made before it fails (in 1/256; -1: all but a byte;
   -2: half, and no failure), and where the folder goes instead of a failure, if anywhere. */
void faults_arm(const char *below, int which, int error, long first, int stay, int written,
                const char *moved)
{
    snprintf(folder, sizeof folder, "%s", below);
    snprintf(elsewhere, sizeof elsewhere, "%s", moved);
    length = strlen(folder);
    kinds = which, number = error, at = first, lasting = stay, part = written;
    gone = moved[0] != 0;
    seen->calls = seen->fired = 0;
    armed = 1;
}

long faults_calls(void) { return seen->calls; }
long faults_fired(void) { return seen->fired; }

__attribute__((constructor)) static void begin(void)
{
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static int below(const char *path)
{
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int descriptor_below(int descriptor)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return below(path);
}

static int path_below(int where, const char *name)
{
    char path[PATH_MAX], link[64];
    if (name[0] == '/') return below(name);
    ssize_t n;
    if (where == AT_FDCWD) {
        if (!getcwd(path, sizeof path)) return 0;
        n = strlen(path);
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", where);
        n = readlink(link, path, sizeof path - 1);
        if (n < 0) return 0;
    }
    snprintf(path + n, sizeof path - n, "/%s", name);
    return below(path);
}

/* Whether this call fails: 0 no, 1 it is the first that does, 2 a later one. */
static int fails(int kind, int inside)
{
    if (!armed || !(kinds & kind) || !inside) return 0;
    long call = __atomic_fetch_add(&seen->calls, 1, __ATOMIC_SEQ_CST);
    if (at < 0 || call < at || (call > at && !lasting)) return 0;
    __atomic_fetch_add(&seen->fired, 1, __ATOMIC_SEQ_CST);
    if (gone) {
        /* Not a failure of this call: it finds things as they now are. */
        if (call == at) {
            armed = 0;
            REAL(rename);
            real(folder, elsewhere);
        }
        return 0;
    }
    if (number < 0) kill(getpid(), -number);
    errno = number;
    return call == at ? 1 : 2;
}

static int writes(int flags) { return flags & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR); }

static int opened(int where, const char *name, int flags, mode_t mode)
{
    REAL(openat64);
    if (writes(flags) && fails(OPEN, armed && path_below(where, name))) return -1;
    return real(where, name, flags, mode);
}

#define MODE(flags) mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); \
        mode = va_arg(rest, mode_t); va_end(rest); }

int open(const char *name, int flags, ...) { MODE(flags) return opened(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE(flags) return opened(AT_FDCWD, name, flags, mode); }
int openat(int at, const char *name, int flags, ...) { MODE(flags) return opened(at, name, flags, mode); }
int openat64(int at, const char *name, int flags, ...) { MODE(flags) return opened(at, name, flags, mode); }
int creat(const char *name, mode_t mode)
{
    return opened(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

/* How many of `n` bytes are written before the failure; -1 for all of them, no failure. */
static ssize_t before_failure(int descriptor, size_t n)
{
    int how = n ? fails(WRITE, armed && descriptor_below(descriptor)) : 0;
    if (!how) return -1;
    if (part == -2) return n / 2;
    if (how == 2) return 0;
    if (part == -1) return n - 1;
    return n * part / 256;
}

#define CUT(n, call, whole) \
    ssize_t some = before_failure(descriptor, n); \
    if (some < 0) return whole; \
    int error = errno; \
    /* The rest of a write that was cut short fails, as it is asked for. */ \
    if (some > 0) return call; \
    if (part == -2) return whole; \
    errno = error; \
    return -1;

ssize_t write(int descriptor, const void *bytes, size_t n)
{
    REAL(write);
    CUT(n, real(descriptor, bytes, some), real(descriptor, bytes, n))
}
ssize_t pwrite(int descriptor, const void *bytes, size_t n, off_t place)
{
    REAL(pwrite);
    CUT(n, real(descriptor, bytes, some, place), real(descriptor, bytes, n, place))
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t n, off64_t place)
{
    REAL(pwrite64);
    CUT(n, real(descriptor, bytes, some, place), real(descriptor, bytes, n, place))
}
ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
    REAL(writev);
    if (fails(WRITE, armed && descriptor_below(descriptor)) && part != -2) return -1;
    return real(descriptor, parts, count);
}
int fsync(int descriptor)
{
    REAL(fsync);
    return fails(SYNC, armed && descriptor_below(descriptor)) ? -1 : real(descriptor);
}
int fdatasync(int descriptor)
{
    REAL(fdatasync);
    return fails(SYNC, armed && descriptor_below(descriptor)) ? -1 : real(descriptor);
}
int close(int descriptor)
{
    REAL(close);
    int flags = armed ? fcntl(descriptor, F_GETFL) : 0;
    int inside = armed && flags >= 0 && (flags & O_ACCMODE) && descriptor_below(descriptor);
    if (!fails(CLOSE, inside)) return real(descriptor);
    real(descriptor);
    errno = number;
    return -1;
}
int ftruncate(int descriptor, off_t size)
{
    REAL(ftruncate);
    return fails(TRUNCATE, armed && descriptor_below(descriptor)) ? -1 : real(descriptor, size);
}
int ftruncate64(int descriptor, off64_t size)
{
    REAL(ftruncate64);
    return fails(TRUNCATE, armed && descriptor_below(descriptor)) ? -1 : real(descriptor, size);
}
int rename(const char *from, const char *to)
{
    REAL(rename);
    return fails(RENAME, armed && path_below(AT_FDCWD, to)) ? -1 : real(from, to);
}
int renameat(int a, const char *from, int b, const char *to)
{
    REAL(renameat);
    return fails(RENAME, armed && path_below(b, to)) ? -1 : real(a, from, b, to);
}
int link(const char *from, const char *to)
{
    REAL(link);
    return fails(LINK, armed && path_below(AT_FDCWD, to)) ? -1 : real(from, to);
}
int linkat(int a, const char *from, int b, const char *to, int flags)
{
    REAL(linkat);
    return fails(LINK, armed && path_below(b, to)) ? -1 : real(a, from, b, to, flags);
}
int mkdir(const char *name, mode_t mode)
{
    REAL(mkdir);
    return fails(MAKE, armed && path_below(AT_FDCWD, name)) ? -1 : real(name, mode);
}
int mkdirat(int where, const char *name, mode_t mode)
{
    REAL(mkdirat);
    return fails(MAKE, armed && path_below(where, name)) ? -1 : real(where, name, mode);
}
int unlink(const char *name)
{
    REAL(unlink);
    return fails(UNLINK, armed && path_below(AT_FDCWD, name)) ? -1 : real(name);
}
int unlinkat(int where, const char *name, int flags)
{
    REAL(unlinkat);
    return fails(UNLINK, armed && path_below(where, name)) ? -1 : real(where, name, flags);
}
int rmdir(const char *name)
{
    REAL(rmdir);
    return fails(UNLINK, armed && path_below(AT_FDCWD, name)) ? -1 : real(name);
}
