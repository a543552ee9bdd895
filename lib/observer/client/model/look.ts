// What of an answer is to be seen. Pure.

/** What an operation answered last, live or asked for once. */
export interface Answered<T> {
  readonly value?: T | undefined;
  /** Why the last look failed. The value before stays beside it. */
  readonly error?: { readonly message: string; readonly code?: string | undefined } | undefined;
}

/** `value`: there is one, maybe an old one. `problem`: no look has succeeded. `looking`: the first one is under way. */
export function phaseOf({ value, error }: Answered<unknown>): "value" | "problem" | "looking" {
  return value !== undefined ? "value" : error !== undefined ? "problem" : "looking";
}
