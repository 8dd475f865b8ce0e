/* Philox4x32-10: random bits as a function of (key, counter), without state.
 * Any thread, or any device, can make the numbers at any place of a sequence.
 * Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3". */

/* Ten times in a row, because a processor that sees no loop has several blocks in work at once. */
#define OXI_PHILOX_ROUND { \
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2; \
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0; \
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1; \
        c1 = (uint32_t)p1; \
        c3 = (uint32_t)p0; \
        k0 += 0x9E3779B9u; /* golden ratio */ \
        k1 += 0xBB67AE85u; /* sqrt(3) - 1 */ \
    }

OXI_UNUSED static void oxi_philox(uint64_t key, uint64_t counter_hi, uint64_t counter_lo, uint32_t out[4]) {
    uint32_t c0 = (uint32_t)counter_lo, c1 = (uint32_t)(counter_lo >> 32);
    uint32_t c2 = (uint32_t)counter_hi, c3 = (uint32_t)(counter_hi >> 32);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    OXI_PHILOX_ROUND OXI_PHILOX_ROUND OXI_PHILOX_ROUND OXI_PHILOX_ROUND OXI_PHILOX_ROUND
    OXI_PHILOX_ROUND OXI_PHILOX_ROUND OXI_PHILOX_ROUND OXI_PHILOX_ROUND OXI_PHILOX_ROUND
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}
#undef OXI_PHILOX_ROUND

/* ---- SipHash-1-3 (Aumasson and Bernstein 2012, "SipHash: a fast short-input PRF") ---------------------- */

static uint64_t oxi_rotated(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

static void oxi_sip_round(uint64_t v[4]) {
    v[0] += v[1];
    v[1] = oxi_rotated(v[1], 13) ^ v[0];
    v[0] = oxi_rotated(v[0], 32);
    v[2] += v[3];
    v[3] = oxi_rotated(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = oxi_rotated(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = oxi_rotated(v[1], 17) ^ v[2];
    v[2] = oxi_rotated(v[2], 32);
}

static uint64_t oxi_sip_four(const unsigned char *p) {
    return p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
}

OXI_UNUSED static uint64_t oxi_keyed_hash(const uint64_t key[2], const void *data, size_t bytes) {
    const unsigned char *p = (const unsigned char *)data;
    uint64_t word = 0;
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    size_t left = bytes;
    for (; left >= 8; left -= 8, p += 8) {
        memcpy(&word, p, 8);
        v[3] ^= word;
        oxi_sip_round(v);
        v[0] ^= word;
    }
    word = (uint64_t)bytes << 56;
    if (left >= 4) { /* bytes that both hold are at the same place */
        word |= oxi_sip_four(p) | oxi_sip_four(p + left - 4) << 8 * (left - 4);
    } else if (left > 0) {
        word |= p[0] | (uint64_t)p[left / 2] << 8 * (left / 2) | (uint64_t)p[left - 1] << 8 * (left - 1);
    }
    v[3] ^= word;
    oxi_sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++) oxi_sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
