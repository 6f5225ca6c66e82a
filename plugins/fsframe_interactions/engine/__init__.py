"""Compiled counting, screening and fitting of all pairs of columns.

How data flow
-------------
1. **Levels** (`fsframe_interactions.levels`): a block of columns is read, and becomes codes 0, 1, …
   (255: missing), the rows sorted by class and repeated by their counts.
2. **Bit planes** (`planes`): every level of a column is one row of bits, 64 rows of the table per
   word; each class starts on a new word. Eight columns lie side by side (`bit_counts`), so
   that one vector instruction counts one cell of eight pairs. A column without missing values
   stores all levels but the last, whose counts follow from margins.
3. **Tiles** (`screen`): eight columns against up to 2,048 others are one unit of work for a thread.
   The tables of eight times eight pairs are counted, then each is screened: the Kirkwood
   superposition p_ij p_ik p_jk / (p_i p_j p_k), normalised, is a member of the model without
   the three-way term, so its deviance is no smaller than that of the model's best fit, and a
   pair whose bound is below the threshold is done with. The rest is fitted at once.
4. **Fits** (`fit`): iterative proportional fitting, the deviance G² and the degrees of freedom.
5. **The best** (`best`): tiles are gathered in bands; whenever more pairs are held than
   are to be kept, the worst go and the threshold of the screen rises. The pairs kept are
   the best of all whatever the bands are, so neither threads nor memory change the result.
6. **Margins held** (`conditional`): tables with small expected counts, and those of binned columns,
   are moved about with their margins held, which tells mean and variance of G² when there is no
   interaction. The random stream of a table is made from its counts, so that the order of columns,
   rows, levels and classes does not matter.

Memory: planes take n·L/8 bytes per column; a tile's results 0.5 MB; a kept pair 40 bytes.
"""
