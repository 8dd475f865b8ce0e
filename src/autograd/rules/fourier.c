/* Gradients of Fourier transforms: transforms the other way. */

OXI_GRADIENT_RULE(fft_c2c) {
    const oxi_attr_fourier *told = &b->call->attr.fourier;
    return oxi_gives(b, 0, oxi_fft_call(OXI_OP_fft_c2c, b->g[0], told->dim, 0, !told->inverse, told->scale));
}

/* Half of the result was not kept: its gradient is zeros. */
OXI_GRADIENT_RULE(fft_r2c) {
    const oxi_attr_fourier *told = &b->call->attr.fourier;
    ox_tensor *g = oxi_resized(b->g[0], told->dim, b->operand[0].shape[told->dim]);
    return oxi_gives(b, 0,
                     ox_real(oxi_fft_call(OXI_OP_fft_c2c, g, told->dim, 0, !told->inverse, told->scale)));
}

/* All but the ends stand for two elements. */
OXI_GRADIENT_RULE(fft_c2r) {
    const oxi_attr_fourier *told = &b->call->attr.fourier;
    int64_t n = told->length, twice = (n - 1) / 2;
    ox_tensor *g = oxi_fft_call(OXI_OP_fft_r2c, b->g[0], told->dim, 0, !told->inverse, told->scale),
              *parts[3];
    if (twice == 0 || !g) return oxi_gives(b, 0, g);
    parts[0] = ox_narrow(g, told->dim, 0, 1);
    parts[1] = ox_mul_number(ox_narrow(g, told->dim, 1, twice), 2);
    parts[2] = ox_narrow(g, told->dim, 1 + twice, n / 2 - twice);
    return oxi_gives(b, 0, ox_cat(parts, 3, told->dim));
}
