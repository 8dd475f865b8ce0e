/* Weights of block types, repacked (ox_prepack): in place, sixteen rows side by side, as the kernels of
 * kernels/repacked.inc read them. It is a layout of their storage (tensor/internal.h): products and
 * embeddings hold it while they read, for everybody else the bytes are put back before he comes to them.
 * What is repacked is noted by address, because several storages may lie over the same bytes of a file.
 * Called by prepack.c, product.c, cpu/index/index.c and files/.
 *
 * The layout: the sixteen rows' blocks of number i lie together, 16 i block_bytes behind the rows' start. In
 * them the fields of the type follow one another, and in a field its units, sixteen of them each time, one of
 * each row. The fifth bits of q5_0 and q5_1 are permuted besides, so that bit i of byte j is that of number
 * 4 i + j. */

typedef struct oxi_repacked {
    char *first;
    size_t bytes;
    ox_dtype dtype;
    int64_t k;
    int64_t users; /* products at work; guarded by the lock, as all of this */
    bool ready;    /* for more of them: it is repacked, and nobody waits for its end */
} oxi_repacked;

static struct {
    oxi_lock lock;
    oxi_repacked **list; /* by address, none overlaps another */
    int64_t count, room;
    char *rows; /* memory for the longest sixteen rows, so that nothing is wanting to put them back */
    size_t rows_bytes;
    int64_t packing; /* of them, those that are being repacked: a fork waits for their end */
    int64_t any;     /* atomic: count */
} oxi_repacks;

/* So much of a row may be asked for at a time. */
enum { OXI_REPACKED_PIECE = 256, OXI_REPACKED_PIECE_BYTES = 8 * OXI_BYTES_OX_Q8_0 };

/* ---- the layout ---------------------------------------------------------------------------------------- */

typedef struct oxi_repack_field {
    uint8_t bytes, unit; /* 1, 2 or 4; 0: four, whose bits are permuted */
} oxi_repack_field;

typedef struct oxi_repack_type {
    ox_dtype dtype;
    oxi_repack_field field[4]; /* one behind the other */
} oxi_repack_type;

static const oxi_repack_type oxi_repack_types[] = {
    {OX_Q4_0, {{2, 2}, {16, 4}}},          {OX_Q4_1, {{2, 2}, {2, 2}, {16, 4}}},
    {OX_Q5_0, {{2, 2}, {4, 0}, {16, 4}}},  {OX_Q5_1, {{2, 2}, {2, 2}, {4, 0}, {16, 4}}},
    {OX_Q8_0, {{2, 2}, {32, 4}}},          {OX_IQ4_NL, {{2, 2}, {16, 4}}},
    {OX_MXFP4, {{1, 1}, {16, 4}}},         {OX_IQ4_XS, {{2, 2}, {2, 2}, {132, 4}}},
    {OX_Q4_K, {{2, 2}, {2, 2}, {140, 4}}}, {OX_Q5_K, {{2, 2}, {2, 2}, {172, 4}}},
    {OX_Q6_K, {{208, 4}, {2, 2}}},
};

static const oxi_repack_type *oxi_repack_type_of(ox_dtype dtype) {
    for (size_t i = 0; i < sizeof oxi_repack_types / sizeof *oxi_repack_types; i++)
        if (oxi_repack_types[i].dtype == dtype) return &oxi_repack_types[i];
    return NULL;
}

/* Bit 4 i + j goes to bit i of byte j, or back. */
static void oxi_repack_bits(const char *from, char *to, bool back) {
    uint8_t in[4], out[4];
    memcpy(in, from, 4);
    uint32_t all = in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24, made = 0;
    for (int j = 0; j < 4; j++) { /* every fourth bit, moved together by halves, or apart */
        uint32_t bits = back ? in[j] : all >> j & 0x11111111;
        if (back) {
            bits = (bits | bits << 12) & 0x000f000f;
            bits = (bits | bits << 6) & 0x03030303;
            made |= ((bits | bits << 3) & 0x11111111) << j;
        } else {
            bits = (bits | bits >> 3) & 0x03030303;
            bits = (bits | bits >> 6) & 0x000f000f;
            made |= ((bits | bits >> 12) & 0xff) << 8 * j;
        }
    }
    for (int j = 0; j < 4; j++) out[j] = (uint8_t)(made >> 8 * j);
    memcpy(to, out, 4);
}

/* A unit of each of `count` rows, row_step apart on one side and side by side on the other. */
static void oxi_repack_units(char *rows, int64_t row_step, char *packed, int unit, int count, bool back) {
    int bytes = unit ? unit : 4;
    for (int r = 0; r < count; r++, rows += row_step, packed += bytes) {
        const char *from = back ? packed : rows;
        char *to = back ? rows : packed;
        if (unit == 4)
            memcpy(to, from, 4);
        else if (unit == 2)
            memcpy(to, from, 2);
        else if (unit == 1)
            *to = *from;
        else
            oxi_repack_bits(from, to, back);
    }
}

