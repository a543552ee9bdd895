// Debian's Chromium without a window: where it is, and a page that a check drives over the DevTools protocol.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { folder, once, run, Skipped } from "./support.mjs";

const OPTIONS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--window-size=1280,800",
];
/** Most milliseconds that an answer of the browser may take. */
const PATIENCE = 30_000;

/** The Chromium that is installed, or one that is unpacked into a temporary folder. @throws Skipped */
export const chromium = once(find);

async function find() {
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    try {
      return { path: (await run("sh", ["-c", `command -v ${name}`])).trim(), libraries: "" };
    } catch {
      // The next one.
    }
  }
  const path = folder("chromium");
  const sh = (script) => run("sh", ["-ec", script], { cwd: path });
  try {
    await sh(
      `apt-get download $(apt-get install --print-uris -qq -y --no-install-recommends chromium | sed -n "s/^'[^']*' \\\\([^_]*\\\\)_.*/\\\\1/p")`,
    );
    await sh("for one in *.deb; do dpkg-deb -x $one root; done");
  } catch {
    throw new Skipped("there is no Chromium, and apt-get cannot download it");
  }
  const libraries = await sh("find $PWD/root -name '*.so*' -printf '%h\\n' | sort -u | tr '\\n' ':'");
  return { path: join(path, "root/usr/lib/chromium/chromium"), libraries };
}

/** Command line and environment of a browser with a profile of its own. */
export async function command(name) {
  const { path, libraries } = await chromium();
  return {
    path,
    args: [...OPTIONS, `--user-data-dir=${folder(name)}`],
    env: { ...process.env, LD_LIBRARY_PATH: libraries },
  };
}

/** Opens a page, lets `work` drive it, and ends the browser. */
export async function withPage(url, work) {
  const { path, args, env } = await command("driven");
  const browser = spawn(path, [...args, "--remote-debugging-pipe", "about:blank"], {
    env,
    stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
  });
  try {
    const devtools = new DevTools(browser);
    const { targetInfos } = await devtools.send("Target.getTargets");
    const { targetId } = targetInfos.find(({ type }) => type === "page");
    const { sessionId } = await devtools.send("Target.attachToTarget", { targetId, flatten: true });
    await work(await new Page(devtools, sessionId).open(url));
  } finally {
    const ended = new Promise((resolve) => browser.once("exit", resolve));
    browser.kill();
    await ended;
  }
}

/** Messages of the protocol end with a zero byte, in both directions. */
class DevTools {
  #input;
  #last = 0;
  #waiting = new Map();
  #events = [];

  constructor(browser) {
    this.#input = browser.stdio[3];
    let rest = "";
    browser.stdio[4].setEncoding("utf8").on("data", (data) => {
      const messages = (rest + data).split("\0");
      rest = messages.pop();
      for (const message of messages) this.#receive(JSON.parse(message));
    });
  }

  #receive({ id, method, params, result, error }) {
    if (id === undefined) for (const listener of this.#events) listener(method, params);
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error !== undefined) waiting?.reject(new Error(error.message));
    else waiting?.resolve(result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.#last;
    return this.#inTime(method, (resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** Calls a function for each event. */
  listen(listener) {
    this.#events.push(listener);
  }

  /** The next event of this name. */
  event(name) {
    return this.#inTime(name, (resolve) => {
      this.#events.push((method) => method === name && resolve());
    });
  }

  #inTime(what, begin) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`Chromium did not answer: ${what}`)), PATIENCE);
      const end = (settle) => (value) => {
        clearTimeout(timer);
        settle(value);
      };
      begin(end(resolve), end(reject));
    });
  }
}

class Page {
  #devtools;
  #session;
  /** What the pages have written as an error, and what they could not load, since `watch`. */
  problems = [];

  constructor(devtools, session) {
    this.#devtools = devtools;
    this.#session = session;
  }

