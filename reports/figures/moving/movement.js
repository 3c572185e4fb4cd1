// Plays the movements of a page: places from rows of time and place, links from the range, routes as
// they were. Nothing moves unasked; with reduced motion, a second at a time. Without this program
// the picture of time 0 and the facts stand there.
(() => {
  "use strict";
  const slow = matchMedia("(prefers-reduced-motion: reduce)");

  // Rows of a node from its steps: ascending times in ms, places in dm.
  const rowsOf = (steps) => {
    const rows = [];
    let t = 0, x = 0, y = 0;
    for (let at = 0; at < steps.length; at += 3) {
      rows.push([t += steps[at], x += steps[at + 1], y += steps[at + 2]]);
    }
    return rows;
  };
  // How many of the rows are not later than a time.
  const before = (rows, t) => {
    let low = 0, high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle][0] <= t) low = middle + 1; else high = middle;
    }
    return low;
  };
  const placeAt = (rows, t) => {
    const after = before(rows, t);
    if (after === 0) return [rows[0][1], rows[0][2]];
    const one = rows[after - 1], next = rows[after];
    if (!next) return [one[1], one[2]];
    const part = (t - one[0]) / (next[0] - one[0]);
    return [one[1] + part * (next[1] - one[1]), one[2] + part * (next[2] - one[2])];
  };

  const start = (figure) => {
    figure.dataset.started = "yes";
    const data = JSON.parse(figure.querySelector("script").textContent);
    const rows = data.steps.map(rowsOf);
    const part = (name) => figure.querySelector(name);
    const marks = [...figure.querySelectorAll(".node")];
    const names = [...figure.querySelectorAll("svg text")];
    const slider = part("input"), button = part("button"), frame = part(".frame-moving");
    const ways = [data.routes, ...data.others], chosen = part('[data-do="way"]');
    let routes = data.routes, breaks = [], now = 0, playing = false, last = 0, timer = 0;

    const draw = () => {
      const places = rows.map((one) => placeAt(one, now));
      const px = places.map(([x, y]) => [
        data.edge + x * data.scale, data.edge + (data.high - y) * data.scale,
      ]);
      const far = data.range * data.range;
      let near = "", links = 0;
      for (let one = 0; one < places.length; one++) {
        for (let other = one + 1; other < places.length; other++) {
          const x = places[one][0] - places[other][0], y = places[one][1] - places[other][1];
          if (x * x + y * y > far) continue;
          links += 1;
          near += `M${px[one].map((v) => v.toFixed(1)).join(" ")}`;
          near += `L${px[other].map((v) => v.toFixed(1)).join(" ")}`;
        }
      }
      part(".near").setAttribute("d", near);
      marks.forEach((mark, node) => {
        mark.setAttribute("cx", px[node][0].toFixed(1));
        mark.setAttribute("cy", px[node][1].toFixed(1));
      });
      names.forEach((name, end) => {
        name.setAttribute("x", (px[data.ends[end]][0] + 9).toFixed(1));
        name.setAttribute("y", (px[data.ends[end]][1] + 4).toFixed(1));
      });
      const at = before(routes, now);
      const route = at ? routes[at - 1].slice(1) : [];
      const way = route.map((node) => px[node].map((v) => v.toFixed(1)).join(" "));
      part(".way").setAttribute("d", way.length ? `M${way.join("L")}` : "");
      const none = routes.length ? "; no route" : "";
      const said = route.length ? `; route ${route.map((n) => data.names[n]).join(" – ")}` : none;
      part(".state").textContent = `${(now / 1000).toFixed(1)} s: ${links} links${said}`;
      slider.value = String(now / 1000);
      slider.setAttribute("aria-valuetext", `${Math.floor(now / 1000)} seconds`);
    };
    const go = (t) => {
      now = Math.min(Math.max(t, 0), data.end);
      draw();
    };
    const pause = () => {
      playing = false;
      button.textContent = "Play";
      cancelAnimationFrame(timer);
      clearTimeout(timer);
    };
    const rate = () => Number(part("select").value);
    const step = (at) => {
      if (!playing) return;
      go(now + (slow.matches ? 1000 : Math.min(at - last, 250)) * rate());
      last = at;
      if (now >= data.end) pause(); else next();
    };
    const next = () => {
      timer = slow.matches ? setTimeout(() => step(0), 1000) : requestAnimationFrame(step);
    };
    const play = () => {
      if (now >= data.end) go(0);
      playing = true;
      button.textContent = "Pause";
      last = performance.now();
      next();
    };
    const toggle = () => (playing ? pause() : play());
    button.addEventListener("click", toggle);
    slider.addEventListener("input", () => go(Number(slider.value) * 1000));
    const keys = {
      " ": toggle, ArrowLeft: () => go(now - 1000), ArrowRight: () => go(now + 1000),
      Home: () => go(0), End: () => go(data.end),
    };
    frame.tabIndex = 0;
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", "The picture, played by keys");
    frame.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      keys[event.key]();
    });
    // Whose route is shown: its times on the line of time, and when it broke.
    const rect = (look, from, to) => {
      const mark = document.createElementNS(part(".times").namespaceURI, "rect");
      const size = {
        class: look, x: from / data.end * 1000, y: 0, width: (to - from) / data.end * 1000, height: 10,
      };
      for (const name of Object.keys(size)) mark.setAttribute(name, size[name]);
      part(".times").append(mark);
    };
    const choose = () => {
      routes = ways[Number(chosen.value)];
      breaks = routes.filter((row, n) => n && row.length === 1 && routes[n - 1].length > 1)
        .map((row) => row[0]).filter((t) => t <= data.end);
      part(".times").replaceChildren();
      routes.forEach((row, n) => {
        const to = Math.min(n + 1 < routes.length ? routes[n + 1][0] : data.end, data.end);
        if (row.length > 1 && row[0] < to) rect("there", row[0], to);
      });
      for (const t of breaks) rect("broke", t, t + data.end / 500);
      part(".breaks").textContent = `The route broke ${breaks.length} times.`;
      draw();
    };
    const jump = (t) => {
      if (t === undefined) return;
      pause();
      go(t);
    };
    if (chosen) {
      chosen.addEventListener("change", choose);
      part('[data-do="back"]').addEventListener("click", () => jump(
        breaks.filter((t) => t < now).pop()));
      part('[data-do="on"]').addEventListener("click", () => jump(breaks.find((t) => t > now)));
      choose();
    }
    for (const hidden of figure.querySelectorAll("[hidden]")) hidden.hidden = false;
  };
  const startAll = () => {
    for (const one of document.querySelectorAll("figure.moving:not([data-started])")) start(one);
  };
  document.addEventListener("unpacked", startAll);
  startAll();
})();
