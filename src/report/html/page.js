"use strict";
(() => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const id = (name) => document.getElementById(name);
  const make = (tag, about = {}, ...inside) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(about)) {
      if (value === false || value === undefined || value === null) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...inside.filter((part) => part !== null && part !== undefined));
    return element;
  };
  const classes = new Map(page.classes.map((one) => [one.key, one]));
  const tone = (key) => (classes.has(key) ? classes.get(key).tone : "mute");
  const percent = (part) => {
    const value = part * 100;
    return value > 0 && value < 0.005 ? "<0.01 %" : value < 100 && value >= 99.995 ? ">99.99 %" : value.toFixed(2) + " %";
  };

  id("title").textContent = page.title;
  id("subtitle").textContent = page.subtitle;
  id("figure").textContent = page.headline[0];
  id("figure-of").textContent = page.headline[1];
  id("table-title").textContent = page.table_title;

  // Theme: the system's, or the reader's choice for this view.
  const themes = ["system", "light", "dark"];
  let theme = 0;
  id("theme").addEventListener("click", () => {
    theme = (theme + 1) % themes.length;
    if (theme) document.documentElement.dataset.theme = themes[theme];
    else delete document.documentElement.dataset.theme;
    id("theme").textContent = "Theme: " + themes[theme];
  });

  // Bars.
  for (const bar of page.bars) {
    const total = bar.parts.reduce((sum, part) => sum + part.value, 0) || 1;
    const filled = bar.parts.filter((part) => part.value > 0);
    if (bar.name) id("bars").append(make("p", { class: "bar-name" }, bar.name));
    const told = filled.map((part) => classes.get(part.class).title + " " + percent(part.value / total)).join(", ");
    id("bars").append(make("div", { class: "bar", role: "img", "aria-label": told || "nothing" },
      ...filled.map((part) => make("div", {
        class: tone(part.class), style: "flex:" + part.value / total + " 1 0",
        title: classes.get(part.class).title + " " + part.label,
      }))));
    id("bars").append(make("ul", { class: "legend" }, ...bar.parts.map((part) => make("li", { class: tone(part.class) },
      make("span", { class: "name" }, classes.get(part.class).title),
      make("span", { class: "value" }, percent(part.value / total) + " · " + part.label),
      make("span", { class: "quiet" }, part.count, " · ", classes.get(part.class).about)))));
  }
  id("bars").hidden = page.bars.length === 0;

  // Icicle: a row per level; parts too small to be seen are drawn as one.
  const icicle = (root) => {
    const LEVEL = 34, SMALL = 0.002;
    let path = [root];
    const depth = (node) => 1 + Math.max(0, ...node.parts.map(depth));
    const levels = depth(root);
    const tell = (node) => { id("told").textContent = node ? node.name + " · " + node.label + " · " + percent(node.value / root.value) : ""; };
    const zoom = (to) => {
      path = to;
      draw();
      const first = id("cells").querySelector("button");
      if (first) first.focus({ preventScroll: true });
    };
    const cell = (node, way, left, width, level, rest) => {
      const label = rest ? rest + " more" : node.name;
      const button = make("button", {
        type: "button", class: tone(node.class) + (width < 0.03 ? " tiny" : ""), "data-level": level,
        style: "left:" + left * 100 + "%;width:" + width * 100 + "%;top:" + level * LEVEL + "px",
        "aria-label": label + ", " + node.label + ", " + percent(node.value / root.value), title: label + "\n" + node.label,
        tabindex: level === 0 ? 0 : -1,
        onfocus: () => tell({ ...node, name: label }), onmouseenter: () => tell({ ...node, name: label }),
        onclick: () => { if (!rest && node.parts.length && way.length !== path.length) zoom(way); else if (!rest && !node.parts.length) search(node.name); },
      }, width < 0.03 ? "" : label);
      id("cells").append(button);
    };
    const draw = () => {
      id("cells").replaceChildren();
      const lay = (node, way, left, width, level) => {
        cell(node, way, left, width, level);
        let at = left, rest = 0, value = 0, last = null;
        for (const part of node.parts) {
          const wide = (width * part.value) / (node.value || 1);
          if (wide < SMALL && rest + node.parts.length > 1) { rest += 1; value += part.value; last = part; continue; }
          lay(part, [...way, part], at, wide, level + 1);
          at += wide;
        }
        const wide = (width * value) / (node.value || 1);
        if (rest) {
          const label = rest === 1 ? last.label : percent(value / root.value) + " of all";
          cell({ name: "", class: last.class, value, label, parts: [] }, [], at, wide, level + 1, rest);
        }
      };
      const top = path[path.length - 1];
      lay(top, path, 0, 1, 0);
      id("cells").style.height = Math.min(levels, depth(top)) * LEVEL + "px";
      id("crumbs").replaceChildren(...path.slice(0, -1).map((node, at) =>
        make("button", { type: "button", onclick: () => zoom(path.slice(0, at + 1)) }, "◂ " + node.name)));
    };
    id("cells").addEventListener("keydown", (event) => {
      const all = [...id("cells").querySelectorAll("button")];
      const here = all.indexOf(document.activeElement);
      const level = (button) => Number(button.dataset.level);
      const middle = (button) => button.offsetLeft + button.offsetWidth / 2;
      const on = (wanted) => {
        const row = all.filter((button) => level(button) === wanted);
        row.sort((a, b) => Math.abs(middle(a) - middle(all[here])) - Math.abs(middle(b) - middle(all[here])));
        return row[0];
      };
      const beside = (step) => {
        const row = all.filter((button) => level(button) === level(all[here])).sort((a, b) => a.offsetLeft - b.offsetLeft);
        return row[row.indexOf(all[here]) + step];
      };
      let next = null;
      if (here < 0) return;
      if (event.key === "ArrowRight") next = beside(1);
      else if (event.key === "ArrowLeft") next = beside(-1);
      else if (event.key === "ArrowDown") next = on(level(all[here]) + 1);
      else if (event.key === "ArrowUp") next = on(level(all[here]) - 1);
      else if (event.key === "Escape" && path.length > 1) { zoom(path.slice(0, -1)); event.preventDefault(); return; }
      else return;
      event.preventDefault();
      if (next) next.focus();
    });
    id("cells").addEventListener("mouseleave", () => tell(null));
    draw();
    id("icicle").hidden = false;
  };

  // Table.
  const hidden = new Set();
  let sorted = null, down = true, limit = 100, words = "";
  const text = (row) => (row.text ??= [row.class, ...row.cells.map((cell) => cell.text)].join("\n").toLowerCase());
  const search = (wanted) => {
    id("filter").value = wanted;
    words = wanted.toLowerCase();
    draw();
    id("filter").focus();
  };
  const lines = (raw, each) => make("pre", { tabindex: 0 }, ...raw.replace(/\n$/, "").split("\n").map(each));
  const detail = (one) => {
    if (one.kind === "diff") {
      const of = (line) => (/^(\+\+\+|---|@@)/.test(line) ? "hunk" : line[0] === "+" ? "add" : line[0] === "-" ? "del" : "");
      return make("figure", {}, make("figcaption", {}, one.title), lines(one.text, (line) => make("span", { class: of(line) }, line || " ")));
    }
    return make("figure", {}, make("figcaption", {}, one.title), lines(one.text, (line, at) => make("span", { class: one.first + at === one.mark ? "mark" : "" },
      make("span", { class: "no" }, String(one.first + at)), line)));
  };
  const open = (row, line, button) => {
    const is = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!is));
    button.textContent = is ? "▸" : "▾";
    line.classList.toggle("open", !is);
    if (is) { line.nextSibling.remove(); return; }
    const words = row.details.filter((one) => one.kind === "text");
    line.after(make("tr", { class: "details" }, make("td", { colspan: page.columns.length + 2 }, make("div", {},
      words.length ? make("dl", {}, ...words.flatMap((one) => [make("dt", {}, one.title), make("dd", {}, one.text)])) : null,
      ...row.details.filter((one) => one.kind !== "text").map(detail)))));
  };
  const line = (row) => {
    const name = row.cells.find((cell) => cell.value === undefined)?.text ?? "";
    const button = make("button", { type: "button", "aria-expanded": "false", "aria-label": "Details of " + name }, "▸");
    const made = make("tr", { class: "row" },
      make("td", { class: "open" }, row.details.length ? button : ""),
      make("td", {}, make("span", { class: "tag " + tone(row.class) }, classes.get(row.class)?.title ?? row.class)),
      ...row.cells.map((cell, at) => page.columns[at].number
        ? make("td", { class: "number" }, cell.text)
        : make("td", { class: "wide" }, make("div", { title: cell.text.length > 80 && cell.text }, cell.text))));
    button.addEventListener("click", () => open(row, made, button));
    return made;
  };
  const draw = () => {
    let rows = page.rows.filter((row) => !hidden.has(row.class) && words.split(/\s+/).every((word) => text(row).includes(word)));
    if (sorted !== null) {
      const key = (row) => (sorted < 0 ? classes.get(row.class)?.title ?? "" : row.cells[sorted].value ?? row.cells[sorted].text);
      const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
      rows = rows.slice().sort((a, b) => order(key(a), key(b)) * (down ? -1 : 1));
    }
    id("body").replaceChildren(...rows.slice(0, limit).map(line));
    id("shown").textContent = rows.length === page.rows.length ? rows.length + " rows" : rows.length + " of " + page.rows.length + " rows";
    id("more").hidden = rows.length <= limit;
    [...id("head").children].forEach((head) => {
      const at = head.dataset.at;
      if (at === undefined) return;
      const is = sorted !== null && Number(at) === sorted;
      if (is) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      head.querySelector("button").lastChild.textContent = is ? (down ? " ▾" : " ▴") : "";
    });
  };
  const head = (title, at, number) => make("th", { scope: "col", "data-at": String(at), class: number ? "number" : "" }, make("button", {
    type: "button",
    onclick: () => { down = sorted === at ? !down : Boolean(number); sorted = at; draw(); },
  }, title, make("span", { "aria-hidden": "true" }, "")));
  id("head").append(make("th", {}, make("span", { class: "skip" }, "Details")), head("class", -1, false),
    ...page.columns.map((column, at) => head(column.title, at, column.number)));
  const present = new Set(page.rows.map((row) => row.class));
  if (present.size > 1) {
    id("chips").append(...page.classes.filter((one) => present.has(one.key)).map((one) => {
      const chip = make("button", { type: "button", class: one.tone, "aria-pressed": "true", title: one.about }, one.title);
      chip.addEventListener("click", () => {
        if (hidden.delete(one.key)) chip.setAttribute("aria-pressed", "true");
        else { hidden.add(one.key); chip.setAttribute("aria-pressed", "false"); }
        draw();
      });
      return chip;
    }));
  }
  id("filter").addEventListener("input", () => { words = id("filter").value.toLowerCase().trim(); draw(); });
  id("more").addEventListener("click", () => { limit += 400; draw(); });
  id("table").hidden = page.rows.length === 0;

  if (page.tree && page.tree.value > 0) icicle(page.tree);
  if (page.notes.length) {
    id("notes").hidden = false;
    id("notes").querySelector("ul").append(...page.notes.map((note) => make("li", {}, note)));
  }
  draw();
})();
