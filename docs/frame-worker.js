// Search without a server: a page that is read from disk may start no worker, so a hidden frame does its work.
class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    this.started = new Promise((resolve) => (this.frame.onload = resolve));
    window.addEventListener("message", ({ source, data }) => {
      if (source === this.frame.contentWindow) this.dispatchEvent(new MessageEvent("message", { data }));
    });
    const scope = `
      postMessage = (data) => parent.postMessage(data, "*");
      importScripts = async (...addresses) => {
        for (const address of addresses) {
          const script = document.body.appendChild(document.createElement("script"));
          await new Promise((resolve) => { script.onload = resolve; script.src = address; });
        }
      };`;
    this.frame.srcdoc = `<body><script>${scope}</script><script src="${url}"></script></body>`;
    document.body.append(this.frame);
  }

  postMessage(data) {
    this.started.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {
    this.frame.remove();
  }
}
window.IFrameWorker = FrameWorker; // The theme's name for it.
if (location.protocol === "file:") window.Worker = FrameWorker;
