/* Zip archives: the directory (zip64 too), CRC-32 and inflate, from mapped memory. The central directory
 * is believed only where local headers and the file's size agree with it; members may not overlap. Called
 * by the .npz reader and by readers of other zip-based formats; .npz writing is in files/npy.c. */

/* ---- CRC-32 (IEEE 802.3, reflected 0xEDB88320), eight bytes a step ----------------------------------- */

static uint32_t oxi_crc32(uint32_t crc, const void *data, size_t bytes) {
    const unsigned char *p = (const unsigned char *)data;
    uint32_t table[8][256]; /* made anew each time: cheaper than a lock, and const-clean */
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++) c = (c & 1) ? 0xEDB88320u ^ (c >> 1) : c >> 1;
        table[0][i] = c;
    }
    for (int step = 1; step < 8; step++)
        for (int i = 0; i < 256; i++)
            table[step][i] = (table[step - 1][i] >> 8) ^ table[0][table[step - 1][i] & 0xFF];
    crc = ~crc;
    for (; bytes >= 8; bytes -= 8, p += 8) {
        uint32_t a = oxi_read_u32(p) ^ crc, b = oxi_read_u32(p + 4);
        crc = table[7][a & 0xFF] ^ table[6][a >> 8 & 0xFF] ^ table[5][a >> 16 & 0xFF] ^ table[4][a >> 24] ^
              table[3][b & 0xFF] ^ table[2][b >> 8 & 0xFF] ^ table[1][b >> 16 & 0xFF] ^ table[0][b >> 24];
    }
    for (; bytes > 0; bytes--, p++) crc = table[0][(crc ^ *p) & 0xFF] ^ (crc >> 8);
    return ~crc;
}

/* ---- inflate (RFC 1951) ------------------------------------------------------------------------------ */

#define OXI_HUFFMAN_FAST 10 /* codes up to this length are found in one look */

typedef struct oxi_huffman {
    uint16_t count[16];                   /* codes of each length */
    uint16_t symbol[288];                 /* ordered by code */
    uint16_t fast[1 << OXI_HUFFMAN_FAST]; /* by the next bits: symbol << 4 | length; 0 = longer or none */
} oxi_huffman;

typedef struct oxi_inflate_state {
    const unsigned char *in, *in_end;
    uint64_t bits; /* at least bit_count bits not yet used, the next one lowest */
    int bit_count;
    int missing; /* zero bytes made up beyond the end: real ones must never be needed */
    unsigned char *out;
    size_t made, room;
    bool full;  /* the stream has more than there is room for */
    bool fixed; /* the tables below are those of fixed codes: blocks of them may be empty, and many */
    oxi_huffman literals, distances;
} oxi_inflate_state;

/* Makes at least 32 bits available; beyond the end they are 0 and counted. */
static void oxi_inflate_fill(oxi_inflate_state *s) {
    if (s->in_end - s->in >= 8) { /* bits beyond bit_count are set early, and again to the same values */
        s->bits |= oxi_read_u64(s->in) << s->bit_count;
        s->in += (63 - s->bit_count) >> 3;
        s->bit_count |= 56;
        return;
    }
    while (s->bit_count <= 56) {
        if (s->in < s->in_end)
            s->bits |= (uint64_t)*s->in++ << s->bit_count;
        else if (s->bit_count >= 32)
            return;
        else
            s->missing++;
        s->bit_count += 8;
    }
}

static uint32_t oxi_inflate_take(oxi_inflate_state *s, int count) {
    uint32_t value = (uint32_t)(s->bits & (((uint64_t)1 << count) - 1));
    s->bits >>= count;
    s->bit_count -= count;
    return value;
}

/* True when bits were used that the input does not have. */
static bool oxi_inflate_ran_out(const oxi_inflate_state *s) { return s->missing * 8 > s->bit_count; }

/* Builds the tables from code lengths. False when the lengths are no prefix code: over-subscribed, or
 * incomplete with more than a single code of one bit (zlib's rule). */
