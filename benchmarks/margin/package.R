# Seconds of the R package Immigrate for one fit of 10 iterations on a table written by speed.py:
#   Rscript package.R TABLE.csv WEIGHTS.csv
# The last column is the class. Prints processor seconds, elapsed ones and iterations, and writes
# W; the table is read outside the clock. The package stops early where its cost is NaN, so
# iterations are said too.
suppressMessages(library(Immigrate))
paths <- commandArgs(trailingOnly = TRUE)
table <- read.csv(paths[1])
features <- as.matrix(table[, -ncol(table)])
label <- as.matrix(table[, ncol(table)])
size <- ncol(features)
start <- diag(size) / sqrt(size)
seconds <- system.time(
  found <- Immigrate(features, label, w0 = start, epsilon = -Inf, sig = 1, max_iter = 10)
)
options(digits = 17)
write.table(found$w, paths[2], sep = ",", row.names = FALSE, col.names = FALSE)
cat(sum(seconds[c("user.self", "sys.self")]), seconds["elapsed"], found$iter_num, "\n")
