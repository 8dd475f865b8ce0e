/* What the rooms above use of tensor/: storages, devices, making tensors from parts, walking strides.
 * A tensor header comes from type-stable memory, so a late ox_release is counted, not a crash. */
/* WORDS OF THIS ROOM
 *     storage        reference-counted memory of one device; views share it
 *     layout         how a storage's bytes lie: plain, as the dtypes say, or as kernels read them faster
 *     header         an ox_tensor without its storage. meta: one that only describes; borrowed: one that is a
 *                    copy of another's and holds no reference
 *     host device    one whose memory the CPU reads at its address
 *     partner        the device whose tensors may stand beside a device's own in one call
 *     part           a piece of a call that was cut, computed as in the whole (oxi_part of ops/call/call.h)
 *     ahead          work that is recorded before its input is known, and started when it is
 *     region         bytes of a file that a device reads itself, as a storage
 *     version        counts changes in place, so that what was made of a storage can be seen to be stale */
#ifndef OX_TENSOR_INTERNAL_H
#define OX_TENSOR_INTERNAL_H

struct oxi_call;
struct oxi_part;
struct oxi_file_id;

/* A device is this struct. Pointers it hands out are its own handles; only `host` devices' are addresses. */
/* Work that is recorded before what it works on is known, and run when it is: a device computes one step
 * while the next is made ready. Recorded work is void as soon as the device is used for anything else. */
typedef struct oxi_ahead {
    /* What this thread calls from now on is recorded; it works on `bytes` at `memory` that come with `start`,
     * and leaves up to out_bytes. False: not now, and calls run as ever. */
    bool (*begin)(ox_device *self, void *memory, size_t bytes, size_t out_bytes);
    /* Ends it with out_bytes at `offset` of `memory` as its result (NULL: given up). Its number; 0: it could
     * not be kept back and has run on whatever was there. */
    int64_t (*end)(ox_device *self, const void *memory, size_t offset);
    /* Runs it on `data`. False: it is void. */
    bool (*start)(ox_device *self, int64_t number, const void *data);
    /* Waits for the result, which goes to `out`, or stays where *there is told: until one after it is started
     * (out or there is NULL). Before the one after the next is recorded. */
    ox_status (*take)(ox_device *self, int64_t number, void *out, const void **there);
} oxi_ahead;

/* A point in the work of a device. Plain data: nothing is to be freed. */
typedef struct oxi_event {
    ox_device *device;               /* whose work it is; NULL: it is over */
    int64_t count[3];                /* the device's own counts */
} oxi_event;

/* Bytes from `offset` on of what a device's alloc gave; of a host device, of the memory at that address. */
typedef struct oxi_place {
    ox_device *device;
    void *memory;
    size_t offset;
} oxi_place;

/* How bytes come from one device's memory into another's. */
typedef enum oxi_peer {
    OXI_PEER_NONE = 0,               /* through ordinary memory of the host, by read and write */
    OXI_PEER_PINNED,                 /* through host memory that is pinned for both, with copy_async */
    OXI_PEER_DIRECT                  /* one of the two reads and writes the other's memory itself */
} oxi_peer;

