/* Chains: a program of elementwise ops in one pass over memory, its steps unrolled in the shader, whose
 * constants say what they are. A pipeline for each program, mix of dtypes and kind of layout. Operands and
 * results lie in as many blocks as a shader can bind, or each result takes a pass of its own.
 * Called by the Vulkan device for CHAIN. */

enum { OXI_VK_CHAIN_TENSORS = OXI_CHAIN_OPERANDS + OXI_MAX_OUT };

static uint32_t oxi_vk_constants_of(const oxi_vk_pipeline_key *key, uint32_t *constants) {
    memcpy(constants, key->special.word, sizeof key->special);
    if (!(oxi_vk_shaders[key->shader].traits & OXI_VK_COPIES)) return OXI_VK_SPECIALS;
    const oxi_chain *program = &oxi_chains[key->special.chain.program];
    bool wide = key->shader == OXI_VK_SHADER_chain_double;
    memset(constants + OXI_VK_SPECIALS, 0, 4 * (OXI_VK_CONSTANTS - OXI_VK_SPECIALS));
    for (int k = 0; k < program->step_count; k++) {
        const oxi_chain_step *step = &program->step[k];
        uint32_t *to = constants + OXI_VK_SPECIALS + k * OXI_VK_STEP_CONSTANTS;
        oxi_attrs attr = oxi_attrs_by_default((oxi_op)step->op);
        double f[3] = {0, 0, 0};
        (void)oxi_attrs_numbers((oxi_op)step->op, &attr, f, 3);
        to[0] = (uint32_t)oxi_map_row_of((oxi_op)step->op).code;
        for (int i = 0; i < 3; i++) {
            to[0] |= (uint32_t)step->in[i] << (8 + 8 * i);
            if (wide) oxi_vk_double_words(f[i], to + 1 + 2 * i);
            else to[1 + 2 * i] = oxi_vk_float_bits(f[i]);
        }
    }
    for (int r = 0; r < program->result_count; r++) constants[OXI_VK_CHAIN_RESULTS + r] = program->result[r];
    constants[OXI_VK_CHAIN_COUNT] = (uint32_t)program->step_count;
    return OXI_VK_CONSTANTS;
}

/* What a dispatch of a chain is made of. `which`: operand i, or result r behind the operands. */
typedef struct oxi_vk_chain_job {
    const oxi_call *call;
    const oxi_chain *program;
    oxi_walk walk;
    int walked[OXI_VK_CHAIN_TENSORS];  /* its number in the walk */
    oxi_vk_dispatch dispatch;
    oxi_vk_chain_params params;
} oxi_vk_chain_job;

static const ox_tensor *oxi_vk_chain_tensor(const oxi_vk_chain_job *job, int which) {
    int r = which - OXI_CHAIN_OPERANDS;
    if (r < 0) return which < job->program->operand_count ? job->call->in[which] : NULL;
    return r < job->program->result_count ? job->call->out[r] : NULL;
}

/* Whether operands and the results that `results` has a bit of lie in as many blocks as can be bound. */
static bool oxi_vk_chain_reaches(const oxi_call *call, unsigned results) {
    const oxi_vk_block *bound[OXI_VK_BINDINGS];
    int count = 0;
    for (int i = 0; i < call->in_count + call->out_count; i++) {
        int r = i - call->in_count, at = 0;
        if (r >= 0 && !(results >> r & 1)) continue;
        const oxi_vk_block *block = oxi_vk_chunk_of(r < 0 ? call->in[i] : call->out[r])->block;
        while (at < count && bound[at] != block) at++;
        if (at == OXI_VK_BINDINGS) return false;
        bound[at] = block;
        if (at == count) count++;
    }
    return true;
}

/* Whether a result lies where an operand does, so that all are written by who has read that. */
static bool oxi_vk_chain_in_place(const oxi_call *call) {
    for (int r = 0; r < call->out_count; r++)
        for (int i = 0; i < call->in_count; i++)
            if (oxi_vk_chunk_of(call->out[r]) == oxi_vk_chunk_of(call->in[i])) return true;
    return false;
}

/* The results that a pass gives with result `first`: all of them, or it alone. 0: they lie too far apart. */
static unsigned oxi_vk_chain_pass(const oxi_call *call, int first) {
    unsigned all = (1u << call->out_count) - 1, one = 1u << first;
    if (oxi_vk_chain_reaches(call, all)) return all;
    return !oxi_vk_chain_in_place(call) && oxi_vk_chain_reaches(call, one) ? one : 0;
}

static bool oxi_vk_can_chain_steps(const oxi_chain *program) {
    for (int k = 0; k < program->step_count; k++) {
        oxi_map_row row = oxi_map_row_of((oxi_op)program->step[k].op);
        if (row.code < 0 || row.shader == OXI_MAP_SHADER_none) return false;
    }
    return true;
}

/* Results may be missing: then all that is asked is whether there is a shader. */
static bool oxi_vk_can_chain(const oxi_vk_device *d, const oxi_call *call) {
    bool wide = oxi_compute_dtype(call) == OX_F64;
    if (wide && !(d->caps & OX_VULKAN_CAP_F64)) return false;
    for (int i = 0; i < call->in_count + call->out_count; i++) {
        const ox_tensor *t = i < call->in_count ? call->in[i] : call->out[i - call->in_count];
        if (t && (!oxi_vk_fits(t) || (!wide && !oxi_vk_map_reads(t->dtype)))) return false;
    }
    for (int r = 0; r < call->out_count && call->out[r]; r++)
        if (!oxi_vk_chain_pass(call, r)) return false;
    return oxi_vk_can_chain_steps(call->attr.chain.program);
}

/* ---- a dispatch ---------------------------------------------------------------------------------------- */

