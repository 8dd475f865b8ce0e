/* What the parts of the forward pass share. */
#ifndef OX_LLM_CONTEXT_H
#define OX_LLM_CONTEXT_H

/* One batch: `count` tokens at positions start .. start + count - 1. */
typedef struct oxi_llm_batch {
    const ox_llm_context *context;
    int64_t start, count;
    ox_tensor *ids;       /* i32 [count] the tokens */
    ox_tensor *positions; /* i32 [count] */
    ox_tensor *types;     /* i32 [count] of the tokens, or NULL: all 0 */
    ox_tensor *bias;      /* f32 [heads, 1 or count, start + count] added to scores, or NULL */
    ox_tensor *buckets;   /* i32 [count, start + count] of distances, where they have biases, or NULL */
    ox_tensor *near;      /* bool [count, start + count]: what windows let see that go both ways, or NULL */
    ox_tensor *embedded;  /* f32 [count, width] what the layers began with, where they take of it, or NULL */
    ox_tensor *values;    /* f32 [count, inner] of the first layer, where others take of them, or NULL */
    ox_tensor *inputs;    /* f32 [count, layers, input] what layers take of the tokens beside, or NULL */
    ox_tensor *grams;     /* i32 [count, rows] of the table of n-grams, or NULL */
    ox_tensor *chosen;    /* bool [count, start + count] the keys that indexers chose last, or NULL: all */
    ox_tensor *kept;      /* f32 [count, most, width] residual rows that later layers attend to, or NULL */
    ox_tensor *temperatures; /* f32 [count, 1] factors of queries, or NULL */
} oxi_llm_batch;

#endif
