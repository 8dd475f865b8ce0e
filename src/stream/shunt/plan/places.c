/* Places of a schedule: blocks of memory, used or free, each free one with when it is free and by which
 * clock. Who is placed takes, of the free runs that are large enough, the one that is free the earliest: so
 * loads wait for little, and what is freed is used in turn like a ring; or one by another of the packings. */

typedef struct oxi_shunt_block {
    uint64_t place, bytes;
    int32_t before, behind;  /* its neighbors; -1: none */
    int32_t bin, next, last; /* of a free one: its list, and its neighbors there; bin -1: it is used */
    int32_t clock[OXI_LANES];
    double free_at;
} oxi_shunt_block;

/* Free blocks beside others that are free, then those alone, by the power of two of their bytes (in
 * pages). */
enum { OXI_SHUNT_BINS = 32 };

typedef struct oxi_shunt_schedule {
    const oxi_shunt_problem *p;
    const oxi_shunt_order *o;
    const uint8_t *keep;
    oxi_shunt_plan *plan;
    uint64_t *used; /* bytes by slot */
    double *idle;   /* of the disk, by slot; NULL: no item is large */
    int32_t *loads, *issues, *defines,
        *ends;           /* first segments of slots: loaded for it, before it; made; over */
    int32_t *segment_of; /* of items: the one that is on the device, or was last */
    uint8_t *tier;       /* of items: where the copy off the device is; 1 the host, 2 the disk */
    int32_t (*saved)[2]; /* of items: the lane and number of the last save; -1 */
    oxi_shunt_block *block;
    int32_t bin[OXI_SHUNT_BINS];             /* lists of free ones, by when they are (by_time), */
    int32_t bin_end[OXI_SHUNT_BINS];         /* and their last ones, where there are any */
    int32_t open_count;                      /* of all of them, so many */
    uint64_t bins;                           /* which of the lists have any, a bit each */
    int32_t *block_of;                       /* of items that are on the device */
    size_t block_room;
    int32_t block_count, spare; /* spare: the first of those that are none any more, listed by `behind` */
    bool crowded;               /* somewhere there was no place */
    int32_t crowds;             /* how many slots were */
    uint64_t placed;            /* bytes, since a slot was noted for that */
    double *finish[OXI_LANES], lane_end[OXI_LANES];
    size_t finish_room; /* instructions of a lane, at most */
    oxi_shunt_ring ring[2];          /* from the disk, to it */
    int32_t read_slot, read_segment; /* the load whose read comes next: -1, it is none of the slot's yet */
    uint64_t host_left, disk_used;
    uint64_t *spilled; /* of items: bytes of the disk; NULL: that has no budget */
    uint64_t *kept; /* of segments: the place that is kept for it; UINT64_MAX: none. NULL: of none */
    uint64_t *below; /* by slot: where the places begin that are kept for who comes in it (reserve.c) */
    uint64_t limit;  /* where a place has to end */
    int packing;
    bool by_time;  /* lists of free blocks are sorted by that */
    int32_t taken; /* places so far: every other is at the end of memory, with OXI_PACK_TURNS */
    bool tight; /* places are those that leave the least, at the beginnings of free runs */
} oxi_shunt_schedule;

static bool oxi_shunt_block_free(const oxi_shunt_schedule *s, int32_t b) {
    return b >= 0 && s->block[b].bin >= 0;
}

static int oxi_shunt_bin_of(uint64_t bytes) {
    int bin = 1;
    for (bytes >>= 12; bytes > 0; bytes >>= 1) bin++;
    return bin < OXI_SHUNT_BINS ? bin : OXI_SHUNT_BINS - 1;
}

static void oxi_shunt_block_unlist(oxi_shunt_schedule *s, int32_t b) {
    const oxi_shunt_block *one = &s->block[b];
    if (one->last >= 0)
        s->block[one->last].next = one->next;
    else
        s->bin[one->bin] = one->next;
    if (one->next >= 0)
        s->block[one->next].last = one->last;
    else
        s->bin_end[one->bin] = one->last;
    if (s->bin[one->bin] < 0) s->bins &= ~((uint64_t)1 << one->bin);
}

