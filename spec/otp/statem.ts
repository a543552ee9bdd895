// Carries out scenarios of state machines: a definition whose handlers do what the table says, made by the public API.

import {
  type Action,
  type Call,
  type Cell,
  type Context,
  defineStateMachine,
  type ExitReason,
  type InitMoves,
  ignore,
  type Moves,
  type Pid,
  type ReplyTo,
  type StateMachineDefinition,
  type StatesOf,
  type Step,
  startIn,
  stop,
  to,
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

const STATES = ["a", "b", "c", "d"] as const;

type State = { readonly name: (typeof STATES)[number] };

/** A trace names an event by how it comes and its name, `cast e1`; so do the events here. */
type Event = Call<{ type: `call ${string}`; caller: string }, unknown> | { type: `cast ${string}` };

interface StatemScenario extends BehaviourScenario {
  readonly enter: boolean;
  readonly on: { readonly [state: string]: { readonly [key: string]: unknown } };
}

/** The moves that an `init`, an enter and a handler have, taken together: a table may ask for the wrong ones. */
type AnyMoves = Moves<State, Event> & InitMoves<State, Event> & { reply(value: unknown): Action };

/** Whom a callback may answer, and what its actions come to. */
interface Callback {
  readonly from: ReplyTo<unknown> | undefined;
  readonly actions: Action[];
  readonly m: AnyMoves;
}

class StatemRun extends BehaviourRun {
  private readonly table: StatemScenario;
  private readonly reactions = new Reactions();
  private readonly saved: ReplyTo<unknown>[] = [];
  private ctx!: Context;
  private readonly definition: StateMachineDefinition<State, Event, []>;

  constructor(scenario: StatemScenario) {
    super(scenario);
    this.table = scenario;
    this.definition = defineStateMachine<State, Event>({
      init: startIn(STATES, (m) => this.begin(m as AnyMoves) as Step),
      states: this.states(),
      info: (message) => event("info", String(message)),
      signal: (signal) =>
        signal.type === "exit" ? event("info", `EXIT:${wordOf(signal.reason)}`) : undefined,
      terminate: ({ name }, reason) => this.terminate(name, reason),
    });
  }

  protected launch(parent: Context, trapExit: boolean): Promise<unknown> {
    return parent.startWith({ trapExit }, this.definition);
  }

  protected subject(pid: Pid<never>): Subject {
    const { definition, system } = this;
    const ref = definition.at(system, pid);
    return {
      cast: (name) => ref.send({ type: `cast ${name}` }),
      call: (from, caller, name, timeoutMs) => {
        const { call } = ref.with({ from, timeoutMs, withdraw: false });
        return (call[`call ${name}`] as (payload: object) => Promise<unknown>)({ caller });
      },
      info: (name) => system.send(pid as Pid<unknown>, name),
      stop: (reason) => ref.stop(reason),
    };
  }

  /** Every state handles every event that the script or the table can lead to. */
  private states(): StatesOf<State, Event> {
    const types = eventsOf(this.table);
    const cell = (type: string): Cell<State, Event, State, Event> =>
      to(STATES, ({ name }, sent, m, from) =>
        this.meet(name, type, m as AnyMoves, "caller" in sent ? sent.caller : undefined, from),
      );
    const on = Object.fromEntries(types.map((type) => [type, cell(type)])) as never;
    const enter = (state: State, previous: State, m: unknown): Step | Promise<Step> => {
      this.log([state.name, "enter", previous.name]);
      return this.react(this.reaction(state.name, "enter"), {
        from: undefined,
        actions: [],
        m: m as AnyMoves,
      });
    };
    const plan = this.table.enter ? { enter, on } : { on };
    return { a: plan, b: plan, c: plan, d: plan } as StatesOf<State, Event>;
  }

  private begin(m: AnyMoves): Step | Promise<Step> {
    this.ctx = m.ctx;
    this.born(m.ctx.self);
    this.log(["init"]);
    return this.react(this.table.init, { from: undefined, actions: [], m });
  }

  /** The handler of an event begins: it is logged, and its reaction carried out. */
  private meet(
    state: string,
    type: string,
    m: AnyMoves,
    caller: string | undefined,
    from: ReplyTo<unknown> | undefined,
  ): Step | Promise<Step> {
    this.log([state, ...type.split(" "), ...(caller === undefined ? [] : [caller])]);
    return this.react(this.reaction(state, type), { from, actions: [], m });
  }

  private reaction(state: string, key: string): Reaction {
    return this.reactions.take(`${state} ${key}`, this.table.on[state]?.[key]) ?? ["keep"];
  }

  private react([returned, ...effects]: Reaction, callback: Callback): Step | Promise<Step> {
    return carryOut(
      effects,
      (effect) => this.effect(effect, callback),
      () => {
        const step = this.returned(returned as Term, callback);
        if (effects.includes("thrown")) throw step;
        return step;
      },
    );
  }

  /** Notes the action that an effect is, or does what the callback does by itself. */
  private effect(effect: Term, { from, actions, m }: Callback): Promise<void> | undefined {
    const [word, first, second] = typeof effect === "string" ? [effect] : effect;
    switch (word) {
      case "postpone":
        actions.push({ type: "postpone" });
        return undefined;
      case "reply":
        actions.push(m.reply(first));
        return undefined;
      case "reply_saved": {
        const caller = this.saved.shift();
        if (caller !== undefined) actions.push(m.replyTo(caller, first));
        return undefined;
      }
      case "next_event":
        actions.push({ type: "insert", event: event(String(first), String(second)) });
        return undefined;
      case "cancel":
        actions.push(timeoutOf(m, String(first), "cancel", undefined));
        return undefined;
      case "update":
        actions.push(timeoutOf(m, String(first), "update", String(second)));
        return undefined;
      case "bad_action":
        actions.push("bad_action" as never);
        return undefined;
      case "save":
        if (from !== undefined) this.saved.push(from);
        return undefined;
      case "busy":
        return this.sleep(Number(first));
      case "thrown":
        return undefined;
      default:
        actions.push(
          timeoutOf(m, word, first === "infinity" ? Number.POSITIVE_INFINITY : first, String(second)),
        );
        return undefined;
    }
  }

  private returned(returned: Term, { actions, m }: Callback): Step {
    const [word, operand] = typeof returned === "string" ? [returned] : returned;
    const state = { name: operand } as State;
    switch (word) {
      case "ok":
      case "next":
        return m.next(state, ...actions);
      case "keep":
        return m.keep(...actions);
      case "repeat":
        return m.repeat(...actions);
      case "ignore":
        return ignore as never;
      case "stop":
        return (m.stop === undefined ? stop(reasonOf(operand)) : m.stop(reasonOf(operand))) as Step;
      case "stop_reply":
        return m.stop(reasonOf(operand), ...actions.filter(({ type }) => type === "reply"));
      case "crash":
        throw new Error(String(operand));
      case "exit":
        return this.ctx.exit(reasonOf(operand));
      default:
        // What the library makes, for another place.
        return "ctx" in m ? (m as AnyMoves).keep() : (ignore as never);
    }
  }

  private terminate(state: string, reason: ExitReason): unknown {
    this.log(["terminate", state, wordOf(reason)]);
    const { terminate } = this.table;
    if (terminate === "ok") return undefined;
    if (terminate[0] === "linger") return this.sleep(terminate[1]);
    throw new Error(terminate[1]);
  }
}

function event(kind: string, name: string): { type: `cast ${string}` } {
  return { type: `${kind} ${name}` as `cast ${string}` };
}

/** The action for a timeout as a trace names it: `timeout` is the event timeout, `timeout:n1` the one named n1. */
function timeoutOf(m: AnyMoves, type: string, what: unknown, name: string | undefined): Action {
  const [kind, label] = type.split(":");
  const words = [what, name === undefined ? undefined : event(type, name)] as never as ["update", never];
  if (kind === "state_timeout") return m.stateTimeout(...words);
  return label === undefined ? m.eventTimeout(...words) : m.timeout(label, ...words);
}

/** The events that the script sends, and those that the table's actions and cells name. */
function eventsOf({ init, on, steps }: StatemScenario): string[] {
  const types = new Set<string>(["info EXIT:boom"]);
  const add = (op: unknown): void => {
    if (!Array.isArray(op)) return;
    const [word, first, second] = op as readonly unknown[];
    if (word === "burst") for (const one of first as unknown[]) add(one);
    else if (word === "cast" || word === "info") types.add(`${word} ${first}`);
    else if (word === "call") types.add(`call ${second}`);
    else if (word === "exit") types.add(`info EXIT:${first}`);
  };
  const addEffects = (reaction: unknown): void => {
    for (const effect of reaction as readonly unknown[]) {
      if (!Array.isArray(effect)) continue;
      const [word, first, second] = effect as readonly unknown[];
      if (word === "next_event" || word === "update") types.add(`${first} ${second}`);
      else if (/^(state_timeout|timeout)/.test(String(word))) types.add(`${word} ${second}`);
    }
  };
  for (const { op } of steps) add(op);
  addEffects(init);
  for (const cells of Object.values(on)) {
    for (const [key, reactions] of Object.entries(cells)) {
      if (key !== "enter") types.add(key);
      for (const reaction of reactions as readonly unknown[]) addEffects(reaction);
    }
  }
  return [...types];
}

export const statemFormat: BehaviourFormat = {
  name: "state machine",
  fits: (scenario) => Object.hasOwn(scenario, "enter"),
  problem: (scenario) => {
    if (typeof scenario.enter !== "boolean") return "enter is neither true nor false";
    const problem = commonProblem(scenario);
    if (problem !== undefined) return problem;
    for (const [state, cells] of Object.entries(scenario.on as object)) {
      if (!STATES.includes(state as State["name"])) return `on["${state}"] is no state`;
      if (typeof cells !== "object" || cells === null) return `on["${state}"] is no table`;
      const wrong = Object.entries(cells).find(([, cell]) => !isCell(cell));
      if (wrong !== undefined) return `on["${state}"]["${wrong[0]}"] is no list of reactions`;
    }
    return undefined;
  },
  run: (scenario) => new StatemRun(scenario as StatemScenario),
};
