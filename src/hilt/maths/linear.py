"""A small system of linear equations, solved in place in a field of the state record."""

from hilt.compiled import jit


@jit
def solve(a, n):
    """Gauss with pivots on the n × (n + 1) matrix a; the last column becomes the solution."""
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        if pivot != k:
            for j in range(k, n + 1):
                a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
        for i in range(k + 1, n):
            share = a[i, k] / a[k, k]
            for j in range(k + 1, n + 1):
                a[i, j] -= share * a[k, j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            a[k, n] -= a[k, j] * a[j, n]
        a[k, n] /= a[k, k]
