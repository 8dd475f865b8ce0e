/* Inside the files room: what an open file is, what a format offers, and the JSON and zip readers under
 * the formats. A format is a row of functions; opening fills the file's directory (items and metadata),
 * loading is shared. Higher rooms register formats and region readers of their own here. */
/* WORDS OF THIS ROOM
 *     format         a row of functions: GGUF, safetensors, npy, npz
 *     directory      what a file says about its arrays: items, names, shapes, metadata; read by ox_file_open
 *     item           one array of a file; member: one file of a zip archive
 *     part           one file of an open one (a shard). In parts: not mapped, read piece by piece
 *     window         bytes of a part that can be seen at an address for a while
 *     packed         compressed; swapped: in the other byte order than the host's
 *     arena          memory for names and shapes that lives as long as the file
 *     output         a file that is being written, and gets its name when it is whole */
#ifndef OX_FILES_INTERNAL_H
#define OX_FILES_INTERNAL_H

/* ---- what an open file is (files/contents.c) -------------------------------------------------------- */

/* One file of an open one; a sharded model has several. It is mapped, or, for a device that reads files
 * itself, mapped in parts. Formats see its bytes through oxi_file_window and oxi_file_copy. Those of a mapped
 * file change when somebody writes to it: what is checked is copied first, and not read again. */
typedef struct oxi_file_part {
    oxi_mapping mapping;
    const char *path;
    const unsigned char *window; /* in parts: what oxi_file_window read last */
    size_t window_at, window_bytes;
    bool borrowed;               /* the caller's memory: not unmapped */
} oxi_file_part;

/* One array of a file: where its numbers lie and how to read them. Names and shapes lie in the file's
 * arena. */
typedef struct oxi_file_item {
    const char *name;
    const int64_t *shape;        /* row-major, ndim numbers */
    const char *unsupported;     /* why it cannot be loaded; NULL = it can */
    size_t at;                   /* byte of the part where the directory describes it, for messages */
    size_t offset, bytes;        /* the numbers, in the part; packed: in what it unpacks to */
    uint32_t part;
    uint32_t extra;              /* for the format's own use */
    uint8_t dtype, ndim;
    bool fortran;                /* column-major */
    bool swapped;                /* byte order is not the host's */
    bool packed;                 /* the format's load unpacks it */
} oxi_file_item;

/* One array of the metadata. */
typedef struct oxi_meta_array {
    const unsigned char *data;   /* numbers: the first element, little-endian */
    int64_t count;
    const ox_string *texts;        /* STRING: the elements */
    const struct oxi_meta_array *inner;  /* ARRAY: the elements */
    int type;                    /* GGUF value type of the elements */
} oxi_meta_array;

typedef struct oxi_meta_item {
    const char *key;
    const void *data;            /* STRING: its bytes; ARRAY: an oxi_meta_array */
    union { int64_t i; double f; } value;    /* STRING: i is its length */
    uint32_t key_length;
    uint16_t type, stored;       /* ox_file_meta_type; a number of GGUF: its type in the file */
} oxi_meta_item;

struct oxi_format;

struct ox_file {
    int64_t references;          /* the user's one and one for each storage that lies in it */
    const struct oxi_format *format;
    ox_device *device;
    bool copies;                 /* parts are read into memory */
    oxi_file_part *parts;
    size_t part_count, part_room;
    oxi_file_item *items;        /* in file order */
    size_t item_count, item_room;
    oxi_meta_item *metas;
    size_t meta_count, meta_room;
    uint32_t *item_order, *meta_order;       /* indexes sorted by name */
    void *chunks;                /* arena of names, shapes, indexes: freed with the file */
    void *state;                 /* the format's own */
};

/* A format. open reads parts[0] (mapped) and may add parts; what it has put into `file` is freed by the
 * caller when it fails, apart from `state`, which close frees in every case. */
typedef struct oxi_format {
    const char *name;
    const char *extension;       /* ".gguf": decides when no content is known */
    bool (*probe)(const unsigned char *data, size_t bytes); /* looks at 16 bytes at most */
    ox_status (*open)(ox_file *file);
    ox_status (*check)(ox_file *file, const oxi_file_item *item); /* before it is loaded; NULL = nothing */
    ox_tensor *(*load)(ox_file *file, const oxi_file_item *item); /* of packed items; NULL = it has none */
    void (*close)(ox_file *file); /* NULL = no state */
} oxi_format;

