// A schedule as a sequence diagram in Mermaid's language, for reports and pull requests.

import { cut, printable } from "./brief.js";
import { called, effectsOf, excerpt, happening, isFault, settled, summary, time } from "./render.js";
import type { Trace, TraceEffect, TraceStep } from "./trace.js";

/** As in the text of a schedule, see render.ts; fewer when the text would be too long. */
const FIRST_STEPS = 20;
const LAST_STEPS = 60;
/** Mermaid rejects texts of more than 50,000 characters by default. */
const MOST_TEXT = 45_000;
/** Most characters of a message, a note or a participant's name. */
const LABEL = 60;
const FAILURE_LINES = 6;

/**
 * Writes a schedule as a Mermaid sequence diagram. The participants are the processes, by path, in the order of their first
 * step. A note on a process shows one step and begins with the step's number. A solid arrow is a message sent; with an open
 * point the message is held. A dotted arrow is the arrival of a held message, or a spawn; an arrow with a cross is a message that
 * no process takes. For a long schedule, the diagram shows the beginning and the end, as much as Mermaid accepts.
 *
 * @example
 * console.log(traceToMermaid({ steps: [], failure: undefined })); // sequenceDiagram
 */
export function traceToMermaid(trace: Trace): string {
  let text = draw(trace, FIRST_STEPS, LAST_STEPS);
  for (let share = 2; text.length > MOST_TEXT && share <= LAST_STEPS; share *= 2)
    text = draw(trace, Math.floor(FIRST_STEPS / share), Math.floor(LAST_STEPS / share));
  return text;
}

function draw(trace: Trace, firstSteps: number, lastSteps: number): string {
  const { first, left, last } = excerpt(trace.steps, firstSteps, lastSteps);
  const stage = new Stage();
  stage.act(first);
  if (left.length > 0) stage.across(`… ${summary(left)} …`);
  stage.act(last);
  if (trace.failure !== undefined) stage.fail(trace.failure);
  return stage.text();
}

/** The participants and the lines of a diagram. */
class Stage {
  /** Aliases by process name: a name may contain any character. */
  readonly #aliases = new Map<string, string>();
  /** Lines as functions of all participants: a note across the diagram needs to know them all. */
  readonly #lines: ((all: string) => string)[] = [];
  #now: number | undefined;

  act(steps: readonly TraceStep[]): void {
    for (const step of steps) {
      if (step.at !== this.#now) this.across(`at ${time(step.at)}`);
      this.#now = step.at;
      const actor = this.#alias(step.process);
      const text = `${step.number} ${happening(step)}`;
      if (step.type === "deliver")
        this.#arrow(this.#alias(step.from), "-->>", actor, `${step.number} arrived: ${step.message}`);
      else if (isFault(step)) this.#note(actor, `⚡ ${text}`);
      else this.#note(actor, text);
      const { shown, more } = effectsOf(step);
      for (const effect of shown) this.#effect(actor, effect);
      if (more !== undefined) this.#note(actor, `… ${more}`);
    }
  }

  #effect(actor: string, effect: TraceEffect): void {
    switch (effect.type) {
      case "send":
        this.#arrow(
          effect.from === undefined ? actor : this.#alias(effect.from),
          effect.held ? "-)" : "->>",
          this.#alias(effect.to),
          effect.message,
        );
        break;
      case "spawn":
        this.#arrow(actor, "-->>", this.#alias(effect.process), "spawned");
        break;
      case "exit":
        this.#note(this.#alias(effect.process), `× exited: ${effect.reason}`);
        break;
      case "settle":
        this.#note(this.#alias(effect.process), `✓ may go on: ${settled(effect)}`);
        break;
      case "lost":
        this.#arrow(actor, "-x", this.#alias(effect.to), `${effect.message} lost: ${effect.reason}`);
        break;
      case "choice":
        this.#note(actor, `${effect.label}: ${effect.value}`);
        break;
      case "device":
        this.#note(actor, `${effect.device}: ${effect.text}`);
        break;
      case "note":
        this.#note(actor, effect.text);
        break;
      default:
        effect satisfies never;
    }
  }

  /** A note over the whole diagram. */
  across(text: string): void {
    this.#lines.push((all) => `Note over ${all}: ${label(text)}`);
  }

  fail(failure: string): void {
    const lines = `FAILED: ${failure}`.split("\n").filter((line) => line.trim() !== "");
    const shown = lines.slice(0, FAILURE_LINES).map(label);
    if (lines.length > shown.length) shown.push("…");
    this.#lines.push((all) => `Note over ${all}: ${shown.join("<br/>")}`);
  }

  text(): string {
    // A note needs at least one participant.
    if (this.#aliases.size === 0 && this.#lines.length > 0) this.#alias("no process");
    const aliases = [...this.#aliases.values()];
    const all = aliases.length > 1 ? `${aliases[0]},${aliases.at(-1)}` : String(aliases[0]);
    const names = [...this.#aliases].map(([name, alias]) => `participant ${alias} as ${label(called(name))}`);
    const lines = this.#lines.map((line) => line(all));
    return ["sequenceDiagram", ...[...names, ...lines].map((line) => `  ${line}`), ""].join("\n");
  }

  #alias(name: string): string {
    let alias = this.#aliases.get(name);
    if (alias === undefined) {
      alias = `p${this.#aliases.size + 1}`;
      this.#aliases.set(name, alias);
    }
    return alias;
  }

  #note(actor: string, text: string): void {
    this.#lines.push(() => `Note over ${actor}: ${label(text)}`);
  }

  #arrow(from: string, arrow: "->>" | "-)" | "-->>" | "-x", to: string, text: string): void {
    this.#lines.push(() => `${from}${arrow}${to}: ${label(text)}`);
  }
}

/**
 * Characters and words that Mermaid treats specially: `;` and `#` end a text, `%%` begins a comment and `%%{` a directive,
 * `$$` a formula; `<`, `>`, `&` and `"` are HTML. Words: `end`; `wrap:` and `nowrap:`, which Mermaid removes; `style` and
 * `classDef`, after which it drops the semicolon of a later entity (see its encodeEntities).
 */
const UNSAFE = /[;#%$<>&"]|\bend\b|\b(?:no)?wrap(?=:)|style|classDef/gi;

/** A text on one line, shortened, with character entities (`#59;` is `;`) where Mermaid needs them. */
function label(text: string): string {
  const line = cut(printable(text), LABEL).replace(
    UNSAFE,
    (found) => `#${found.charCodeAt(0)};${found.slice(1)}`,
  );
  return line.trim() === "" ? "(blank)" : line;
}
