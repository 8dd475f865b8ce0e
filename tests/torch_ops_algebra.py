"""How PyTorch's operators of linear algebra and its Fourier transforms are called here: more rows of
torch_ops_calls.py, which says what a row is."""
import ctypes

import torch
from torch_ops_calls import CALLS, EXPECT, LOOSE, NEEDS_C128, row

# ---- linear algebra --------------------------------------------------------------------------------------


def herm(t):
    return t.mH


def zeros_i32(o, x):
    return o.zeros(list(x.shape[:-2]), torch.int32)


row('linalg.cholesky')(lambda o, x, upper=False: o.cholesky(x, upper))
row('linalg.cholesky_ex')(lambda o, x, upper=False, check_errors=False: o.cholesky_ex(x, upper))
row('cholesky_solve')(lambda o, b, l, upper=False: o.cholesky_solve(b, l, upper))
row('cholesky_inverse')(lambda o, l, upper=False: o.cholesky_inverse(l, upper))
row('linalg.inv')(lambda o, x: o.inv(x))
row('linalg.inv_ex')(lambda o, x, check_errors=False: (o.inv(x), zeros_i32(o, x)))
row('linalg.solve')(lambda o, a, b, left=True: o.solve(a, b, left))
row('linalg.solve_ex')(lambda o, a, b, left=True, check_errors=False: (o.solve(a, b, left), zeros_i32(o, a)))
row('linalg.solve_triangular')(lambda o, a, b, upper, left=True, unitriangular=False: o.solve_triangular(
    a, b, upper, left, unitriangular))


@row('triangular_solve')
def _triangular_solve(o, b, a, upper=True, transpose=False, unitriangular=False):
    x = o.solve_triangular(o.transpose(a, -1, -2), b, not upper, True, unitriangular) if transpose else \
        o.solve_triangular(a, b, upper, True, unitriangular)
    return x, o.expand(a, list(x.shape[:-2]) + list(a.shape[-2:]))


row('linalg.ldl_factor')(lambda o, x, hermitian=False: o.ldl_factor(x))
row('linalg.ldl_factor_ex')(lambda o, x, hermitian=False, check_errors=False: o.ldl_factor_ex(x))
row('linalg.ldl_solve')(lambda o, ld, pivots, b, hermitian=False: o.ldl_solve(ld, pivots, b))
row('linalg.lu_factor')(lambda o, x, pivot=True: o.lu_factor(x, pivot))
row('linalg.lu_factor_ex')(lambda o, x, pivot=True, check_errors=False:
    (*o.lu_factor(x, pivot), zeros_i32(o, x)))
row('lu')(lambda o, x, pivot=True, get_infos=False:
    (*o.lu_factor(x, pivot), *([zeros_i32(o, x)] * bool(get_infos))))
row('linalg.lu')(lambda o, x, pivot=True: o.lu(x, pivot))


@row('lu_unpack')
def _lu_unpack(o, lu, pivots, unpack_data=True, unpack_pivots=True):
    p, l, u = o.lu_unpack(lu, pivots)
    return p, l, u


EXPECT['lu_unpack'] = lambda lu, pivots, **k: torch.lu_unpack(lu, pivots)
row('lu_solve')(lambda o, b, lu, pivots: o.lu_solve(lu, pivots, b, True, False))
row('linalg.lu_solve')(lambda o, lu, pivots, b, left=True, adjoint=False:
    o.lu_solve(lu, pivots, b, left, adjoint))
row('linalg.det', 'linalg.det/singular')(lambda o, x: o.det(x))
row('linalg.slogdet')(lambda o, x: o.slogdet(x))
row('logdet')(lambda o, x: o.logdet(x))
row('linalg.pinv', 'linalg.pinv/singular', 'linalg.pinv/hermitian', 'pinverse')(
    lambda o, x, rcond=None, hermitian=False, atol=None, rtol=None: pinv(o, x, rcond, hermitian, atol, rtol))
