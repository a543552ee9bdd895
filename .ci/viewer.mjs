// The viewer in a browser: it moves forwards and backwards, finds steps, and shows hostile texts as texts.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, withPage } from "./chromium.mjs";
import { once, project, run, version } from "./support.mjs";

const HOSTILE = '</script><img src=x onerror="document.title=1">';
const STEPS = 600;
const LANES = 50;

/** Writes pages with the package, as a user does. */
const PROGRAM = `import { explore } from "signalbox/testing";
export const ring = async (sim) => {
  const system = sim.system({ name: "ring" });
  const heard = [];
  sim.state(() => heard.length);
  const pids = [];
  for (let n = 0; n < ${LANES}; n++)
    pids.push(system.spawn({ handle: (ctx, left) => { heard.push(left); if (left > 0) ctx.send(pids[(n + 1) % ${LANES}], left - 1); } },
      { label: "member-" + n }));
  system.send(pids[0], ${STEPS});
  await sim.quiet();
  throw new Error(${JSON.stringify(HOSTILE).replaceAll("/", "\\/")});
};
const source = { module: import.meta.url, export: "ring" };
if (process.argv[2] === "explore")
  await explore(ring, { schedules: 1, viewer: "kept/", name: "ring", source }).catch(() => undefined);
`;

async function drive(page) {
  const text = (id) => page.value(`document.getElementById(${JSON.stringify(id)}).innerText`);
  const present = () => page.value("document.querySelector('[aria-current=step]').innerText");
  const is = (what, found, wanted) => {
    if (!wanted.test(found)) throw new Error(`${what}: ${JSON.stringify(found)} does not match ${wanted}`);
  };
  const count = (selector) => page.value(`document.querySelectorAll(${JSON.stringify(selector)}).length`);
  const steps = await count(".step");
  if (steps < STEPS || (await count(".lane")) < LANES) throw new Error(`${steps} steps are too few`);
  is("it begins at the end", await text("heading"), new RegExp(`^Step ${steps} of ${steps}: `));
  is("the failure is a text", await text("about"), /<\/script><img src=x/);
  if ((await page.value("document.title")) === "1" || (await count("img")) > 0)
    throw new Error("a text of the trace has become markup");

  await page.press("ArrowLeft");
  is("a step back", await text("heading"), new RegExp(`^Step ${steps - 1} of `));
  await page.press("ArrowRight");
  is("and on", await text("heading"), new RegExp(`^Step ${steps} of `));
  await page.press("Home");
  is("the first step", await text("heading"), /^Step 1 of \d+: scenario/);
  is("the first step's effects", await text("about"), /\+ ring\/member-0 spawned/);
  await page.press("PageDown");
  is("ten steps on", await text("heading"), /^Step 11 of /);
  is("the step in the diagram", await present(), /^11 took /);
  is("the mailbox", await text("state"), /ring\/member-\d+ ready\s+\d+ from ring\/member-\d+/);

  await page.click("#on");
  is("a click on the button", await text("heading"), /^Step 12 of /);
  await page.value("document.querySelectorAll('.step')[4].id = 'fifth'");
  await page.click("#fifth");
  is("a click on a step", await text("heading"), /^Step 5 of /);
  await page.value(
    "const s = document.getElementById('slider'); s.value = 300; s.dispatchEvent(new Event('input'))",
  );
  is("the slider", await text("heading"), /^Step 300 of /);

  await page.press("/");
  await page.type("TOOK 17 ");
  await page.press("Enter");
  is("the search", await present(), /took 17 from/);
  is("the value of sim.state", await text("state"), new RegExp(`^${STEPS - 16}\\b`));
  const colour = () => page.value("getComputedStyle(document.body).backgroundColor");
  await page.prefer("light");
  const light = await colour();
  await page.prefer("dark");
  if (light === (await colour())) throw new Error("light and dark look the same");
}

/** A project whose exploration has failed. */
const failed = once(async () => {
  const cwd = await project("viewer", `fast-check@${version("fast-check")}`);
  writeFileSync(join(cwd, "ring.mjs"), PROGRAM);
  await run(process.execPath, ["ring.mjs", "explore"], { cwd });
  return cwd;
});

/** Exit code and output of the program. */
async function signalbox(cwd, ...args) {
  try {
    return { code: 0, printed: await run("npx", ["signalbox", ...args], { cwd }) };
  } catch (error) {
    return { code: error.code, printed: `${error.stdout}${error.stderr}` };
  }
}

export const checks = {
  "npx signalbox replay shows a kept failure, and runs it again": async () => {
    const cwd = await failed();
    const expect = async (args, code, text) => {
      const found = await signalbox(cwd, ...args);
      if (found.code !== code || !found.printed.includes(text))
        throw new Error(
          `signalbox ${args.join(" ")}: exit code ${found.code}, ${found.printed.slice(-2_000)}`,
        );
    };
    await expect(["replay", "kept/ring.json"], 1, "the schedule still fails in the same way");
    await expect(
      ["replay", "kept/ring.json", "--show", "--html", "again.html"],
      0,
      "FAILED: Error: </script>",
    );
    await expect(["replay", "ring.mjs"], 2, "this is not a failure that signalbox has kept");
    await expect(["--help"], 0, "usage: signalbox replay FILE");
    const [page, again] = ["kept/ring.html", "again.html"].map((name) =>
      readFileSync(join(cwd, name), "utf8"),
    );
    if (page !== again) throw new Error("the page of the command differs from the one of the exploration");
  },
  "the viewer of a failing schedule works in Chromium": async () => {
    await chromium();
    await withPage(pathToFileURL(join(await failed(), "kept/ring.html")).href, drive);
  },
};