/* A block of `count` rows, of those packed from row `first` on. */
static void oxi_repack_block(const oxi_repack_type *type, char *rows, int64_t row_step, char *packed,
                             int64_t first, int count, bool back) {
    for (const oxi_repack_field *field = type->field; field < type->field + 4 && field->bytes; field++) {
        int unit = field->unit ? field->unit : 4;
        for (int at = 0; at < field->bytes; at += unit, rows += unit, packed += OXI_REPACKED_ROWS * unit)
            oxi_repack_units(rows, row_step, packed + first * unit, field->unit, count, back);
    }
}

/* Sixteen rows in place. copy: memory for them. */
static void oxi_repack_rows(const oxi_repack_type *type, char *rows, int64_t row_bytes, char *copy,
                            bool back) {
    int64_t bytes = oxi_info(type->dtype)->block_bytes;
    memcpy(copy, rows, (size_t)(OXI_REPACKED_ROWS * row_bytes));
    for (int64_t at = 0; at < row_bytes; at += bytes) {
        oxi_repack_block(type, (back ? rows : copy) + at, row_bytes,
                         (back ? copy : rows) + OXI_REPACKED_ROWS * at, 0, OXI_REPACKED_ROWS, back);
    }
}

/* `count` numbers, whole blocks, of row `row` of sixteen at `rows`, from number k on, as they were. */
static void oxi_repacked_row(ox_dtype dtype, const char *rows, int64_t row, int64_t k, int64_t count,
                             char *out) {
    const oxi_repack_type *type = oxi_repack_type_of(dtype);
    int64_t bytes = oxi_info(dtype)->block_bytes;
    size_t at = oxi_byte_offset(dtype, k), end = oxi_byte_offset(dtype, k + count);
    for (; at < end; at += (size_t)bytes, out += bytes)
        oxi_repack_block(type, out, 0, (char *)(uintptr_t)(rows + OXI_REPACKED_ROWS * at), row, 1, true);
}

/* `count` numbers of `lines` lines from line `line` on, from number k on, as a panel of `width` lines. */
static void oxi_repacked_panel(ox_dtype dtype, const char *data, int64_t line, int64_t lines,
                               int64_t row_bytes, int64_t k, int64_t count, int64_t width, bool is_signed,
                               const oxi_code_panel *to) {
    for (int64_t i = 0, here; i < lines; i += here) {
        int64_t first = (line + i) % OXI_REPACKED_ROWS;
        const char *rows = data + (line + i - first) * row_bytes;
        oxi_code_panel part;
        here = oxi_min_i64(lines - i, OXI_REPACKED_ROWS - first);
        part.codes = (char *)to->codes + 4 * i;
        part.scale = to->scale + i;
        part.extra = to->extra ? to->extra + i : NULL;
        part.step = NULL;
        oxi_cpu_kernels()->unpack_repacked[dtype](count, rows + OXI_REPACKED_ROWS * oxi_byte_offset(dtype, k),
                                                  (int)first, (int)here, width, is_signed, &part);
    }
}

/* ---- what is repacked ---------------------------------------------------------------------------------- */

