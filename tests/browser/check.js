// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Uses the page as a reader does (load, filter, sort, open a case, look into a tile) and compares
// what it shows with the data it carries, decoded here by other means. The outcome goes to the page
// around it (frame.html): `width PIXELS`, a line for each check, `ok NAME` or `FAILED NAME: WHY`,
// and `end`.
'use strict';
(function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const lines = [];
  const check = (name, good, why) => lines.push(good ? `ok ${name}` : `FAILED ${name}: ${why}`);
  const same = (name, got, wanted) => check(name, got === wanted, `${got} instead of ${wanted}`);
  const rows = () => [...document.querySelectorAll('#cases > tbody > tr.case')];
  const rowOf = (c) => rows().find((row) => row.querySelector('.open').textContent.includes(c.id));
  const chip = (name) => [...document.querySelectorAll('#chips button')]
    .find((button) => button.textContent.includes(` ${name} (`));
  const pause = () => new Promise((done) => { setTimeout(done, 50); });
  const type = (text) => {
    const input = document.getElementById('text');
    input.value = text;
    input.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const clear = () => document.getElementById('clear').click();

  // Little-endian words behind base64, read with typed arrays (the page uses a DataView).
  function cellsOf(grid) {
    const bytes = Uint8Array.from(atob(grid.cells.data), (character) => character.charCodeAt(0));
    return grid.cells.type === 'f64' ? new Float64Array(bytes.buffer) : new Float32Array(bytes.buffer);
  }

  function luminance(colour) {
    const parts = colour.match(/[\d.]+/g).slice(0, 3).map((part) => {
      const x = Number(part) / 255;
      return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  }

  function backOf(element) {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!/, 0\)$/.test(colour) && colour !== 'transparent') return colour;
    }
    return 'rgb(255, 255, 255)';
  }

  function checkContrast(selector) {
    const element = document.querySelector(selector);
    if (!element) return;
    const [low, high] = [getComputedStyle(element).color, backOf(element)].map(luminance)
      .sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    check(`contrast of ${selector}`, ratio >= 4.5, ratio);
  }

  function checkWidth(where) {
    const root = document.documentElement;
    check(`${where}: no sideways scrolling at ${window.innerWidth}`,
      root.scrollWidth <= root.clientWidth, `${root.scrollWidth} > ${root.clientWidth}`);
  }

  function checkFilters() {
    same('all cases shown', rows().length, Math.min(200, data.cases.length));
    const last = data.cases[data.cases.length - 1];
    type(last.id);
    same('filter by id', rows().length, data.cases.filter((c) => c.id === last.id).length);
    same('count shown', document.getElementById('shown').textContent,
      `${rows().length} of ${data.cases.length} cases`);
    type('no case has this word');
    same('filter by nothing', rows().length, 0);
    clear();
    same('cleared', rows().length, Math.min(200, data.cases.length));
    for (const [i, verdict] of data.verdicts.entries()) {
      const count = data.cases.filter((c) => c.verdict === i).length;
      same(`chip of ${verdict.name}`, Boolean(chip(verdict.name)), count > 0);
      if (!count) continue;
      chip(verdict.name).click();
      same(`only ${verdict.name}`, rows().length, Math.min(200, count));
      same(`${verdict.name} is pressed`, chip(verdict.name).getAttribute('aria-pressed'), 'true');
      clear();
    }
  }

  function checkOrder() {
    const head = document.querySelector('th[data-key="seconds"]');
    head.querySelector('button').click();
    same('falling order', head.getAttribute('aria-sort'), 'descending');
    const ids = rows().map((row) => row.querySelector('.open').textContent.slice(2));
    const wanted = [...data.cases].sort((a, b) => b.seconds - a.seconds).slice(0, 200).map((c) => c.id);
    same('slowest first', ids.join(), wanted.join());
    document.querySelector('th[data-key="verdict"] button').click();
  }

  function checkWindow(board, map, label) {
    const cells = cellsOf(map.grid), side = map.tiles ? 8 : 16;
    const table = board.querySelector('table.cells');
    const shown = [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1)
      .map((cell) => cell.title));
    const from = Number(table.tBodies[0].querySelector('th').textContent.split('–')[0]);
    const left = Number(table.querySelectorAll('thead th')[1].textContent.split('–')[0]);
    const top = (from - map.grid.down.origin) / map.grid.down.step;
    const start = (left - map.grid.across.origin) / map.grid.across.step;
    let wrong = 0;
    shown.forEach((row, r) => row.forEach((text, c) => {
      wrong += !Object.is(Number(text), Number(cells[(top + r) * map.grid.cols + start + c]));
    }));
    same(`${label}: rows`, shown.length, Math.min(side, map.grid.rows - top));
    same(`${label}: columns`, shown[0].length, Math.min(side, map.grid.cols - start));
    same(`${label}: wrong values`, wrong, 0);
    return { top, start };
  }

  async function checkMap(figure, map) {
    const image = figure.querySelector('img'), board = figure.querySelector('.tiles');
    check(`${map.kind}: picture`, image && image.complete && image.naturalWidth > 100,
      image && image.naturalWidth);
    check(`${map.kind}: picture has a text`, image && image.alt.length > 10, 'no alt');
    const canvas = board.querySelector('canvas'), cells = cellsOf(map.grid);
    const worst = cells.reduce((best, value, i) =>
      (value > cells[best] || !(cells[best] >= 0) ? i : best), 0);
    const first = checkWindow(board, map, `${map.kind} worst`), side = map.tiles ? 8 : 16;
    if (cells[worst] >= 0)
      same(`${map.kind}: the worst cell is in sight`, first.top + 1000 * first.start,
        Math.floor(Math.floor(worst / map.grid.cols) / side) * side +
        1000 * Math.floor((worst % map.grid.cols) / side) * side);
    const box = canvas.getBoundingClientRect();
    check(`${map.kind}: the map has a size`, box.width > 20 && box.height > 2, `${box.width}`);
    canvas.dispatchEvent(new MouseEvent('click', { bubbles: true, clientX: box.right - 1,
      clientY: box.bottom - 1 }));
    await pause();
    const corner = checkWindow(board, map, `${map.kind} corner`);
    same(`${map.kind}: a click opens the last window`, corner.top + 1000 * corner.start,
      Math.floor((map.grid.rows - 1) / side) * side +
      1000 * Math.floor((map.grid.cols - 1) / side) * side);
    canvas.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp', bubbles: true }));
    same(`${map.kind}: arrow up`, checkWindow(board, map, `${map.kind} key`).top,
      Math.max(0, corner.top - side));
  }

  // Every cause in turn, and the tile that is pointed at with all of them.
  async function checkCauses(figure, maps) {
    const chips = [...figure.querySelectorAll('[role=group] button')];
    same('causes: buttons', chips.map((b) => b.textContent).join(), maps.map((m) => m.cause).join());
    const cells = maps.map((map) => cellsOf(map.grid)), cols = maps[0].grid.cols;
    const listed = () => [...figure.querySelectorAll('.tile tbody td')].map((td) => td.title);
    const at = (row, col) => cells.map((values) => String(Number(values[row * cols + col])));
    for (const [i, map] of maps.entries()) {
      chips[i].click();
      same(`${map.cause}: pressed`, chips[i].getAttribute('aria-pressed'), 'true');
      const board = figure.querySelector('.tiles');
      const { top, start } = checkWindow(board, map, `cause ${map.cause}`);
      const body = board.querySelector('table.cells').tBodies[0];
      const last = body.rows[body.rows.length - 1], cell = last.cells[last.cells.length - 1];
      cell.click();
      same(`${map.cause}: all causes of the tile`, listed().join(),
        at(top + body.rows.length - 1, start + last.cells.length - 2).join());
      body.rows[0].cells[1].dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
      same(`${map.cause}: by the keyboard`, listed().join(), at(top, start).join());
    }
  }

  async function checkCase(c) {
    rowOf(c).querySelector('.open').click();
    await pause();
    const detail = document.querySelector('tr.detail');
    same('open', rowOf(c).querySelector('.open').getAttribute('aria-expanded'), 'true');
    same('repro command', detail.querySelector('pre').textContent, c.repro);
    const figures = [...detail.querySelectorAll('figure.map:not(.causes)')];
    const causes = c.maps.filter((map) => map.cause), maps = c.maps.filter((map) => !map.cause);
    same('figures', figures.length, maps.length);
    const together = detail.querySelectorAll('figure.causes');
    same('figures of causes', together.length, causes.length ? 1 : 0);
    if (causes.length) await checkCauses(together[0], causes);
    for (let i = 0; i < 40 && figures.some((f) => !f.querySelector('img').complete); i++) await pause();
    for (const [i, map] of maps.entries()) await checkMap(figures[i], map);
    checkWidth('an open case');
    for (const selector of ['.values th', '.place', '.legend', 'pre']) checkContrast(selector);
    rowOf(c).querySelector('.open').click();
    same('closed', document.querySelector('tr.detail'), null);
  }

  async function checkAll() {
    checkFilters();
    checkOrder();
    checkWidth('the table');
    for (const selector of ['#subject', '#outcome', '.verdict.good', '.verdict.bad', '.reason',
      '.open', '#cases thead button', '#chips button']) checkContrast(selector);
    check('table has heads', document.querySelectorAll('#cases th[scope="col"]').length === 7, 'no');
    const bad = data.cases.find((c) => c.maps.length && data.verdicts[c.verdict].class === 'bad');
    const good = data.cases.find((c) => c.maps.length && data.verdicts[c.verdict].class === 'good');
    for (const c of [bad, good]) if (c) await checkCase(c);
    check('some case had maps', bad || good, 'none');
    same('nothing was loaded', performance.getEntriesByType('resource')
      .filter((entry) => !entry.name.startsWith('data:')).length, 0);
    same('mistakes', mistakes.join('; '), '');
  }

  window.addEventListener('load', () => {
    checkAll().catch((error) => lines.push(`FAILED: ${error.stack}`)).finally(() => {
      window.parent.postMessage([`width ${window.innerWidth}`, ...lines, 'end'].join('\n'), '*');
    });
  });
}());
