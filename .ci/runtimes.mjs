// The same program in every runtime: other versions of Node, Bun, Deno, and a browser. Bun and browsers have no promise hooks.

import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { command } from "./chromium.mjs";
import { NODES, node, once, program, project, root, run } from "./support.mjs";

const EXPECTED = `links: true, exit, crash, deep end
dispatch: 51 53 56 60 65 71 78, 3 re-routed
supervisor: 51 after a restart
topology: 1000 numbers, sum 499500
reports: restarts, owners`;

const installed = once(async () => {
  const cwd = await project("runtimes");
  copyFileSync(join(root, ".ci/smoke.mjs"), join(cwd, "smoke.mjs"));
  return cwd;
});

function compare(printed, owners) {
  const expected = `${EXPECTED} ${owners}`;
  if (printed.trim() !== expected) throw new Error(`it printed\n${printed}\nand not\n${expected}`);
}

/** Runs the program. @param owners - whether a stray rejection has an owner there: "known" or "unknown" */
async function smoke(command, args, owners) {
  const cwd = await installed();
  compare(await run(command, [...args, "smoke.mjs"], { cwd, timeout: 60_000 }), owners);
}

/** Bundles the program for a browser, and reads from the page what it printed. */
async function inBrowser() {
  const { path, args, env } = await command("profile");
  const cwd = await installed();
  const bundle = await rolldown({
    input: join(cwd, "smoke.mjs"),
    platform: "browser",
    onLog: (level, log) => {
      if (level === "warn") throw new Error(log.message);
    },
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  const code = output[0].code.replaceAll("</script", "<\\/script");
  const page = join(cwd, "page.html");
  writeFileSync(
    page,
    `<!doctype html><meta charset="utf-8"><pre id="out"></pre><script type="module">
const out = document.getElementById("out");
console.log = (text) => { out.textContent += text; };
addEventListener("error", (event) => { out.textContent += "error " + event.message; });
addEventListener("unhandledrejection", (event) => { out.textContent += "rejection " + event.reason?.message + event.reason?.stack; });
${code}</script>`,
  );
  const html = await run(
    path,
    [...args, "--virtual-time-budget=20000", "--dump-dom", pathToFileURL(page).href],
    { timeout: 90_000, env },
  );
  compare(/<pre id="out">([\s\S]*?)<\/pre>/.exec(html)?.[1] ?? html, "unknown");
}

const nodes = NODES.map((major) => [
  `links, supervisors, dispatch and topologies work on Node ${major}`,
  async () => smoke(await node(major), [], "known"),
]);

export const checks = {
  ...Object.fromEntries(nodes),
  "the same on Bun, where stray rejections have no owner": async () =>
    smoke(join(await program("@oven/bun-linux-x64"), "bin/bun"), [], "unknown"),
  "the same on Deno": async () =>
    smoke(join(await program("@deno/linux-x64-glibc"), "deno"), ["run", "--allow-all"], "known"),
  "the same in a bundle in Chromium, where stray rejections have no owner": inBrowser,
};
