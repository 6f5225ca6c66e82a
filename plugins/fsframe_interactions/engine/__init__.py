"""Compiled counting, screening and fitting of all pairs of columns.

How data flow
-------------
1. **Levels** (`bit_rows`): a block of columns is read, and becomes codes 0, 1, … (255: missing),
   the rows sorted by class and repeated by their counts.
2. **Bit rows** (`bit_rows`): every level of a column is one row of bits, 64 rows of the table per
   word; each class starts on a new word. Eight columns are interleaved (`bit_counts`), so that one
   vector instruction counts one cell of eight pairs. A column without missing values stores all
   levels but the last, whose counts follow from margins.
3. **Tiles** (`screen`): eight columns paired with up to 2,048 others are one unit of work for a
   thread. The tables of eight times eight pairs are counted, then each is screened: the Kirkwood
   superposition p_ij p_ik p_jk / (p_i p_j p_k), normalised, is a member of the model without the
   three-way term, so its deviance is an upper bound of that of the fit, and a pair whose bound is
   below the threshold is dropped. The others are fitted at once.
4. **Fits** (`contingency_tables`): iterative proportional fitting, the deviance G² and the degrees
   of freedom.
5. **The best** (`best_pairs`): tiles are processed in bands; when there are more than twice as many
   pairs as are to be kept, the worst are dropped and the threshold of the screen rises. The pairs
   kept are the best of all whatever the bands, so neither threads nor memory change the result.
6. **Fixed margins** (`contingency_tables.simulate_pairs`): tables with small expected counts, and
   those of binned columns, are simulated with fixed margins, which gives mean and variance of G²
   without interaction. The random stream of a table is made from its counts, so that the order of
   columns, rows, levels and classes does not matter.

Memory: bit rows take n·L/8 bytes per column, a tile's results 0.5 MB, a kept pair 40 bytes.
"""
