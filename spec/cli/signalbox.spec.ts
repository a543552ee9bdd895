// The command's first word, and the parser that all subcommands share.

import { describe, expect, test } from "vitest";
import { Misuse, type Moments, parseArguments } from "../../lib/cli/shell/arguments.js";
import { EXIT } from "../../lib/cli/shell/exit.js";
import { signalbox } from "../../lib/cli/signalbox.js";

async function run(...args: string[]) {
  const [printed, complaints, loaded] = [[] as string[], [] as string[], [] as string[]];
  const subcommand = (name: string, code: number) => async () => {
    loaded.push(name);
    return async (rest: readonly string[]) => {
      printed.push(`${name} ${rest.join(" ")}`);
      return code;
    };
  };
  const code = await signalbox(args, {
    print: (text) => void printed.push(text),
    complain: (text) => void complaints.push(text),
    version: "1.2.3",
    subcommands: { replay: subcommand("replay", 3), flows: subcommand("flows", 1) },
  });
  return { code, printed: printed.join("\n"), complaints: complaints.join("\n"), loaded };
}

describe("the first word", () => {
  test("names the subcommand, which gets the rest; no other is loaded", async () => {
    expect(await run("flows", "list", "--json")).toMatchObject({
      code: 1,
      printed: "flows list --json",
      loaded: ["flows"],
    });
    expect(await run("replay", "a.json")).toMatchObject({ code: 3, loaded: ["replay"] });
  });

  test.each([[[]], [["--help"]], [["-h"]]])("%j shows an overview", async (args) => {
    const { code, printed, loaded } = await run(...args);
    expect(printed).toMatch(/^usage: signalbox replay FILE .*\n +signalbox flows COMMAND/);
    expect({ code, loaded }).toEqual({ code: EXIT.fine, loaded: [] });
  });

  test.each(["--version", "-v"])("%s shows the version", async (word) => {
    expect(await run(word)).toEqual({ code: EXIT.fine, printed: "1.2.3", complaints: "", loaded: [] });
  });

  test.each([
    ["flow", "there is no command flow: did you mean flows?"],
    ["rplay", "there is no command rplay: did you mean replay?"],
    ["constructor", "there is no command constructor\n"],
    ["--json", "the subcommand comes before its options"],
  ])("%s is refused", async (word, text) => {
    const { code, complaints } = await run(word, "list");
    expect(complaints).toContain(text);
    expect(complaints).toContain("usage: signalbox");
    expect(code).toBe(EXIT.misuse);
  });
});

describe("arguments", () => {
  const specs = {
    store: { value: "STORE", help: "" },
    tag: { value: "NAME=VALUE", many: true, help: "" },
    json: { help: "" },
  } as const;
  const clock: Moments = { now: () => 0, moment: () => undefined };
  const parse = (...args: string[]) => parseArguments(args, specs, {}, clock);

  test("are words and options in any order", () => {
    expect(parse("a", "--store", "x.db", "--json", "b", "--tag=u=1", "--tag", "v=2")).toEqual({
      words: ["a", "b"],
      given: { store: "x.db", tag: ["u=1", "v=2"], json: true },
      common: {},
    });
    expect(parse()).toEqual({ words: [], given: {}, common: {} });
  });

  test("are those of a command, under the names that operations have, and those of all commands", () => {
    const own = { place: { value: "PLACE", help: "", gives: "store" } } as const;
    const common = { store: { value: "STORE", help: "" } } as const;
    expect(parseArguments(["--place", "a", "--store", "b"], own, common, clock)).toEqual({
      words: [],
      given: { store: "a" },
      common: { store: "b" },
    });
  });

  test("behind -- are words", () => {
    expect(parse("--", "--json", "-x")).toEqual({ words: ["--json", "-x"], given: {}, common: {} });
  });

  test("values may begin with a minus, and with two behind an equals sign", () => {
    expect(parse("--store", "-1")).toMatchObject({ given: { store: "-1" } });
    expect(parse("--store=--json")).toEqual({ words: [], given: { store: "--json" }, common: {} });
    expect(parse("--store=")).toMatchObject({ given: { store: "" } });
  });

  test("have one letter for an option that has one", () => {
    const out = { output: { value: "FILE", short: "o", help: "" }, all: { short: "a", help: "" } } as const;
    const short = (...args: string[]) => parseArguments(args, out, {}, clock);
    expect(short("x", "-o", "a.jar", "-a")).toEqual({
      words: ["x"],
      given: { output: "a.jar", all: true },
      common: {},
    });
    expect(short("-oa.jar")).toMatchObject({ given: { output: "a.jar" } });
    expect(short("--output", "a.jar")).toMatchObject({ given: { output: "a.jar" } });
    expect(() => short("-o")).toThrow(new Misuse("-o needs a value"));
    expect(() => short("-o", "a", "--output", "b")).toThrow(new Misuse("--output can be given once"));
    expect(() => short("-x")).toThrow(new Misuse("there is no option -x"));
  });

  test("ask for help with --help or -h", () => {
    expect(parse("--help")).toBe("help");
    expect(parse("a", "-h")).toBe("help");
  });

  test.each([
    [["--stor", "x"], "there is no option --stor: did you mean --store?"],
    [["--wide"], "there is no option --wide"],
    [["-s", "x"], "there is no option -s"],
    [["-json"], "there is no option -j"],
    [["--store"], "--store needs a value"],
    [["--store", "--json"], "--store needs a value"],
    [["--json=yes"], "--json takes no value"],
    [["--store", "a", "--store", "b"], "--store can be given once"],
    [["--constructor"], "there is no option --constructor"],
    [["--__proto__=x"], "there is no option --__proto__"],
  ])("%j are refused", (args, text) => {
    expect(() => parse(...args)).toThrow(new Misuse(text));
  });

  test("lack an option that is needed, unless they ask for help", () => {
    const needed = { reason: { value: "TEXT", help: "", needed: "--reason is missing: say why" } } as const;
    expect(() => parseArguments([], needed, {}, clock)).toThrow(new Misuse("--reason is missing: say why"));
    expect(parseArguments(["--help"], needed, {}, clock)).toBe("help");
    const parsed = parseArguments(["--reason", "old"], needed, {}, clock);
    const reason: string = parsed === "help" ? "" : parsed.given.reason;
    expect(reason).toBe("old");
  });
});
