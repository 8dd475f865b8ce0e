/* mirror.c - the library for tests that know nothing of devices: every call on the CPU runs on another one.
 * The memory of its operands is copied there, the call runs, the memory of its results is copied back; so the
 * suites of ops check strides, dtypes and numbers of that device against their own references. It is the end
 * of impl.o, which so is compiled once, and does nothing unless OX_MIRROR in the environment names a device:
 *   vulkan  what it has no shader for stays on the CPU
 *   asked   the calls run on the CPU, but one that Vulkan would not take is an error
 *   stream  tiles of 64 KiB; the call runs on the CPU, too, and other bits are an error of the call
 * OX_MIRROR_PART=3/16: the third of sixteen parts of all calls, cut by op and dtypes, runs there alone: so
 * sixteen processes at once compile each shader once (tests/shards.sh).
 * OX_MIRROR_SHORT="matmul linear", on Vulkan: calls of these ops run there, all others on the CPU, and tests
 * leave out cases (check.h). So `make test` has each suite compile the shaders of what it is about, not once
 * more those of the copies and comparisons around it; * are all ops.
 * OX_MIRROR_REPORT=1 lists at the end which calls stayed on the CPU. */
#include "oxtorch.h"
#include "oxtorch_stream.h"
#include "oxtorch_vulkan.h"

typedef struct mirror_storage {
    ox_storage *host, *device;
    bool written;
} mirror_storage;

typedef struct mirror_call {
    mirror_storage storage[64];
    int count;
    ox_tensor *made[64];
    int made_count;
} mirror_call;

static ox_device *mirror_device;
static oxi_lock mirror_lock; /* a call at a time: tests have threads, and the device is that of a call */
static OXI_THREAD_LOCAL int mirror_depth;
static bool mirror_streams, mirror_asks;
static OXI_THREAD_LOCAL bool mirror_inside; /* the stream's own calls on the CPU */
static uint32_t mirror_part = 1, mirror_parts = 1;
static bool mirror_left_out[OXI_OP_COUNT];
static int64_t mirror_runs, mirror_stays[OXI_OP_COUNT][OX_DTYPE_COUNT];
static ox_status (*mirror_cpu_run)(ox_device *self, const oxi_call *call, const oxi_part *part);

static ox_storage *mirror_storage_of(mirror_call *m, ox_storage *host, bool written) {
    for (int i = 0; i < m->count; i++)
        if (m->storage[i].host == host) {
            m->storage[i].written = m->storage[i].written || written;
            return m->storage[i].device;
        }
    ox_storage *device = m->count < 64 ? oxi_storage_new(mirror_device, host->bytes) : NULL;
    if (!device) return NULL;
    (void)mirror_device->write(mirror_device, device->data, 0, oxi_storage_data(host), host->bytes);
    m->storage[m->count].host = host;
    m->storage[m->count].device = device;
    m->storage[m->count++].written = written;
    return device;
}

static ox_tensor *mirror_tensor(mirror_call *m, const ox_tensor *t, bool written) {
    if (!t) return NULL;
    ox_storage *storage = mirror_storage_of(m, t->storage, written);
    ox_tensor *made = storage ? oxi_tensor_over(storage, t) : NULL;
    if (made) made->is_number = t->is_number;
    if (made) m->made[m->made_count++] = made;
    return made;
}

static ox_stream *mirror_stream(void) {
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.ram_bytes = (size_t)1 << 30; /* what cannot be cut is loaded as a whole */
    desc.tile_bytes = 65536;
    desc.result_bytes = 1;
    desc.spill = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL;
    return ox_stream_open(&desc);
}

/* For one call: tests change the allocator while nothing is held. */
static bool mirror_open(void) {
#ifdef OXI_HAS_VOLK
    bool open = mirror_device && !mirror_streams && ((oxi_vk_device *)mirror_device)->open;
    if (!mirror_streams && !open) mirror_device = ox_vulkan(0);
#endif
    if (mirror_streams) mirror_device = ox_stream_device(mirror_stream());
    return mirror_device != NULL;
}

