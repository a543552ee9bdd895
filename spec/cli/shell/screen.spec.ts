// The terminal as a screen, and how it is given back.

import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import { openScreen, type ScreenStreams } from "../../../lib/cli/shell/screen.js";

const BEGIN = "\u001b[?1049h";
const END = "\u001b[?1049l";

/** A terminal without a terminal. @param takes - whether it takes all that is written at once */
function terminal(takes = true) {
  const written: string[] = [];
  const exits = new Set<() => void>();
  const raw: boolean[] = [];
  const stdin = Object.assign(new EventEmitter(), {
    isTTY: true,
    setRawMode: (mode: boolean) => void raw.push(mode),
    setEncoding: () => undefined,
    pause: () => undefined,
    resume: () => undefined,
  });
  const stdout = Object.assign(new EventEmitter(), {
    ...{ columns: 80, rows: 24 },
    write: (text: string) => {
      written.push(text);
      return takes;
    },
  });
  const streams = {
    ...{ stdin, stdout },
    onExit: (end: () => void) => void exits.add(end),
    offExit: (end: () => void) => void exits.delete(end),
  } as unknown as ScreenStreams;
  const heard: string[] = [];
  const screen = openScreen(
    {
      input: (text) => void heard.push(text),
      resized: () => void heard.push("resized"),
      lost: ({ message }) => void heard.push(`lost: ${message}`),
    },
    streams,
  );
  return { written, exits, raw, stdin, stdout, heard, screen };
}

describe("a screen", () => {
  test("takes the terminal, and gives it back as it was [N1592]", () => {
    const { written, raw, screen, exits, stdin, stdout } = terminal();
    expect(written.join("")).toContain(BEGIN);
    screen.close();
    screen.close();
    expect(written.join("").split(END)).toHaveLength(2);
    expect(written.join("")).toContain("\u001b[?25h");
    expect(written.join("")).toContain("\u001b[?7h");
    expect(raw).toEqual([true, false]);
    expect(exits.size).toBe(0);
    for (const emitter of [stdin, stdout]) expect(emitter.eventNames()).toEqual([]);
  });

  test("gives it back when the program exits [N1592]", () => {
    const { written, exits, raw } = terminal();
    for (const end of exits) end();
    expect(written.at(-1)).toContain(END);
    expect(raw).toEqual([true, false]);
  });

  test("passes on keys, sizes and the loss of the terminal [N1592]", () => {
    const { heard, stdin, stdout } = terminal();
    stdin.emit("data", "q");
    stdout.emit("resize");
    stdout.emit("error", new Error("EIO"));
    expect(heard).toEqual(["q", "resized", "lost: EIO"]);
  });

  test("keeps only the newest picture while the terminal is behind [N1592]", () => {
    const { written, screen, stdout } = terminal(false);
    const before = written.length;
    for (const text of ["one", "two", "three"]) screen.draw([text]);
    expect(written).toHaveLength(before + 1);
    stdout.emit("drain");
    expect(written).toHaveLength(before + 2);
    expect(written.at(-1)).toContain("three");
    screen.close();
    const after = written.length;
    stdout.emit("drain");
    screen.draw(["four"]);
    expect(written).toHaveLength(after);
  });

  test("clears each line and what is below, and no character of a line that fills the window [N1592]", () => {
    const { written, screen } = terminal();
    screen.draw(Array.from({ length: 24 }, () => "x".repeat(80)));
    expect(written.at(-1)).toSatisfy((text: string) => text.endsWith("x\u001b[?2026l"));
    screen.draw(["a", "b"]);
    expect(written.at(-1)).toContain("\u001b[H\u001b[Ka\r\n\u001b[Kb\r\n\u001b[J");
  });
});
