// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Maps of a case: the picture, and the cells to look into, a window of values at a time.
'use strict';

const NO_DATA = '#d8d8d8', EXACT = '#ffffff', BROKEN = '#e0002a';

// An element with attributes, properties of `on...` kind, and children (texts or elements).
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function shortNumber(value) {
  if (typeof value !== 'number') return String(value);
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e9) return String(value);
  const rounded = Number(value.toPrecision(4));
  return size < 1e-3 || size >= 1e7 ? rounded.toExponential() : String(rounded);
}

function cellText(value) {
  if (Number.isNaN(value)) return '–';
  return value === Infinity ? '!' : shortNumber(value);
}

function decodeCells(cells) {
  const text = atob(cells.data), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const view = new DataView(bytes.buffer), wide = cells.type === 'f64';
  const values = new Float64Array(text.length / (wide ? 8 : 4));
  for (let i = 0; i < values.length; i++)
    values[i] = wide ? view.getFloat64(8 * i, true) : view.getFloat32(4 * i, true);
  return values;
}

// Colours by the logarithm between the smallest nonzero and the largest finite cell.
function makeScale(values, palette) {
  let low = Infinity, high = 0, worst = -1, worstAt = 0;
  values.forEach((value, i) => {
    if (value > worst) { worst = value; worstAt = i; }
    if (!(value > 0) || value === Infinity) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  });
  const colour = (value) => {
    if (Number.isNaN(value)) return NO_DATA;
    if (value === Infinity) return BROKEN;
    if (value === 0) return EXACT;
    const level = high > low ? Math.log(value / low) / Math.log(high / low) : 1;
    return palette[Math.round(Math.min(Math.max(level, 0), 1) * (palette.length - 1))];
  };
  return { low: high > 0 ? low : 0, high, worstAt, colour };
}

function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

function inkOn(colour) {
  const [red, green, blue] = channels(colour);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 128 ? '#000' : '#fff';
}

function span(axis, first, count) {
  const from = axis.origin + first * axis.step;
  const to = Math.min(axis.origin + (first + count) * axis.step, axis.extent) - 1;
  return to > from ? `${from}–${to}` : `${from}`;
}

function legendOf(scale, palette, unit) {
  const sample = (colour, text) => make('span', { class: 'sample' },
    make('span', { class: 'swatch', style: `background:${colour}` }), text);
  const range = make('span', { class: 'sample' }, shortNumber(scale.low),
    make('span', { class: 'bar', style: `background:linear-gradient(90deg,${palette.join()})` }),
    `${shortNumber(scale.high)} (log)`);
  return make('div', { class: 'legend' }, unit, ...(scale.high > 0 ? [range] : []),
    sample(EXACT, 'exactly 0'), sample(BROKEN, 'NaN or Inf'), sample(NO_DATA, 'not computed'));
}

// The board of one grid with its window of values. pick(row, column): called for the cell that is
// pointed at, or null. Returns an element.
function makeBoard(map, grid, palette, pick) {
  const { rows, cols, down, across } = grid;
  const values = decodeCells(grid.cells), scale = makeScale(values, palette);
  const side = map.tiles ? 8 : 16;
  const pixels = Math.max(1, Math.min(64, Math.floor(480 / Math.max(rows, cols))));
  const canvas = make('canvas', { width: cols, height: rows, tabindex: 0, role: 'img' });
  const frame = make('div', { class: 'frame' });
  const board = make('div', { class: 'board',
    style: `width:${cols * pixels + 2}px;aspect-ratio:${cols}/${rows}` }, canvas, frame);
  const holder = make('div', { class: 'scroll' });
  const label = make('p', { class: 'place', 'aria-live': 'polite' });
  let top = 0, left = 0;

  const picture = canvas.getContext('2d').createImageData(cols, rows);
  values.forEach((value, i) => picture.data.set([...channels(scale.colour(value)), 255], 4 * i));
  canvas.getContext('2d').putImageData(picture, 0, 0);

  const place = () => {
    const text = `${down.label}s ${span(down, top, Math.min(side, rows - top))}, ` +
      `${across.label}s ${span(across, left, Math.min(side, cols - left))}`;
    if (down.step !== 1) return text;
    return `${text}; query tile ${Math.floor((down.origin + top) / map.tile_q)}`;
  };
  const tableOf = () => {
    const height = Math.min(side, rows - top), width = Math.min(side, cols - left);
    const head = make('tr', {}, make('th', { scope: 'col' }, ''));
    for (let c = 0; c < width; c++)
      head.append(make('th', { scope: 'col' }, span(across, left + c, 1)));
    const body = make('tbody');
    for (let r = 0; r < height; r++) {
      const row = make('tr', {}, make('th', { scope: 'row' }, span(down, top + r, 1)));
      for (let c = 0; c < width; c++) {
        const value = values[(top + r) * cols + left + c], colour = scale.colour(value);
        const choose = () => pick(top + r, left + c);
        row.append(make('td', { title: String(value), ...(pick ? { tabindex: 0, onclick: choose,
          onkeydown: (event) => { if (event.key === 'Enter') choose(); } } : {}),
          style: `background:${colour};color:${inkOn(colour)}` }, cellText(value)));
      }
      body.append(row);
    }
    return make('table', { class: 'cells', 'aria-label': `Values at ${place()}` },
      make('thead', {}, head), body);
  };
  const show = (row, col) => {
    top = Math.floor(Math.min(Math.max(row, 0), rows - 1) / side) * side;
    left = Math.floor(Math.min(Math.max(col, 0), cols - 1) / side) * side;
    frame.style.cssText = `left:${100 * left / cols}%;top:${100 * top / rows}%;` +
      `width:${100 * Math.min(side, cols - left) / cols}%;` +
      `height:${100 * Math.min(side, rows - top) / rows}%`;
    canvas.setAttribute('aria-label', `Map of ${rows} by ${cols} cells; shown: ${place()}`);
    label.textContent = place();
    holder.replaceChildren(tableOf());
  };
  const point = (row, col) => {
    show(row, col);
    if (pick) pick(Math.min(Math.max(row, 0), rows - 1), Math.min(Math.max(col, 0), cols - 1));
  };
  const worst = () => point(Math.floor(scale.worstAt / cols), scale.worstAt % cols);
  const steps = { ArrowUp: [-side, 0], ArrowDown: [side, 0], ArrowLeft: [0, -side],
    ArrowRight: [0, side] };
  canvas.addEventListener('keydown', (event) => {
    if (!steps[event.key]) return;
    event.preventDefault();
    show(top + steps[event.key][0], left + steps[event.key][1]);
  });
  canvas.addEventListener('click', (event) => {
    const box = canvas.getBoundingClientRect();
    point(Math.floor((event.clientY - box.top) / box.height * rows),
      Math.floor((event.clientX - box.left) / box.width * cols));
  });
  const move = (name, text, key) => make('button', { type: 'button', 'aria-label': name,
    onclick: () => show(top + steps[key][0], left + steps[key][1]) }, text);
  worst();
  return make('div', {}, board, legendOf(scale, palette, map.unit),
    make('div', { class: 'moves' }, make('button', { type: 'button', onclick: worst }, 'worst cell'),
      move('window up', '↑', 'ArrowUp'), move('window down', '↓', 'ArrowDown'),
      move('window left', '←', 'ArrowLeft'), move('window right', '→', 'ArrowRight'),
      make('span', {}, 'or point at the map')), label, holder);
}

