/* Making tensors, and getting numbers in and out of them. New tensors are contiguous and on the thread's
 * default device; ox_number, ox_integer, ox_from_scalar and ox_from_blob on the CPU, and the _like forms
 * where t is.
 * shapes   any; 0-size dims are legal. dtype OX_DTYPE_NONE means the thread's default dtype, f32 at first
 *          (randint, randperm: i64; from_floats, from_doubles, from_ints: the dtype of the numbers)
 * errors   OX_ERR_SHAPE negative dim or too many elements; OX_ERR_DTYPE; OX_ERR_NOMEM
 * source   the torch functions of the same names */
#ifndef OX_OPS_CREATE_H
#define OX_OPS_CREATE_H

OX_EXTERN_C_BEGIN

/* Where the calling thread's new tensors are made: ox_cpu() at first. NULL sets ox_cpu(). Returns the one
 * before. OX_DEVICE_SCOPE(device) { ... } sets it for a block and may be left like OX_SCOPE. Operations run
 * where their operands are, whatever the default is. A device must not be closed while it is a default.
 * source    torch.set_default_device, with torch.device(..) */
OX_API ox_device *ox_default_device(void);
OX_API ox_device *ox_set_default_device(ox_device *device);
typedef struct ox_device_scope { ox_device *previous; bool open; } ox_device_scope;
OX_API ox_device_scope ox_device_scope_begin(ox_device *device);
OX_API void ox_device_scope_end(ox_device_scope *scope);
#define OX_DEVICE_SCOPE(device) \
    OXI_SCOPE_OF(ox_device_scope, ox_device_scope_begin(device), ox_device_scope_end)
/* What OX_DTYPE_NONE means to the calling thread's functions that make tensors: f64, f32, f16 or bf16;
 * OX_ERR_DTYPE for others, and nothing is set. OX_DTYPE_NONE sets f32. Integers in float ops give f32 all the
 * same, where torch gives its default.
 * source    torch.set_default_dtype */
OX_API ox_dtype ox_default_dtype(void);
OX_API ox_status ox_set_default_dtype(ox_dtype dtype);

OX_API ox_tensor *ox_empty(ox_shape shape, ox_dtype dtype);    /* not cleared; block types too */
OX_API ox_tensor *ox_zeros(ox_shape shape, ox_dtype dtype);
OX_API ox_tensor *ox_ones(ox_shape shape, ox_dtype dtype);
/* torch looks at the number's type where it gets no dtype: for that, ox_full_scalar. */
OX_API ox_tensor *ox_full(ox_shape shape, double value, ox_dtype dtype);
/* [start, end). Without a dtype i64, or the default one where one of the three is not whole: (0, 1, 0.1).
 * Integers step by whole numbers, counted in i64 (u64 in its own), and keep the low bits, as in torch.
 * OX_ERR_ARG: a step of 0 or away from the end, ends that are not finite, integers beyond i64 */
OX_API ox_tensor *ox_arange(double start, double end, double step, ox_dtype dtype);
/* Both ends are in; OX_ERR_ARG if one does not fit the dtype (a negative one an unsigned type). Numbers are
 * made in f64 from the end that is nearer, then rounded to floats; integers get whole ends and truncate what
 * lies between. torch makes floats in their own type, and fuses products and sums where the processor can:
 * its last bits differ from one machine to another, and so do its integers at whole numbers. */
OX_API ox_tensor *ox_linspace(double start, double end, int64_t steps, ox_dtype dtype);
OX_API ox_tensor *ox_eye(int64_t rows, int64_t columns, ox_dtype dtype);
OX_API ox_tensor *ox_number(double value);                     /* 0-dim, category float: x + 1.5 */
OX_API ox_tensor *ox_integer(int64_t value);                   /* 0-dim, category int: i + 1 */

/* A number of any kind, exactly: integers beyond 2^53, which a double does not hold, and complex ones.
 * Doubles are the everyday form of every function; ox_from_scalar makes an operand of any number.
 *   ox_add(x, ox_from_scalar(ox_scalar_int(n)))      ox_mul(z, ox_from_scalar(ox_scalar_complex(0, 1))) */
typedef struct ox_scalar {
    ox_dtype dtype;          /* its kind: OX_BOOL OX_I64 OX_U64 OX_F64 OX_C64; OX_DTYPE_NONE is none */
    int64_t integer;         /* of bool 0 or 1, of u64 its bits; else 0 */
    double real, imaginary;  /* of floats and complex numbers; else 0 */
} ox_scalar;
OX_API ox_scalar ox_scalar_bool(bool value);
OX_API ox_scalar ox_scalar_int(int64_t value);
OX_API ox_scalar ox_scalar_uint(uint64_t value);
OX_API ox_scalar ox_scalar_float(double value);
OX_API ox_scalar ox_scalar_complex(double real, double imaginary);
/* 0-dim, of its category as ox_number and ox_integer: i32 + complex is c64. Parts of complex numbers are
 * rounded to f32. */
OX_API ox_tensor *ox_from_scalar(ox_scalar value);
/* Without a dtype the scalar's own (floats: the default), as in torch. OX_ERR_ARG where an integer type does
 * not hold the number, and for an imaginary part in real numbers; fractions are truncated. Beyond the range
 * of a float type: as ox_cast, where torch refuses. */
OX_API ox_tensor *ox_full_scalar(ox_shape shape, ox_scalar value, ox_dtype dtype);
OX_API ox_tensor *ox_empty_like(const ox_tensor *t);           /* shape, dtype and device of t, contiguous */
OX_API ox_tensor *ox_zeros_like(const ox_tensor *t);
OX_API ox_tensor *ox_ones_like(const ox_tensor *t);
OX_API ox_tensor *ox_full_like(const ox_tensor *t, double value);

