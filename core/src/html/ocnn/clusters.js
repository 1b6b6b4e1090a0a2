// ---- clusters.js: what the clusters are at each level, without drawing ----

/** The clustering in the report's data, with its arrays unpacked. */
function clusteringOf(data) {
  const { clusters } = data;
  const levels = clusters.levels.map((level) => ({
    ...level,
    labels: arrayOf(Int32Array, level.labels),
    noise: bytesOf(level.noise),
  }));
  const pieces = arrayOf(Uint32Array, clusters.pieces);
  // A threshold cuts elsewhere than at the joins that a tree shows; pieces without joins can be as many as rows.
  const tree = clusters.tree.joins.length ? treeOf(clusters.tree, pieces) : null;
  return { ...clusters, levels, pieces, outlier: bytesOf(clusters.outlier), tree };
}

/** The cluster of each row at a level; −1 is noise. */
function labelsAt(clustering, index) {
  const { labels, noise } = clustering.levels[index];
  return Int32Array.from(clustering.pieces, (piece, row) => (bitAt(noise, row) ? -1 : labels[piece]));
}

/** Size, mean outlier score and silhouette of each cluster at a level, and last of noise. Sizes are points, which rows can weigh. */
function groupsOf({ weighted, levels, outlier }, index, labels) {
  const { clusters: count, sizes, noise_points: noise, silhouettes } = levels[index];
  const groups = Array.from({ length: count + 1 }, (_, i) => ({ cluster: i < count ? i : -1, rows: 0, outlier: 0 }));
  labels.forEach((label, row) => {
    const group = groups[label < 0 ? count : label];
    group.rows++;
    group.outlier += outlier[row] / 255;
  });
  groups.forEach((group, i) => {
    group.outlier /= group.rows || 1;
    group.size = weighted ? (sizes[i] ?? noise) : group.rows;
    group.silhouette = silhouettes[i] ?? null;
  });
  return groups;
}

/** The tree with the rows, parent and place of each node. Nodes 0 to leaves − 1 are the pieces. */
function treeOf({ leaves, heights, joins }, pieces) {
  const nodes = leaves + joins.length;
  const rows = new Float64Array(nodes);
  const parent = new Int32Array(nodes).fill(-1);
  for (const piece of pieces) rows[piece]++;
  joins.forEach((sides, k) => {
    for (const side of sides) {
      parent[side] = leaves + k;
      rows[leaves + k] += rows[side];
    }
  });
  const roots = Array.from(parent.keys()).filter((node) => parent[node] < 0);
  const childrenOf = (node) => (node < leaves ? [] : joins[node - leaves]);
  return { leaves, nodes, heights, rows, parent, roots, childrenOf, starts: startsOf(nodes, roots, childrenOf, rows) };
}

/** The left end of each node in rows: the children of a node lie side by side below it. */
function startsOf(nodes, roots, childrenOf, rows) {
  const starts = new Float64Array(nodes);
  const placeSideBySide = (siblings, start) =>
    siblings.reduce((left, node) => {
      starts[node] = left;
      return left + rows[node];
    }, start);
  placeSideBySide(roots, 0);
  // A list of what remains instead of recursion, since trees can be deep.
  const remaining = [...roots];
  while (remaining.length) {
    const node = remaining.pop();
    placeSideBySide(childrenOf(node), starts[node]);
    for (const child of childrenOf(node)) remaining.push(child);
  }
  return starts;
}

const ALL_NOISE = -1;
const SEVERAL = -2;

/** The cluster that all rows below each node are in, apart from noise; SEVERAL or ALL_NOISE otherwise. */
function clustersOfNodes({ tree, pieces }, labels) {
  const of = new Int32Array(tree.nodes).fill(ALL_NOISE);
  const join = (node, cluster) => {
    if (cluster === ALL_NOISE) return;
    of[node] = of[node] === ALL_NOISE || of[node] === cluster ? cluster : SEVERAL;
  };
  labels.forEach((label, row) => join(pieces[row], label));
  for (let node = 0; node < tree.nodes; node++) if (tree.parent[node] >= 0) join(tree.parent[node], of[node]);
  return of;
}

/** A byte for each row that is 1 below a node. */
function rowsBelow({ tree, pieces }, node) {
  const isBelow = new Uint8Array(tree.nodes);
  const remaining = [node];
  while (remaining.length) {
    const below = remaining.pop();
    isBelow[below] = 1;
    for (const child of tree.childrenOf(below)) remaining.push(child);
  }
  return Uint8Array.from(pieces, (piece) => isBelow[piece]);
}
