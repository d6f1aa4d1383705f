// Keys for a whole tool, and nothing of them for JupyterLab while the focus is in it.
function render({ model, el }) {
  let tool = null;
  let looks = 0;

  function press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, [contenteditable]")) return; // somebody types
    if (!model.get("known").includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    model.send({ key: event.key });
  }

  // JupyterLab looks at what has the focus before it looks at what that stands in.
  function suppress(event) {
    event.target.setAttribute("data-lm-suppress-shortcuts", "true");
  }

  function attach() {
    tool = el.closest(".evalnb-tool");
    if (!tool && looks++ < 600) return void requestAnimationFrame(attach);
    tool = tool ?? el;
    tool.setAttribute("data-lm-suppress-shortcuts", "true");
    tool.addEventListener("focusin", suppress);
    tool.addEventListener("keydown", press);
  }

  attach();
  return () => {
    tool?.removeEventListener("focusin", suppress);
    tool?.removeEventListener("keydown", press);
  };
}

export default { render };