// Maps of the causes of error as one figure: a cause is chosen, and the tile that is pointed at is
// listed with all causes.
function makeCauses(maps, palette) {
  const figure = make('figure', { class: 'map causes' }, make('figcaption', {}, maps[0].title));
  const shown = maps.filter((map) => map.grid);
  for (const map of maps) if (map.note) figure.append(make('p', {}, `${map.path}: ${map.note}`));
  if (!shown.length) return figure;
  const values = shown.map((map) => decodeCells(map.grid.cells));
  const chips = make('div', { class: 'moves', role: 'group', 'aria-label': 'Cause of error' });
  const holder = make('div', { class: 'tiles' });
  const tile = make('div', { class: 'tile', 'aria-live': 'polite' });
  const list = (row, col) => {
    const { cols, down, across } = shown[0].grid;
    const at = `${down.label}s ${span(down, row, 1)}, ${across.label}s ${span(across, col, 1)}`;
    tile.replaceChildren(make('table', { class: 'values' }, make('caption', {}, `Tile at ${at}`),
      make('tbody', {}, ...shown.map((map, i) => {
        const value = values[i][row * cols + col];
        return make('tr', {}, make('th', { scope: 'row' }, map.cause),
          make('td', { title: String(value) }, cellText(value)));
      }))));
  };
  const choose = (index) => {
    [...chips.children].forEach((chip, i) => chip.setAttribute('aria-pressed', i === index));
    const map = shown[index];
    holder.replaceChildren(makeBoard(map, map.grid, palette, map.window ? null : list));
  };
  chips.append(...shown.map((map, i) => make('button', { type: 'button',
    onclick: () => choose(i) }, map.cause)));
  figure.append(chips, make('div', { class: 'views' }, holder, tile));
  choose(0);
  return figure;
}

// All of one map as a figure.
function makeMap(map, palette) {
  const figure = make('figure', { class: 'map' }, make('figcaption', {}, map.title));
  const views = make('div', { class: 'views' });
  if (map.note) figure.append(make('p', {}, `${map.path}: ${map.note}`));
  if (map.image)
    views.append(make('div', { class: 'picture' },
      make('img', { src: map.image, alt: `${map.title}: picture with axes and legend` })));
  if (map.grid) {
    const tiles = make('div', { class: 'tiles' });
    if (map.window) {
      let whole = true;
      const text = make('p', {}), swap = make('button', { type: 'button' });
      const holder = make('div');
      const show = () => {
        text.textContent = whole ?
          `A cell joins up to ${Math.ceil(map.all_rows / map.grid.rows)} x ` +
          `${Math.ceil(map.all_cols / map.grid.cols)} of ${map.all_rows} x ${map.all_cols} ` +
          'cells; the largest is shown.' : 'The surroundings of the worst cell, every cell.';
        swap.textContent = whole ? 'around the worst cell, every cell' : 'the whole map';
        holder.replaceChildren(makeBoard(map, whole ? map.grid : map.window, palette));
      };
      swap.addEventListener('click', () => { whole = !whole; show(); });
      show();
      tiles.append(text, swap, holder);
    } else {
      tiles.append(makeBoard(map, map.grid, palette));
    }
    views.append(tiles);
  }
  figure.append(views);
  return figure;
}
