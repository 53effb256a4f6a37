"""Small systems of linear equations, solved in place in a field of the state record."""

from hilt.compiled import jit


@jit
def eliminate(a, n, columns):
    """Gaussian elimination with pivots, in place: zeros below the diagonal of the first n columns; returns the determinant."""
    determinant = 1.0
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        if pivot != k:
            determinant = -determinant
            for j in range(k, columns):
                a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
        determinant *= a[k, k]
        if a[k, k] != 0.0:
            for i in range(k + 1, n):
                share = a[i, k] / a[k, k]
                for j in range(k + 1, columns):
                    a[i, j] -= share * a[k, j]
    return determinant


@jit
def solve(a, n):
    """Solve the n × (n + 1) matrix a in place; its last column becomes the solution."""
    eliminate(a, n, n + 1)
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            a[k, n] -= a[k, j] * a[j, n]
        a[k, n] /= a[k, k]
