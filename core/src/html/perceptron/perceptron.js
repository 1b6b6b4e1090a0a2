// ---- perceptron.js: the page of a classifier ----

/** Builds the page of a classifier in `main`, and returns what tests look at. */
PAGES.perceptron = (data, main) =>
  networkPage(data, main, (numbers, select) => {
    const { names } = data.classes;
    const actual = arrayOf(Uint32Array, data.classes.of);
    const predicted = arrayOf(Uint32Array, data.network.predictions.predicted);
    const [probability, truth] = ['probability', 'truth'].map((name) =>
      arrayOf(Float32Array, data.network.predictions[name])
    );
    const confusion = confusionOf({ names, actual, predicted });
    /** True while the matrix selects, so that its cell stays marked. */
    let isOwn = false;
    const matrix = matrixTable(confusion, data.network.rows, (own, instead) => {
      const { groups, groupOf } = confusion;
      const texts = [own >= 0 && `true ${groups[own]}`, instead >= 0 && `predicted ${groups[instead]}`];
      const has = (code, group) => group < 0 || groupOf[code] === group;
      isOwn = true;
      select((row) => has(actual[row], own) && has(predicted[row], instead), texts.filter(Boolean).join(', '));
      isOwn = false;
    });
    const calibration = calibrationPlot({ probability, actual, predicted }, (bin, { bins, binOf }) =>
      select((row) => binOf[row] === bin, `probability ${rangeText(bins[bin].range)}`)
    );
    const shareOf = (shares, row) => shares[row] || 0;
    const compare = (a, b) =>
      shareOf(probability, b) - shareOf(probability, a) || shareOf(truth, a) - shareOf(truth, b) || a - b;
    /** A probability in a file, with the digits of 32 bits. */
    const fileOf = (shares) => (row) => (Number.isNaN(shares[row]) ? '' : Number(shares[row].toPrecision(7)));
    const mistakes = Array.from(numbers.keys()).filter((row) => actual[row] !== predicted[row]);
    mistakes.sort(compare);
    const base = {
      title: 'Most confident mistakes',
      text: mistakes.length
        ? `${counted(mistakes.length, 'mistake')}, the most confident first.`
        : 'There are no mistakes.',
      rows: mistakes,
    };
    return {
      base: () => base,
      compare,
      hint: 'A cell of the matrix, a class or a bin of the calibration lists its rows.',
      fields: [
        { name: data.classes.name, fileOf: (row) => field(names[actual[row]]) },
        { name: 'predicted', fileOf: (row) => field(names[predicted[row]]) },
        { name: 'probability', fileOf: fileOf(probability) },
        { name: 'probability of the true class', fileOf: fileOf(truth) },
      ],
      codesOf: (row) => [...new Set([actual[row], predicted[row]])],
      nameOf: (code) => names[code],
      linesOf(row) {
        const [own, instead] = [names[actual[row]], names[predicted[row]]];
        const sure = percent(probability[row]);
        if (actual[row] === predicted[row]) return [`${own}, correctly predicted`, `${sure} for ${own}`];
        return [`true ${own}, predicted ${instead}`, `${sure} for ${instead}, ${percent(truth[row])} for ${own}`];
      },
      show: () => isOwn || matrix.clear(),
      plots: [matrix, calibration],
      first: { title: 'Confusion matrix', content: matrix.content, isWide: confusion.size > 12 },
      second: { title: 'Calibration', content: calibration.content },
      exports: { confusion, calibration },
    };
  });