static bool oxi_huffman_build(oxi_huffman *h, const uint8_t *lengths, int symbols) {
    uint16_t offsets[16];
    int left = 1, code = 0, index = 0;
    memset(h, 0, sizeof *h);
    for (int i = 0; i < symbols; i++) h->count[lengths[i]]++;
    bool none = h->count[0] == symbols;
    h->count[0] = 0;
    int longest = 0;
    for (int length = 1; length < 16; length++) {
        left = left * 2 - h->count[length];
        if (left < 0) return false;
        if (h->count[length]) longest = length;
    }
    if (left > 0 && !none && longest != 1) return false;
    offsets[1] = 0;
    for (int length = 1; length < 15; length++)
        offsets[length + 1] = (uint16_t)(offsets[length] + h->count[length]);
    for (int i = 0; i < symbols; i++)
        if (lengths[i]) h->symbol[offsets[lengths[i]]++] = (uint16_t)i;
    for (int length = 1; length <= OXI_HUFFMAN_FAST; length++, code <<= 1)
        for (int k = 0; k < h->count[length]; k++, code++, index++) {
            int reversed = 0;
            for (int bit = 0; bit < length; bit++) reversed |= (code >> bit & 1) << (length - 1 - bit);
            for (int at = reversed; at < 1 << OXI_HUFFMAN_FAST; at += 1 << length)
                h->fast[at] = (uint16_t)(h->symbol[index] << 4 | length);
        }
    return true;
}

/* The next symbol, or -1 when the bits are no code. Needs 15 bits. */
static int oxi_huffman_decode(oxi_inflate_state *s, const oxi_huffman *h) {
    uint16_t entry = h->fast[s->bits & ((1 << OXI_HUFFMAN_FAST) - 1)];
    if (entry) {
        (void)oxi_inflate_take(s, entry & 15);
        return entry >> 4;
    }
    int code = 0, first = 0, index = 0;
    for (int length = 1; length < 16; length++) {
        code |= (int)oxi_inflate_take(s, 1);
        int count = h->count[length];
        if (code - count < first) return h->symbol[index + code - first];
        index += count;
        first = (first + count) << 1;
        code <<= 1;
    }
    return -1;
}

static const char *oxi_inflate_stored(oxi_inflate_state *s) {
    (void)oxi_inflate_take(s, s->bit_count & 7);
    oxi_inflate_fill(s);
    uint32_t length = oxi_inflate_take(s, 16), check = oxi_inflate_take(s, 16);
    if (oxi_inflate_ran_out(s)) return "packed data ends early";
    if (length != (~check & 0xFFFF)) return "stored block's length does not match its complement";
    s->in -= s->bit_count / 8 - s->missing; /* whole bytes that were read ahead */
    s->bits = 0;
    s->bit_count = 0;
    s->missing = 0;
    if (length > (size_t)(s->in_end - s->in)) return "packed data ends early";
    size_t count = length < s->room - s->made ? length : s->room - s->made;
    if (count) memcpy(s->out + s->made, s->in, count);
    s->full = count < length;
    s->made += count;
    s->in += length;
    return NULL;
}

