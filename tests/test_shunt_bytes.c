/* test_shunt_bytes.c - what plans move: what the host keeps lies evenly over a step, nothing is both there
 * and pinned, and of ways that take the same time the one is chosen that moves less; what copies in 8 bits
 * keep. The implementation is in this file, so that it sees what lies below the public functions. OX_O0:
 * the compiler takes longest here. */
#define OX_STATIC
#define OX_NO_AVX /* one vector tier is enough: compile less */
#define OX_IMPLEMENTATION
#include "oxtorch_stream.h"

#include "check.h"
#include "draw.h"

/* A pass over weights of a file, half of which the host is to keep: what it keeps lies evenly over the pass,
 * whatever is pinned, so that the disk never has long stretches to do alone, or nothing to do. */
static void test_spread(void) {
    enum { PASS = 64, PART = 8 };
    static oxi_shunt_touch touch[PASS];
    static oxi_shunt_known known[PASS];
    static int32_t first[PASS + 1];
    static double seconds[PASS];
    oxi_shunt_problem p;
    memset(&p, 0, sizeof p);
    for (int32_t i = 0; i < PASS; i++) {
        oxi_shunt_known *k = &known[i];
        k->room = i == PASS - 1 ? 1 << 17 : 1 << 14; /* the last one is as large as eight others */
        k->had = k->held = k->on_disk = true;
        k->load[0] = k->save[0] = 1e-8 * (double)k->room;
        k->load[1] = k->save[1] = 1e-6 * (double)k->room;
        touch[i].item = first[i] = i;
        touch[i].reads = true;
        seconds[i] = 1e-4;
    }
    first[PASS] = p.node_count = p.item_count = PASS;
    p.first = first;
    p.touch = touch;
    p.seconds = seconds;
    p.known = known;
    p.capacity = 24 << 14;
    p.host_room = p.cache_room = 24 << 14;
    p.time_most = 0.5;
    p.recompute = OX_RECOMPUTE_OFF;
    oxi_shunt_plan *plan = oxi_shunt_plan_make(&p);
    CHECK(plan);
    for (int32_t i = 0; plan && i + PART < PASS; i += PART) {
        int disk = 0;
        for (int32_t k = i; k < i + PART; k++) disk += !plan->known[k].pinned && !plan->known[k].caches;
        CHECK_MSG(disk > 0 && disk < PART, "%d of weights %d to %d come from the disk", disk, i,
                  i + PART - 1);
    }
    CHECK_MSG(plan && plan->known[PASS - 1].pinned, "the large one comes through all of the rest's memory");
    oxi_shunt_plan_free(plan);
}

/* A pass over weights of several sizes whose loads hide behind computing, half of them behind what comes
 * before them. */
enum { LONG_PASS = 512 };

typedef struct long_pass {
    oxi_shunt_problem p;
    oxi_shunt_touch touch[LONG_PASS];
    oxi_shunt_known known[LONG_PASS];
    int32_t first[LONG_PASS + 1];
    double seconds[LONG_PASS];
} long_pass;

/* takes: of the seconds of a load, those that computing is without a processor. */
static void draw_pass(long_pass *g, uint64_t seed, double takes) {
    oxi_shunt_problem *p = &g->p;
    memset(g, 0, sizeof *g);
    state = seed * 0x9e3779b97f4a7c15u + 1442695040888963407u;
    for (int32_t i = 0; i < LONG_PASS; i++) {
        oxi_shunt_known *k = &g->known[i];
        k->room = 4096 * (1 + draw(8));
        k->had = k->held = k->on_disk = true;
        for (int disk = 0; disk < 2; disk++) {
            k->load[disk] = k->save[disk] = (disk ? 1e-7 : 1e-9) * (double)k->room;
            k->load_takes[disk] = k->save_takes[disk] = takes * k->load[disk];
        }
        g->touch[i].item = g->first[i] = i;
        g->touch[i].reads = true;
        g->seconds[i] = (i / 8 % 2 ? 2.6 : 0.1) * k->load[1];
        p->capacity += k->room;
    }
    g->first[LONG_PASS] = p->node_count = p->item_count = LONG_PASS;
    p->first = g->first;
    p->touch = g->touch;
    p->seconds = g->seconds;
    p->known = g->known;
    p->host_room = p->cache_room = p->capacity / 4;
    p->capacity /= 5;
    p->time_most = 0.5;
    p->recompute = OX_RECOMPUTE_OFF;
}

static double read_bytes(const oxi_shunt_plan *plan) {
    double bytes = 0;
    for (int32_t i = 0; plan && i < plan->instruction_count; i++) {
        const oxi_shunt_instruction *in = &plan->instruction[i];
        if (in->lane == OXI_LANE_DISK) bytes += (double)plan->known[in->item].room;
    }
    return bytes;
}

/* Of ways that take the same time the one that moves less, where moving takes processors from computing; and
 * nothing lies both on the host and among what is pinned, once the host has copies. */
