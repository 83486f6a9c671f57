"use strict";
const items = [...document.querySelectorAll(".item")].map((element) => ({
  element,
  text: element.textContent.toLowerCase(),
  bins: element.dataset.bin.split(" "),
  kind: element.dataset.kind,
}));
const words = document.getElementById("words");
const bin = document.getElementById("bin");
const kind = document.getElementById("kind");

function show() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  let rubrics = 0;
  let failures = 0;
  for (const item of items) {
    const fits = wanted.every((word) => item.text.includes(word)) && (!bin.value || item.bins.includes(bin.value)) && (!kind.value || !item.kind || item.kind === kind.value);
    item.element.hidden = !fits;
    if (fits && item.kind) rubrics += 1;
    if (fits && !item.kind) failures += 1;
  }
  document.getElementById("shown").textContent = `${rubrics} rubrics and ${failures} failed commands shown`;
}

function open() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) {
    target.hidden = false;
    target.open = true;
    target.scrollIntoView();
  }
}

for (const control of [words, bin, kind]) control.addEventListener("input", show);
window.addEventListener("hashchange", open);
show();
open();