/* RFC 1951, 3.2.6; distance codes 30 and 31 exist but mean nothing. */
static void oxi_inflate_fixed_codes(oxi_inflate_state *s) {
    uint8_t lengths[288];
    if (s->fixed) return;
    s->fixed = true;
    for (int i = 0; i < 288; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    (void)oxi_huffman_build(&s->literals, lengths, 288);
    memset(lengths, 5, 32);
    (void)oxi_huffman_build(&s->distances, lengths, 32);
}

static const char *oxi_inflate_dynamic_codes(oxi_inflate_state *s) {
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[320];
    int literals = (int)oxi_inflate_take(s, 5) + 257, distances = (int)oxi_inflate_take(s, 5) + 1;
    int codes = (int)oxi_inflate_take(s, 4) + 4, at = 0;
    s->fixed = false;
    if (literals > 286 || distances > 30) return "too many codes";
    memset(lengths, 0, sizeof lengths);
    for (int i = 0; i < codes; i++) {
        oxi_inflate_fill(s);
        lengths[order[i]] = (uint8_t)oxi_inflate_take(s, 3);
    }
    if (!oxi_huffman_build(&s->literals, lengths, 19)) return "bad code lengths";
    memset(lengths, 0, sizeof lengths);
    while (at < literals + distances) {
        oxi_inflate_fill(s);
        int symbol = oxi_huffman_decode(s, &s->literals), repeat = 1;
        uint8_t value = 0;
        if (symbol < 0 || (symbol == 16 && at == 0)) return "bad code lengths";
        if (symbol < 16)
            value = (uint8_t)symbol;
        else if (symbol == 16) {
            value = lengths[at - 1];
            repeat = 3 + (int)oxi_inflate_take(s, 2);
        } else if (symbol == 17)
            repeat = 3 + (int)oxi_inflate_take(s, 3);
        else
            repeat = 11 + (int)oxi_inflate_take(s, 7);
        if (repeat > literals + distances - at) return "bad code lengths";
        memset(lengths + at, value, (size_t)repeat);
        at += repeat;
    }
    if (oxi_inflate_ran_out(s)) return "packed data ends early";
    if (lengths[256] == 0) return "no code for the end of a block";
    if (!oxi_huffman_build(&s->distances, lengths + literals, distances)) return "bad code lengths";
    return oxi_huffman_build(&s->literals, lengths, literals) ? NULL : "bad code lengths";
}

/* Copies length bytes from distance back; they may overlap what is being written. */
static void oxi_inflate_copy(oxi_inflate_state *s, size_t length, size_t distance) {
    unsigned char *out = s->out + s->made;
    if (length > s->room - s->made) {
        length = s->room - s->made;
        s->full = true;
    }
    s->made += length;
    if (distance >= length)
        memcpy(out, out - distance, length);
    else
        for (; length > 0; length--, out++) *out = *(out - distance);
}

static const char *oxi_inflate_block(oxi_inflate_state *s) {
    static const uint16_t length_base[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                             31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t length_bits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                            2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t distance_base[30] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                               33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                               1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    static const uint8_t distance_bits[30] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                              6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
    while (!s->full) {
        oxi_inflate_fill(s);
        int symbol = oxi_huffman_decode(s, &s->literals);
        if (oxi_inflate_ran_out(s)) return "packed data ends early";
        if (symbol < 0) return "bad code";
        if (symbol == 256) return NULL;
        s->full = s->made == s->room;
        if (s->full) break;
        if (symbol < 256) {
            s->out[s->made++] = (unsigned char)symbol;
            continue;
        }
        if (symbol > 285) return "bad length code";
        size_t length = length_base[symbol - 257] + oxi_inflate_take(s, length_bits[symbol - 257]);
        oxi_inflate_fill(s);
        symbol = oxi_huffman_decode(s, &s->distances);
        if (symbol < 0 || symbol > 29) return "bad distance code";
        size_t distance = distance_base[symbol] + oxi_inflate_take(s, distance_bits[symbol]);
        if (oxi_inflate_ran_out(s)) return "packed data ends early";
        if (distance > s->made) return "distance reaches before the start";
        oxi_inflate_copy(s, length, distance);
    }
    return NULL;
}

static const char *oxi_inflate(const unsigned char *in, size_t in_bytes, unsigned char *out, size_t bytes,
                               size_t *made, bool *finished) {
    oxi_inflate_state s;
    const char *cause = NULL;
    memset(&s, 0, sizeof s);
    s.in = in;
    s.in_end = in + in_bytes;
    s.out = out;
    s.room = bytes;
    *finished = false;
    while (!cause && !s.full && !*finished) {
        oxi_inflate_fill(&s);
        bool last = oxi_inflate_take(&s, 1) != 0;
        uint32_t kind = oxi_inflate_take(&s, 2);
        if (oxi_inflate_ran_out(&s))
            cause = "packed data ends early";
        else if (kind == 0)
            cause = oxi_inflate_stored(&s);
        else if (kind == 3)
            cause = "bad kind of block";
        else {
            if (kind == 1)
                oxi_inflate_fixed_codes(&s);
            else
                cause = oxi_inflate_dynamic_codes(&s);
            if (!cause) cause = oxi_inflate_block(&s);
        }
        *finished = !cause && last && !s.full;
    }
    *made = s.made;
    return cause;
}

/* ---- the archive ------------------------------------------------------------------------------------- */

enum { OXI_ZIP_END = 22, OXI_ZIP_LOCATOR = 20, OXI_ZIP_WIDE_END = 56, OXI_ZIP_LOCAL = 30 }; /* of records */

/* Where the central directory lies. */
typedef struct oxi_zip_end {
    uint64_t entries, bytes, offset;
    size_t at;
} oxi_zip_end;

/* Finds the end record: its comment must reach exactly to the end of the file. */
static ox_status oxi_zip_find_end(ox_file *file, oxi_zip_end *end) {
    const unsigned char *tail = NULL;
    unsigned char record[OXI_ZIP_WIDE_END];
    size_t bytes = file->parts[0].mapping.bytes, most = OXI_ZIP_END + 65535 + OXI_ZIP_LOCATOR;
    bool found = false;
    if (most > bytes) most = bytes;
    ox_status status = oxi_file_window(file, 0, bytes - most, most, &tail);
    if (status != OX_OK) return status;
    for (size_t back = OXI_ZIP_END; back <= bytes && back <= OXI_ZIP_END + 65535 && !found; back++) {
        const unsigned char *at = tail + (most - back);
        found = oxi_read_u32(at) == 0x06054B50u && oxi_read_u16(at + 20) == back - OXI_ZIP_END;
        end->at = bytes - back;
    }
    if (!found)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, bytes,
                             "zip archive without its directory: the file is cut short");
    const unsigned char *p = tail + (most - (bytes - end->at));
    end->entries = oxi_read_u16(p + 10);
    end->bytes = oxi_read_u32(p + 12);
    end->offset = oxi_read_u32(p + 16);
    bool parted = oxi_read_u16(p + 4) != 0 || oxi_read_u16(p + 6) != 0 || oxi_read_u16(p + 8) != end->entries;
    if (end->at >= OXI_ZIP_LOCATOR && oxi_read_u32(p - OXI_ZIP_LOCATOR) == 0x07064B50u) { /* zip64 */
        uint64_t wide = oxi_read_u64(p - 12);
        size_t locator = end->at - OXI_ZIP_LOCATOR;
        bool fits = wide <= locator && locator - wide >= OXI_ZIP_WIDE_END;
        if (fits) status = oxi_file_copy(file, 0, (size_t)wide, record, sizeof record);
        if (status != OX_OK) return status;
        if (!fits || oxi_read_u32(record) != 0x06064B50u)
            return oxi_file_fail(OX_ERR_FORMAT, file, 0, locator,
                                 "zip64 end record is not where its locator says");
        p = record;
        parted = oxi_read_u32(p + 16) != 0 || oxi_read_u32(p + 20) != 0 ||
                 oxi_read_u64(p + 24) != oxi_read_u64(p + 32);
        end->entries = oxi_read_u64(p + 32);
        end->bytes = oxi_read_u64(p + 40);
        end->offset = oxi_read_u64(p + 48);
        end->at = (size_t)wide;
    }
    if (parted) return oxi_file_fail(OX_ERR_UNSUPPORTED, file, 0, end->at, "zip archive in several pieces");
    if (end->bytes > end->at || end->offset != end->at - end->bytes)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, end->at,
                             "zip directory does not end where the end record starts");
    if (end->entries > end->bytes / 46)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, end->at,
                             "zip directory of %llu bytes cannot hold %llu members",
                             (unsigned long long)end->bytes, (unsigned long long)end->entries);
    return OX_OK;
}