static int oxi_shunt_block_bin(const oxi_shunt_schedule *s, const oxi_shunt_block *one) {
    bool alone = !oxi_shunt_block_free(s, one->before) && !oxi_shunt_block_free(s, one->behind);
    return alone ? oxi_shunt_bin_of(one->bytes) : 0;
}

/* Behind those of its list that are free by then, for who looks for the earliest ends with the first that is
 * too late; mostly that is its end. */
static void oxi_shunt_block_enlist(oxi_shunt_schedule *s, int32_t b) {
    oxi_shunt_block *one = &s->block[b];
    one->bin = oxi_shunt_block_bin(s, one);
    one->last = s->bin[one->bin] < 0 ? -1 : s->bin_end[one->bin];
    while (s->by_time && one->last >= 0 && s->block[one->last].free_at > one->free_at)
        one->last = s->block[one->last].last;
    int32_t *from = one->last < 0 ? &s->bin[one->bin] : &s->block[one->last].next;
    one->next = *from;
    *from = b;
    if (one->next >= 0)
        s->block[one->next].last = b;
    else
        s->bin_end[one->bin] = b;
    s->bins |= (uint64_t)1 << one->bin;
}

/* Of a block whose neighbors or bytes are others now. */
static void oxi_shunt_block_relist(oxi_shunt_schedule *s, int32_t b) {
    if (!oxi_shunt_block_free(s, b) || s->block[b].bin == oxi_shunt_block_bin(s, &s->block[b])) return;
    oxi_shunt_block_unlist(s, b);
    oxi_shunt_block_enlist(s, b);
}

/* A used block behind `before` (-1: as the first one), in front of `behind`; -1: no memory. */
static int32_t oxi_shunt_block_new(oxi_shunt_schedule *s, int32_t before, int32_t behind) {
    int32_t b = s->spare;
    if (b >= 0) {
        s->spare = s->block[b].behind;
    } else {
        void *grown = oxi_grow(s->block, &s->block_room, (size_t)s->block_count + 1, sizeof *s->block, false);
        if (!grown) return -1;
        s->block = (oxi_shunt_block *)grown;
        b = s->block_count++;
    }
    memset(&s->block[b], 0, sizeof *s->block);
    s->block[b].bin = -1;
    s->block[b].before = before;
    s->block[b].behind = behind;
    if (before >= 0) s->block[before].behind = b;
    if (behind >= 0) s->block[behind].before = b;
    return b;
}

/* A used block is free. */
static void oxi_shunt_block_open(oxi_shunt_schedule *s, int32_t b) {
    s->open_count++;
    oxi_shunt_block_enlist(s, b);
    oxi_shunt_block_relist(s, s->block[b].before);
    oxi_shunt_block_relist(s, s->block[b].behind);
}

/* A free block is none any more. */
static void oxi_shunt_block_remove(oxi_shunt_schedule *s, int32_t b) {
    oxi_shunt_block *one = &s->block[b];
    oxi_shunt_block_unlist(s, b);
    s->open_count--;
    if (one->before >= 0) s->block[one->before].behind = one->behind;
    if (one->behind >= 0) s->block[one->behind].before = one->before;
    one->bin = -1;
    one->behind = s->spare;
    s->spare = b;
}

static void oxi_shunt_clock_join(int32_t *clock, const int32_t *other) {
    for (int lane = 0; lane < OXI_LANES; lane++)
        if (other[lane] > clock[lane]) clock[lane] = other[lane];
}

typedef struct oxi_shunt_fit {
    int32_t first, last;
    double free_at;
    uint64_t place, left, run_left; /* left: of the last block; run_left: of the run of free ones */
} oxi_shunt_fit;

/* Blocks from `first` on that are free, by `latest` at the latest, and large enough together. */
static bool oxi_shunt_fit_at(const oxi_shunt_schedule *s, int32_t first, uint64_t room, double latest,
                             oxi_shunt_fit *fit) {
    uint64_t bytes = 0;
    fit->first = first;
    fit->place = s->block[first].place;
    fit->free_at = 0;
    int32_t b = first;
    for (; bytes < room && oxi_shunt_block_free(s, b); b = s->block[b].behind) {
        const oxi_shunt_block *one = &s->block[b];
        if (one->free_at > latest) return false;
        bytes += one->bytes;
        if (one->free_at > fit->free_at) fit->free_at = one->free_at;
        fit->last = b;
    }
    if (bytes < room) return false;
    fit->left = fit->run_left = bytes - room;
    for (; s->tight && oxi_shunt_block_free(s, b); b = s->block[b].behind) fit->run_left += s->block[b].bytes;
    return true;
}

