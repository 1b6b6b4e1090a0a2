#!/bin/sh
# Draws the plots of the README into docs/plots. FIREBOX is the program.
set -eu
cd "$(dirname "$0")/.."
firebox=${FIREBOX:-target/release/firebox}
out=docs/plots
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mkdir -p $out
$firebox ocnn examples/data/target.csv --label label --backend ndarray -o "$work/clusters.csv" --plot $out/clusters.png
$firebox generate chainlink --points 1000 -o "$work/chainlink.csv"
$firebox sammon "$work/chainlink.csv" --label label --backend ndarray -o "$work/map.csv" --plot $out/map.png
$firebox rbf --problem docs/rbf-problems/bars/annulus.toml --backend ndarray -o "$work/solution.csv" --plot $out/solution.png
$firebox perceptron train examples/data/target.csv --label label --backend ndarray -o "$work/losses.csv" --confusion $out/confusion.png