static void test_bytes(void) {
    static long_pass g;
    double any = 0, least = 0, copies = 0;
    for (uint64_t seed = 1; seed <= 8; seed++)
        for (int way = 0; way < 3; way++) {
            draw_pass(&g, seed, way == 0 ? 0 : 0.1);
            for (int32_t i = 0; way == 2 && i < LONG_PASS; i++) g.known[i].on_host = i % 4 == 0;
            if (way == 2) g.p.host_room = g.p.cache_room = 0;
            oxi_shunt_plan *plan = oxi_shunt_plan_make(&g.p);
            CHECK_MSG(plan && plan->simulated < 1.01 * plan->bound, "seed %d: nothing hides", (int)seed);
            if (way < 2) *(way ? &least : &any) += read_bytes(plan);
            for (int32_t i = 0; way == 2 && plan && i < LONG_PASS; i++)
                copies += plan->known[i].pinned && plan->known[i].on_host;
            oxi_shunt_plan_free(plan);
        }
    CHECK_MSG(least < 0.99 * any, "%.0f bytes read, %.0f where moves take nothing", least, any);
    CHECK_MSG(copies == 0, "%.0f items on the host and pinned", copies);
    printf("bytes read: %.3f of those of plans for moves that take nothing\n", least / any);
}

/* A block of 8-bit copies: of numbers from half its scale on a part of 64 is lost at most, twice as much for
 * each two octaves below, and 2^-12 of the scale; what is not finite comes back as NaN, whatever is beside
 * it. */
static void test_eight_bits(void) {
    enum { BLOCKS = 4096, COUNT = BLOCKS * OXI_SHUNT_F8_BLOCK };
    static float x[COUNT], back[COUNT];
    static uint16_t scales[BLOCKS];
    static uint8_t codes[COUNT];
    for (int i = 0; i < COUNT; i++) {
        const double size = ldexp(1, (int)draw(200) - 100), small = ldexp(1, -(int)draw(16));
        static double of_block;
        if (i % OXI_SHUNT_F8_BLOCK == 0) of_block = size;
        x[i] = (float)(of_block * small * ((double)draw(4001) - 2000) / 1000);
        if (draw(500) == 0) x[i] = draw(2) ? -INFINITY : NAN;
    }
    oxi_shunt_to_f8(x, BLOCKS, scales, codes);
    oxi_shunt_from_f8(scales, codes, BLOCKS, back);
    for (int i = 0; i < COUNT; i++) {
        const double scale = (double)oxi_bf16_to_f32(scales[i / OXI_SHUNT_F8_BLOCK]);
        double size = fabs((double)x[i]), most = size / 64;
        for (double from = 0.5; size < from * scale && from > 0x1p-12; from /= 4) most *= 2;
        if (!isfinite(x[i]))
            CHECK_MSG(isnan(back[i]), "%g for %g", (double)back[i], (double)x[i]);
        else
            CHECK_MSG(fabs((double)back[i] - (double)x[i]) <= most * 1.0001 + 0x1p-12 * scale,
                      "%g for %g, a scale of %g", (double)back[i], (double)x[i], scale);
    }
}

/* The largest number of a block is not made larger, or smaller, in the mean of many. */
static void test_largest(void) {
    enum { BLOCKS = 4096, COUNT = BLOCKS * OXI_SHUNT_F8_BLOCK };
    static float x[COUNT], back[COUNT];
    static uint16_t scales[BLOCKS];
    static uint8_t codes[COUNT];
    double off = 0;
    for (int i = 0; i < COUNT; i++)
        x[i] = i % OXI_SHUNT_F8_BLOCK == 0 ? (float)(1000 + draw(1000)) : (float)draw(1000);
    oxi_shunt_to_f8(x, BLOCKS, scales, codes);
    oxi_shunt_from_f8(scales, codes, BLOCKS, back);
    for (int i = 0; i < COUNT; i += OXI_SHUNT_F8_BLOCK) {
        CHECK_MSG(fabsf(back[i] / x[i] - 1) < 0x1p-8f, "%g for %g", (double)back[i], (double)x[i]);
        off += (double)(back[i] / x[i] - 1) / BLOCKS;
    }
    CHECK_MSG(fabs(off) < 2e-4, "%g of the largest in the mean", off);
}

/* A column that is small beside its neighbors keeps as many digits as they do; more rows than are packed at
 * once, and a row's numbers come back to where they were. */