struct ox_device {
    const char *name;                /* "cpu", "vulkan:0" */
    bool host;                       /* memory can be read by the CPU as it lies */
    ox_status (*alloc)(ox_device *self, size_t bytes, void **out);
    void (*free)(ox_device *self, void *memory, size_t bytes);
    ox_status (*read)(ox_device *self, const void *memory, size_t offset, void *out, size_t bytes);
    ox_status (*write)(ox_device *self, void *memory, size_t offset, const void *data, size_t bytes);
    ox_status (*copy)(ox_device *self, void *to, size_t to_offset, const void *from, size_t from_offset,
                      size_t bytes);
    bool (*supports)(ox_device *self, const struct oxi_call *call);
    ox_status (*run)(ox_device *self, const struct oxi_call *call);
    /* A part of a call, computed as the whole would be (ops/call/call.h). NULL: parts run as calls. */
    ox_status (*run_part)(ox_device *self, const struct oxi_call *call, const struct oxi_part *part);
    ox_status (*sync)(ox_device *self);
    ox_status (*close)(ox_device *self); /* NULL: there is nothing to close */
    /* Block types to floats, both in host memory; out NULL only asks whether it can. NULL: cannot. */
    ox_status (*expand)(ox_dtype dtype, int64_t n, const void *blocks, float *out);
    void *state;
    /* Operands and results of the partner may stand beside the device's own, and results of up to
     * partner_bytes bytes are made there. NULL: all operands of a call are on the device itself. */
    ox_device *partner;
    size_t partner_bytes;
    const oxi_ahead *ahead;          /* NULL: it computes at once */
    bool times_calls;                /* notes them with the profiler itself, when they are over */
    /* It reads files itself: makes *out, a storage over bytes [offset, offset + bytes) of the file at `path`,
     * OX_ERR_IO if that is not the file `id` (base/internal.h) any more. NULL: it does not. */
    ox_status (*region)(ox_device *self, const char *path, const struct oxi_file_id *id, size_t offset,
                        size_t bytes, ox_storage **out);
    /* Somebody holds the device beside its tensors (holds), so that it stays, or lets it go. An error: it is
     * of no use any more. NULL: it stays in any case. */
    ox_status (*hold)(ox_device *self, bool holds);
    /* Copies that are not waited for; NULL: read and write do it, and callers wait.
     * pin: the device will reach the host's memory at *memory itself; where that is NULL it makes memory,
     * whose address comes back there. *out: what unpin takes, after waiting for what is under way. A
     * refusal records no error: whoever asks has another way. copy_async: begins to copy between memory of
     * the device and of the host, or within the device, when `after` (of any device; NULL: at once) is
     * over. Later work of the device waits for it by itself. *done is when the bytes are there. Host memory
     * that is not pinned was read, or is written, on return. pin_event: when all that was begun with pinned
     * memory is over. */
    ox_status (*pin)(ox_device *self, void **memory, size_t bytes, void **out);
    void (*unpin)(ox_device *self, void *pin);
    oxi_event (*pin_event)(ox_device *self, void *pin);
    ox_status (*copy_async)(ox_device *self, const oxi_place *to, const oxi_place *from, size_t bytes,
                            const oxi_event *after, oxi_event *done);
    bool (*event_done)(ox_device *self, const oxi_event *event);
    ox_status (*event_wait)(ox_device *self, const oxi_event *event);
    oxi_peer (*peer)(ox_device *self, ox_device *other);
    /* The accounting of its memory, and the most that alloc may make of it: 0 = no limit. */
    void (*statistics)(ox_device *self, ox_device_stats *out);
    ox_status (*budget)(ox_device *self, uint64_t bytes);
    uint8_t uuid[16];                /* the same in every process; zeros: it has none */
    bool like_cpu;                   /* the CPU runs its calls: what is cut for caches is cut as there */
};

/* Where a call over tensors of these two devices runs: one of them, or NULL when they do not go together. */
static ox_device *oxi_common_device(ox_device *a, ox_device *b);
/* Where what is computed from tensors of a device is kept, whatever its size: itself or its partner. */
static ox_device *oxi_working_device(ox_device *device);

/* Another layout of a storage than the plain one, in which bytes lie as the tensors' dtypes say. It is made
 * and left explicitly; the room that makes it has its functions (cpu/product/repack.c, prepack.c). */
typedef struct oxi_layout {
    /* Puts the bytes back, when those who read them as they lie are done. NULL: they are plain, and the
     * layout is what is kept beside them. */
    void (*leave)(ox_storage *storage);
    /* Forgets the layout as it is: the bytes go, or what is kept beside them. */
    void (*drop)(ox_storage *storage);
    /* Whether a call's executor takes an operand of this storage as it lies; it leaves the layout itself
     * where it cannot. NULL: none does. */
    bool (*takes)(const struct oxi_call *call, const ox_tensor *operand);
} oxi_layout;

