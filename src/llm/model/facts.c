/* Facts of a model: numbers and texts of the metadata under "<architecture>.<key>", checked.
 * A fact of 0 is one that is not there; an array has one for each layer. Called by config.c. */

/* "<architecture>.<key>", but for the numbers of an activation, which are not of one family */
static void oxi_llm_key(const ox_llm *model, const char *key, char out[96]) {
    const bool whole = strncmp(key, "xielu.", 6) == 0;
    (void)snprintf(out, 96, "%s%s%s", whole ? "" : model->config.architecture, whole ? "" : ".", key);
}

typedef struct oxi_llm_default {
    const char *family;
    int64_t layers;
    const char *key;
    double value;
} oxi_llm_default;

#define OXI_LLM_DEFAULT(family, layers, key, value) {family, layers, key, value},
static const oxi_llm_default oxi_llm_defaults[] = {
#include "defaults.def"
};

/* What the family has where its file does not say; false: nothing. */
static bool oxi_llm_find_default(const ox_llm *model, const char *key, double *out) {
    for (size_t i = 0; i < sizeof oxi_llm_defaults / sizeof *oxi_llm_defaults; i++) {
        const oxi_llm_default *row = &oxi_llm_defaults[i];
        if (strcmp(row->family, model->family->name) != 0 || strcmp(row->key, key) != 0) continue;
        if (row->layers && row->layers != model->config.layers) continue;
        *out = row->value;
        return true;
    }
    return false;
}

/* A number under `key`, of layer `layer` where it is an array (-1: an array is no number). `whole`: an
 * integer. False: there is none; *status tells of one that is there and is none. */
static bool oxi_llm_find_number(const ox_llm *model, const ox_file *file, const char *key, int64_t layer,
                                bool whole, double *out, ox_status *status) {
    char full[96];
    oxi_llm_key(model, key, full);
    ox_file_meta meta = ox_file_meta_find(file, full);
    *status = OX_OK;
    if (meta.type == OX_FILE_META_ARRAY && layer >= 0) {
        if (layer >= meta.count) {
            *status = oxi_fail(OX_ERR_FORMAT, "llm: metadata key %s has %lld elements, none for layer %lld",
                               full, (long long)meta.count, (long long)layer);
            return false;
        }
        meta = ox_file_meta_element(file, &meta, layer);
    }
    if (meta.type == OX_FILE_META_NONE) return oxi_llm_find_default(model, key, out);
    const bool integer =
        meta.type == OX_FILE_META_INT || meta.type == OX_FILE_META_UINT || meta.type == OX_FILE_META_BOOL;
    if (!integer && (whole || meta.type != OX_FILE_META_FLOAT)) {
        *status = oxi_fail(OX_ERR_FORMAT, "llm: metadata key %s is not a %s", full,
                           whole ? "whole number" : "number");
        return false;
    }
    /* an unsigned number of 2^63 or more reads as a negative one */
    *out = !integer ? meta.f : meta.type == OX_FILE_META_UINT && meta.i < 0 ? 1e19 : (double)meta.i;
    return true;
}

/* Whether a fact is a list, of each layer. */
static bool oxi_llm_is_listed(const ox_llm *model, const ox_file *file, const char *key) {
    char full[96];
    oxi_llm_key(model, key, full);
    const ox_file_meta meta = ox_file_meta_find(file, full);
    return meta.type == OX_FILE_META_ARRAY && meta.count > 0;
}

/* What a missing fact is: an error. Otherwise the number in its place, which is also that for a fact of 0
 * where the
 * least one is more. */
#define OXI_LLM_NEEDED INT64_MIN
#define OXI_LLM_NEEDED_FLOAT (-INFINITY)

/* A whole number of at least `low`. */
static ox_status oxi_llm_read_int(const ox_llm *model, const ox_file *file, const char *key, int64_t layer,
                                  int64_t low, int64_t otherwise, int64_t *out) {
    double number = 0;
    ox_status status = OX_OK;
    *out = otherwise;
    const bool found = oxi_llm_find_number(model, file, key, layer, true, &number, &status);
    const bool none = !found || (number == 0 && low > 0);
    if (status || (none && otherwise != OXI_LLM_NEEDED)) return status;
    char full[96];
    oxi_llm_key(model, key, full);
    if (!found) return oxi_fail(OX_ERR_NOT_FOUND, "llm: metadata key %s is missing", full);
    if (number < (double)low || number > INT32_MAX)
        return oxi_fail(OX_ERR_FORMAT, "llm: metadata key %s is %.17g, allowed are %lld to %d", full, number,
                        (long long)low, INT32_MAX);
    *out = (int64_t)number;
    return OX_OK;
}

/* A finite number of at least `low`; one of 0 is none. */
static ox_status oxi_llm_read_float(const ox_llm *model, const ox_file *file, const char *key, int64_t layer,
                                    double low, double otherwise, double *out) {
    double number = 0;
    ox_status status = OX_OK;
    *out = otherwise;
    const bool found = oxi_llm_find_number(model, file, key, layer, false, &number, &status);
    const bool none = !found || number == 0;
    if (status || (none && otherwise != OXI_LLM_NEEDED_FLOAT)) return status;
    char full[96];
    oxi_llm_key(model, key, full);
    if (!found) return oxi_fail(OX_ERR_NOT_FOUND, "llm: metadata key %s is missing", full);
    if (!(number >= low && number <= DBL_MAX))
        return oxi_fail(OX_ERR_FORMAT, "llm: metadata key %s is not a number of at least %g", full, low);
    *out = number;
    return OX_OK;
}

/* A text: its length is 0 where there is none. */
static ox_status oxi_llm_read_text(const ox_llm *model, const ox_file *file, const char *key,
                                   ox_string *out) {
    char full[96];
    oxi_llm_key(model, key, full);
    const ox_file_meta meta = ox_file_meta_find(file, full);
    memset(out, 0, sizeof *out);
    if (meta.type == OX_FILE_META_NONE) return OX_OK;
    if (meta.type != OX_FILE_META_STRING)
        return oxi_fail(OX_ERR_FORMAT, "llm: metadata key %s is not a text", full);
    *out = meta.text;
    return OX_OK;
}
