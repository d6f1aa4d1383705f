(() => {
  "use strict";
  const cases = [...document.querySelectorAll("details.case")];
  const bar = document.querySelector(".filter");

  // The words of each case are read when somebody first types, not when the page opens.
  let words = null;
  const text = (i) => {
    words = words || cases.map((c) => c.textContent.normalize("NFKC").toLowerCase());
    return words[i];
  };

  const show = () => {
    const [query, state, variant] = ["q", "state", "variant"].map((name) => {
      const field = bar.querySelector(`[name=${name}]`);
      return field ? field.value : "";
    });
    const wanted = query.normalize("NFKC").toLowerCase().trim();
    const token = state && variant ? `${state}:${variant}` : state;
    let n = 0;
    cases.forEach((c, i) => {
      const fits =
        (!token || c.dataset.s.split(" ").includes(token)) &&
        (!wanted || text(i).includes(wanted));
      c.hidden = !fits;
      n += fits;
    });
    bar.querySelector("output").textContent = `${n} of ${cases.length} shown`;
  };

  const follow = () => {
    let id = location.hash.slice(1);
    try {
      id = decodeURIComponent(id);
    } catch {
      return;
    }
    const target = document.getElementById(id);
    if (target && target.matches("details.case")) {
      target.hidden = false;
      target.open = true;
      target.scrollIntoView();
      target.querySelector("summary").focus({ preventScroll: true });
    }
  };

  if (bar && cases.length) {
    bar.hidden = false;
    bar.addEventListener("input", show);
    bar.addEventListener("submit", (event) => event.preventDefault());
    bar.querySelector("button").addEventListener("click", () => {
      const shown = cases.filter((c) => !c.hidden);
      const open = shown.some((c) => !c.open);
      shown.forEach((c) => { c.open = open; });
    });
    show();
  }
  // A table is sorted by its headers; numbers by value, whatever sign or unit stands beside them.
  const value = (row, at) => row.cells[at] ? row.cells[at].textContent.trim() : "";
  const number = (text) => {
    const found = text.replace(/,/g, "").match(/[+-]?\d+(\.\d+)?(e[+-]?\d+)?/i);
    return found ? parseFloat(found[0]) : -Infinity;
  };
  const sort = (table, head, at) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const numeric = head.classList.contains("n");
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => {
      const [x, y] = [value(a, at), value(b, at)];
      const order = numeric ? number(x) - number(y) || 0 : x.localeCompare(y, "en", { numeric: true });
      return down ? -order : order;
    });
    table.tBodies[0].append(...rows);
  };
  for (const table of document.querySelectorAll(".scroll > table")) {
    if (table.closest("details.case") || !table.tBodies[0].rows[1]) continue;
    [...table.tHead.rows[0].cells].forEach((head, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, head, at));
      head.append(button);
    });
  }

  addEventListener("hashchange", follow);
  follow();
})();
