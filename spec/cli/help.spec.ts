// Help and options of every subcommand and of each of its commands. The help says which there are, so that none is forgotten.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { flows } from "../../lib/cli/flows/flows.js";
import { observe } from "../../lib/cli/observe/observe.js";
import { pipelines } from "../../lib/cli/pipelines/pipelines.js";
import { queues } from "../../lib/cli/queues/queues.js";
import { replay } from "../../lib/cli/replay/command.js";
import { EXIT } from "../../lib/cli/shell/exit.js";
import { type Subcommand, signalbox } from "../../lib/cli/signalbox.js";
import { storm } from "../../lib/cli/storm/storm.js";
import { system } from "../../lib/cli/system/system.js";
import { top } from "../../lib/cli/top/top.js";

const printed: string[] = [];
const complaints: string[] = [];
const host = {
  print: (text: string) => void printed.push(text),
  complain: (text: string) => void complaints.push(text),
} as never;

const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  flows: (args) => flows(args, host),
  observe: (args) => observe(args, host),
  pipelines: (args) => pipelines(args, host),
  queues: (args) => queues(args, host),
  replay: (args) => replay(args, host),
  storm: (args) => storm(args, host),
  system: (args) => system(args, host),
  top: (args) => top(args, host),
};

async function run(args: readonly string[]): Promise<{ code: number; printed: string; complaints: string }> {
  printed.length = complaints.length = 0;
  const subcommands = Object.fromEntries(
    Object.entries(SUBCOMMANDS).map(([name, command]) => [name, async () => command]),
  );
  const code = await signalbox(args, Object.assign({ version: "1.2.3", subcommands }, host));
  return { code, printed: printed.join("\n"), complaints: complaints.join("\n") };
}

/** The commands that the help of a subcommand lists: `replay` has none. */
async function commandsOf(name: string): Promise<string[]> {
  const { printed: help } = await run([name, "--help"]);
  return [...help.matchAll(/^ {2}([a-z][\w-]*) {2,}\S/gm)].map(([, command]) => command as string);
}
const ALL: string[][] = [];
for (const name of Object.keys(SUBCOMMANDS))
  ALL.push([name], ...(await commandsOf(name)).map((command) => [name, command]));
const WITH_OPTIONS = ALL.filter(
  (words) => words.length === 2 || ["replay", "observe", "top"].includes(words[0] as string),
);

/** The help of all, as terminals have it. A text that changes on purpose is changed in the files as well: `vitest -u`. */
test.each(["", ...Object.keys(SUBCOMMANDS)])(
  "the help of signalbox %s is what it was [Z691]",
  async (name) => {
    const texts: string[] = [];
    for (const words of name === "" ? [[]] : ALL.filter(([first]) => first === name)) {
      const { printed: help } = await run([...words, "--help"]);
      texts.push(`$ signalbox ${[...words, "--help"].join(" ")}\n${help}\n`);
    }
    await expect(texts.join("\n")).toMatchFileSnapshot(`golden/help${name === "" ? "" : `-${name}`}.txt`);
  },
);

describe("every subcommand", () => {
  test("of the program is tested here, and the overview names it [E13]", async () => {
    const program = readFileSync(new URL("../../lib/cli/main.ts", import.meta.url), "utf8");
    const loaded = [...program.matchAll(/import\("\.\/(\w+)\/program\.js"\)/g)].map(([, name]) => name);
    expect(loaded.sort()).toEqual(Object.keys(SUBCOMMANDS).sort());
    const { printed: overview } = await run(["--help"]);
    for (const name of loaded) expect(overview).toContain(`signalbox ${name}`);
    expect(ALL.length).toBeGreaterThan(20);
  });

  test.each(ALL)("%s %s has help, which names its options [E13]", async (...words) => {
    for (const flag of ["--help", "-h"]) {
      const { code, printed: help, complaints: none } = await run([...words, flag]);
      expect({ code, none }).toEqual({ code: EXIT.fine, none: "" });
      expect(help).toMatch(new RegExp(`^usage: signalbox ${words.join(" ")}`));
      expect(help).toContain("--");
    }
  });

  test.each(WITH_OPTIONS)("%s %s refuses an option that it does not know [E13]", async (...words) => {
    const { printed: help } = await run([...words, "--help"]);
    const options = [...help.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, option]) => option as string);
    expect(options.length).toBeGreaterThan(0);
    for (const option of options) {
      const { code, printed: nothing, complaints: text } = await run([...words, `--${option}x`]);
      expect({ code, nothing }).toEqual({ code: EXIT.misuse, nothing: "" });
      expect(text).toContain(`there is no option --${option}x`);
      expect(text).toMatch(new RegExp(`did you mean (--[a-z-]+ or )*--${option}\\b`));
    }
    const { code, complaints: text } = await run([...words, "--zzzzzz"]);
    expect(code).toBe(EXIT.misuse);
    expect(text).toContain("there is no option --zzzzzz");
  });

  test.each([["--hepl"], ["flows", "--hepl"], ["pipelines", "--hepl"]])(
    "%s %s: an option before the command is refused, with the one that was meant [E13]",
    async (...words) => {
      const { code, complaints: text } = await run(words);
      expect(code).toBe(EXIT.misuse);
      expect(text).toContain("did you mean --help?");
    },
  );
});
