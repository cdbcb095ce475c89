// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The table of cases: filter, order, details.
(function () {
  const PART = 200; // rows shown at a time
  const data = JSON.parse(document.getElementById('data').textContent);
  const find = (id) => document.getElementById(id);
  const plural = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;
  const marks = { good: '✓', bad: '✗', skipped: '–' };
  const verdictOf = (c) => data.verdicts[c.verdict];
  const classOrder = { bad: 0, good: 1, skipped: 2 };
  const state = { words: [], verdicts: new Set(), key: 'verdict', falling: false, limit: PART,
    open: new Set() };

  data.cases.forEach((c, i) => {
    c.index = i;
    c.named = new Map();
    for (let k = 0; k < c.values.length; k += 2) c.named.set(data.names[c.values[k]], c.values[k + 1]);
    const more = c.named.get('texts.diagnosis') || '';
    c.haystack = `${c.id} ${c.line} ${verdictOf(c).name} ${c.reason || ''} ${more}`.toLowerCase();
  });
  const counts = data.verdicts.map((v, i) => data.cases.filter((c) => c.verdict === i).length);
  const inClass = (name) => counts.reduce((n, k, i) => n + (data.verdicts[i].class === name ? k : 0), 0);

  const columns = [
    { key: 'verdict', label: 'verdict',
      of: (c) => 100 * classOrder[verdictOf(c).class] + c.verdict },
    { key: 'line', label: 'case', of: (c) => c.line },
    { key: 'rel_l2', label: 'rel. L2 to inputs', number: true,
      of: (c) => c.named.get('metrics.out.inputs.rel_l2') },
    { key: 'ratio', label: 'error / bound', number: true,
      of: (c) => c.named.get('numbers.bound_ratio') },
    // The gate is tried on outputs multiplied by 1 + 2^-k; logged is the largest k that it caught.
    { key: 'gain', label: 'least gain caught', number: true,
      of: (c) => {
        const k = c.named.get('numbers.gate.gain_up');
        return k > 0 ? 2 ** -k : undefined;
      } },
    { key: 'seconds', label: 'seconds', number: true, of: (c) => c.seconds },
    { key: 'maps', label: 'maps', number: true, of: (c) => c.maps.length },
  ];

  const badge = (v) => make('span', { class: `verdict ${v.class}`, title: v.text },
    `${marks[v.class]} ${v.name}`);

  function fillHead() {
    const header = new Map(data.header), bad = inClass('bad'), skipped = inClass('skipped');
    const kernels = [...new Set(data.cases.map((c) => c.kernel))];
    document.title = `mxverify: ${bad ? `${bad} not passed` : 'passed'}, ${kernels.join(', ')}`;
    find('subject').textContent = `${kernels.join(', ')}: ${header.get('implementation') || '?'} ` +
      `against ${header.get('reference') || '?'}` +
      `${header.get('device') ? ` on ${header.get('device')}` : ''}, ${header.get('date') || ''}`;
    const done = data.cases.length;
    find('outcome').textContent = (bad ? `${bad} of ${plural(done, 'case')} did not pass` :
      inClass('good') ? `${inClass('good')} of ${plural(done, 'case')} passed` : 'Nothing was verified') +
      (skipped ? `, ${skipped} not run` : '') + ` (${shortNumber(data.seconds)} s)`;
    find('outcome').className = bad || !inClass('good') || !data.complete ? 'bad' : 'good';
    const warnings = [];
    if (!data.has_totals) warnings.push('The log ends before its totals: the run was killed or goes on.');
    else if (!data.complete) warnings.push('The run was stopped early: cases are missing.');
    if (data.torn) warnings.push(`${plural(data.torn, 'record')} cut off.`);
    if (data.repeated) warnings.push(`${plural(data.repeated, 'case')} run again; the last result counts.`);
    find('warning').textContent = warnings.join(' ');
    find('warning').hidden = !warnings.length;
    const facts = [['log', data.log], ...data.header,
      ...data.totals.filter(([name]) => !name.startsWith('verdicts.')).map(([n, v]) => [`totals: ${n}`, v])];
    for (const [name, value] of facts)
      find('facts').append(make('dt', {}, name), make('dd', {}, String(value)));
  }

  function fillKernels() {
    const present = data.verdicts.filter((v, i) => counts[i]);
    find('kernels').tHead.append(make('tr', {}, make('th', { scope: 'col' }, 'kernel'),
      make('th', { scope: 'col', class: 'number' }, 'cases'),
      ...present.map((v) => make('th', { scope: 'col', class: 'number' }, v.name))));
    for (const kernel of new Set(data.cases.map((c) => c.kernel))) {
      const mine = data.cases.filter((c) => c.kernel === kernel);
      find('kernels').tBodies[0].append(make('tr', {}, make('th', { scope: 'row' }, kernel),
        make('td', { class: 'number' }, mine.length),
        ...present.map((v) => make('td', { class: 'number' },
          mine.filter((c) => verdictOf(c) === v).length))));
    }
  }

  function valueTable(rows, caption) {
    return make('div', {}, make('h3', {}, caption), make('div', { class: 'scroll' },
      make('table', { class: 'values' }, make('tbody', {}, ...rows.map(([name, ...cells]) =>
        make('tr', {}, make('th', { scope: 'row' }, name),
          ...cells.map((v) => make('td', { title: String(v) }, shortNumber(v)))))))));
  }

  // The values of a case as tables, by the first word of their names (numbers by the second): texts
  // and the first difference in one list; numbers and, side by side, metrics in another.
  function valueTables(c) {
    const groups = new Map(), sets = [], metrics = new Map();
    for (const [name, value] of c.named) {
      const [head, ...rest] = name.split('.');
      if (head === 'metrics') {
        const metric = rest.pop(), set = rest.join('.');
        if (!sets.includes(set)) sets.push(set);
        if (!metrics.has(metric)) metrics.set(metric, new Map());
        metrics.get(metric).set(set, value);
      } else {
        const inner = head === 'numbers' && rest.length > 1;
        const group = inner ? rest.shift() : rest.length ? head : 'record';
        if (!groups.has(group)) groups.set(group, []);
        groups.get(group).push([rest.join('.') || head, value]);
      }
    }
    const early = [], late = [];
    for (const [name, rows] of groups)
      (['texts', 'record', 'first'].includes(name) ? early : late)
        .push(valueTable(rows, name === 'first' ? 'first difference' : name));
    if (sets.length)
      late.push(valueTable([['', ...sets], ...[...metrics].map(([name, row]) =>
        [name, ...sets.map((set) => (row.has(set) ? row.get(set) : '–'))])], 'metrics'));
    return [early, late].map((tables) => make('div', { class: 'groups' }, ...tables));
  }

  function detailOf(c) {
    const cell = make('td', { colspan: columns.length }, make('h3', {}, 'repeat this case'),
      make('pre', {}, c.repro));
    const [early, late] = valueTables(c);
    cell.append(early);
    if (c.maps.length) cell.append(make('h3', {}, 'maps'));
    const causes = c.maps.filter((map) => map.cause);
    for (const map of c.maps) if (!map.cause) cell.append(makeMap(map, data.palette));
    if (causes.length) cell.append(makeCauses(causes, data.palette));
    cell.append(late);
    return make('tr', { class: 'detail', id: `detail-${c.index}` }, cell);
  }

  function rowOf(c) {
    const open = state.open.has(c.index), v = verdictOf(c);
    const line = make('td', { class: 'line' }, make('button', { type: 'button', class: 'open mono',
      'aria-expanded': open, 'aria-controls': `detail-${c.index}`, onclick: () => toggle(c) },
    `${open ? '▾' : '▸'} ${c.id}`), make('code', {}, c.line));
    const tone = v.class === 'bad' ? '' : ' quiet';
    if (c.reason) line.append(make('span', { class: `reason${tone}` }, c.reason));
    if (c.named.has('texts.diagnosis')) line.append(make('p', {}, c.named.get('texts.diagnosis')));
    const row = make('tr', { class: 'case', id: `case-${c.index}` }, make('td', {}, badge(v)), line);
    for (const column of columns.slice(2)) {
      const value = column.of(c);
      row.append(make('td', { class: 'number', 'data-label': column.label },
        value === undefined ? '–' : shortNumber(value)));
    }
    return row;
  }

  function selected() {
    const column = columns.find((k) => k.key === state.key), sign = state.falling ? -1 : 1;
    return data.cases.filter((c) => (!state.verdicts.size || state.verdicts.has(c.verdict)) &&
      state.words.every((word) => c.haystack.includes(word))).sort((a, b) => {
      const x = column.of(a), y = column.of(b);
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
      return sign * (x > y) - sign * (x < y) || a.index - b.index;
    });
  }

  function render() {
    const cases = selected(), shown = cases.slice(0, state.limit);
    const rows = shown.flatMap((c) => (state.open.has(c.index) ? [rowOf(c), detailOf(c)] : [rowOf(c)]));
    find('cases').tBodies[0].replaceChildren(...rows);
    find('shown').textContent = `${cases.length} of ${plural(data.cases.length, 'case')}`;
    find('more').hidden = shown.length === cases.length;
    find('more').textContent = `show more (${cases.length - shown.length} left)`;
    for (const chip of find('chips').children)
      chip.setAttribute('aria-pressed', state.verdicts.has(Number(chip.value)));
    for (const head of find('cases').tHead.rows[0].cells) {
      const mine = head.dataset.key === state.key;
      head.setAttribute('aria-sort', mine ? (state.falling ? 'descending' : 'ascending') : 'none');
      head.querySelector('.mark').textContent = mine ? (state.falling ? ' ▾' : ' ▴') : '';
    }
  }

  function toggle(c) {
    if (!state.open.delete(c.index)) state.open.add(c.index);
    render();
    find(`case-${c.index}`).querySelector('.open').focus({ preventScroll: true });
  }

  function change(more) {
    Object.assign(state, { limit: PART }, more);
    render();
  }

  function fillControls() {
    data.verdicts.forEach((v, i) => {
      if (counts[i])
        find('chips').append(make('button', { type: 'button', value: i, title: v.text, onclick: () => {
          if (!state.verdicts.delete(i)) state.verdicts.add(i);
          change({});
        } }, `${marks[v.class]} ${v.name} (${counts[i]})`));
    });
    find('cases').tHead.append(make('tr', {}, ...columns.map((column) => make('th',
      { scope: 'col', 'data-key': column.key, class: column.number ? 'number' : null },
      make('button', { type: 'button', onclick: () => change({ key: column.key,
        falling: state.key === column.key ? !state.falling : Boolean(column.number) }) },
      column.label, make('span', { class: 'mark', 'aria-hidden': 'true' }))))));
    find('text').addEventListener('input', (event) => change({
      words: event.target.value.toLowerCase().split(/\s+/).filter(Boolean) }));
    find('filters').addEventListener('submit', (event) => event.preventDefault());
    find('clear').addEventListener('click', () => {
      find('text').value = '';
      change({ words: [], verdicts: new Set() });
    });
    find('more').addEventListener('click', () => change({ limit: state.limit + 5 * PART }));
  }

  // page.html#ID opens that case.
  function openAddressed() {
    const c = data.cases.find((one) => one.id && one.id === location.hash.slice(1));
    if (!c) return;
    state.open.add(c.index);
    state.limit = Math.max(state.limit, selected().indexOf(c) + 1);
    render();
    const row = find(`case-${c.index}`);
    if (row) row.scrollIntoView();
  }

  fillHead();
  fillKernels();
  fillControls();
  render();
  openAddressed();
  window.addEventListener('hashchange', openAddressed);
}());