/* Random numbers come from Philox4x32-10, keyed by the seed, one counter a tensor: the same for any thread
 * count. Seed and counter are those of the calling thread's generator: the default one, which all threads
 * share, or the one that ox_generator_use gave it. A call takes them when it is made, wherever it runs. */
typedef struct ox_generator ox_generator;
/* All that a generator is: save it, and set it again for the same numbers from there on. */
typedef struct ox_generator_state { uint64_t seed, counter; } ox_generator_state;

/* A generator of its own, counter 0; NULL: OX_ERR_NOMEM. No thread may have it in use any more when it is
 * closed, but for the one that closes it, which has the default one then.
 * source    torch.Generator */
OX_API ox_generator *ox_generator_open(uint64_t seed);
OX_API void ox_generator_close(ox_generator *generator);
/* A new seed, and the counter at 0. NULL, here and in the next two, is the default generator; its seed is 0
 * at first. Threads may draw from one generator at the same time, each call gets numbers of its own; which
 * ones depends on who comes first. Setting one that others draw from gives them a mix of the two states. */
OX_API void ox_generator_seed(ox_generator *generator, uint64_t seed);
OX_API ox_generator_state ox_generator_get_state(ox_generator *generator);
OX_API void ox_generator_set_state(ox_generator *generator, ox_generator_state state);
/* ox_generator_seed of the default generator: torch.manual_seed. */
OX_API void ox_manual_seed(uint64_t seed);
/* Random calls of this thread draw from `generator` from now on, NULL: the default one. Returns the one
 * before. OX_GENERATOR_SCOPE(generator) { ... } does it for a block and may be left like OX_SCOPE. */
OX_API ox_generator *ox_generator_use(ox_generator *generator);
typedef struct ox_generator_scope { ox_generator *previous; bool open; } ox_generator_scope;
OX_API ox_generator_scope ox_generator_scope_begin(ox_generator *generator);
OX_API void ox_generator_scope_end(ox_generator_scope *scope);
#define OX_GENERATOR_SCOPE(generator) \
    OXI_SCOPE_OF(ox_generator_scope, ox_generator_scope_begin(generator), ox_generator_scope_end)

OX_API ox_tensor *ox_rand(ox_shape shape, ox_dtype dtype);     /* uniform in [0, 1) */
OX_API ox_tensor *ox_randn(ox_shape shape, ox_dtype dtype);    /* normal, mean 0, deviation 1 */
/* [low, high), whose numbers the dtype holds (floats rounded): OX_ERR_ARG otherwise */
OX_API ox_tensor *ox_randint(int64_t low, int64_t high, ox_shape shape, ox_dtype dtype);
OX_API ox_tensor *ox_randperm(int64_t n, ox_dtype dtype);
OX_API ox_tensor *ox_rand_like(const ox_tensor *t);            /* shape, dtype and device of t */
OX_API ox_tensor *ox_randn_like(const ox_tensor *t);
OX_API ox_tensor *ox_randint_like(const ox_tensor *t, int64_t low, int64_t high);

/* A copy of row-major numbers of that dtype at `data`. */
OX_API ox_tensor *ox_from_data(const void *data, ox_shape shape, ox_dtype dtype);
/* The same from floats (doubles, int64s), converted to dtype. */
OX_API ox_tensor *ox_from_floats(const float *data, ox_shape shape, ox_dtype dtype);
OX_API ox_tensor *ox_from_doubles(const double *data, ox_shape shape, ox_dtype dtype);
OX_API ox_tensor *ox_from_ints(const int64_t *data, ox_shape shape, ox_dtype dtype);
/* A tensor over the caller's memory, not copied. `release(user, data)` is called when the last view is
 * gone; it may be NULL, then the memory must outlive the tensor. Strides in elements; strides NULL =
 * contiguous. */
typedef void (*ox_release_fn)(void *user, void *data);
OX_API ox_tensor *ox_from_blob(void *data, ox_shape shape, const int64_t *strides, ox_dtype dtype,
                               ox_release_fn release, void *user);

/* The single element of t as a double (int64), of c64 its real part; t may be on any device. Errors
 * OX_ERR_SHAPE unless numel is 1. ox_item_int is exact for integers; of u64 it gives the bits, which a cast
 * to uint64_t reads. ox_item_scalar is exact for every dtype, and of dtype OX_DTYPE_NONE on error. */
OX_API double ox_item(ox_tensor *t);
OX_API int64_t ox_item_int(ox_tensor *t);
OX_API ox_scalar ox_item_scalar(ox_tensor *t);
/* Copies t, row-major whatever its strides, into `out`, which has room for `count` numbers; count must be
 * numel. The plain form keeps the dtype, the others convert. */
OX_API ox_status ox_to_data(ox_tensor *t, void *out, size_t bytes);
OX_API ox_status ox_to_floats(ox_tensor *t, float *out, int64_t count);
OX_API ox_status ox_to_doubles(ox_tensor *t, double *out, int64_t count);
OX_API ox_status ox_to_ints(ox_tensor *t, int64_t *out, int64_t count);

/* Same shape, dtype and numbers (NaN equals nothing, -0 equals 0): torch.equal. */
OX_API bool ox_equal(ox_tensor *a, ox_tensor *b);
/* |a - b| <= atol + rtol |b| everywhere; shapes broadcast: torch.allclose. */
OX_API bool ox_allclose(ox_tensor *a, ox_tensor *b, double rtol, double atol, bool equal_nan);

OX_EXTERN_C_END
#endif
