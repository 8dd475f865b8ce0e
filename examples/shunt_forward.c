/* shunt_forward.c - a model larger than memory: its layers lie in files, and a pass runs within a budget.
 *
 * Shows   ox_shunt_open with a budget, a file's tensors on its device, a pass that is planned once and
 * replayed,
 *         what was moved, how close to the bound a pass is, the plan as a drawing.
 * build   cc -O2 examples/shunt_forward.c -I. -o shunt_forward -lm -lpthread   (options.h beside it)
 * run     ./shunt_forward [--layers N] [--width N] [--tokens N] [--memory MIB] [--passes N] [--folder PATH]
 * refuses --layers 0 => shunt_forward: --layers wants a whole number from 1 to 4096 (0)
 * prints
 *     12 layers of 512x512: 12.6 MB of weights, a budget of 8.4 MB
 *     pass 1: the same bits as in RAM
 *     pass 2: the same bits as in RAM
 *     pass 3: the same bits as in RAM
 *     planned once: yes; within the budget: yes
 */
#define OX_IMPLEMENTATION
#include "oxtorch_stream.h"

#include "options.h"

static const char help[] = "usage: shunt_forward [options]\n"
                           "a model larger than memory, its layers in files, within a budget\n"
                           "\n"
                           "  --layers N      layers, 12\n"
                           "  --width N       numbers that each takes and gives, 512\n"
                           "  --tokens N      rows of a pass, 64\n"
                           "  --memory MIB    what tensors may take of memory, 8\n"
                           "  --passes N      how often, 3\n"
                           "  --folder PATH   where the files and what waits go, $TMPDIR or /tmp\n"
                           "  --plan PATH     write the plan there, as a drawing if it ends in .svg\n"
                           "  --help, -h      this text\n"
                           "\n"
                           "example: shunt_forward --layers 48 --width 2048 --memory 256 --plan plan.svg\n";

enum { LAYERS_MOST = 4096 };

typedef struct model {
    const char *folder;
    int64_t layers, width;
    ox_tensor *weight[LAYERS_MOST]; /* on the shunt */
} model;

/* int64_t */
static bool read_size(const char *text, void *out) {
    return read_whole(text, out) && *(int64_t *)out >= 1 && *(int64_t *)out <= LAYERS_MOST;
}

static const char *layer_path(const model *m, int64_t i) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/shunt-layer-%lld.safetensors", m->folder, (long long)i);
    return path;
}

static bool write_model(const model *m) {
    const char *name = "weight";
    ox_manual_seed(1);
    for (int64_t i = 0; i < m->layers; i++)
        OX_SCOPE {
            ox_tensor *w = ox_randn(OX_SHAPE(m->width, m->width), OX_F32);
            ox_tensor *scale = ox_rsqrt(ox_full(OX_SCALAR_SHAPE, (double)m->width / 2, OX_F32));
            w = ox_mul(w, scale);
            if (ox_save_safetensors(layer_path(m, i), &name, &w, 1, NULL, 0, 0) != OX_OK) return false;
        }
    return true;
}

/* The weight of a layer, in its file: on the shunt's device it stays there. */
static ox_tensor *open_layer(const model *m, int64_t i, ox_device *device) {
    ox_file *file = ox_file_open(layer_path(m, i), device);
    ox_tensor *w = file ? ox_file_tensor(file, "weight") : NULL;
    ox_file_close(file);
    return w;
}

/* The sum of what the last layer gives; in_ram: a layer at a time, as long as it is used. */
static double run_pass(const model *m, ox_tensor *x, bool in_ram) {
    double sum = 0;
    ox_tensor *h = ox_retain(x);
    for (int64_t i = 0; i < m->layers && h; i++)
        OX_SCOPE {
            ox_tensor *w = in_ram ? open_layer(m, i, ox_cpu()) : m->weight[i];
            ox_tensor *next = ox_retain(ox_linear_act(h, w, NULL, OX_ACTIVATION_GELU));
            ox_release(h);
            h = next;
        }
    OX_SCOPE {
        sum = ox_item(ox_sum(h, OX_ALL_DIMS, false)); /* now it runs */
    }
    ox_release(h);
    return sum;
}

static void run(model *m, ox_shunt *shunt, int64_t tokens, int64_t passes, uint64_t budget) {
    ox_device *device = ox_shunt_device(shunt);
    int64_t plans = 0;
    for (int64_t i = 0; i < m->layers; i++) m->weight[i] = open_layer(m, i, device);
    ox_tensor *x = ox_randn(OX_SHAPE(tokens, m->width), OX_F32), *far = ox_to(x, device);
    double wanted = run_pass(m, x, true);
    for (int64_t i = 0; i < passes && !ox_error(); i++) {
        double sum = run_pass(m, far, false);
        const ox_shunt_stats s = ox_shunt_get_stats(shunt);
        printf("pass %lld: %s\n", (long long)i + 1, sum == wanted ? "the same bits as in RAM" : "other bits");
        fprintf(stderr,
                "%.1f ms, %.1f of computing, %.1f at least (%.2f of the bound), %.1f MB read so far\n",
                1e3 * s.wall_seconds, 1e3 * s.compute_seconds, 1e3 * s.bound_seconds, s.eta,
                (double)s.read_bytes / 1e6);
        if (i == 0) plans = s.plans;
    }
    const ox_shunt_stats s = ox_shunt_get_stats(shunt);
    printf("planned once: %s; within the budget: %s\n", s.plans == plans ? "yes" : "no",
           s.device_peak <= budget ? "yes" : "no");
}

int main(int count, char **words) {
    static model m;
    int64_t tokens = 64, memory = 8, passes = 3;
    const char *plan = NULL, *wants = "wants a whole number from 1 to 4096";
    m.layers = 12;
    m.width = 512;
    m.folder = getenv("TMPDIR");
    if (!m.folder) m.folder = "/tmp";
    const option options[] = {
        {"--layers", read_size, &m.layers, wants}, {"--width", read_size, &m.width, wants},
        {"--tokens", read_size, &tokens, wants},   {"--memory", read_size, &memory, wants},
        {"--passes", read_size, &passes, wants},   {"--folder", read_text, &m.folder, ""},
        {"--plan", read_text, &plan, ""}};
    const command_line line = {"shunt_forward", help, options, 7, NULL, 0};
    if (!options_read(&line, count, words)) return 2;
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = (uint64_t)memory << 20;
    desc.spill = m.folder;
    printf("%lld layers of %lldx%lld: %.1f MB of weights, a budget of %.1f MB\n", (long long)m.layers,
           (long long)m.width, (long long)m.width, (double)(m.layers * m.width * m.width) * 4e-6,
           (double)desc.device_bytes / 1e6);
    ox_shunt *shunt = ox_shunt_open(&desc);
    OX_SCOPE {
        if (shunt && write_model(&m)) run(&m, shunt, tokens, passes, desc.device_bytes);
    }
    if (shunt && plan && !ox_error()) ox_shunt_dump(shunt, plan);
    ox_shunt_close(shunt);
    for (int64_t i = 0; i < m.layers; i++) remove(layer_path(&m, i));
    if (ox_error()) fprintf(stderr, "shunt_forward: %s\n", ox_error_text());
    return ox_error() != OX_OK;
}
