/* Windows of an image that is laid out once, with zeros around it, so that a product reads its panels where
 * they lie: what a tap of a channel meets is the channel, moved. Lines are `pitch` places apart, and those of
 * taps that meet other positions of a step are in copies of their own. Between the places of one line and of
 * the next may be others, which are computed and not kept: zeros behind a line are those before the next one.
 * Pairs of bf16 are numbers of two channels. Called by conv.c. */

enum {
    OXI_IMAGE_BYTES = 16 << 20,  /* of as many samples as are laid out at a time */
    OXI_IMAGE_LARGE = 256 << 20, /* of one sample: windows take less memory */
    OXI_IMAGE_PIECE = 2048       /* places */
};

/* conv.c */
static void oxi_conv_set_c(oxi_gemm *g, oxi_windows *w, int64_t samples);

typedef struct oxi_image {
    oxi_windows w;
    oxi_gemm_type type;
    int64_t channels, samples, taps;
    bool apart[3];                        /* taps of the dim have a copy each */
    bool by_taps;                         /* steps of the product: taps, then channels */
    int64_t low[3], copies[3], pitch[3];  /* position of the first place; how many; places */
    int64_t used, sample, most;           /* places of a sample: to the last one kept, all; largest shift */
    int64_t copy, channel;                /* elements of a copy, of all copies of a channel or a pair */
    char *data;
} oxi_image;

/* Where tap i of dim d is: its copy, and how far it is shifted in it. */
static int64_t oxi_image_tap(const oxi_image *m, int d, int64_t i, int64_t *shift) {
    int64_t at = m->w.origin[d] + i * m->w.spacing[d] - m->low[d];
    *shift = m->apart[d] ? 0 : at / m->w.step[d];
    return m->apart[d] ? i : at % m->w.step[d];
}

static void oxi_image_dim(oxi_image *m, int d) {
    const oxi_windows *w = &m->w;
    int64_t reach = (w->taps[d] - 1) * w->spacing[d], step = w->step[d], size = w->size[d];
    int64_t low = w->origin[d] + (reach < 0 ? reach : 0);
    if (reach < 0) reach = -reach;
    m->low[d] = low;
    m->copies[d] = oxi_min_i64(step, reach + 1);
    m->pitch[d] = w->places[d] + reach / step;
    int64_t before = low < 0 ? -low / step : 0, end = low < size ? oxi_parts(size - low, step) : 0;
    int64_t least = m->pitch[d] - before;
    if (least < end) least = end;
    if (least < w->places[d]) least = w->places[d];
    if (least < m->pitch[d]) m->pitch[d] = least;
    m->apart[d] = w->taps[d] == 1 || (d == 2 && m->pitch[d] * 20 > w->places[d] * 21);
    if (!m->apart[d]) return;
    m->copies[d] = w->taps[d];
    m->pitch[d] = w->places[d];
}

static bool oxi_image_takes(oxi_image *m, const oxi_conv_form *f, const oxi_gemm *g, const oxi_windows *w,
                            int64_t channels) {
    memset(m, 0, sizeof *m);
    oxi_gemm as = *g;
    as.b_dtype = w->dtype;
    as.c_dtype = f->y.t->dtype;
    bool plain = w->step[0] == 1 && w->step[1] == 1 && w->step[2] == 1;
    m->taps = w->taps[0] * w->taps[1] * w->taps[2];
    if (m->taps == 0 || (plain && m->taps == 1)) return false;
    if (oxi_gemm_type_of(&as, oxi_cpu_kernels(), &m->type) != OX_OK || !m->type.kernel->run_at) return false;
    int64_t each = m->type.k_each, last = 0, used = 0;
    if (each == 2 && (channels == 1 || 4 * m->taps * m->type.kernel->mr > OXI_GEMM_SLAB)) return false;
    m->w = *w;
    m->channels = channels;
    m->samples = f->samples;
    m->sample = m->channel = 1;
    for (int d = 0; d < 3; d++) {
        oxi_image_dim(m, d);
        double large = (double)m->sample * (double)m->pitch[d] * (double)m->copies[d] * (double)channels;
        if (large * (double)m->channel > OXI_IMAGE_LARGE / 4) return false;
        int64_t reach = (w->taps[d] - 1) * w->spacing[d];
        last = last * m->pitch[d] + (m->apart[d] ? 0 : (reach < 0 ? -reach : reach) / w->step[d]);
        used = used * m->pitch[d] + w->places[d] - 1;
        m->sample *= m->pitch[d];
        m->channel *= m->copies[d];
    }
    m->most = last;
    m->used = used + 1;
    int64_t bytes = oxi_parts(channels, each) * m->channel * m->sample * 4;
    m->samples = oxi_min_i64(f->samples, bytes < OXI_IMAGE_BYTES ? OXI_IMAGE_BYTES / bytes : 1);
    /* a line of the cache more: copies and channels a power of two apart would share few of its sets */
    m->copy = (m->samples * m->sample + m->most + m->type.kernel->nr + 15) / 16 * 16;
    m->channel *= m->copy;
    if (m->channel % 32 == 0) m->channel += 16;
    return oxi_parts(channels, each) * m->channel < OXI_IMAGE_LARGE;
}