/* Binds that tensor; its binding. */
static int oxi_vk_chain_bind(oxi_vk_chain_job *job, int *bound, int which) {
    const ox_tensor *t = oxi_vk_chain_tensor(job, which);
    oxi_vk_dispatch *dispatch = &job->dispatch;
    bool writes = which >= OXI_CHAIN_OPERANDS;
    for (int i = 0; i < *bound; i++) {
        if (dispatch->use[i].chunk->block != oxi_vk_chunk_of(t)->block) continue;
        oxi_vk_bind(dispatch, OXI_VK_BINDINGS + which, t, writes); /* for what must be waited for */
        return i;
    }
    oxi_vk_bind(dispatch, *bound, t, writes);
    return (*bound)++;
}

/* Binds operands and those results. */
static void oxi_vk_chain_bind_all(oxi_vk_chain_job *job, unsigned results) {
    oxi_vk_chain_specials *special = &job->dispatch.special.chain;
    int bound = 0;
    memset(&job->dispatch, 0, sizeof job->dispatch);
    for (int which = 0; which < OXI_VK_CHAIN_TENSORS; which++) {
        int r = which - OXI_CHAIN_OPERANDS;
        const ox_tensor *t = oxi_vk_chain_tensor(job, which);
        if (!t || (r >= 0 && !(results >> r & 1))) continue;
        special->blocks |= (uint32_t)oxi_vk_chain_bind(job, &bound, which) << (3 * which);
        special->used |= 1u << which;
        *(r < 0 ? &special->from[which] : &special->to[r]) = (uint32_t)t->dtype;
    }
    oxi_vk_bind_rest(&job->dispatch);
}

/* Whether the places of the walk's operand k are those of the elements in order. */
static bool oxi_vk_chain_flat(const oxi_walk *w, int k) {
    int64_t dense = 1;
    for (int e = w->ndim; e-- > 0; dense *= w->shape[e])
        if (w->stride[k][e] != dense) return false;
    return true;
}

/* How the places go with the elements, and whether four elements can be taken at a time. */
static void oxi_vk_chain_layout(oxi_vk_chain_job *job) {
    oxi_vk_chain_specials *special = &job->dispatch.special.chain;
    const oxi_walk *w = &job->walk;
    bool quads = job->dispatch.shader == OXI_VK_SHADER_chain &&
                 (w->ndim == 1 || w->shape[w->ndim - 1] % 4 == 0);
    for (int which = 0; which < OXI_VK_CHAIN_TENSORS; which++) {
        if (!(special->used >> which & 1)) continue;
        int k = job->walked[which];
        bool still = false;
        quads = oxi_vk_walks_quads(w, k, &still) && quads && !(which >= OXI_CHAIN_OPERANDS && still);
        special->still |= (uint32_t)still << which;
        special->flat |= (uint32_t)oxi_vk_chain_flat(w, k) << which;
        job->params.at[which] = oxi_vk_walk_at(w, k);
        for (int e = 0; e < w->ndim; e++)
            job->params.stride[which * OX_MAX_DIMS + e] = (uint32_t)w->stride[k][e];
    }
    special->quads = quads;
    if (!quads) special->still = 0;
}

static ox_status oxi_vk_chain_dispatch(oxi_vk_device *d, oxi_vk_chain_job *job) {
    oxi_vk_dispatch *dispatch = &job->dispatch;
    bool wide = oxi_compute_dtype(job->call) == OX_F64;
    dispatch->shader = wide ? OXI_VK_SHADER_chain_double : OXI_VK_SHADER_chain;
    dispatch->special.chain.program = (uint32_t)(job->program - oxi_chains);
    oxi_vk_chain_layout(job);
    job->params.n = (uint32_t)job->walk.numel;
    job->params.ndim = (uint32_t)job->walk.ndim;
    for (int e = 0; e < job->walk.ndim; e++) job->params.shape[e] = (uint32_t)job->walk.shape[e];
    for (int j = 0; j < job->program->number_count; j++) {
        double number = job->call->attr.chain.numbers.n[j];
        if (wide) oxi_vk_double_words(number, job->params.number[j]);
        else job->params.number[j][0] = oxi_vk_float_bits(number);
    }
    dispatch->params = &job->params;
    dispatch->param_bytes = sizeof job->params;
    uint32_t each = dispatch->special.chain.quads ? 4 : 1;
    oxi_vk_invocations(dispatch, ((uint64_t)job->walk.numel + each - 1) / each);
    return oxi_vk_record(d, dispatch);
}

static ox_status oxi_vk_chain(oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_chain_job job;
    memset(&job, 0, sizeof job);
    job.call = call;
    job.program = call->attr.chain.program;
    oxi_walk_begin(&job.walk, call->out[0]->ndim, call->out[0]->shape);
    for (int i = 0; i < OXI_VK_CHAIN_TENSORS; i++) { /* results first: memory is walked in their order */
        int which = (i + OXI_CHAIN_OPERANDS) % OXI_VK_CHAIN_TENSORS;
        const ox_tensor *t = oxi_vk_chain_tensor(&job, which);
        if (!t) continue;
        job.walked[which] = job.walk.operands;
        oxi_vk_walk_add(&job.walk, t);
    }
    oxi_walk_ready(&job.walk, OXI_WALK_MEMORY_ORDER);
    ox_status status = OX_OK;
    for (unsigned r = 0, done = 0; job.walk.numel > 0 && r < (unsigned)call->out_count; r++) {
        if (done >> r & 1 || status != OX_OK) continue;
        unsigned pass = oxi_vk_chain_pass(call, (int)r);
        oxi_vk_chain_bind_all(&job, pass);
        status = oxi_vk_chain_dispatch(d, &job);
        done |= pass;
    }
    return status;
}
