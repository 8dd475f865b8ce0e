/* Tensors as text, as PyTorch prints them: brackets, aligned columns, 4 digits, "..." beyond 1,000
 * elements, dtype at the end. ox_format works on any device. */
#ifndef OX_TENSOR_PRINT_H
#define OX_TENSOR_PRINT_H

OX_EXTERN_C_BEGIN

/* Writes at most `room` bytes with the final 0 to `out` (NULL with room 0 to measure); returns the length
 * of the whole text. */
OX_API size_t ox_format(ox_tensor *t, char *out, size_t room);
#ifndef OX_NO_STDIO
/* To standard output, with a newline. */
OX_API ox_status ox_print(ox_tensor *t);
#endif

OX_EXTERN_C_END
#endif
