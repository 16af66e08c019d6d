// Opens a trace in speedscope in headless Chromium, as a person would, and
// fails on any complaint: console warnings and errors, dialogs, requests to
// other machines, 'Something went wrong', or a picture without the trace.
//
//   node speedscope_check.mjs TRACE SCREENSHOT.png
//
// Then it steps through all tracks, since speedscope lays out each only when it
// is shown. Leaves a screenshot of the first and says how many there were.

import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const LOAD_TIMEOUT_MS = 120_000;
const [trace, screenshot] = process.argv.slice(2);
if (!trace || !screenshot) {
  console.error('usage: node speedscope_check.mjs TRACE SCREENSHOT.png');
  process.exit(2);
}

const here = path.dirname(fileURLToPath(import.meta.url));
const site = path.join(here, 'node_modules', 'speedscope', 'dist', 'release');
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.png': 'image/png' };

const server = http.createServer((request, response) => {
  const name = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
  const file = path.join(site, path.normalize(name === '/' ? '/index.html' : name));
  if (!file.startsWith(site) || !fs.existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'Content-Type': types[path.extname(file)] ?? 'application/octet-stream' });
  fs.createReadStream(file).pipe(response);
});
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
const address = `http://127.0.0.1:${server.address().port}/`;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
         '--disable-background-networking', '--disable-component-update', '--disable-sync',
         '--enable-unsafe-swiftshader'],
});
const problems = [];
let tracks = 0;
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 700 } });
  page.on('console', (message) => {
    // Chromium's own remark on drawing without a graphics card.
    if (message.text().includes('GL Driver Message')) return;
    if (['warning', 'error', 'assert'].includes(message.type())) {
      problems.push(`console ${message.type()}: ${message.text()}`);
    }
  });
  page.on('pageerror', (error) => problems.push(`exception: ${error.message}`));
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!/^(http:\/\/127\.0\.0\.1:|data:|blob:)/.test(url)) problems.push(`asked for ${url}`);
  });

  await page.goto(address);
  await page.locator('input[type=file]').setInputFiles(trace);
  // The title names the file once it is laid out: "trace.json - speedscope".
  await page.waitForFunction(
      () => /speedscope/.test(document.title) && document.title !== 'speedscope' ||
            document.body.innerText.includes('Something went wrong'),
      undefined, { timeout: LOAD_TIMEOUT_MS });
  await page.waitForTimeout(1000);
  await page.screenshot({ path: screenshot });

  // "n" shows the next track; the toolbar says which of how many it is: "(1/20)".
  const count = /\(1\/(\d+)\)/.exec(await page.evaluate(() => document.body.innerText));
  tracks = count ? Number(count[1]) : 1;
  for (let i = 2; i <= tracks; ++i) {
    await page.keyboard.press('n');
    const shows = (at) => document.body.innerText.includes(at);
    await page.waitForFunction(shows, `(${i}/${tracks})`, { timeout: 10_000 });
  }
  const text = await page.evaluate(() => document.body.innerText);
  if (text.includes('Something went wrong')) problems.push('speedscope says: Something went wrong');
  if ((await page.locator('canvas').count()) === 0) problems.push('nothing was drawn');
} catch (error) {
  problems.push(`gave up: ${error.message}`);
} finally {
  await browser.close();
  server.close();
}

const shown = [...new Set(problems)];
for (const problem of shown.slice(0, 20)) console.error(problem);
if (shown.length > 0) {
  console.error(`${trace}: ${problems.length} problems`);
  process.exit(1);
}
console.log(`${trace}: ${tracks} tracks, no warning; see ${screenshot}`);
