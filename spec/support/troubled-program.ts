// A simulated program that dies again and again, by its own code and from outside: its machine, its evidence and its past.

import type { SimulatedNode, Simulation } from "signalbox/testing";
import { vi } from "vitest";
import { readNote, type WitnessKeeper, witness } from "../../lib/host/evidence/witness.js";
import { EvidenceBox } from "./evidence-box.js";
import { carriesNames, isWatched, type PastLife } from "./evidence-model.js";

/** How bad code ends its program. `timer`: an uncaught error in a timer that it left behind. */
export const HARMS = ["exit", "timer", "spin", "memory", "stack", "abort"] as const;
export type Harm = (typeof HARMS)[number];

/** What befalls a program beside its own code. */
export const BLOWS = ["none", "kill", "stop", "hit"] as const;
export type Blow = (typeof BLOWS)[number];

/** For so long a life waits for a blow, in milliseconds. */
const MOMENTS_MS = [0, 3, 15, 60] as const;
/** A life with no blow lasts so long, if nothing ends it. */
const REST_MS = 5_000;
/** Of each kind of blow. A hit is a kill at the moment that good code runs. */
const MOST: Readonly<Record<Blow, number>> = { none: Infinity, kill: 3, stop: 2, hit: 1 };

interface Life {
  readonly beganAt: number;
  readonly progressed: Set<string>;
  over(): void;
}

export class TroubledProgram<T extends { stop(): Promise<unknown> }> {
  readonly box: EvidenceBox = new EvidenceBox();
  readonly past: PastLife[] = [];
  /** How often bad code ended it. */
  harmed = 0;
  readonly #sim: Simulation;
  readonly #node: SimulatedNode<T>;
  readonly struck: Record<Blow, number> = { none: 0, kill: 0, stop: 0, hit: 0 };
  /** Kept by hand: what a machine without power leaves in this thread is never closed. */
  readonly #keepers: WitnessKeeper[] = [];
  #life: Life | undefined;
  #isHit = false;

  constructor(sim: Simulation, boot: (node: SimulatedNode, box: EvidenceBox) => Promise<T>) {
    this.#sim = sim;
    this.#node = sim.node("shop", async (node) => {
      const joined = vi.spyOn(witness, "join");
      const host = await boot(node, this.box);
      this.#keepers.push(...joined.mock.calls.map(([keeper]) => keeper));
      joined.mockRestore();
      return host;
    });
  }

  get store(): SimulatedNode["store"] {
    return this.#node.store;
  }

  /** One life: `work` in it, beside whatever befalls it, until it ends or has done enough. True: it has. */
  async live(work: (host: T) => Promise<unknown>): Promise<boolean> {
    const sim = this.#sim;
    this.#node.restart();
    const host = await this.#node.ready();
    const over = new Promise<false>((resolve) => {
      this.#life = { beganAt: sim.now, progressed: new Set(), over: () => resolve(false) };
    });
    const open = BLOWS.filter((blow) => this.struck[blow] < MOST[blow]) as [Blow, ...Blow[]];
    const blow = sim.oneOf(open, "blow");
    const struck = this.#strike(blow, host);
    const done = work(host).then(
      () => true as const,
      () => over,
    );
    const isDone = await Promise.race([done, struck, over]);
    if (this.#life !== undefined) await this.#stop(host);
    return isDone;
  }

  async #strike(blow: Blow, host: T): Promise<false> {
    const life = this.#life;
    this.#isHit = blow === "hit";
    await this.#sim.sleep(blow === "none" ? REST_MS : this.#sim.oneOf(MOMENTS_MS, "until the blow"));
    if (this.#life !== life) return false;
    if (blow === "kill") this.#end();
    else if (blow === "stop") await this.#stop(host);
    else if (blow === "hit") return new Promise(() => undefined);
    this.struck[blow]++;
    return false;
  }

  async #stop(host: T): Promise<void> {
    await host.stop();
    if (this.#life !== undefined) this.#over({ end: "stop" });
  }

  /** Code of a subject runs: it may be hit. True: it must not go on. */
  runs(): boolean {
    if (!this.#isHit || this.#life === undefined) return false;
    this.#isHit = false;
    this.struck.hit++;
    this.#end();
    return true;
  }

  /** Its code got the outcome of something that was committed. */
  progressed(subject: string): void {
    this.#life?.progressed.add(subject);
  }

  /** Bad code of this subject ends the program. */
  harm(subject: string, harm: Harm): void {
    this.harmed++;
    const life = this.past.length + 1;
    if (harm === "exit") this.box.end({ subject, kind: "exit" });
    else if (harm === "timer")
      this.box.end({ kind: "uncaught", ...(carriesNames(this.past, life) && { subject }) });
    else if (harm === "spin" && isWatched(this.past, life)) this.box.end({ subject, kind: "spin" });
    this.#end();
  }

  /** Without a word, or with the one that is written. */
  #end(): void {
    const { subject, kind } = JSON.parse(this.box.read("end") ?? "{}") as { subject?: string; kind?: "exit" };
    const standing = readNote(this.box.read("now"));
    this.box.end();
    const by = kind === undefined ? standing : subject;
    this.#over({
      end: kind === undefined ? "silence" : "word",
      ...(kind && { kind }),
      ...(by !== undefined && { by }),
    });
  }

  #over(end: Pick<PastLife, "end" | "by" | "kind">): void {
    const { beganAt, progressed, over } = this.#life as Life;
    this.past.push({ ...end, ageMs: this.#sim.now - beganAt, progressed: [...progressed] });
    this.#life = undefined;
    for (const keeper of this.#keepers.splice(0)) witness.leave(keeper);
    this.#node.crash();
    over();
  }
}
