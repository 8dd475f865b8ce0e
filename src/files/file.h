/* Model and array files: GGUF v2/v3, safetensors (single and sharded), .npy, .npz.
 * Reading maps the file; tensors lie in it where the format allows (zero copy) and keep it open. Files may
 * be hostile: every field is checked, a bad one is OX_ERR_FORMAT with file, offset and field in words. */
#ifndef OX_FILES_FILE_H
#define OX_FILES_FILE_H
#ifndef OX_NO_STDIO

OX_EXTERN_C_BEGIN

typedef struct ox_file ox_file;

/* ox_file_open - opens a file and reads its directory, not its tensors. The format is told by the content; a
 * path to "x.safetensors.index.json" or to a folder that holds one opens all shards. device NULL = CPU.
 * memory    the caller's share, given back by ox_file_close; the file must not be shortened while it is
 *           open. On a stream that is an error of what is read then
 * errors    NULL: OX_ERR_IO, OX_ERR_FORMAT, OX_ERR_NOMEM; OX_ERR_UNSUPPORTED well-formed, but a version or
 *           type that is not read; OX_ERR_NOT_FOUND a folder with nothing to open. untrusted input: yes */
OX_API ox_file *ox_file_open(const char *path, ox_device *device);
/* The same, but the bytes of the file are read into memory at once, in huge pages where the system has them,
 * instead of being mapped. Weights that are read again and again, one pass a token, can be read half as fast
 * again from there, and a language model repacks them (ox_prepack); it takes the memory and the time that a
 * mapped file does not. */
OX_API ox_file *ox_file_open_copy(const char *path, ox_device *device);
OX_API void ox_file_close(ox_file *file);               /* tensors taken from it live on */
OX_API const char *ox_file_format(const ox_file *file); /* "gguf", "safetensors", "npy", "npz" */

/* What is inside, in file order. */
OX_API int64_t ox_file_count(const ox_file *file);
OX_API const char *ox_file_name(const ox_file *file, int64_t index);   /* NULL out of range */
typedef struct ox_file_entry {
    const char *name;
    ox_dtype dtype; /* OX_DTYPE_NONE: a type that cannot be loaded; ox_file_tensor says which */
    int ndim;
    int64_t shape[OX_MAX_DIMS];      /* row-major, though GGUF has them reversed */
    int64_t bytes;
} ox_file_entry;
OX_API ox_status ox_file_get_entry(const ox_file *file, int64_t index, ox_file_entry *out);
/* A tensor by name or by place; owned like any result. One that lies in the mapped file may be written to:
 * its pages become the program's own, one by one as they are written, and the file never changes. Tensors
 * that were taken from one open file under one name lie in the same pages, and see each other's changes:
 * clone one of them, or open the file again. Those of a stream are read-only (ox_clone them to write).
 * Errors OX_ERR_NOT_FOUND (no such name), OX_ERR_INDEX, OX_ERR_UNSUPPORTED, OX_ERR_FORMAT (a member's
 * checksum), OX_ERR_NOMEM. */
OX_API ox_tensor *ox_file_tensor(ox_file *file, const char *name);
OX_API ox_tensor *ox_file_tensor_at(ox_file *file, int64_t index);
OX_API bool ox_file_has(const ox_file *file, const char *name);
/* Shorthand for one array: the only tensor of a file (.npy). */
OX_API ox_tensor *ox_load_file(const char *path);

/* ---- metadata: GGUF key-value pairs, safetensors' __metadata__ (strings) ----------------------------- */

typedef enum ox_file_meta_type {
    OX_FILE_META_NONE = 0,
    OX_FILE_META_INT,
    OX_FILE_META_UINT,
    OX_FILE_META_FLOAT,
    OX_FILE_META_BOOL,
    OX_FILE_META_STRING,
    OX_FILE_META_ARRAY
} ox_file_meta_type;
typedef struct ox_string {
    const char *data;
    int64_t length;
} ox_string; /* not terminated: may hold zeros */
typedef struct ox_file_meta {
    ox_string key;
    ox_file_meta_type type;               /* OX_FILE_META_NONE = no such key */
    int64_t i;                       /* INT, BOOL; UINT as bits */
    double f;                        /* FLOAT; INT and UINT too */
    ox_string text;                    /* STRING */
    ox_file_meta_type element;            /* ARRAY: type of its elements */
    int64_t count;
    const void *array;               /* private; read through ox_file_meta_element */
    int array_type;
} ox_file_meta;
OX_API int64_t ox_file_meta_count(const ox_file *file);
OX_API ox_file_meta ox_file_meta_at(const ox_file *file, int64_t index);
OX_API ox_file_meta ox_file_meta_find(const ox_file *file, const char *key);
/* Element `index` of an array (constant time; strings too). OX_FILE_META_NONE out of range. */
OX_API ox_file_meta ox_file_meta_element(const ox_file *file, const ox_file_meta *array, int64_t index);
/* Values with a default when the key is missing or of another type. */
OX_API int64_t ox_file_meta_int(const ox_file *file, const char *key, int64_t otherwise);
OX_API double ox_file_meta_float(const ox_file *file, const char *key, double otherwise);

/* ---- writing: to a new file beside `path`, renamed when it is whole, with the mode of what it replaces;
 * tensors of other devices in pieces ------------------------------------------------------------------- */

OX_API ox_status ox_save_npy(const char *path, ox_tensor *t);
OX_API ox_status ox_save_npz(const char *path, const char *const *names, ox_tensor *const *tensors,
                             int64_t count);
/* metadata: `pairs` keys and values in turn, or NULL. max_shard_bytes 0 = one file; else path gets
 * -00001-of-0000N and an index file "<path>.index.json". */
OX_API ox_status ox_save_safetensors(const char *path, const char *const *names, ox_tensor *const *tensors,
                                     int64_t count, const char *const *metadata, int64_t pairs,
                                     int64_t max_shard_bytes);

OX_EXTERN_C_END
#endif
#endif