/* Adds a format, asked before those that are there; `format` must stay. False when the table is full. */
static bool oxi_file_register(const oxi_format *format);

/* ox_file_open over memory that stays as it is until the file and its tensors are gone. `label` is the name
 * in messages. */
static ox_file *oxi_open_memory(const char *label, const void *data, size_t bytes, ox_device *device);

/* Records "path: offset N: words" (no offset when at is SIZE_MAX) and returns status. */
static ox_status oxi_file_fail(ox_status status, const ox_file *file, size_t part, size_t at,
                               const char *format, ...) OXI_PRINTF(5, 6);
/* Until oxi_speak_end, which takes the answer, errors of this thread begin with the file's path as well:
 * "llm: words" becomes "path: words". For what reads more out of the file than its format. */
static bool oxi_speak_for_file(const ox_file *file);
/* The end of a path that is too long for a message. */
static const char *oxi_path_text(const char *path);
/* A name from a file made fit for a message: 'name', cut after 60 bytes, control characters as '?'. */
typedef struct oxi_quoted { char text[72]; } oxi_quoted;
static oxi_quoted oxi_quote(const char *name, size_t length);
#define OXI_QUOTE(name) oxi_quote(name, strlen(name)).text

/* Memory that lives as long as the file. Small alignment (8). NULL and OX_ERR_NOMEM when there is none. */
static void *oxi_file_take(ox_file *file, size_t bytes);
/* Room for `need` records of `each` bytes: the block, moved when it had to grow (to the double when not
 * `exact`); NULL leaves it as it was. *room counts records. */
static void *oxi_grow(void *memory, size_t *room, size_t need, size_t each, bool exact);
/* New cleared records at the end, or NULL. */
static oxi_file_part *oxi_file_add_part(ox_file *file);
static oxi_file_item *oxi_file_add_item(ox_file *file);
static oxi_meta_item *oxi_file_add_meta(ox_file *file);
/* Maps the file at `path` as a new part. */
static ox_status oxi_file_map_part(ox_file *file, const char *path);
/* *out receives where bytes [at, at + bytes) of a part, which it has, can be seen as long as the file is
 * open. In parts they are read, with some more behind them: for what is read from front to back. Errors
 * OX_ERR_IO, OX_ERR_NOMEM. */
static ox_status oxi_file_window(ox_file *file, size_t part, size_t at, size_t bytes,
                                 const unsigned char **out);
/* Copies them to `out`. */
static ox_status oxi_file_copy(const ox_file *file, size_t part, size_t at, void *out, size_t bytes);
/* Visits bytes of a part: at once where they are mapped, else in pieces of OXI_FILE_PIECE bytes. */
typedef ox_status (*oxi_piece_fn)(void *user, size_t done, const unsigned char *data, size_t bytes);
static ox_status oxi_file_visit(const ox_file *file, size_t part, size_t at, size_t bytes,
                                oxi_piece_fn visit, void *user);
/* Describes a plain array; false when a size overflows. bytes receives the size of its numbers. */
static bool oxi_item_shape(oxi_file_item *item, ox_dtype dtype, int ndim, const int64_t *shape,
                           size_t *bytes);

/* Sorts indexes 0..count-1 by compare (merge sort: stable, no worst case); scratch has room for count as
 * well. */
typedef int (*oxi_compare_fn)(const void *user, uint32_t a, uint32_t b);
static void oxi_sort_indexes(uint32_t *order, uint32_t *scratch, uint32_t count, oxi_compare_fn compare,
                             const void *user);
static int oxi_compare_text(const char *a, size_t a_length, const char *b, size_t b_length);

/* Little-endian numbers at any address. */
static uint16_t oxi_read_u16(const unsigned char *p);
static uint32_t oxi_read_u32(const unsigned char *p);
static uint64_t oxi_read_u64(const unsigned char *p);
static bool oxi_big_endian_host(void);
/* Copies bytes with the order inside each unit of 1, 2, 4 or 8 bytes reversed; `to` may lie before
 * `from`. */
