// A passage to judge: its text, the keys that judge it, and the words that are selected in it.
const SILENCE_MS = 5000; // a living kernel answers in far less
const SETTLE_MS = 150;

function render({ model, el }) {
  const text = document.createElement("div");
  text.className = "evalnb-passage";
  text.tabIndex = 0;
  text.setAttribute("role", "region");
  text.setAttribute("aria-label", "passage to judge; " + model.get("known_keys").join(", "));
  const said = document.createElement("p");
  said.className = "evalnb-saving";
  said.setAttribute("role", "status");
  el.append(text, said);
  let silence, settle;

  function draw() {
    clearTimeout(silence);
    said.textContent = "";
    said.classList.remove("alarm");
    const view = model.get("view");
    text.dataset.token = view.token ?? "";
    // Text alone, never markup: nothing that a corpus holds can run.
    text.replaceChildren(...(view.extracts ?? []).map((extract, at) => {
      const paragraph = document.createElement("p");
      paragraph.dataset.at = at;
      paragraph.append(...extract.map((run) => {
        const piece = document.createElement(run.mark ? "mark" : run.plain ? "span" : "code");
        piece.textContent = run.text;
        Object.assign(piece.dataset, { start: run.start, end: run.end });
        return piece;
      }));
      return paragraph;
    }));
    text.scrollTop = 0;
  }

  // [extract, start, end] in codepoints of the text as it was returned; null if nothing is selected.
  function selected() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    const touched = [...text.querySelectorAll("[data-start]")].filter(
      (piece) => range.intersectsNode(piece.firstChild));
    let found = null;
    for (const piece of touched) {
      const node = piece.firstChild;
      const from = range.startContainer === node ? range.startOffset : 0;
      const to = range.endContainer === node ? range.endOffset : node.data.length;
      if (from >= to) continue;
      const at = Number(piece.parentElement.dataset.at);
      const points = (units) => [...node.data.slice(0, units)].length;
      const first = Number(piece.dataset.start);
      // What is shown as an escape is selected whole.
      const plain = piece.localName !== "code";
      const start = plain ? first + points(from) : first;
      const end = plain ? first + points(to) : Number(piece.dataset.end);
      if (found && found[0] !== at) return null;
      found = found ? [at, found[1], end] : [at, start, end];
    }
    return found;
  }

  function follow() {
    const anchor = getSelection().anchorNode;
    if (!anchor || !text.contains(anchor)) return; // a button that is pressed keeps the words
    clearTimeout(settle);
    settle = setTimeout(() => {
      model.set("selected", selected() ?? []);
      try {
        model.save_changes();
      } catch {} // said when a key is pressed
    }, SETTLE_MS);
  }

  function press(event) {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
    const key = event.key.toLowerCase();
    if (!model.get("known_keys").some((known) => known[0] === key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.repeat) return; // a key that is held down judges one passage
    clearTimeout(silence);
    said.textContent = "saving…";
    silence = setTimeout(alarm, SILENCE_MS);
    try {
      model.send({ key, token: model.get("view").token, selected: selected() });
    } catch {
      alarm(); // a dead kernel has no line to send on
    }
  }

  function alarm() {
    said.classList.add("alarm");
    said.textContent = "The kernel does not answer: what was pressed last is not saved. "
      + "Restart the kernel and run the cells again; all before it is on disk.";
  }

  draw();
  const stopListening = listenInTool(el, press);
  model.on("change:view", draw);
  document.addEventListener("selectionchange", follow);
  return () => {
    clearTimeout(silence);
    clearTimeout(settle);
    model.off("change:view", draw);
    document.removeEventListener("selectionchange", follow);
    stopListening();
  };
}

export default { render };
