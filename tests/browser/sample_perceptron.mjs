// Sample pages of networks, as the program writes them.
import { HOSTILE, base64, randomNumbers, stored } from './sample.mjs';

/** Curves of a training with these numbers of rows. */
const trainingOf = (epochs, { validation, accuracy, counts }) => ({
  best: validation ? Math.max(1, epochs - 2) : epochs,
  stop: 'epochs',
  ...counts,
  loss: Array.from({ length: epochs }, (_, i) => 0.02 + Math.exp(-i / 4)),
  validation_loss: validation
    ? Array.from({ length: epochs }, (_, i) => 0.1 + Math.exp(-i / 5) + 0.01 * Math.abs(i - epochs + 3))
    : null,
  validation_accuracy: accuracy ? Array.from({ length: epochs }, (_, i) => 0.97 - 0.4 * Math.exp(-i / 3)) : null,
});

const weightsOf = (columns, count, random, names = null) => {
  const units = Uint32Array.from({ length: Math.min(count, 64) }, (_, k) => count - 1 - k);
  return {
    columns,
    count,
    names,
    bias: Array.from(units, () => random() - 0.5),
    units: base64(units),
    values: base64(Float32Array.from({ length: units.length * columns.length }, () => random() - 0.5)),
  };
};

const pageOfNetwork = (rest) => ({
  title: 'points.csv: perceptron, accuracy 90.0 % on test rows',
  summary: 'accuracy 0.9, macro F1 0.9, loss 0.3 on test rows\n10 of 10 epochs',
  command: 'firebox perceptron train points.csv --label label',
  facts: [
    ['version', '0.1.0'],
    ['device', 'ndarray, two threads'],
    ['seconds', '0.12'],
  ],
  settings: [
    ['epochs', '10'],
    ['weight_decay', '–'],
  ],
  ...rest,
});

/**
 * A classifier of `rows` rows in `classes` classes with `columns` columns; `hidden` units, or none. Row i has the number
 * 3·i + 1 in its table. Every `every`-th row has inputs.
 */
export function classifierData({
  rows = 300,
  classes = 3,
  columns = 4,
  hidden = 8,
  epochs = 10,
  validation = true,
  training = true,
  texts = [],
  every = 1,
  errors = 0.15,
  means = true,
  inputs = true,
  hostile = true,
  seed = 1,
} = {}) {
  const random = randomNumbers(seed);
  const names = Array.from({ length: classes }, (_, k) => (k === 1 && hostile ? HOSTILE : `class ${k}`));
  const columnNames = Array.from({ length: columns }, (_, i) =>
    columns === 64 ? `p${i}` : i === 2 && hostile ? `a ${HOSTILE}` : `x${i} cm`
  );
  const actual = Uint32Array.from({ length: rows }, () => Math.floor(random() ** 1.3 * classes));
  const predicted = actual.map((code) => (random() < errors ? Math.floor(random() * classes) : code));
  const probability = Float32Array.from(predicted, () => 1 / classes + (1 - 1 / classes) * random() ** 0.4);
  const truth = probability.map((value, row) => (predicted[row] === actual[row] ? value : (1 - value) * random()));
  const withInputs = Uint32Array.from(Array.from({ length: rows }, (_, row) => row).filter((row) => row % every === 0));
  const valueOf = (row, i) => Math.fround(Math.sin(actual[row] + i) + 0.3 * random());
  return pageOfNetwork({
    kind: 'perceptron',
    rows,
    columns: [],
    texts,
    classes: { name: 'label', names, of: base64(actual) },
    network: {
      task: 'classification',
      rows: 'test rows',
      numbers: base64(Uint32Array.from(actual, (_, row) => 3 * row + 1)),
      widths: [columns, ...(hidden ? [hidden] : []), classes],
      activation: 'relu',
      training: training
        ? trainingOf(epochs, {
            validation,
            accuracy: validation,
            counts: { training: 1000, validation: validation ? 100 : 0, test: rows },
          })
        : null,
      predictions: { predicted: base64(predicted), probability: base64(probability), truth: base64(truth) },
      inputs: inputs
        ? {
            rows: base64(withInputs),
            columns: columnNames.map((name, i) => ({
              name,
              ...stored(Array.from(withInputs, (row) => (row === 6 && i === 0 ? NaN : valueOf(row, i)))),
            })),
          }
        : null,
      means:
        means && inputs
          ? {
              centre: columnNames.map(() => 0.5),
              spread: columnNames.map(() => 2),
              classes: base64(Float32Array.from({ length: classes * columns }, () => random() - 0.5)),
            }
          : null,
      weights: inputs ? weightsOf(columnNames, hidden || classes, random, hidden ? null : names) : null,
    },
  });
}

/** A regression of `targets` targets with three columns. */
export function regressionData({ rows = 200, targets = 1, training = true, texts = [], seed = 1 } = {}) {
  const random = randomNumbers(seed);
  const names = Array.from({ length: targets }, (_, k) => (k ? `y${k} ${HOSTILE}` : 'y'));
  const columns = names.flatMap((name, k) => {
    const actual = Array.from({ length: rows }, () => Math.fround(10 * random() * (k + 1)));
    const predicted = actual.map((value) => Math.fround(value + random() - 0.5));
    return [
      { name, ...stored(actual) },
      { name: `predicted ${name}`, ...stored(predicted) },
    ];
  });
  const inputs = ['a', `b ${HOSTILE}`, 'c'];
  return pageOfNetwork({
    kind: 'regression',
    rows,
    columns,
    texts,
    classes: null,
    network: {
      task: 'regression',
      rows: 'test rows',
      numbers: base64(Uint32Array.from({ length: rows }, (_, row) => 2 * row)),
      widths: [3, 5, targets],
      activation: 'gelu',
      training: training
        ? trainingOf(12, { validation: true, accuracy: false, counts: { training: 900, validation: 100, test: rows } })
        : null,
      predictions: null,
      inputs: {
        rows: base64(Uint32Array.from({ length: rows }, (_, row) => row)),
        columns: inputs.map((name) => ({ name, ...stored(Array.from({ length: rows }, () => random())) })),
      },
      means: null,
      weights: weightsOf(inputs, 5, random),
    },
  });
}
