// Carries out scenarios of servers: a definition whose handlers do what the table says, made by the public API.

import {
  type Caller,
  type Context,
  defineServer,
  type ExitReason,
  ignore,
  type Next,
  noReply,
  type Pid,
  ready,
  reply,
  replyAndStop,
  type ServerDefinition,
  stop,
} from "signalbox";
import {
  type BehaviourFormat,
  BehaviourRun,
  type BehaviourScenario,
  carryOut,
  commonProblem,
  isCell,
  type Reaction,
  Reactions,
  type Subject,
  type Term,
} from "./behaviours.js";
import { reasonOf, wordOf } from "./reasons.js";

/** The kinds of callback whose results differ. */
type Kind = "init" | "call" | "other";

interface TableCalls {
  readonly ask: (state: never, name: string, caller: string) => unknown;
}

interface TableCasts {
  readonly tell: (state: never, name: string) => void;
}

/** The state of a scenario is kept beside the server; nothing of the library depends on it. */
const STATE = {};
const NOTHING: Next = { idleMs: Number.POSITIVE_INFINITY };

class ServerRun extends BehaviourRun {
  private readonly table: BehaviourScenario;
  private readonly reactions = new Reactions();
  private readonly saved: Caller<unknown>[] = [];
  private lastReplied: Caller<unknown> | undefined;
  private ctx!: Context;
  private readonly definition: ServerDefinition<[], TableCalls, TableCasts>;

  constructor(scenario: BehaviourScenario) {
    super(scenario);
    this.table = scenario;
    this.definition = this.define();
  }

  protected launch(parent: Context, trapExit: boolean): Promise<unknown> {
    return parent.startWith({ trapExit }, this.definition);
  }

  protected subject(pid: Pid<never>): Subject {
    const { definition, system } = this;
    const ref = definition.at(system, pid);
    return {
      cast: (name) => ref.cast.tell(name),
      call: (from, caller, name, timeoutMs) =>
        ref.with({ from, timeoutMs, withdraw: false }).call.ask(name, caller),
      info: (name) => system.send(pid as Pid<unknown>, name),
      stop: (reason) => ref.stop(reason),
    };
  }

  private define(): ServerDefinition<[], TableCalls, TableCasts> {
    const run = this;
    const inferred = defineServer({
      init: (ctx) => run.begin(ctx),
      calls: {
        ask(_state, name: string, caller: string): unknown {
          return run.meet("call", ["call", name, caller], this.caller);
        },
      },
      casts: { tell: (_state, name: string): unknown => run.meet("other", ["cast", name]) },
      signals: { exit: (_state, { reason }) => run.meet("other", ["info", `EXIT:${wordOf(reason)}`]) },
      info: (_state, message) => run.meet("other", ["info", String(message)]),
      idle: () => run.meet("other", ["timeout"]),
      terminate: (_state, reason) => run.terminate(reason),
    });
    return inferred;
  }

  private begin(ctx: Context): unknown {
    this.ctx = ctx;
    this.born(ctx.self);
    this.log(["init"]);
    return this.react("init", this.table.init, undefined);
  }

  /** A callback begins: it is logged, and its reaction carried out. */
  private meet(kind: Kind, callback: readonly string[], caller?: Caller<unknown>): unknown {
    this.log(callback);
    const key = callback.slice(0, 2).join(" ");
    return this.react(kind, this.reactions.take(key, this.table.on[key]) ?? [["noreply"]], caller);
  }

  private react(kind: Kind, [returned, ...effects]: Reaction, caller: Caller<unknown> | undefined): unknown {
    const end = (): unknown => {
      const value = this.returned(kind, returned as Term);
      if (effects.includes("thrown")) throw value;
      return value;
    };
    return carryOut(effects, (effect) => this.effect(effect, caller), end);
  }

  private effect(effect: Term, caller: Caller<unknown> | undefined): Promise<void> | undefined {
    const [word, first, second] = typeof effect === "string" ? [effect] : effect;
    const { ctx } = this;
    switch (word) {
      case "reply":
        this.replyTo(caller, first);
        return undefined;
      case "reply_saved":
        this.replyTo(this.saved.shift(), first);
        return undefined;
      case "reply_last":
        this.replyTo(this.saved.pop(), first);
        return undefined;
      case "reply_again":
        this.replyTo(this.lastReplied, first);
        return undefined;
      case "cast":
        this.definition.at(this.system, ctx.self as Pid<never>).cast.tell(String(first));
        return undefined;
      case "info":
        ctx.send(ctx.self, first);
        return undefined;
      case "after":
        ctx.sendAfter(ctx.self, second, Number(first));
        return undefined;
      case "trap":
        ctx.trapExit(first === true);
        return undefined;
      case "save":
        if (caller !== undefined) this.saved.push(caller);
        return undefined;
      case "busy":
        return this.sleep(Number(first));
      case "thrown":
        return undefined;
      default:
        throw new Error(`no effect of a server: ${JSON.stringify(effect)}`);
    }
  }

  private replyTo(caller: Caller<unknown> | undefined, value: unknown): void {
    if (caller === undefined) return;
    this.lastReplied = caller;
    caller.reply(value);
  }

  private returned(kind: Kind, returned: Term): unknown {
    if (returned === "ignore") return ignore;
    // A return value of another kind of callback.
    if (returned === "bad") return kind === "call" ? ready(STATE, NOTHING) : reply(0, NOTHING);
    const [word, first, second] = returned;
    switch (word) {
      case "ok":
        return ready(STATE, this.next(first));
      case "noreply":
        return noReply(this.next(first));
      case "reply":
        return reply(first, this.next(second));
      case "stop":
        return returned.length === 3 ? replyAndStop(second, reasonOf(first)) : stop(reasonOf(first));
      case "crash":
        throw new Error(String(first));
      case "exit":
        return this.ctx.exit(reasonOf(first));
      default:
        throw new Error(`no return of a server: ${JSON.stringify(returned)}`);
    }
  }

  private next(then: unknown): Next {
    if (then === undefined || then === "infinity") return NOTHING;
    if (typeof then === "number") return { idleMs: then };
    const [, name] = then as readonly [word: "continue", name: string];
    return { continue: () => this.meet("other", ["continue", name]) };
  }

  private terminate(reason: ExitReason): unknown {
    this.log(["terminate", wordOf(reason)]);
    const { terminate } = this.table;
    if (terminate === "ok") return undefined;
    if (terminate[0] === "linger") return this.sleep(terminate[1]);
    throw new Error(terminate[1]);
  }
}

export const serverFormat: BehaviourFormat = {
  name: "server",
  fits: (scenario) => !Object.hasOwn(scenario, "enter"),
  problem: (scenario) => {
    const problem = commonProblem(scenario);
    if (problem !== undefined) return problem;
    const wrong = Object.entries(scenario.on as object).find(([, cell]) => !isCell(cell));
    return wrong === undefined ? undefined : `on["${wrong[0]}"] is no list of reactions`;
  },
  run: (scenario) => new ServerRun(scenario),
};
