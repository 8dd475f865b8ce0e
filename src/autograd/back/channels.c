/* What comes back through batch, group and instance norm: x [N,C,..] is runs of numbers that share a channel.
 * A group's runs lie side by side, and are measured, summed and written while caches hold them. Of a batch
 * one pass adds up what each channel needs, another writes. Sums for channels are each task's own, in double,
 * and joined in the order of tasks: never by threads. Called by back.c. */

enum {
    OXI_CHANNEL_PIECE = 4096, /* narrow numbers at a time, */
    OXI_CHANNEL_RUNS = 64,    /* of so many runs */
    OXI_CHANNEL_SHORT = 16    /* a run for no kernel */
};

typedef struct oxi_channels_back {
    const oxi_call *call;
    const oxi_kernels *k;
    const oxi_back_kernels *own;
    int64_t samples, channels, size; /* size: of a run */
    int64_t together, piece, runs;   /* channels of a group, 1 of a batch; numbers, and runs, at a time */
    int64_t sample_parts, group_parts;
    bool batch, training, narrow, streams; /* narrow: results are no floats of 32 bits */
    double eps, count;                     /* count: numbers that a mean is of */
    float *weight, *mean, *scale;          /* [C]; mean and 1 / deviation of a batch, else NULL */
    oxi_channel_numbers *numbers;          /* [C]: of a batch */
    double *sums;                          /* [sample_parts][2][C]: of g y, of g */
    float *scratch;
    int64_t lane_numbers;
} oxi_channels_back;

/* A task: samples and groups from .. to. */
typedef struct oxi_channels_task {
    int64_t sample, sample_end, channel, channel_end;
    double *sums;
    float *room;
} oxi_channels_task;