static void mirror_close(void) {
    if (mirror_streams) (void)ox_device_close(mirror_device);
#ifdef OXI_HAS_VOLK
    if (mirror_streams || !oxi_hooks.alloc) return;
    /* a test counts memory: blocks that the device keeps for later are none of the call's */
    oxi_vk_device *d = (oxi_vk_device *)mirror_device;
    oxi_lock_take(&d->lock);
    oxi_vk_trim(d);
    oxi_lock_give(&d->lock);
#endif
}

static bool mirror_operands(mirror_call *m, const oxi_call *call, ox_tensor **in, oxi_call *there) {
    bool made = true;
    *there = *call;
    there->in = in;
    for (int i = 0; i < call->in_count; i++) {
        ox_tensor *t = call->in[i];
        in[i] = t && t->is_number ? t : mirror_tensor(m, t, false);
        made = made && (!t || in[i]);
    }
    for (int i = 0; i < call->out_count; i++) {
        there->out[i] = mirror_tensor(m, call->out[i], true);
        made = made && there->out[i];
    }
    return made;
}

static ox_status mirror_read(const mirror_storage *s, void *out) {
    return mirror_device->read(mirror_device, s->device->data, 0, out, s->host->bytes);
}

/* After the call ran in both places: the same error, or the same bits. Memory may run out in one alone. */
static ox_status mirror_compare(const mirror_call *m, const oxi_call *call, ox_status here, ox_status there) {
    const char *name = oxi_op_rows[call->op].name;
    if (here != there) ox_error_clear();
    if (here == OX_ERR_NOMEM || there == OX_ERR_NOMEM) return oxi_fail(OX_ERR_NOMEM, "mirror: %s", name);
    if (here != there) return oxi_fail(OX_ERR_IO, "mirror: %s: status %d, not %d", name, there, here);
    for (int i = 0; i < m->count && here == OX_OK; i++) {
        const mirror_storage *s = &m->storage[i];
        if (!s->written || s->host->bytes == 0) continue;
        void *bytes = malloc(s->host->bytes);
        ox_status status = bytes ? mirror_read(s, bytes) : OX_ERR_NOMEM;
        if (status == OX_OK && memcmp(bytes, s->host->data, s->host->bytes) != 0)
            status = oxi_fail(OX_ERR_IO, "mirror: %s: other bits", name);
        free(bytes);
        if (status != OX_OK) return status;
    }
    return here;
}

static ox_status mirror_run_there(const mirror_call *m, ox_device *cpu, const oxi_call *call,
                                  const oxi_call *there, const oxi_part *part) {
    oxi_call asked = *there;
    mirror_inside = true;
    if (!mirror_streams) asked.exact = true; /* what is rounded otherwise, test_vulkan.c checks */
    ox_status status = oxi_run_part(mirror_device, &asked, part);
    if (mirror_streams) status = mirror_compare(m, call, mirror_cpu_run(cpu, call, part), status);
    mirror_inside = false;
    for (int i = 0; i < m->count && !mirror_streams; i++)
        if (status == OX_OK && m->storage[i].written)
            status = mirror_read(&m->storage[i], m->storage[i].host->data);
    mirror_runs++;
    return status;
}

/* By a kernel or by parts. */
static bool mirror_takes(const oxi_call *there) {
    return mirror_device->supports(mirror_device, there) || oxi_takes_parts(mirror_device, there);
}

static ox_status mirror_not_taken(const oxi_call *call) {
    const ox_tensor *first = call->in_count && call->in[0] ? call->in[0] : call->out[0];
    fprintf(stderr, "mirror: %s of %s is not taken\n", oxi_op_rows[call->op].name, oxi_tensor_text(first));
    return oxi_fail(OX_ERR_UNSUPPORTED, "mirror: %s is not taken", oxi_op_rows[call->op].name);
}

