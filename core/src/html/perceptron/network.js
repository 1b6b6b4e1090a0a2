// ---- network.js: what the pages of classifiers and regressions have ----

/**
 * Builds a page in `main`. `partsOf(list)` makes what depends on the task: { first, second: { title, content, isWide }, plots: to
 * draw again in another theme, exports: what tests look at, and the options of the list of rows }; `list()` is that list.
 */
function networkPage(data, main, partsOf) {
  const { network } = data;
  const numbers = arrayOf(Uint32Array, network.numbers);
  const inputs = inputsOf(network, data.rows);
  const parts = partsOf(numbers, (...selected) => list.select(...selected));
  const list = exampleList({ data, numbers, inputs, ...parts });
  const plots = [...parts.plots];
  const note = (text) => element('p.note', {}, text);

  function trainingPart({ loss, validation_loss: validation, validation_accuracy: accuracy, best, ...counts }) {
    const finite = (values) => values.map((value) => value ?? NaN);
    const sizes = ['training', 'validation', 'test'].filter((part) => counts[part]);
    const rows = sizes.map((part) => `${grouped(counts[part])} for ${part}`).join(', ');
    const chosen = validation ? 'which has the lowest validation loss' : 'the last, since no rows are for validation';
    const text = `Rows: ${rows}. The model is of epoch ${grouped(best)} of ${grouped(loss.length)}, ${chosen}.`;
    const lines = [{ name: 'training loss', values: finite(loss) }];
    if (validation) lines.push({ name: 'validation loss', values: finite(validation) });
    const curves = [curvesPlot({ name: 'Loss by epoch', axis: 'loss', lines, best })];
    if (accuracy) {
      const line = { name: 'validation accuracy', values: finite(accuracy), isHigher: true };
      const [low] = rangeOf(line.values) ?? [0];
      const range = [[0.8, 0.5, 0].find((from) => from <= low), 1];
      curves.push(curvesPlot({ name: 'Validation accuracy by epoch', axis: 'accuracy', lines: [line], best, range }));
    }
    plots.push(...curves);
    return section('Training', note(text), ...curves.map((curve) => curve.element));
  }

  function weightsPart({ weights, widths, activation }) {
    const shape = note(`Layers ${widths.join(' \u2013 ')}, activation ${activation}.`);
    if (!weights) return section('Network', shape, note(`The page has no weights of ${counted(widths[0], 'column')}.`));
    const plot = weightsPlot(weights);
    plots.push(plot);
    return section('Weights of the first layer', shape, ...plot.content);
  }

  const lacking = inputs ? null : note(`The page has no inputs of ${counted(network.widths[0], 'column')}.`);
  const [first, second] = [parts.first, parts.second].map(({ title, content }) => section(title, ...content));
  const rows = element('section', { 'aria-label': 'Rows' }, ...list.content, lacking);
  const weights = weightsPart(network);
  for (const part of [first, rows]) part.classList.toggle('wide', Boolean(parts.first.isWide));
  const { training } = network;
  const left = element('div.side', {}, training && trainingPart(training));
  const right = element('div.side', {}, second);
  main.classList.add('network');
  main.append(first, rows, ...(training ? [left, right] : [right]));
  // Small ones have room below the shorter of both.
  const isSmall = weights.querySelector('.heat') && network.widths[1] <= 16 && !training?.validation_accuracy;
  const beside = training && isSmall && (data.classes ? left : right);
  weights.classList.toggle('wide', Boolean(training && !beside));
  (beside || main).append(weights);
  list.select(null);
  theme.listeners.push(() => {
    for (const plot of plots) plot.redraw();
  });
  return { list, inputs, numbers, ...parts.exports };
}