static oxi_channels_task oxi_channels_task_of(const oxi_channels_back *r, int64_t index, int lane) {
    oxi_channels_task t;
    int64_t samples = oxi_parts(r->samples, r->sample_parts);
    int64_t groups = oxi_parts(r->channels / r->together, r->group_parts) * r->together;
    t.sample = index / r->group_parts * samples;
    t.sample_end = oxi_min_i64(t.sample + samples, r->samples);
    t.channel = index % r->group_parts * groups;
    t.channel_end = oxi_min_i64(t.channel + groups, r->channels);
    t.sums = r->sums + index / r->group_parts * 2 * r->channels;
    t.room = r->scratch + lane * r->lane_numbers;
    return t;
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

/* sum[0] += sum of g (x - mean), sum[1] += sum of g, of n numbers. */
static void oxi_channel_sum(const oxi_channels_back *r, int64_t n, const float *g, const float *x, float mean,
                            double *sum) {
    oxi_norm_row row;
    for (int64_t i = 0; n < OXI_CHANNEL_SHORT && i < n; i++) {
        sum[0] += (double)g[i] * (double)(x[i] - mean);
        sum[1] += (double)g[i];
    }
    if (n < OXI_CHANNEL_SHORT) return;
    memset(&row, 0, sizeof row);
    row.n = n;
    row.g = g;
    row.x = x;
    row.centered = true;
    row.about = mean;
    r->own->norm_measure(&row);
    sum[0] += row.along;
    sum[1] += row.total;
}

/* The same of `runs` runs from number `at` on, each to two sums of its own. Several are short, and read at
 * once. */
static void oxi_channel_sums(const oxi_channels_back *r, int64_t at, int64_t runs, const float *mean,
                             float *room, double *sum) {
    for (int64_t n, end = at + runs * r->size; at < end; at += n) {
        n = oxi_min_i64(end - at, r->piece);
        const float *g = oxi_floats_of(r->k, r->call->in[0], at, n, room);
        const float *x = oxi_floats_of(r->k, r->call->in[1], at, n, room + r->piece);
        for (int64_t i = 0; i < runs; i++)
            oxi_channel_sum(r, n / runs, g + i * r->size, x + i * r->size, mean[i], sum + 2 * i);
    }
}

/* a g + b (x - mean) + c of such runs */
static void oxi_channel_write(const oxi_channels_back *r, int64_t at, int64_t runs,
                              const oxi_channel_numbers *of, float *room) {
    ox_tensor *out = r->call->out[0];
    for (int64_t n, end = at + runs * r->size; at < end; at += n) {
        n = oxi_min_i64(end - at, r->piece);
        const float *g = oxi_floats_of(r->k, r->call->in[0], at, n, room), *x = NULL;
        float *to = r->narrow ? room + 2 * r->piece : (float *)(void *)oxi_numbers_at(out, at);
        if (r->training) x = oxi_floats_of(r->k, r->call->in[1], at, n, room + r->piece);
        int64_t each = n / runs;
        for (int64_t first = 0; first < n; first += each) {
            const oxi_channel_numbers *c = of + (runs > 1 ? first / each : 0);
            if (!r->training)
                r->k->row_scale(each, g + first, c->a, to + first);
            else if (each >= OXI_CHANNEL_SHORT)
                r->own->channel(each, g + first, x + first, c, to + first, r->streams);
            else
                for (int64_t i = first; i < first + each; i++)
                    to[i] = c->a * g[i] + (c->b * (x[i] - c->mean) + c->c);
        }
        if (r->narrow) r->k->store[out->dtype][OXI_LANE_F32](n, to, oxi_numbers_at(out, at), 1);
    }
}

/* With y = (x - mean) scale and h = weight g: scale (h - sum(h) / count - y sum(h y) / count). rest: what f32
 * cannot hold of the mean. */
static oxi_channel_numbers oxi_channel_numbers_of(const oxi_channels_back *r, double weight, double mean,
                                                  double scale, double total, double along) {
    oxi_channel_numbers c;
    double slope = -scale * scale * along / r->count;
    c.mean = (float)mean;
    c.a = (float)(weight * scale);
    c.b = (float)slope;
    c.c = (float)(-scale * total / r->count + slope * ((double)c.mean - mean));
    return c;
}

/* ---- a batch ------------------------------------------------------------------------------------------- */

static void oxi_batch_sums_task(void *arg, int64_t index, int lane) {
    const oxi_channels_back *r = (const oxi_channels_back *)arg;
    oxi_channels_task t = oxi_channels_task_of(r, index, lane);
    for (int64_t n = t.sample; n < t.sample_end; n++)
        for (int64_t c = t.channel, runs; c < t.channel_end; c += runs) {
            double sum[2 * OXI_CHANNEL_RUNS] = {0};
            runs = oxi_min_i64(r->runs, t.channel_end - c);
            oxi_channel_sums(r, (n * r->channels + c) * r->size, runs, r->mean + c, t.room, sum);
            for (int64_t i = 0; i < runs; i++) {
                t.sums[c + i] += (double)r->scale[c + i] * sum[2 * i];
                t.sums[r->channels + c + i] += sum[2 * i + 1];
            }
        }
}

static void oxi_batch_write_task(void *arg, int64_t index, int lane) {
    const oxi_channels_back *r = (const oxi_channels_back *)arg;
    oxi_channels_task t = oxi_channels_task_of(r, index, lane);
    for (int64_t n = t.sample; n < t.sample_end; n++)
        for (int64_t c = t.channel, runs; c < t.channel_end; c += runs) {
            runs = oxi_min_i64(r->runs, t.channel_end - c);
            oxi_channel_write(r, (n * r->channels + c) * r->size, runs, &r->numbers[c], t.room);
        }
}

/* What the tasks added up, into the sums of the first. */
static void oxi_channels_join(const oxi_channels_back *r) {
    for (int64_t p = 1; p < r->sample_parts; p++)
        for (int64_t i = 0; i < 2 * r->channels; i++) r->sums[i] += r->sums[p * 2 * r->channels + i];
}

static void oxi_batch_back(oxi_channels_back *r) {
    int64_t tasks = r->sample_parts * r->group_parts;
    if (r->training || r->call->out_count > 1) oxi_parallel_for(tasks, oxi_batch_sums_task, r);
    oxi_channels_join(r);
    for (int64_t c = 0; c < r->channels; c++) {
        double weight = r->weight ? (double)r->weight[c] : 1;
        r->numbers[c] = oxi_channel_numbers_of(r, weight, r->mean[c], r->scale[c],
                                               weight * r->sums[r->channels + c], weight * r->sums[c]);
    }
    oxi_parallel_for(tasks, oxi_batch_write_task, r);
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/* Channels [c, c + together) of sample n. own: two sums of each. */
static void oxi_group_back(const oxi_channels_back *r, const oxi_channels_task *t, int64_t n, int64_t c,
                           double *own) {
    int64_t at = (n * r->channels + c) * r->size, count = r->together * r->size;
    double mean = 0, squares = 0, total = 0, along = 0;
    oxi_partial p = oxi_partial_of(&mean, &squares);
    const float *x = oxi_floats_of(r->k, r->call->in[1], at, count, t->room + 3 * r->piece);
    oxi_moments_row(r->k, &p, count, x, 0);
    double scale = 1 / sqrt(squares / r->count + r->eps), rest = mean - (double)(float)mean;
    float about = (float)mean;
    memset(own, 0, (size_t)(2 * r->together) * sizeof *own);
    for (int64_t i = 0; i < r->together; i++) {
        double *sum = own + 2 * i, weight = r->weight ? (double)r->weight[c + i] : 1;
        oxi_channel_sums(r, at + i * r->size, 1, &about, t->room, sum);
        sum[0] = scale * (sum[0] - rest * sum[1]);
        along += weight * sum[0];
        total += weight * sum[1];
        t->sums[c + i] += sum[0];
        t->sums[r->channels + c + i] += sum[1];
    }
    for (int64_t i = 0; i < r->together; i++) {
        double weight = r->weight ? (double)r->weight[c + i] : 1;
        oxi_channel_numbers numbers = oxi_channel_numbers_of(r, weight, mean, scale, total, along);
        oxi_channel_write(r, at + i * r->size, 1, &numbers, t->room);
    }
}

static void oxi_group_task(void *arg, int64_t index, int lane) {
    const oxi_channels_back *r = (const oxi_channels_back *)arg;
    oxi_channels_task t = oxi_channels_task_of(r, index, lane);
    double *own = (double *)(void *)t.room;
    t.room += 4 * r->together;
    for (int64_t n = t.sample; n < t.sample_end; n++)
        for (int64_t c = t.channel; c < t.channel_end; c += r->together) oxi_group_back(r, &t, n, c, own);
}

/* ---- the call ------------------------------------------------------------------------------------------ */

static void oxi_channels_shape(oxi_channels_back *r, const oxi_call *call) {
    const oxi_attr_group_norm_back *told = &call->attr.group_norm_back;
    const ox_tensor *x = call->in[1];
    memset(r, 0, sizeof *r);
    r->call = call;
    r->k = oxi_cpu_kernels();
    r->own = oxi_back_kernels_in_use();
    r->samples = x->shape[0];
    r->channels = x->shape[1];
    r->size = ox_numel(x) / (r->samples * r->channels);
    r->batch = told->groups == 0;
    r->training = told->training;
    r->eps = told->eps;
    r->together = r->batch ? 1 : r->channels / told->groups;
    r->count = (double)(r->batch ? r->samples * r->size : r->together * r->size);
    r->narrow = call->out[0]->dtype != OX_F32;
    r->streams = oxi_streams(call->out[0]) && !r->narrow && r->batch;
    bool direct = !r->narrow && call->in[0]->dtype == OX_F32 && x->dtype == OX_F32;
    r->piece = direct ? r->size : oxi_min_i64(r->size, OXI_CHANNEL_PIECE);
    r->runs = direct || !r->batch ? 1 : oxi_min_i64(OXI_CHANNEL_PIECE / r->piece, OXI_CHANNEL_RUNS);
    r->piece *= r->runs;
    int64_t tasks = oxi_min_i64(ox_numel(x) / OXI_BACK_BLOCK + 1, OXI_BACK_TASKS);
    r->sample_parts = oxi_min_i64(r->samples, tasks);
    r->group_parts = oxi_min_i64(r->channels / r->together, oxi_parts(tasks, r->sample_parts));
    r->lane_numbers = direct ? 0 : 3 * r->piece;
    if (!r->batch) r->lane_numbers += 4 * r->together + (x->dtype == OX_F32 ? 0 : r->together * r->size);
    r->lane_numbers = oxi_round_up(r->lane_numbers, OXI_LINE);
}

/* [C] of an operand as floats at *room, which moves on; NULL: it is not there. */
static float *oxi_channels_load(const oxi_channels_back *r, int operand, float **room) {
    const ox_tensor *t = operand < r->call->in_count ? r->call->in[operand] : NULL;
    float *to = *room;
    if (!t) return NULL;
    r->k->load[t->dtype][OXI_LANE_F32](r->channels, oxi_ptr(t), t->stride[0], to);
    *room += r->channels;
    return to;
}

/* Sums of g y and of g to weight and bias. */
static void oxi_channels_store(const oxi_channels_back *r, float *room) {
    for (int k = 1; k < r->call->out_count; k++) {
        const ox_tensor *out = r->call->out[k];
        for (int64_t c = 0; c < r->channels; c++) room[c] = (float)r->sums[(k - 1) * r->channels + c];
        r->k->store[out->dtype][OXI_LANE_F32](r->channels, room, oxi_ptr(out), out->stride[0]);
    }
}

/* Operands g, x, weight?, mean and variance of a batch; g, x and the first result are contiguous, of floats
 * other than f64, and not empty. */
static ox_status oxi_channels_back_run(const oxi_call *call) {
    oxi_channels_back r;
    oxi_channels_shape(&r, call);
    int64_t tasks = r.sample_parts * r.group_parts, c = r.channels;
    size_t sums = (size_t)(r.sample_parts * 2 * c), lanes = (size_t)(oxi_lanes(tasks) * r.lane_numbers);
    size_t bytes =
        sums * sizeof(double) + (size_t)c * (sizeof *r.numbers + 4 * sizeof(float)) + lanes * sizeof(float);
    char *memory = (char *)oxi_alloc(bytes);
    if (!memory) return OX_ERR_NOMEM;
    r.sums = (double *)(void *)memory;
    r.scratch = (float *)(void *)(r.sums + sums);
    float *room = r.scratch + lanes;
    r.numbers = (oxi_channel_numbers *)(void *)room;
    room = (float *)(void *)(r.numbers + c);
    memset(r.sums, 0, sums * sizeof(double));
    r.weight = oxi_channels_load(&r, 2, &room);
    if (r.batch) {
        r.mean = oxi_channels_load(&r, 3, &room);
        r.scale = oxi_channels_load(&r, 4, &room);
        for (int64_t i = 0; i < c; i++) r.scale[i] = (float)(1 / sqrt((double)r.scale[i] + r.eps));
        oxi_batch_back(&r);
    } else {
        oxi_parallel_for(tasks, oxi_group_task, &r);
        oxi_channels_join(&r);
    }
    oxi_channels_store(&r, room);
    oxi_free(memory, bytes);
    return OX_OK;
}