/* Sizes and place that do not fit 32 bits stand in an extra field, in this order, each only when its
 * 32-bit field is all ones. */
static bool oxi_zip_wide_sizes(const unsigned char *extra, size_t left, uint64_t *unpacked, uint64_t *packed,
                               uint64_t *at) {
    uint64_t *fields[3] = {unpacked, packed, at};
    bool wanted = *unpacked == UINT32_MAX || *packed == UINT32_MAX || *at == UINT32_MAX;
    while (wanted && left >= 4) {
        size_t size = oxi_read_u16(extra + 2), used = 0;
        if (size > left - 4) return false;
        if (oxi_read_u16(extra) != 1) {
            extra += 4 + size;
            left -= 4 + size;
            continue;
        }
        for (int i = 0; i < 3; i++) {
            if (*fields[i] != UINT32_MAX) continue;
            if (size - used < 8) return false;
            *fields[i] = oxi_read_u64(extra + 4 + used);
            used += 8;
        }
        return true;
    }
    return true;
}

/* Whether the name in the local header is the directory's. */
static ox_status oxi_zip_same_name(const ox_file *file, const oxi_zip_member *member, bool *same) {
    size_t bytes = (size_t)member->name.length;
    void *name = oxi_alloc(bytes);
    if (!name) return OX_ERR_NOMEM;
    ox_status status = oxi_file_copy(file, 0, member->at + OXI_ZIP_LOCAL, name, bytes);
    *same = status == OX_OK && memcmp(name, member->name.data, bytes) == 0;
    oxi_free(name, bytes);
    return status;
}