/* What is the CPU's alone so far: linear algebra, Fourier transforms, special functions; scatters that do not
 * add; products, running sums and two reductions of complex numbers. */
static bool mirror_leaves(const oxi_call *call) {
    switch (oxi_op_row_of(call->op)->family) {
    case OXI_FAMILY_LINALG:
    case OXI_FAMILY_FFT:
    case OXI_FAMILY_SPECIAL: return true;
    default: break;
    }
    switch (call->op) {
    case OXI_OP_scatter_prod:
    case OXI_OP_scatter_amax:
    case OXI_OP_scatter_amin: return true;
    case OXI_OP_prod:
    case OXI_OP_norm: return call->in[0]->dtype == OX_C64; /* a norm's result is real */
    case OXI_OP_cumsum:
    case OXI_OP_cumprod:
    case OXI_OP_matmul:
    case OXI_OP_linear:
    case OXI_OP_addmm: return call->out[0]->dtype == OX_C64;
    default: return false;
    }
}

/* Whether the call belongs to the part of this process. What tests compare bit by bit goes together: an op
 * and the same behind a promotion; a block type's expansion and whatever else is made of its numbers. */
static bool mirror_is_ours(const oxi_call *call) {
    if (mirror_left_out[call->op]) return false;
    uint32_t key = (uint32_t)call->op * OX_DTYPE_COUNT + (uint32_t)call->out[0]->dtype;
    for (int i = 0; i < call->in_count; i++)
        if (call->in[i] && oxi_is_block(call->in[i]->dtype)) key = (uint32_t)call->in[i]->dtype;
    return (key * 2654435761u >> 16) % mirror_parts + 1 == mirror_part;
}

/* In the place of the CPU's run_part: part NULL is a whole call. */
static ox_status mirror_run_alone(ox_device *self, const oxi_call *call, const oxi_part *part) {
    mirror_call m;
    ox_tensor *in[64];
    oxi_call there;
    ox_status status;
    memset(&m, 0, sizeof m);
    const bool ours = mirror_is_ours(call);
    /* a device is opened by whatever call comes first, before a test lets memory run out */
    const bool open = mirror_open();
    if (open && !ours) mirror_close();
    if (!open || !ours) return mirror_cpu_run(self, call, part);
    ox_scope scope = ox_scope_begin();
    bool taken = mirror_operands(&m, call, in, &there) && mirror_takes(&there) &&
                 (!part || mirror_device->run_part);
    if (taken && !mirror_asks) {
        status = mirror_run_there(&m, self, call, &there, part);
    } else {
        status = mirror_cpu_run(self, call, part);
    }
    if (!taken) {
        if (mirror_asks && status == OX_OK && !mirror_leaves(call)) status = mirror_not_taken(call);
        mirror_stays[call->op][call->in_count && call->in[0] ? call->in[0]->dtype : call->out[0]->dtype]++;
    }
    ox_scope_end(&scope);
    for (int i = 0; i < m.count; i++) oxi_storage_release(m.storage[i].device);
    mirror_close();
    return status;
}

static ox_status mirror_run_part(ox_device *self, const oxi_call *call, const oxi_part *part) {
    /* calls of a task of the CPU's, whose caller has the lock, are the CPU's */
    if (mirror_inside || oxi_in_task || call->in_count > 60 || (mirror_streams && !mirror_is_ours(call)))
        return mirror_cpu_run(self, call, part);
    if (mirror_depth++ == 0) oxi_lock_take(&mirror_lock);
    const ox_status status = mirror_run_alone(self, call, part);
    if (--mirror_depth == 0) oxi_lock_give(&mirror_lock);
    return status;
}

static ox_status mirror_run(ox_device *self, const oxi_call *call) {
    return mirror_run_part(self, call, NULL);
}

