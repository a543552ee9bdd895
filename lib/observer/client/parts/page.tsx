// A page: its heading, what can be done, and its content.

import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { visible } from "../model/format.js";
import { useHello } from "../shell/session.js";

export interface PageProps {
  readonly title: string;
  /** What the page is about, in a sentence. */
  readonly about?: ComponentChildren;
  /** Buttons and fields beside the heading. */
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}

export function Page({ title, about, actions, children }: PageProps): JSX.Element {
  const { name } = useHello();
  useEffect(() => {
    document.title = `${title} · ${name}`;
  }, [title, name]);
  return (
    <>
      <div class="page-head">
        <div>
          <h1>{visible(title)}</h1>
          {about === undefined ? null : <p class="about">{about}</p>}
        </div>
        {actions === undefined ? null : <div class="page-actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}

export interface SectionProps {
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** A part of a page with a heading of its own. */
export function Section({ title, actions, children }: SectionProps): JSX.Element {
  return (
    <section class="section">
      <div class="section-head">
        <h2>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}
