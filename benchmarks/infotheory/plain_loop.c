/* A plain C loop for greedy filters, written for this benchmark: what a careful but ordinary program
 * does. Features are bytes, one after the other; for each selected feature every candidate's table of
 * counts is filled sample by sample and turned into entropies by a table of c*log2(c).
 *
 *   gcc -O3 -march=native -shared -fPIC -o plain_loop.so plain_loop.c -lm
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MIM, MRMR, JMI, DISR, CMIM };

static double *table;

static double sum_of(const int *counts, long cells)
{
    double sum = 0;
    for (long i = 0; i < cells; i++) sum += table[counts[i]];
    return sum;
}

/* Sums of c*log2(c) over (x), (x, y), or, with a partner, over (x, s) and (x, s, y). */
static void sums(const uint8_t *x, const uint8_t *s, const uint8_t *y, long n, int levels,
                 int classes, int with_class, int *counts, int *pairs, double *js, double *jsy)
{
    int partner = s ? levels : 1;
    long cells = (long)levels * partner * (with_class ? classes : 1);
    memset(counts, 0, cells * sizeof *counts);
    if (!with_class) {
        for (long i = 0; i < n; i++) counts[x[i] * partner + (s ? s[i] : 0)]++;
        *js = sum_of(counts, cells);
        *jsy = 0;
        return;
    }
    for (long i = 0; i < n; i++)
        counts[(x[i] * partner + (s ? s[i] : 0)) * classes + y[i]]++;
    for (long i = 0; i < cells / classes; i++) {
        pairs[i] = 0;
        for (int c = 0; c < classes; c++) pairs[i] += counts[i * classes + c];
    }
    *jsy = sum_of(counts, cells);
    *js = sum_of(pairs, cells / classes);
}

int plain_select(int criterion, const uint8_t *X, const uint8_t *y, long n, long p, int levels,
                 int classes, int k, int *selected, double *scores)
{
    table = malloc((n + 1) * sizeof *table);
    table[0] = 0;
    for (long c = 1; c <= n; c++) table[c] = c * log2((double)c);
    int *counts = malloc(sizeof(int) * levels * levels * classes);
    int *pairs = malloc(sizeof(int) * levels * levels);
    double *sj = malloc(p * sizeof *sj), *sjy = malloc(p * sizeof *sjy);
    double *relevance = malloc(p * sizeof *relevance), *folded = calloc(p, sizeof *folded);
    int *seen = calloc(p, sizeof *seen);
    char *taken = calloc(p, 1);
    double sy = 0, logn = log2((double)n);
    int *sizes = calloc(classes, sizeof *sizes);
    for (long i = 0; i < n; i++) sizes[y[i]]++;
    sy = sum_of(sizes, classes);
    for (long j = 0; j < p; j++) {
        sums(X + j * n, NULL, y, n, levels, classes, 1, counts, pairs, &sj[j], &sjy[j]);
        relevance[j] = logn + (sjy[j] - sj[j] - sy) / n;
        if (criterion == CMIM) folded[j] = relevance[j];
    }
    for (int m = 0; m < k; m++) {
        long best = -1;
        double top = -INFINITY;
        for (long j = 0; j < p; j++) {
            if (taken[j]) continue;
            double score = folded[j], js, jsy;
            if (criterion == CMIM) {
                /* Fleuret's lazy evaluation. */
                while (folded[j] > top && seen[j] < m) {
                    long s = selected[seen[j]++];
                    sums(X + j * n, X + s * n, y, n, levels, classes, 1, counts, pairs, &js, &jsy);
                    double value = (jsy - js - sjy[s] + sj[s]) / n;
                    if (value < folded[j]) folded[j] = value;
                }
                score = folded[j];
            } else if (m > 0 && criterion != MIM) {
                long s = selected[m - 1];
                sums(X + j * n, X + s * n, y, n, levels, classes, criterion != MRMR, counts, pairs,
                     &js, &jsy);
                double joint = logn + (jsy - js - sy) / n;
                if (criterion == MRMR) {
                    folded[j] += logn + (js - sj[j] - sj[s]) / n;
                    score = relevance[j] - folded[j] / m;
                } else {
                    folded[j] += criterion == JMI ? joint : joint / (logn - jsy / n);
                    score = folded[j];
                }
            }
            if (m == 0 || criterion == MIM) score = relevance[j];
            if (score > top + 1e-10) {
                top = score;
                best = j;
            }
        }
        selected[m] = (int)best;
        scores[m] = top;
        taken[best] = 1;
    }
    free(table); free(counts); free(pairs); free(sj); free(sjy); free(relevance); free(folded);
    free(seen); free(taken); free(sizes);
    return 0;
}
