/* Places that are kept for large items. An item of more than half of memory finds no place where small ones
 * lie about; so in large steps that have one all large items get their places first, from the end of memory
 * on, without overlap while they are there. Small ones that are there when a large one comes lie before its
 * place. Called by schedules. */

/* A segment that has a place kept: from its load, or its first use, to its last. */
typedef struct oxi_shunt_large {
    uint64_t room, place;
    int32_t segment, from, end;
} oxi_shunt_large;

enum { OXI_SHUNT_LARGE_MOST = 512 };

static int oxi_shunt_large_compare(const void *a, const void *b) {
    const oxi_shunt_large *x = (const oxi_shunt_large *)a, *y = (const oxi_shunt_large *)b;
    if (x->room != y->room) return x->room > y->room ? -1 : 1;
    return x->segment < y->segment ? -1 : x->segment > y->segment;
}

/* Segments of large items, the largest first; how many; 0: there are too many. */
static int32_t oxi_shunt_large_list(const oxi_shunt_schedule *s, oxi_shunt_large *list) {
    const uint64_t all = s->p->capacity - s->plan->pinned_bytes;
    int32_t count = 0;
    for (int32_t g = 0; g < s->plan->segment_count; g++) {
        const oxi_shunt_segment *one = &s->plan->segment[g];
        uint64_t room = s->p->known[one->item].room;
        if (room <= all / OXI_SHUNT_LARGE) continue;
        if (count == OXI_SHUNT_LARGE_MOST) return 0;
        const oxi_shunt_large large = {room, 0, g, one->from, one->stays ? s->o->slot_count : one->last};
        list[count++] = large;
    }
    qsort(list, (size_t)count, sizeof *list, oxi_shunt_large_compare);
    return count;
}

/* The last place that overlaps nobody of those before in the list; 0: there is none behind what is pinned. */
static uint64_t oxi_shunt_large_place(const oxi_shunt_schedule *s, const oxi_shunt_large *list, int32_t k) {
    const oxi_shunt_large *one = &list[k];
    uint64_t end = s->p->capacity;
    for (int32_t q = 0; q < k; q++) {
        const oxi_shunt_large *other = &list[q];
        bool apart = other->place == 0 || other->from > one->end || other->end < one->from;
        if (apart || other->place >= end || other->place + other->room <= end - one->room) continue;
        if (other->place < s->plan->pinned_bytes + one->room) return 0;
        end = other->place;
        q = -1; /* from the first on again */
    }
    return end - one->room;
}

/* Gives them places. Without memory for lists nobody has one. */
static void oxi_shunt_reserve(oxi_shunt_schedule *s) {
    size_t slots = (size_t)s->o->slot_count, segments = (size_t)s->plan->segment_count;
    oxi_shunt_large *list = (oxi_shunt_large *)oxi_shunt_list(OXI_SHUNT_LARGE_MOST, sizeof *list);
    int32_t count = list ? oxi_shunt_large_list(s, list) : 0;
    if (count > 0) {
        s->kept = (uint64_t *)oxi_shunt_list(segments, sizeof *s->kept);
        s->below = (uint64_t *)oxi_shunt_list(slots, sizeof *s->below);
    }
    if (s->kept && !s->below) {
        oxi_shunt_unlist(s->kept, segments, sizeof *s->kept);
        s->kept = NULL;
    }
    if (s->kept) {
        memset(s->kept, 0xff, segments * sizeof *s->kept);
        memset(s->below, 0xff, slots * sizeof *s->below);
        for (int32_t k = 0; k < count; k++) {
            list[k].place = oxi_shunt_large_place(s, list, k);
            if (list[k].place == 0) continue;
            s->kept[list[k].segment] = list[k].place;
            uint64_t *below = &s->below[list[k].from];
            if (list[k].place < *below) *below = list[k].place;
        }
    }
    oxi_shunt_unlist(list, OXI_SHUNT_LARGE_MOST, sizeof *list);
}

static void oxi_shunt_reserve_end(oxi_shunt_schedule *s) {
    if (s->kept) oxi_shunt_unlist(s->kept, (size_t)s->plan->segment_count, sizeof *s->kept);
    if (s->below) oxi_shunt_unlist(s->below, (size_t)s->o->slot_count, sizeof *s->below);
}
