// ---- selection.js: rows that were selected, in a plot or by name ----

/**
 * Selected rows and the line that counts them. `options` are { show(marks): called after a change with a byte for each
 * row or null, fileOf(rows): the CSV file of these rows, hint: how to select }.
 */
function rowSelection(options) {
  let rows = [];
  const text = element('span.grow');
  const copyButton = button('Copy row numbers', () => copy(rows.join('\n'), copyButton));
  const saveButton = button('Download rows', () => download('selection.csv', options.fileOf(rows)));
  const clearButton = button('Clear', () => {
    set(null);
    // The button is hidden now.
    document.querySelector('.plot, input[type=range], .sizes button').focus({ preventScroll: true });
  });
  const bar = element('div.selection', {}, text, copyButton, saveButton, clearButton);

  /** Selects the rows with a byte that is not 0; `what` names them. */
  function set(marks, what) {
    const had = rows.length;
    rows = [];
    if (marks) for (let row = 0; row < marks.length; row++) if (marks[row]) rows.push(row);
    const some = rows.length > 0;
    for (const pressed of [copyButton, saveButton, clearButton]) pressed.hidden = !some;
    text.textContent = some ? `${counted(rows.length, 'row')} selected: ${what}` : `Nothing is selected. ${options.hint}`;
    options.show(some ? marks : null);
    if (marks || had) announce(some ? text.textContent : 'Nothing is selected.');
  }

  return {
    element: bar,
    set,
    get rows() {
      return rows;
    },
  };
}
