// ---- tree.js: plots of the tree of clusters, whose branches show and select their rows ----

const TREE_HELP = 'Arrow keys: up and down the tree, left and right beside a branch. Enter selects its rows.';
const TREE_HINT = 'Point at a branch to see its rows in the plot; click to select them.';

/**
 * The plots of the tree of a clustering. `options` are { highlight(node): called with the node at the pointer or the keyboard's
 * focus, or −1, select(node) }.
 */
function treePlots(clustering, options) {
  const { tree } = clustering;
  /** What all plots show: the branch in use or −1, the clusters of nodes, the looks of clusters, and the cut. */
  const shown = { current: -1, clusters: [], looks: [], cut: null };
  /** Remembered when the focus leaves. */
  let focused = tree.root;
  const plots = [DENDROGRAM, BLOCKS].map(treePlot);
  const showSoon = oncePerFrame(() => {
    options.highlight(shown.current);
    redraw();
  });

  function redraw() {
    for (const plot of plots) plot.redraw();
  }

  /**
   * A plot of a kind { name, room: pixels below the tree, reach: pixels below a join that still belong to it, spread: 'inRows' or
   * 'inGroups', draw }.
   */
  function treePlot({ name, room, reach, spread, draw }) {
    const { widths, starts } = tree[spread];
    const properties = { className: 'tree', tabIndex: 0, role: 'group', 'aria-label': `${name}. ${TREE_HELP}` };
    const { element: plot, ...drawn } = drawing(properties, (context, width, height) => {
      drawScale(context, '1 \u2212 agreement', 1, height / 40, width, placeOf);
      const below = draw(context, tree, shown, { placeOf, boxOf });
      context.fillStyle = styleColour('--faint');
      write(context, below, (ROOM.left + width) / 2, height - 8, 'center');
    });
    const status = element('p.note', { 'aria-live': 'polite' }, TREE_HINT);

    const placeOf = (height) => ROOM.top + (1 - height) * (plot.clientHeight - ROOM.top - room);

    /** Left, top, width and height of a node in pixels: from the join with its sibling down to its own. */
    function boxOf(node) {
      const unit = (plot.clientWidth - ROOM.left - ROOM.right) / widths[tree.root];
      const top = placeOf(tree.heights[tree.parent[node]] ?? 1.03);
      return [ROOM.left + starts[node] * unit, top, widths[node] * unit, placeOf(tree.heights[node]) - top];
    }

    function nodeAt(event) {
      const [x, y] = [event.offsetX, event.offsetY - reach];
      for (let node = tree.nodes - 1; node >= 0; node--) {
        const [left, top, width, height] = boxOf(node);
        if (x >= left && x < left + width && y >= top && y < top + height) return node;
      }
      return -1;
    }

    function show(node) {
      if (node === shown.current) return;
      shown.current = node;
      status.textContent = node < 0 ? TREE_HINT : textOf(node);
      showSoon();
    }

    function go(node) {
      focused = node ?? focused;
      show(focused);
    }

    const goBeside = () => go(tree.sidesOf(tree.parent[focused]).find((side) => side !== focused));
    const select = () => options.select(focused);
    onKeys(plot, {
      ArrowUp: () => go(tree.parent[focused]),
      ArrowDown: () => go(tree.sidesOf(focused)[0]),
      ArrowLeft: goBeside,
      ArrowRight: goBeside,
      Enter: select,
      ' ': select,
      Escape: () => options.select(-1),
    });
    listen(plot, {
      pointermove: (event) => show(nodeAt(event)),
      'pointerleave blur'() {
        // Forces `show` to restore the hint even if the other plot has cleared the branch.
        shown.current = null;
        show(-1);
      },
      focus: () => plot.matches(':focus-visible') && show(focused),
      click(event) {
        const node = nodeAt(event);
        if (node >= 0) focused = node;
        options.select(node);
      },
    });
    return { ...drawn, name, boxOf, element: section(name, plot, status) };
  }

  function textOf(node) {
    const cluster = shown.clusters[node];
    const within = { [SEVERAL]: 'several clusters', [ALL_NOISE]: 'noise' }[cluster] ?? `cluster ${cluster}`;
    const joined = node < tree.leaves ? 'not divided further' : `joined at ${rounded(tree.heights[node], 3)}`;
    return `Branch of ${counted(tree.rows[node], 'row')} in ${within}, ${joined}.`;
  }

  return {
    plots,
    shown,
    get focused() {
      return focused;
    },
    /** Shows a level in the colours of its clusters. */
    setLevel(level, labels, looks, result) {
      const cut = cutOf(clustering, level);
      Object.assign(shown, { clusters: clustersOfNodes(clustering, labels), looks, cut });
      for (const plot of plots) plot.describe(`${plot.name} of ${counted(tree.leaves, 'group')} ${result}${cut.text}`);
      redraw();
    },
  };
}
