/* One node: headers over its items, the library's own run of a call on the compute device, and what a failure
 * says: the number of the call in its step, and its name. Called by the online run and by plans. */

typedef struct oxi_shunt_headers {
    ox_tensor few[OXI_MAX_IN + OXI_MAX_OUT], *header;
    ox_storage few_numbers[OXI_MAX_IN], *number;
    ox_tensor *few_in[OXI_MAX_IN], **in;
    oxi_call call;
} oxi_shunt_headers;

static void oxi_shunt_header(const oxi_shunt_operand *o, ox_tensor *t, ox_storage *number) {
    memset(t, 0, sizeof *t);
    t->dtype = o->dtype;
    t->ndim = o->ndim;
    t->offset = o->offset;
    t->is_number = o->is_number;
    t->references = 1;
    if (o->ndim > 0) {
        memcpy(t->shape, o->dims, (size_t)o->ndim * sizeof *o->dims);
        memcpy(t->stride, o->dims + o->ndim, (size_t)o->ndim * sizeof *o->dims);
    }
    if (o->item) {
        t->storage = o->item->storage;
        return;
    }
    memset(number, 0, sizeof *number);
    number->references = 1;
    number->device = ox_cpu();
    number->data = (void *)(uintptr_t)o->number;
    number->bytes = sizeof o->number;
    number->borrowed = true;
    number->read_only = true;
    t->storage = number;
}

/* Headers of a node whose items are there, or (costs) whose shapes alone matter. */
static bool oxi_shunt_headers_open(oxi_shunt_headers *h, const oxi_shunt_node *node) {
    size_t operands = (size_t)(node->in_count + node->out_count), inputs = (size_t)node->in_count;
    bool many = node->in_count > OXI_MAX_IN;
    h->header = many ? (ox_tensor *)oxi_alloc(operands * sizeof *h->header) : h->few;
    h->number = many ? (ox_storage *)oxi_alloc(inputs * sizeof *h->number) : h->few_numbers;
    h->in = many ? (ox_tensor **)oxi_alloc(inputs * sizeof *h->in) : h->few_in;
    oxi_call *call = &h->call;
    memset(call, 0, sizeof *call);
    call->op = node->op;
    call->in_count = node->in_count;
    call->out_count = node->out_count;
    call->exact = node->exact;
    call->attr = *node->attr;
    call->random = node->random;
    call->name = node->name;
    call->in = h->in;
    if (!h->header || !h->number || !h->in) return false;
    for (int i = 0; i < node->in_count + node->out_count; i++) {
        const oxi_shunt_operand *o = &node->operand[i];
        bool is_in = i < node->in_count;
        ox_tensor *t = o->given ? o->given : o->there ? &h->header[i] : NULL;
        if (t && !o->given) oxi_shunt_header(o, t, &h->number[is_in ? i : 0]);
        if (is_in)
            h->in[i] = t;
        else
            call->out[i - node->in_count] = t;
    }
    return true;
}

static void oxi_shunt_headers_close(oxi_shunt_headers *h, const oxi_shunt_node *node) {
    if (node->in_count <= OXI_MAX_IN) return;
    size_t operands = (size_t)(node->in_count + node->out_count), inputs = (size_t)node->in_count;
    oxi_free(h->header, operands * sizeof *h->header);
    oxi_free(h->number, inputs * sizeof *h->number);
    oxi_free(h->in, inputs * sizeof *h->in);
}

static const char *oxi_shunt_node_name(const oxi_shunt_node *node) {
    return node->name ? node->name : oxi_op_row_of(node->op)->name;
}

/* "shunt:0, call 17 (embedding): an index ..": the thread's error, if it is one of this node. */
static void oxi_shunt_blame(const ox_shunt *s, const oxi_shunt_node *node) {
    char text[OXI_ERROR_ROOM];
    int length = snprintf(text, sizeof text, "%s, call %lld (%s): %.400s", s->name, (long long)node->number,
                          oxi_shunt_node_name(node), ox_error_text());
    if (length > 0) memcpy(oxi_thread_error.text, text, sizeof text);
}

static void oxi_shunt_mean_put(ox_shunt *s, uint64_t key, double seconds);
static bool oxi_shunt_mean_wants(ox_shunt *s, uint64_t key);
static void oxi_shunt_span_put(ox_shunt *s, int lane, const char *name, double start, double end,
                               uint64_t bytes);

/* What was written is the only copy. */
static void oxi_shunt_written(ox_shunt *s, oxi_shunt_item *item);
static ox_status oxi_shunt_unlend(ox_shunt *s, oxi_shunt_item *item);

/* What it writes to lies in memory of its own. */
static ox_status oxi_shunt_unlend_results(ox_shunt *s, const oxi_shunt_node *node) {
    ox_status status = OX_OK;
    for (int i = node->in_count; i < node->in_count + node->out_count && status == OX_OK; i++)
        if (node->operand[i].item) status = oxi_shunt_unlend(s, node->operand[i].item);
    return status;
}

/* Runs a node whose items are on the compute device. */
static ox_status oxi_shunt_run_node(ox_shunt *s, const oxi_shunt_node *node) {
    oxi_shunt_headers h;
    oxi_profile_record record;
    const char *speaker = oxi_speaker;
    ox_status status = oxi_shunt_unlend_results(s, node);
    if (status != OX_OK) return status;
    bool opened = oxi_shunt_headers_open(&h, node), profiled = oxi_profiling();
    status = opened ? OX_OK : OX_ERR_NOMEM;
    oxi_speaker = NULL; /* errors are those of the node, not of the function that made the step run */
    bool clean = ox_error() == OX_OK;
    if (opened && profiled) record = oxi_profile_record_of(&h.call, OXI_PROFILE_CALLS);
    bool waits = opened && !s->compute->host && oxi_shunt_mean_wants(s, node->shape_key);
    if (waits) status = s->compute->sync(s->compute);
    double start = oxi_now();
    if (opened && status == OX_OK) status = oxi_run_part(s->compute, &h.call, node->told);
    if (waits && status == OX_OK) status = s->compute->sync(s->compute);
    double end = oxi_now();
    oxi_speaker = speaker;
    if (opened && profiled && status == OX_OK) {
        record.start = start;
        record.seconds = end - start;
        oxi_profile_put(&record);
    }
    oxi_shunt_headers_close(&h, node);
    if (status != OX_OK && clean) oxi_shunt_blame(s, node);
    for (int i = 0; i < node->out_count; i++) {
        const oxi_shunt_operand *o = &node->operand[node->in_count + i];
        if (!o->item || (status != OX_OK && !o->item->valid)) continue; /* not made: others say it is lost */
        oxi_shunt_written(s, o->item);
        (void)oxi_atomic_add(&o->item->storage->version, 1);
    }
    if (status != OX_OK) return status;
    s->stats.compute_seconds += end - start;
    double took = end - start - (s->compute->host ? 0 : s->rates.empty);
    if (s->compute->host || waits) oxi_shunt_mean_put(s, node->shape_key, took > 1e-7 ? took : 1e-7);
    oxi_shunt_span_put(s, OXI_LANE_COMPUTE, oxi_shunt_node_name(node), start, end, 0);
    return OX_OK;
}

/* Where calls of the step are to be timed, what others gave the device before it is over first: an error of
 * theirs is told, and is none of the step. */
static void oxi_shunt_wait_for_others(ox_shunt *s) {
    bool times = false;
    for (int64_t n = 0; n < s->node_count && !s->compute->host && !times; n++)
        times = oxi_shunt_mean_wants(s, s->nodes[n]->shape_key);
    if (times) (void)s->compute->sync(s->compute);
}
