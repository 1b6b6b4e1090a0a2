// ---- dendrogram.js: the joins of the tree as brackets, in the colours of their clusters below the cut ----

const DENDROGRAM = {
  name: 'Dendrogram',
  room: 36,
  reach: 3,
  spread: 'inGroups',
  draw: drawBrackets,
};

/** Draws a bracket for each join, and returns the caption below. */
function drawBrackets(context, tree, { current, clusters, looks, cut }, { placeOf, boxOf }) {
  const { heights, parent, leaves } = tree;
  const neutral = styleColour('--frame');
  const middles = [];
  const isInUse = [];
  for (let node = 0; node < tree.nodes; node++) {
    const [left, , width] = boxOf(node);
    const [first, second] = tree.sidesOf(node);
    middles[node] = node < leaves ? Math.floor(left + width / 2) : (middles[first] + middles[second]) / 2;
  }
  const step = boxOf(0)[2];
  const thickness = step < 8 ? 1 : 2;

  function line(colour, ...places) {
    context.strokeStyle = colour;
    context.beginPath();
    for (const place of places) context.lineTo(...place);
    context.stroke();
  }

  /** The height at which a node's branch is cut, or null. Without a common height, only the smaller side of a join is cut. */
  function cutAt(node) {
    if (!cut.isCut[parent[node]]) return null;
    if (cut.height !== null) return Math.max(cut.height, heights[node]);
    return node === tree.sidesOf(parent[node])[1] ? (heights[node] + heights[parent[node]]) / 2 : null;
  }

  context.lineCap = 'square';
  for (let node = tree.nodes - 1; node >= 0; node--) {
    const [x, y] = [middles[node], placeOf(heights[node])];
    const colour = clusters[node] < 0 ? neutral : css(looks[clusters[node]].colour);
    isInUse[node] = node === current || isInUse[parent[node]];
    context.lineWidth = isInUse[node] ? thickness + 2 : thickness;
    if (node >= leaves) line(colour, ...tree.sidesOf(node).map((side) => [middles[side], y]));
    if (node === tree.root) continue;
    const top = placeOf(heights[parent[node]]);
    const at = cutAt(node);
    const end = at === null ? top : placeOf(at);
    line(neutral, [x, end], [x, top]);
    line(colour, [x, y], [x, end]);
    context.lineWidth = 2;
    if (at !== null && cut.height === null) line(styleColour('--ink'), [x - 5, end], [x + 5, end]);
  }
  if (cut.height !== null) {
    const y = Math.round(placeOf(cut.height)) + 0.5;
    context.lineWidth = 1;
    context.setLineDash([5, 4]);
    line(styleColour('--ink'), [ROOM.left, y], [ROOM.left + step * leaves, y]);
    context.setLineDash([]);
  }

  const texts = Array.from(tree.rows.subarray(0, leaves), grouped);
  if (texts.some((text) => context.measureText(text).width + 6 > step)) return counted(leaves, 'group') + cut.text;
  context.fillStyle = styleColour('--faint');
  texts.forEach((text, leaf) => write(context, text, middles[leaf], placeOf(0) + 10, 'center'));
  return `rows of each group${cut.text}`;
}