static void oxi_copy_swapped(void *to, const void *from, size_t bytes, size_t unit);
/* Bytes that are reversed together: half an element for complex types. */
static size_t oxi_swap_unit(ox_dtype dtype);

/* A tensor over the item's numbers, which lie at `data` (inside the file's mapping): zero copy where
 * alignment and byte order allow, else a copy. */
static ox_tensor *oxi_item_tensor(ox_file *file, const oxi_file_item *item, const unsigned char *data);
/* The same from a part in parts, whose byte order is not the host's: in memory of the file's device. */
static ox_tensor *oxi_item_swapped(ox_file *file, const oxi_file_item *item);
/* A tensor over `storage` (contiguous numbers from its start), on the file's device. */
static ox_tensor *oxi_item_over(ox_file *file, const oxi_file_item *item, ox_storage *storage);

/* ---- the system (files/filesystem.c) ------------------------------------------------------------------ */

typedef void (*oxi_folder_fn)(void *user, const char *name);
static bool oxi_is_folder(const char *path);
static bool oxi_is_file(const char *path);
/* Visits each name in a folder, in no order. */
static ox_status oxi_list_folder(const char *path, oxi_folder_fn visit, void *user);
/* A file that was not there, to be written to, in the place of `old`: who may not see that may not see it. An
 * errno of EEXIST: there is something of that name, if only a link. */
static FILE *oxi_create_file(const char *path, const char *old);
static void oxi_remove_file(const char *path);
static bool oxi_rename_file(const char *from, const char *to);       /* replaces `to` */
/* Closes the stream when its bytes are on the disk. */
static bool oxi_close_synced(FILE *stream);
/* Puts the names in a folder on the disk, where the system can. These five leave the cause of a failure in
 * errno. */
static bool oxi_sync_folder(const char *path);
static size_t oxi_folder_length(const char *path);
static bool oxi_ends_with(const char *text, const char *ending);

/* ---- writing (files/atomic_write.c) ------------------------------------------------------------------- */

/* A file that appears under its name only when it is whole. */
typedef struct oxi_output {
    FILE *stream;
    char *path, *temporary;
    size_t path_bytes, temporary_bytes;
    uint64_t written;
    ox_status status;            /* the first failure; later writes do nothing */
} oxi_output;

static ox_status oxi_output_open(oxi_output *output, const char *name, const char *path); /* for ox_<name> */
static void oxi_output_write(oxi_output *output, const void *data, size_t bytes);
static void oxi_output_fill(oxi_output *output, int byte, size_t bytes);
/* Visits the numbers of a contiguous tensor of any device in the file's byte order, little-endian, in
 * pieces. */
typedef void (*oxi_bytes_fn)(void *user, const char *data, size_t bytes);
static ox_status oxi_visit_numbers(const ox_tensor *t, oxi_bytes_fn visit, void *user);
/* Writes them. */
static void oxi_output_tensor(oxi_output *output, const ox_tensor *t);
/* Everything is on the disk, still under the temporary name. */
static ox_status oxi_output_finish(oxi_output *output);
/* Gives the finished file its name. Frees the output. */
static ox_status oxi_output_rename(oxi_output *output);
/* Removes the temporary file, when there still is one. Frees the output. */
static void oxi_output_drop(oxi_output *output);
/* Names for a file: there, not empty, no two alike. */
static ox_status oxi_check_names(const char *op, const char *const *names, int64_t count);
/* t, contiguous; a reference the caller releases. NULL in gives OX_ERR_ARG. */
static ox_tensor *oxi_writable(const char *op, ox_tensor *t);

/* ---- JSON (files/json.c) ----------------------------------------------------------------------------- */

typedef enum oxi_json_type {
    OXI_JSON_END = 0, OXI_JSON_ERROR, OXI_JSON_NULL, OXI_JSON_BOOL, OXI_JSON_INT, OXI_JSON_FLOAT,
    OXI_JSON_STRING, OXI_JSON_KEY, OXI_JSON_ARRAY, OXI_JSON_ARRAY_END, OXI_JSON_OBJECT, OXI_JSON_OBJECT_END
} oxi_json_type;

