/* train.c - trains a network of two layers to read digits, and says how many that it has not seen it reads.
 *
 * Shows   ox_requires_grad_, ox_backward, ox_cross_entropy; an optimizer, its learning rate falling; clipped
 *         gradients; OX_NO_GRAD where nothing is learned.
 * build   cc -O2 examples/train.c -I. -o train -lm -lpthread   (options.h beside it)
 * run     ./train [IMAGES LABELS] [--epochs N] [--hidden N] [--batch N] [--rate X]
 * refuses --batch 0 => train: --batch wants a whole number from 1 to 1000000 (0)
 * refuses no-such-file => train: IMAGES and LABELS go together
 * prints
 *     2000 made images of 12x12, 10 kinds; 200 are kept apart
 *     epoch 1: loss 0.7..., 200 of 200 right
 *     epoch 2: loss 0.00..., 200 of 200 right
 *     epoch 3: loss 0.00..., 200 of 200 right
 */
#define OX_IMPLEMENTATION
#include "oxtorch_nn.h"

#include "options.h"

#include <math.h>

static const char help[] =
    "usage: train [IMAGES LABELS] [options]\n"
    "trains a network of two layers to tell images apart\n"
    "\n"
    "  IMAGES LABELS   files in IDX format, as MNIST and Fashion-MNIST have them (unpack .gz first);\n"
    "                  without them images are made\n"
    "  --epochs N      times that all images are learned from, 3\n"
    "  --hidden N      width of the layer between, 128\n"
    "  --batch N       images a step, 50\n"
    "  --rate X        learning rate at first, 0.002\n"
    "  --help, -h      this text\n"
    "\n"
    "example: train t10k-images-idx3-ubyte t10k-labels-idx1-ubyte --epochs 5\n";

/* int64_t */
static bool read_count(const char *text, void *out) {
    return read_whole(text, out) && *(int64_t *)out >= 1 && *(int64_t *)out <= 1000000;
}

/* A file of bytes: two of 0, 8 for u8, how many sizes there are, the sizes in big-endian, the numbers. */
static ox_tensor *read_idx(const char *path) {
    unsigned char head[4], size[4];
    int64_t sizes[3], count = 1;
    ox_tensor *t = NULL;
    FILE *file = fopen(path, "rb");
    bool good = file && fread(head, 4, 1, file) == 1 && !head[0] && !head[1] && head[2] == 8 &&
                head[3] >= 1 && head[3] <= 3;
    for (int d = 0; good && d < head[3]; d++) {
        good = fread(size, 4, 1, file) == 1;
        sizes[d] = good ? (int64_t)size[0] << 24 | size[1] << 16 | size[2] << 8 | size[3] : 0;
        count *= sizes[d] <= 1 << 24 && count < 1 << 30 ? sizes[d] : 0;
    }
    if (good && count > 0) t = ox_empty(ox_shape_from(head[3], sizes), OX_U8);
    if (!t || fread(ox_data(t), 1, (size_t)count, file) != (size_t)count) {
        fprintf(stderr, "train: %s is no IDX file of bytes\n", path);
        t = NULL;
    }
    if (file) fclose(file);
    return t;
}

/* A pattern a kind, under noise. */
static void make_images(int64_t count, ox_tensor **images, ox_tensor **labels) {
    ox_manual_seed(1);
    ox_tensor *patterns = ox_mul_number(ox_rand(OX_SHAPE(10, 144), OX_F32), 255);
    *labels = ox_randint(0, 10, OX_SHAPE(count), OX_I64);
    ox_tensor *noise = ox_mul_number(ox_randn(OX_SHAPE(count, 144), OX_F32), 100);
    *images = ox_reshape(ox_add(ox_embedding(*labels, patterns), noise), OX_SHAPE(count, 12, 12));
}

typedef struct network {
    ox_tensor *parameters[4];
} network; /* w1 [H,P], b1 [H], w2 [10,H], b2 [10] */

/* Weights of the size that keeps a layer's numbers about as large as those it gets. */
static network make_network(int64_t pixels, int64_t hidden) {
    const int64_t from[2] = {pixels, hidden}, to[2] = {hidden, 10};
    network n;
    for (int layer = 0; layer < 2; layer++) {
        ox_tensor *w = ox_uniform_(ox_empty(OX_SHAPE(to[layer], from[layer]), OX_F32), -1, 1);
        ox_mul_number_(w, 1 / sqrt((double)from[layer]));
        n.parameters[2 * layer] = ox_requires_grad_(w, true);
        n.parameters[2 * layer + 1] = ox_requires_grad_(ox_zeros(OX_SHAPE(to[layer]), OX_F32), true);
    }
    return n;
}

static ox_tensor *logits_of(const network *n, ox_tensor *images) {
    ox_tensor *const *p = n->parameters;
    return ox_linear(ox_relu(ox_linear(images, p[0], p[1])), p[2], p[3]);
}

