// Hosts of one poisoned program, each under a supervisor that starts it again when it ends, and kills it when it is silent.

import { setTimeout as pause } from "node:timers/promises";
import type { Child } from "../../support/child-program.js";
import { READY } from "./deeds.js";

/** How often a host prints that it is alive is its own matter; after so long without a word it is killed. */
const SILENT_MS = 4_000;
const LOOK_MS = 100;

export class SupervisedHosts {
  /** How often a host ended by itself or was silent. */
  deaths = 0;
  readonly #start: (host: number) => Child;
  readonly #hosts: Child[] = [];
  readonly #supervising: Promise<void>[] = [];
  readonly #printed: string[] = [];
  #isOver = false;

  constructor(count: number, start: (host: number) => Child) {
    this.#start = start;
    for (let host = 0; host < count; host++) this.#supervising.push(this.#supervise(host));
  }

  async #supervise(host: number): Promise<void> {
    while (!this.#isOver) {
      const child = this.#start(host);
      this.#hosts[host] = child;
      const life = { isOver: false };
      const ended = child.ended.finally(() => {
        life.isOver = true;
      });
      await Promise.race([ended, this.#watch(child, life)]);
      this.#printed.push((await child.ended).stdout);
      if (!this.#isOver) this.deaths++;
    }
  }

  async #watch(child: Child, life: { readonly isOver: boolean }): Promise<void> {
    await child.prints(READY).catch(() => child.ended);
    let heard = child.printed().length;
    for (let silent = 0; !life.isOver; silent += LOOK_MS) {
      await pause(LOOK_MS);
      if (child.printed().length === heard) {
        if (silent < SILENT_MS) continue;
        child.signal("SIGKILL");
        return;
      }
      heard = child.printed().length;
      silent = 0;
    }
  }

  /** Kills the host of this number from outside. */
  kill(host: number): void {
    this.#hosts[host]?.signal("SIGKILL");
  }

  /** What all hosts have printed so far. */
  printed(): string {
    return [...this.#printed, ...this.#hosts.map((host) => host.printed())].join("\n");
  }

  /** Waits until what they have printed holds. False: it did not for so long. */
  async until(holds: (printed: string) => boolean, mostMs: number): Promise<boolean> {
    for (let ms = 0; ms < mostMs; ms += LOOK_MS) {
      if (holds(this.printed())) return true;
      await pause(LOOK_MS);
    }
    return false;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    for (const host of this.#hosts) host.signal("SIGKILL");
    await Promise.all(this.#supervising);
  }
}