/* Checks the local header against the directory and finds the bytes of the member. */
static ox_status oxi_zip_local(const ox_file *file, size_t limit, oxi_zip_member *member, int flags) {
    unsigned char p[OXI_ZIP_LOCAL];
    oxi_quoted quoted = oxi_quote(member->name.data, (size_t)member->name.length);
    const char *name = quoted.text;
    bool fits = limit >= OXI_ZIP_LOCAL && member->at <= limit - OXI_ZIP_LOCAL;
    ox_status status = fits ? oxi_file_copy(file, 0, member->at, p, sizeof p) : OX_OK;
    if (status != OX_OK) return status;
    if (!fits || oxi_read_u32(p) != 0x04034B50u)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, member->at, "zip member %s: no local header here", name);
    size_t name_bytes = oxi_read_u16(p + 26), skip = OXI_ZIP_LOCAL + name_bytes + oxi_read_u16(p + 28);
    bool same = skip <= limit - member->at && name_bytes == (size_t)member->name.length &&
                oxi_read_u16(p + 8) == member->method;
    if (same) status = oxi_zip_same_name(file, member, &same);
    if (status != OX_OK) return status;
    if (!same)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, member->at,
                             "zip member %s: local header differs from the directory", name);
    member->offset = member->at + skip;
    if (member->packed > limit - member->offset)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, member->at,
                             "zip member %s: %llu bytes reach into the directory", name,
                             (unsigned long long)member->packed);
    if (flags & 0x2041)
        return oxi_file_fail(OX_ERR_UNSUPPORTED, file, 0, member->at, "zip member %s is encrypted", name);
    if (member->method != 0 && member->method != 8)
        return oxi_file_fail(OX_ERR_UNSUPPORTED, file, 0, member->at,
                             "zip member %s: packing method %d (only stored and deflate are read)", name,
                             member->method);
    if (member->method == 0 && member->packed != member->unpacked)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, member->at,
                             "zip member %s is stored, but its two sizes differ", name);
    /* deflate spends at least 2 bits on 258 bytes */
    if (member->method == 8 && member->unpacked / 1032 > member->packed)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, member->at,
                             "zip member %s: %llu bytes cannot unpack to %llu", name,
                             (unsigned long long)member->packed, (unsigned long long)member->unpacked);
    return OX_OK;
}