row('linalg.pinv/singular')(lambda o, a, b: o.pinv(o.matmul(a, o.transpose(b, -1, -2)), 0, -1, False))
row('pinverse')(lambda o, x, rcond=1e-15: o.pinv(x, 0, rcond, False))


def pinv(o, x, rcond, hermitian, atol, rtol):
    if rcond is not None:
        rtol = rcond
    if x.numel() == 0:
        atol = rtol = None
    if hasattr(rtol, 'pointer') or hasattr(atol, 'pointer'):
        rtol = None if rtol is None else float(rtol.to_torch().flatten()[0])
        atol = None if atol is None else float(atol.to_torch().flatten()[0])
    return o.pinv(x, atol or 0, -1 if rtol is None else rtol, hermitian)


def rank(o, x, tol=None, hermitian=False, atol=None, rtol=None):
    if x.numel() == 0:
        tol = atol = rtol = None        # one a matrix, and no matrix
    one = lambda v: float(v.to_torch().flatten()[0]) if hasattr(v, 'pointer') else v  # noqa: E731
    tol, atol, rtol = one(tol), one(atol), one(rtol)
    return o.matrix_rank(x, (tol if tol is not None else atol) or 0, -1 if rtol is None and tol is None
        else rtol or 0,
                         hermitian)


row('linalg.matrix_rank', 'linalg.matrix_rank/hermitian')(rank)
row('linalg.lstsq')(lambda o, a, b, rcond=None, driver=None: o.lstsq(a, b, -1 if rcond is None else rcond)[0])
EXPECT['linalg.lstsq'] = lambda a, b, **k: torch.linalg.lstsq(a, b,
    driver='gelsd')[0] if not a.requires_grad else \
    torch.linalg.pinv(a) @ (b if b.ndim > 1 else b.unsqueeze(-1)) if b.ndim > 1 else \
    (torch.linalg.pinv(a) @ b.unsqueeze(-1)).squeeze(-1)


def gauge_qr(q, r, matmul):
    return matmul(q, r), q, r


def signs_of(r):
    d = torch.diagonal(r, 0, -2, -1)
    return torch.where(d < 0, -1.0, 1.0).to(r.dtype)


row('linalg.qr', 'qr')(lambda o, x, mode='reduced', some=True: qr_like(o, x, mode if some else 'complete'))


def qr_like(o, x, mode):
    """Signs so that R's diagonal is positive; of a complete Q what the product shows."""
    q, r = o.qr(x, mode)
    d = o.diagonal(r, 0, -2, -1)
    s = o.where(o.lt_number(d, 0), -1.0, 1.0)
    s = o.cast(s, x.dtype)
    k = d.shape[-1]
    rows = o.mul(o.narrow(r, -2, 0, k), o.unsqueeze(s, -1))
    if mode == 'r':
        return rows
    return o.mul(o.narrow(q, -1, 0, k), o.unsqueeze(s, -2)), rows


def expect_qr(x, mode='reduced', some=True):
    q, r = torch.linalg.qr(x, mode if some else 'complete')
    s = signs_of(r).detach()
    k = s.shape[-1]
    rows = r[..., :k, :] * s.unsqueeze(-1)
    return rows if mode == 'r' else (q[..., :, :k] * s.unsqueeze(-2), rows)


EXPECT['linalg.qr'] = EXPECT['qr'] = expect_qr


@row('geqrf')
def _geqrf(o, x):
    return o.geqrf(x)


row('linalg.householder_product')(lambda o, x, tau: o.householder_product(x, tau))
row('ormqr')(lambda o, x, tau, other, left=True, transpose=False: o.ormqr(x, tau, other, left, transpose))
row('linalg.eigvalsh')(lambda o, x, UPLO='L': o.eigvalsh(x, UPLO == 'U'))


@row('linalg.eigh')
def _eigh(o, x, UPLO='L'):
    values, v = o.eigh(x, UPLO == 'U')
    return values, o.abs(v)