static void mirror_report(void) {
    fprintf(stderr, "mirror: %lld calls on %s\n", (long long)mirror_runs,
            mirror_streams ? "a stream" : "Vulkan");
    if (!mirror_streams) {
        ox_vulkan_stats counters = ox_vulkan_get_stats(mirror_device);
        fprintf(stderr, "mirror: %lld pipelines, %lld submissions\n", (long long)counters.pipelines,
                (long long)counters.submits);
    }
    for (int op = 0; op < OXI_OP_COUNT; op++)
        for (int dtype = 0; dtype < OX_DTYPE_COUNT; dtype++)
            if (mirror_stays[op][dtype])
                fprintf(stderr, "mirror: %s %s: %lld on the CPU\n", oxi_op_rows[op].name,
                        ox_dtype_name((ox_dtype)dtype), (long long)mirror_stays[op][dtype]);
}

/* Tells the tests (tests/operands.h) where a number that f32 holds as a subnormal one becomes 0. */
static void mirror_try_subnormals(void) {
    OX_SCOPE {
        const float tiny = 1e-40f;
        ox_tensor *x = ox_to(ox_from_data(&tiny, OX_SHAPE(1), OX_F32), mirror_device);
        if (ox_item(ox_to(ox_mul_number(x, 1), ox_cpu())) == 0) (void)setenv("OX_FLUSHES_SUBNORMALS", "1", 1);
    }
}

/* The words are names of ops. */
static bool mirror_leave_out_all_but(const char *words) {
    int found = 0, count = 0;
    if (strcmp(words, "*") == 0) return true;
    for (int op = 0; op < OXI_OP_COUNT; op++) mirror_left_out[op] = true;
    for (const char *word = words; *word; word += strspn(word, " ")) {
        const size_t length = strcspn(word, " ");
        for (int op = 0; op < OXI_OP_COUNT; op++)
            if (strlen(oxi_op_rows[op].name) == length && memcmp(oxi_op_rows[op].name, word, length) == 0) {
                mirror_left_out[op] = false;
                found++;
            }
        count++;
        word += length;
    }
    return count > 0 && found == count;
}

static bool mirror_has_doubles(void) {
    ox_vulkan_info facts;
    return ox_vulkan_get_info(mirror_device, &facts) == OX_OK && facts.caps & OX_VULKAN_CAP_F64;
}

__attribute__((constructor)) static void mirror_begin(void) {
    const char *name = getenv("OX_MIRROR"), *part = getenv("OX_MIRROR_PART");
    const char *ops = getenv("OX_MIRROR_SHORT");
    if (part && (sscanf(part, "%u/%u", &mirror_part, &mirror_parts) != 2 || mirror_part < 1 ||
                 mirror_part > mirror_parts)) {
        printf("OX_MIRROR_PART=%s is none of n/parts\nsuite mirror: 0 passed, 1 failed, 0 skipped\n", part);
        exit(1);
    }
    if (!name) return;
    if (ops && !mirror_leave_out_all_but(ops)) {
        printf("OX_MIRROR_SHORT=%s: no such op\nsuite mirror: 0 passed, 1 failed, 0 skipped\n", ops);
        exit(1);
    }
    mirror_streams = strcmp(name, "stream") == 0;
    mirror_asks = strcmp(name, "asked") == 0;
    if (!mirror_open()) {
        printf("skip mirror: %s\nsuite mirror: 0 passed, 0 failed, 1 skipped\n", ox_error_text());
        exit(0);
    }
    if (mirror_asks && !mirror_has_doubles()) {
        printf("skip mirror: a device without f64\nsuite mirror: 0 passed, 0 failed, 1 skipped\n");
        exit(0);
    }
    if (!mirror_streams) mirror_try_subnormals();
    mirror_close();
    ox_set_exact(!mirror_streams);
    mirror_cpu_run = oxi_cpu_device.run_part;
    oxi_cpu_device.run = mirror_run;
    oxi_cpu_device.run_part = mirror_run_part;
    if (getenv("OX_MIRROR_REPORT")) atexit(mirror_report);
}
