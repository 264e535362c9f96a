/* A libnvidia-ml.so.1 for tests: it answers what a scenario file says.
 *
 * Scenario: one entry per line, fields separated by tabs:   DEVICE  KEY  FLAGS  ANSWER…
 *   DEVICE   index of the device, -1 for the system, 1000*(device+1)+k for MIG instance k
 *   KEY      a function's name, with its argument in parentheses where it matters; field(N), gpm(N); "*" is asked
 *            before every call about that device
 *   FLAGS    us=N cost of a call in microseconds; type=N nvmlValueType_t of a field; cycle=1 begin again after the last
 *   ANSWER   v:1,2,3 numbers · s:HEX bytes · e:N return code · hang · crash; @N appended: cost in µs of this one
 * The last answer repeats. What has no entry is not supported. The file is named by FAKE_NVML_SCENARIO and read at
 * initialisation and, with the system entry "reload", whenever it changes. The system entry "log" (s:HEX path) gets a
 * line per call. A handle that was never given out aborts the process, as the real library may crash on it.
 *
 * Setters answer as their entry says (v:0 done, v:1 done but without effect). What they change outlives the process: it
 * is appended to the file of the system entry "state" as entries that replace those of the scenario, and each call looks
 * whether that file has grown. The system entry "writes" gets a line per setter: DEVICE NAME ARGUMENTS = CODE.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef unsigned int uint;
typedef unsigned long long ull;

enum { OK = 0, UNINITIALIZED = 1, NOT_SUPPORTED = 3, NOT_FOUND = 6, SMALL = 7, TIMEOUT = 10 };

typedef struct { int error, count, hang, crash; ull *v; char *text; double us; } Answer;
typedef struct { int dev, type, cycle, count, next; char *key; double us; Answer *answers; } Entry;
typedef struct { int dev; } Device;
typedef struct { int dev; } Sample;

#define SLOTS 16384
#define DEVICES 64
static Entry *table[SLOTS];
static Device devices[DEVICES];
static int device_count, started, log_fd = -1;
static struct timespec read_mtime;
static off_t read_size;
static ino_t read_inode;
static char read_path[4096];
static int reloading;
static off_t state_size;
static int writes_fd = -1;

static unsigned hash(int dev, const char *key) {
    unsigned h = 2166136261u ^ (unsigned)dev * 16777619u;
    for (; *key; key++) h = (h ^ (unsigned char)*key) * 16777619u;
    return h % SLOTS;
}

static Entry *find(int dev, const char *key) {
    for (unsigned i = hash(dev, key); table[i]; i = (i + 1) % SLOTS)
        if (table[i]->dev == dev && !strcmp(table[i]->key, key)) return table[i];
    return NULL;
}

static void keep(Entry *e) {
    unsigned i = hash(e->dev, e->key);
    while (table[i] && (table[i]->dev != e->dev || strcmp(table[i]->key, e->key))) i = (i + 1) % SLOTS;
    if (table[i]) e->type = table[i]->type;
    table[i] = e;
}

static Answer parse_answer(char *word) {
    Answer a = {0};
    char *at = strrchr(word, '@');
    a.us = -1;
    if (at) { *at = 0; a.us = atof(at + 1); }
    if (!strcmp(word, "hang")) a.hang = 1;
    else if (!strcmp(word, "crash")) a.crash = 1;
    else if (!strncmp(word, "e:", 2)) a.error = atoi(word + 2);
    else if (!strncmp(word, "s:", 2)) {
        size_t n = strlen(word + 2) / 2;
        a.text = calloc(n + 1, 1);
        for (size_t i = 0; i < n; i++) { unsigned b; sscanf(word + 2 + 2 * i, "%2x", &b); a.text[i] = (char)b; }
    } else if (!strncmp(word, "v:", 2)) {
        a.v = calloc(strlen(word) + 1, sizeof *a.v);
        for (char *p = word + 2; *p;) {
            a.v[a.count++] = *p == '-' ? (ull)strtoll(p, &p, 10) : strtoull(p, &p, 10);
            if (*p == ',') p++;
        }
    }
    return a;
}

static void parse_line(char *line) {
    char *save = NULL, *dev = strtok_r(line, "\t\n", &save), *key = strtok_r(NULL, "\t\n", &save);
    char *flags = strtok_r(NULL, "\t\n", &save), *word;
    if (!dev || !key || !flags || *dev == '#') return;
    Entry *e = calloc(1, sizeof *e);
    e->dev = atoi(dev);
    e->key = strdup(key);
    e->type = 3;
    char *p;
    if ((p = strstr(flags, "us="))) e->us = atof(p + 3);
    if ((p = strstr(flags, "type="))) e->type = atoi(p + 5);
    if (strstr(flags, "cycle=1")) e->cycle = 1;
    while ((word = strtok_r(NULL, "\t\n", &save))) {
        e->answers = realloc(e->answers, (size_t)(e->count + 1) * sizeof(Answer));
        e->answers[e->count++] = parse_answer(word);
    }
    keep(e);
}

static void read_scenario(int only_if_changed) {
    const char *path = getenv("FAKE_NVML_SCENARIO");
    struct stat st;
    if (!path || stat(path, &st)) return;
    if (only_if_changed && !strcmp(path, read_path) && st.st_size == read_size && st.st_ino == read_inode &&
        st.st_mtim.tv_sec == read_mtime.tv_sec && st.st_mtim.tv_nsec == read_mtime.tv_nsec)
        return;
    FILE *f = fopen(path, "r");
    if (!f) return;
    memset(table, 0, sizeof table);
    read_mtime = st.st_mtim;
    read_size = st.st_size;
    read_inode = st.st_ino;
    snprintf(read_path, sizeof read_path, "%s", path);
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, f) > 0) parse_line(line);
    free(line);
    fclose(f);
    Entry *e = find(-1, "count");
    device_count = e ? (int)e->answers[0].v[0] : 0;
    reloading = find(-1, "reload") != NULL;
    if (log_fd >= 0) close(log_fd);
    e = find(-1, "log");
    log_fd = e ? open(e->answers[0].text, O_WRONLY | O_APPEND | O_CREAT, 0644) : -1;
    if (writes_fd >= 0) close(writes_fd);
    e = find(-1, "writes");
    writes_fd = e ? open(e->answers[0].text, O_WRONLY | O_APPEND | O_CREAT, 0644) : -1;
    state_size = 0;
}

static void read_state(void) {
    Entry *e = find(-1, "state");
    struct stat st;
    if (!e || stat(e->answers[0].text, &st) || st.st_size == state_size) return;
    if (st.st_size < state_size) { read_scenario(0); e = find(-1, "state"); }
    FILE *f = e ? fopen(e->answers[0].text, "r") : NULL;
    char *line = NULL;
    size_t room = 0;
    if (!f) return;
    while (getline(&line, &room, f) > 0) parse_line(line);
    free(line);
    fclose(f);
    state_size = st.st_size;
}

static void change(int dev, const char *key, long long value) {
    Entry *e = find(-1, "state");
    char line[160];
    if (!e) return;
    int fd = open(e->answers[0].text, O_WRONLY | O_APPEND | O_CREAT, 0644);
    int n = snprintf(line, sizeof line, "%d\t%s\tset\tv:%lld\n", dev, key, value);
    if (fd < 0 || write(fd, line, (size_t)n) < 0) abort();
    close(fd);
}

static void spend(double us) {
    struct timespec t0, t;
    if (us <= 0) return;
    if (us > 200) {
        t.tv_sec = (time_t)(us / 1e6);
        t.tv_nsec = (long)((us - (double)t.tv_sec * 1e6) * 1e3);
        while (nanosleep(&t, &t)) {}
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &t0);
    do clock_gettime(CLOCK_MONOTONIC, &t);
    while ((double)(t.tv_sec - t0.tv_sec) * 1e6 + (double)(t.tv_nsec - t0.tv_nsec) / 1e3 < us);
}

static int take(Entry *e, Answer **out) {
    Answer *a = &e->answers[e->next];
    if (e->next + 1 < e->count) e->next++;
    else if (e->cycle) e->next = 0;
    spend(a->us >= 0 ? a->us : e->us);
    while (a->hang) pause();
    if (a->crash) raise(SIGSEGV);
    *out = a;
    return a->error;
}

static void log_call(int dev, const char *name) {
    char line[160];
    if (log_fd < 0) return;
    int n = snprintf(line, sizeof line, "%d %s\n", dev, name);
    if (write(log_fd, line, (size_t)n) < 0) return;
}

static int ask(int dev, const char *name, const char *arg_key, const char *alias, Answer **out) {
    static Answer none;
    Entry *e;
    int rc;
    if (reloading) read_scenario(1);
    read_state();
    log_call(dev, arg_key ? arg_key : name);
    *out = &none;
    if (!started) return UNINITIALIZED;
    if ((e = find(-1, "*")) && (rc = take(e, out))) return rc;
    if (dev >= 0 && (e = find(dev, "*")) && (rc = take(e, out))) return rc;
    if (arg_key && (e = find(dev, arg_key))) return take(e, out);
    if ((e = find(dev, name))) return take(e, out);
    if (alias && arg_key) {
        char key[96];
        snprintf(key, sizeof key, "%s%s", alias, strchr(arg_key, '('));
        if ((e = find(dev, key))) return take(e, out);
    }
    if (alias && (e = find(dev, alias))) return take(e, out);
    return NOT_SUPPORTED;
}

static int dev_of(void *handle) {
    Device *d = handle;
    if (d < devices || d >= devices + DEVICES || d->dev < 0) {
        fprintf(stderr, "fake nvml: call with a handle that was never given out\n");
        abort();
    }
    return d->dev;
}

static ull val(Answer *a, int i) { return i < a->count ? a->v[i] : 0; }

static int copy_text(Answer *a, char *buffer, uint room) {
    const char *t = a->text ? a->text : "";
    if (strlen(t) + 1 > room) return SMALL;
    strcpy(buffer, t);
    return OK;
}

#define GET(handle, name, alias) Answer *a; int rc = ask(dev_of(handle), name, NULL, alias, &a); if (rc) return rc
#define GETA(handle, name, arg, alias) \
    Answer *a; char key[96]; snprintf(key, sizeof key, "%s(%u)", name, (uint)(arg)); \
    int rc = ask(dev_of(handle), name, key, alias, &a); if (rc) return rc

#define U1(f) int f(void *h, uint *o) { GET(h, #f, NULL); *o = (uint)val(a, 0); return OK; }
#define UA(f) int f(void *h, uint arg, uint *o) { GETA(h, #f, arg, NULL); *o = (uint)val(a, 0); return OK; }
#define U2(f) int f(void *h, uint *o, uint *p) { GET(h, #f, NULL); *o = (uint)val(a, 0); *p = (uint)val(a, 1); return OK; }
#define L1(f) int f(void *h, ull *o) { GET(h, #f, NULL); *o = val(a, 0); return OK; }
#define S1(f) int f(void *h, char *b, uint n) { GET(h, #f, NULL); return copy_text(a, b, n); }

U1(nvmlDeviceGetPowerUsage) U1(nvmlDeviceGetEnforcedPowerLimit) U1(nvmlDeviceGetPowerManagementLimit)
U1(nvmlDeviceGetPowerManagementDefaultLimit) U1(nvmlDeviceGetNumFans) U1(nvmlDeviceGetFanSpeed)
U1(nvmlDeviceGetCurrPcieLinkGeneration) U1(nvmlDeviceGetCurrPcieLinkWidth) U1(nvmlDeviceGetMaxPcieLinkGeneration)
U1(nvmlDeviceGetGpuMaxPcieLinkGeneration) U1(nvmlDeviceGetMaxPcieLinkWidth) U1(nvmlDeviceGetPcieReplayCounter)
U1(nvmlDeviceGetPerformanceState) U1(nvmlDeviceGetPowerState) U1(nvmlDeviceGetDisplayActive)
U1(nvmlDeviceGetDisplayMode) U1(nvmlDeviceGetPersistenceMode) U1(nvmlDeviceGetComputeMode)
U1(nvmlDeviceGetNumGpuCores) U1(nvmlDeviceGetMaxMigDeviceCount) U1(nvmlDeviceGetArchitecture)
U1(nvmlDeviceGetIndex) U1(nvmlDeviceGetMinorNumber) U1(nvmlDeviceGetMemoryBusWidth) U1(nvmlDeviceGetBrand)
U1(nvmlDeviceGetPcieSpeed) U1(nvmlDeviceGetPcieLinkMaxSpeed) U1(nvmlDeviceGetPowerSource)
U1(nvmlDeviceGetMultiGpuBoard) U1(nvmlDeviceGetGpuInstanceId) U1(nvmlDeviceGetComputeInstanceId)
UA(nvmlDeviceGetTemperature) UA(nvmlDeviceGetTemperatureThreshold) UA(nvmlDeviceGetClockInfo)
UA(nvmlDeviceGetMaxClockInfo) UA(nvmlDeviceGetFanSpeed_v2) UA(nvmlDeviceGetPcieThroughput)
U2(nvmlDeviceGetEncoderUtilization) U2(nvmlDeviceGetDecoderUtilization) U2(nvmlDeviceGetEccMode)
U2(nvmlDeviceGetMigMode) U2(nvmlDeviceGetDriverModel) U2(nvmlDeviceGetDriverModel_v2) U2(nvmlDeviceGetPowerManagementLimitConstraints) U2(nvmlDeviceGetCudaComputeCapability)
L1(nvmlDeviceGetTotalEnergyConsumption) L1(nvmlDeviceGetSupportedClocksEventReasons)
S1(nvmlDeviceGetName) S1(nvmlDeviceGetUUID) S1(nvmlDeviceGetVbiosVersion) S1(nvmlDeviceGetSerial)

int nvmlDeviceGetCurrentClocksEventReasons(void *h, ull *o) {
    GET(h, "nvmlDeviceGetCurrentClocksEventReasons", NULL);
    *o = val(a, 0);
    return OK;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *h, ull *o) {
    GET(h, "nvmlDeviceGetCurrentClocksThrottleReasons", "nvmlDeviceGetCurrentClocksEventReasons");
    *o = val(a, 0);
    return OK;
}
int nvmlDeviceGetUtilizationRates(void *h, uint *o) {
    GET(h, "nvmlDeviceGetUtilizationRates", NULL);
    o[0] = (uint)val(a, 0);
    o[1] = (uint)val(a, 1);
    return OK;
}
int nvmlDeviceGetTemperatureV(void *h, int *o) { /* version, sensor, temperature */
    GETA(h, "nvmlDeviceGetTemperatureV", o[1], "nvmlDeviceGetTemperature");
    o[2] = (int)val(a, 0);
    return OK;
}
int nvmlDeviceGetMarginTemperature(void *h, int *o) { /* version, margin */
    GET(h, "nvmlDeviceGetMarginTemperature", NULL);
    o[1] = (int)val(a, 0);
    return OK;
}
int nvmlDeviceGetFanSpeedRPM(void *h, uint *o) { /* version, fan, speed */
    GETA(h, "nvmlDeviceGetFanSpeedRPM", o[1], NULL);
    o[2] = (uint)val(a, 0);
    return OK;
}
int nvmlDeviceGetMemoryInfo(void *h, ull *o) { /* total, free, used */
    GET(h, "nvmlDeviceGetMemoryInfo", NULL);
    for (int i = 0; i < 3; i++) o[i] = val(a, i);
    return OK;
}
int nvmlDeviceGetMemoryInfo_v2(void *h, ull *o) { /* version, total, reserved, free, used */
    GET(h, "nvmlDeviceGetMemoryInfo_v2", NULL);
    for (int i = 0; i < 4; i++) o[i + 1] = val(a, i);
    return OK;
}
int nvmlDeviceGetBAR1MemoryInfo(void *h, ull *o) { /* total, free, used */
    GET(h, "nvmlDeviceGetBAR1MemoryInfo", NULL);
    for (int i = 0; i < 3; i++) o[i] = val(a, i);
    return OK;
}
int nvmlDeviceGetRemappedRows(void *h, uint *c, uint *u, uint *p, uint *f) {
    GET(h, "nvmlDeviceGetRemappedRows", NULL);
    *c = (uint)val(a, 0), *u = (uint)val(a, 1), *p = (uint)val(a, 2), *f = (uint)val(a, 3);
    return OK;
}
int nvmlDeviceGetTotalEccErrors(void *h, uint type, uint counter, ull *o) {
    GETA(h, "nvmlDeviceGetTotalEccErrors", type * 10 + counter, NULL);
    *o = val(a, 0);
    return OK;
}

