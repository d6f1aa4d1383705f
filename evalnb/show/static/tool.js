// Keys work wherever the focus is in a tool, and JupyterLab leaves them alone there. It looks at what
// has the focus before it looks at what that stands in. Returns what ends it.
function listenInTool(el, press) {
  let tool = null;
  let looks = 0;

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

