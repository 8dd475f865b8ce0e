/* Calls whose operands are too large for the budget together run as pieces, one after the other: as many rows
 * as fit, along a dim that leaves the bits as they are (the stream's table, ops/cuttable_dims.c). What pieces
 * reach of an item is a part of it from then on, an item of its own, so that plans move it like others; other
 * items stay whole, and pieces read where their rows lie in them. A step in which the same item is wanted
 * whole and in parts, or in other parts, is run as several. Called by flushes. */

typedef struct oxi_shunt_cut {
    struct oxi_shunt_cut *next;
    int64_t node; /* of the pending ones */
    oxi_shunt_headers whole;
    ox_storage nowhere; /* of the whole call's headers */
    oxi_stream_plan plan;
    int dim;             /* of the plan's space */
    const int64_t *rows; /* where pieces end; */
    int64_t pieces;
} oxi_shunt_cut;

/* An item among the operands of a call. */
typedef struct oxi_shunt_share {
    oxi_shunt_item *item;
    bool parts;
    const int64_t *ends; /* of its parts, bytes */
    int64_t count;
} oxi_shunt_share;

enum {
    OXI_SHUNT_SETS = 3,        /* of pieces: that come, are used, go */
    OXI_SHUNT_PIECES = 1 << 12 /* of a call, at most */
};

/* ---- items in parts ------------------------------------------------------------------------------------ */

static bool oxi_shunt_is_oversized(const ox_shunt *s, const oxi_shunt_item *item) {
    return oxi_shunt_is_planned(s) && oxi_shunt_item_room(item) > s->main_bytes;
}

static void oxi_shunt_part_list_free(ox_shunt *s, oxi_shunt_item **part, int32_t count) {
    for (int32_t k = 0; k < count && part; k++) {
        if (!part[k]) continue;
        part[k]->held = false;
        oxi_shunt_item_settle(s, part[k]);
    }
    oxi_free(part, (size_t)count * sizeof *part);
}

static void oxi_shunt_parts_drop(ox_shunt *s, oxi_shunt_item *item) {
    oxi_shunt_part_list_free(s, item->part, item->part_count);
    item->part = NULL;
    item->part_count = 0;
}

/* Bytes of an item in parts, to `out` or from `data`. */
static ox_status oxi_shunt_parts_move(ox_shunt *s, oxi_shunt_item *item, size_t offset, void *out,
                                      const void *data, size_t bytes) {
    ox_status status = OX_OK;
    size_t done = 0;
    for (int32_t k = 0; k < item->part_count && done < bytes && status == OX_OK; k++) {
        oxi_shunt_item *part = item->part[k];
        size_t some = part->bytes > offset ? part->bytes - offset : 0;
        if (some == 0) {
            offset -= part->bytes;
            continue;
        }
        if (some > bytes - done) some = bytes - done;
        status = out ? oxi_shunt_item_read(s, part, offset, (char *)out + done, some)
                     : oxi_shunt_item_write(s, part, offset, (const char *)data + done, some);
        if (data && status == OX_OK) part->failed = false;
        done += some;
        offset = 0;
    }
    return status;
}

/* All of an item in parts anew: the old parts go when the new ones are there. Where there is no room beside
 * them the old ones are written to, and all of it is lost if that fails. */
static ox_status oxi_shunt_parts_replace(ox_shunt *s, oxi_shunt_item *item, const char *data) {
    const bool clean = ox_error() == OX_OK;
    const int32_t count = item->part_count;
    oxi_shunt_item **part = (oxi_shunt_item **)oxi_calloc((size_t)count, sizeof *part);
    ox_status status = part ? OX_OK : OX_ERR_NOMEM;
    bool room = true;
    size_t at = 0;
    for (int32_t k = 0; k < count && status == OX_OK; k++) {
        const oxi_shunt_item *old = item->part[k];
        part[k] = oxi_shunt_item_new(s, old->bytes, 0);
        if (!part[k]) status = OX_ERR_NOMEM;
        if (status != OX_OK) break;
        part[k]->all_f32 = old->all_f32;
        part[k]->kind = old->kind;
        part[k]->columns = old->columns;
        status = oxi_shunt_item_write(s, part[k], 0, data + at, old->bytes);
        room = status == OX_OK || part[k]->disk;
        at += old->bytes;
    }
    if (status == OX_OK) {
        oxi_shunt_parts_drop(s, item);
        item->part = part;
        item->part_count = count;
        return OX_OK;
    }
    oxi_shunt_part_list_free(s, part, count);
    if (room) return status;
    if (clean) ox_error_clear();
    status = oxi_shunt_parts_move(s, item, 0, NULL, data, item->bytes);
    for (int32_t k = 0; k < count && status != OX_OK; k++) item->part[k]->failed = true;
    return status;
}

