// Keys for a whole tool, and nothing of them for JupyterLab while the focus is in it.
function render({ model, el }) {
  function press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, [contenteditable]")) return; // somebody types
    if (!model.get("known").includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    model.send({ key: event.key });
  }

  return listenInTool(el, press);
}

export default { render };