/* One pass over `count` images in another order each time; the mean loss of its steps. */
static double learn(network *n, ox_optimizer *optimizer, ox_tensor *images, ox_tensor *labels,
                    int64_t batch) {
    int64_t count = ox_size(labels, 0), steps = 0;
    ox_tensor *order = ox_randperm(count, OX_I64), *sum = ox_zeros(OX_SCALAR_SHAPE, OX_F32);
    for (int64_t at = 0; at < count; at += batch, steps++)
        OX_SCOPE {
            ox_tensor *part = ox_narrow(order, 0, at, at + batch < count ? batch : count - at);
            ox_tensor *x = ox_index_select(images, 0, part), *y = ox_index_select(labels, 0, part);
            ox_tensor *loss = ox_cross_entropy(logits_of(n, x), y, NULL);
            ox_optimizer_zero_grad(optimizer);
            ox_backward(loss, NULL);
            ox_clip_grad_norm_(n->parameters, 4, 1, 2);
            ox_optimizer_step(optimizer);
            ox_add_(sum, ox_detach(loss)); /* read once, at the end */
        }
    return ox_item(sum) / (double)steps;
}

static int64_t right_ones(const network *n, ox_tensor *images, ox_tensor *labels) {
    int64_t right = 0;
    OX_NO_GRAD OX_SCOPE {
        right = ox_item_int(
            ox_count_nonzero(ox_eq(ox_argmax(logits_of(n, images), 1, false), labels), OX_ALL_DIMS));
    }
    return right;
}

/* Images [N,rows,columns] and their kinds [N]. On failure says why. */
static bool load(const char *const *files, ox_tensor **images, ox_tensor **labels) {
    if (!files[0]) {
        make_images(2000, images, labels);
        return *images != NULL;
    }
    *images = read_idx(files[0]);
    *labels = *images ? read_idx(files[1]) : NULL;
    if (!*labels) return false;
    if ((*images)->ndim == 3 && (*labels)->ndim == 1 && ox_size(*images, 0) == ox_size(*labels, 0))
        return true;
    fputs("train: these are not images and as many labels\n", stderr);
    return false;
}

static void train(ox_tensor *images, ox_tensor *labels, int64_t hidden, int64_t epochs, int64_t batch,
                  double rate) {
    int64_t all = ox_size(images, 0), apart = all / 10;
    images = ox_sub_number(ox_mul_number(ox_flatten(ox_cast(images, OX_F32), 1, -1), 1 / 128.0), 1);
    labels = ox_cast(labels, OX_I64);
    ox_tensor *seen = ox_narrow(images, 0, apart, all - apart),
              *their = ox_narrow(labels, 0, apart, all - apart);
    network n = make_network(ox_size(images, 1), hidden);
    ox_optimizer *adam = ox_optimizer_open(OX_OPTIMIZER_ADAMW, n.parameters, 4);
    for (int64_t epoch = 0; epoch < epochs && !ox_error(); epoch++)
        OX_SCOPE {
            ox_optimizer_set(adam, OX_ALL_GROUPS, "lr", rate * (double)(epochs - epoch) / (double)epochs);
            double loss = learn(&n, adam, seen, their, batch);
            int64_t right = right_ones(&n, ox_narrow(images, 0, 0, apart), ox_narrow(labels, 0, 0, apart));
            printf("epoch %lld: loss %.3f, %lld of %lld right\n", (long long)epoch + 1, loss,
                   (long long)right, (long long)apart);
        }
    ox_optimizer_close(adam);
}

int main(int count, char **words) {
    const char *files[2] = {NULL, NULL}, *wants = "wants a whole number from 1 to 1000000";
    int64_t epochs = 3, hidden = 128, batch = 50;
    double rate = 0.002;
    bool loaded = false;
    const option options[] = {{"--epochs", read_count, &epochs, wants},
                              {"--hidden", read_count, &hidden, wants},
                              {"--batch", read_count, &batch, wants},
                              {"--rate", read_real, &rate, "wants a number"}};
    const option plain[] = {{"IMAGES", read_text, &files[0], ""}, {"LABELS", read_text, &files[1], ""}};
    const command_line line = {"train", help, options, 4, plain, 2};
    if (!options_read(&line, count, words)) return 2;
    if (files[0] && !files[1]) return fputs("train: IMAGES and LABELS go together\n", stderr), 2;
    OX_SCOPE {
        ox_tensor *images, *labels;
        loaded = load(files, &images, &labels);
        if (!loaded) break;
        printf("%lld %simages of %lldx%lld, 10 kinds; %lld are kept apart\n", (long long)ox_size(images, 0),
               files[0] ? "" : "made ", (long long)ox_size(images, 1), (long long)ox_size(images, 2),
               (long long)ox_size(images, 0) / 10);
        train(images, labels, hidden, epochs, batch, rate);
    }
    if (ox_error()) fprintf(stderr, "train: %s\n", ox_error_text());
    return !loaded || ox_error();
}
