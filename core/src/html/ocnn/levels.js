// ---- levels.js: the number of clusters, their contrast, their sizes, and evidence against chance ----

/** Room below the bars. */
const NUMBERS_ROOM = 34;
const CONTRAST = 'Contrast by number of clusters: how much the agreement drops at the last cut between clusters';
/** Width of a slider's handle in page.css, so that it stands below the bar of its level. */
const HANDLE = 16;

/**
 * A slider over the levels below the contrast of each, with what is known of the level. `change` gets the index of a
 * level, which a click on a bar changes too, and true if nothing needs to be announced.
 */
function levelSlider(clustering, change) {
  const { levels, chosen } = clustering;
  // Nothing is above the numbers of clusters if no cut has a contrast.
  const highest = 1.08 * Math.max(0, ...levels.map(({ contrast }) => contrast));
  const slider = element('input', {
    type: 'range',
    min: 0,
    max: levels.length - 1,
    'aria-label': 'Number of clusters',
    // A screen reader says the slider's own text.
    oninput: () => change(Number(slider.value), true),
  });
  const number = element('span.number');
  const facts = element('span.note.grow');
  const back = button(`Back to the chosen ${levels[chosen].clusters}`, () => {
    change(chosen, true);
    // The button is disabled now.
    slider.focus({ preventScroll: true });
  });
  const { element: plot, redraw, describe } = drawing({ className: `contrast${highest ? '' : ' flat'}`, title: CONTRAST }, draw);
  let current = chosen;
  describe(CONTRAST);

  const stepWidth = () => (plot.clientWidth - ROOM.left - ROOM.right) / levels.length;
  const middleOf = (i) => ROOM.left + (i + 0.5) * stepWidth();

  function draw(context, width, height) {
    const bottom = height - NUMBERS_ROOM;
    if (highest) drawBars(context, width, bottom);
    drawNumbers(context, bottom);
    Object.assign(slider.style, {
      marginLeft: `${middleOf(0) - HANDLE / 2}px`,
      width: `${middleOf(levels.length - 1) - middleOf(0) + HANDLE}px`,
    });
  }

  function drawBars(context, width, bottom) {
    const place = (value) => ROOM.top + (1 - value / highest) * (bottom - ROOM.top);
    drawScale(context, 'contrast', highest, bottom / 28, width, place);
    const bar = Math.max(0.75 * stepWidth(), stepWidth() - 3);
    levels.forEach(({ contrast }, i) => {
      context.fillStyle = styleColour(i === current ? '--accent' : '--bar');
      context.fillRect(middleOf(i) - bar / 2, place(contrast ?? 0), bar, bottom - place(contrast ?? 0));
    });
  }

  /** Numbers of clusters below the bars, as many as there is room for, and a triangle below the chosen one. */
  function drawNumbers(context, bottom) {
    const apart = Math.ceil(26 / stepWidth());
    levels.forEach(({ clusters }, i) => {
      const others = i === chosen ? [current] : [current, chosen];
      if (i !== current && ((i !== chosen && i % apart) || others.some((other) => Math.abs(i - other) < apart))) return;
      context.fillStyle = styleColour(i === current ? '--accent' : '--faint');
      write(context, clusters, middleOf(i), bottom + 10, 'center');
    });
    context.fillStyle = styleColour('--ink');
    write(context, '\u25b2', middleOf(chosen), bottom + 26, 'center');
    const side = chosen > levels.length / 2 ? -1 : 1;
    write(context, 'chosen', middleOf(chosen) + side * 10, bottom + 26, side < 0 ? 'right' : 'left');
  }

  plot.addEventListener('click', (event) => {
    const at = Math.floor((event.offsetX - ROOM.left) / stepWidth());
    if (at >= 0 && at < levels.length) change(at);
  });

  return {
    back,
    element: element('div', {}, element('div.row', {}, number, facts), ...(levels.length > 1 ? [plot, slider] : [])),
    /** Shows a level with its number of noise points. */
    set(index, noise) {
      const level = levels[index];
      current = index;
      slider.value = index;
      number.textContent = level.clusters;
      back.disabled = index === chosen;
      const known = { contrast: level.contrast, score: level.score, 'probability by chance': level.probability };
      const texts = Object.entries(known).flatMap(([name, value]) =>
        value === null ? [] : `${name} ${rounded(value, 3)}`
      );
      const name = `${counted(level.clusters, 'cluster')}${index === chosen ? ', chosen' : ''}`;
      slider.setAttribute('aria-valuetext', [name, ...texts].join(', '));
      facts.textContent = [
        `${level.clusters === 1 ? 'cluster' : 'clusters'} and ${counted(noise, 'noise point')}`,
        ...texts,
      ].join(' · ');
      redraw();
    },
  };
}

