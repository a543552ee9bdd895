// The other process of a program that needs two. The first one starts it, asks for the time that it has had of the processors, and kills it.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { NODE_FLAGS } from "./measure.js";

/** Arguments for Node that run a compiled program beside this file. */
export const compiledFar = (name: string): readonly string[] => [
  fileURLToPath(new URL(`./${name}.js`, import.meta.url)),
];

/** What the other process says. */
type Word = { readonly type: "ready" | "taken" } | { readonly type: "cpu"; readonly ms: number };

/** The other process, as the first one sees it. */
export class Far {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, "exit");
  }

  /** Resolves when it is ready. @throws Error when it ends before */
  static async start(program: readonly string[], args: readonly string[]): Promise<Far> {
    const child = spawn(process.execPath, [...NODE_FLAGS, ...program, ...args], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const far = new Far(child);
    await far.next("ready");
    return far;
  }

  /** Waits for a word. @throws Error when the process ends before */
  async next<T extends Word["type"]>(type: T): Promise<Extract<Word, { readonly type: T }>> {
    const cancel = new AbortController();
    const { signal } = cancel;
    const heard = (async () => {
      for (;;) {
        const [word] = (await once(this.#child, "message", { signal })) as [Word];
        if (word.type === type) return word as Extract<Word, { readonly type: T }>;
      }
    })();
    const ended = this.#ended.then(() => {
      cancel.abort();
      throw new Error(`the other process ended before it was ${type}`);
    });
    try {
      return await Promise.race([heard, ended]);
    } finally {
      heard.catch(() => undefined);
      ended.catch(() => undefined);
    }
  }

  /** The time that it has had of the processors, in milliseconds. */
  async cpuMs(): Promise<number> {
    const said = this.next("cpu");
    this.#child.send("cpu");
    return (await said).ms;
  }

  /** SIGKILL. Resolves when it is gone. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}

/** Says something to the process that started this one. */
export function tellNear(word: Word): void {
  process.send?.(word);
}

/** The other process is ready. It ends when the first one does. */
export function serveNear(): void {
  process.on("disconnect", () => process.exit(0));
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    tellNear({ type: "cpu", ms: (user + system) / 1_000 });
  });
  tellNear({ type: "ready" });
}
