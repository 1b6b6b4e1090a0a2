// ---- page.js: what all reports have, and the start ----

/** Title, summary and command of a run. */
function header(data) {
  const command = element('code', { tabIndex: 0 }, data.command);
  const copyButton = button('Copy', () => copy(data.command, copyButton), { 'aria-label': 'Copy the command' });
  return element(
    'header',
    {},
    element('div.row', {}, element('h1', {}, data.title), element('span.grow'), themeBox()),
    element('p.summary', {}, data.summary),
    element('div.row.command', {}, command, copyButton)
  );
}

function start() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const main = element('main');
  document.body.append(header(data), main, announcements);
  const page = PAGES[data.kind](data, main);
  document.body.append(element('footer', {}, details('Run', data.facts), details('Settings', data.settings)));
  // For tests, and for the curious in a browser's console.
  window.firebox = { data, theme, ...page };
}

start();