/* Bytes [offset, ..) of an item as a part; those of files stay there. */
static oxi_shunt_item *oxi_shunt_part_new(ox_shunt *s, oxi_shunt_item *item, size_t offset, size_t bytes) {
    bool stays = item->file && item->disk_valid && !item->part;
    const oxi_stream_region *region = stays ? (const oxi_stream_region *)item->disk->data : NULL;
    oxi_shunt_item *part = oxi_shunt_item_new(s, bytes, region ? region->offset + item->disk_at + offset : 0);
    if (!part) return NULL;
    part->all_f32 = item->all_f32;
    part->kind = item->kind;
    part->columns = item->columns;
    part->failed = item->failed;
    ox_status status = OX_OK;
    if (stays) {
        oxi_storage_retain(item->disk);
        part->disk = item->disk;
        part->file = part->disk_valid = true;
        part->disk_at = item->disk_at + offset;
        part->disk_bytes = bytes;
    } else if (item->valid || oxi_shunt_has_copy(item) || item->part) {
        void *through = oxi_alloc(bytes);
        status = through ? oxi_shunt_item_read(s, item, offset, through, bytes) : OX_ERR_NOMEM;
        if (status == OX_OK) status = oxi_shunt_item_write(s, part, 0, through, bytes);
        oxi_free(through, bytes);
    }
    if (status == OX_OK) return part;
    part->held = false;
    oxi_shunt_item_settle(s, part);
    return NULL;
}

/* The item in parts that end there. */
static ox_status oxi_shunt_split(ox_shunt *s, oxi_shunt_item *item, const int64_t *ends, int64_t count) {
    oxi_shunt_item **part = (oxi_shunt_item **)oxi_calloc((size_t)count, sizeof *part);
    bool made = part != NULL;
    size_t begin = 0;
    if (item->valid && !item->lent && !item->file) { /* room for the parts: other copies go */
        oxi_shunt_host_drop(s, item);
        oxi_shunt_disk_drop(item);
    }
    for (int64_t k = 0; k < count && made; k++) {
        size_t end = (size_t)ends[k];
        part[k] = oxi_shunt_part_new(s, item, begin, end - begin);
        made = part[k] != NULL;
        begin = end;
    }
    if (!made) {
        oxi_shunt_part_list_free(s, part, (int32_t)count);
        return ox_error() != OX_OK ? ox_error() : OX_ERR_NOMEM;
    }
    oxi_shunt_item_forget(s, item); /* its copies, and earlier parts */
    item->failed = false;
    item->part = part;
    item->part_count = (int32_t)count;
    return OX_OK;
}

/* Where no call has said how. */
static ox_status oxi_shunt_parts_even(ox_shunt *s, oxi_shunt_item *item) {
    int64_t each = (int64_t)(s->main_bytes / 8 / OXI_SHUNT_PAGE * OXI_SHUNT_PAGE);
    int64_t bytes = (int64_t)item->bytes;
    if (each == 0) each = OXI_SHUNT_PAGE;
    int64_t count = oxi_parts(bytes, each);
    int64_t *ends = (int64_t *)oxi_alloc((size_t)count * sizeof *ends);
    if (!ends) return OX_ERR_NOMEM;
    for (int64_t k = 0; k < count; k++) ends[k] = k + 1 < count ? each * (k + 1) : bytes;
    ox_status status = oxi_shunt_split(s, item, ends, count);
    oxi_free(ends, (size_t)count * sizeof *ends);
    return status;
}

/* A whole one again, on the device. */
static ox_status oxi_shunt_join(ox_shunt *s, oxi_shunt_item *item) {
    size_t offset = 0;
    bool any = false, failed = oxi_shunt_is_lost(item);
    for (int32_t k = 0; k < item->part_count; k++)
        any = any || item->part[k]->valid || oxi_shunt_has_copy(item->part[k]);
    s->node_clock++;
    item->protects = s->node_clock;
    ox_status status = any && !failed ? oxi_shunt_bring(s, item, false) : OX_OK;
    if (status == OX_ERR_NOMEM && ox_error() == OX_OK) return oxi_shunt_fail_room(s, item->bytes);
    for (int32_t k = 0; k < item->part_count && any && !failed && status == OX_OK; k++) {
        oxi_shunt_item *part = item->part[k];
        char *to = s->compute->host ? (char *)item->storage->data + offset : (char *)oxi_alloc(part->bytes);
        status = to ? oxi_shunt_item_read(s, part, 0, to, part->bytes) : OX_ERR_NOMEM;
        if (!s->compute->host) {
            if (status == OX_OK)
                status = s->compute->write(s->compute, item->storage->data, offset, to, part->bytes);
            oxi_free(to, part->bytes);
        }
        offset += part->bytes;
    }
    if (status != OX_OK) {
        oxi_shunt_leave(s, item, false);
        return status;
    }
    oxi_shunt_parts_drop(s, item);
    if (any && !failed) oxi_shunt_written(s, item);
    item->failed = failed;
    return OX_OK;
}

/* ---- what there is to cut ------------------------------------------------------------------------------ */