typedef struct {
    char legacy[16];
    uint domain, bus, device, id, subsystem;
    char bus_id[32];
} Pci;
int nvmlDeviceGetPciInfo_v3(void *h, Pci *o) {
    GET(h, "nvmlDeviceGetPciInfo", NULL);
    memset(o, 0, sizeof *o);
    snprintf(o->bus_id, sizeof o->bus_id, "%s", a->text ? a->text : "");
    snprintf(o->legacy, sizeof o->legacy, "%s", a->text && strlen(a->text) > 12 ? a->text + 4 : "");
    sscanf(o->bus_id, "%x:%x:%x", &o->domain, &o->bus, &o->device);
    return OK;
}

typedef struct { uint id, scope; long long stamp, latency; uint type; int rc; union { double d; uint u; ull l; } value; } Field;
int nvmlDeviceGetFieldValues(void *h, int n, Field *f) {
    int dev = dev_of(h);
    Answer *whole;
    int rc = ask(dev, "nvmlDeviceGetFieldValues", NULL, NULL, &whole);
    if (rc != OK && rc != NOT_SUPPORTED) return rc;
    if (rc == NOT_SUPPORTED && find(dev, "nvmlDeviceGetFieldValues")) return rc;
    for (int i = 0; i < n; i++) {
        char key[32];
        Answer *a;
        snprintf(key, sizeof key, "field(%u)", f[i].id);
        Entry *e = find(dev, key);
        f[i].value.l = 0;
        f[i].type = e ? (uint)e->type : 3;
        f[i].rc = e ? take(e, &a) : NOT_SUPPORTED;
        if (f[i].rc) continue;
        if (f[i].type == 0) f[i].value.d = (double)val(a, 0);
        else if (f[i].type == 1 || f[i].type == 5) f[i].value.u = (uint)val(a, 0);
        else f[i].value.l = val(a, 0);
    }
    return OK;
}

