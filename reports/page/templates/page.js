// Filters the claims, and opens what a link leads to. Folded parts are packed (in noscript, which a
// browser that runs this does not read), so that a page is there at once; they are unpacked when they
// are opened or printed. Without this program all of it stands there.
(() => {
  "use strict";
  const answer = document.querySelector(".answer");
  const wanted = { verdict: "", study: "" };
  const show = () => {
    for (const line of answer.querySelectorAll("li[data-verdict]")) {
      line.hidden = wanted.verdict !== "" && line.dataset.verdict !== wanted.verdict;
    }
    for (const part of answer.querySelectorAll(".claimed > [data-study]")) {
      const empty = wanted.verdict !== "" && !part.querySelector("li[data-verdict]:not([hidden])");
      part.hidden = empty || (wanted.study !== "" && part.dataset.study !== wanted.study);
    }
    for (const folded of answer.querySelectorAll(".untested")) {
      folded.hidden = !folded.querySelector("li:not([hidden])");
      folded.open = wanted.verdict === "untested";
    }
  };
  for (const group of answer.querySelectorAll(".filters")) {
    group.hidden = false;
    const buttons = [...group.querySelectorAll("button")];
    const press = (pressed) => {
      for (const one of buttons) one.setAttribute("aria-pressed", String(one === pressed));
      Object.assign(wanted, pressed.dataset);
      show();
    };
    for (const button of buttons) {
      button.addEventListener("click", () => {
        press(button);
        const picture = [...answer.querySelectorAll("input[name=against]")].find(
          (one) => one.value === button.dataset.study);
        if (picture) picture.checked = true;
      });
    }
  }

  const unpack = (fold) => {
    const packed = fold.querySelector(":scope > noscript");
    if (!packed) return;
    const content = document.createElement("template");
    content.innerHTML = packed.textContent;
    packed.replaceWith(content.content);
    document.dispatchEvent(new Event("unpacked"));
  };
  const folds = [...document.querySelectorAll("details.fold")];
  for (const fold of folds) fold.addEventListener("toggle", () => unpack(fold));
  const unpackAll = () => folds.forEach(unpack);
  addEventListener("beforeprint", unpackAll);
  matchMedia("print").addEventListener("change", unpackAll);

  const open = (link) => {
    const name = decodeURIComponent(link);
    if (!name) return;
    for (const fold of folds) {
      if (fold.textContent.includes(`id="${name}"`)) unpack(fold);
    }
    const target = document.getElementById(name);
    if (!target) return;
    for (let one = target; one; one = one.parentElement) {
      if (one instanceof HTMLDetailsElement) one.open = true;
    }
    target.scrollIntoView();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (link) open(link.getAttribute("href").slice(1));
  });
  const opened = () => open(location.hash.slice(1));
  addEventListener("hashchange", opened);
  addEventListener("load", opened);
})();
