/* What the parts of products over packed panels share: sizes, operands as packing sees them, the plan.
 * A plan is made by gemm.c, packed by gemm_pack.c and computed tile by tile by gemm_tile.c. */
#ifndef OX_CPU_GEMM_H
#define OX_CPU_GEMM_H

static ox_status oxi_block_product(const oxi_gemm *g); /* cpu/product/blocks.c: one operand of a block type */
static int oxi_codes_group(ox_dtype dtype);            /* codes.c: so many codes share a scale */

enum {
    OXI_GEMM_PIECE = 256,       /* numbers widened, expanded or rounded at a time */
    OXI_GEMM_STAGE = 32768,     /* bytes: operands are widened here on their way to panels, half at a time */
    OXI_GEMM_STAGE_LINES = 512, /* lines packed by one task */
    OXI_GEMM_SLAB = 16384,      /* bytes: windows are laid out here on their way to panels */
    OXI_GEMM_STAGE_DEPTH = 16,  /* as much k of all these has room */
    OXI_GEMM_TILE = 256,        /* largest side of a tile of C */
    OXI_GEMM_TILE_GROUPS = 512, /* where sums take so little time that panels are to be met more often */
    OXI_GEMM_BLOCKS_AHEAD = 16, /* lines of blocks prefetched before they are packed */
    OXI_GEMM_ALONE = 1 << 19,   /* fewer multiplications are done by the caller alone, and not in pieces */
    OXI_GEMM_SHORT = 1 << 22,   /* fewer, and sums of f32 are short: packing takes longer than that costs */
    OXI_GEMM_LIES = 4096,       /* numbers of B, f32, that may be read as they lie */
    OXI_GEMM_LIES_ROWS = 12,    /* panels of A that meet them at most */
    OXI_GEMM_FEW_STEPS = 32,    /* of k, which are summed up one by one even so */
    OXI_GEMM_TASK = 4 << 20,    /* multiplications of a tile that may hold the other threads up at the end */
    OXI_GEMM_PACKED = 32 << 20  /* bytes of packed panels of one block */
};

/* What A becomes before it is multiplied. */
typedef enum oxi_shared_form {
    OXI_SHARED_PANELS = 1, /* packed, all of it; the same in the place of B */
    OXI_SHARED_PANELS_OF_B,
    OXI_SHARED_ROWS,       /* quantized row by row (cpu/product/blocks.c); the same by ratios */
    OXI_SHARED_ROWS_BY_RATIOS,
    OXI_SHARED_CODES,      /* panels of codes (cpu/product/codes.c); the same by ratios */
    OXI_SHARED_CODES_BY_RATIOS
} oxi_shared_form;

/* What a product computes in. Packed elements: float, double, or groups of neighbors along k in four bytes:
 * 2 int16_t (widened int8), 2 bf16, 4 int8. */
typedef struct oxi_gemm_type {
    oxi_lane lane;
    ox_dtype dtype; /* of packed elements; operands of this dtype need no widening */
    ox_dtype sums;
    int element;    /* bytes of a packed element and of an accumulator */
    int k_each;     /* steps of k in a packed element */
    const oxi_gemm_kernel *kernel;
    const oxi_gemm_groups *groups; /* or NULL */
    bool pieces;                   /* packed elements are pieces of f16 */
    oxi_packs pack_a, pack_b;      /* of packed elements, or of f32 into pieces */
    void (*copies)(int64_t k, const void *a, void *out); /* NULL, or what to do with panels of A before */
    oxi_copies_kernel copies_along; /* the same from A as it lies, if that is along k */
    int lanes;                      /* copies of each element */
} oxi_gemm_type;

/* One operand as the packing sees it: lines (rows of A, columns of B) along k. */
typedef struct oxi_gemm_side {
    const char *data;
    ox_dtype dtype;
    int64_t line_stride, k_stride; /* elements */
    int64_t k;                     /* of the whole operand */
    int width;                     /* lines of a panel */
    oxi_packs pack;
    const oxi_windows *windows;    /* or NULL: where its numbers are in place of strides; lines are taps or */
    bool by_taps;                  /* else places */
    char *packed;                  /* [chunk of k][panel][k of the chunk][width] */
    int64_t all_lines;             /* 0 if packed is the block at work, else how many lines the operand has */
    oxi_panels *kept;              /* whose panels these are */
    bool filled;                   /* they were there before */
} oxi_gemm_side;

typedef struct oxi_gemm_plan {
    const oxi_gemm *g; /* A is what is broadcast: */
    const oxi_gemm *to; /* the same, or what was asked for, whose B that is: C = (A B)^T */
    const oxi_kernels *kernels;
    oxi_gemm_type type;
    oxi_gemm_side a, b;
    int64_t k;     /* in packed elements */
    int64_t depth; /* of a chunk */
    int64_t each;  /* steps of it that a micro-kernel sums up one by one */
    int64_t block_m, block_n, block_k;
    int64_t tile_m, tile_n;
    int64_t sums_ld, partial_ld; /* rows of sums are so far apart, elements */
    bool direct;   /* sums go to C as they are */
    oxi_round_kernel round; /* or NULL: takes the sums of a micro-tile to C after their last call */
    bool streams;  /* finished rows go past the caches: reading lines of a large C first would take longer */
    char *partial; /* sums of a block between chunks of k, if C cannot hold them */
    bool own_a, own_b; /* tiles span all columns (rows): each packs its lines of A (B) into its cache */
    bool own_b_whole;  /* all lines of a tile at once, not a panel at a time */
    bool copies_lines; /* and A is copied as it lies, without panels */
    bool packs_a, packs_b; /* else, unless panels are kept: threads pack a block for each other */
    char *scratch;     /* of each lane: stage, a micro-tile for edges, lines of A and B, sums, at offsets */
    size_t slab_at, edge_at, copies_at, a_at, b_at, sums_at, turned_at, lane_bytes;
    /* the block at work */
    int64_t m0, n0, k0, rows, columns, ks;
    int64_t a_tasks;
} oxi_gemm_plan;

#endif
