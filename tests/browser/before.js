// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs ahead of the page's own scripts: keeps what goes wrong.
'use strict';
window.mistakes = [];
window.addEventListener('error', (event) => mistakes.push(`error: ${event.message}`), true);
window.addEventListener('unhandledrejection', (event) => mistakes.push(`rejected: ${event.reason}`));
document.addEventListener('securitypolicyviolation', (event) =>
  mistakes.push(`policy: ${event.violatedDirective} ${event.blockedURI}`));
for (const kind of ['error', 'warn']) {
  const say = console[kind];
  console[kind] = (...words) => { mistakes.push(`console.${kind}: ${words.join(' ')}`); say(...words); };
}