/* Whether a fit is a better one: tight, of the run that it leaves the least of, else the one that is free the
 * earliest; apart and long, the first one. Of those that are alike the first. */
static bool oxi_shunt_fit_beats(const oxi_shunt_schedule *s, const oxi_shunt_fit *x, const oxi_shunt_fit *y) {
    if (s->packing & OXI_PACK_ENDS) return x->place < y->place;
    if (s->tight && x->run_left != y->run_left) return x->run_left < y->run_left;
    if (!s->tight && x->free_at != y->free_at) return x->free_at < y->free_at;
    if (!s->tight && x->left != y->left) return x->left < y->left;
    return x->place < y->place;
}

/* The blocks of a fit become one that is an item's; what is left of them stays free, before it with `end`. */
static bool oxi_shunt_occupy(oxi_shunt_schedule *s, const oxi_shunt_fit *fit, bool end, uint64_t room,
                             oxi_shunt_segment *g, int32_t *clock) {
    int32_t before = s->block[fit->first].before, behind = s->block[fit->last].behind;
    int32_t rest = fit->left == 0 ? -1 : end ? fit->first : fit->last;
    g->place = fit->place + (end ? fit->left : 0);
    for (int32_t b = fit->first, next; b != behind; b = next) {
        next = s->block[b].behind;
        oxi_shunt_clock_join(clock, s->block[b].clock);
        if (b != rest) oxi_shunt_block_remove(s, b);
    }
    if (rest >= 0) {
        oxi_shunt_block *one = &s->block[rest];
        if (!end) one->place += one->bytes - fit->left;
        one->bytes = fit->left;
        if (end)
            before = rest;
        else
            behind = rest;
    }
    int32_t b = oxi_shunt_block_new(s, before, behind);
    if (b < 0) return false;
    s->block[b].place = g->place;
    s->block[b].bytes = room;
    s->block_of[g->item] = b;
    oxi_shunt_block_relist(s, before);
    oxi_shunt_block_relist(s, behind);
    if (g->place + room > s->plan->peak) s->plan->peak = g->place + room;
    return true;
}

/* The end of a run of free blocks. */
static bool oxi_shunt_fit_end(const oxi_shunt_schedule *s, int32_t last, uint64_t room, oxi_shunt_fit *fit) {
    int32_t b = last;
    uint64_t bytes = s->block[b].bytes;
    if (oxi_shunt_block_free(s, s->block[last].behind)) return false;
    while (bytes < room && oxi_shunt_block_free(s, s->block[b].before)) {
        b = s->block[b].before;
        bytes += s->block[b].bytes;
    }
    if (bytes < room) return false;
    fit->first = b;
    fit->last = last;
    fit->place = s->block[b].place;
    fit->left = bytes - room;
    return true;
}

/* The best of the free blocks in a list that ends at the limit at most; end: the last one. */
static bool oxi_shunt_fit_best(const oxi_shunt_schedule *s, int bin, bool end, uint64_t room, double now,
                               bool found, oxi_shunt_fit *best) {
    oxi_shunt_fit fit;
    const uint64_t limit = s->kept ? s->limit : UINT64_MAX;
    const bool by_place = !end && s->packing & OXI_PACK_ENDS, by_time = !by_place && !s->tight;
    memset(&fit, 0, sizeof fit);
    for (int32_t b = s->bin[bin]; b >= 0; b = s->block[b].next) {
        if (!end && s->tight && oxi_shunt_block_free(s, s->block[b].before)) continue; /* inside of a run */
        if (found && by_place && s->block[b].place >= best->place) continue;
        const double latest = found && by_time ? best->free_at : HUGE_VAL;
        if (!end && s->block[b].free_at > latest) {
            if (s->by_time) break;
            continue;
        }
        bool fits = end ? oxi_shunt_fit_end(s, b, room, &fit) : oxi_shunt_fit_at(s, b, room, latest, &fit);
        if (!fits) continue;
        if (fit.place + (end ? fit.left : 0) + room > limit) continue;
        if (fit.free_at < now) fit.free_at = now;
        if (found && (end ? fit.place < best->place : !oxi_shunt_fit_beats(s, &fit, best))) continue;
        *best = fit;
        found = true;
    }
    return found;
}

