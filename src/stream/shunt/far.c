/* Calls that fit no budget and do not fall into pieces of items: a sum of all that there is, a sort of
 * columns, rows that an index picks. The planner's stream runs them from disk to disk, a few tiles at a time
 * beside the budget, with the bits that they have in memory. Where computing is the host's; called by
 * cut.c. */

/* An operand's storage on the disk. */
typedef struct oxi_shunt_far {
    oxi_shunt_item *item;
    ox_storage *storage; /* of the stream; a reference */
    size_t at;           /* where its bytes begin there */
    bool made;           /* by the call: the item gets it */
    bool skewed;         /* the item's copy on the disk begins within an element */
} oxi_shunt_far;

enum { OXI_SHUNT_FAR_MOST = OXI_MAX_IN + OXI_MAX_OUT };

/* ---- what can go --------------------------------------------------------------------------------------- */

/* Whether tiles of it are small, by its operands as those of the stream. */
static bool oxi_shunt_far_tiles(const ox_shunt *s, const oxi_call *call) {
    bool small = call->op == OXI_OP_cat || oxi_stream_picks(call) || oxi_stream_reduces(call);
    oxi_stream_plan *plan = small ? NULL : (oxi_stream_plan *)oxi_alloc(sizeof *plan);
    if (!plan) return small;
    uint64_t tile = oxi_stream_room(s->stream), most = s->main_bytes / 8;
    oxi_plan_open(plan, s->stream->desc.compute, call);
    oxi_plan_cut(plan, (size_t)tile);
    small = plan->space.ndim > 0 && plan->flow.cell_bytes <= (most > tile ? most : tile);
    oxi_free(plan, sizeof *plan);
    return small;
}

static bool oxi_shunt_goes_far(ox_shunt *s, const oxi_shunt_node *node) {
    oxi_shunt_headers h;
    ox_storage nowhere;
    if (!s->compute->host || node->in_count > OXI_MAX_IN || node->out_count > OXI_MAX_OUT) return false;
    for (int i = 0; i < node->in_count + node->out_count; i++)
        if (node->operand[i].given) return false;
    if (oxi_shunt_stream_open(s) != OX_OK || !oxi_shunt_headers_open(&h, node)) return false;
    memset(&nowhere, 0, sizeof nowhere);
    nowhere.references = 1;
    nowhere.device = ox_stream_device(s->stream);
    for (int i = 0; i < node->in_count + node->out_count; i++)
        if (node->operand[i].item) h.header[i].storage = &nowhere;
    return oxi_shunt_far_tiles(s, &h.call);
}

/* ---- operands ------------------------------------------------------------------------------------------ */

static ox_status oxi_shunt_far_copy(ox_shunt *s, oxi_shunt_item *item, ox_storage *to) {
    size_t room = s->stream->desc.tile_bytes;
    char *buffer = (char *)oxi_alloc(room);
    ox_status status = buffer ? OX_OK : OX_ERR_NOMEM;
    for (size_t done = 0, some; done < item->bytes && status == OX_OK; done += some) {
        some = item->bytes - done < room ? item->bytes - done : room;
        status = oxi_shunt_item_read(s, item, done, buffer, some);
        if (status == OX_OK) status = to->device->write(to->device, to->data, done, buffer, some);
    }
    oxi_free(buffer, room);
    return status;
}

/* Its copy on the disk, where that is one; else bytes of its own. */
static ox_status oxi_shunt_far_get(ox_shunt *s, oxi_shunt_far *far, bool reads) {
    oxi_shunt_item *item = far->item;
    oxi_shunt_land(s, item);
    bool there = !item->part && item->disk_valid && item->packed == OX_COMPRESSION_NONE && !far->skewed;
    if (reads && oxi_shunt_is_lost(item)) return oxi_shunt_lost(s);
    if (there && !far->made) {
        oxi_storage_retain(item->disk);
        far->storage = item->disk;
        far->at = item->disk_at;
        return OX_OK;
    }
    far->storage = oxi_storage_new(ox_stream_device(s->stream), item->bytes);
    if (!far->storage) return ox_error() != OX_OK ? ox_error() : OX_ERR_NOMEM;
    return reads ? oxi_shunt_far_copy(s, item, far->storage) : OX_OK;
}