EXPECT['linalg.eigh'] = lambda x, UPLO='L': (lambda e: (e[0], e[1].abs()))(torch.linalg.eigh(x, UPLO))


@row('linalg.eig')
def _eig(o, x):
    values, v = o.eig(x)
    order = o.argsort(o.add(o.real(values), o.mul_number(o.imag(values), 0.7310585)), -1, False)
    index = o.expand(o.unsqueeze(order, -2), v.shape)
    return o.abs(o.gather(values, -1, order)), o.abs(o.gather(v, -1, o.contiguous(index)))


def expect_eig(x):
    values, v = torch.linalg.eig(x)
    order = torch.argsort(values.real + values.imag * 0.7310585, -1)
    index = order.unsqueeze(-2).expand(v.shape)
    return torch.gather(values, -1, order).abs(), torch.gather(v, -1, index).abs()


EXPECT['linalg.eig'] = expect_eig
row('linalg.eigvals')(lambda o, x: _eig(o, x)[0])
EXPECT['linalg.eigvals'] = lambda x: expect_eig(x)[0]
NEEDS_C128 |= {'linalg.eig', 'linalg.eigvals'}
row('linalg.svdvals')(lambda o, x: o.svdvals(x))


@row('linalg.svd', 'svd')
def _svd(o, x, full_matrices=None, some=True, compute_uv=True):
    full = (not some) if full_matrices is None else full_matrices
    u, s, vh = o.svd(x, False)
    if full and x.shape[-1] != x.shape[-2]:
        o.svd(x, True)
    return o.abs(u), s, o.abs(vh)


def expect_svd(x, full_matrices=None, some=True, compute_uv=True):
    u, s, vh = torch.linalg.svd(x, full_matrices=False)
    return u.abs(), s, vh.abs()


EXPECT['linalg.svd'] = EXPECT['svd'] = expect_svd
row('linalg.matrix_norm')(lambda o, x, ord='fro', dim=(-2, -1), keepdim=False, dtype=None: o.matrix_norm(
    x if dtype is None else o.cast(x, dtype), ord if isinstance(ord, str) else None, 0
    if isinstance(ord, str) else ord,
    list(dim), keepdim))


@row('linalg.norm', 'linalg.norm/subgradients_at_zero')
def _norm(o, x, ord=None, dim=None, keepdim=False, dtype=None):
    x = x if dtype is None else o.cast(x, dtype)
    if isinstance(dim, int):
        dim = [dim]
    if ord is not None and (dim is not None and len(dim) == 2 or dim is None and x.ndim == 2):
        return o.matrix_norm(x, ord if isinstance(ord, str) else None, 0 if isinstance(ord, str) else ord,
                             [-2, -1] if dim is None else list(dim), keepdim)
    return o.norm(x, 2 if ord is None else ord, dim, keepdim)


row('norm/nuc')(lambda o, x, p='nuc', dim=None, keepdim=False:
    o.matrix_norm(x, 'nuc', 0, [-2, -1] if dim is None else dim,
                                                                            keepdim))
row('linalg.cond')(lambda o, x, p=None:
    o.cond(x, p if isinstance(p, str) else None, 2 if p is None else 0 if isinstance(
    p, str) else p))
row('linalg.matrix_power')(lambda o, x, n: o.matrix_power(x, n))
row('matrix_exp')(lambda o, x: o.matrix_exp(x))
row('linalg.tensorinv')(lambda o, x, ind=2: o.tensorinv(x, ind))
row('linalg.tensorsolve')(lambda o, a, b, dims=None: o.tensorsolve(a, b, dims))


# ---- Fourier transforms ----------------------------------------------------------------------------------

