// A part of a page that scrolls by itself.

import type { ComponentChildren, JSX, Ref } from "preact";

export interface ScrollProps {
  /** What it holds. */
  readonly label: string;
  /** Its class. */
  readonly kind: string;
  /** Gets the element. */
  readonly area?: Ref<HTMLElement>;
  readonly children?: ComponentChildren;
}

export function Scroll({ label, kind, area, children }: ScrollProps): JSX.Element {
  return (
    <section
      class={kind}
      ref={area ?? null}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keys, or nobody could read it by them
      tabIndex={0}
    >
      {children}
    </section>
  );
}
