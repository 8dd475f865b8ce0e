// sort.comp - lines in order, and the best of lines: chunks of a line are sorted in shared memory (bitonic,
// Batcher 1968), runs are merged two by two, each workgroup with a part of the merge path (Green, McColl,
// Bader 2012). An item is a key, the number as an unsigned integer in its order, and the place in its line,
// which tells equals apart: the result is stable. Of a run no more items go on than the result has room for.
// lines.glsl with operands values, places, x.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tables/sort.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "common/lines.glsl"

DEFINE_LOAD(load_x, b2)
DEFINE_STORE(store_value, b0)
DEFINE_STORE(store_place, b1)

const bool WIDE = DTYPE == F64 || DTYPE == I64 || DTYPE == U64;
const uint PLANES = WIDE ? 3 : 2;

struct Item {
    uint low, high, place;
};
shared uint lows[ROOM], highs[WIDE ? ROOM : 1], places[ROOM], splits[2];

Item item_at(const uint t) {
    return Item(lows[t], WIDE ? highs[t] : 0, places[t]);
}
void put(const uint t, const Item item) {
    lows[t] = item.low;
    if (WIDE) highs[t] = item.high;
    places[t] = item.place;
}
bool before(const Item a, const Item b) {
    if (WIDE && a.high != b.high) return a.high < b.high;
    return a.low != b.low ? a.low < b.low : a.place < b.place;
}

// Zeros are equal, NaNs are equal and largest.
uvec2 key_of(const uvec2 raw) {
    if (is_float(DTYPE)) {
        uint bits = f32_of(DTYPE, raw.x), size = bits & 0x7fffffffu;
        if (size > 0x7f800000u) return uvec2(~0u);
        return uvec2(size == 0 ? 0x80000000u : bits >> 31 != 0 ? ~bits : bits | 0x80000000u, 0);
    }
    if (DTYPE == F64) {
        uint size = raw.y & 0x7fffffffu;
        if (size > 0x7ff00000u || (size == 0x7ff00000u && raw.x != 0)) return uvec2(~0u);
        if ((size | raw.x) == 0) return uvec2(0, 0x80000000u);
        return raw.y >> 31 != 0 ? ~raw : uvec2(raw.x, raw.y | 0x80000000u);
    }
    uvec2 v = i64_of(DTYPE, raw);
    if (DTYPE == I64) v.y ^= 0x80000000u;
    else if (DTYPE == I8 || DTYPE == I16 || DTYPE == I32) v.x ^= 0x80000000u;
    return v;
}

Item fetched(const uint line, const uint i) {
    if (FIRST == 1) {
        uvec2 key = key_of(load_x(DTYPE, kept_places(line).z + line_places(i).z)) ^ P_flip;
        return Item(key.x, key.y, i);
    }
    uint e = P_from + line * P_count + i, plane = P_plane_in;
    return Item(b3.d[e], WIDE ? b3.d[e + 2 * plane] : 0, b3.d[e + plane]);
}
void give(const uint line, const uint i, const Item item) {
    if (LAST == 1) {
        uvec4 at = kept_places(line), to = at + line_places(i);
        store_value(DTYPE, to.x, load_x(DTYPE, at.z + line_places(item.place).z));
        store_place(I64, to.y, uvec2(item.place, 0));
        return;
    }
    uint e = P_to + line * P_count_out + i, plane = P_plane_out;
    b4.d[e] = item.low;
    b4.d[e + plane] = item.place;
    if (WIDE) b4.d[e + 2 * plane] = item.high;
}

// Short lines share a workgroup; what lies behind a line's end sorts behind all else.
void sort_chunks() {
    uint lane = gl_LocalInvocationID.x, length = P_run, first = group_index() * (ROOM / length);
    uint keep = P_keep, chunks = P_runs, lines = P_kept;
    for (uint t = lane; t < ROOM; t += THREADS) {
        uint chunk = first + t / length, line = chunk / chunks, i = chunk % chunks * length + t % length;
        Item item = Item(~0u, ~0u, ~0u);
        if (line < lines && i < P_count) item = fetched(line, i);
        put(t, item);
    }
    barrier();
    for (uint size = 2; size <= length; size *= 2)
        for (uint reach = size / 2; reach > 0; reach /= 2) {
            for (uint pair = lane; pair < ROOM / 2; pair += THREADS) {
                uint t = pair / reach * 2 * reach + pair % reach;
                Item a = item_at(t), b = item_at(t + reach);
                if (before(b, a) == ((t % length & size) == 0)) {
                    put(t, b);
                    put(t + reach, a);
                }
            }
            barrier();
        }
    for (uint t = lane; t < ROOM; t += THREADS) {
        uint chunk = first + t / length, line = chunk / chunks, part = chunk % chunks, i = t % length;
        bool goes_on = line < lines && i < min(keep, P_count - part * length);
        if (goes_on) give(line, part * keep + i, item_at(t));
    }
}

// How many of the first d items of two runs that are merged come from the first of them.
uint split_at(const uint line, const uvec2 begin, const uvec2 length, const uint d) {
    uint least = d > length.y ? d - length.y : 0, most = min(d, length.x);
    while (least < most) {
        uint middle = (least + most) / 2;
        Item first = fetched(line, begin.x + middle), second = fetched(line, begin.y + d - 1 - middle);
        if (before(first, second)) least = middle + 1;
        else most = middle;
    }
    return least;
}

void merge_runs() {
    uint lane = gl_LocalInvocationID.x, run = P_run, keep = P_keep, count = P_count;
    uint part = group_index() % P_pair_groups, pair = group_index() / P_pair_groups % P_runs,
         line = group_index() / P_pair_groups / P_runs;
    uvec2 begin = pair * 2 * run + uvec2(0, run), length = min(uvec2(run), count - min(begin, uvec2(count)));
    uint from = part * ROOM, to = min(from + ROOM, min(keep, length.x + length.y));
    if (line >= P_kept || from >= to) return;
    if (lane < 2) splits[lane] = split_at(line, begin, length, lane == 0 ? from : to);
    barrier();
    uint n = to - from, of_first = splits[1] - splits[0];
    for (uint t = lane; t < n; t += THREADS)
        put(t, fetched(line, t < of_first ? begin.x + splits[0] + t
                                          : begin.y + from - splits[0] + t - of_first));
    barrier();
    for (uint t = lane; t < n; t += THREADS) {
        Item item = item_at(t);
        bool first = t < of_first;
        uint start = first ? of_first : 0, least = start, most = first ? n : of_first;
        while (least < most) {
            uint middle = (least + most) / 2;
            if (before(item_at(middle), item)) least = middle + 1;
            else most = middle;
        }
        give(line, pair * keep + from + (first ? t : t - of_first) + least - start, item);
    }
}

void main() {
    if (MERGE == 1) merge_runs();
    else sort_chunks();
}
