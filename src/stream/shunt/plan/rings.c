/* Rings of pinned memory between the disk and a device that has memory of its own: how large they are, who
 * makes room for them on the host, and the places that a plan gives in them, one behind the other. A large
 * item comes in tiles, so that a ring need not hold all of it. Called by problems and schedules. */

/* What has a place in a ring, in turn, and the instructions that bring it there and take it away: how many
 * of those lanes' are over then; 0: that one is not in the plan yet. */
typedef struct oxi_shunt_ring_entry {
    uint64_t at, end;
    int32_t there, over;
} oxi_shunt_ring_entry;

typedef struct oxi_shunt_ring {
    uint64_t bytes, head;
    oxi_shunt_ring_entry *entry;
    size_t room;
    int32_t first, count;
} oxi_shunt_ring;

/* ---- places -------------------------------------------------------------------------------------------- */

/* Bytes of an item in a ring, wherever in its pages those lie; whole pages, as a disk reads them. */
static uint64_t oxi_shunt_ring_room(uint64_t room) {
    return (room + 2 * OXI_SHUNT_PAGE - 1) / OXI_SHUNT_PAGE * OXI_SHUNT_PAGE;
}

/* A place for `room` bytes, behind the one before or where the ring begins: its number; what was there before
 * has left by the clock's lane. -1: somebody there has not been told when to leave, or there is no memory. */
static int32_t oxi_shunt_ring_take(oxi_shunt_ring *r, uint64_t room, int32_t *clock) {
    bool turns = room > r->bytes - r->head;
    uint64_t at = turns ? 0 : r->head, end = at + room;
    void *grown = oxi_grow(r->entry, &r->room, (size_t)r->count + 1, sizeof *r->entry, false);
    if (!grown) return -1;
    r->entry = (oxi_shunt_ring_entry *)grown;
    for (; r->first < r->count; r->first++) {
        const oxi_shunt_ring_entry *oldest = &r->entry[r->first];
        bool skipped = turns && oldest->at >= r->head, apart = oldest->at >= end || oldest->end <= at;
        if (apart && !skipped) break;
        if (oldest->over == 0) return -1;
        if (oldest->over > *clock) *clock = oldest->over;
    }
    r->head = end;
    r->entry[r->count].at = at;
    r->entry[r->count].end = end;
    r->entry[r->count].there = r->entry[r->count].over = 0;
    return r->count++;
}

/* The tiles that an item comes in. */
static int32_t oxi_shunt_tiles_of(const oxi_shunt_problem *p, const oxi_shunt_known *k) {
    if (k->moves_whole || p->tile == 0 || k->room <= p->tile) return 1;
    return (int32_t)((k->room + p->tile - 1) / p->tile);
}

/* The bytes of tile t. */
static uint64_t oxi_shunt_tile_room(const oxi_shunt_problem *p, const oxi_shunt_known *k, int32_t t) {
    int32_t tiles = oxi_shunt_tiles_of(p, k);
    if (tiles == 1) return k->room;
    return t + 1 < tiles ? p->tile : k->room - (uint64_t)t * p->tile;
}

/* ---- sizes --------------------------------------------------------------------------------------------- */

static uint64_t oxi_shunt_tile_size(const ox_shunt *s) {
    uint64_t bytes = s->desc.host_bytes / 64 / OXI_SHUNT_PAGE * OXI_SHUNT_PAGE;
    if (bytes > OXI_SHUNT_TILE) bytes = OXI_SHUNT_TILE;
    if (bytes < OXI_SHUNT_TILE_LEAST) bytes = OXI_SHUNT_TILE_LEAST;
    return bytes;
}

/* Of a ring for moves of so many bytes in the mean, and at most: of what comes, for as many of the largest
 * as are under way and two that go on meanwhile; of what is written, for four of them; as far as an eighth of
 * the host's budget allows, or for the largest one as far as a quarter does. More would be copies'. */
static uint64_t oxi_shunt_ring_size(const ox_shunt *s, int k, uint64_t mean, uint64_t most) {
    const uint64_t host = s->desc.host_bytes;
    uint64_t part = k == 0 ? (OXI_SHUNT_TILES + 2) * most : 4 * mean;
    if (part > host / 8) part = host / 8;
    const uint64_t bytes = part / OXI_SHUNT_PAGE * OXI_SHUNT_PAGE;
    return bytes >= most ? bytes : most <= host / 4 ? most : 0;
}

/* Bytes of the host's budget that a ring takes beside what it has. */
static uint64_t oxi_shunt_ring_wants(const ox_shunt *s, int k, uint64_t bytes) {
    if (bytes <= s->ring_bytes[k]) return 0;
    return bytes - s->ring_bytes[k] + (s->ring_bytes[k] > 0 ? 0 : OXI_SHUNT_PAGE);
}

