/* A disk that misbehaves on command, and a diary of the calls that it received.
 *
 * Preloaded into a service (LD_PRELOAD), it stands between SQLite, Python and the C library for every file under one
 * folder: writes, syncs, truncations, renames, removals. A page of shared memory (`struct control`) says what is to go
 * wrong, and may be changed while the service runs. Everything that was done is appended to a journal, from which
 * `power.py` works out what a disk may hold after the power has failed.
 *
 * It also moves the wall clock, so that a test can make it jump.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The same order as `FIELDS` in shim.py. */
struct control {
    int64_t clock_ns;  /* added to the wall clock */
    int64_t delay_us;  /* slept before every write and sync */
    int64_t full;      /* not 0: every write is refused, there is no space */
    int64_t action;    /* what happens to the chosen operations; an enum action */
    int64_t kinds;     /* which operations are counted: bits of 1 << enum kind */
    int64_t files;     /* in which files: bits of enum file */
    int64_t nth;       /* the first one that is hit, from 1 */
    int64_t times;     /* how many in a row are hit */
    int64_t error;     /* the errno of those that fail */
    int64_t part;      /* how much of a torn write gets through, in thousandths */
    int64_t unsynced;  /* not 0: syncs are only written down (the journal is the disk then) */
    int64_t seen;      /* how many operations were counted */
    int64_t fired;     /* how many were hit */
};
enum action { NOTHING, FAIL, TEAR, SHORT, DROP, KILL, TEAR_AND_KILL };
/* The same numbers as `Kind` in journal.py. */
enum kind { WRITE = 1, SYNC, TRUNCATE, RENAME, UNLINK, CREATE, MKDIR, SYNC_FAILED, LINK };
enum file { WAL = 1, DATABASE = 2, HEADS = 4, SNAPSHOTS = 8, OTHER = 16 };
struct entry {
    uint32_t kind, path, other; /* what, and the lengths of one or two paths */
    uint32_t size;              /* of the content */
    int64_t at;                 /* the offset of a write, or the new length */
};

static struct control *control;
static char root[PATH_MAX];
static size_t root_length;
static int journal = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