/* The first that ends behind `at`, as a place in the list. */
static int64_t oxi_repacks_from(const char *at) {
    int64_t low = 0, high = oxi_repacks.count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const oxi_repacked *one = oxi_repacks.list[middle];
        if (one->first + one->bytes <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static oxi_repacked *oxi_repacks_over(const char *first, size_t bytes) {
    int64_t i = oxi_repacks_from(first);
    return i < oxi_repacks.count && oxi_repacks.list[i]->first < first + bytes ? oxi_repacks.list[i] : NULL;
}

/* Takes one out of the list; the last takes the memory along. */
static void oxi_repacks_drop(oxi_repacked *one) {
    int64_t i = oxi_repacks_from(one->first);
    oxi_repacks.count--;
    memmove(oxi_repacks.list + i, oxi_repacks.list + i + 1,
            (size_t)(oxi_repacks.count - i) * sizeof *oxi_repacks.list);
    oxi_atomic_store(&oxi_repacks.any, oxi_repacks.count);
    oxi_free(one, sizeof *one);
    if (oxi_repacks.count > 0) return;
    oxi_free(oxi_repacks.list, (size_t)oxi_repacks.room * sizeof *oxi_repacks.list);
    oxi_free(oxi_repacks.rows, oxi_repacks.rows_bytes);
    oxi_repacks.list = NULL;
    oxi_repacks.rows = NULL;
    oxi_repacks.room = 0;
    oxi_repacks.rows_bytes = 0;
}

/* Takes one in. false: there is no memory. */
static bool oxi_repacks_add(const oxi_repacked *row, size_t rows_bytes) {
    oxi_repacked *one = (oxi_repacked *)oxi_try_alloc(sizeof *one);
    int64_t room = oxi_repacks.room ? 2 * oxi_repacks.room : 16;
    oxi_repacked **list = oxi_repacks.count < oxi_repacks.room
                              ? oxi_repacks.list
                              : (oxi_repacked **)oxi_try_alloc((size_t)room * sizeof *list);
    char *rows = rows_bytes <= oxi_repacks.rows_bytes ? oxi_repacks.rows : (char *)oxi_try_alloc(rows_bytes);
    bool done = one && list && rows;
    if (rows != oxi_repacks.rows && done) {
        oxi_free(oxi_repacks.rows, oxi_repacks.rows_bytes);
        oxi_repacks.rows = rows;
        oxi_repacks.rows_bytes = rows_bytes;
    } else if (rows != oxi_repacks.rows) {
        oxi_free(rows, rows_bytes);
    }
    if (list != oxi_repacks.list && done) {
        if (oxi_repacks.count > 0) memcpy(list, oxi_repacks.list, (size_t)oxi_repacks.count * sizeof *list);
        oxi_free(oxi_repacks.list, (size_t)oxi_repacks.room * sizeof *list);
        oxi_repacks.list = list;
        oxi_repacks.room = room;
    } else if (list != oxi_repacks.list) {
        oxi_free(list, (size_t)room * sizeof *list);
    }
    if (!done) {
        oxi_free(one, sizeof *one);
        return false;
    }
    int64_t i = oxi_repacks_from(row->first);
    memmove(oxi_repacks.list + i + 1, oxi_repacks.list + i,
            (size_t)(oxi_repacks.count - i) * sizeof *oxi_repacks.list);
    *one = *row;
    oxi_repacks.list[i] = one;
    oxi_repacks.count++;
    oxi_atomic_store(&oxi_repacks.any, oxi_repacks.count);
    return true;
}

/* Waits, with the lock, until nobody uses one, or until it is gone; then it is to be looked for anew. */
static bool oxi_repacks_wait(const oxi_repacked *one) {
    if (one->users == 0) return true;
    oxi_lock_give(&oxi_repacks.lock);
    oxi_yield();
    oxi_lock_take(&oxi_repacks.lock);
    return false;
}

/* Puts weights among these bytes back as they were; keep false: only forgets them, because the bytes go. */
static void oxi_repacked_undo(void *memory, size_t bytes, bool keep) {
    if (oxi_atomic_load(&oxi_repacks.any) == 0) return;
    oxi_repacked *one;
    oxi_lock_take(&oxi_repacks.lock);
    while ((one = oxi_repacks_over((const char *)memory, bytes)) != NULL) {
        one->ready = false;
        if (!oxi_repacks_wait(one)) continue;
        int64_t row_bytes = (int64_t)oxi_byte_offset(one->dtype, one->k);
        for (size_t at = 0; keep && at < one->bytes; at += (size_t)(OXI_REPACKED_ROWS * row_bytes))
            oxi_repack_rows(oxi_repack_type_of(one->dtype), one->first + at, row_bytes, oxi_repacks.rows,
                            true);
        oxi_repacks_drop(one);
    }
    oxi_lock_give(&oxi_repacks.lock);
}

static void oxi_repacked_forget(void *memory, size_t bytes) {
    oxi_repacked_undo(memory, bytes, false);
}

static void oxi_repacked_leave(ox_storage *storage) {
    oxi_repacked_undo(storage->data, storage->bytes, true);
}

/* Bytes of a file stay when a storage of them goes. */
static void oxi_repacked_drop(ox_storage *storage) {
    if (!storage->borrowed) oxi_repacked_forget(storage->data, storage->bytes);
}

/* Products hold it, or leave it, and so does the op that reads rows of a table by their numbers. */
static bool oxi_repacked_takes(const oxi_call *call, const ox_tensor *operand) {
    oxi_family family = oxi_op_row_of(call->op)->family;
    if (!oxi_is_block(operand->dtype)) return false;
    return family == OXI_FAMILY_PRODUCT ||
           (family == OXI_FAMILY_INDEX && oxi_index_form_of(call->op)->by == OXI_BY_ROWS);
}

static const oxi_layout oxi_repacked_layout = {oxi_repacked_leave, oxi_repacked_drop, oxi_repacked_takes};

/* ---- fork ---------------------------------------------------------------------------------------------- */

/* Takes the lock while nothing is half repacked. */
OXI_UNUSED static void oxi_repacks_before_fork(void) {
    oxi_lock_take(&oxi_repacks.lock);
    while (oxi_repacks.packing > 0) {
        oxi_lock_give(&oxi_repacks.lock);
        oxi_yield();
        oxi_lock_take(&oxi_repacks.lock);
    }
}

/* With the lock, in the child: the threads of the products at work are not there, nor those that wait. */
OXI_UNUSED static void oxi_repacks_in_child(void) {
    for (int64_t i = 0; i < oxi_repacks.count; i++) {
        oxi_repacks.list[i]->users = 0;
        oxi_repacks.list[i]->ready = true;
    }
}

/* ---- users --------------------------------------------------------------------------------------------- */

/* `lines` lines of k numbers from the tensor's start on, if they are whole groups of something repacked:
 * until oxi_repacked_let_go nobody has them put back. Otherwise NULL. */
static oxi_repacked *oxi_repacked_hold(const ox_tensor *t, int64_t lines, int64_t line_stride, int64_t k) {
    const char *first = oxi_ptr(t);
    if (t->storage->layout != &oxi_repacked_layout || oxi_atomic_load(&oxi_repacks.any) == 0) return NULL;
    if (line_stride != k || lines % OXI_REPACKED_ROWS != 0 || lines == 0) return NULL;
    int64_t group = OXI_REPACKED_ROWS * (int64_t)oxi_byte_offset(t->dtype, k);
    oxi_lock_take(&oxi_repacks.lock);
    oxi_repacked *one = oxi_repacks_over(first, 1);
    bool same = one && one->ready && one->dtype == t->dtype && one->k == k &&
                (first - one->first) % group == 0 &&
                (size_t)(lines / OXI_REPACKED_ROWS * group) <= one->bytes - (size_t)(first - one->first);
    if (same) one->users++;
    oxi_lock_give(&oxi_repacks.lock);
    return same ? one : NULL;
}

static void oxi_repacked_let_go(oxi_repacked *held) {
    if (!held) return;
    oxi_lock_take(&oxi_repacks.lock);
    held->users--;
    oxi_lock_give(&oxi_repacks.lock);
}

typedef struct oxi_repack_job {
    const oxi_repack_type *type;
    char *first, *copies; /* of each lane: sixteen rows */
    int64_t row_bytes;
} oxi_repack_job;

static void oxi_repack_task(void *arg, int64_t index, int lane) {
    const oxi_repack_job *job = (const oxi_repack_job *)arg;
    int64_t bytes = OXI_REPACKED_ROWS * job->row_bytes;
    oxi_repack_rows(job->type, job->first + index * bytes, job->row_bytes, job->copies + lane * bytes, false);
}

/* Repacks a matrix if there are kernels for that, if its bytes may be changed, and if there is memory. One
 * that is repacked stays as it lies: others, of the same bytes of a file, may be at work with it. */
static void oxi_repack(ox_tensor *t) {
    ox_storage *storage = t->storage;
    const oxi_repack_type *type = oxi_repack_type_of(t->dtype);
    bool ours = storage->layout ? storage->layout == &oxi_repacked_layout : !storage->borrowed;
    if (!type || !oxi_cpu_kernels()->dot_repacked[t->dtype] || !ours || t->ndim < 2) return;
    int64_t k = t->shape[t->ndim - 1], rows = k ? ox_numel(t) / k : 0, groups = rows / OXI_REPACKED_ROWS;
    if (rows == 0 || rows % OXI_REPACKED_ROWS != 0 || !ox_is_contiguous(t)) return;
    oxi_repacked *already = oxi_repacked_hold(t, rows, k, k);
    oxi_repacked_let_go(already);
    if (already) return;
    oxi_repack_job job;
    oxi_repacked row;
    memset(&row, 0, sizeof row);
    oxi_storage_plain(storage); /* what overlaps it is put back */
    row.first = job.first = oxi_ptr(t);
    row.bytes = ox_nbytes(t);
    row.dtype = t->dtype;
    row.k = k;
    row.users = 1;
    job.type = type;
    job.row_bytes = (int64_t)oxi_byte_offset(t->dtype, k);
    size_t group_bytes = (size_t)(OXI_REPACKED_ROWS * job.row_bytes);
    size_t bytes = (size_t)oxi_lanes(groups) * group_bytes;
    job.copies = (char *)oxi_try_alloc(bytes);
    oxi_lock_take(&oxi_repacks.lock);
    bool done = job.copies && !oxi_repacks_over(row.first, row.bytes) && oxi_repacks_add(&row, group_bytes);
    if (done && !storage->layout) storage->layout = &oxi_repacked_layout;
    oxi_repacks.packing += done;
    oxi_lock_give(&oxi_repacks.lock);
    if (done) {
        oxi_parallel_for(groups, oxi_repack_task, &job);
        oxi_lock_take(&oxi_repacks.lock);
        oxi_repacked *one = oxi_repacks_over(row.first, row.bytes);
        one->ready = true;
        one->users--;
        oxi_repacks.packing--;
        oxi_lock_give(&oxi_repacks.lock);
    }
    oxi_free(job.copies, bytes);
}