/* The same of a list of blocks that are alone, where each is a run by itself. */
static bool oxi_shunt_fit_alone(const oxi_shunt_schedule *s, int bin, bool end, uint64_t room, double now,
                                bool found, oxi_shunt_fit *best) {
    const uint64_t limit = s->kept ? s->limit : UINT64_MAX;
    for (int32_t b = s->bin[bin]; b >= 0; b = s->block[b].next) {
        const oxi_shunt_block *one = &s->block[b];
        if (s->by_time && !s->tight && !end && found && one->free_at > best->free_at) break;
        if (one->bytes < room) continue;
        oxi_shunt_fit fit;
        fit.left = fit.run_left = one->bytes - room;
        fit.place = one->place;
        fit.free_at = one->free_at < now ? now : one->free_at;
        if (fit.place + (end ? fit.left : 0) + room > limit) continue;
        if (found && (end ? fit.place < best->place : !oxi_shunt_fit_beats(s, &fit, best))) continue;
        fit.first = fit.last = b;
        *best = fit;
        found = true;
    }
    return found;
}

/* Whether nobody of a list, nor of those of larger blocks, beats the best fit so far, by what they leave. */
static bool oxi_shunt_leaves_least(const oxi_shunt_schedule *s, int bin, uint64_t room, double now,
                                   const oxi_shunt_fit *best) {
    const uint64_t bytes = bin > 1 ? (uint64_t)1 << (bin - 2 + 12) : 0; /* of the least of them */
    if (s->packing & OXI_PACK_ENDS || bytes < room) return false;
    return s->tight ? best->run_left < bytes - room : best->free_at <= now && best->left < bytes - room;
}

/* Whether the next place, an item's, is at the end of memory. */
static bool oxi_shunt_takes_end(const oxi_shunt_schedule *s, const oxi_shunt_segment *g) {
    bool large = s->p->known[g->item].room > (s->p->capacity - s->plan->pinned_bytes) / OXI_SHUNT_LARGE;
    int packing = s->packing, slots = g->last - g->first;
    int side = packing >> (OXI_PACK_SIDES_AT + s->taken % OXI_PACK_SIDES_MOST) & 1;
    return (packing & OXI_PACK_APART && large) || (packing & OXI_PACK_LONG && slots > 1) ||
           (packing & OXI_PACK_NEXT && slots > 0) || (packing & OXI_PACK_TURNS && s->taken % 2 == 1) ||
           (packing & OXI_PACK_SIDES && side == 1);
}

/* A free block in two. */
static bool oxi_shunt_block_split(oxi_shunt_schedule *s, int32_t b, uint64_t bytes) {
    int32_t rest = oxi_shunt_block_new(s, b, s->block[b].behind);
    if (rest < 0) return false;
    oxi_shunt_block *one = &s->block[b], *two = &s->block[rest];
    two->place = one->place + bytes;
    two->bytes = one->bytes - bytes;
    two->free_at = one->free_at;
    memcpy(two->clock, one->clock, sizeof two->clock);
    one->bytes = bytes;
    oxi_shunt_block_open(s, rest);
    return true;
}

/* The free block that a place is in begins with it from now on; -1: it is somebody's. */
static int32_t oxi_shunt_block_at(oxi_shunt_schedule *s, uint64_t place) {
    for (int bin = 0; bin < OXI_SHUNT_BINS; bin++)
        for (int32_t b = s->bin[bin]; b >= 0; b = s->block[b].next) {
            uint64_t begin = s->block[b].place;
            if (begin > place || place - begin >= s->block[b].bytes) continue;
            if (begin == place) return b;
            return oxi_shunt_block_split(s, b, place - begin) ? s->block[b].behind : -1;
        }
    return -1;
}