/* One entry of the directory at p, the last `left` bytes of it; *used receives its length. */
static ox_status oxi_zip_entry(const ox_file *file, const oxi_zip_end *end, const unsigned char *p,
                               size_t left, oxi_zip_member *member, size_t *used) {
    size_t at = end->at - left;
    if (left < 46 || oxi_read_u32(p) != 0x02014B50u)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, at, "zip directory: no entry here");
    size_t name = oxi_read_u16(p + 28), extra = oxi_read_u16(p + 30), comment = oxi_read_u16(p + 32);
    if (name + extra + comment > left - 46)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, at, "zip directory: entry is cut short");
    *used = 46 + name + extra + comment;
    uint64_t packed = oxi_read_u32(p + 20), unpacked = oxi_read_u32(p + 24), local = oxi_read_u32(p + 42);
    if (!oxi_zip_wide_sizes(p + 46 + name, extra, &unpacked, &packed, &local))
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, at, "zip directory: bad zip64 field");
    memset(member, 0, sizeof *member);
    member->name.data = (const char *)p + 46;
    member->name.length = (int64_t)name;
    member->crc = oxi_read_u32(p + 16);
    member->method = oxi_read_u16(p + 10);
    if (local > end->offset || packed > end->offset || unpacked > SIZE_MAX / 4)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, at, "zip member %s: size or place beyond the file",
                             oxi_quote(member->name.data, name).text);
    member->at = (size_t)local;
    member->packed = (size_t)packed;
    member->unpacked = (size_t)unpacked;
    return oxi_zip_local(file, (size_t)end->offset, member, oxi_read_u16(p + 8));
}

static int oxi_compare_members(const void *user, uint32_t a, uint32_t b) {
    const oxi_zip_member *members = (const oxi_zip_member *)user;
    return members[a].at < members[b].at ? -1 : members[a].at > members[b].at;
}

/* Puts members into file order and refuses those that share bytes. */
static ox_status oxi_zip_arrange(const ox_file *file, oxi_zip *zip) {
    size_t count = zip->count;
    bool sorted = true;
    for (size_t i = 1; i < count; i++) sorted = sorted && zip->members[i - 1].at < zip->members[i].at;
    if (!sorted) {
        uint32_t *order = (uint32_t *)oxi_calloc(count, 2 * sizeof *order);
        oxi_zip_member *moved = (oxi_zip_member *)oxi_calloc(zip->room, sizeof *moved);
        bool made = order && moved;
        if (made) {
            oxi_sort_indexes(order, order + count, (uint32_t)count, oxi_compare_members, zip->members);
            for (size_t i = 0; i < count; i++) moved[i] = zip->members[order[i]];
            memcpy(zip->members, moved, count * sizeof *moved);
        }
        oxi_free(order, count * 2 * sizeof *order);
        oxi_free(moved, zip->room * sizeof *moved);
        if (!made) return OX_ERR_NOMEM;
    }
    for (size_t i = 1; i < count; i++) {
        const oxi_zip_member *before = &zip->members[i - 1], *here = &zip->members[i];
        if (here->at < before->offset + before->packed)
            return oxi_file_fail(OX_ERR_FORMAT, file, 0, here->at, "zip member %s lies inside another",
                                 oxi_quote(here->name.data, (size_t)here->name.length).text);
    }
    return OX_OK;
}

static void oxi_zip_close(oxi_zip *zip) {
    oxi_free(zip->members, zip->room * sizeof *zip->members);
    memset(zip, 0, sizeof *zip);
}

static ox_status oxi_zip_open(ox_file *file, oxi_zip *out) {
    const unsigned char *p = NULL;
    oxi_zip_end end;
    memset(&end, 0, sizeof end);
    memset(out, 0, sizeof *out);
    ox_status status = oxi_zip_find_end(file, &end);
    if (status != OX_OK) return status;
    if (end.entries > UINT32_MAX / 4)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, end.at, "zip archive of more than 2^30 members");
    status = oxi_file_window(file, 0, (size_t)end.offset, (size_t)end.bytes, &p);
    if (status != OX_OK) return status;
    size_t left = (size_t)end.bytes, used = 0;
    for (uint64_t i = 0; i < end.entries && status == OX_OK; i++, p += used, left -= used) {
        void *grown = oxi_grow(out->members, &out->room, out->count + 1, sizeof *out->members, false);
        if (!grown) {
            status = OX_ERR_NOMEM;
            break;
        }
        out->members = (oxi_zip_member *)grown;
        used = 0;
        status = oxi_zip_entry(file, &end, p, left, &out->members[out->count], &used);
        out->count++;
    }
    if (status == OX_OK && left > 0)
        status =
            oxi_file_fail(OX_ERR_FORMAT, file, 0, end.at - left, "zip directory holds more than its members");
    if (status == OX_OK) status = oxi_zip_arrange(file, out);
    if (status != OX_OK) oxi_zip_close(out);
    return status;
}

