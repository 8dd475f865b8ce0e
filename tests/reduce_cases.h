/* reduce_cases.h - the reductions that are told dims and keepdim and nothing else, one line each:
 * test_reduce.c takes them from here, covers.h its calls of them. */
#ifndef REDUCE_CASES_H
#define REDUCE_CASES_H

/* X(NAME, op, as, complex, reading): ox_<op> gives what `as` gives of elements x read as `reading`; complex:
 * it takes c64. */
#define REDUCE_CASES(X) \
    X(SUM, sum, SUM, true, x) \
    X(NANSUM, nansum, SUM, false, x != x ? 0 : x) \
    X(MEAN, mean, MEAN, true, x) \
    X(PROD, prod, PROD, true, x) \
    X(AMAX, amax, AMAX, false, x) \
    X(AMIN, amin, AMIN, false, x) \
    X(ALL, all, ALL, true, x) \
    X(ANY, any, ANY, true, x) \
    X(LOGSUMEXP, logsumexp, LOGSUMEXP, false, x)

#endif
