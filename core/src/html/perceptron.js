// ---- perceptron.js: the page of a network ----

/** Texts of a row in the list. */
const MOST_TEXTS = 4;

/** Builds the page of a network in `main`, and returns what tests look at. */
PAGES.perceptron = (data, main) => {
  const { network } = data;
  const numbers = arrayOf(Uint32Array, network.numbers);
  const numberOf = (row) => numbers[row];
  const table = rowTable(data, numberOf);
  const inputs = inputsOf(network, data.rows);
  const parts = (data.classes ? classParts : numberParts)();
  const list = exampleList(itemOf);
  const heading = element('h2', {});
  const selection = rowSelection({
    fileOf: (rows) => table.fileOf(rows, ...parts.fields),
    show: showRows,
    hint: parts.hint,
    numberOf,
    base: parts.base,
  });

  // ---- Rows and their texts ----

  /** The names of texts that are kept, with the row's number first. */
  function titleOf(row) {
    const texts = table.texts.slice(0, MOST_TEXTS).map(({ name, textOf }) => `${name} ${textOf(row)}`);
    return element('span.note', {}, [`row ${numberOf(row)}`, ...texts].join(', '));
  }

  /** The parts of a row in the list. */
  function itemOf(row) {
    const lines = parts.linesOf(row).map((line) => element('span', {}, line));
    const about = element('div.about', {}, ...lines, titleOf(row));
    if (!inputs || inputs.spots[row] < 0) return [about];
    if (inputs.side) {
      const label = `Input of row ${numberOf(row)} as a picture: ${parts.linesOf(row).join(', ')}`;
      return [inputPicture(inputs, row, label), about];
    }
    const [own, instead] = parts.codesOf(row);
    const heads = parts.heads(own, instead);
    return [about, differenceTable(inputs.differences(row, own, instead), heads)];
  }

  function showRows(marks) {
    const { rows } = selection;
    heading.textContent = marks ? 'Selected rows' : parts.base.title;
    list.set(marks ? rows.slice().sort(parts.compare) : parts.base.order);
    parts.show(marks);
  }

  function marksOf(test) {
    const marks = new Uint8Array(data.rows);
    for (let row = 0; row < data.rows; row++) if (test(row)) marks[row] = 1;
    return marks;
  }

  function selectRow(row) {
    const marks = new Uint8Array(data.rows);
    marks[row] = 1;
    selection.set(marks, `row ${numberOf(row)}`);
  }

  // ---- Classes ----

  function classParts() {
    const { names, of: actual } = table.classes;
    const predicted = arrayOf(Uint32Array, network.predictions.predicted);
    const [probability, truth] = [network.predictions.probability, network.predictions.truth].map((text) =>
      arrayOf(Float32Array, text)
    );
    const confusion = confusionOf({ names, actual, predicted });
    const { groups, groupOf } = confusion;
    const matrix = matrixTable(confusion, data.rows, (own, instead) => {
      const marks = marksOf(
        (row) => (own < 0 || groupOf[actual[row]] === own) && (instead < 0 || groupOf[predicted[row]] === instead)
      );
      const texts = [own >= 0 && `true ${groups[own]}`, instead >= 0 && `predicted ${groups[instead]}`];
      picked = true;
      selection.set(marks, texts.filter(Boolean).join(', '));
    });
    /** True while the matrix itself selects, so that its cell stays marked. */
    let picked = false;
    const calibration = calibrationPlot({ probability, actual, predicted }, (bin, { bins, binOf }) => {
      const range = [bins[bin].from, bins[bin].to].map((value) => rounded(value, 3)).join(' to ');
      selection.set(
        marksOf((row) => binOf[row] === bin),
        `probability ${range}`
      );
    });
    const compare = (a, b) => probability[b] - probability[a] || truth[a] - truth[b] || a - b;
    const mistakes = marksOf((row) => actual[row] !== predicted[row]);
    const order = Array.from(numbers.keys()).filter((row) => mistakes[row]).sort(compare);
    const has = order.length ? `${counted(order.length, 'mistake')}, the most confident first.` : 'There are no mistakes.';
    return {
      fields: [
        { name: table.classes.name, fileOf: (row) => field(names[actual[row]]) },
        { name: 'predicted', fileOf: (row) => field(names[predicted[row]]) },
        { name: 'probability', fileOf: (row) => probability[row] },
        { name: 'probability of the true class', fileOf: (row) => truth[row] },
      ],
      hint: 'Click a cell of the matrix, a class or a bin of the calibration to list its rows.',
      base: { marks: mistakes, text: has, title: 'Most confident mistakes', order },
      compare,
      codesOf: (row) => [actual[row], predicted[row]],
      heads: (own, instead) => (own === instead ? ['mean of the class'] : [`mean of ${names[own]}`, `mean of ${names[instead]}`]),
      linesOf(row) {
        const [own, instead] = [names[actual[row]], names[predicted[row]]];
        if (own === instead) return [`${own}, predicted rightly`, `probability ${percent(probability[row])}`];
        return [`true ${own}, predicted ${instead}`, `${percent(probability[row])}; true class ${percent(truth[row])}`];
      },
      show() {
        if (!picked) matrix.clear();
        picked = false;
      },
      plots: [matrix, calibration],
      first: { title: 'Confusion matrix', content: [matrix.element], isWide: confusion.size > 12 },
      second: { title: 'Calibration', content: [calibration.element] },
      exports: { confusion, matrix, calibration, order },
    };
  }

  // ---- Numbers ----

  function numberParts() {
    const { columns } = table;
    const targets = Array.from({ length: columns.length / 2 }, (_, i) => targetOf(columns[2 * i], columns[2 * i + 1]));
    const state = { target: 0, isResidual: false };
    const parity = parityPlot({ linesOf: linesOfRow, select: selectRow });
    const residuals = residualPlot((marks, text) => selection.set(marks, text));
    const compare = (a, b) => {
      const { residual } = targets[state.target];
      return Math.abs(residual[b]) - Math.abs(residual[a]) || a - b;
    };
    const most = targets[0].order.slice(0, MORE_EXAMPLES);
    const base = {
      marks: marksOf(() => false),
      text: '',
      title: 'Largest errors',
      order: most,
    };

    function linesOfRow(row) {
      return [...table.linesOf(row), ['residual', rounded(targets[state.target].residual[row])]];
    }

    function update() {
      const target = targets[state.target];
      parity.set(target, state.isResidual);
      residuals.set(target);
      base.order = target.order.slice(0, MORE_EXAMPLES);
      base.marks.fill(0);
      for (const row of base.order) base.marks[row] = 1;
      base.text = `${counted(base.order.length, 'row')} with the largest errors.`;
    }

    const choices = [
      ...(targets.length > 1
        ? [
            choice('Target', targets.map(({ name }) => name), 0, (i) => {
              state.target = i;
              update();
              selection.set(null);
            }),
          ]
        : []),
      choice('Height', ['predicted', 'residual'], 0, (i) => {
        state.isResidual = i === 1;
        parity.set(targets[state.target], state.isResidual);
      }),
    ];
    update();
    return {
      fields: targets.map(({ name, residual }) => ({ name: `residual ${name}`, fileOf: (row) => residual[row] })),
      hint: 'Click a point or a bar to list its rows.',
      base,
      compare,
      codesOf: () => [0, 0],
      heads: () => [],
      linesOf(row) {
        const { name, actual, predicted, residual } = targets[state.target];
        return [
          `${name} ${rounded(actual[row])}, predicted ${rounded(predicted[row])}`,
          `residual ${rounded(residual[row])}`,
        ];
      },
      show: parity.setMarks,
      plots: [parity, residuals],
      first: { title: 'Predicted against true', content: [element('div.tools', {}, ...choices), parity.element] },
      second: { title: 'Residuals', content: [residuals.element] },
      exports: { targets, parity, residuals },
    };
  }

  // ---- The training ----

  function trainingParts({ training }) {
    const { loss, validation_loss: validation, validation_accuracy: accuracy, best } = training;
    const sizes = ['training', 'validation', 'test'].filter((part) => training[part]);
    const rows = sizes.map((part) => `${grouped(training[part])} for ${part}`).join(', ');
    const finite = (values) => values.map((value) => value ?? NaN);
    const chosen = validation ? 'which has the lowest validation loss' : 'the last, since no rows are for validation';
    const text = `Rows: ${rows}. The model is of epoch ${grouped(best)} of ${grouped(loss.length)}, ${chosen}.`;
    const lines = [
      { name: 'training loss', values: finite(loss) },
      ...(validation ? [{ name: 'validation loss', values: finite(validation) }] : []),
    ];
    const curves = [curvesPlot({ name: 'Loss by epoch', axis: 'loss', lines, best })];
    if (accuracy) {
      const values = finite(accuracy);
      const [low] = rangeOf(values) ?? [0];
      const range = [low > 0.8 ? 0.8 : low > 0.5 ? 0.5 : 0, 1];
      const line = { name: 'validation accuracy', values, isHigher: true };
      curves.push(curvesPlot({ name: 'Validation accuracy by epoch', axis: 'accuracy', lines: [line], best, range }));
    }
    parts.plots.push(...curves);
    return section('Training', element('p.note', {}, text), ...curves.map((curve) => curve.element));
  }

  // ---- The parts of the page ----

  function wide(part, isWide) {
    part.classList.toggle('wide', isWide);
    return part;
  }

  function weightsPart() {
    const { weights, widths } = network;
    const shape = `Layers ${widths.join(' \u2013 ')}, activation ${network.activation}.`;
    const note = element('p.note', {}, shape);
    if (!weights) return section('Network', note, element('p.note', {}, `The weights of ${counted(widths[0], 'column')} are too many for this page.`));
    const plot = weightsPlot(weights);
    parts.plots.push(plot);
    return section('Weights of the first layer', note, plot.element);
  }

  const note = inputs ? null : element('p.note', {}, `The inputs of ${counted(network.widths[0], 'column')} are too many for this page.`);
  const { first, second } = parts;
  const rows = element('section', { 'aria-label': 'Rows' }, heading, selection.element, note, list.element);
  main.classList.add('network');
  main.append(
    wide(section(first.title, ...first.content), Boolean(first.isWide)),
    wide(rows, Boolean(first.isWide)),
    ...(network.training ? [trainingParts(network)] : []),
    section(second.title, ...second.content),
    wide(weightsPart(), Boolean(network.training))
  );
  selection.set(null);
  theme.listeners.push(() => {
    for (const plot of parts.plots) plot.redraw();
  });
  return { selection, list, inputs, numbers, ...parts.exports };
};