/* The packed bytes of a member from its start on: where they are mapped, or in a block to be freed; NULL: an
 * error. */
static const unsigned char *oxi_zip_packed(const ox_file *file, const oxi_zip_member *member, size_t bytes,
                                           void **block) {
    const oxi_mapping *mapping = &file->parts[0].mapping;
    const char *path = oxi_path_text(file->parts[0].path);
    *block = NULL;
    if (!oxi_mapping_is_in_parts(mapping)) return mapping->data + member->offset;
    *block = oxi_alloc(bytes);
    if (*block && oxi_mapping_copy(mapping, path, member->offset, *block, bytes) != OX_OK) {
        oxi_free(*block, bytes);
        *block = NULL;
    }
    return (const unsigned char *)*block;
}

/* Unpacks the first `bytes` of a member, from the start of what is packed if that is enough. *cause receives
 * why it cannot be. */
static ox_status oxi_zip_unpack(const ox_file *file, const oxi_zip_member *member, unsigned char *out,
                                size_t bytes, const char **cause) {
    const size_t some = bytes < member->unpacked ? (size_t)64 << 10 : member->packed;
    size_t part = some < member->packed ? some : member->packed, made = 0;
    bool finished = false;
    for (;; part = member->packed) {
        void *block;
        const unsigned char *data = oxi_zip_packed(file, member, part, &block);
        if (!data) return ox_error();
        *cause = oxi_inflate(data, part, out, bytes, &made, &finished);
        oxi_free(block, part);
        if (!*cause || part == member->packed) break;
    }
    if (!*cause && (made != bytes || (bytes == member->unpacked && !finished)))
        *cause = "unpacks to another size than the directory says";
    return OX_OK;
}

static ox_status oxi_zip_fail(const ox_file *file, const oxi_zip_member *member, const char *cause) {
    return oxi_file_fail(OX_ERR_FORMAT, file, 0, member->offset, "zip member %s: %s",
                         oxi_quote(member->name.data, (size_t)member->name.length).text, cause);
}

static const char oxi_zip_damaged[] = "its checksum (CRC-32) differs: the file is damaged";

static ox_status oxi_zip_read(const ox_file *file, const oxi_zip_member *member, void *out, size_t bytes) {
    const oxi_mapping *mapping = &file->parts[0].mapping;
    const char *path = oxi_path_text(file->parts[0].path), *cause = NULL;
    ox_status status = member->method == 0
                           ? oxi_mapping_copy(mapping, path, member->offset, out, bytes)
                           : oxi_zip_unpack(file, member, (unsigned char *)out, bytes, &cause);
    if (status != OX_OK) return status;
    if (!cause && bytes == member->unpacked && oxi_crc32(0, out, bytes) != member->crc)
        cause = oxi_zip_damaged;
    return cause ? oxi_zip_fail(file, member, cause) : OX_OK;
}

static ox_status oxi_crc32_piece(void *user, size_t done, const unsigned char *data, size_t bytes) {
    uint32_t *crc = (uint32_t *)user;
    (void)done;
    *crc = oxi_crc32(*crc, data, bytes);
    return OX_OK;
}

static ox_status oxi_zip_check(const ox_file *file, const oxi_zip_member *member) {
    uint32_t crc = 0;
    ox_status status = oxi_file_visit(file, 0, member->offset, member->packed, oxi_crc32_piece, &crc);
    if (status == OX_OK && crc != member->crc) return oxi_zip_fail(file, member, oxi_zip_damaged);
    return status;
}
