/* Moving elements as they are, by their width: runs with gaps between them, and rows that become columns.
 * Plain loops for every width; the vector tiers replace what they are faster at (kernels/move.inc). Entered
 * into the table by cpu/tiers.c, called by walks and copies. */

typedef struct oxi_sixteen_bytes {
    uint64_t half[2];
} oxi_sixteen_bytes;

#define OXI_MOVE_WIDTHS(X) X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t) X(16, oxi_sixteen_bytes)

/* The place of a width, 1 to 16 bytes, in the table of kernels. */
static OXI_UNUSED int oxi_width_index(int64_t bytes) {
    return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : 4;
}

/* The bits of the element at p. */
#define OXI_X(width, type)                                   \
    static OXI_UNUSED type oxi_bits_##width(const char *p) { \
        type bits;                                           \
        memcpy(&bits, p, sizeof bits);                       \
        return bits;                                         \
    }
OXI_MOVE_WIDTHS(OXI_X)
#undef OXI_X

/* move: to[i * to_step] = from[i * from_step], four at a time: a loop of one is as fast only where it
 * happens to lie well in memory. gather and transpose as in oxi_kernels. */
#define OXI_X(width, type)                                                                                \
    static void oxi_move_##width(int64_t n, const char *from, int64_t from_step, char *to,                \
                                 int64_t to_step) {                                                       \
        for (; n >= 4; n -= 4, from += 4 * from_step, to += 4 * to_step) {                                \
            type four[4];                                                                                 \
            memcpy(four, from, sizeof *four);                                                             \
            memcpy(four + 1, from + from_step, sizeof *four);                                             \
            memcpy(four + 2, from + 2 * from_step, sizeof *four);                                         \
            memcpy(four + 3, from + 3 * from_step, sizeof *four);                                         \
            memcpy(to, four, sizeof *four);                                                               \
            memcpy(to + to_step, four + 1, sizeof *four);                                                 \
            memcpy(to + 2 * to_step, four + 2, sizeof *four);                                             \
            memcpy(to + 3 * to_step, four + 3, sizeof *four);                                             \
        }                                                                                                 \
        for (; n > 0; n--, from += from_step, to += to_step) memcpy(to, from, sizeof(type));              \
    }                                                                                                     \
    static void oxi_gather_##width(int64_t n, const char *from, int64_t step, char *to) {                 \
        oxi_move_##width(n, from, step, to, width);                                                       \
    }                                                                                                     \
    static void oxi_transpose_##width(int64_t rows, int64_t columns, const char *from, int64_t from_step, \
                                      char *to, int64_t to_step) {                                        \
        for (int64_t c = 0; c < columns; c++)                                                             \
            oxi_move_##width(rows, from + c * width, from_step, to + c * to_step, width);                 \
    }
OXI_MOVE_WIDTHS(OXI_X)
#undef OXI_X

/* n elements of 1, 2, 4, 8 or 16 bytes; steps in bytes. */
static OXI_UNUSED void oxi_move_run(int64_t n, int64_t bytes, const char *from, int64_t from_step, char *to,
                                    int64_t to_step) {
    switch (bytes) {
#define OXI_X(width, type) \
    case width: oxi_move_##width(n, from, from_step, to, to_step); return;
        OXI_MOVE_WIDTHS(OXI_X)
#undef OXI_X
    default: return;
    }
}

static void oxi_fill_move(oxi_kernels *k) {
#define OXI_X(width, type)                                  \
    k->gather[oxi_width_index(width)] = oxi_gather_##width; \
    k->transpose[oxi_width_index(width)] = oxi_transpose_##width;
    OXI_MOVE_WIDTHS(OXI_X)
#undef OXI_X
}
