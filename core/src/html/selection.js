// ---- selection.js: rows that were selected, in a plot or by name ----

/**
 * Selected rows and the line that counts them. `options` are { show(marks): called after a change with a byte for each
 * row or null, fileOf(rows): the CSV file of these rows, hint: how to select, numberOf(row): its number if that is another,
 * base: { marks, text } of the rows to copy and save while none is selected, if there are such }.
 */
function rowSelection(options) {
  let rows = [];
  const { base, numberOf = (row) => row } = options;
  const text = element('span.grow', {});
  const copyButton = button('Copy row numbers', () => copy(rows.map(numberOf).join('\n'), copyButton));
  const saveButton = button('Download rows', () => download('selection.csv', options.fileOf(rows)));
  const clearButton = button('Clear', () => set(null));
  const bar = element('div.selection', {}, text, copyButton, saveButton, clearButton);

  function rowsOf(marks) {
    const marked = [];
    if (marks) for (let row = 0; row < marks.length; row++) if (marks[row]) marked.push(row);
    return marked;
  }

  /** Selects the rows with a byte that is not 0; `what` names them. */
  function set(marks, what) {
    rows = rowsOf(marks);
    const some = rows.length > 0;
    if (base && !some) rows = rowsOf(base.marks);
    for (const pressed of [copyButton, saveButton]) pressed.hidden = !rows.length;
    clearButton.hidden = !some;
    const none = marks ? `No rows: ${what}.` : `${base?.text ?? 'Nothing is selected.'} ${options.hint}`;
    text.textContent = some ? `${counted(rows.length, 'row')} selected: ${what}` : none;
    options.show(some ? marks : null);
    if (marks) announce(text.textContent);
  }

  return {
    element: bar,
    set,
    get rows() {
      return rows;
    },
  };
}
