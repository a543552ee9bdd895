// A button that changes something. It says what it does, asks for confirmation and for a reason where the operation wants one, and shows
// how it went. Where changes are not allowed, it is there, disabled, with the reason.

import type { ComponentChildren, JSX } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { type ActField, type ActValues, filledForm } from "../model/act-form.js";
import type { Args } from "../shell/api.js";
import { act } from "../shell/operations.js";
import { useHello } from "../shell/session.js";

export interface ActProps {
  /** A verb: `Cancel`. */
  readonly label: string;
  readonly op: string;
  /** What is changed: `Cancel flow order-17?` */
  readonly question: string;
  /** What happens then. */
  readonly children?: ComponentChildren;
  readonly isDangerous?: boolean;
  readonly fields?: readonly ActField[];
  args(values: ActValues): Args;
  /** What is said of the answer. Default: `Done.` */
  done?(answer: unknown): string;
  /** Why it cannot be done now. */
  readonly refusal?: string | undefined;
}

type Phase = { readonly type: "idle" | "busy" } | { readonly type: "done" | "failed"; readonly text: string };

const READ_ONLY = "This observer only looks. Start it with actions: true (or --actions) to change things.";

export function ActButton(props: ActProps): JSX.Element {
  const { label, question, children, isDangerous = false, fields = [], refusal } = props;
  const { actions } = useHello();
  const dialog = useRef<HTMLDialogElement>(null);
  const [phase, setPhase] = useState<Phase>({ type: "idle" });
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const title = useId();
  const why = actions ? refusal : READ_ONLY;

  const open = (): void => {
    setTyped({});
    setProblems({});
    setPhase({ type: "idle" });
    dialog.current?.showModal();
  };
  const confirm = async (event: Event): Promise<void> => {
    event.preventDefault();
    const form = filledForm(fields, typed);
    setProblems(form.ok ? {} : form.problems);
    if (!form.ok || phase.type === "busy") return;
    setPhase({ type: "busy" });
    try {
      const answer = await act(props.op, props.args(form.values));
      setPhase({ type: "done", text: props.done?.(answer) ?? `${label}: done.` });
      dialog.current?.close();
    } catch (error) {
      setPhase({ type: "failed", text: (error as Error).message });
    }
  };

  return (
    <span class="act">
      <button
        type="button"
        class="button small"
        aria-disabled={why !== undefined}
        title={why}
        onClick={why === undefined ? open : undefined}
      >
        {label}
      </button>
      <span role="status" class="act-done">
        {phase.type === "done" ? phase.text : ""}
      </span>
      <dialog ref={dialog} aria-labelledby={title}>
        <form onSubmit={(event) => void confirm(event)} noValidate>
          <h2 id={title}>{question}</h2>
          {children}
          {fields.map((field) => (
            <Field
              key={field.name}
              field={field}
              text={typed[field.name] ?? field.initial ?? ""}
              problem={problems[field.name]}
              onText={(text) => setTyped((before) => ({ ...before, [field.name]: text }))}
            />
          ))}
          {phase.type === "failed" ? (
            <p role="alert" class="problem">
              {phase.text}
            </p>
          ) : null}
          <div class="buttons">
            <button type="button" class="button" onClick={() => dialog.current?.close()}>
              Leave it
            </button>
            <button
              type="submit"
              class={`button ${isDangerous ? "bad" : "brand"}`}
              disabled={phase.type === "busy"}
            >
              {phase.type === "busy" ? "Working …" : label}
            </button>
          </div>
        </form>
      </dialog>
    </span>
  );
}

interface FieldProps {
  readonly field: ActField;
  readonly text: string;
  readonly problem: string | undefined;
  onText(text: string): void;
}

function Field({ field, text, problem, onText }: FieldProps): JSX.Element {
  const id = useId();
  const hint = `${id}-hint`;
  const { label, kind, choices = [], help, isRequired = false } = field;
  const common = {
    id,
    class: "field",
    value: text,
    "aria-required": isRequired,
    "aria-invalid": problem !== undefined,
    "aria-describedby": hint,
    onInput: (event: Event) => onText((event.currentTarget as HTMLInputElement).value),
  };
  return (
    <div class="act-field">
      <label for={id}>{label}</label>
      {kind === "json" ? (
        <textarea {...common} rows={8} spellcheck={false} />
      ) : kind === "choice" ? (
        <select {...common}>
          <option value="">–</option>
          {choices.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...common}
          type="text"
          inputMode={kind === "number" ? "numeric" : "text"}
          autocomplete="off"
        />
      )}
      <small id={hint} class={problem === undefined ? "quiet" : "act-problem"}>
        {problem ?? help ?? ""}
      </small>
    </div>
  );
}