/* Reference-counted memory of a device. */
struct ox_storage {
    int64_t references;
    ox_device *device;
    void *data;                      /* host devices: the address of element 0 */
    size_t bytes;
    ox_release_fn release;           /* borrowed memory: called at the end; NULL = the device's free */
    void *release_user;
    void *release_data;              /* what release gets: the address the lender gave */
    bool borrowed;                   /* not from device->alloc */
    bool read_only;                  /* in-place ops are refused: files of streams, lent files */
    const oxi_layout *layout;        /* NULL: plain; else it may lie so, by itself or by another storage */
    void *packed;                    /* the layout's own: what is kept beside the bytes */
    int64_t version;                 /* counts in-place changes */
    bool inference;                  /* made in inference mode: no part of any gradient */
    struct oxi_pin *pin;             /* NULL, or what it is pinned by (tensor/pin.c) */
};

/* ---- events and pinned memory (tensor/pin.c) -------------------------------------------------------- */

/* Host memory that a device reads and writes itself. */
typedef struct oxi_pin {
    ox_device *device;
    void *memory, *handle;
    size_t bytes;
    void *block;                     /* of oxi_alloc, with block_bytes; NULL: the device's driver made it */
    size_t block_bytes;
    int64_t pending;                 /* atomic: copies begun since the last wait */
} oxi_pin;

/* Memory of the host that stays its owner's, pinned for a device until that closes. */
typedef struct oxi_pinned_memory {
    ox_device *device;
    void *handle;                    /* NULL: it is not pinned (any more) */
    struct oxi_pinned_memory *next;
} oxi_pinned_memory;

static bool oxi_event_done(const oxi_event *event);
static ox_status oxi_event_wait(const oxi_event *event);
/* Memory of the host for `device`, perhaps of a pin that was dropped; out->bytes are those asked for or some
 * more. False, and no error: there is none to be had. */
static bool oxi_pin_make(ox_device *device, size_t bytes, oxi_pin *out);
static void oxi_pin_drop(oxi_pin *pin);
/* Gives back what is kept of dropped pins, for `device` or (NULL) all; false: there was nothing. */
static bool oxi_pins_trim(const ox_device *device);
/* The same for memory that is there already, until oxi_unpin_memory (which waits for copies that are under
 * way) or the device closes. *out stays where it is meanwhile. */
static bool oxi_pin_memory(ox_device *device, void *memory, size_t bytes, oxi_pinned_memory *out);
static void oxi_unpin_memory(oxi_pinned_memory *pinned);
/* Until no copy that was begun with it is under way. */
static ox_status oxi_pin_settle(oxi_pin *pin);
/* A storage of the CPU that is pinned for `device`; NULL, and no error, where it cannot be. */
static ox_storage *oxi_storage_pinned(ox_device *device, size_t bytes);
static bool oxi_storage_is_pinned_for(const ox_storage *storage, const ox_device *device);
/* Bytes from one storage's memory into another's, of other devices. waits false: with pinned memory they may
 * still be on their way on return; oxi_storage_data of the storages waits for them. */
static ox_status oxi_storage_move(ox_storage *to, size_t to_offset, ox_storage *from, size_t from_offset,
                                  size_t bytes, bool waits);
/* The device is about to close: nothing of its memory is kept here any more. */
static void oxi_device_leaves(ox_device *device);

/* ---- storages ------------------------------------------------------------------------------------------ */

static ox_storage *oxi_storage_new(ox_device *device, size_t bytes);               /* one reference */
static ox_storage *oxi_storage_borrow(ox_device *device, void *data, size_t bytes, ox_release_fn release,
                                      void *user);
static void oxi_storage_retain(ox_storage *storage);
static void oxi_storage_release(ox_storage *storage);
/* Makes the layout plain and waits for copies on their way there. Who reads or writes bytes asks for it
 * first: for the operands and results of calls oxi_run_part does (ops/call/call.c). */
static void oxi_storage_plain(ox_storage *storage);
/* The same for good: what a layout keeps beside the bytes goes, too. */
static void oxi_storage_unpack(ox_storage *storage);
/* oxi_storage_plain, and storage->data. */
static void *oxi_storage_data(ox_storage *storage);

