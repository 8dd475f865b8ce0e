/* vulkan_mirror.c - the library for tests that know nothing of GPUs: every call on the CPU runs on Vulkan.
 * The memory of its operands is copied to the device, the call runs there, the memory of its results is
 * copied back; what the device has no shader for stays on the CPU. Linked in place of impl.o (make
 * vulkan-mirror), so that the suites of ops check strides, dtypes and numbers of the shaders against their
 * own references. OX_MIRROR_REPORT=1 in the environment lists at the end which calls stayed on the CPU. */
#define OX_C_TIER
#define OX_IMPLEMENTATION
#include "oxtorch.h"
#include "oxtorch_vulkan.h"

#ifdef OXI_HAS_VOLK

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
static int64_t mirror_runs, mirror_stays[OXI_OP_COUNT][OX_DTYPE_COUNT];
static ox_status (*mirror_cpu_run)(ox_device *self, const oxi_call *call);

static ox_storage *mirror_storage_of(mirror_call *m, ox_storage *host, bool written) {
    for (int i = 0; i < m->count; i++)
        if (m->storage[i].host == host) {
            m->storage[i].written = m->storage[i].written || written;
            return m->storage[i].device;
        }
    ox_storage *device = m->count < 64 ? oxi_storage_new(mirror_device, host->bytes) : NULL;
    if (!device) return NULL;
    (void)mirror_device->write(mirror_device, device->data, 0, host->data, host->bytes);
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

static ox_status mirror_run(ox_device *self, const oxi_call *call) {
    mirror_call m;
    ox_tensor *in[64];
    oxi_call there = *call;
    memset(&m, 0, sizeof m);
    if (call->in_count > 60) return mirror_cpu_run(self, call);
    if (!((oxi_vk_device *)mirror_device)->open)
        mirror_device = ox_vulkan(0); /* memory came from elsewhere */
    if (!mirror_device) return mirror_cpu_run(self, call);
    ox_scope scope = ox_scope_begin();
    for (int i = 0; i < call->in_count; i++) {
        ox_tensor *t = call->in[i];
        in[i] = t && t->is_number ? t : mirror_tensor(&m, t, false);
    }
    there.in = in;
    for (int i = 0; i < call->out_count; i++) there.out[i] = mirror_tensor(&m, call->out[i], true);
    ox_status status;
    bool made = true;
    for (int i = 0; i < call->in_count; i++) made = made && (!call->in[i] || in[i]);
    for (int i = 0; i < call->out_count; i++) made = made && there.out[i];
    if (made && mirror_device->supports(mirror_device, &there)) {
        status = mirror_device->run(mirror_device, &there);
        for (int i = 0; i < m.count; i++)
            if (status == OX_OK && m.storage[i].written)
                status = mirror_device->read(mirror_device, m.storage[i].device->data, 0,
                                             m.storage[i].host->data, m.storage[i].host->bytes);
        mirror_runs++;
    } else {
        status = mirror_cpu_run(self, call);
        mirror_stays[call->op][call->in_count && call->in[0] ? call->in[0]->dtype : call->out[0]->dtype]++;
    }
    ox_scope_end(&scope);
    for (int i = 0; i < m.count; i++) oxi_storage_release(m.storage[i].device);
    return status;
}

static void mirror_report(void) {
    fprintf(stderr, "mirror: %lld calls on Vulkan\n", (long long)mirror_runs);
    for (int op = 0; op < OXI_OP_COUNT; op++)
        for (int dtype = 0; dtype < OX_DTYPE_COUNT; dtype++)
            if (mirror_stays[op][dtype])
                fprintf(stderr, "mirror: %s %s: %lld on the CPU\n", oxi_op_rows[op].name,
                        ox_dtype_name((ox_dtype)dtype), (long long)mirror_stays[op][dtype]);
}

__attribute__((constructor)) static void mirror_begin(void) {
    mirror_device = ox_vulkan(0);
    if (!mirror_device) {
        printf("skip mirror: %s\nsuite mirror: 0 passed, 0 failed, 1 skipped\n", ox_error_text());
        exit(0);
    }
    ox_set_exact(true); /* what f32 operands are rounded to otherwise, test_vulkan.c checks */
    mirror_cpu_run = oxi_cpu_device.run;
    oxi_cpu_device.run = mirror_run;
    if (getenv("OX_MIRROR_REPORT")) atexit(mirror_report);
}

#else
__attribute__((constructor)) static void mirror_begin(void) {
    printf("skip mirror: no volk.h\nsuite mirror: 0 passed, 0 failed, 1 skipped\n");
    exit(0);
}
#endif