/* Begin: this folder, this journal, this page of orders. Called once, in the process that serves. */
int smidgen_faults_arm(const char *folder, const char *journal_path, const char *control_path) {
    int shared = syscall(SYS_openat, AT_FDCWD, control_path, O_RDWR | O_CLOEXEC, 0);
    if (shared < 0) return errno;
    control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    syscall(SYS_close, shared);
    if (control == MAP_FAILED) return errno;
    journal = syscall(SYS_openat, AT_FDCWD, journal_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (journal < 0) return errno;
    root_length = strlen(folder);
    memcpy(root, folder, root_length + 1);
    return 0;
}

static int inside(const char *path) {
    size_t length = strlen(path);
    if (!root_length || strncmp(path, root, root_length) || (path[root_length] && path[root_length] != '/')) return 0;
    return !(length > 4 && !strcmp(path + length - 4, "-shm")); /* shared memory, created again at every start */
}

/* The path of an open file, if it is one of ours that still has a name. */
static int named(int handle, char *path) {
    char link[64], *end = link + sizeof link - 1;
    if (!root_length || handle < 0) return 0;
    *end = 0;
    do *--end = '0' + handle % 10; while (handle /= 10);
    end -= 14;
    memcpy(end, "/proc/self/fd/", 14);
    ssize_t length = readlink(end, path, PATH_MAX - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    if (length > 10 && !strcmp(path + length - 10, " (deleted)")) return 0;
    return inside(path);
}

/* A path as it was given, made absolute, if it is one of ours. */
static int located(int folder, const char *given, char *path) {
    size_t length = 0;
    if (!root_length || !given) return 0;
    if (given[0] != '/') {
        if (folder == AT_FDCWD) {
            if (!getcwd(path, PATH_MAX)) return 0;
            length = strlen(path);
        } else {
            char link[64] = "/proc/self/fd/";
            size_t at = 14, digits = 1;
            for (int rest = folder; rest >= 10; rest /= 10) digits++;
            link[at + digits] = 0;
            for (int rest = folder; digits; rest /= 10) link[at + --digits] = '0' + rest % 10;
            ssize_t found = readlink(link, path, PATH_MAX - 1);
            if (found <= 0) return 0;
            length = found;
        }
        path[length++] = '/';
    }
    if (length + strlen(given) >= PATH_MAX) return 0;
    strcpy(path + length, given);
    return inside(path);
}

static void note(enum kind kind, const char *path, const char *other, int64_t at, const void *content, size_t size) {
    struct entry head = {kind, strlen(path), other ? strlen(other) : 0, size, at};
    size_t whole = sizeof head + head.path + head.other + size;
    char *line = malloc(whole), *place = line;
    if (!line) abort();
    memcpy(place, &head, sizeof head), place += sizeof head;
    memcpy(place, path, head.path), place += head.path;
    if (other) memcpy(place, other, head.other), place += head.other;
    if (size) memcpy(place, content, size);
    if (syscall(SYS_write, journal, line, whole) != (long)whole) abort(); /* one call: a kill cannot cut it in two */
    free(line);
}

static int ends(const char *path, const char *end) {
    size_t a = strlen(path), b = strlen(end);
    return a >= b && !strcmp(path + a - b, end);
}

static enum file sort_of(const char *path) {
    if (ends(path, ".db-wal")) return WAL;
    if (ends(path, ".db")) return DATABASE;
    if (ends(path, ".heads")) return HEADS;
    if (strstr(path + root_length, "/snapshots")) return SNAPSHOTS;
    return OTHER;
}

/* What is to happen to this operation. */
static enum action verdict(enum kind kind, const char *path) {
    if (!control->action || !(control->kinds >> kind & 1) || !(control->files & sort_of(path))) return NOTHING;
    control->seen++;
    if (control->seen < control->nth || control->seen >= control->nth + control->times) return NOTHING;
    control->fired++;
    return control->action;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static void wait_for_disk(void) {
    struct timespec time = {control->delay_us / 1000000, control->delay_us % 1000000 * 1000};
    if (control->delay_us > 0) nanosleep(&time, NULL);
}

/* A write at a place; -1 is the file's own position. */
static ssize_t put(int handle, const void *content, size_t size, off64_t at) {
    char path[PATH_MAX];
    int ours = size && named(handle, path);
    if (!ours) return at < 0 ? REAL(write)(handle, content, size) : REAL(pwrite64)(handle, content, size, at);
    wait_for_disk();
    pthread_mutex_lock(&lock);
    enum action action = control->full ? FAIL : verdict(WRITE, path);
    int error = control->full ? ENOSPC : (int)control->error;
    size_t through = size;
    if (action == FAIL || action == KILL || action == DROP) through = 0;
    if (action == TEAR || action == SHORT || action == TEAR_AND_KILL) through = size * control->part / 1000;
    if (action == SHORT && !through) through = 1;
    off64_t place = at < 0 ? lseek64(handle, 0, SEEK_CUR) : at;
    if (at < 0 && fcntl(handle, F_GETFL) & O_APPEND) place = lseek64(handle, 0, SEEK_END);
    ssize_t done = 0;
    if (through) {
        done = at < 0 ? REAL(write)(handle, content, through) : REAL(pwrite64)(handle, content, through, at);
        if (done > 0) note(WRITE, path, NULL, place, content, done);
    }
    if (action == KILL || action == TEAR_AND_KILL) die();
    if (action == DROP) {
        if (at < 0) lseek64(handle, size, SEEK_CUR);
        done = size;
    }
    if (action == FAIL || action == TEAR) done = -1, errno = error;
    int kept = errno;
    pthread_mutex_unlock(&lock);
    errno = kept;
    return done;
}

static int flush(int handle, int (*sync)(int)) {
    char path[PATH_MAX];
    if (!named(handle, path)) return sync(handle);
    wait_for_disk();
    pthread_mutex_lock(&lock);
    enum action action = verdict(SYNC, path);
    int done = 0;
    if (action == KILL || action == TEAR_AND_KILL) die();
    if (action == FAIL || action == TEAR || action == SHORT) {
        note(SYNC_FAILED, path, NULL, 0, NULL, 0);
        done = -1, errno = control->error;
    } else if (action != DROP) {
        if (!control->unsynced) done = sync(handle);
        if (!done) note(SYNC, path, NULL, 0, NULL, 0);
    }
    int kept = errno;
    pthread_mutex_unlock(&lock);
    errno = kept;
    return done;
}

static int cut(int handle, off64_t length) {
    char path[PATH_MAX];
    if (!named(handle, path)) return REAL(ftruncate64)(handle, length);
    pthread_mutex_lock(&lock);
    enum action action = verdict(TRUNCATE, path);
    int done = 0;
    if (action == KILL || action == TEAR_AND_KILL) die();
    if (action == FAIL || action == TEAR || action == SHORT) {
        done = -1, errno = control->error;
    } else if (action != DROP && !(done = REAL(ftruncate64)(handle, length))) {
        note(TRUNCATE, path, NULL, length, NULL, 0);
    }
    int kept = errno;
    pthread_mutex_unlock(&lock);
    errno = kept;
    return done;
}

/* A change of names: what the real call does, and its line in the journal. */
#define NAMES(KIND, CALL, SOURCE, OTHER_PATH)                                                     \
    pthread_mutex_lock(&lock);                                                                     \
    enum action action = verdict(KIND, SOURCE);                                                    \
    int done = 0;                                                                                  \
    if (action == KILL || action == TEAR_AND_KILL) die();                                          \
    if (action == FAIL || action == TEAR || action == SHORT) done = -1, errno = control->error;    \
    else if (action != DROP && !(done = CALL)) note(KIND, SOURCE, OTHER_PATH, 0, NULL, 0);         \
    int kept = errno;                                                                              \
    pthread_mutex_unlock(&lock);                                                                   \
    errno = kept;                                                                                  \
    return done

static int begin(int folder, const char *given, int flags, mode_t mode) {
    char path[PATH_MAX];
    int ours = flags & (O_CREAT | O_TRUNC) && located(folder, given, path);
    if (!ours) return REAL(openat64)(folder, given, flags, mode);
    pthread_mutex_lock(&lock);
    struct stat before;
    int new = stat(path, &before) < 0;
    int handle = REAL(openat64)(folder, given, flags, mode);
    if (handle >= 0 && new) note(CREATE, path, NULL, 0, NULL, 0);
    else if (handle >= 0 && flags & O_TRUNC) note(TRUNCATE, path, NULL, 0, NULL, 0);
    int kept = errno;
    pthread_mutex_unlock(&lock);
    errno = kept;
    return handle;
}

/* What the C library offers, under its own names. */

ssize_t write(int handle, const void *content, size_t size) { return put(handle, content, size, -1); }
ssize_t pwrite(int handle, const void *content, size_t size, off_t at) { return put(handle, content, size, at); }
ssize_t pwrite64(int handle, const void *content, size_t size, off64_t at) { return put(handle, content, size, at); }
int fsync(int handle) { return flush(handle, REAL(fsync)); }
int fdatasync(int handle) { return flush(handle, REAL(fdatasync)); }
int ftruncate(int handle, off_t length) { return cut(handle, length); }
int ftruncate64(int handle, off64_t length) { return cut(handle, length); }

#define MODE(flags)                                 \
    mode_t mode = 0;                                \
    if (flags & (O_CREAT | __O_TMPFILE)) {          \
        va_list more;                               \
        va_start(more, flags);                      \
        mode = va_arg(more, mode_t);                \
        va_end(more);                               \
    }
int open(const char *path, int flags, ...) { MODE(flags) return begin(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return begin(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags) return begin(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags) return begin(folder, path, flags, mode); }

int rename(const char *old, const char *new) {
    char from[PATH_MAX], to[PATH_MAX];
    if (!located(AT_FDCWD, old, from) || !located(AT_FDCWD, new, to)) return REAL(rename)(old, new);
    NAMES(RENAME, REAL(rename)(old, new), from, to);
}
int link(const char *old, const char *new) {
    char from[PATH_MAX], to[PATH_MAX];
    if (!located(AT_FDCWD, old, from) || !located(AT_FDCWD, new, to)) return REAL(link)(old, new);
    NAMES(LINK, REAL(link)(old, new), from, to);
}
int unlink(const char *given) {
    char path[PATH_MAX];
    if (!located(AT_FDCWD, given, path)) return REAL(unlink)(given);
    NAMES(UNLINK, REAL(unlink)(given), path, NULL);
}
int unlinkat(int folder, const char *given, int flags) {
    char path[PATH_MAX];
    if (!located(folder, given, path)) return REAL(unlinkat)(folder, given, flags);
    NAMES(UNLINK, REAL(unlinkat)(folder, given, flags), path, NULL);
}
int rmdir(const char *given) {
    char path[PATH_MAX];
    if (!located(AT_FDCWD, given, path)) return REAL(rmdir)(given);
    NAMES(UNLINK, REAL(rmdir)(given), path, NULL);
}
int mkdir(const char *given, mode_t mode) {
    char path[PATH_MAX];
    if (!located(AT_FDCWD, given, path)) return REAL(mkdir)(given, mode);
    NAMES(MKDIR, REAL(mkdir)(given, mode), path, NULL);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int done = syscall(SYS_clock_gettime, clock, time);
    if (!done && control && clock == CLOCK_REALTIME && control->clock_ns) {
        int64_t all = time->tv_sec * 1000000000LL + time->tv_nsec + control->clock_ns;
        time->tv_sec = all / 1000000000LL, time->tv_nsec = all % 1000000000LL;
    }
    return done;
}
