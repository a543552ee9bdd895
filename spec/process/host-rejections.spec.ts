// A rejection that no process owns is the host's, to the letter: whatever Node is told to do with it, it does as if the
// library were not there, also when several copies of it are.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { copies, type Run, runProgram } from "../support/copies.js";
import { proving } from "../support/proof.js";

let urls: string[];
let remove: () => void;
beforeAll(async () => {
  ({ urls, remove } = await copies(2));
});
afterAll(() => remove());

const MODES = [undefined, "warn", "none", "strict", "warn-with-error-code"] as const;
const LISTENERS = ["none", "rejection", "exception"] as const;
const flags = (mode: string | undefined): string[] =>
  mode === undefined ? [] : [`--unhandled-rejections=${mode}`];

/** The listeners to try: all of them in `npm run prove`, else one for each reason, which differs from mode to mode. */
function listenersFor(mode: (typeof MODES)[number], reasons: readonly string[], reason: string): string[] {
  const turn = (MODES.indexOf(mode) + reasons.indexOf(reason)) % LISTENERS.length;
  return LISTENERS.filter((_, index) => proving || index === turn);
}

/** The notice of `strict` is the library's own; a test below is about that. Node adds a hint to its first warning. */
const withoutNotice = (run: Run): Run => ({
  ...run,
  stdout: run.stdout.replace("warning SignalboxWarning\n", ""),
  stderr: run.stderr.replace(/.*SIGNALBOX_STRICT.*\n/, "").replace(/^\(Use .*\n/m, ""),
});

describe.each(MODES)("a rejection of the host's with --unhandled-rejections=%s", (mode) => {
  const reasons = mode === undefined ? ["error", "text", "nothing"] : ["error", "text"];
  describe.each(reasons)("for the reason %s", (reason) => {
    it.each(listenersFor(mode, reasons, reason))(
      "and listeners for %s: output, exit code and events are the same as without the library [H1]",
      async (listeners) => {
        const args = [reason, listeners];
        const [bare, ...withUs] = await Promise.all([
          runProgram("reject.mjs", flags(mode), args),
          runProgram("reject.mjs", flags(mode), [...args, ...urls]),
          ...(listeners === "none"
            ? [runProgram("reject.mjs", flags(mode), [...args, ...urls.slice(1)])]
            : []),
        ]);
        expect(bare.stdout).toContain("exit");
        for (const run of withUs) expect(withoutNotice(run)).toEqual(withoutNotice(bare));
      },
    );
  });
});

describe("a rejection of a process's", () => {
  const ends = ["copy0", "copy1"].flatMap((name) => [`<${name}.3 culprit> crash nobody awaits it`]);

  it.each([undefined, "throw", "none", "warn-with-error-code"])(
    "crashes this process and no other, also with two copies of the library, with --unhandled-rejections=%s [H2]",
    async (mode) => {
      const { stdout, stderr, code } = await runProgram("owned.mjs", flags(mode), urls);
      expect(stderr).toBe("");
      expect(
        stdout
          .split("\n")
          .filter((line) => line.includes("culprit"))
          .sort(),
      ).toEqual(ends);
      expect(stdout).toContain("copy0 1\ncopy1 1\n");
      expect(code).toBe(0);
    },
  );
});

describe("under --unhandled-rejections=strict, where no library can shield a process's rejection", () => {
  const NOTICE = "[SIGNALBOX_STRICT_REJECTIONS] SignalboxWarning";

  it.each([
    ["on the command line", ["--unhandled-rejections=strict"], true],
    ["in two words", ["--unhandled-rejections", "strict"], true],
    ["taken back by a later flag", ["--unhandled-rejections=strict", "--unhandled-rejections=none"], false],
  ] as const)(
    "that is said once at the start, however many systems there are: %s [H7]",
    async (_name, given, said) => {
      const { stderr, code } = await runProgram("owned.mjs", given, urls);
      expect(stderr.split(NOTICE)).toHaveLength(said ? 2 : 1);
      // Node raises it as its own first, and there the program ends.
      expect(code).toBe(said ? 1 : 0);
    },
  );
});