/* Reads a text token by token (RFC 8259, strictly; at most 64 levels). No memory, no recursion. */
typedef struct oxi_json_reader {
    const char *text;
    size_t length, at;
    size_t start;                /* first byte of the token */
    int64_t i;                   /* INT; BOOL 0 or 1 */
    double f;                    /* INT, FLOAT */
    const char *raw;             /* STRING, KEY: the bytes between the quotes, checked, escapes still in */
    size_t raw_length;
    const char *error;           /* ERROR: the cause */
    uint64_t objects;            /* bit d: level d is an object */
    int depth, expect;
} oxi_json_reader;

static void oxi_json_start(oxi_json_reader *reader, const char *text, size_t length);
static oxi_json_type oxi_json_next(oxi_json_reader *reader);
/* The string of the token as UTF-8; `out` has room for raw_length bytes. Returns its length; no final 0. */
static size_t oxi_json_decode(const oxi_json_reader *reader, char *out);
/* True when the token is a string or key equal to `text`. */
static bool oxi_json_is(const oxi_json_reader *reader, const char *text);
/* After ARRAY or OBJECT: reads up to its end. False on error. */
static bool oxi_json_skip(oxi_json_reader *reader);

/* A whole text as an array of nodes in text order. Node 0 is the root. Elements of an array follow it one
 * after the other; members of an object are a KEY node and the value after it. */
typedef struct oxi_json_node {
    uint32_t type;               /* oxi_json_type, NULL to OBJECT */
    uint32_t at;                 /* byte of the text */
    uint32_t next;               /* index behind the node and all inside it; KEY: behind its value */
    uint32_t length;             /* STRING, KEY: bytes; ARRAY: elements; OBJECT: members */
    union { int64_t i; double f; const char *text; } value;     /* texts end with a 0 */
} oxi_json_node;

typedef struct oxi_json {
    oxi_json_node *nodes;
    size_t count, room;
    char *strings;
    size_t strings_bytes;
} oxi_json;

/* label starts messages. Fails with OX_ERR_FORMAT (where and why in words) or OX_ERR_NOMEM and leaves
 * nothing. */
static ox_status oxi_json_parse(const char *label, const char *text, size_t length, oxi_json *out);
static void oxi_json_free(oxi_json *json);
/* Value of a member; 0 (the root) when `object` is none or has no such key. The first of several. */
static uint32_t oxi_json_find(const oxi_json *json, uint32_t object, const char *key);
/* KEY node of an object that repeats an earlier one; 0 when all differ. OX_ERR_NOMEM through *status. */
static uint32_t oxi_json_duplicate(const oxi_json *json, uint32_t object, ox_status *status);

/* ---- zip and inflate (files/zip.c) ------------------------------------------------------------------- */

typedef struct oxi_zip_member {
    ox_string name;
    size_t at;                   /* of its local header */
    size_t offset;               /* of its bytes */
    size_t packed, unpacked;
    uint32_t crc;
    int method;                  /* 0 stored, 8 deflate */
} oxi_zip_member;

typedef struct oxi_zip {
    oxi_zip_member *members;     /* in file order */
    size_t count, room;
} oxi_zip;

/* Reads and checks the directory of an archive: part 0 of `file`. */
static ox_status oxi_zip_open(ox_file *file, oxi_zip *out);
static void oxi_zip_close(oxi_zip *zip);
/* The first `bytes` (at most unpacked) of a member; the CRC is checked when that is all of it. */
static ox_status oxi_zip_read(const ox_file *file, const oxi_zip_member *member, void *out, size_t bytes);
/* A stored member has the bytes that its CRC is of. */
static ox_status oxi_zip_check(const ox_file *file, const oxi_zip_member *member);
static uint32_t oxi_crc32(uint32_t crc, const void *data, size_t bytes);       /* start with 0 */
/* Deflate (RFC 1951): fills out[0, bytes) and stops there or at the end of the stream; *made says how far
 * it got and *finished whether the stream ended. NULL or the cause of failure. */
static const char *oxi_inflate(const unsigned char *in, size_t in_bytes, unsigned char *out, size_t bytes,
                               size_t *made, bool *finished);

#endif