static bool oxi_shunt_fit_place(oxi_shunt_schedule *s, uint64_t place, uint64_t room, oxi_shunt_fit *fit) {
    uint64_t bytes = 0;
    int32_t b = oxi_shunt_block_at(s, place);
    fit->first = b;
    fit->place = place;
    for (; bytes < room && oxi_shunt_block_free(s, b); b = s->block[b].behind) {
        bytes += s->block[b].bytes;
        fit->last = b;
    }
    fit->left = bytes - room;
    return bytes >= room;
}

/* Where the places begin that are kept for those who come while an item is there. */
static uint64_t oxi_shunt_limit_of(const oxi_shunt_schedule *s, const oxi_shunt_segment *g) {
    uint64_t limit = UINT64_MAX;
    int32_t end = g->stays ? s->o->slot_count - 1 : g->last;
    for (int32_t j = g->from + 1; j <= end; j++)
        if (s->below[j] < limit) limit = s->below[j];
    return limit;
}

/* The place of an item from now on, and the clock that its bytes wait for. False: no memory; nowhere is
 * `crowded`, and what comes behind it may go on to see where else there is none. */
static bool oxi_shunt_take_place(oxi_shunt_schedule *s, double now, oxi_shunt_segment *g, int32_t *clock) {
    uint64_t room = s->p->known[g->item].room, kept = s->kept ? s->kept[g - s->plan->segment] : UINT64_MAX;
    bool end = kept == UINT64_MAX && oxi_shunt_takes_end(s, g);
    oxi_shunt_fit best;
    memset(&best, 0, sizeof best);
    bool found = kept < UINT64_MAX && oxi_shunt_fit_place(s, kept, room, &best);
    for (int anywhere = s->kept == NULL; anywhere < 2 && !found; anywhere++) {
        s->limit = anywhere ? UINT64_MAX : oxi_shunt_limit_of(s, g);
        found = oxi_shunt_fit_best(s, 0, end, room, now, false, &best);
        for (int bin = oxi_shunt_bin_of(room); s->bins >> bin; bin++) {
            if (found && !end && oxi_shunt_leaves_least(s, bin, room, now, &best)) break;
            if (s->bins >> bin & 1) found = oxi_shunt_fit_alone(s, bin, end, room, now, found, &best);
        }
    }
    s->block_of[g->item] = -1;
    s->placed += room;
    s->taken++;
    s->crowded = s->crowded || !found;
    return !found || oxi_shunt_occupy(s, &best, end, room, g, clock);
}

/* Two free neighbors become the first of them. */
static void oxi_shunt_block_merge(oxi_shunt_schedule *s, int32_t x, int32_t y) {
    oxi_shunt_block *one = &s->block[x], *two = &s->block[y];
    oxi_shunt_block_unlist(s, x);
    one->bytes += two->bytes;
    if (two->free_at > one->free_at) one->free_at = two->free_at;
    oxi_shunt_clock_join(one->clock, two->clock);
    oxi_shunt_block_remove(s, y);
    oxi_shunt_block_enlist(s, x);
}

/* Free neighbors become one where the order of what they wait for says nothing any more, or where there are
 * very many. */
static void oxi_shunt_leave_place(oxi_shunt_schedule *s, int32_t item, const int32_t *clock, double free_at,
                                  double now) {
    enum { MANY = 256 };
    int32_t b = s->block_of[item];
    if (b < 0) return; /* it had none */
    oxi_shunt_block *one = &s->block[b];
    one->free_at = free_at;
    memcpy(one->clock, clock, sizeof one->clock);
    oxi_shunt_block_open(s, b);
    bool many = s->open_count > MANY;
    int32_t before = one->before;
    if (oxi_shunt_block_free(s, before) &&
        (many || (s->block[before].free_at <= now && s->block[b].free_at <= now))) {
        oxi_shunt_block_merge(s, before, b);
        b = before;
    }
    int32_t behind = s->block[b].behind;
    if (oxi_shunt_block_free(s, behind) &&
        (many || (s->block[behind].free_at <= now && s->block[b].free_at <= now)))
        oxi_shunt_block_merge(s, b, behind);
}
