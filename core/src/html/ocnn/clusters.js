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

/**
 * The tree with the parent of each node, and its width and left end in rows and in groups. Nodes 0 to leaves − 1 are the
 * pieces; a join comes after the nodes that it joins, and the root is the last.
 */
function treeOf({ leaves, heights, joins }, pieces) {
  const nodes = leaves + joins.length;
  const root = nodes - 1;
  const parent = [];
  joins.forEach((sides, k) => {
    for (const side of sides) parent[side] = leaves + k;
  });
  const sidesOf = (node) => joins[node - leaves] ?? [];
  const rows = new Float64Array(nodes);
  for (const piece of pieces) rows[piece]++;
  const tree = { leaves, nodes, root, heights, parent, sidesOf, rows };
  return { ...tree, inRows: sideBySide(tree, rows), inGroups: sideBySide(tree, new Float64Array(nodes).fill(1, 0, leaves)) };
}

/** Adds the widths of leaves up to those of all nodes, and finds their left ends: sides lie beside each other below a join. */
function sideBySide({ root, parent, sidesOf }, widths) {
  const starts = new Float64Array(widths.length);
  for (let node = 0; node < root; node++) widths[parent[node]] += widths[node];
  for (let node = root; node >= 0; node--)
    sidesOf(node).reduce((left, side) => {
      starts[side] = left;
      return left + widths[side];
    }, starts[node]);
  return { widths, starts };
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
  for (let node = 0; node < tree.root; node++) join(tree.parent[node], of[node]);
  return of;
}

/** A byte for each row that is 1 below a node. */
function rowsBelow({ tree, pieces }, node) {
  const isBelow = new Uint8Array(tree.nodes);
  isBelow[node] = 1;
  for (let below = node - 1; below >= 0; below--) isBelow[below] = isBelow[tree.parent[below]];
  return Uint8Array.from(pieces, (piece) => isBelow[piece]);
}

/**
 * The joins that are cut at a level, whose sides share no cluster, and the height at which a cut across the tree makes the same
 * clusters, or null if there is none: cuts are in the order of their contrast, which need not be that of their height.
 */
function cutOf({ tree, levels }, index) {
  const clusters = Array.from(levels[index].labels, (label) => new Set([label]));
  const isCut = [];
  let joins = 0;
  let [low, high] = [0, Infinity];
  for (let node = tree.leaves; node < tree.nodes; node++) {
    const [first, second] = tree.sidesOf(node).map((side) => clusters[side]);
    clusters[node] = new Set([...first, ...second]);
    isCut[node] = clusters[node].size === first.size + second.size;
    joins += isCut[node];
    if (isCut[node]) high = Math.min(high, tree.heights[node]);
    else low = Math.max(low, tree.heights[node]);
  }
  if (!joins) return { isCut, height: null, text: '' };
  if (low >= high) return { isCut, height: null, text: `, ${counted(joins, 'join')} cut` };
  const height = (low + high) / 2;
  return { isCut, height, text: `, cut at ${rounded(height, 3)}` };
}
