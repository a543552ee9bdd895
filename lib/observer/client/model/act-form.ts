// The fields of a change: what a person typed becomes arguments, or problems beside the fields. Pure.

export interface ActField {
  readonly name: string;
  readonly label: string;
  /** `json`: a value of any kind, typed as JSON. */
  readonly kind: "text" | "json" | "number" | "choice";
  /** Of a `choice`. */
  readonly choices?: readonly string[];
  readonly initial?: string;
  readonly isRequired?: boolean;
  readonly help?: string;
}

export type ActValues = Readonly<Record<string, unknown>>;

export type FilledForm =
  | { readonly ok: true; readonly values: ActValues }
  | { readonly ok: false; readonly problems: Readonly<Record<string, string>> };

/** Most characters of a reason: the limit of the operations. */
export const REASON_CHARACTERS = 1_000;

/** A reason that the operation demands, or takes. */
export function reasonField(isRequired: boolean): ActField {
  return {
    name: "reason",
    label: isRequired ? "Reason" : "Reason, if you like",
    kind: "text",
    isRequired,
    help: "It is recorded, for people who look at this later.",
  };
}

/** Empty fields are no arguments. */
export function filledForm(fields: readonly ActField[], typed: Readonly<Record<string, string>>): FilledForm {
  const values: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const field of fields) {
    const text = (typed[field.name] ?? field.initial ?? "").trim();
    if (text === "") {
      if (field.isRequired === true) problems[field.name] = "this is needed";
      continue;
    }
    const read = readField(field, text);
    if (read.ok) values[field.name] = read.value;
    else problems[field.name] = read.problem;
  }
  return Object.keys(problems).length === 0 ? { ok: true, values } : { ok: false, problems };
}

type ReadValue =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

function readField({ kind, name, choices = [] }: ActField, text: string): ReadValue {
  switch (kind) {
    case "text":
      if (name !== "reason" || text.length <= REASON_CHARACTERS) return { ok: true, value: text };
      return { ok: false, problem: `it has ${text.length} characters, and ${REASON_CHARACTERS} are allowed` };
    case "choice":
      return choices.includes(text)
        ? { ok: true, value: text }
        : { ok: false, problem: "choose one of the list" };
    case "number": {
      const value = Number(text);
      return Number.isSafeInteger(value) && value > 0
        ? { ok: true, value }
        : { ok: false, problem: "a whole number, 1 or more" };
    }
    case "json":
      try {
        return { ok: true, value: JSON.parse(text) as unknown };
      } catch (error) {
        return { ok: false, problem: `this is no JSON: ${(error as Error).message}` };
      }
    default:
      return kind satisfies never;
  }
}