static void test_columns(ox_compression compression, double most) {
    enum { COLUMNS = 48, ROWS = 32 * 100, COUNT = ROWS * COLUMNS };
    static float x[COUNT], back[COUNT];
    double worst = 0;
    int shift = 0;
    for (int i = 0; i < COUNT; i++) {
        const double unit = i % COLUMNS % 5 == 3 ? 1e-5 : 1;
        x[i] = (float)(unit * (1000 + (double)draw(1000)) * (draw(2) ? 1 : -1));
    }
    if (compression != OX_COMPRESSION_F8) shift = oxi_shunt_shift_of(x, COUNT);
    const oxi_shunt_packing p = {COUNT, COLUMNS, (int)compression, shift};
    char *packed = malloc(oxi_shunt_packed_bytes((int)compression, COUNT));
    CHECK(packed && COUNT > oxi_shunt_packed_at_once(&p) && COUNT % oxi_shunt_packed_at_once(&p) != 0);
    CHECK(oxi_shunt_pack(&p, x, packed) == OX_OK && oxi_shunt_unpack(&p, packed, back) == OX_OK);
    free(packed);
    for (int i = 0; i < COUNT; i++) {
        const double off = fabs((double)back[i] / x[i] - 1);
        worst = check_worst(worst, off);
    }
    CHECK_MSG(worst < most, "compression %d along columns: a number is %g off", (int)compression, worst);
}

/* A way there and back whose results wait on the disk, 2 ms each, 0.6 with copies compressed; nodes of so
 * many seconds, of the first and the last layers and of those between. How many items are compressed, of
 * those that move. */
static int count_packed(double outer, double inner, int *moved) {
    enum { LAYERS = 12, ALL = 2 * LAYERS };
    static oxi_shunt_touch touch[3 * ALL];
    static oxi_shunt_known known[2 * ALL];
    static int32_t first[ALL + 1];
    double seconds[ALL];
    bool moves[ALL] = {false};
    int packed = 0;
    oxi_shunt_problem p;
    memset(&p, 0, sizeof p);
    memset(touch, 0, sizeof touch);
    memset(known, 0, sizeof known);
    for (int32_t n = 0; n < ALL; n++) { /* makes item n of the one before, and of one of the way there */
        first[n + 1] = first[n];
        for (int k = 0; k < 2; k++) {
            const int32_t in = k ? ALL - 1 - n : n - 1;
            if (in < 0 || in >= n || (k && in == n - 1)) continue;
            touch[first[n + 1]].reads = true;
            touch[first[n + 1]++].item = in;
        }
        touch[first[n + 1]].writes = true;
        touch[first[n + 1]++].item = n;
        seconds[n] = n < LAYERS / 2 || n >= ALL - LAYERS / 2 ? outer : inner;
        for (int other = 0; other < 2; other++) {
            oxi_shunt_known *k = &known[other * ALL + n];
            k->room = 1 << 20;
            k->packs = other && n < LAYERS;
            for (int tier = 0; tier < 2; tier++) k->load[tier] = k->save[tier] = k->packs ? 6e-4 : 2e-3;
        }
    }
    p.node_count = p.item_count = ALL;
    p.first = first;
    p.touch = touch;
    p.seconds = seconds;
    p.known = known;
    p.other = known + ALL;
    p.capacity = 4 << 20;
    p.time_most = 0.2;
    p.recompute = OX_RECOMPUTE_OFF;
    oxi_shunt_plan *whole = oxi_shunt_plan_make(&p), *plan = oxi_shunt_plan_pack(&p);
    CHECK(whole && plan);
    for (int32_t k = 0; plan && k < plan->instruction_count; k++)
        if (plan->instruction[k].action != OXI_ACT_NODE) moves[plan->instruction[k].item] = true;
    for (int i = 0; plan && i < ALL; i++) {
        *moved += moves[i];
        packed += plan->known[i].packs;
        CHECK(!plan->known[i].packs || moves[i]);
    }
    if (whole && plan && packed > 0)
        CHECK_MSG(plan->simulated < 0.99 * whole->simulated, "%g s, %g with all bits", plan->simulated,
                  whole->simulated);
    oxi_shunt_plan_free(whole);
    oxi_shunt_plan_free(plan);
    return packed;
}

/* Moves that hide behind computing keep all bits; where all are waited for, none does; and in between those
 * do that have the time. */
static void test_packed(void) {
    int moved[3] = {0}, hidden = count_packed(5e-3, 5e-3, &moved[0]),
        some = count_packed(5e-3, 1e-5, &moved[1]), all = count_packed(1e-5, 1e-5, &moved[2]);
    printf("compressed: %d of %d, %d of %d, %d of %d\n", hidden, moved[0], some, moved[1], all, moved[2]);
    CHECK_MSG(moved[0] > 3 && hidden == 0, "%d of %d for nothing", hidden, moved[0]);
    CHECK_MSG(some > 0 && some < moved[1], "%d of %d", some, moved[1]);
    CHECK_MSG(moved[2] > 3 && all == moved[2], "%d of %d", all, moved[2]);
}

int main(void) {
    test_spread();
    test_packed();
    test_bytes();
    test_eight_bits();
    test_largest();
    test_columns(OX_COMPRESSION_F8, 0.017);
    test_columns(OX_COMPRESSION_I8, 0.009);
    test_columns(OX_COMPRESSION_Q4, 0.16);
    return check_done("shunt_bytes");
}
