// The picture of the README shows the tree of its quick start as it is at the end of the program, drawn from the running system.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { crash, custom, System, supervisor } from "signalbox";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { programs } from "./blocks.js";
import { describeTree, drawTree, type Tree, watch } from "./tree-picture.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");

/** Runs the quick start, and looks at its system before that stops. @param look - how, as code */
async function runQuickStart(
  name: string,
  look: string,
): Promise<{ readonly tree: Tree; readonly printed: string }> {
  const [program] = programs(readme);
  const code = program?.code.replace(/^await using system = .*$/m, `$&\nconst look = ${look};`);
  const folder = join(root, ".build", "tree-picture");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, name);
  const watching = pathToFileURL(join(root, "spec/docs/tree-picture.ts")).pathname;
  writeFileSync(
    file,
    `import { lookAt, watch } from ${JSON.stringify(watching)};\n${code}\nexport const tree = await look();\n`,
  );
  const said: unknown[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line) => void said.push(line));
  const reports = vi.spyOn(console, "error").mockImplementation(() => undefined);
  try {
    const { tree } = (await import(/* @vite-ignore */ file)) as { readonly tree: Tree };
    return { tree, printed: said.join("\n") };
  } finally {
    log.mockRestore();
    reports.mockRestore();
  }
}

let quickStart: Awaited<ReturnType<typeof runQuickStart>>;
beforeAll(async () => {
  // The first run learns the crashes. The second one is the program as users run it: nothing listens to its system.
  const { crashes } = (await runQuickStart("watched.ts", "watch(system)")).tree;
  quickStart = await runQuickStart("shop.ts", `lookAt(system, ${JSON.stringify(crashes)})`);
});

describe("the picture of the README", () => {
  it("is drawn from the running quick start: after a change, run `npm run docs:tree`", async () => {
    await expect(drawTree(quickStart.tree)).toMatchFileSnapshot("../../docs/images/tree.svg");
  });

  it("belongs to a program that prints what the README says", () => {
    const [, printed] = /```text\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(quickStart.printed).toBe(printed?.trim());
    for (const { label, pid } of quickStart.tree.crashes)
      expect(printed).toContain(`[${pid.replace(">", ` ${label}>`)}]`);
  });

  it("has a text alternative that says the same", () => {
    expect(readme).toContain(`![${describeTree(quickStart.tree)}](docs/images/tree.svg)`);
  });
});

describe("a picture of a tree", () => {
  it("shows who was restarted and who was not, and escapes names", async () => {
    await using system = new System({ name: "a", report: false });
    const look = watch(system);
    const wait = async (ctx: { receive(): Promise<unknown> }): Promise<void> => void (await ctx.receive());
    await system.start(
      supervisor({
        intensity: 5,
        children: [
          { id: "a<b", start: wait },
          { id: "c&d", start: wait },
        ],
      }),
    );
    for (const pid of system.processes())
      if (pid.label === "c&d") system.exit(pid, crash(new Error("out of tea")));
      else if (pid.label === "a<b") system.exit(pid, custom("no crash"));
    const picture = drawTree(await look());
    expect(picture).toContain("a&lt;b");
    expect(picture.match(/class="was"[^<]*/g)).toHaveLength(2);
    expect(picture).toMatch(/class="was"[^>]*>was &lt;a\.3&gt;, crashed:/);
    expect(picture).toMatch(/class="was"[^>]*>“out of tea”/);
    expect(picture.match(/class="link"/g)).toHaveLength(2);
  });
});