/* Bytes of the plans' memory that a call wants at once; composite: one of its items is in parts. */
static uint64_t oxi_shunt_node_room(const oxi_shunt_node *node, bool *composite) {
    uint64_t bytes = 0;
    for (int i = 0; i < node->in_count + node->out_count; i++) {
        const oxi_shunt_item *item = node->operand[i].item;
        if (!item) continue;
        *composite = *composite || item->part;
        if (!item->small && !oxi_shunt_is_seen(node, i)) bytes += oxi_shunt_item_room(item);
    }
    return bytes;
}

static bool oxi_shunt_is_too_large(const ox_shunt *s, const oxi_shunt_node *node) {
    bool composite = false;
    return oxi_shunt_node_room(node, &composite) > s->main_bytes;
}

static bool oxi_shunt_is_elementwise(oxi_op op) {
    oxi_family family = oxi_op_row_of(op)->family;
    return family <= OXI_FAMILY_RANDOM || family == OXI_FAMILY_CHAIN;
}

/* Whether an elementwise call takes more than half of the budget, and much of that is of items that no other
 * call wants, as an optimizer's state is: in parts they need not be there together. */
static bool oxi_shunt_falls_apart(const ox_shunt *s, const oxi_shunt_node *node, uint64_t room) {
    uint64_t own = 0;
    if (room <= s->main_bytes / 2 || !oxi_shunt_is_elementwise(node->op)) return false;
    for (int i = 0; i < node->in_count; i++) {
        const oxi_shunt_item *item = node->operand[i].item;
        int64_t times = 0;
        for (int k = 0; k < node->in_count + node->out_count && item; k++)
            times += node->operand[k].item == item ? (k < i ? -1 : 1) : 0;
        if (item && times == item->pending) own += oxi_shunt_item_room(item);
    }
    return own >= room / 4;
}

/* What fits runs whole, but for elementwise calls on what is in parts anyway, or may be, while there is room
 * to make parts. composite: an item is in parts. */
static bool oxi_shunt_is_cut_node(const ox_shunt *s, const oxi_shunt_node *node, bool *composite) {
    *composite = false;
    uint64_t room = oxi_shunt_node_room(node, composite);
    if (room > s->main_bytes || s->cuts_least) return room > s->main_bytes;
    return (*composite && oxi_shunt_is_elementwise(node->op)) || oxi_shunt_falls_apart(s, node, room);
}

/* Whether the step has to be looked at: any call is to be cut, or has an item in parts. */
static bool oxi_shunt_wants_cut(const ox_shunt *s) {
    bool wants = false, composite = false;
    for (int64_t n = 0; n < s->node_count && !wants && oxi_shunt_is_planned(s); n++)
        wants = oxi_shunt_is_cut_node(s, s->nodes[n], &composite) || composite;
    return wants;
}

static const oxi_shunt_operand *oxi_shunt_cut_operand(const oxi_shunt_node *node, int i) {
    int at = i < OXI_PLAN_OUT ? i : node->in_count + i - OXI_PLAN_OUT;
    bool is = i < OXI_PLAN_OUT ? i < node->in_count : i - OXI_PLAN_OUT < node->out_count;
    return is ? &node->operand[at] : NULL;
}

/* Elementwise calls over operands that lie alike are calls over one dim. */
static bool oxi_shunt_flatten(oxi_stream_plan *plan) {
    const ox_tensor *out = &plan->operand[OXI_PLAN_OUT];
    if (!oxi_shunt_is_elementwise(plan->call->op)) return false;
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        const ox_tensor *t = &plan->operand[i];
        if (!plan->there[i] || ox_numel(t) == 1) continue;
        if (!ox_is_contiguous(t) || oxi_is_block(t->dtype) || t->ndim != out->ndim) return false;
        if (memcmp(t->shape, out->shape, (size_t)out->ndim * sizeof *out->shape) != 0) return false;
    }
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        ox_tensor *t = &plan->operand[i];
        if (!plan->there[i] || t->is_number) continue;
        t->shape[0] = ox_numel(t);
        t->stride[0] = t->ndim = 1;
    }
    return true;
}

/* Finds the dims along which the call may be cut. flat: as a call over one dim. */
static bool oxi_shunt_cut_open(const ox_shunt *s, const oxi_shunt_node *node, bool flat, oxi_shunt_cut *c) {
    if (node->in_count > OXI_MAX_IN || node->out_count > OXI_MAX_OUT) return false;
    if (!oxi_shunt_headers_open(&c->whole, node)) return false;
    memset(&c->nowhere, 0, sizeof c->nowhere);
    c->nowhere.references = 1;
    c->nowhere.device = s->compute;
    for (int i = 0; i < node->in_count + node->out_count; i++) {
        if (node->operand[i].given) return false;
        if (node->operand[i].item) c->whole.header[i].storage = &c->nowhere;
    }
    oxi_plan_operands(&c->plan, s->compute, &c->whole.call);
    c->plan.in_order = true;
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        const oxi_shunt_operand *o = oxi_shunt_cut_operand(node, i);
        c->plan.streamed[i] = o && o->item;
    }
    if (flat && !oxi_shunt_flatten(&c->plan)) return false;
    oxi_plan_find_space(&c->plan);
    return c->plan.space.ndim > 0;
}