/* A copy on the host moves on to the disk. */
static ox_status oxi_shunt_demote(ox_shunt *s, oxi_shunt_item *item) {
    if (!item->disk_valid) {
        ox_status status = oxi_shunt_disk_take(s, item, item->bytes);
        if (status == OX_OK)
            status = oxi_shunt_disk_move(s, item->disk, 0, (char *)item->host, item->bytes, true, false);
        if (status != OX_OK) return status;
        oxi_shunt_disk_set(item, item->bytes, 0);
    }
    oxi_shunt_host_drop(s, item);
    return OX_OK;
}

/* What a node makes or changes may pass the ring to the disk. */
static void oxi_shunt_ring_writes(const oxi_shunt_node *node, uint64_t *all, uint64_t *count,
                                  uint64_t *most) {
    for (int i = 0; i < node->out_count; i++) {
        const oxi_shunt_item *item = node->operand[node->in_count + i].item;
        if (!item || item->small) continue;
        uint64_t room = oxi_shunt_ring_room(oxi_shunt_item_room(item));
        *all += room;
        (*count)++;
        if (room > *most) *most = room;
    }
}

/* Bytes of the host that a step's rings want beside what they have; 0: its items fit the device and the host,
 * so that the disk has no part in it. */
static uint64_t oxi_shunt_rings_want(const ox_shunt *s) {
    uint64_t all = 0, most = 0, writes = 0, writes_most = 0, count = 0, tile = oxi_shunt_tile_size(s);
    for (int32_t i = 0; i < s->table_count; i++) {
        uint64_t room = s->table[i]->small ? 0 : oxi_shunt_item_room(s->table[i]);
        all += room;
        if (room > tile && !oxi_shunt_may_pack(s, s->table[i])) room = tile;
        if (room > 0 && oxi_shunt_ring_room(room) > most) most = oxi_shunt_ring_room(room);
    }
    if (all <= s->main_bytes + s->desc.host_bytes) return 0;
    for (int64_t n = 0; n < s->node_count; n++)
        oxi_shunt_ring_writes(s->nodes[n], &writes, &count, &writes_most);
    uint64_t wants = oxi_shunt_ring_wants(s, 0, oxi_shunt_ring_size(s, 0, 0, most));
    if (count == 0) return wants;
    return wants + oxi_shunt_ring_wants(s, 1, oxi_shunt_ring_size(s, 1, writes / count, writes_most));
}

/* Copies on the host make room for rings. A disk that fails is found by whoever needs it. */
static void oxi_shunt_rings_make_room(ox_shunt *s) {
    const uint64_t wants = s->compute->host ? 0 : oxi_shunt_rings_want(s);
    const oxi_error earlier = oxi_shunt_errors_begin();
    for (int32_t i = 0; i < s->table_count && s->desc.host_bytes - s->stats.host_bytes < wants; i++) {
        oxi_shunt_item *item = s->table[i];
        if (!item->host || item->small || item->packed != OX_COMPRESSION_NONE) continue;
        if (oxi_shunt_demote(s, item) != OX_OK) break;
    }
    oxi_shunt_errors_end(&earlier);
}

/* Rings between the disk and a device that has memory of its own, for what comes and for what is written.
 * What is not there yet is taken off the host's room. */
static void oxi_shunt_ring_sizes(const ox_shunt *s, oxi_shunt_problem *p) {
    uint64_t most[2] = {0, 0}, all[2] = {0, 0}, count[2] = {0, 0};
    p->tile = oxi_shunt_tile_size(s);
    for (int32_t t = 0; t < p->first[p->node_count] && !s->compute->host; t++) {
        const oxi_shunt_known *k = &p->known[p->touch[t].item];
        uint64_t room = k->small ? 0 : oxi_shunt_ring_room(k->room);
        for (int saves = 0; saves < 1 + p->touch[t].writes && room > 0; saves++) {
            bool tiles = !saves && oxi_shunt_tiles_of(p, k) > 1;
            uint64_t once = tiles ? oxi_shunt_ring_room(p->tile) : room;
            all[saves] += room;
            count[saves]++;
            if (once > most[saves]) most[saves] = once;
        }
    }
    for (int k = 0; k < 2; k++) {
        if (count[k] == 0) continue;
        uint64_t bytes = oxi_shunt_ring_size(s, k, all[k] / count[k], most[k]),
                 wants = oxi_shunt_ring_wants(s, k, bytes);
        if (bytes == 0 || wants > p->host_room) continue;
        p->host_room -= wants;
        p->ring[k] = bytes > s->ring_bytes[k] ? bytes : s->ring_bytes[k];
    }
}