for n in 'fft ifft rfft irfft hfft ihfft'.split():
    CALLS['fft.' + n] = lambda o, x, n=None, dim=-1, norm=None, _f=n: getattr(o, _f)(x, n or 0, dim, norm)
    CALLS['fft.' + n + '2'] = lambda o, x, s=None, dim=(-2, -1), norm=None, _f=n + '2': getattr(o, _f)(x, s,
        dim, norm)
    CALLS['fft.' + n + 'n'] = lambda o, x, s=None, dim=None, norm=None, _f=n + 'n': getattr(o, _f)(x, s, dim,
        norm)
    NEEDS_C128 |= {'fft.' + n, 'fft.' + n + '2', 'fft.' + n + 'n'}
row('fft.fftshift')(lambda o, x, dim=None: o.fftshift(x, dim))
row('fft.ifftshift')(lambda o, x, dim=None: o.ifftshift(x, dim))


class Stft(ctypes.Structure):
    _fields_ = [('hop', ctypes.c_int64), ('window_length', ctypes.c_int64), ('window', ctypes.c_void_p),
                ('center', ctypes.c_bool), ('normalized', ctypes.c_bool), ('onesided', ctypes.c_bool)]


@row('stft')
def _stft(o, x, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect',
    normalized=False,
          onesided=None, return_complex=None):
    if pad_mode != 'reflect':
        raise NotImplementedError('pad_mode')
    if onesided is None:
        onesided = not (x.is_complex or window is not None and window.is_complex)
    made = o.stft(x, n_fft,
        Stft(hop_length or 0, win_length or 0, window.pointer if window is not None else None,
                                 center, bool(normalized), onesided))
    whole = return_complex or return_complex is None and not onesided
    return made if whole else o.view_as_real(made)


@row('istft')
def _istft(o, x, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False,
           onesided=None, length=None, return_complex=False):
    onesided = x.shape[-2] != n_fft if onesided is None else onesided
    if not return_complex and not onesided:     # the other half is not looked at
        x, onesided = o.narrow(x, -2, 0, n_fft // 2 + 1), True
    made = o.istft(x, n_fft, length or 0,
        Stft(hop_length or 0, win_length or 0, window.pointer if window is not None
                                               else None, center, bool(normalized), onesided))
    return made if return_complex or not made.is_complex else o.real(made)


NEEDS_C128 |= {'stft', 'istft'}


# ---- made of factors -------------------------------------------------------------------------------------

row('linalg.polar')(lambda o, x: o.linalg_polar(x))
row('linalg.matrix_sqrth')(lambda o, x: o.matrix_sqrth(x))


@row('svd_lowrank')
def _svd_lowrank(o, a, b, q=6, M=None, niter=2):
    """The singular values and the product: the vectors have signs of their own."""
    rounds = niter if M is None else 60         # of full rank: until it is the best of rank q
    u, s, v = o.svd_lowrank(o.matmul(a, o.transpose(b, -1, -2)), q, rounds, M)
    return s, o.matmul(o.mul(u, o.unsqueeze(s, -2)), o.transpose(v, -1, -2))


@row('pca_lowrank')
def _pca_lowrank(o, a, b, q=None, center=True, niter=2):
    u, s, v = o.pca_lowrank(o.matmul(a, o.transpose(b, -1, -2)), q or 0, center, niter)
    return s, o.matmul(o.mul(u, o.unsqueeze(s, -2)), o.transpose(v, -1, -2))


def expect_lowrank(x, q):
    u, s, vh = torch.linalg.svd(x, full_matrices=False)
    s = s[..., :q]
    return s, (u[..., :q] * s.unsqueeze(-2)) @ vh[..., :q, :]


EXPECT['svd_lowrank'] = lambda a, b, q=6, M=None, niter=2: expect_lowrank(
    a @ b.mT - (0 if M is None else M), q)


def expect_pca(a, b, q=None, center=True, niter=2):
    """PyTorch's own: what is centered has lost a rank, and the gradient of its whole SVD may be NaN."""
    u, s, v = torch.pca_lowrank(a @ b.mT, q, center, niter)
    return s, (u * s.unsqueeze(-2)) @ v.mT


EXPECT['pca_lowrank'] = expect_pca
LOOSE['svd_lowrank'] = 30