  #send(method, params) {
    return this.#devtools.send(method, params, this.#session);
  }

  async open(url) {
    await this.#send("Page.enable");
    const loaded = this.#devtools.event("Page.loadEventFired");
    await this.#send("Page.navigate", { url });
    await loaded;
    return this;
  }

  /** Collects errors of the console in `problems`, from now on. */
  async watch() {
    this.#devtools.listen((method, params) => {
      if (method === "Runtime.exceptionThrown") {
        const { text, exception, url } = params.exceptionDetails;
        this.problems.push(`${url ?? ""}: ${text} ${exception?.description ?? ""}`);
      } else if (method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(params.type))
        this.problems.push(params.args.map(({ value, description }) => value ?? description).join(" "));
      else if (method === "Log.entryAdded" && params.entry.level === "error")
        this.problems.push(`${params.entry.url ?? ""}: ${params.entry.text}`);
    });
    await this.#send("Runtime.enable");
    await this.#send("Log.enable");
  }

  /** Sets the size of the window, or makes it the screen of a phone. */
  async size({ width, height, phone }) {
    await this.#send("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: phone,
    });
  }

  /** Waits until what moves or fades has ended. */
  async settled() {
    await this.value(
      "Promise.all(document.getAnimations().map((one) => one.finished.catch(() => 0))).then(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)))).then(() => 0)",
    );
  }

  /** The value of an expression in the page, or of its promise. */
  async value(expression) {
    const { result, exceptionDetails } = await this.#send("Runtime.evaluate", {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    if (exceptionDetails !== undefined)
      throw new Error(
        `${expression.slice(0, 200)}: ${exceptionDetails.text} ${exceptionDetails.exception?.description ?? ""}`,
      );
    return result.value;
  }

  /** Presses a key, as a user does. */
  async press(key) {
    const text = key.length === 1 ? { text: key } : {};
    const code = { Enter: 13 }[key];
    const enter = code === undefined ? {} : { windowsVirtualKeyCode: code, text: "\r" };
    await this.#send("Input.dispatchKeyEvent", { type: "keyDown", key, ...text, ...enter });
    await this.#send("Input.dispatchKeyEvent", { type: "keyUp", key });
  }

  async type(text) {
    await this.#send("Input.insertText", { text });
  }

  /** Clicks in the middle of an element. */
  async click(selector) {
    const at = await this.value(
      `(() => { const e = document.querySelector(${JSON.stringify(selector)}); e.scrollIntoView({ block: "center", inline: "center" });
        const { x, y, width, height } = e.getBoundingClientRect(); return { x: x + width / 2, y: y + height / 2 }; })()`,
    );
    for (const type of ["mousePressed", "mouseReleased"])
      await this.#send("Input.dispatchMouseEvent", { type, ...at, button: "left", clickCount: 1 });
  }

  /** Sets the colour scheme that the user prefers. */
  async prefer(scheme) {
    await this.#send("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: scheme }],
    });
  }

  /** The hosts that are asked for something, from now on. */
  async hosts() {
    const hosts = new Set();
    this.#devtools.listen((method, { request }) => {
      if (method !== "Network.requestWillBeSent") return;
      const { protocol, host } = new URL(request.url);
      if (protocol !== "data:" && protocol !== "blob:") hosts.add(host);
    });
    await this.#send("Network.enable");
    return hosts;
  }

  /** Bytes of the objects of the page, and its nodes, without what is garbage. */
  async memory() {
    await this.#send("HeapProfiler.collectGarbage");
    const { usedSize } = await this.#send("Runtime.getHeapUsage");
    const { nodes } = await this.#send("Memory.getDOMCounters");
    return { bytes: usedSize, nodes };
  }

  /** A picture of the window. @param options - of `Page.captureScreenshot`, such as `format` */
  async screenshot(options = {}) {
    const { data } = await this.#send("Page.captureScreenshot", options);
    return Buffer.from(data, "base64");
  }
}