/* Who has a copy elsewhere has none but this one from now on. */
static void oxi_shunt_far_put(ox_shunt *s, oxi_shunt_far *far) {
    oxi_shunt_item *item = far->item;
    oxi_shunt_item_forget(s, item);
    item->disk = far->storage;
    far->storage = NULL;
    oxi_shunt_disk_set(item, item->bytes, far->at);
    item->packed = OX_COMPRESSION_NONE;
    item->failed = false;
    item->ahead = 0;
}

/* The items of a call, each once; those that are written to get new bytes, so that they stay as they are if
 * it fails. */
static int oxi_shunt_far_list(ox_shunt *s, const oxi_shunt_node *node, oxi_shunt_far *far, int *of,
                              ox_status *status) {
    int count = 0;
    *status = OX_OK;
    for (int i = 0; i < node->in_count + node->out_count; i++) {
        oxi_shunt_item *item = node->operand[i].item;
        bool made = false, reads = false, skewed = false;
        int k = 0;
        of[i] = -1;
        if (!item) continue;
        while (k < count && far[k].item != item) k++;
        of[i] = k;
        if (k < count) continue;
        for (int j = 0; j < node->in_count + node->out_count; j++) {
            const oxi_shunt_operand *o = &node->operand[j];
            if (o->item != item) continue;
            made = made || j >= node->in_count;
            reads = reads || j < node->in_count || !o->covers;
            skewed = skewed || item->disk_at % (size_t)oxi_info(o->dtype)->block_bytes != 0;
        }
        memset(&far[count], 0, sizeof far[count]);
        far[count].item = item;
        far[count].made = made;
        far[count].skewed = skewed;
        *status = oxi_shunt_far_get(s, &far[count++], reads);
        if (*status != OX_OK) break;
    }
    return count;
}

/* ---- the call ------------------------------------------------------------------------------------------ */

static ox_status oxi_shunt_far_run(ox_shunt *s, const oxi_shunt_node *node) {
    oxi_shunt_far far[OXI_SHUNT_FAR_MOST];
    int of[OXI_SHUNT_FAR_MOST];
    oxi_shunt_headers h;
    const char *speaker = oxi_speaker;
    bool clean = ox_error() == OX_OK;
    ox_status status;
    for (int64_t i = 0; i < s->resident[0].count; i++) oxi_shunt_land(s, s->resident[0].item[i]);
    s->ran_last = 0;
    oxi_speaker = NULL;
    double start = oxi_now();
    int count = oxi_shunt_far_list(s, node, far, of, &status);
    if (status == OX_OK && !oxi_shunt_headers_open(&h, node)) status = OX_ERR_NOMEM;
    for (int i = 0; i < node->in_count + node->out_count && status == OX_OK; i++) {
        if (of[i] < 0) continue;
        const ox_dtype_info *info = oxi_info(h.header[i].dtype);
        h.header[i].storage = far[of[i]].storage;
        h.header[i].offset += (int64_t)far[of[i]].at / info->block_bytes * info->block_elements;
    }
    if (status == OX_OK) status = oxi_run(ox_stream_device(s->stream), &h.call);
    double end = oxi_now();
    oxi_speaker = speaker;
    if (status != OX_OK && clean) oxi_shunt_blame(s, node);
    for (int k = 0; k < count; k++) {
        if (status == OX_OK && far[k].made) oxi_shunt_far_put(s, &far[k]);
        if (far[k].storage) oxi_storage_release(far[k].storage);
    }
    s->stats.compute_seconds += end - start;
    oxi_shunt_span_put(s, OXI_LANE_COMPUTE, oxi_shunt_node_name(node), start, end, 0);
    return status;
}
