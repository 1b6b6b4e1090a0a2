// ---- regression.js: the page of a regression ----

const RESIDUAL_BINS = 31;

/** The histogram of residuals, symmetric about 0. `select(test, text)` is called with the rows of a bar. */
function residualPlot(targetNow, select) {
  let target = targetNow;
  let half = 1;
  let counts = [];
  const stepped = steppedPlot({
    className: 'curves',
    name: 'Histogram of residuals',
    help: 'Arrow keys read the bars, Enter lists the rows of one.',
    first: (RESIDUAL_BINS - 1) / 2,
    count: () => RESIDUAL_BINS,
    draw,
    linesOf: (bin) => [
      ['residual', rangeText(edgesOf(bin))],
      ['rows', grouped(counts[bin])],
    ],
    placeOf: (bin, [width]) => [(width * (bin + 0.5)) / RESIDUAL_BINS, 0],
    at: (x, y, [width]) => (x < 0 || x >= width ? -1 : Math.floor((x / width) * RESIDUAL_BINS)),
    choose: (bin) => select((row) => binOf(target.residual[row]) === bin, `residual ${rangeText(edgesOf(bin))}`),
  });

  function binOf(value) {
    return clamped(Math.floor(((value / half + 1) / 2) * RESIDUAL_BINS), 0, RESIDUAL_BINS - 1);
  }

  function edgesOf(bin) {
    return [bin, bin + 1].map((edge) => ((2 * edge) / RESIDUAL_BINS - 1) * half);
  }

  function set(next) {
    target = next;
    half = Math.abs(target.residual[target.order[0]]) || 1;
    counts = new Array(RESIDUAL_BINS).fill(0);
    for (const value of target.residual) counts[binOf(value)]++;
    stepped.update(`Histogram of residuals of ${target.name}. ${targetText(target)}`);
  }

  function draw(context, [width, height], current) {
    const most = 1.05 * Math.max(...counts);
    const placeX = (value) => (width * (value / half + 1)) / 2;
    const placeY = (value) => height * (1 - value / most);
    drawAxes(
      context,
      [width, height],
      [
        { name: 'residual (predicted \u2212 true)', ticks: ticksOf(-half, half, width / 80), place: placeX },
        { name: 'rows', ticks: countTicks(most, height), place: placeY },
      ]
    );
    counts.forEach((count, bin) => {
      const [from, to] = edgesOf(bin).map(placeX);
      context.fillStyle = styleColour(bin === current ? '--ink' : '--accent');
      context.fillRect(from + 0.5, placeY(count), Math.max(to - from - 1, 1), height - placeY(count));
    });
  }

  set(target);
  return { content: stepped.parts, redraw: stepped.redraw, set };
}

/** Builds the page of a regression in `main`, and returns what tests look at. */
PAGES.regression = (data, main) =>
  networkPage(data, main, (numbers, select) => {
    const columns = data.columns.map(columnOf);
    const targets = columns
      .filter((_, i) => i % 2 === 0)
      .map((column, i) => targetOf([column, columns[2 * i + 1]], data.network.rows));
    let target = targets[0];
    let isResidual = false;
    const parity = parityPlot(target, numbers, (chosen) => select((row) => row === chosen, `row ${numbers[chosen]}`));
    const residuals = residualPlot(target, select);

    function setTarget(i) {
      target = targets[i];
      parity.set(target, isResidual);
      residuals.set(target);
      select(null);
    }

    const height = choice('Height', ['predicted', 'residual'], 0, (i) => {
      isResidual = i === 1;
      parity.set(target, isResidual);
    });
    const names = targets.map(({ name }) => name);
    const choices = targets.length > 1 ? [choice('Target', names, 0, setTarget), height] : [height];
    return {
      base() {
        const rows = target.order.slice(0, MORE_EXAMPLES);
        return { title: 'Largest errors', text: `${counted(rows.length, 'row')}, the largest error first.`, rows };
      },
      compare: (a, b) => target.ranks[a] - target.ranks[b],
      hint: 'A point or a bar lists its rows.',
      fields: [
        ...columns.map(({ name, fileOf }) => ({ name, fileOf })),
        ...targets.map(({ name, residual }) => ({ name: `residual ${name}`, fileOf: (row) => residual[row] })),
      ],
      codesOf: () => [],
      linesOf(row) {
        const [own, instead] = target.columns.map(({ values }) => rounded(values[row]));
        return [`${target.name} ${own}, predicted ${instead}`, `residual ${rounded(target.residual[row])}`];
      },
      show: parity.setMarks,
      plots: [parity, residuals],
      first: { title: 'Predicted against true', content: [element('div.tools', {}, ...choices), ...parity.content] },
      second: { title: 'Residuals', content: residuals.content },
      exports: { targets, parity },
    };
  });
