// Makes each figure one to zoom into, when it comes near the window. Until then, without this
// program and in print, the same figure stands there as a picture.
(() => {
  "use strict";
  const NEARBY = "400px";
  const STEP = 0.2; // part of what is shown that one press moves
  const CLOSER = 0.7;
  const MARGIN = 0.5; // part of what an axis first shows that it may show beyond all there is

  // The zoomed axes of a view: the name of the signal that holds each one's range.
  const axes = (view) =>
    view.signal("zoom_tuple_fields").map((axis) => [axis.channel, `zoom_${axis.field}`]);

  const change = (view, next) => {
    for (const [channel, signal] of axes(view)) {
      const [low, high] = view.scale(channel).domain();
      view.signal(signal, next(channel, low, high));
    }
    return view.runAsync();
  };

  const within = ([low, high], [least, most]) => {
    const span = Math.min(high - low, most - least);
    const start = Math.min(Math.max(low, least), most - span);
    return [start, start + span];
  };

  // Stops every axis a margin beyond what it first shows, or beyond its reach if that is wider.
  const limit = (view, reach) => {
    for (const [channel, signal] of axes(view)) {
      const [first, last] = view.scale(channel).domain(), further = reach[channel] ?? [];
      const low = Math.min(first, ...further), high = Math.max(last, ...further);
      const margin = (last - first) * MARGIN, rounding = margin * 1e-9;
      view.addSignalListener(signal, (_, range) => {
        if (!range) return;
        const wanted = within(range, [low - margin, high + margin]);
        if (wanted.every((end, i) => Math.abs(end - range[i]) <= rounding)) return;
        // The run that is ending waits for what is returned, and this for that run.
        view.runAfter(() => { view.signal(signal, wanted).runAsync(); });
      });
    }
  };

  const scaled = (factor) => (_, low, high) => {
    const middle = (low + high) / 2, half = ((high - low) / 2) * factor;
    return [middle - half, middle + half];
  };
  const moved = (along, parts) => (channel, low, high) => {
    const by = channel === along ? (high - low) * parts : 0;
    return [low + by, high + by];
  };
  const ACTIONS = {
    closer: (view) => change(view, scaled(CLOSER)),
    wider: (view) => change(view, scaled(1 / CLOSER)),
    reset: (view) => change(view, () => null),
    left: (view) => change(view, moved("x", -STEP)),
    right: (view) => change(view, moved("x", STEP)),
    up: (view) => change(view, moved("y", STEP)),
    down: (view) => change(view, moved("y", -STEP)),
  };
  const KEYS = {
    "+": "closer", "=": "closer", "-": "wider", "0": "reset",
    ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down",
  };

  // What is not known of a mark is left out, not said to be null.
  const NOT_KNOWN = new Set(["null", "undefined", "NaN", ""]);
  const formatTooltip = (values, sanitize) => {
    const rows = Object.entries(values).filter(([, value]) => !NOT_KNOWN.has(String(value)));
    const cells = rows.map(([key, value]) =>
      `<tr><td class="key">${sanitize(key)}</td><td class="value">${sanitize(value)}</td></tr>`);
    return `<table>${cells.join("")}</table>`;
  };

  const start = async (figure) => {
    const frame = figure.querySelector(".frame"), live = figure.querySelector(".live");
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const width = () => Math.floor(frame.clientWidth);
    // The library names what it draws into; the frame around it has a name of its own.
    // To who cannot see it a figure is one picture, whose name the frame says.
    const drawing = live.appendChild(document.createElement("div"));
    drawing.setAttribute("aria-hidden", "true");
    const { view } = await window.vegaEmbed(drawing, { ...spec, width: width() }, {
      mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false,
      tooltip: { disableDefaultStyle: true, formatTooltip },
    });
    limit(view, spec.usermeta?.reach ?? {});
    figure.classList.add("is-live");
    for (const button of figure.querySelectorAll("button[data-do]")) {
      button.addEventListener("click", () => ACTIONS[button.dataset.do](view));
    }
    live.addEventListener("keydown", (event) => {
      const action = event.ctrlKey || event.altKey || event.metaKey ? null : KEYS[event.key];
      if (!action) return;
      event.preventDefault();
      ACTIONS[action](view);
    });
    // A touch that turns out to scroll the page leaves the figure as it was.
    let ranges = [];
    live.addEventListener("pointerdown", () => {
      ranges = axes(view).map(([, signal]) => [signal, view.signal(signal)]);
    }, { capture: true });
    live.addEventListener("pointercancel", () => {
      for (const [signal, range] of ranges) view.signal(signal, range);
      view.runAsync();
    });
    let drawn = width();
    new ResizeObserver(() => {
      if (width() === 0 || width() === drawn) return; // not shown, as in print, or as it is
      drawn = width();
      view.width(drawn).runAsync();
    }).observe(frame);
  };

  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      start(target).catch((error) => console.error(target.id, error));
    }
  }, { rootMargin: NEARBY });
  const watched = new WeakSet();
  const watch = () => {
    for (const figure of document.querySelectorAll("figure.zoomable")) {
      if (!watched.has(figure)) seen.observe(figure);
      watched.add(figure);
    }
  };
  document.addEventListener("unpacked", watch);
  watch();
})();
