// What an editor shows of definitions and handles: asked of the language service of TypeScript, as editors do.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript-api";
import { beforeAll, describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../../..");
const FILE = join(ROOT, "spec/behaviour/handle/hovered.ts");

/** The program that is looked at. No such file exists. Positions are after the marks `/*1*\/`. */
const SOURCE = `
import {
  type Call, ConsumerGroup, defineServer, defineStateMachine, dynamicSupervisor, type EventsOf, refuse, reply, startIn, supervisor, System, taskSupervisor, to,
} from "signalbox";

const Stock = defineServer({
  init: (_ctx, start: number) => ({
    left: start, reserved: new Map<string, number>(), names: ["a"], prices: { a: 5 }, owner: "", city: "", street: "", zip: "",
  }),
  calls: {
    /** Takes some off the shelf. */
    take: (state, n: number) => (state.left -= n),
    /** Gives the price. */
    price(state, name: string) { return name in state.prices ? state.prices.a : refuse(new Error("unknown")); },
    reserve: (state, order: string, n: number) => { state.reserved.set(order, n); },
    release: (state, order: string) => state.reserved.delete(order),
  },
  casts: {
    /** Puts some on the shelf. */
    restock: (state, n: number) => { state.left += n; },
  },
});

/** Events of a lamp. */
interface LampEvents {
  /** Switches the lamp on. */
  press(payload: { watts: number }): boolean;
  /** Says how it is. */
  status(): string;
  /** Waits for the light. */
  lit(): Promise<void>;
  /** Switches the lamp off. */
  reset(payload: { by: string }): void;
  cool(): void;
}
type LampState = { name: "off" } | { name: "on"; watts: number };
type LampEvent = EventsOf<LampEvents>;
type LampData = { id: string };
const Lamp = defineStateMachine<LampState, LampEvent, [id: string], LampData>({
  data: (_ctx, id) => ({ id }),
  init: startIn("off", () => ({ name: "off" })),
  states: {
    off: {
      on: {
        press: to("on", (_off, pressed, m) => m.next({ name: "on", watts: pressed.watts }, m.reply(true))),
        status: (_off, _event, m) => m.keep(m.reply(m.data.id)),
        lit: "postpone", reset: "ignore", cool: "ignore",
      },
    },
    on: { on: { press: "refuse", status: "refuse", lit: (_on, _e, m) => m.keep(m.reply(undefined)), reset: "ignore", cool: "ignore" } },
  },
});

type GateEvent = Call<{ type: "open"; by: string; force?: boolean }, boolean> | { type: "shut"; by: string };
const Gate = defineStateMachine<{ name: "shut" }, GateEvent>({
  init: startIn("shut", () => ({ name: "shut" })),
  states: { shut: { on: { open: "refuse", shut: "ignore" } } },
});

const House = supervisor({ children: [{ id: "stock", start: Stock, args: [5] }] });
const Many = dynamicSupervisor({ child: { id: "gate", start: Gate } });
const Jobs = taskSupervisor();
const pickers = new ConsumerGroup<{ id: string }>({ name: "pickers" });

export async function visit(system: System): Promise<void> {
  const stock = await system.start(Stock, 5);
  const named = Stock.at(system, "stock");
  const quick = stock.with({ timeoutMs: 5 });
  await stock.call./*take*/take(3);
  await stock.call./*price*/price("a");
  await quick.call./*quickTake*/take(3);
  stock.cast./*restock*/restock(5);
  const lamp = await system.start(Lamp, "lamp-1");
  await lamp.call./*press*/press({ watts: 5 });
  await lamp.call./*status*/status();
  await lamp.call./*lit*/lit();
  lamp.cast./*reset*/reset({ by: "me" });
  lamp.cast./*cool*/cool();
  lamp.with({ timeoutMs: 5 }).cast./*quickReset*/reset({ by: "me" });
  lamp.send({ type: "cool" });
  const gate = await system.start(Gate);
  await gate.call./*open*/open({ by: "me" });
  gate.cast./*shut*/shut({ by: "me" });
  const many = await system.start(Many);
  const child = await many.startLike();
  console.log(House, Jobs, pickers, named, child);
}
`;

let service: ts.LanguageService;

beforeAll(() => {
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [FILE] }, ts.sys, ROOT);
  const textOf = (file: string): string => (file === FILE ? SOURCE : readFileSync(file, "utf8"));
  const exists = (file: string): boolean => file === FILE || ts.sys.fileExists(file);
  service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => [FILE],
    getScriptVersion: () => "1",
    getScriptSnapshot: (file) => (exists(file) ? ts.ScriptSnapshot.fromString(textOf(file)) : undefined),
    getCurrentDirectory: () => ROOT,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: exists,
    readFile: textOf,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
  });
  service.getProgram();
}, 60_000);