/* ---- how one call is cut ------------------------------------------------------------------------------- */

/* The rows of operand i that piece k has. */
static ox_tensor oxi_shunt_piece(const oxi_shunt_cut *c, int i, int64_t k) {
    int64_t start[OX_MAX_DIMS] = {0}, count[OX_MAX_DIMS];
    memcpy(count, c->plan.space.size, sizeof count);
    start[c->dim] = k > 0 ? c->rows[k - 1] : 0;
    count[c->dim] = c->rows[k] - start[c->dim];
    return oxi_plan_part(&c->plan, i, start, count);
}

/* Bytes of its item that a tensor reaches. */
static void oxi_shunt_reach(const ox_tensor *t, int64_t range[2]) {
    int64_t first, last;
    oxi_reach(t, &first, &last);
    range[0] = (int64_t)oxi_byte_offset(t->dtype, first);
    range[1] = (int64_t)oxi_byte_offset(t->dtype, last) + oxi_info(t->dtype)->block_bytes;
}

/* The part that a place lies in. */
static int64_t oxi_shunt_part_at(const int64_t *ends, int64_t count, int64_t place) {
    int64_t low = 0, high = count - 1;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (ends[middle] > place)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int oxi_shunt_shares(const oxi_shunt_node *node, oxi_shunt_share *out) {
    int count = 0;
    for (int i = 0; i < node->in_count + node->out_count; i++) {
        oxi_shunt_item *item = node->operand[i].item;
        int k = 0;
        if (!item || item->small) continue;
        while (k < count && out[k].item != item) k++;
        if (k == count) out[count++].item = item;
    }
    return count;
}

/* Room of the whole ones. */
static uint64_t oxi_shunt_shares_whole(const oxi_shunt_share *share, int count) {
    uint64_t bytes = 0;
    for (int k = 0; k < count; k++) bytes += share[k].parts ? 0 : oxi_shunt_item_room(share[k].item);
    return bytes;
}

/* Who is in parts: all, but for what this step has whole, or wants whole while that leaves half of the
 * budget. */
static bool oxi_shunt_shares_decide(const ox_shunt *s, oxi_shunt_share *share, int count) {
    for (int k = 0; k < count; k++) {
        const oxi_shunt_item *item = share[k].item;
        share[k].parts = item->cut_at == s->cut_pass ? item->cut_count > 0 : item->whole_at <= s->cut_from;
    }
    while (oxi_shunt_shares_whole(share, count) > s->main_bytes / 2) {
        int largest = -1;
        for (int k = 0; k < count; k++) {
            bool may = !share[k].parts && share[k].item->cut_at < s->cut_pass;
            if (may && (largest < 0 || share[k].item->bytes > share[largest].item->bytes)) largest = k;
        }
        if (largest < 0) break;
        share[largest].parts = true;
    }
    return oxi_shunt_shares_whole(share, count) < s->main_bytes;
}

static int oxi_shunt_compare_ranges(const void *a, const void *b) {
    const int64_t *x = (const int64_t *)a, *y = (const int64_t *)b;
    return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] < y[1] ? -1 : x[1] > y[1];
}

/* The parts of an item that is in none yet: what pieces reach, and in between as much as `most`. False: no
 * memory. */
static bool oxi_shunt_ends_new(ox_shunt *s, const oxi_shunt_cut *c, const oxi_shunt_node *node,
                               oxi_shunt_share *share, int64_t most) {
    int64_t room = 0, ranges = 0, bytes = (int64_t)share->item->bytes, at = 0;
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        const oxi_shunt_operand *o = oxi_shunt_cut_operand(node, i);
        room += o && o->item == share->item ? c->pieces : 0;
    }
    int64_t(*range)[2] = (int64_t(*)[2])oxi_shunt_node_memory(s, (size_t)room * sizeof *range);
    size_t list = (size_t)(2 * room + bytes / most + 2);
    int64_t *ends = (int64_t *)oxi_shunt_node_memory(s, list * sizeof *ends);
    if (!range || !ends) return false;
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        const oxi_shunt_operand *o = oxi_shunt_cut_operand(node, i);
        for (int64_t k = 0; o && o->item == share->item && k < c->pieces; k++) {
            ox_tensor t = oxi_shunt_piece(c, i, k);
            oxi_shunt_reach(&t, range[ranges++]);
        }
    }
    qsort(range, (size_t)ranges, sizeof *range, oxi_shunt_compare_ranges);
    share->ends = ends;
    share->count = 0;
    for (int64_t r = 0, next; r <= ranges; r = next) {
        int64_t begin = r < ranges ? range[r][0] : bytes, end = r < ranges ? range[r][1] : bytes;
        for (next = r + 1; next < ranges && range[next][0] < end; next++)
            if (range[next][1] > end) end = range[next][1];
        for (; at < begin; ends[share->count++] = at) at = begin - at > most ? at + most : begin;
        if (end > at) ends[share->count++] = at = end;
    }
    return true;
}