/** More bars than these are not legible, and make a page slow. */
const MOST_BARS = 200;

/** Bars of the sizes of clusters in rows or points; `select` gets the cluster that was clicked, −1 for noise. */
function sizeBars(unit, select) {
  const list = element('ul.sizes');
  return {
    element: list,
    set(groups, looks) {
      const bySize = groups.slice(0, -1).sort((a, b) => b.size - a.size);
      const noise = groups.at(-1);
      const shown = bySize.slice(0, MOST_BARS).sort((a, b) => a.cluster - b.cluster);
      const left = bySize.length - shown.length;
      if (noise.rows) shown.push(noise);
      const largest = Math.max(1, bySize[0]?.size ?? 0, noise.size);
      list.replaceChildren(...shown.map((group) => element('li', {}, sizeBar(group, looks, largest, unit, select))));
      if (left) list.append(element('li.note', {}, `and ${counted(left, 'smaller cluster')}`));
    },
  };
}

const SILHOUETTE =
  'Silhouette: (b \u2212 a)/max(a, b), with the mean disagreement a of neighbours in the tree inside the cluster, and b where it joins another';

/** A button with the marker, name, bar, size, mean outlier score and silhouette of a cluster. */
function sizeBar({ cluster, size, outlier, silhouette }, looks, largest, unit, select) {
  const look = cluster < 0 ? noiseLook() : looks[cluster];
  const mean = outlier.toFixed(2);
  const bar = element('span.bar');
  Object.assign(bar.style, { width: `${(100 * size) / largest}%`, background: css(look.colour) });
  const separation = silhouette === null ? '\u2013' : signed(silhouette.toFixed(2));
  const label =
    `${cluster < 0 ? 'Noise' : `Cluster ${cluster}`}: ${counted(size, unit)}, mean outlier score ${mean}` +
    `${silhouette === null ? '' : `, silhouette ${separation}`}. Select.`;
  const made = button('', () => select(cluster), { 'aria-label': label, title: SILHOUETTE });
  made.append(
    swatch(look),
    element('span.name', {}, cluster < 0 ? 'noise' : cluster),
    element('span.grow', {}, bar),
    figure(grouped(size)),
    figure(mean),
    figure(separation)
  );
  return made;
}

/** Evidence of structure beside the level of chance, and its meaning. */
function chanceBar({ evidence, chance, probability }) {
  const full = Math.max(evidence, chance, 1e-9) * 1.15;
  const bar = element('div.evidence');
  const limit = element('div.limit');
  bar.style.width = `${(100 * Math.max(0, evidence)) / full}%`;
  limit.style.left = `${(100 * chance) / full}%`;
  const [here, line] = [evidence, chance].map((value) => rounded(value, 3));
  const byChance = `Random points exceed ${line} (line) in 4 % of sets. They reach this evidence ${verdictOf(probability)}.`;
  return [
    element('div.gauge', { 'aria-hidden': 'true' }, bar, limit),
    element('p', {}, `Evidence ${here} (bar). ${byChance}`),
  ];
}

/** The meaning of a probability by chance. It is of the strongest cut, whichever level is shown. */
function verdictOf(probability) {
  let often = 'almost never';
  if (probability >= 0.01) often = `in ${rounded(100 * probability, 2)} % of them`;
  else if (probability >= 1e-12)
    often = `in about one of ${grouped(Number((1 / probability).toPrecision(2)))} sets`;
  const verdict =
    probability > 0.04 ? 'no evidence of clusters' : 'chance alone hardly explains the structure of these points';
  return `${often} (probability ${rounded(probability, 2)}): ${verdict}`;
}
