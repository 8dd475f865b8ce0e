/* Windows of an image, where they lie: element [tap, place] of the matrix that convolutions multiply by,
 * never laid out as a whole. Of taps, places and the elements outside of an image: in form/form.h. */
#ifndef OX_CPU_WINDOWS_H
#define OX_CPU_WINDOWS_H

/* Tap t is (channel, i[3]), place p is (sample, j[3]), counted in the order of memory, the last fastest. They
 * meet at position origin + j step + i spacing of each dim: 0 where that is outside of [0, size). step is at
 * least 1. Strides are elements of data. */
typedef struct oxi_windows {
    const char *data;
    ox_dtype dtype;
    int64_t channel_stride, sample_stride;
    int64_t taps[3], spacing[3];
    int64_t places[3], origin[3], step[3];
    int64_t size[3], stride[3];
} oxi_windows;

/* Places that lie `step` elements apart, the first at `offset`, or all outside. */
typedef struct oxi_window_run {
    int64_t offset, step, count;
    bool outside;
} oxi_window_run;

/* `taps` rows of `count` elements: taps and places that follow each other. Rows are `row` elements apart. */
static void oxi_windows_read(const oxi_windows *w, int64_t tap, int64_t taps, int64_t place, int64_t count,
                             char *out, int64_t row);
/* Of windows with one tap: at most `count` places from one on. Those behind the end of a dim are outside. */
static oxi_window_run oxi_windows_run(const oxi_windows *w, int64_t place, int64_t count);
/* Joins dims whose places lie end to end, so that runs are long. */
static void oxi_windows_join(oxi_windows *w);
/* Whether all places of one tap lie *step elements apart, the first at *offset. */
static bool oxi_windows_are_even(const oxi_windows *w, int64_t samples, int64_t *offset, int64_t *step);

#endif
