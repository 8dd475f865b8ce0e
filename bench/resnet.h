/* resnet.h - ResNet-18 of public functions, with weights drawn at random: conv 7 x 7, eight blocks of two
 * convolutions beside a path past them, a linear layer to 1000 classes (He et al. 2015, "Deep Residual
 * Learning for Image Recognition", table 1). bench_training measures it; bench/peers/training.py has the same
 * in PyTorch. */
#ifndef OX_BENCH_RESNET_H
#define OX_BENCH_RESNET_H

enum { RESNET_CONVS = 20, RESNET_CLASSES = 1000, RESNET_PARAMETERS = 3 * RESNET_CONVS + 2 };

/* A convolution without bias and the norm behind it. */
typedef struct resnet_conv {
    ox_tensor *kernel, *weight, *bias, *mean, *variance;
    int stride, padding;
} resnet_conv;

typedef struct resnet {
    resnet_conv conv[RESNET_CONVS];
    ox_tensor *weight, *bias; /* [classes,512], [classes] */
    ox_tensor *all[RESNET_PARAMETERS];
    int convs, count;
    bool training;
} resnet;

static ox_tensor *resnet_parameter(resnet *m, ox_shape shape, double deviation, double center,
                                   ox_dtype dtype) {
    ox_tensor *t = NULL;
    OX_SCOPE {
        t = ox_add_number_(ox_mul_number_(ox_randn(shape, OX_F32), deviation), center);
        t = ox_keep(ox_cast(t, dtype));
    }
    return m->all[m->count++] = ox_requires_grad_(t, true);
}

static void resnet_add(resnet *m, int from, int to, int size, int stride, ox_dtype dtype) {
    resnet_conv *c = &m->conv[m->convs++];
    double deviation = sqrt(2.0 / (to * size * size));
    c->kernel = resnet_parameter(m, OX_SHAPE(to, from, size, size), deviation, 0, dtype);
    c->weight = resnet_parameter(m, OX_SHAPE(to), 0, 1, dtype);
    c->bias = resnet_parameter(m, OX_SHAPE(to), 0, 0, dtype);
    c->mean = ox_zeros(OX_SHAPE(to), dtype);
    c->variance = ox_ones(OX_SHAPE(to), dtype);
    c->stride = stride;
    c->padding = size / 2;
}

/* In the order in which `resnet_forward` takes them: of a block whose sizes differ, the path past it last. */
static void resnet_make(resnet *m, ox_dtype dtype) {
    memset(m, 0, sizeof *m);
    resnet_add(m, 3, 64, 7, 2, dtype);
    for (int block = 0, from = 64; block < 8; block++) {
        int to = 64 << block / 2, stride = from == to ? 1 : 2;
        resnet_add(m, from, to, 3, stride, dtype);
        resnet_add(m, to, to, 3, 1, dtype);
        if (stride == 2) resnet_add(m, from, to, 1, 2, dtype);
        from = to;
    }
    m->weight = resnet_parameter(m, OX_SHAPE(RESNET_CLASSES, 512), 0.02, 0, dtype);
    m->bias = resnet_parameter(m, OX_SHAPE(RESNET_CLASSES), 0, 0, dtype);
}

static ox_tensor *resnet_layer(resnet *m, const resnet_conv *c, ox_tensor *x) {
    ox_conv_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.stride = OX_DIMS(c->stride);
    desc.padding = OX_DIMS(c->padding);
    x = ox_conv2d(x, c->kernel, NULL, &desc);
    return ox_batch_norm(x, c->weight, c->bias, c->mean, c->variance, m->training, 0.1, 1e-5);
}

/* images [N,3,H,W] -> logits [N,1000] */
static ox_tensor *resnet_forward(resnet *m, ox_tensor *images) {
    const resnet_conv *c = m->conv;
    ox_tensor *x = ox_relu(resnet_layer(m, c++, images));
    x = ox_max_pool2d(x, OX_DIMS(3), OX_DIMS(2), OX_DIMS(1), OX_DIMS(1), false);
    for (int block = 0; block < 8; block++) {
        ox_tensor *past = x;
        x = ox_relu(resnet_layer(m, c, x));
        x = resnet_layer(m, c + 1, x);
        bool shrinks = c->stride == 2;
        if (shrinks) past = resnet_layer(m, c + 2, past);
        x = ox_relu(ox_add(x, past));
        c += shrinks ? 3 : 2;
    }
    x = ox_flatten(ox_adaptive_avg_pool2d(x, OX_DIMS(1)), 1, -1);
    return ox_linear(x, m->weight, m->bias);
}

#endif
