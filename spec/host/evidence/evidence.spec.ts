// The folder of a host's evidence: who takes it, what is read from it, and when it goes.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CALM_STOPS } from "../../../lib/host/evidence/evidence-machine.js";
import { type Evidence, type EvidencePlace, evidencePlaceOf, openEvidence } from "../../../lib/host/index.js";

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "signalbox-evidence-")), "evidence");
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(join(folder, ".."), { recursive: true });
});

const open = (path: string | false = folder): Evidence =>
  openAt(evidencePlaceOf(path, { label: "test" }, true));

const openAt = (
  place: EvidencePlace | undefined,
  after: (ms: number, fn: () => void) => () => void = () => () => undefined,
  token?: number,
): Evidence =>
  openEvidence({
    place,
    ...(token !== undefined && { token }),
    who: "flows",
    now: () => 0,
    after,
    opened: () => undefined,
  });

/** What a host left that is dead: no process has this pid. */
function left(files: Readonly<Record<string, string>>, path = folder, name = "flows-0"): void {
  const slot = join(path, name);
  mkdirSync(slot, { recursive: true });
  const all = { pid: "999999999", lives: '{"life":3,"marks":[]}', ...files };
  for (const [file, text] of Object.entries(all)) writeFileSync(join(slot, file), text);
}

const spoils: readonly (readonly [string, (path: string) => void])[] = [
  ["a folder that all may write", (path: string) => chmodSync(path, 0o777)],
  [
    "a link to another folder",
    (path: string) => {
      renameSync(path, `${path}.elsewhere`);
      symlinkSync(`${path}.elsewhere`, path);
    },
  ],
];

describe("the evidence of a host", () => {
  it("leaves nothing behind when the host stops in order [J205]", () => {
    const evidence = open();
    expect(evidence.life).toBe(1);
    evidence.begin("flow:a").run(() => undefined);
    expect(existsSync(folder)).toBe(true);
    evidence.close();
    expect(existsSync(folder)).toBe(false);
  });

  it("has a later life watched after a kill, over a stop in order that came soon [J205]", () => {
    left({});
    open().close();
    expect(existsSync(folder)).toBe(true);
    let age = (): void => undefined;
    const long = openAt(evidencePlaceOf(folder, { label: "test" }, true), (_, fn) => {
      age = fn;
      return () => undefined;
    });
    // 1 s, 2 s, 4 s, … a minute.
    for (let ages = 1; ages <= 7; ages++) age();
    long.close();
    expect(existsSync(folder)).toBe(false);
    left({});
    for (let stops = 1; stops <= CALM_STOPS; stops++) {
      expect(existsSync(folder)).toBe(true);
      open().close();
    }
    expect(existsSync(folder)).toBe(false);
  });

  it("has no timer left when it is closed [J205]", () => {
    let waits = 0;
    const evidence = openAt(evidencePlaceOf(folder, { label: "test" }, true), () => {
      waits++;
      return () => waits--;
    });
    expect(waits).toBe(1);
    evidence.close();
    expect(waits).toBe(0);
  });

  it("has a folder for each host that runs", () => {
    const [first, second] = [open(), open()];
    expect(readdirSync(folder).sort()).toEqual(["flows-0", "flows-1"]);
    second.close();
    first.close();
  });

  it("goes on where a dead host left it, and keeps a mark until it is taken [J205]", () => {
    left({ end: '{"subject":"flow:a","kind":"exit","at":5}' });
    const second = open();
    const mark = { subject: "flow:a", kind: "exit", at: 5, life: 3 };
    expect(second.life).toBe(4);
    expect(second.find("flow:a")).toEqual({ mark, mayRun: true });
    expect(second.find("flow:b")).toEqual({ mark: undefined, mayRun: true });
    second.close();
    const third = open();
    expect(third.markOf("flow:a")).toEqual(mark);
    third.taken("flow:a");
    third.close();
    expect(existsSync(folder)).toBe(false);
  });

  it("accuses nothing in a store that was made anew at the address of another one [J501]", () => {
    const place = evidencePlaceOf(folder, { label: "test" }, true);
    const end = '{"subject":"flow:a","kind":"exit","at":5}';
    const at = (token: number): Evidence => openAt(place, undefined, token);
    const leftBySeventh = (): void => left({ lives: '{"life":3,"marks":[],"token":7}', end });
    leftBySeventh();
    const next = at(8);
    expect(next.markOf("flow:a")?.kind).toBe("exit");
    next.taken("flow:a");
    next.close();
    leftBySeventh();
    // The tokens of a new store begin anew.
    const anew = at(1);
    expect([anew.markOf("flow:a"), anew.life]).toEqual([undefined, 1]);
    anew.close();
  });

  it("goes on where its own last life was, by its token [J501]", () => {
    const place = evidencePlaceOf(folder, { label: "test" }, true);
    const first = openAt(place, undefined, 3);
    const slot = join(folder, "flows-0");
    const lives = readFileSync(join(slot, "lives"), "utf8");
    first.close();
    left({ lives, end: '{"subject":"flow:a","kind":"exit","at":5}' });
    const second = openAt(place, undefined, 4);
    expect([second.life, second.markOf("flow:a")?.kind]).toEqual([2, "exit"]);
    second.taken("flow:a");
    second.close();
  });

  it.each(spoils)("among the temporary files is not taken from %s [J500]", (_, spoil) => {
    const root = join(folder, "..");
    vi.stubEnv("TMPDIR", root);
    const server = (): Evidence => openAt(evidencePlaceOf(undefined, { label: "server" }, true));
    const first = server();
    const path = join(root, readdirSync(root)[0] as string);
    left({ end: '{"subject":"flow:a","kind":"exit","at":5}' }, path, "flows-1");
    const own = server();
    expect(own.markOf("flow:a")?.kind).toBe("exit");
    own.close();
    spoil(path);
    const other = server();
    expect(other.markOf("flow:a")).toBe(undefined);
    other.close();
    first.close();
  });

  it("counts a spin before the word of a later end", () => {
    left({ spin: '{"subject":"flow:s","kind":"spin","at":5}', end: "{}" });
    const evidence = open();
    expect(evidence.markOf("flow:s")?.kind).toBe("spin");
    evidence.close();
  });

  it.each([
    ["a state that is cut off", { lives: '{"life":3,"mar' }],
    ["a word that is cut off", { end: '{"subject":"flo' }],
    ["a note that is cut off", { now: "0100flow:a" }],
    ["nothing but rubbish", { lives: "\0", end: "[]", spin: "1", now: "\0\0" }],
  ])("blames no subject by %s", (_, files) => {
    left(files);
    const evidence = open();
    expect(evidence.find("flow:a")).toEqual({ mark: undefined, mayRun: true });
    evidence.close();
  });

  it("is none where it is turned off", () => {
    const evidence = open(false);
    expect(evidence.life).toBe(0);
    expect(evidence.begin("flow:a").run(() => 7)).toBe(7);
    evidence.close();
  });
});
