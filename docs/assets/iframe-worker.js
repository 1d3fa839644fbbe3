// Browsers do not let pages on the disk start workers. There, the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.window = frame.contentWindow;
      this.window.postToPage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.window.importScripts = (...addresses) =>
        Promise.all(addresses.map((src) => new Promise((resolve) => this.load(src, resolve))));
      this.window.deliver = this.window.postMessage.bind(this.window);
      this.window.postMessage = this.window.postToPage;
      this.load(address, () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      });
    }
    load(src, done) {
      const script = this.window.document.createElement("script");
      script.src = src;
      script.onload = done;
      this.window.document.body.append(script);
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.window.deliver(data, "*");
    }
    terminate() {}
  };
}
