// Looks at pages in frames: what run.sh gives is `memory` (reports of tansy memory --html, by name), `site` (its pages)
// and `base` (where they are).  What is found stands in #said, a line each: ok, or FAIL and what is wrong.
'use strict';
const said = document.getElementById('said');
function check(good, what) { said.textContent += (good ? 'ok ' : 'FAIL: ') + what + '\n'; }

async function frame(url, width) {
  const f = document.createElement('iframe');
  f.style.cssText = 'border: 0; height: 800px; width: ' + width + 'px';
  await new Promise(done => { f.onload = done; f.src = url; document.body.append(f); });
  return f;
}

// By how much what scrolls the page is wider than its place.
function too_wide(d) {
  const places = [d.documentElement, d.getElementById('doc-content')].filter(e => e);
  return Math.max(...places.map(e => e.scrollWidth - e.clientWidth));
}

// ---- reports of memory ------------------------------------------------------------------

class Report {
  constructor(f, k) {
    const d = f.contentDocument;
    Object.assign(this, {d, view: f.contentWindow, section: d.querySelectorAll('section')[k]});
    this.plot = this.section.querySelector('.plot');
    this.policy = JSON.parse(d.getElementById('data').textContent).policies[k];
  }
  find(what) { return this.section.querySelector(what); }
  get text() { return this.find('output').textContent; }
  get step() { return Number(/^step (\d+)/.exec(this.text)[1]); }
  key(key, shiftKey = false) {
    const e = new this.view.KeyboardEvent('keydown', {key, shiftKey, bubbles: true, cancelable: true});
    return !this.plot.dispatchEvent(e);
  }
  // The pointer in the middle of a step, at an address.
  point(step, address) {
    const box = this.find('.arena').getBoundingClientRect(), top = Number(this.plot.dataset.top);
    this.plot.dispatchEvent(new this.view.PointerEvent('pointermove', {
      clientX: box.left + box.width * (step + 0.5) / this.policy.steps.length,
      clientY: box.top + box.height * (1 - address / top)
    }));
  }
}

function by_keys(r, name) {
  const n = r.policy.steps.length;
  check(r.step === r.policy.at && r.text.includes('the most'), name + ': it begins at the peak: ' + r.text);
  check(r.key('Home') && r.step === 0, name + ': Home is the first step');
  check(r.key('ArrowRight') && r.step === 1, name + ': an arrow goes on');
  check(r.key('ArrowLeft') && r.key('ArrowLeft') && r.step === 0, name + ': and back, no farther than the first');
  check(r.key('ArrowRight', true) && r.step === Math.min(10, n - 1), name + ': with Shift by ten');
  check(r.key('End') && r.step === n - 1, name + ': End is the last step');
  check(r.key('p') && r.step === r.policy.at, name + ': p is the peak');
  check(!r.key('x') && !r.key('Tab'), name + ': other keys are left to the browser');
  const alive = r.policy.ranges.filter(x => x.first <= r.step && r.step <= x.last);
  alive.sort((a, b) => b.offset - a.offset);
  check(r.key('ArrowDown') && r.text.includes('at address ' + alive[0].offset + ','), name + ': down is the uppermost range');
  check(r.key('ArrowDown') && r.text.includes('at address ' + alive[Math.min(1, alive.length - 1)].offset + ','), name + ': then the next');
  check(r.find('tr.on') !== null && Number(r.find('rect.on').getAttribute('width')) > 0, name + ': it is marked');
  check(r.key('Escape') && !r.text.includes('at address') && r.find('tr.on') === null, name + ': Escape lets it go');
  check(r.key('+') && Number(r.find('.arena').getAttribute('viewBox').split(' ')[2]) < 999, name + ': + shows fewer steps');
  check(r.key('0') && r.find('.arena').getAttribute('viewBox') === '0 0 1000 400', name + ': 0 shows all');
}

// Every range is told from its middle, with what it holds.
function by_pointer(r, name) {
  let wrong = 0;
  for (const x of r.policy.ranges) {
    r.point(Math.floor((x.first + x.last) / 2), x.offset + x.room / 2);
    const told = r.text.includes('at address ' + x.offset + ', steps ' + x.first + ' to ' + x.last);
    const held = x.values.slice(0, 8).every(v => r.text.includes(v.type) && r.text.includes(v.primitive + ' (' + v.file + ':' + v.line));
    // Frames place a pointer to a 64th of a pixel, which is more than a number is high.
    if (x.room > Number(r.plot.dataset.top) / 5000 && !(told && held)) wrong++;
  }
  check(wrong === 0, name + ': ' + wrong + ' of ' + r.policy.ranges.length + ' ranges are not told when they are pointed at');
  r.point(0, Number(r.plot.dataset.top) * 0.999);
  check(!r.text.includes('at address'), name + ': nothing is told of free memory');
}

function drawn(r, name) {
  const wanted = r.policy.ranges.length, rects = r.section.querySelectorAll('rect.range').length;
  check(rects === wanted, name + ': ' + rects + ' of ' + wanted + ' ranges are drawn');
  const boxes = [...r.section.querySelectorAll('.plot, .keys, output, details')].map(e => e.getBoundingClientRect());
  check(boxes.every((b, i) => i === 0 || b.top >= boxes[i - 1].bottom - 1), name + ': parts lie over each other');
  check(boxes[0].height > 200 && boxes[0].width > 150, name + ': the drawing has room');
}

async function report(name, width) {
  const f = await frame(base + name, width), d = f.contentDocument, at = name + ' at ' + width;
  check(too_wide(d) <= 0, at + ': it is wider than its window by ' + too_wide(d));
  check(d.querySelectorAll('script:not([type]), b:not([class])').length >= 1, at + ': it has its script');
  check(!d.querySelector('b.hostile'), at + ': names are text');
  d.querySelectorAll('section').forEach((s, k) => {
    if (!s.querySelector('.plot')) return;
    const r = new Report(f, k), which = at + ', ' + r.policy.policy;
    drawn(r, which);
    by_keys(r, which);
    by_pointer(r, which);
    check(too_wide(d) <= 0, which + ': then it is too wide');
  });
  f.remove();
}

// ---- the site ---------------------------------------------------------------------------

// The tree beside a page folds when a window becomes narrow, but stays when it was so from the beginning.
async function page(name) {
  const f = await frame(base + name, 700);
  await new Promise(done => setTimeout(done, 100)); // its scripts begin when it is loaded
  const headings = [...f.contentDocument.querySelectorAll('h1, h2, h3, .title')].map(e => e.textContent);
  check(!headings.some(text => text.includes('</')), name + ': a heading shows tags: ' + headings.join('; '));
  for (const width of [700, 1280]) {
    f.style.width = width + 'px';
    check(f.contentDocument.body.clientHeight > 0 && too_wide(f.contentDocument) <= 0,
      name + ' at ' + width + ': wider than its window by ' + too_wide(f.contentDocument));
  }
  f.remove();
}

async function all() {
  for (const name of memory)
    for (const width of [320, 700, 1280]) await report(name, width);
  const left = site.slice();
  const worker = async () => { while (left.length) await page(left.pop()); };
  await Promise.all([1, 2, 3, 4, 5, 6].map(worker));
}
all().then(() => { said.textContent += 'done\n'; }, e => check(false, String(e.stack)));