/* Whether each piece fits beside what is whole: with all parts that it reaches, which for what has its parts
 * already have to be one for each operand. */
static bool oxi_shunt_pieces_fit(const oxi_shunt_cut *c, const oxi_shunt_node *node,
                                 const oxi_shunt_share *share, int count, uint64_t most) {
    for (int64_t k = 0; k < c->pieces; k++) {
        uint64_t room = 0;
        int64_t had[OXI_STREAM_OPERANDS][2];
        int had_count = 0;
        for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
            const oxi_shunt_operand *o = oxi_shunt_cut_operand(node, i);
            int64_t range[2];
            int j = 0, h = 0;
            while (o && j < count && share[j].item != o->item) j++;
            if (!o || j == count || !share[j].parts) continue;
            ox_tensor t = oxi_shunt_piece(c, i, k);
            oxi_shunt_reach(&t, range);
            int64_t part = oxi_shunt_part_at(share[j].ends, share[j].count, range[0]);
            if (range[1] > share[j].ends[part]) return false;
            while (h < had_count && (had[h][0] != j || had[h][1] != part)) h++;
            if (h < had_count) continue;
            had[had_count][0] = j;
            had[had_count++][1] = part;
            room +=
                oxi_shunt_room_of((size_t)(share[j].ends[part] - (part > 0 ? share[j].ends[part - 1] : 0)));
        }
        if (room > most) return false;
    }
    return true;
}

/* Whether the call may be cut into the pieces at hand. decided: of this step, the parts are as they are. */
static bool oxi_shunt_try_pieces(ox_shunt *s, const oxi_shunt_cut *c, const oxi_shunt_node *node,
                                 oxi_shunt_share *share, int count) {
    for (int k = 0; k < count; k++) {
        const oxi_shunt_item *item = share[k].item;
        if (!share[k].parts) continue;
        share[k].ends = item->cut_ends;
        share[k].count = item->cut_count;
        int64_t most = (int64_t)s->main_bytes / 8;
        if (item->cut_at < s->cut_pass && !oxi_shunt_ends_new(s, c, node, &share[k], most)) return false;
    }
    return oxi_shunt_pieces_fit(c, node, share, count, s->main_bytes - oxi_shunt_shares_whole(share, count));
}