/* A contiguous tensor with storage of its own, registered in the innermost scope. */
static ox_tensor *oxi_tensor_new(ox_device *device, ox_dtype dtype, int ndim, const int64_t *shape);
/* A tensor over `storage` (which gains a reference) with the dtype, shape, stride, offset of `meta`. */
static ox_tensor *oxi_tensor_over(ox_storage *storage, const ox_tensor *meta);
/* Fills shape and contiguous strides of a header that only describes (no storage). */
static void oxi_meta(ox_tensor *meta, ox_dtype dtype, int ndim, const int64_t *shape);
/* A header over the elements of t, to be changed at will; it holds no reference. */
static ox_tensor oxi_borrowed(const ox_tensor *t);
/* Strides that no element is reached by may be any number of the caller's: what is empty gets those of a
 * contiguous tensor, a dim of one element 0 where sums of strides and bytes would not fit 64 bits. */
static void oxi_settle_strides(ox_tensor *meta);

/* Checks a shape: dims >= 0, at most OX_MAX_DIMS, numel and bytes fit. `op` starts the message. */
static ox_status oxi_check_shape(const char *op, ox_dtype dtype, int ndim, const int64_t *shape,
                                 size_t *bytes);
/* dim in [-ndim, ndim) -> [0, ndim); -1 and OX_ERR_DIM otherwise. 0-d tensors count as 1-d, as in torch. */
static int oxi_wrap_dim(const char *op, int dim, int ndim);
/* Bytes from the start of the storage to element `offset`; for block types offset is a multiple of the
 * block. */
static size_t oxi_byte_offset(ox_dtype dtype, int64_t offset);
/* Host address of the first element; the tensor must be on a host device. Changes nothing: within calls,
 * where bytes are plain already. */
static char *oxi_ptr(const ox_tensor *t);
/* The same outside of calls: asks for the plain layout. */
static char *oxi_plain_ptr(const ox_tensor *t);
/* "[2,3]" and "f32[2,3]" into one of a few rotating per-thread buffers, for messages. */
static const char *oxi_shape_text(int ndim, const int64_t *shape);
static const char *oxi_tensor_text(const ox_tensor *t);
/* One of those buffers. */
#define OXI_TEXT_ROOM 224
static char *oxi_text_buffer(void);

/* ox_dtype_get_info. */
OXI_SMALL const ox_dtype_info *oxi_info(ox_dtype dtype);
OXI_SMALL bool oxi_is_float(ox_dtype dtype);
OXI_SMALL bool oxi_is_block(ox_dtype dtype);
OXI_SMALL bool oxi_is_int(ox_dtype dtype);                     /* bool is not */

/* t itself if it is contiguous, otherwise a contiguous copy; in both cases a reference the caller
 * releases. */
static ox_tensor *oxi_contiguous(ox_tensor *t);

/* ---- one element at a time, for slow paths and printing ------------------------------------------------ */

static double oxi_f16_to_f64(uint16_t h);
static uint16_t oxi_f32_to_f16(float f); /* to nearest even, overflow to infinity, NaN kept */
static float oxi_bf16_to_f32(uint16_t h);
static uint16_t oxi_f32_to_bf16(float f);
static float oxi_f16_to_f32(uint16_t h);
static float oxi_f8_e4m3_to_f32(uint8_t b);                   /* fn: no infinity, NaN 0x7f */
static uint8_t oxi_f32_to_f8_e4m3(float f);    /* overflow and infinity to +-448, as torch 2.14 */
static float oxi_f8_e5m2_to_f32(uint8_t b);
static uint8_t oxi_f32_to_f8_e5m2(float f);                   /* overflow to infinity */
/* The number at `element` (any alignment), of a plain dtype; c64: its real part. Floats to i64 truncate. */
static double oxi_element_to_f64(ox_dtype dtype, const void *element);
static int64_t oxi_element_to_i64(ox_dtype dtype, const void *element);   /* u64: its bits */

#endif
