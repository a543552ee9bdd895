// A page: its heading, what can be done, and its content.

import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { visible } from "../model/format.js";
import { type Subject, useHello } from "../shell/session.js";
import { StoreChoice } from "./store-choice.js";

export interface PageProps {
  readonly title: string;
  /** What the page is about, in a sentence. */
  readonly about?: ComponentChildren;
  /** What it is about, if that is in a store: where a program has several, a list has a choice, and another page says in which it is. */
  readonly subject?: Subject;
  /** Buttons and fields beside the heading. */
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}

export function Page({ title, about, subject, actions, children }: PageProps): JSX.Element {
  const { name } = useHello();
  const choice = subject === undefined ? null : <StoreChoice subject={subject} />;
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
        {actions === undefined && choice === null ? null : (
          <div class="page-actions">
            {choice}
            {actions}
          </div>
        )}
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
