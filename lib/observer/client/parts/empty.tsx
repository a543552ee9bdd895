// What stands where nothing is to be seen: it says why, and how data gets there.

import type { ComponentChildren, JSX } from "preact";
import type { Answered } from "../model/look.js";

export interface EmptyProps {
  readonly title: string;
  /** Lines of code that get data there. */
  readonly code?: string;
  readonly children?: ComponentChildren;
}

export function Empty({ title, code, children }: EmptyProps): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children === undefined ? null : <p>{children}</p>}
      {code === undefined ? null : (
        <pre>
          <code>{code}</code>
        </pre>
      )}
    </div>
  );
}

/** An operation failed. What was shown before stays beside it. */
export function Problem({ error }: { readonly error: Answered<unknown>["error"] }): JSX.Element | null {
  if (error === undefined) return null;
  return (
    <p role="alert" class="problem">
      {error.message}
      {error.code === undefined ? null : <code> {error.code}</code>}
    </p>
  );
}

/** The first value of a view has not come yet. */
export function Loading(): JSX.Element {
  return (
    <p class="loading" role="status">
      Looking …
    </p>
  );
}