typedef struct { uint pid; ull used; uint gi, ci; } Process;
static int processes(void *h, const char *own, const char *key, uint *count, Process *out) {
    GET(h, own, key);
    uint n = (uint)a->count / 2;
    if (!out || *count < n) { *count = n; return n ? SMALL : OK; }
    for (uint i = 0; i < n; i++) {
        out[i].pid = (uint)val(a, 2 * (int)i);
        out[i].used = val(a, 2 * (int)i + 1);
        out[i].gi = out[i].ci = 0xFFFFFFFFu;
    }
    *count = n;
    return OK;
}
#define P(kind, version) \
    int nvmlDeviceGet##kind##RunningProcesses##version(void *h, uint *n, Process *o) { \
        return processes(h, "nvmlDeviceGet" #kind "RunningProcesses" #version, "nvmlDeviceGet" #kind "RunningProcesses", n, o); }
P(Compute, _v2) P(Compute, _v3) P(Graphics, _v2) P(Graphics, _v3) P(MPSCompute, _v2) P(MPSCompute, _v3)

typedef struct { uint pid; ull stamp; uint sm, memory, encoder, decoder; } Use;
int nvmlDeviceGetProcessUtilization(void *h, Use *out, uint *count, ull since) {
    GETA(h, "nvmlDeviceGetProcessUtilization", since != 0, NULL);
    uint n = 0;
    for (int i = 0; i + 5 < a->count; i += 6) {
        if (since && val(a, i + 1) <= since) continue;
        if (out && n < *count) {
            Use u = {(uint)val(a, i), val(a, i + 1), (uint)val(a, i + 2), (uint)val(a, i + 3), (uint)val(a, i + 4), (uint)val(a, i + 5)};
            out[n] = u;
        }
        n++;
    }
    if (!n) return NOT_FOUND;
    int small = !out || *count < n;
    *count = n;
    return small ? SMALL : OK;
}

static int give(int dev, void **handle) {
    int slot = dev < 1000 ? dev : 16 + (dev / 1000 - 1) * 8 + dev % 1000;
    if (slot < 0 || slot >= DEVICES) return NOT_FOUND;
    devices[slot].dev = dev;
    *handle = &devices[slot];
    return OK;
}
int nvmlDeviceGetCount_v2(uint *o) {
    Answer *a;
    int rc = ask(-1, "nvmlDeviceGetCount", NULL, "count", &a);
    *o = rc ? 0 : (uint)val(a, 0);
    return rc;
}
int nvmlDeviceGetHandleByIndex_v2(uint index, void **handle) {
    Answer *a;
    *handle = (void *)0x1;
    if ((int)index >= device_count) return 2;
    int rc = ask((int)index, "handle", NULL, NULL, &a);
    return rc && rc != NOT_SUPPORTED ? rc : give((int)index, handle);
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **handle) {
    *handle = (void *)0x1;
    const char *tail = strchr(bus_id, ':');
    for (int i = 0; tail && i < device_count; i++) {
        Entry *e = find(i, "nvmlDeviceGetPciInfo");
        const char *own = e && e->answers[0].text ? strchr(e->answers[0].text, ':') : NULL;
        if (own && !strcasecmp(own, tail)) return nvmlDeviceGetHandleByIndex_v2((uint)i, handle);
    }
    return NOT_FOUND;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
    *handle = (void *)0x1;
    for (int i = 0; i < device_count; i++) {
        Entry *e = find(i, "nvmlDeviceGetUUID");
        if (e && e->answers[0].text && !strcmp(e->answers[0].text, uuid)) return nvmlDeviceGetHandleByIndex_v2((uint)i, handle);
    }
    return NOT_FOUND;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void *h, uint index, void **handle) {
    int dev = 1000 * (dev_of(h) + 1) + (int)index;
    *handle = (void *)0x1;
    return find(dev, "nvmlDeviceGetUUID") ? give(dev, handle) : NOT_FOUND;
}

int nvmlInitWithFlags(uint flags) {
    Answer *a;
    (void)flags;
    read_scenario(1);
    log_call(-1, "nvmlInitWithFlags");
    Entry *e = find(-1, "init");
    int rc = e ? take(e, &a) : OK;
    if (rc) return rc;
    if (!started++) for (int i = 0; i < DEVICES; i++) devices[i].dev = -1;
    return OK;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) {
    log_call(-1, "nvmlShutdown");
    if (!started) return UNINITIALIZED;
    started--;
    return OK;
}
const char *nvmlErrorString(int code) {
    static char text[32];
    snprintf(text, sizeof text, "Fake error %d", code);
    return text;
}
static int system_text(const char *key, char *b, uint n) {
    Answer *a;
    int rc = ask(-1, key, NULL, NULL, &a);
    return rc ? rc : copy_text(a, b, n);
}
int nvmlSystemGetDriverVersion(char *b, uint n) { return system_text("driver", b, n); }
int nvmlSystemGetNVMLVersion(char *b, uint n) { return system_text("nvml_version", b, n); }
int nvmlSystemGetCudaDriverVersion_v2(int *o) {
    Answer *a;
    int rc = ask(-1, "cuda", NULL, NULL, &a);
    *o = rc ? 0 : (int)val(a, 0);
    return rc;
}
int nvmlSystemGetCudaDriverVersion(int *o) { return nvmlSystemGetCudaDriverVersion_v2(o); }

typedef struct { void *device; ull type, data; uint gi, ci; } Event;
static int registered[DEVICES];
int nvmlEventSetCreate(void **set) {
    static int one;
    *set = &one;
    memset(registered, 0, sizeof registered);
    return find(-1, "no_events") ? NOT_SUPPORTED : OK;
}
int nvmlDeviceRegisterEvents(void *h, ull types, void *set) {
    int dev = dev_of(h);
    (void)set;
    log_call(dev, "nvmlDeviceRegisterEvents");
    if (types & 8 && dev < DEVICES) registered[dev] = 1;
    return OK;
}
int nvmlEventSetWait_v2(void *set, Event *o, uint ms) { /* v:device,xid */
    Answer *a;
    (void)set;
    int rc = ask(-1, "nvmlEventSetWait", NULL, NULL, &a);
    int dev = (int)val(a, 0);
    if (rc || !a->count || dev >= device_count || !registered[dev]) {
        if (ms) spend(ms * 1e3);
        return rc && rc != NOT_SUPPORTED ? rc : TIMEOUT;
    }
    memset(o, 0, sizeof *o);
    o->type = 8;
    o->data = val(a, 1);
    return give(dev, &o->device);
}
int nvmlEventSetFree(void *set) { (void)set; return OK; }

int nvmlGpmQueryDeviceSupport(void *h, uint *o) { /* version, supported */
    GET(h, "nvmlGpmQueryDeviceSupport", NULL);
    o[1] = (uint)val(a, 0);
    return OK;
}
int nvmlGpmSampleAlloc(Sample **o) { *o = calloc(1, sizeof **o); (*o)->dev = -1; return OK; }
int nvmlGpmSampleFree(Sample *s) { free(s); return OK; }
int nvmlGpmSampleGet(void *h, Sample *s) {
    GET(h, "nvmlGpmSampleGet", "nvmlGpmQueryDeviceSupport");
    s->dev = dev_of(h);
    return OK;
}
typedef struct { uint id; int rc; double value; const char *text[3]; } Metric;
typedef struct { uint version, count; Sample *one, *two; Metric metrics[]; } Metrics;
int nvmlGpmMetricsGet(Metrics *m) { /* gpm(N): hundredths of a percent */
    if (!m->one || !m->two || m->one->dev < 0 || m->one->dev != m->two->dev) return 2;
    for (uint i = 0; i < m->count; i++) {
        char key[32];
        Answer *a;
        snprintf(key, sizeof key, "gpm(%u)", m->metrics[i].id);
        m->metrics[i].rc = ask(m->one->dev, key, NULL, NULL, &a);
        m->metrics[i].value = m->metrics[i].rc ? 0 : (double)(long long)val(a, 0) / 100;
    }
    return OK;
}

/* --- setters ------------------------------------------------------------------------------------------------------ */

static int set(void *h, const char *name, const char *arg_key, const char *arguments, int *effect) {
    int dev = dev_of(h), rc;
    Answer *a;
    char line[200];
    rc = ask(dev, name, arg_key, NULL, &a);
    int n = snprintf(line, sizeof line, "%d %s%s%s = %d\n", dev, name + strlen("nvmlDevice"), *arguments ? " " : "", arguments, rc);
    if (writes_fd >= 0 && write(writes_fd, line, (size_t)n) < 0) abort();
    *effect = !rc && !val(a, 0);
    return rc;
}

int nvmlDeviceSetPowerManagementLimit(void *h, uint mw) {
    char args[32];
    int effect;
    snprintf(args, sizeof args, "%u", mw);
    int rc = set(h, "nvmlDeviceSetPowerManagementLimit", NULL, args, &effect);
    if (effect) {
        change(dev_of(h), "nvmlDeviceGetPowerManagementLimit", mw);
        change(dev_of(h), "nvmlDeviceGetEnforcedPowerLimit", mw);
        change(dev_of(h), "field(190)", mw);
    }
    return rc;
}
#define SET_CLOCKS(kind) \
    int nvmlDeviceSet##kind##LockedClocks(void *h, uint low, uint high) { \
        char args[48]; int effect; \
        snprintf(args, sizeof args, "%u %u", low, high); \
        return set(h, "nvmlDeviceSet" #kind "LockedClocks", NULL, args, &effect); \
    } \
    int nvmlDeviceReset##kind##LockedClocks(void *h) { \
        int effect; \
        return set(h, "nvmlDeviceReset" #kind "LockedClocks", NULL, "", &effect); \
    }
SET_CLOCKS(Gpu) SET_CLOCKS(Memory)

typedef struct { uint version, type, pstate; int mhz, low, high; } Offset;
int nvmlDeviceGetClockOffsets(void *h, Offset *o) { /* offset, lowest, highest */
    GETA(h, "nvmlDeviceGetClockOffsets", o->type, NULL);
    char at[64];
    if (o->version != (sizeof *o | 1u << 24)) return 25;
    snprintf(at, sizeof at, "offset(%u)", o->type);
    Entry *e = find(dev_of(h), at);
    o->mhz = e ? (int)(long long)val(&e->answers[0], 0) : (int)(long long)val(a, 0);
    o->low = (int)(long long)val(a, 1), o->high = (int)(long long)val(a, 2);
    return OK;
}
int nvmlDeviceSetClockOffsets(void *h, Offset *o) {
    char args[48], at[64];
    int effect;
    if (o->version != (sizeof *o | 1u << 24)) return 25;
    snprintf(args, sizeof args, "%u %u %d", o->type, o->pstate, o->mhz);
    int rc = set(h, "nvmlDeviceSetClockOffsets", NULL, args, &effect);
    snprintf(at, sizeof at, "offset(%u)", o->type);
    if (effect) change(dev_of(h), at, o->mhz);
    return rc;
}
UA(nvmlDeviceGetFanControlPolicy_v2) UA(nvmlDeviceGetTargetFanSpeed) U2(nvmlDeviceGetMinMaxFanSpeed)
int nvmlDeviceSetFanSpeed_v2(void *h, uint fan, uint percent) {
    char args[48], key[96];
    int effect;
    snprintf(args, sizeof args, "%u %u", fan, percent);
    snprintf(key, sizeof key, "nvmlDeviceSetFanSpeed_v2(%u)", fan);
    int rc = set(h, "nvmlDeviceSetFanSpeed_v2", key, args, &effect);
    if (!effect) return rc;
    snprintf(key, sizeof key, "nvmlDeviceGetFanControlPolicy_v2(%u)", fan);
    change(dev_of(h), key, 1);
    snprintf(key, sizeof key, "nvmlDeviceGetTargetFanSpeed(%u)", fan);
    change(dev_of(h), key, percent);
    return rc;
}
int nvmlDeviceSetDefaultFanSpeed_v2(void *h, uint fan) {
    char args[32], key[96];
    int effect;
    snprintf(args, sizeof args, "%u", fan);
    snprintf(key, sizeof key, "nvmlDeviceSetDefaultFanSpeed_v2(%u)", fan);
    int rc = set(h, "nvmlDeviceSetDefaultFanSpeed_v2", key, args, &effect);
    snprintf(key, sizeof key, "nvmlDeviceGetFanControlPolicy_v2(%u)", fan);
    if (effect) change(dev_of(h), key, 0);
    return rc;
}
static int clocks(void *h, const char *name, uint *count, uint *out) {
    GET(h, name, NULL);
    uint n = (uint)a->count;
    if (!out || *count < n) { *count = n; return n ? SMALL : OK; }
    for (uint i = 0; i < n; i++) out[i] = (uint)val(a, (int)i);
    *count = n;
    return OK;
}
int nvmlDeviceGetSupportedMemoryClocks(void *h, uint *count, uint *out) {
    return clocks(h, "nvmlDeviceGetSupportedMemoryClocks", count, out);
}
int nvmlDeviceGetSupportedGraphicsClocks(void *h, uint memory, uint *count, uint *out) {
    (void)memory;
    return clocks(h, "nvmlDeviceGetSupportedGraphicsClocks", count, out);
}
#define OLD_OFFSET(kind) \
    int nvmlDeviceGet##kind##VfOffset(void *h, int *o) { \
        GET(h, "nvmlDeviceGet" #kind "VfOffset", NULL); *o = (int)(long long)val(a, 0); return OK; \
    } \
    int nvmlDeviceGet##kind##MinMaxVfOffset(void *h, int *low, int *high) { \
        GET(h, "nvmlDeviceGet" #kind "MinMaxVfOffset", NULL); \
        *low = (int)(long long)val(a, 0), *high = (int)(long long)val(a, 1); return OK; \
    } \
    int nvmlDeviceSet##kind##VfOffset(void *h, int mhz) { \
        char args[32]; int effect; \
        snprintf(args, sizeof args, "%d", mhz); \
        int rc = set(h, "nvmlDeviceSet" #kind "VfOffset", NULL, args, &effect); \
        if (effect) change(dev_of(h), "nvmlDeviceGet" #kind "VfOffset", mhz); \
        return rc; \
    }
OLD_OFFSET(GpcClk) OLD_OFFSET(MemClk)
