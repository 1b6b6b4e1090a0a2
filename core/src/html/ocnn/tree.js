// ---- tree.js: the tree of clusters as blocks, as wide as their rows ----

/** Room below the tree. */
const COUNT_ROOM = 20;
const TREE_HELP = 'Arrow keys: up to the branch around, down into it, left and right beside it. Enter selects its rows.';
const TREE_HINT = 'Point at a branch to see its rows in the plot; click to select them.';

/**
 * The tree of a clustering. `options` are { highlight(node): called with the node at the pointer or the keyboard's focus,
 * or −1, select(node) }.
 */
function treePlot(clustering, options) {
  const { tree } = clustering;
  const highest = tree.roots.reduce((most, root) => Math.max(most, tree.heights[root]), 1);
  const total = tree.roots.reduce((sum, root) => sum + tree.rows[root], 0);
  const {
    element: plot,
    redraw,
    describe,
  } = drawing({ className: 'tree', tabIndex: 0, role: 'group', 'aria-label': `Tree of clusters. ${TREE_HELP}` }, draw);
  const status = element('p.note', { 'aria-live': 'polite' }, TREE_HINT);
  const showSoon = oncePerFrame(() => {
    options.highlight(current);
    redraw();
  });
  let clusters = new Int32Array(tree.nodes);
  let looks = [];
  let current = -1;
  /** Remembered when the focus leaves. */
  let focused = tree.roots[0];

  function placeOf(height) {
    return SCALE_ROOM.top + (1 - height / highest) * (plot.clientHeight - SCALE_ROOM.top - COUNT_ROOM);
  }

  /** Left, top, width and height of a node's block in pixels: from the join with its sibling down to its own. */
  function boxOf(node) {
    const unit = (plot.clientWidth - SCALE_ROOM.left - SCALE_ROOM.right) / total;
    const top = placeOf(tree.parent[node] < 0 ? highest : tree.heights[tree.parent[node]]);
    return [SCALE_ROOM.left + tree.starts[node] * unit, top, tree.rows[node] * unit, placeOf(tree.heights[node]) - top];
  }

  function draw(context, width, height) {
    drawScale(context, '1 \u2212 agreement', highest, height / 40, width, placeOf);
    write(context, fitted(context, counted(total, 'row'), width), (SCALE_ROOM.left + width) / 2, height - 8, 'center');
    for (let node = 0; node < tree.nodes; node++) drawBlock(context, node);
    if (current < 0) return;
    const [left, top, wide, high] = boxOf(current);
    context.strokeStyle = styleColour('--ink');
    context.lineWidth = 2;
    context.strokeRect(left, top, Math.max(wide, 2), Math.max(high, 2));
  }

  function drawBlock(context, node) {
    const [left, top, width, height] = boxOf(node);
    if (width < 0.2 || height <= 0) return;
    const cluster = clusters[node];
    const colour =
      cluster === SEVERAL
        ? SEVERAL_COLOUR[theme.name]
        : cluster === ALL_NOISE
          ? NOISE[theme.name]
          : looks[cluster].colour;
    // A gap beside the next block where there is room for one.
    const [right, bottom] = [width, height].map((side) => side - Math.min(1, 0.2 * side));
    context.fillStyle = css(colour);
    context.fillRect(left, top, right, bottom);
    const isTop = tree.parent[node] < 0 || clusters[tree.parent[node]] !== cluster;
    if (cluster < 0 || !isTop || height < 16 || context.measureText(cluster).width + 6 > width) return;
    context.fillStyle = textOn(colour);
    write(context, String(cluster), left + right / 2, top + bottom / 2, 'center');
  }

  function nodeAt(event) {
    const bounds = plot.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    for (let node = tree.nodes - 1; node >= 0; node--) {
      const [left, top, width, height] = boxOf(node);
      if (x >= left && x < left + width && y >= top && y < top + height) return node;
    }
    return -1;
  }

  function textOf(node) {
    const within =
      clusters[node] === SEVERAL
        ? 'several clusters'
        : clusters[node] === ALL_NOISE
          ? 'noise'
          : `cluster ${clusters[node]}`;
    const joined = node < tree.leaves ? 'not divided further' : `joined at ${rounded(tree.heights[node], 3)}`;
    return `Branch of ${counted(tree.rows[node], 'row')} in ${within}, ${joined}.`;
  }

  function show(node) {
    if (node === current) return;
    current = node;
    status.textContent = node < 0 ? TREE_HINT : textOf(node);
    showSoon();
  }

  function go(node) {
    focused = node ?? focused;
    show(focused);
  }

  /** The branch beside the focused one; after the last comes the first. */
  function beside(step) {
    const siblings = tree.parent[focused] < 0 ? tree.roots : tree.childrenOf(tree.parent[focused]);
    return siblings.at((siblings.indexOf(focused) + step) % siblings.length);
  }

  const select = () => options.select(focused);
  onKeys(plot, {
    ArrowUp: () => go(tree.parent[focused] < 0 ? focused : tree.parent[focused]),
    ArrowDown: () => go(tree.childrenOf(focused)[0]),
    ArrowLeft: () => go(beside(-1)),
    ArrowRight: () => go(beside(1)),
    Enter: select,
    ' ': select,
    Escape: () => options.select(-1),
  });
  listen(plot, {
    pointermove: (event) => show(nodeAt(event)),
    'pointerleave blur': () => show(-1),
    focus: () => plot.matches(':focus-visible') && show(focused),
    click(event) {
      const node = nodeAt(event);
      if (node >= 0) focused = node;
      options.select(node);
    },
  });

  return {
    element: element('div', {}, plot, status),
    boxOf,
    get focused() {
      return focused;
    },
    /** Colours the blocks by the clusters of their rows. */
    setClusters(labels, looksNow, result) {
      clusters = clustersOfNodes(clustering, labels);
      looks = looksNow;
      describe(`Tree of ${counted(tree.leaves, 'group')} ${result}`);
      redraw();
    },
  };
}