function after(mark: string): number {
  const at = SOURCE.indexOf(mark);
  expect(at, mark).toBeGreaterThan(0);
  return at + mark.length;
}

/** What an editor shows at a position: the type, the comment, and the line to which it leads. */
function hover(at: number): { type: string; comment: string; leadsTo: string | undefined } {
  const info = service.getQuickInfoAtPosition(FILE, at);
  const [target] = service.getDefinitionAtPosition(FILE, at) ?? [];
  return {
    type: ts.displayPartsToString(info?.displayParts),
    comment: ts.displayPartsToString(info?.documentation),
    leadsTo:
      target?.fileName === FILE
        ? SOURCE.slice(target.textSpan.start).split("\n")[0]?.slice(0, target.textSpan.length)
        : undefined,
  };
}

const atMark = (name: string) => hover(after(`/*${name}*/`));
const ofVariable = (name: string) => hover(after(`const ${name.slice(0, -1)}`));

describe("an editor", () => {
  it("has a program without errors to look at", () => {
    expect(
      service
        .getSemanticDiagnostics(FILE)
        .map(
          ({ messageText, start }) =>
            `${ts.flattenDiagnosticMessageText(messageText, "\n")}: ${SOURCE.slice(start).split("\n")[0]}`,
        ),
    ).toEqual([]);
  });

  it("shows the comment of a handler on the method of the handle, and leads to it [B58]", () => {
    expect(atMark("take")).toEqual({
      type: "(property) take: (n: number) => Promise<number>",
      comment: "Takes some off the shelf.",
      leadsTo: "take",
    });
    expect(atMark("price")).toEqual({
      type: "(method) price(name: string): Promise<number>",
      comment: "Gives the price.",
      leadsTo: "price",
    });
    expect(atMark("restock")).toEqual({
      type: "(property) restock: (n: number) => void",
      comment: "Puts some on the shelf.",
      leadsTo: "restock",
    });
    expect(atMark("quickTake").comment).toBe("Takes some off the shelf.");
  });

  it("shows the comment of an event on the method of the handle, and leads to it [B58]", () => {
    const flat = (name: string): unknown => {
      const { type, ...rest } = atMark(name);
      return { type: type.replace(/\s+/g, " "), ...rest };
    };
    expect(flat("press")).toEqual({
      type: "(method) press(payload: { watts: number; }): Promise<boolean>",
      comment: "Switches the lamp on.",
      leadsTo: "press",
    });
    expect(flat("status")).toEqual({
      type: "(method) status(): Promise<string>",
      comment: "Says how it is.",
      leadsTo: "status",
    });
    expect(flat("lit")).toMatchObject({ type: "(method) lit(): Promise<void>" });
    expect(flat("reset")).toEqual({
      type: "(method) reset(payload: { by: string; }): void",
      comment: "Switches the lamp off.",
      leadsTo: "reset",
    });
    expect(flat("cool")).toMatchObject({ type: "(method) cool(): void", comment: "" });
    expect(atMark("quickReset").comment).toBe("Switches the lamp off.");
  });

  it("writes out what an event of a union carries [B59]", () => {
    const flat = (name: string): string => atMark(name).type.replace(/\s+/g, " ");
    expect(flat("open")).toBe(
      "(property) open: (payload: { by: string; force?: boolean; }) => Promise<boolean>",
    );
    expect(flat("shut")).toBe("(property) shut: (payload: { by: string; }) => void");
  });

  it.each([
    ["Stock", 20],
    ["stock", 9],
    ["named", 9],
    ["quick", 9],
    ["Lamp", 1],
    ["lamp", 1],
    ["Gate", 4],
    ["gate", 1],
    ["House", 1],
    ["Many", 6],
    ["many", 6],
    ["child", 6],
    ["Jobs", 1],
    ["pickers", 4],
  ])("shows the type of %s in at most %d lines that a person can read [B59]", (name, lines) => {
    const { type } = ofVariable(name);
    expect(type).toMatch(/^const /);
    expect(type.split("\n").length, type).toBeLessThanOrEqual(lines);
    expect(type).not.toMatch(/ extends |infer |unique symbol|Omit<|Extract<|Exclude<|\.\.\. \d+ more/);
  });

  it("shows the state of a server once in its definition, and not in its handles [B59]", () => {
    expect(ofVariable("Stock").type.match(/reserved:/g)).toHaveLength(1);
    for (const name of ["stock", "named", "quick"]) expect(ofVariable(name).type).not.toMatch(/reserved:/);
  });
});
