# Seconds of the R package Immigrate for one fit of 10 iterations on a table written by speed.py:
#   Rscript package.R TABLE.csv
# The last column is the class. Prints one number; the table is read outside the clock.
suppressMessages(library(Immigrate))
table <- read.csv(commandArgs(trailingOnly = TRUE)[1])
features <- as.matrix(table[, -ncol(table)])
label <- as.matrix(table[, ncol(table)])
size <- ncol(features)
start <- diag(size) / sqrt(size)
seconds <- system.time(
  Immigrate(features, label, w0 = start, epsilon = -Inf, sig = 1, max_iter = 10)
)
cat(seconds[["elapsed"]], "\n")