static int oxi_shunt_compare_rows(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Adds the rows of operand i between which parts end. */
static int64_t oxi_shunt_add_rows(const oxi_shunt_cut *c, int i, const int64_t *ends, int64_t parts,
                                  int64_t *rows, int64_t count) {
    const ox_tensor *t = &c->plan.operand[i];
    int at = c->plan.space.dim[i][c->dim];
    int64_t size = c->plan.space.size[c->dim], unit = c->plan.space.unit[c->dim], range[2];
    if (at < 0 || t->stride[at] == 0 || oxi_is_block(t->dtype)) return count;
    int64_t step = t->stride[at] * c->plan.space.times[i][c->dim] * oxi_info(t->dtype)->block_bytes;
    oxi_shunt_reach(t, range);
    for (int64_t p = 0; p + 1 < parts; p++) {
        int64_t row = step > 0 ? oxi_parts(ends[p] - range[0], step) : oxi_parts(range[1] - ends[p], -step);
        if (row > 0 && row < size && row % unit == 0) rows[count++] = row;
    }
    return count;
}

/* Pieces by the parts that items have: decided: those that this step has decided on. False: there are none,
 * or they do not fit. */
static bool oxi_shunt_pieces_as(ox_shunt *s, oxi_shunt_cut *c, const oxi_shunt_node *node, bool decided,
                                oxi_shunt_share *share, int count) {
    int64_t most = 1, found = 0;
    for (int k = 0; k < count; k++)
        most +=
            OXI_STREAM_OPERANDS * (int64_t)(decided ? share[k].item->cut_count : share[k].item->part_count);
    int64_t *rows = (int64_t *)oxi_shunt_node_memory(s, (size_t)most * sizeof *rows);
    for (int k = 0; k < count && rows; k++) {
        const oxi_shunt_item *item = share[k].item;
        if (!share[k].parts || (decided ? item->cut_at < s->cut_pass : !item->part)) continue;
        int64_t parts = decided ? item->cut_count : item->part_count, end = 0;
        int64_t *ends = (int64_t *)oxi_shunt_node_memory(s, (size_t)parts * sizeof *ends);
        for (int64_t p = 0; p < parts && ends; p++)
            ends[p] = decided ? item->cut_ends[p] : (end += (int64_t)item->part[p]->bytes);
        for (int i = 0; i < OXI_STREAM_OPERANDS && ends; i++) {
            const oxi_shunt_operand *o = oxi_shunt_cut_operand(node, i);
            if (o && o->item == item) found = oxi_shunt_add_rows(c, i, ends, parts, rows, found);
        }
    }
    if (found == 0) return false;
    rows[found++] = c->plan.space.size[c->dim];
    qsort(rows, (size_t)found, sizeof *rows, oxi_shunt_compare_rows);
    c->rows = rows;
    c->pieces = 0;
    for (int64_t r = 0; r < found; r++)
        if (c->pieces == 0 || rows[r] > rows[c->pieces - 1]) rows[c->pieces++] = rows[r];
    return oxi_shunt_try_pieces(s, c, node, share, count);
}

/* As few pieces as fit OXI_SHUNT_SETS times, of whole units. */
static bool oxi_shunt_pieces_new(ox_shunt *s, oxi_shunt_cut *c, const oxi_shunt_node *node,
                                 oxi_shunt_share *share, int count) {
    const oxi_stream_space *space = &c->plan.space;
    int64_t size = space->size[c->dim], unit = space->unit[c->dim], units = oxi_parts(size, unit);
    uint64_t all = 0, room = (s->main_bytes - oxi_shunt_shares_whole(share, count)) / OXI_SHUNT_SETS;
    for (int k = 0; k < count; k++) all += share[k].parts ? oxi_shunt_item_room(share[k].item) : 0;
    uint64_t wanted = room > 0 ? all / room + 1 : (uint64_t)units;
    int64_t most = oxi_min_i64(units, OXI_SHUNT_PIECES);
    int64_t some = wanted < 2 ? 2 : wanted < (uint64_t)most ? (int64_t)wanted : most;
    if (all == 0 || units < 2) return false;
    for (;; some = some * 2 < most ? some * 2 : most) {
        int64_t *rows = (int64_t *)oxi_shunt_node_memory(s, (size_t)some * sizeof *rows);
        if (!rows) return false;
        for (int64_t k = 0, left = units % some; k < some; k++) {
            int64_t end = (units / some * (k + 1) + (k + 1 < left ? k + 1 : left)) * unit;
            rows[k] = end < size ? end : size;
        }
        c->rows = rows;
        c->pieces = some;
        if (oxi_shunt_try_pieces(s, c, node, share, count)) return true;
        if (some == most) return false;
    }
}

/* Pieces along one dim of the space, and what becomes of the items. */
static bool oxi_shunt_cut_along(ox_shunt *s, const oxi_shunt_node *node, int dim, oxi_shunt_cut *c) {
    oxi_shunt_share share[OXI_STREAM_OPERANDS];
    bool decided = false;
    c->dim = dim;
    if (c->plan.space.size[dim] < 2) return false;
    int count = oxi_shunt_shares(node, share);
    if (!oxi_shunt_shares_decide(s, share, count)) return false;
    for (int k = 0; k < count; k++)
        decided = decided || (share[k].parts && share[k].item->cut_at == s->cut_pass);
    if (decided ? !oxi_shunt_pieces_as(s, c, node, true, share, count)
                : !oxi_shunt_pieces_as(s, c, node, false, share, count) &&
                      !oxi_shunt_pieces_new(s, c, node, share, count))
        return false;
    for (int k = 0; k < count; k++) {
        oxi_shunt_item *item = share[k].item;
        if (item->cut_at == s->cut_pass) continue;
        item->cut_at = s->cut_pass;
        item->cut_ends = share[k].ends;
        item->cut_count = share[k].parts ? share[k].count : 0;
    }
    return true;
}

/* NULL: it cannot be cut, or not as the step has its items. Rows of several elements are whole if there are
 * enough of them. */
static oxi_shunt_cut *oxi_shunt_cut_node(ox_shunt *s, const oxi_shunt_node *node, int64_t number) {
    oxi_shunt_cut *c = (oxi_shunt_cut *)oxi_shunt_node_memory(s, sizeof *c);
    if (!c) return NULL;
    for (int flat = 0; flat < 2; flat++) {
        memset(c, 0, sizeof *c);
        c->node = number;
        if (!oxi_shunt_cut_open(s, node, flat == 1, c)) continue;
        for (int d = 0; d < c->plan.space.ndim; d++)
            if (oxi_shunt_cut_along(s, node, d, c)) return c;
    }
    return NULL;
}

/* ---- a part of the step -------------------------------------------------------------------------------- */

/* A call that runs as it is: its items are whole. False: one is to be in parts. */
static bool oxi_shunt_stay_whole(ox_shunt *s, const oxi_shunt_node *node) {
    for (int i = 0; i < node->in_count + node->out_count; i++) {
        const oxi_shunt_item *item = node->operand[i].item;
        if (item && item->cut_at == s->cut_pass && item->cut_count > 0) return false;
    }
    for (int i = 0; i < node->in_count + node->out_count; i++) {
        oxi_shunt_item *item = node->operand[i].item;
        if (!item) continue;
        item->cut_at = s->cut_pass;
        item->cut_count = 0;
    }
    return true;
}

/* Nodes from `from` on that can run as one step, and those of them that are cut, in order; the end. far: it
 * is one that the stream runs. */
static int64_t oxi_shunt_cut_some(ox_shunt *s, oxi_shunt_node *const *nodes, int64_t from, int64_t count,
                                  oxi_shunt_cut **cuts, bool *far) {
    oxi_shunt_cut **last = cuts;
    int64_t n = from;
    *cuts = NULL;
    *far = false;
    s->cut_pass++;
    for (; n < count; n++) {
        bool composite, cut = oxi_shunt_is_cut_node(s, nodes[n], &composite);
        oxi_shunt_cut *c = cut ? oxi_shunt_cut_node(s, nodes[n], n) : NULL;
        bool whole = !c && oxi_shunt_is_too_large(s, nodes[n]);
        if (whole && n > from) break; /* alone it may be cut */
        *far = whole && oxi_shunt_goes_far(s, nodes[n]);
        if (*far) return n + 1;
        if (!c && !oxi_shunt_stay_whole(s, nodes[n])) break;
        if (!c) continue;
        *last = c;
        last = &c->next;
    }
    return n;
}

/* Whether pieces of the node run, by what was decided of its items. */
static bool oxi_shunt_is_in_pieces(const ox_shunt *s, const oxi_shunt_node *node) {
    for (int i = 0; i < node->in_count + node->out_count; i++) {
        const oxi_shunt_item *item = node->operand[i].item;
        if (item && item->cut_at == s->cut_pass && item->cut_count > 0) return true;
    }
    return false;
}

/* Items as the part of the step wants them. Where they cannot be there whole that is an error, before
 * anything is joined: of all the bytes that the call wants at once. */
static ox_status oxi_shunt_arrange(ox_shunt *s, const oxi_shunt_node *node) {
    bool clean = ox_error() == OX_OK,
         refused = oxi_shunt_is_too_large(s, node) && !oxi_shunt_is_in_pieces(s, node);
    ox_status status = refused ? oxi_shunt_too_large(s, node) : OX_OK;
    for (int i = 0; i < node->in_count + node->out_count && status == OX_OK; i++) {
        oxi_shunt_item *item = node->operand[i].item;
        if (!item || item->cut_at != s->cut_pass) continue;
        if (item->cut_count == 0) {
            status = item->part ? oxi_shunt_join(s, item) : OX_OK;
            continue;
        }
        int64_t end = 0;
        bool same = item->part_count == item->cut_count;
        for (int64_t k = 0; k < item->cut_count && same; k++) {
            end += (int64_t)item->part[k]->bytes;
            same = end == item->cut_ends[k];
        }
        if (!same) status = oxi_shunt_split(s, item, item->cut_ends, item->cut_count);
    }
    if (status != OX_OK && clean && ox_error() != OX_OK) oxi_shunt_blame(s, node);
    return status;
}

static bool oxi_shunt_cut_push(ox_shunt *s, oxi_shunt_node *node) {
    void *grown = oxi_grow(s->nodes, &s->node_room, (size_t)s->node_count + 1, sizeof *s->nodes, false);
    if (!grown) return false;
    s->nodes = (oxi_shunt_node **)grown;
    s->nodes[s->node_count++] = node;
    return true;
}

/* Operand i of a piece. */
static bool oxi_shunt_piece_operand(ox_shunt *s, const oxi_shunt_cut *c, int i, int64_t piece,
                                    oxi_shunt_operand *o) {
    if (!o->item) return true;
    ox_tensor t = oxi_shunt_piece(c, i, piece);
    o->dims = (int64_t *)oxi_shunt_node_memory(s, 2 * (size_t)t.ndim * sizeof *o->dims);
    if (!o->dims) return false;
    o->ndim = (int8_t)t.ndim;
    memcpy(o->dims, t.shape, (size_t)t.ndim * sizeof *o->dims);
    memcpy(o->dims + t.ndim, t.stride, (size_t)t.ndim * sizeof *o->dims);
    o->offset = t.offset;
    if (o->item->part) {
        const ox_dtype_info *info = oxi_info(t.dtype);
        const oxi_shunt_item *item = o->item;
        int64_t range[2];
        oxi_shunt_reach(&t, range);
        int64_t part = oxi_shunt_part_at(item->cut_ends, item->cut_count, range[0]);
        int64_t begin = part > 0 ? item->cut_ends[part - 1] : 0;
        o->offset -= begin / info->block_bytes * info->block_elements;
        o->item = item->part[part];
    }
    bool goes_on = piece > 0 && oxi_plan_is_result(i) && c->plan.space.dim[i][c->dim] < 0;
    o->covers = oxi_shunt_covers(&t, o->item) && !goes_on;
    return true;
}

static bool oxi_shunt_piece_push(ox_shunt *s, oxi_shunt_cut *c, const oxi_shunt_node *node, int64_t piece) {
    size_t operands = (size_t)(node->in_count + node->out_count);
    oxi_shunt_node *made = (oxi_shunt_node *)oxi_shunt_node_memory(s, sizeof *made);
    oxi_attrs *attr = (oxi_attrs *)oxi_shunt_node_memory(s, sizeof *attr);
    oxi_shunt_operand *list = (oxi_shunt_operand *)oxi_shunt_node_memory(s, operands * sizeof *list);
    oxi_part *told = (oxi_part *)oxi_shunt_node_memory(s, sizeof *told);
    if (!made || !attr || !list || !told) return false;
    int64_t start[OX_MAX_DIMS] = {0};
    start[c->dim] = piece > 0 ? c->rows[piece - 1] : 0;
    *told = oxi_plan_tell(&c->plan, start);
    *made = *node;
    *attr = *node->attr;
    made->attr = attr;
    made->operand = list;
    made->told = told;
    memcpy(list, node->operand, operands * sizeof *list);
    for (size_t k = 0; k < operands; k++) {
        int i = k < (size_t)node->in_count ? (int)k : OXI_PLAN_OUT + (int)k - node->in_count;
        if (!oxi_shunt_piece_operand(s, c, i, piece, &list[k])) return false;
    }
    const oxi_shunt_operand *out = &list[node->in_count];
    if (oxi_op_row_of(node->op)->family == OXI_FAMILY_FILL)
        attr->shape.shape = ox_shape_from(out->ndim, out->dims);
    if (!oxi_shunt_cut_push(s, made)) return false;
    for (size_t k = 0; k < operands; k++)
        if (list[k].item) list[k].item->pending++;
    return true;
}

/* s->nodes becomes the nodes [from, end) with pieces in place of those that are cut. Nodes that are in it, or
 * whose pieces are, count as run from then on; *upto: behind the last of them. */
static ox_status oxi_shunt_cut_list(ox_shunt *s, oxi_shunt_node *const *nodes, int64_t from, int64_t end,
                                    oxi_shunt_cut *cuts, int64_t *upto) {
    ox_status status = OX_OK;
    for (int64_t n = from; n < end && status == OX_OK; n++) status = oxi_shunt_arrange(s, nodes[n]);
    for (int64_t n = from; n < end && status == OX_OK; n++) {
        bool pushed = true;
        if (!cuts || cuts->node != n) {
            pushed = oxi_shunt_cut_push(s, nodes[n]);
            *upto = n + pushed;
        } else {
            for (int64_t k = 0; k < cuts->pieces && pushed; k++)
                pushed = oxi_shunt_piece_push(s, cuts, nodes[n], k);
            oxi_shunt_node_over(s, nodes[n]);
            *upto = n + 1;
            cuts = cuts->next;
        }
        if (!pushed) status = OX_ERR_NOMEM;
    }
    return status;
}

static ox_status oxi_shunt_step(ox_shunt *s);

/* Notes the last call that wants an item whole: numbers from 1 of all calls so far. */
static void oxi_shunt_note_whole(const ox_shunt *s, oxi_shunt_node *const *nodes, int64_t count) {
    for (int64_t k = 0; k < count; k++) {
        bool composite;
        if (oxi_shunt_is_cut_node(s, nodes[k], &composite)) continue;
        for (int i = 0; i < nodes[k]->in_count + nodes[k]->out_count; i++)
            if (nodes[k]->operand[i].item) nodes[k]->operand[i].item->whole_at = s->cut_from + k + 1;
    }
}

/* Where there was no room for parts beside what they are parts of: only what does not fit is cut from then
 * on. Whether the step may try again. */
static bool oxi_shunt_cuts_less(ox_shunt *s, bool clean, ox_status status) {
    if (status != OX_ERR_NOMEM || !clean || s->cuts_least || s->node_count > 0) return false;
    ox_error_clear();
    return s->cuts_least = true;
}

/* Runs what is pending, the nodes that are too large in pieces. */
static ox_status oxi_shunt_step_cut(ox_shunt *s) {
    oxi_shunt_node **nodes = s->nodes;
    size_t room = s->node_room;
    int64_t count = s->node_count, from = 0, first = s->cut_from;
    ox_status status = OX_OK;
    bool clean = ox_error() == OX_OK;
    s->nodes = NULL;
    s->node_room = 0;
    oxi_shunt_note_whole(s, nodes, count);
    while (from < count && status == OX_OK) {
        oxi_shunt_cut *cuts;
        bool far;
        s->cut_from = first + from;
        int64_t end = oxi_shunt_cut_some(s, nodes, from, count, &cuts, &far);
        s->node_count = 0;
        if (far) {
            status = oxi_shunt_far_run(s, nodes[from]);
            if (status == OX_OK) oxi_shunt_node_over(s, nodes[from++]);
            continue;
        }
        status = oxi_shunt_cut_list(s, nodes, from, end, cuts, &from);
        if (status == OX_OK)
            status = oxi_shunt_step(s);
        else if (oxi_shunt_cuts_less(s, clean, status))
            status = OX_OK;
        else
            oxi_shunt_drop_nodes(s);
    }
    s->cut_from = first + count;
    oxi_shunt_not_run(nodes, from, count);
    for (; from < count; from++) oxi_shunt_node_over(s, nodes[from]);
    oxi_free(s->nodes, s->node_room * sizeof *s->nodes);
    s->nodes = nodes;
    s->node_room = room;
    s->node_count = count;
    return status;
}
