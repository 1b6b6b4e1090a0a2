// ---- blocks.js: the condensed tree as blocks, as wide as their rows ----

const BLOCKS = { name: 'Condensed tree', room: 20, reach: 0, spread: 'inRows', draw: drawBlocks };

/** Draws a block for each node, and returns the caption below. */
function drawBlocks(context, tree, { current, clusters, looks }, { boxOf }) {
  for (let node = 0; node < tree.nodes; node++) {
    const [left, top, width, height] = boxOf(node);
    if (width < 0.2 || height <= 0) continue;
    const cluster = clusters[node];
    const colour = { [SEVERAL]: SEVERAL_COLOUR, [ALL_NOISE]: NOISE }[cluster]?.[theme.name] ?? looks[cluster].colour;
    // A gap beside the next block where there is room for one.
    const [right, bottom] = [width, height].map((side) => side - Math.min(1, 0.2 * side));
    context.fillStyle = css(colour);
    context.fillRect(left, top, right, bottom);
    const isTop = clusters[tree.parent[node]] !== cluster;
    if (cluster < 0 || !isTop || height < 16 || context.measureText(cluster).width + 6 > width) continue;
    context.fillStyle = textOn(colour);
    write(context, cluster, left + right / 2, top + bottom / 2, 'center');
  }
  if (current >= 0) {
    const [left, top, width, height] = boxOf(current);
    context.strokeStyle = styleColour('--ink');
    context.lineWidth = 2;
    context.strokeRect(left, top, Math.max(width, 2), Math.max(height, 2));
  }
  return counted(tree.rows[tree.root], 'row');
}