/* Task: a copy of a channel, or of two. */
static void oxi_image_fill(void *arg, int64_t index, int lane) {
    const oxi_image *m = (const oxi_image *)arg;
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t copies = m->copies[0] * m->copies[1] * m->copies[2], copy = index % copies, each = m->type.k_each;
    int64_t first = index / copies * each, lines = oxi_min_i64(each, m->channels - first);
    int64_t all = m->samples * m->sample, count;
    float *to = (float *)(void *)m->data + index / copies * m->channel + copy * m->copy;
    float slab[OXI_IMAGE_PIECE];
    oxi_windows w = m->w;
    (void)lane;
    for (int d = 2; d >= 0; d--) {
        int64_t own = copy % m->copies[d];
        copy /= m->copies[d];
        w.origin[d] = m->apart[d] ? w.origin[d] + own * w.spacing[d] : m->low[d] + own;
        w.taps[d] = 1;
        w.places[d] = m->pitch[d];
    }
    memset(to + all, 0, (size_t)(m->copy - all) * sizeof *to);
    if (each == 1 && w.dtype == OX_F32) {
        oxi_windows_read(&w, first, 1, 0, all, (char *)to, all);
        return;
    }
    if (lines < each) memset(slab, 0, sizeof slab);
    for (int64_t at = 0; at < all; at += count, to += count) {
        count = oxi_min_i64(all - at, OXI_IMAGE_PIECE);
        oxi_windows_read(&w, first, lines, at, count, (char *)slab, OXI_IMAGE_PIECE);
        if (each == 2) m->type.groups->interleave(count, 1, slab, OXI_IMAGE_PIECE, (int)count, to, 0);
        else kernels->load[w.dtype][OXI_LANE_F32](count, slab, 1, to);
    }
}

/* Where each step of k begins. */
static void oxi_image_steps(const oxi_image *m, int32_t *at) {
    const int64_t *taps = m->w.taps, channels = oxi_parts(m->channels, m->type.k_each);
    for (int64_t t = 0; t < m->taps; t++) {
        int64_t i[3] = {t / taps[2] / taps[1], t / taps[2] % taps[1], t % taps[2]}, copy = 0, place = 0;
        for (int d = 0; d < 3; d++) {
            int64_t shift;
            copy = copy * m->copies[d] + oxi_image_tap(m, d, i[d], &shift);
            place = place * m->pitch[d] + shift;
        }
        for (int64_t c = 0; c < channels; c++)
            at[m->by_taps ? t * channels + c : c * m->taps + t] =
                (int32_t)(c * m->channel + copy * m->copy + place);
    }
}

/* The result's places as the product has them. */
static void oxi_image_places(const oxi_image *m, oxi_windows *to) {
    bool lines = m->pitch[2] == m->w.places[2] && to->step[1] * to->stride[1] == m->pitch[2] * to->stride[2];
    for (int d = 0; d < 3; d++) {
        lines = lines && to->origin[d] == 0 && to->step[d] == 1;
        to->places[d] = m->pitch[d];
    }
    if (!lines) return;
    to->size[2] *= m->w.places[1];
    to->places[2] *= m->pitch[1];
    to->places[1] = to->size[1] = 1;
}

static ox_status oxi_image_run(oxi_image *m, oxi_gemm *g, oxi_windows *to) {
    int64_t each = m->type.k_each, all = g->n / (m->w.places[0] * m->w.places[1] * m->w.places[2]);
    int64_t channels = oxi_parts(m->channels, each), steps = channels * m->taps, width = m->samples;
    int64_t copies = m->copies[0] * m->copies[1] * m->copies[2];
    size_t bytes = (size_t)(channels * m->channel) * 4, table = oxi_align_up((size_t)steps * sizeof(int32_t));
    char *memory = (char *)oxi_alloc(bytes + table);
    if (!memory) return OX_ERR_NOMEM;
    ox_status status = OX_OK;
    oxi_image_steps(m, (int32_t *)(void *)memory);
    m->data = memory + table;
    oxi_image_places(m, to);
    g->b = m->data;
    g->b_dtype = m->w.dtype;
    g->b_at = (const int32_t *)(void *)memory;
    g->pairs = each == 2 && m->taps > 1 && !m->by_taps ? m->taps : 0;
    for (int64_t first = 0; first < all && status == OX_OK; first += width) {
        oxi_windows places = *to;
        m->samples = oxi_min_i64(width, all - first);
        if ((double)g->m * (double)m->samples * (double)m->used * (double)g->k < OXI_GEMM_ALONE)
            for (int64_t i = 0; i < channels * copies; i++) oxi_image_fill(m, i, 0);
        else oxi_parallel_for(channels * copies, oxi_image_fill, m);
        g->n = (m->samples - 1) * m->sample + m->used;
        oxi_conv_set_c(g, &places, m->samples);
        status = oxi_gemm_run(g);
        m->w.data += oxi_signed_bytes(m->w.dtype, m->samples * m->w.sample_stride);
        to->data += oxi_signed_bytes(to->dtype, m->samples * to->sample_stride);
    }
    oxi_free(memory, bytes + table);
    return status;
}
